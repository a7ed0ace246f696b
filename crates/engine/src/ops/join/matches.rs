//! The stored matches of a join that shares its left table's rows: for each left row the key of its right row.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{ArrayRef, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use column::{Chunk, ColumnSource, FlatColumn, RedirectColumn, StorageCounters};
use graph::{Moment, Step};
use rowset::{Before, RowSet};

use crate::error::Error;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::settle::Settle;
use crate::table::store::{Columns, Writes};

/// The left table's columns, followed by the right columns read through `index`.
pub(super) fn redirected(
    left: &Table,
    right: &Table,
    added: &[(usize, String)],
    index: Arc<dyn ColumnSource>,
) -> Vec<Arc<dyn ColumnSource>> {
    let own = left.parts().columns.iter().cloned();
    let joined = added.iter().map(|(column, _)| {
        Arc::new(RedirectColumn::new(right.parts().columns[*column].clone(), index.clone())) as Arc<dyn ColumnSource>
    });
    own.chain(joined).collect()
}

/// The matches of static tables, which never change and need no blocks.
pub(super) fn flat_matches(matched: Vec<(RowSet, Chunk)>) -> Result<Arc<dyn ColumnSource>, Error> {
    Ok(Arc::new(FlatColumn::new(matched.into_iter().map(|(_, cells)| cells).collect())?))
}

/// The matches of left rows, over time.
pub(super) struct StoredMatches(Columns);

impl StoredMatches {
    /// The matches of all left rows, in consecutive pieces.
    pub(super) fn start(
        matched: Vec<(RowSet, Chunk)>,
        at: Moment,
        counters: &Arc<StorageCounters>,
    ) -> Result<StoredMatches, Error> {
        let schema = Schema::new(vec![Field::new("index", DataType::UInt64, true)]);
        Ok(StoredMatches(Columns::filled(&schema, at, counters, &[matched])?))
    }

    /// The column of right row keys.
    pub(super) fn index(&self) -> Arc<dyn ColumnSource> {
        self.0.column(0).clone()
    }

    /// The parts that must settle after each step.
    pub(super) fn owned(&self) -> Vec<Arc<dyn Settle>> {
        self.0.owned()
    }

    /// The matches of left rows as they were before a step.
    pub(super) fn before(&self, left: &Change, rows: &Before) -> Result<UInt64Array, Error> {
        let index = self.0.column(0).at(left.before().moment());
        let index = index.map_err(|_| Error::internal("join", "its own index before the step is gone"))?;
        Ok(index.take(&rows.0.to_vec())?.as_primitive::<UInt64Type>().clone())
    }

    /// Writes a step of the left table. `matches` are the new ones as (left row, right row), ascending by left row: those
    /// of all added rows, and of surviving rows whose match has another row key now.
    pub(super) fn write(&self, step: Step, left: &Change, matches: Vec<(u64, u64)>) -> Result<(), Error> {
        let update = left.update();
        let added = &update.added;
        let mut fresh: Vec<u64> = Vec::with_capacity(added.len() as usize);
        let mut others: (Vec<u64>, Vec<u64>) = Default::default();
        if matches.len() as u64 == added.len() {
            fresh.extend(matches.iter().map(|(_, row)| row));
        } else {
            for (key, row) in matches {
                if added.contains(key) {
                    fresh.push(row);
                } else {
                    others.0.push(key);
                    others.1.push(row);
                }
            }
        }
        let cells = |rows: Vec<u64>| Arc::new(UInt64Array::from(rows)) as ArrayRef;
        let writes = Writes {
            removed: update.removed.clone(),
            shifts: update.shifts.clone(),
            added: if added.is_empty() { Vec::new() } else { vec![(added.clone(), vec![cells(fresh)])] },
            modified: vec![(!others.0.is_empty()).then(|| (RowSet::from_sorted_keys(&others.0), cells(others.1)))],
            ..Writes::default()
        };
        self.0.write(step, || left.before().rows().clone(), left.now().rows().clone(), &writes)
    }
}
