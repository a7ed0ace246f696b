//! `implode`, `arg_min`, `arg_max`, `skew`, `kurtosis`: all cells of a group in the order of its rows, and what is made of such a list.
//!
//! Nothing is kept but which rows a group has; a group that changed is read again. Cost of a change: the groups it
//! touches.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field, Schema};
use formula::functions::List;
use formula::{Aggregate, Bound, Expr, Function};

use super::chosen::gather_at;
use crate::error::Error;
use crate::eval::evaluator::Evaluator;
use crate::keys::rows::KeyRows;
use crate::table::view::View;

/// What is made of the list of a group's cells.
#[derive(Clone, Debug)]
pub(crate) struct Vector {
    /// The type of the list.
    list: DataType,
    /// The function of the list; none gives the list itself.
    function: Option<Bound>,
}

impl Vector {
    /// For an aggregate that reads whole groups of such cells; none for others.
    pub(crate) fn of(kind: &Aggregate, input: &DataType) -> Result<Option<Vector>, formula::Error> {
        let function = match kind {
            Aggregate::Implode => None,
            Aggregate::ArgMin => Some(List::ArgMin),
            Aggregate::ArgMax => Some(List::ArgMax),
            Aggregate::Skew { bias } => Some(List::Skew { bias: *bias }),
            Aggregate::Kurtosis { fisher, bias } => Some(List::Kurtosis { fisher: *fisher, bias: *bias }),
            _ => return Ok(None),
        };
        let list = Aggregate::Implode.output_type(input)?;
        let schema = Schema::new(vec![Field::new("cells", list.clone(), true)]);
        let bound =
            |function| formula::bind(&Expr::call(Function::List(function), vec![Expr::column("cells")])?, &schema);
        Ok(Some(Vector { list, function: function.map(bound).transpose()? }))
    }

    /// The value of each of these groups.
    pub(crate) fn values(
        &self,
        input: &Evaluator,
        now: &View,
        slots: &[u32],
        rows: &KeyRows,
    ) -> Result<ArrayRef, Error> {
        let (mut keys, mut lengths) = (Vec::new(), Vec::with_capacity(slots.len()));
        for slot in slots {
            let before = keys.len();
            rows.for_each(*slot, |row| keys.push(row));
            lengths.push(keys.len() - before);
        }
        self.of_lists(input, now, &keys, lengths)
    }

    /// The value of each list of rows: so many of these keys, list after list.
    pub(crate) fn of_lists(
        &self,
        input: &Evaluator,
        now: &View,
        keys: &[u64],
        lengths: Vec<usize>,
    ) -> Result<ArrayRef, Error> {
        let lists = lengths.len();
        limits::ask_rows(keys.len() as u64, column::types::width(input.data_type()))?;
        let mut cells = gather_at(input, now, keys)?;
        if let DataType::List(field) = &self.list
            && field.data_type() != cells.data_type()
        {
            cells = arrow_cast::cast(&cells, field.data_type())?;
        }
        let list = crate::eval::lists::list_of(&Arc::clone(&cells), lengths)?;
        match &self.function {
            None => Ok(list),
            Some(function) => function
                .evaluate(&[list], lists)
                .map_err(|error| Error::data("group_by", format!("{error} in {}", input.text()))),
        }
    }
}
