//! Pairs of rows: what the rows of a join stand for that has all pairs of a key. `explode` pairs rows with the places in
//! their lists.
//!
//! A pair stands in an [`Order`](crate::keys::order::Order) by the row of its leading side, then by the other row. The order
//! gives it a row key, with room between neighbours, so that a row of the other side may come between two pairs of any
//! leading row: what has to make way moves by a shift, and no cell is written. A shift of either input moves the pairs'
//! sources and leaves their row keys alone.

use limits::Exhausted;
use rowset::Shifts;

use crate::error::Error;
use crate::keys::order::entry::{Entry, Key};

/// A row of the leading side and one of the other; [`NO_ROW`](column::NO_ROW) in place of the one if the other stands alone. A leading row
/// stands alone where its pairs would, a row of the other side after all pairs.
pub(crate) type Pair = (u64, u64);

/// The leading row of a pair. The other row is the tie.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LeadRow(u64);

/// The shifts of both inputs.
pub(crate) struct PairShifts {
    pub(crate) lead: Shifts,
    pub(crate) other: Shifts,
}

impl Key for LeadRow {
    type Source = Pair;
    type Shifts = PairShifts;

    fn word(&self) -> u64 {
        self.0
    }

    fn source(&self, tie: u64) -> Pair {
        (self.0, tie)
    }

    fn shift(&mut self, tie: &mut u64, shifts: &PairShifts) -> bool {
        let moved = (shifts.lead.forward_key(self.0), shifts.other.forward_key(*tie));
        let moves = moved != (self.0, *tie);
        (self.0, *tie) = moved;
        moves
    }
}

/// The entries of these pairs.
pub(crate) fn entries(pairs: Vec<Pair>) -> Vec<Entry<LeadRow>> {
    pairs.into_iter().map(|(lead, other)| Entry { key: LeadRow(lead), tie: other }).collect()
}

/// Pairs as they are found. There may be many more of them than rows, so their memory is asked for as they come.
#[derive(Default)]
pub(crate) struct PairList {
    pairs: Vec<Pair>,
    exhausted: Option<Exhausted>,
}

impl PairList {
    /// With room for so many pairs, if there is.
    pub(crate) fn with_room(pairs: u64) -> Result<PairList, Error> {
        limits::ask_rows(pairs, size_of::<Pair>() as u64)?;
        Ok(PairList { pairs: Vec::with_capacity(pairs as usize), exhausted: None })
    }

    pub(crate) fn push(&mut self, pair: Pair) {
        if self.pairs.len() < self.pairs.capacity() || self.grow() {
            self.pairs.push(pair);
        }
    }

    /// Whether there is no memory for more.
    pub(crate) fn is_full(&self) -> bool {
        self.exhausted.is_some()
    }

    #[cold]
    fn grow(&mut self) -> bool {
        let more = self.pairs.capacity().max(64);
        self.exhausted = limits::ask_rows(2 * more as u64, size_of::<Pair>() as u64).err();
        if self.exhausted.is_none() {
            self.pairs.reserve(more);
        }
        self.exhausted.is_none()
    }

    /// The pairs, in the order in which they were found.
    pub(crate) fn finish(self) -> Result<Vec<Pair>, Error> {
        match self.exhausted {
            Some(exhausted) => Err(exhausted.into()),
            None => Ok(self.pairs),
        }
    }
}
