//! A stored column: a tree of blocks that is edited in place, and an undo log of the running step.
//!
//! One lock guards tree, undo log and step together, for short times. Readers take it only to clone the root of the
//! tree; the single writer takes it for at most 64 blocks at a time.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard};

use arrow_schema::DataType;
use graph::{Moment, Moved, Step, lock};
use rowset::RowSet;

use crate::column::{Chunk, Column, ColumnSource};
use crate::error::Error;
use crate::kernels::cells::{Cells, Shape, with_width};
use crate::sizes::BLOCK;
use crate::sizes::{MOVE_ROWS, PACKED_BELOW, RETRY_STEPS, SLAB_BYTES, SLICE_CELLS, WINDOW};
use crate::storage::block::Block;
use crate::storage::counters::{ColumnCounters, StorageCounters};
use crate::storage::dead::{BlockFreed, FreedCells};
use crate::storage::edit::{Edit, Move};
use crate::storage::failpoints::{Point, strike};
use crate::storage::reading::prefetch_cells;
use crate::storage::runs::{Run, leading_block, listed, locate, runs, runs_of};
use crate::storage::slab::{Ahead, Pool};
use crate::storage::tree::{FAN, Leaf, Tree, leaf_of};
use crate::storage::undo::Undo;
use crate::storage::view::{BlockView, Fresh};

/// A column of cells by row key, stored in blocks. While a step runs, its previous state stays readable.
pub struct BlockColumn {
    shape: Arc<Shape>,
    counters: Arc<StorageCounters>,
    shared: Mutex<Shared>,
    /// State of the single node that writes the column.
    writer: Mutex<Writer>,
}

struct Shared {
    tree: Tree,
    written: Moment,
    undo: Option<Undo>,
    /// The chunks that the running step stored. A read of exactly these rows returns the chunk without a gather.
    fresh: Fresh,
    /// True between the first and the last slice of an edit, while the state of `written` must not be read.
    editing: bool,
    /// Whether the last edit failed half way. Until the next edit, reads at every moment give the state before it, by
    /// the undo log.
    failed: bool,
}

struct Writer {
    pool: Pool,
    /// Whether blocks of closed slabs could not be moved yet, because a reader held them.
    stragglers: bool,
    settled: u32,
}

/// Cells to store, in the form that the column's storage kind takes.
enum Source<'a> {
    Plain(Cells),
    Opaque(&'a Chunk),
}

impl BlockColumn {
    /// An empty column, in the canonical form of `data_type`.
    pub fn new(data_type: DataType, at: Moment) -> BlockColumn {
        BlockColumn::build(&data_type, at, None)
    }

    /// An empty column whose counters are also added to `total`.
    pub fn with_counters(data_type: DataType, at: Moment, total: Arc<StorageCounters>) -> BlockColumn {
        BlockColumn::build(&data_type, at, Some(total))
    }

    /// A column with these cells at these rows.
    pub fn with_rows(data_type: DataType, at: Moment, rows: &RowSet, chunk: &Chunk) -> Result<BlockColumn, Error> {
        BlockColumn::new(data_type, at).filled(rows, chunk)
    }

    /// Writes these cells at these rows into a column that nobody reads yet. Fails if the chunk's type or length is
    /// another than the column's and the rows'.
    pub fn filled(self, rows: &RowSet, chunk: &Chunk) -> Result<BlockColumn, Error> {
        self.shape.check(rows.len(), chunk)?;
        self.write(&mut self.writer(), rows, &Source::of(&self.shape, chunk))?;
        Ok(self)
    }

    fn build(data_type: &DataType, at: Moment, total: Option<Arc<StorageCounters>>) -> BlockColumn {
        let shape = Arc::new(Shape::new(data_type));
        let counters = StorageCounters::under(total);
        let pool = Pool::new(BLOCK * shape.width, SLAB_BYTES.get(), counters.clone());
        let shared =
            Shared { tree: Tree::default(), written: at, undo: None, fresh: None, editing: false, failed: false };
        let writer = Writer { pool, stragglers: false, settled: 0 };
        BlockColumn { shape, counters, shared: Mutex::new(shared), writer: Mutex::new(writer) }
    }

    /// Applies the edit of one step. During it, and until [`BlockColumn::settle`], the previous moment stays readable.
    /// A column is written at most once per step.
    ///
    /// # Errors
    /// Fails for cells of another type or count, for texts that do not fit, and if Arrow refuses an operation. The
    /// column then reads as before the step, at every later moment, and the next edit starts from that state.
    pub fn apply(&self, edit: &Edit) -> Result<(), Error> {
        for (rows, chunk) in edit.writes {
            self.shape.check(rows.len(), chunk)?;
        }
        let mut writer = self.writer();
        self.recover(edit.step, &mut writer)?;
        let undo = match edit.old {
            Some(chunk) => {
                self.shape.check(edit.undo.len(), chunk)?;
                Undo::Cells { rows: edit.undo.clone(), chunk: chunk.clone() }
            }
            None => self.gather_undo(edit.undo)?,
        };
        self.publish(edit.step, undo)?;
        let attempt = Attempt(self);
        for shift in edit.moves {
            self.carry(&mut writer, shift)?;
        }
        for (rows, chunk) in edit.writes {
            self.write(&mut writer, rows, &Source::of(&self.shape, chunk))?;
        }
        attempt.succeed((!edit.writes.is_empty()).then(|| edit.writes.into()));
        Ok(())
    }

    /// Rolls back the last edit if it failed: writes the cells of the undo log back into the tree.
    fn recover(&self, step: Step, writer: &mut Writer) -> Result<(), Error> {
        let undo = {
            let shared = self.shared();
            if !shared.failed {
                return Ok(());
            }
            if shared.written >= step.now() {
                return Err(Error::AlreadyWritten { step });
            }
            shared.undo.clone()
        };
        match &undo {
            Some(Undo::Cells { rows, chunk }) => self.write(writer, rows, &Source::of(&self.shape, chunk))?,
            Some(Undo::Nothing) | None => {}
        }
        let mut shared = self.shared();
        shared.failed = false;
        let told = shared.undo.take();
        drop(shared);
        self.counters.drop_undo(told.map_or(0, |undo| undo.bytes()));
        Ok(())
    }

    /// Ends the step: drops the undo log. If the step's edit failed, the undo log is kept, since the previous state is
    /// the only valid one.
    pub fn settle(&self) {
        let mut writer = self.writer();
        let (undo, fresh) = {
            let mut shared = self.shared();
            if shared.failed {
                return;
            }
            (shared.undo.take(), shared.fresh.take())
        };
        drop(fresh);
        if let Some(undo) = &undo {
            self.counters.drop_undo(undo.bytes());
        }
        drop(undo);
        self.tidy_slabs(&mut writer);
    }

    /// Evacuates slabs that hold few blocks, as after the release of a snapshot or the removal of most rows.
    fn tidy_slabs(&self, writer: &mut Writer) {
        let mut closed = false;
        if writer.pool.is_wasteful() {
            writer.pool.trim();
            closed = writer.pool.is_wasteful() && writer.pool.retire();
        }
        writer.settled = writer.settled.wrapping_add(1);
        let retry = writer.stragglers && writer.settled.is_multiple_of(RETRY_STEPS.get() as u32);
        if !closed && !retry {
            return;
        }
        writer.stragglers = false;
        let mut shared = self.shared();
        let moving = |leaf: &&Leaf| leaf.iter().any(|(_, block)| block.should_move());
        let leaves: Vec<u64> = shared.tree.leaves().into_iter().filter(moving).map(Leaf::number).collect();
        for number in leaves {
            for block in shared.tree.leaf_mut(number).blocks_mut().filter(|block| block.should_move()) {
                match Arc::get_mut(block) {
                    Some(_) => *block = Arc::new(block.copy(&self.shape, &mut writer.pool)),
                    None => writer.stragglers = true,
                }
            }
        }
    }

    /// The column's storage counters.
    pub fn counters(&self) -> ColumnCounters {
        let tree = self.shared().tree.clone();
        ColumnCounters {
            blocks_copied: self.counters.blocks_copied(),
            bytes_held: self.counters.bytes_held(),
            undo_bytes: self.counters.undo_bytes(),
            blocks: tree.leaves().iter().map(|leaf| leaf.iter().count() as u64).sum(),
        }
    }

    /// Makes the memory of the next slab of blocks, on this thread rather than in the step that wants it: while
    /// somebody holds a moment, each block that a step writes to is copied.
    pub fn expect_copies(&self) {
        let wanted = self.writer().pool.wants_ahead();
        if let Some(bytes) = wanted {
            let ahead = Ahead::of(bytes, &self.counters);
            self.writer().pool.set_ahead(Some(ahead));
        }
    }

    /// Lets go of what [`BlockColumn::expect_copies`] made and no step wanted.
    pub fn expect_no_copies(&self) {
        self.writer().pool.set_ahead(None);
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        lock(&self.shared)
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        lock(&self.writer)
    }

    /// Gathers the old cells of these keys for the undo log. Readers are not blocked.
    fn gather_undo(&self, rows: &RowSet) -> Result<Undo, Error> {
        if rows.is_empty() {
            return Ok(Undo::Nothing);
        }
        let chunk = self.cells_of(rows)?;
        Ok(Undo::Cells { rows: rows.clone(), chunk })
    }

    fn cells_of(&self, rows: &RowSet) -> Result<Chunk, Error> {
        let tree = self.shared().tree.clone();
        BlockView { shape: self.shape.clone(), tree, undo: None, fresh: None }.copied(rows)
    }

    fn publish(&self, step: Step, undo: Undo) -> Result<(), Error> {
        let mut shared = self.shared();
        if shared.written >= step.now() {
            return Err(Error::AlreadyWritten { step });
        }
        if let Some(old) = &shared.undo {
            self.counters.drop_undo(old.bytes());
        }
        self.counters.keep_undo(undo.bytes());
        let old = (shared.undo.replace(undo), shared.fresh.take());
        (shared.written, shared.editing) = (step.now(), true);
        drop(shared);
        drop(old);
        Ok(())
    }

    /// Moves rows in batches, starting at the end towards which they move, so that no row is overwritten before it is
    /// read. Rows that move by different distances are all read before the first is written.
    fn carry(&self, writer: &mut Writer, shift: &Move) -> Result<(), Error> {
        let Some(delta) = shift.delta else {
            let chunk = self.cells_of(&shift.rows)?;
            return self.write(writer, &shift.to, &Source::of(&self.shape, &chunk));
        };
        let size = MOVE_ROWS.rows();
        let batches = shift.rows.len().div_ceil(size);
        for batch in 0..batches {
            let batch = if delta > 0 { batches - 1 - batch } else { batch };
            let rows = shift.rows.slice(batch * size, size);
            let chunk = self.cells_of(&rows)?;
            self.write(writer, &rows.moved(delta), &Source::of(&self.shape, &chunk))?;
        }
        Ok(())
    }

    /// Stores cells leaf by leaf; the lock is taken for one leaf at a time.
    fn write(&self, writer: &mut Writer, rows: &RowSet, source: &Source) -> Result<(), Error> {
        strike(Point::Write)?;
        if let Some(cells) = self.scattered(source)
            && let Some(keys) = listed(rows)
        {
            return self.write_listed(writer, &keys, cells);
        }
        let mut runs = runs(rows).peekable();
        let (mut at, mut batch) = (0, Vec::new());
        let slice = SLICE_CELLS.get();
        while let Some(first) = runs.peek().copied() {
            strike(Point::Leaf)?;
            let (mut shared, from) = (self.shared(), at);
            let leaf = shared.tree.leaf_mut(leaf_of(first.block));
            while let Some(block) =
                runs.peek().filter(|run| leaf_of(run.block) == leaf_of(first.block)).map(|run| run.block)
                && at - from < slice
            {
                batch.clear();
                while let Some(run) = runs.next_if(|run| run.block == block) {
                    batch.push(run);
                }
                at += self.write_block(leaf, &mut writer.pool, &batch, source, at)?;
            }
        }
        Ok(())
    }

    /// The cells to store, if they are plain values without nulls, which can be written one by one.
    fn scattered<'a>(&self, source: &'a Source) -> Option<&'a Cells> {
        match source {
            Source::Plain(cells) if cells.nulls.is_none() && self.shape.is_plain() => Some(cells),
            _ => None,
        }
    }

    /// Writes plain cells at keys that are mostly not consecutive. The cells that the keys of a leaf will touch are
    /// prefetched a window ahead, so that their cache misses overlap.
    fn write_listed(&self, writer: &mut Writer, keys: &[u64], cells: &Cells) -> Result<(), Error> {
        let mut at = 0;
        let (slice, window) = (SLICE_CELLS.get(), WINDOW.get());
        while let Some(first) = keys.get(at).map(|key| leaf_of(locate(*key).0)) {
            strike(Point::Leaf)?;
            let (mut shared, from) = (self.shared(), at);
            let leaf = shared.tree.leaf_mut(first);
            let ahead = &keys[at..keys.len().min(at + window)];
            let ahead = &ahead[..ahead.partition_point(|key| leaf_of(locate(*key).0) == first)];
            with_width!(self.shape, T, stride => prefetch_cells::<T>(|block| leaf.block(block), ahead, stride, &mut Vec::with_capacity(FAN as usize)));
            while let Some((number, count)) = leading_block(&keys[at..]).filter(|(block, _)| leaf_of(*block) == first)
                && at - from < slice
            {
                let own = &keys[at..at + count];
                let block = leaf.block_or_insert(number, || Arc::new(Block::new(&self.shape, count, &mut writer.pool)));
                let block = writable(block, &self.shape, &mut writer.pool);
                let stored = with_width!(self.shape, T, _stride => {
                    block.scatter::<T>(own, &cells.values.typed_data::<T>()[at..at + count])
                });
                if !stored {
                    let runs: Vec<Run> = runs_of(own).collect();
                    block.write(&self.shape, &runs, cells, at, &mut writer.pool)?;
                }
                at += count;
            }
        }
        Ok(())
    }

    fn write_block(
        &self,
        leaf: &mut Leaf,
        pool: &mut Pool,
        batch: &[Run],
        source: &Source,
        at: usize,
    ) -> Result<usize, Error> {
        let cells = batch.iter().map(|run| run.len).sum();
        let block = leaf.block_or_insert(batch[0].block, || Arc::new(Block::new(&self.shape, cells, pool)));
        let block = writable(block, &self.shape, pool);
        match source {
            Source::Plain(source) => block.write(&self.shape, batch, source, at, pool)?,
            Source::Opaque(chunk) => block.write_opaque(batch, chunk, at)?,
        }
        Ok(cells)
    }

    /// Frees the memory of dead cells: removes empty blocks and packs sparse ones. Call it on settled columns only.
    /// Does nothing if the last edit failed, because its dead cells are still in use.
    pub fn reclaim(&self, dead: &FreedCells) {
        if self.shared().failed {
            return;
        }
        let plain = !self.shape.has_views() && !self.shape.is_opaque();
        let mut blocks = (if plain { dead.thin() } else { dead.blocks() }).iter().peekable();
        if blocks.peek().is_none() {
            return;
        }
        let mut writer = self.writer();
        while let Some(first) = blocks.peek().map(|losses| leaf_of(losses.block)) {
            let mut shared = self.shared();
            let leaf = shared.tree.leaf_mut(first);
            while let Some(losses) = blocks.next_if(|losses| leaf_of(losses.block) == first) {
                self.reclaim_in_block(leaf, &mut writer.pool, dead, losses);
            }
            shared.tree.prune(first);
        }
        writer.pool.trim();
    }

    fn reclaim_in_block(&self, leaf: &mut Leaf, pool: &mut Pool, dead: &FreedCells, losses: &BlockFreed) {
        let Some(block) = leaf.block_mut(losses.block) else { return };
        if losses.alive == 0 {
            leaf.remove(losses.block);
        } else if sparse(block, losses.alive) {
            // Arrow may fail to select cells of an unusual type. The block then keeps all its cells, and packing is
            // tried again when it loses more.
            if let Ok(packed) = block.packed(&self.shape, dead.offsets(losses), pool) {
                *block = Arc::new(packed);
            }
        } else if !block.texts().is_empty() {
            writable(block, &self.shape, pool).clear(dead.runs(losses), pool);
        }
    }
}

/// The guard of an edit: dropping it marks the edit as failed, unless it was marked as successful.
struct Attempt<'a>(&'a BlockColumn);

impl Attempt<'_> {
    fn succeed(self, fresh: Fresh) {
        let mut shared = self.0.shared();
        shared.fresh = fresh;
        shared.editing = false;
    }
}

impl Drop for Attempt<'_> {
    fn drop(&mut self) {
        let mut shared = self.0.shared();
        shared.failed = std::mem::take(&mut shared.editing);
    }
}

impl<'a> Source<'a> {
    fn of(shape: &Shape, chunk: &'a Chunk) -> Source<'a> {
        if shape.is_opaque() { Source::Opaque(chunk) } else { Source::Plain(Cells::of(shape, chunk)) }
    }
}

/// Copy-on-write: the block itself if no reader holds it, otherwise a copy.
fn writable<'a>(block: &'a mut Arc<Block>, shape: &Shape, pool: &mut Pool) -> &'a mut Block {
    // There are no weak references to blocks, so a plain load of the strong count decides. Testing with `Arc::get_mut`
    // and calling it again for the block would cost two atomic read-modify-writes instead of one.
    if Arc::strong_count(block) > 1 {
        pool.counters().block_copied();
        *block = Arc::new(block.copy(shape, pool));
    }
    Arc::get_mut(block).expect("nobody else has seen the copy")
}

/// Whether a block has few rows for its size, or more dead cells than rows.
fn sparse(block: &Block, alive: usize) -> bool {
    let slots = block.slots();
    if slots == BLOCK { alive < PACKED_BELOW.get() } else { alive * 2 < slots }
}

impl ColumnSource for BlockColumn {
    fn data_type(&self) -> &DataType {
        &self.shape.data_type
    }

    fn at(&self, moment: Moment) -> Result<Arc<dyn Column>, Moved> {
        let shared = self.shared();
        let undo = if shared.failed && shared.written.number() <= moment.number() + 1 {
            shared.undo.clone()
        } else if shared.written <= moment && !shared.editing && !shared.failed {
            None
        } else if shared.written.number() == moment.number() + 1 && shared.undo.is_some() {
            shared.undo.clone()
        } else {
            return Err(Moved);
        };
        let tree = shared.tree.clone();
        let fresh = if undo.is_none() { shared.fresh.clone() } else { None };
        drop(shared);
        Ok(Arc::new(BlockView { shape: self.shape.clone(), tree, undo, fresh }))
    }

    fn bytes(&self) -> u64 {
        self.counters.bytes_held()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
