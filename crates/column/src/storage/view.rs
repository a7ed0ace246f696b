//! A column of blocks at one moment.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use rowset::{RowSet, Span};

use crate::column::{Chunk, Column};
use crate::error::Error;
use crate::kernels::cells::{Cells, Shape};
use crate::sizes::PIECE;
use crate::storage::gathering::gather;
use crate::storage::reading::{lent, stretch, take, take_lying, take_opaque};
use crate::storage::tree::Tree;
use crate::storage::undo::{Undo, restore, restore_taken};
use crate::types::kind;
use crate::types::kind::Kind;

/// The tree of a moment and, while a step runs, what it had before.
pub(crate) struct BlockView {
    pub shape: Arc<Shape>,
    pub tree: Tree,
    pub undo: Option<Undo>,
    /// What the step that made this moment stored, and where.
    pub fresh: Fresh,
}

/// The cells that a step stored, and where; none if it stored none.
pub(crate) type Fresh = Option<Arc<[(RowSet, Chunk)]>>;

impl BlockView {
    fn fresh(&self) -> impl Iterator<Item = &(RowSet, Chunk)> {
        self.fresh.iter().flat_map(|cells| cells.iter())
    }

    /// The tree to read, and the old cells to put over it.
    fn parts(&self) -> (&Tree, Option<(&RowSet, &ArrayRef)>) {
        match &self.undo {
            None | Some(Undo::Nothing) => (&self.tree, None),
            Some(Undo::Cells { rows, chunk }) => (&self.tree, Some((rows, chunk))),
        }
    }

    /// The cells of these rows in memory of their own: holding them holds no block.
    pub(crate) fn copied(&self, rows: &RowSet) -> Result<Chunk, Error> {
        limits::ask_rows(rows.len(), kind::width(&self.shape.data_type))?;
        let (tree, undo) = self.parts();
        if self.shape.kind == Kind::Opaque {
            return take_opaque(tree, &self.shape, rows.iter(), undo);
        }
        let mut gathered = gather(tree, &self.shape, rows);
        if let Some((changed, chunk)) = undo {
            restore(&mut gathered, &self.shape, rows, changed, chunk);
        }
        Ok(gathered.finish(&self.shape))
    }

    /// The cells of these keys, if the step that runs stored them all as one range of numbers.
    fn taken_fresh(&self, keys: &[u64]) -> Option<Chunk> {
        let holds = |rows: &RowSet| rows.as_span().filter(|span| keys.iter().all(|key| span.contains(*key)));
        let (span, chunk) = self.fresh().find_map(|(rows, chunk)| Some((holds(rows)?, chunk)))?;
        self.shape.is_plain().then(|| take_lying(&Cells::of(&self.shape, chunk), &self.shape, span.first, keys))
    }

    fn untouched(&self, rows: &RowSet) -> bool {
        self.parts().1.is_none_or(|(changed, _)| !rows.overlaps(changed))
    }
}

impl Column for BlockView {
    fn data_type(&self) -> &DataType {
        &self.shape.data_type
    }

    fn read(&self, rows: &RowSet) -> Result<Chunk, Error> {
        let (tree, undo) = self.parts();
        if let Some((changed, chunk)) = undo
            && changed == rows
        {
            return Ok(chunk.clone());
        }
        if let Some((_, chunk)) = self.fresh().find(|(stored, _)| stored == rows) {
            return Ok(chunk.clone());
        }
        if let Some(span) = rows.as_span()
            && self.untouched(rows)
            && let Some(chunk) = lent(tree, &self.shape, span.first, span.len() as usize)
        {
            return Ok(chunk);
        }
        self.copied(rows)
    }

    fn take(&self, keys: &[u64]) -> Result<Chunk, Error> {
        if let Some(chunk) = self.taken_fresh(keys) {
            return Ok(chunk);
        }
        let (tree, undo) = self.parts();
        if self.shape.kind == Kind::Opaque {
            return take_opaque(tree, &self.shape, keys.iter().copied(), undo);
        }
        let mut gathered = take(tree, &self.shape, keys);
        if let Some((changed, chunk)) = undo {
            restore_taken(&mut gathered, &self.shape, keys, changed, chunk);
        }
        Ok(gathered.finish(&self.shape))
    }

    fn pieces(&self, rows: &RowSet) -> Result<Vec<Chunk>, Error> {
        let mut pieces = Vec::new();
        let copy = |span: Span| self.copied(&(rows & &RowSet::range(span.first, span.last)));
        // From the first to the last key of the rows that are to be copied together.
        let mut scattered: Option<Span> = None;
        for span in rows.spans() {
            let lendable = span.len() >= PIECE.rows() && self.untouched(&RowSet::range(span.first, span.last));
            if !lendable {
                scattered.get_or_insert(span).last = span.last;
                continue;
            }
            let mut first = span.first;
            while first <= span.last {
                let len = stretch(self.parts().0, first, (span.last - first + 1) as usize);
                let last = first + len as u64 - 1;
                match lent(self.parts().0, &self.shape, first, len) {
                    Some(piece) => {
                        pieces.extend(scattered.take().map(copy).transpose()?);
                        pieces.push(piece);
                    }
                    None => scattered.get_or_insert(Span { first, last }).last = last,
                }
                first = last + 1;
            }
        }
        pieces.extend(scattered.map(copy).transpose()?);
        debug_assert_eq!(pieces.iter().map(|piece| piece.len() as u64).sum::<u64>(), rows.len());
        Ok(pieces)
    }
}
