//! Before-values of the step that runs: a few cells, or a whole older tree.

use arrow_array::{Array, ArrayRef};
use rowset::RowSet;

use crate::kernels::cells::{Cells, Gathered, Shape};
use crate::storage::reading::patch;
use crate::storage::tree::Tree;

/// What a column still knows of the moment before the step.
pub(crate) enum Undo {
    /// The old cells of these keys; all others are still in the tree.
    Cells { rows: RowSet, chunk: ArrayRef },
    /// Everything: the column was written anew.
    Whole(Tree),
}

impl Undo {
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Undo::Cells { rows, .. } if rows.is_empty() => 0,
            Undo::Cells { chunk, .. } => chunk.get_array_memory_size() as u64,
            Undo::Whole(_) => 0,
        }
    }
}

/// Puts old cells over those gathered for `asked`.
pub(crate) fn restore(gathered: &mut Gathered, shape: &Shape, asked: &RowSet, rows: &RowSet, chunk: &ArrayRef) {
    let hits = asked & rows;
    if hits.is_empty() {
        return;
    }
    let (to, from) = (asked.positions_of(&hits).0, rows.positions_of(&hits).0);
    let places = to.iter().zip(from.iter()).map(|(to, from)| (to as usize, from as usize));
    patch(gathered, shape, &Cells::of(shape, chunk), places);
}

/// Puts old cells over those taken for `keys`.
pub(crate) fn restore_taken(gathered: &mut Gathered, shape: &Shape, keys: &[u64], rows: &RowSet, chunk: &ArrayRef) {
    let hits: Vec<(usize, usize)> =
        keys.iter().enumerate().filter_map(|(at, &key)| rows.position_of(key).map(|pos| (at, pos as usize))).collect();
    if !hits.is_empty() {
        patch(gathered, shape, &Cells::of(shape, chunk), hits.into_iter());
    }
}
