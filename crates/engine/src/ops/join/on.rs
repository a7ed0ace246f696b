//! The key columns of a join: which columns match, in which common type, and the names of the result's columns.

use arrow_schema::{DataType, Field, Schema};
use column::{Chunk, NO_ROW};
use formula::hidden::shown;
use formula::type_name;

use crate::error::Error;
use crate::table::handle::Table;
use crate::table::update::{ColumnSet, TableUpdate};
use crate::table::view::View;
use rowset::RowSet;

/// Key columns of both sides, compared in a common type.
pub struct On {
    /// Left and right column, and their common type.
    pub pairs: Vec<(usize, usize, DataType)>,
}

/// The side of a join.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Side {
    /// The table that is joined.
    Left,
    /// The table it is joined with.
    Right,
}

impl Side {
    /// The side that meets it.
    pub fn other(self) -> Side {
        if self == Side::Left { Side::Right } else { Side::Left }
    }
}

impl On {
    /// Checks names and types: integers match integers, floats match floats, any other type matches itself.
    pub fn new(operation: &str, left: &Table, right: &Table, pairs: &[(String, String)]) -> Result<On, Error> {
        let pair = |(left_name, right_name): &(String, String)| {
            let (l, r) = (left.column_index(operation, left_name)?, right.column_index(operation, right_name)?);
            let meet = meeting_type(left.column_type(l), right.column_type(r)).ok_or_else(|| {
                let (a, b) = (left.schema().field(l).data_type(), right.schema().field(r).data_type());
                Error::types(
                    operation,
                    format!(
                        "the keys {:?} ({}) and {:?} ({}) do not compare; cast one of them",
                        shown(left.schema(), left_name),
                        type_name(a),
                        shown(right.schema(), right_name),
                        type_name(b)
                    ),
                )
            })?;
            if !column::types::can_be_key(&meet) {
                return Err(Error::unkeyable(operation, shown(left.schema(), left_name), &meet));
            }
            Ok((l, r, meet))
        };
        Ok(On { pairs: pairs.iter().map(pair).collect::<Result<_, Error>>()? })
    }

    /// The keys as the user wrote them.
    pub fn text(left: &Table, right: &Table, pairs: &[(String, String)]) -> String {
        let named = |(one, other): &(String, String)| match (shown(left.schema(), one), shown(right.schema(), other)) {
            (left, right) if left == right => left.to_owned(),
            (left, right) => format!("{left} = {right}"),
        };
        pairs.iter().map(named).collect::<Vec<_>>().join(", ")
    }

    /// The common types of the keys.
    pub fn types(&self) -> Vec<DataType> {
        self.pairs.iter().map(|(_, _, meet)| meet.clone()).collect()
    }

    /// The key columns of one side.
    pub fn columns(&self, side: Side) -> Vec<usize> {
        self.pairs.iter().map(|(left, right, _)| if side == Side::Left { *left } else { *right }).collect()
    }

    /// The key cells of one side's rows.
    pub fn read(&self, side: Side, view: &View, rows: &RowSet) -> Result<Vec<Chunk>, Error> {
        self.columns(side)
            .into_iter()
            .zip(&self.pairs)
            .map(|(column, (_, _, meet))| cells_as(view.read(column, rows)?, meet))
            .collect()
    }
}

/// Cells cast to the common type of the keys.
pub fn cells_as(cells: Chunk, meet: &DataType) -> Result<Chunk, Error> {
    if cells.data_type() == meet { Ok(cells) } else { Ok(arrow_cast::cast(&cells, meet)?) }
}

/// The common type of two key columns; none if they cannot be compared without loss.
pub fn meeting_type(left: &DataType, right: &DataType) -> Option<DataType> {
    use DataType::*;
    let family = |data_type: &DataType| match data_type {
        Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 | UInt64 => 1,
        Float16 | Float32 | Float64 => 2,
        _ => 0,
    };
    match (left, right) {
        (left, right) if left == right => Some(left.clone()),
        // Timestamps with a zone are instants, whatever the zone; a timestamp without a zone is not an instant.
        (Timestamp(_, Some(_)), Timestamp(_, Some(_))) => Some(left.clone()),
        (left, right) if family(left) != 0 && family(left) == family(right) => formula::promote(left, right).ok(),
        _ => None,
    }
}

/// The after-key of a right row that was matched before the step; none if that row was removed.
pub fn match_now(old: u64, right: &TableUpdate) -> Option<u64> {
    (old != NO_ROW && !right.removed.0.contains(old)).then(|| right.shifts.forward_key(old))
}

/// The update of a join's result: the left side's update, plus the surviving rows whose match is another row
/// (`rematched`) or whose match has modified cells (`modified`, in `columns`). `added` are the columns the join adds.
pub fn joined_update(
    left: &TableUpdate,
    added: std::ops::Range<usize>,
    rematched: &RowSet,
    modified: Vec<u64>,
    columns: &ColumnSet,
) -> TableUpdate {
    let mut result = left.clone();
    let rematched = rematched - &left.added;
    if !rematched.is_empty() {
        result.modified |= &rematched;
        added.for_each(|column| result.columns.insert(column));
    }
    let modified = &RowSet::from_keys(modified) - &left.added;
    if !modified.is_empty() {
        result.modified |= &modified;
        columns.iter().for_each(|column| result.columns.insert(column));
    }
    result
}

/// The columns a join adds: right column and its name in the result.
pub fn added_columns(
    operation: &str,
    left: &Table,
    right: &Table,
    chosen: Option<&[(String, String)]>,
    without: &[usize],
    suffix: Option<&str>,
) -> Result<Vec<(usize, String)>, Error> {
    let chosen: Vec<(usize, String)> = match chosen {
        Some(names) => names
            .iter()
            .map(|(new, old)| Ok((right.column_index(operation, old)?, new.clone())))
            .collect::<Result<_, Error>>()?,
        None => {
            let all = right.schema().fields().iter().enumerate().filter(|(index, _)| !without.contains(index));
            all.map(|(index, field)| (index, field.name().clone())).collect()
        }
    };
    let mut taken: std::collections::HashSet<String> =
        left.schema().fields().iter().map(|field| field.name().clone()).collect();
    chosen
        .into_iter()
        .map(|(index, name)| {
            let name = match suffix {
                Some(suffix) if taken.contains(&name) => format!("{name}{suffix}"),
                _ => name,
            };
            if !taken.insert(name.clone()) {
                return Err(Error::Duplicate { operation: operation.into(), name });
            }
            Ok((index, name))
        })
        .collect()
}

/// The schema of a join's result.
pub fn joined_schema(left: &Table, right: &Table, added: &[(usize, String)]) -> Schema {
    let own = left.schema().fields().iter().map(|field| Field::clone(field));
    let joined =
        added.iter().map(|(index, name)| right.schema().field(*index).clone().with_name(name).with_nullable(true));
    Schema::new(own.chain(joined).collect::<Vec<_>>())
}
