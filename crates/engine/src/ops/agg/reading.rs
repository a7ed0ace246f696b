//! The cells that an update of an aggregation needs: all are read, in parallel on the graph's threads, before any group
//! changes.

use super::spec::{AggregationSpec, Cells, ReadRequest};
use crate::error::Error;

/// What an update reads: first what is wanted, then the cells.
pub(super) struct GroupReads<T> {
    /// Rows that leave.
    pub(super) removed: T,
    /// Rows that come.
    pub(super) added: T,
    /// Modified rows of which a key changed: as they were, and as they are.
    pub(super) rekeyed: [T; 2],
    /// The keys of rows that shift.
    pub(super) moved: T,
    /// The keys of modified rows that stay in their groups.
    pub(super) stayed: T,
    /// The inputs of such rows that changed: as they were, and as they are.
    pub(super) revalued: [T; 2],
}

impl GroupReads<ReadRequest<'_>> {
    /// Reads everything; in parallel, unless there is little to read or an input calls a user function.
    pub(super) fn read(self, spec: &AggregationSpec) -> Result<GroupReads<Cells>, Error> {
        let GroupReads { removed, added, rekeyed: [left, entered], moved, stayed, revalued: [old, new] } = self;
        let wanted = [removed, added, left, entered, moved, stayed, old, new];
        let rows: u64 = wanted.iter().map(|wanted| wanted.rows.len()).sum();
        let most = wanted.iter().map(|wanted| wanted.rows.len()).max().unwrap_or_default();
        let worth_it = most < rows && spec.is_split(rows);
        let cells = crate::threads::parallel::try_map(worth_it, &wanted, |_, wanted| wanted.cells(spec))?;
        let Ok([removed, added, left, entered, moved, stayed, old, new]) = <[Cells; 8]>::try_from(cells) else {
            unreachable!("as many as were wanted")
        };
        Ok(GroupReads { removed, added, rekeyed: [left, entered], moved, stayed, revalued: [old, new] })
    }
}
