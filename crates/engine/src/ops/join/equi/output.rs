//! The columns of a join's result: of which side each is, and under which name.

use std::any::Any;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_schema::{DataType, Field, Schema};
use column::types::canonical;
use column::{Chunk, Column, ColumnSource, NO_ROW, RedirectColumn};
use graph::{Moment, Moved};
use rowset::RowSet;

use crate::driver::operation::Input;
use crate::error::Error;
use crate::ops::join::on::{On, Side};
use crate::plan::spec::{EquiOptions, How};
use crate::table::categories::with_order;
use crate::table::handle::Table;
use crate::table::parts::Attributes;
use crate::table::update::ColumnSet;

/// The columns of the result.
pub(in crate::ops::join) struct Output {
    fields: Vec<Field>,
    from: Vec<From>,
}

/// Where a column of the result comes from.
enum From {
    /// A column of one side.
    One(Side, usize),
    /// A left key; where there is no left row, the right key. Both in their common type.
    Either(usize, usize, DataType),
}

impl Output {
    /// Left columns, then right ones. The keys of one side are left out if `coalesce`: the right ones, or in a right join
    /// the left ones. In a full join a left key then stands for the right one as well.
    pub(in crate::ops::join) fn new(
        operation: &str,
        left: &Table,
        right: &Table,
        on: &On,
        options: &EquiOptions,
    ) -> Result<Output, Error> {
        let EquiOptions { how, coalesce, suffix, .. } = options;
        let keys = |side| if *coalesce { on.columns(side) } else { Vec::new() };
        let (left_keys, right_keys) = (keys(Side::Left), keys(Side::Right));
        if *coalesce && *how == How::Full && (has_twice(&left_keys) || has_twice(&right_keys)) {
            let message = "a full join that coalesces its keys takes each key column once; use coalesce=False";
            return Err(Error::schema(operation, message));
        }
        let mut output = Output { fields: Vec::new(), from: Vec::new() };
        for (column, field) in left.schema().fields().iter().enumerate() {
            let field = Field::clone(field);
            let field = if matches!(how, How::Right | How::Full) { field.with_nullable(true) } else { field };
            match left_keys.iter().position(|key| *key == column) {
                Some(_) if *how == How::Right => {}
                Some(key) if *how == How::Full => output.push_either(&on.pairs[key], field, right),
                _ => output.push(field, From::One(Side::Left, column)),
            }
        }
        let own: Vec<String> = output.fields.iter().map(|field| field.name().clone()).collect();
        for (column, field) in right.schema().fields().iter().enumerate() {
            if right_keys.contains(&column) && *how != How::Right {
                continue;
            }
            let name = field.name();
            let name = if own.contains(name) { format!("{name}{suffix}") } else { name.clone() };
            if output.fields.iter().any(|known| *known.name() == name) {
                return Err(Error::Duplicate { operation: operation.into(), name });
            }
            let nullable = *how != How::Right || field.is_nullable();
            let field = Field::clone(field).with_name(name).with_nullable(nullable);
            output.push(field, From::One(Side::Right, column));
        }
        Ok(output)
    }

    fn push(&mut self, field: Field, from: From) {
        self.fields.push(field);
        self.from.push(from);
    }

    fn push_either(&mut self, (left, other, meet): &(usize, usize, DataType), field: Field, right: &Table) {
        let others = right.schema().field(*other);
        let declared = [field.data_type(), others.data_type()].into_iter().find(|known| canonical(known) == *meet);
        let field = match declared.cloned() {
            Some(declared) => with_order(field.with_data_type(declared), [others].into_iter()),
            None => field.with_data_type(meet.clone()),
        };
        self.push(field, From::Either(*left, *other, meet.clone()));
    }

    /// Names and types of the result.
    pub(in crate::ops::join) fn schema(&self) -> Arc<Schema> {
        Arc::new(Schema::new(self.fields.clone()))
    }

    /// The columns over the inputs, through an index of the leading side's rows and one of the other's.
    pub(in crate::ops::join) fn columns(
        &self,
        lead: Side,
        inputs: &[Input],
        index: [Arc<dyn ColumnSource>; 2],
    ) -> Result<Vec<Arc<dyn ColumnSource>>, Error> {
        let [left, right] = inputs else { return Err(Error::internal("join", "a join has two inputs")) };
        let through = |side: Side, column: usize| {
            let table = if side == Side::Left { &left.table } else { &right.table };
            let index = index[usize::from(side != lead)].clone();
            Arc::new(RedirectColumn::new(table.parts().columns[column].clone(), index)) as Arc<dyn ColumnSource>
        };
        let column = |from: &From| match from {
            From::One(side, column) => through(*side, *column),
            From::Either(key, other, meet) => Arc::new(EitherColumn {
                data_type: meet.clone(),
                index: index[usize::from(Side::Left != lead)].clone(),
                keys: [through(Side::Left, *key), through(Side::Right, *other)],
            }) as Arc<dyn ColumnSource>,
        };
        Ok(self.from.iter().map(column).collect())
    }

    /// The columns of the result that change where these columns of a side do.
    pub(in crate::ops::join) fn changed(&self, side: Side, columns: &ColumnSet) -> ColumnSet {
        let is_changed = |from: &From| match from {
            From::One(own, column) => *own == side && columns.contains(*column),
            From::Either(left, right, _) => columns.contains(if side == Side::Left { *left } else { *right }),
        };
        (0..self.from.len()).filter(|at| is_changed(&self.from[*at])).collect()
    }

    /// What is kept of the contracts of the leading table, where rows of the other side have no pair of their own.
    pub(in crate::ops::join) fn attributes(&self, lead: Side, table: &Table, other: &Table) -> Attributes {
        let kept = table.attributes();
        let still = !other.is_live();
        Attributes {
            append_only: kept.append_only && still,
            add_only: kept.append_only && still,
            blink: kept.blink,
            flat: still && !table.is_live(),
            sorted_by: self.renamed(lead, table, &kept.sorted_by),
            ..Attributes::default()
        }
    }

    /// The names in the result of columns of a side, as far as all of them are there.
    fn renamed(&self, side: Side, table: &Table, columns: &[(String, bool)]) -> Vec<(String, bool)> {
        let is_it = |from: &From, name: &str| match from {
            From::One(own, column) => *own == side && table.schema().field(*column).name() == name,
            From::Either(..) => false,
        };
        let renamed = columns.iter().map_while(|(name, descending)| {
            let at = self.from.iter().position(|from| is_it(from, name))?;
            Some((self.fields[at].name().clone(), *descending))
        });
        renamed.collect()
    }
}

fn has_twice(columns: &[usize]) -> bool {
    let mut seen = std::collections::HashSet::new();
    columns.iter().any(|column| !seen.insert(*column))
}

/// A key of the left row, or of the right row where there is no left one.
struct EitherColumn {
    data_type: DataType,
    /// The left row of each pair.
    index: Arc<dyn ColumnSource>,
    keys: [Arc<dyn ColumnSource>; 2],
}

impl ColumnSource for EitherColumn {
    fn data_type(&self) -> &DataType {
        &self.data_type
    }

    fn at(&self, moment: Moment) -> Result<Arc<dyn Column>, Moved> {
        let [left, right] = &self.keys;
        Ok(Arc::new(Either {
            data_type: self.data_type.clone(),
            index: self.index.at(moment)?,
            keys: [left.at(moment)?, right.at(moment)?],
        }))
    }

    fn bytes(&self) -> u64 {
        0
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

struct Either {
    data_type: DataType,
    index: Arc<dyn Column>,
    keys: [Arc<dyn Column>; 2],
}

impl Either {
    fn cells(&self, index: &ArrayRef, keys: [Chunk; 2]) -> Result<Chunk, column::Error> {
        let places: Vec<(usize, usize)> = (index.as_primitive::<UInt64Type>().values().iter())
            .enumerate()
            .map(|(at, row)| (usize::from(*row == NO_ROW), at))
            .collect();
        let [left, right] = keys;
        let (left, right) = (arrow_cast::cast(&left, &self.data_type)?, arrow_cast::cast(&right, &self.data_type)?);
        Ok(arrow_select::interleave::interleave(&[left.as_ref(), right.as_ref()], &places)?)
    }
}

impl Column for Either {
    fn data_type(&self) -> &DataType {
        &self.data_type
    }

    fn read(&self, rows: &RowSet) -> Result<Chunk, column::Error> {
        let [left, right] = &self.keys;
        self.cells(&self.index.read(rows)?, [left.read(rows)?, right.read(rows)?])
    }

    fn take(&self, keys: &[u64]) -> Result<Chunk, column::Error> {
        let [left, right] = &self.keys;
        self.cells(&self.index.take(keys)?, [left.take(keys)?, right.take(keys)?])
    }

    fn pieces(&self, rows: &RowSet) -> Result<Vec<Chunk>, column::Error> {
        if rows.is_empty() { Ok(Vec::new()) } else { Ok(vec![self.read(rows)?]) }
    }
}
