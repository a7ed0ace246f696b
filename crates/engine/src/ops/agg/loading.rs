//! Bulk loading of groups, as when an aggregation starts over a large table. States that support it accumulate in a
//! shared row-major board, batch by batch: all states take a batch before the next one, while its groups are in cache.

use arrow_buffer::BooleanBuffer;
use column::Chunk;

use super::board::{BATCH, BulkTable};
use super::state::{Batch, State};

/// The positions of inputs, and the state that reads them.
pub(crate) type Placed = (Vec<usize>, Box<dyn State>);

/// The board of the states that take part. The first word of a group counts its rows.
pub(crate) struct BulkLoad {
    board: BulkTable,
    /// For each state, the offset of its words within a group, if it takes part.
    lanes: Vec<Option<usize>>,
    /// How many rows there are to load, and how many are.
    rows: u64,
    loaded: u64,
    /// Room for the slots of a block, as they were left.
    slots: Vec<u32>,
}

impl BulkLoad {
    /// A board for the states that take part, for so many rows.
    pub(crate) fn new(states: &mut [Option<Placed>], rows: u64) -> BulkLoad {
        let mut fresh = vec![0];
        let mut lane = |state: &mut Option<Placed>| {
            let words = state.as_mut()?.1.bulk()?.words();
            let at = fresh.len();
            fresh.extend(words);
            Some(at)
        };
        let lanes = states.iter_mut().map(&mut lane).collect();
        BulkLoad { board: BulkTable::new(fresh), lanes, rows, loaded: 0, slots: Vec::new() }
    }

    /// Whether this state takes part.
    pub(crate) fn has(&self, state: usize) -> bool {
        self.lanes[state].is_some()
    }

    /// The cells of the inputs in the form in which the states of the board read them.
    pub(crate) fn plain(&self, states: &mut [Option<Placed>], inputs: &[Option<Chunk>]) -> Vec<Option<Chunk>> {
        let plain = |(state, lane): (&mut Option<Placed>, &Option<usize>)| {
            let (of, state) = state.as_mut().filter(|_| lane.is_some())?;
            let cells = inputs[*of.first()?].as_ref()?;
            state.bulk().map(|state| state.plain(cells))
        };
        states.iter_mut().zip(&self.lanes).map(plain).collect()
    }

    /// Adds rows to these slots; their cells begin at `from`. Of few groups some may be left out.
    pub(crate) fn enter(
        &mut self,
        states: &mut [Option<Placed>],
        cells: &[Option<Chunk>],
        from: usize,
        slots: &[u32],
        left: Option<&BooleanBuffer>,
    ) {
        let left: Option<Vec<u64>> = left.map(|left| left.bit_chunks().iter_padded().collect());
        for (at, slots) in slots.chunks(BATCH).enumerate() {
            let words = at * (BATCH / 64)..at * (BATCH / 64) + slots.len().div_ceil(64);
            let left = left.as_ref().map(|left| &left[words]);
            self.board.turn_to(slots, left);
            self.board.lane(0).count();
            for ((state, lane), cells) in states.iter_mut().zip(&self.lanes).zip(cells) {
                if let (Some((_, state)), Some(lane), Some(cells)) = (state, lane, cells)
                    && let Some(state) = state.bulk()
                {
                    let batch = Batch { slots, cells, from: from + at * BATCH, left };
                    state.add(&mut self.board.lane(*lane), &batch);
                }
            }
        }
    }

    /// Room for the slots of a block, as it was given back; nobody has it meanwhile.
    pub(crate) fn take_slots(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.slots)
    }

    /// Gives back what was taken, for the next block.
    pub(crate) fn give_slots(&mut self, slots: Vec<u32>) {
        self.slots = slots;
    }

    /// Notes that so many more rows are loaded.
    pub(crate) fn note(&mut self, rows: u64) {
        self.loaded += rows;
    }

    /// How many slots there will be in the end, if new keys come as they came: what has room for them is not copied again.
    pub(crate) fn expected(&self, slots: usize) -> usize {
        let rows = u128::from(self.rows.max(1));
        let all = slots as u128 * rows / u128::from(self.loaded.max(1));
        // A twentieth more, and never more than four times as many.
        (all + all / 20).min(rows).min(4 * slots as u128).max(slots as u128) as usize
    }

    /// How many slots there are at most in the end: each row has one.
    pub(crate) fn most(&self, slots: usize) -> usize {
        slots.saturating_add(usize::try_from(self.rows).unwrap_or(usize::MAX))
    }

    /// Grows to at least this many slots, with room for `expected` ones where it must grow.
    pub(crate) fn grow(&mut self, slots: usize, expected: usize) {
        self.board.grow(slots, expected);
    }

    /// Ends the bulk load: each state takes over its words. Returns the number of rows that each slot received.
    pub(crate) fn flush(mut self, states: &mut [Option<Placed>]) -> Vec<i64> {
        let mut counter = self.board.lane(0);
        let rows: Vec<i64> = (0..counter.slots()).map(|slot| counter.of(slot)[0] as i64).collect();
        for (state, lane) in states.iter_mut().zip(&self.lanes) {
            if let (Some((_, state)), Some(lane)) = (state, lane)
                && let Some(state) = state.bulk()
            {
                state.flush(&mut self.board.lane(*lane), &rows);
            }
        }
        rows
    }
}
