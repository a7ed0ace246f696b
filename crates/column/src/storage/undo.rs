//! The undo log of the running step: the old values of the cells that it overwrote.

use arrow_array::{Array, ArrayRef};
use rowset::RowSet;

use crate::kernels::cells::{Cells, Gathered, Shape};
use crate::storage::reading::patch;

/// The previous values of a column.
#[derive(Clone)]
pub(crate) enum Undo {
    /// No cell was overwritten: the step stored cells of new keys only.
    Nothing,
    /// The old cells of these keys; all other cells are unchanged in the tree.
    Cells { rows: RowSet, chunk: ArrayRef },
}

impl Undo {
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Undo::Cells { chunk, .. } => chunk.get_array_memory_size() as u64,
            Undo::Nothing => 0,
        }
    }
}

/// Overwrites the cells gathered for the rows `asked` with the old cells of the undo log.
pub(crate) fn restore(gathered: &mut Gathered, shape: &Shape, asked: &RowSet, rows: &RowSet, chunk: &ArrayRef) {
    let hits = asked & rows;
    if hits.is_empty() {
        return;
    }
    let (to, from) = (asked.positions_of(&hits).0, rows.positions_of(&hits).0);
    let places = to.iter().zip(from.iter()).map(|(to, from)| (to as usize, from as usize));
    patch(gathered, shape, &Cells::of(shape, chunk), places);
}

/// Overwrites the cells taken for `keys` (in any order) with the old cells of the undo log.
pub(crate) fn restore_taken(gathered: &mut Gathered, shape: &Shape, keys: &[u64], rows: &RowSet, chunk: &ArrayRef) {
    let hits: Vec<(usize, usize)> =
        keys.iter().enumerate().filter_map(|(at, &key)| rows.position_of(key).map(|pos| (at, pos as usize))).collect();
    if !hits.is_empty() {
        patch(gathered, shape, &Cells::of(shape, chunk), hits.into_iter());
    }
}
