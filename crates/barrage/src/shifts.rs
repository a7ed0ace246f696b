//! Shifts as three row sets: where each begins, where it ends, and where its beginning goes.

use rowset::{RowSet, Shift, Shifts, Span, Spans};

use crate::BarrageError;
use crate::rowset_codec::{Reader, write_rows};

/// The bytes of a step's shifts.
pub fn encode_shifts(shifts: &Shifts) -> Vec<u8> {
    encode(shifts.iter())
}

/// The bytes of shifts that ascend, as [`decode_shifts`] gives them.
pub(crate) fn encode_list(shifts: &[Shift]) -> Vec<u8> {
    encode(shifts.iter())
}

fn encode<'a>(shifts: impl Iterator<Item = &'a Shift> + Clone) -> Vec<u8> {
    let mut bytes = Vec::new();
    let set = |key: fn(&Shift) -> u64| RowSet::from_sorted_keys(&shifts.clone().map(key).collect::<Vec<u64>>());
    write_rows(&set(|shift| shift.first), &mut bytes);
    write_rows(&set(|shift| shift.last), &mut bytes);
    write_rows(&set(|shift| shift.destination().first), &mut bytes);
    bytes
}

/// A list of shifts out of its bytes; safe on any bytes. They ascend and do not overlap, and none
/// moves by nothing; [`Shifts::new`] checks them against the rows.
pub fn decode_shifts(bytes: &[u8]) -> Result<Vec<Shift>, BarrageError> {
    let mut reader = Reader { bytes, at: 0 };
    let (firsts, lasts, destinations) = (reader.rows()?, reader.rows()?, reader.rows()?);
    reader.end()?;
    if firsts.len() != lasts.len() || firsts.len() != destinations.len() {
        return Err(BarrageError::Shifts { what: "the three sets are not of one size" });
    }
    let mut shifts: Vec<Shift> = Vec::new();
    // By ranges, not by keys: a few bytes may say any number of keys.
    let (mut firsts, mut lasts, mut destinations) =
        (Ranges::of(&firsts), Ranges::of(&lasts), Ranges::of(&destinations));
    while let (Some(first), Some(last), Some(destination)) = (firsts.open, lasts.open, destinations.open) {
        let count = first.len().min(last.len()).min(destination.len());
        if last.first < first.first {
            return Err(BarrageError::Shifts { what: "a shift ends before it begins" });
        }
        // So many shifts side by side, each of one key, or they would overlap.
        let overlaps = shifts.last().is_some_and(|shift| first.first <= shift.last);
        if overlaps || (count > 1 && last.first != first.first) {
            return Err(BarrageError::Shifts { what: "two shifts overlap" });
        }
        let delta = destination.first as i64 - first.first as i64;
        let end = last.first + (count - 1);
        match shifts.last_mut() {
            _ if delta == 0 => {}
            Some(shift) if shift.delta == delta && shift.last + 1 == first.first => shift.last = end,
            _ => shifts.push(Shift { first: first.first, last: end, delta }),
        }
        firsts.pass(count);
        lasts.pass(count);
        destinations.pass(count);
    }
    Ok(shifts)
}

/// What is left of a set, range by range.
struct Ranges<'a> {
    open: Option<Span>,
    more: Spans<'a>,
}

impl<'a> Ranges<'a> {
    fn of(rows: &'a RowSet) -> Ranges<'a> {
        let mut more = rows.spans();
        Ranges { open: more.next(), more }
    }

    /// Takes `count` keys off the open range.
    fn pass(&mut self, count: u64) {
        self.open = match self.open {
            Some(span) if span.len() > count => Some(Span { first: span.first + count, last: span.last }),
            _ => self.more.next(),
        };
    }
}
