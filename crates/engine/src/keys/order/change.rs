//! The update of an order by a step, and the change of the output that follows.

use rowset::Shift;

use super::Order;
use super::entry::{Entry, Key};
use super::page::NEW;

/// What a step does to the order. Entries are in any order.
pub struct Edits<'a, K: Key> {
    /// Rows that are gone, as they were: with source keys before.
    pub removed: Vec<Entry<K>>,
    /// Rows whose sort key changed: as they were, and as they are, with source keys after.
    pub changed: Vec<(Entry<K>, Entry<K>)>,
    /// New rows, with source keys after.
    pub added: Vec<Entry<K>>,
    /// How sources move.
    pub shifts: &'a K::Shifts,
    /// The surviving entries whose sources move, as they were, changed ones left out; none: look at
    /// every entry, which is the better way where many move.
    pub moved: Option<Vec<Entry<K>>>,
}

/// What the step did to the output.
#[derive(Debug, PartialEq)]
pub struct OrderChange<S> {
    /// Output keys before of rows that are gone or that changed their place, ascending.
    pub removed: Vec<u64>,
    /// Output keys after of new rows and of rows that changed their place, ascending, with their sources.
    pub added: Vec<(u64, S)>,
    /// Output keys after of rows whose sort key changed and whose place did not, ascending.
    pub stayed: Vec<u64>,
    /// How the output keys of all other rows move.
    pub shifts: Vec<Shift>,
    /// Output keys after, ascending, of rows that stay and have another source now, with it.
    pub source_rewrites: Vec<(u64, S)>,
}

impl<S> Default for OrderChange<S> {
    fn default() -> OrderChange<S> {
        OrderChange {
            removed: Vec::new(),
            added: Vec::new(),
            stayed: Vec::new(),
            shifts: Vec::new(),
            source_rewrites: Vec::new(),
        }
    }
}

impl<K: Key> Order<K> {
    /// Turns marks into the change of the output. A shift is the hull of rows that follow each other
    /// and move by the same delta, over the end of a page as well.
    pub(super) fn finish(&mut self, change: &mut OrderChange<K::Source>) {
        let mut open: Option<Shift> = None;
        let mut close = |shift: &mut Option<Shift>| change.shifts.extend(shift.take().filter(|shift| shift.delta != 0));
        for page in &mut self.pages {
            let (mut from, mut new_since) = (0, 0);
            for mark in std::mem::take(&mut page.marks) {
                let output = page.output(mark.slot);
                if mark.was == NEW {
                    change.added.push((output, page.source(mark.slot)));
                    new_since += 1;
                    continue;
                }
                if mark.stays {
                    change.stayed.push(output);
                }
                let delta = output as i64 - mark.was as i64;
                let follows = |shift: &Shift| shift.delta == delta && page.count(from, mark.slot) == new_since;
                if let Some(shift) = open.as_mut().filter(|shift| follows(shift)) {
                    shift.last = mark.was;
                } else {
                    close(&mut open);
                    open = Some(Shift { first: mark.was, last: mark.was, delta });
                }
                (from, new_since) = (mark.slot + 1, 0);
            }
            if open.is_some() && page.count(from, page.size()) != new_since {
                close(&mut open);
            }
        }
        close(&mut open);
        change.source_rewrites.sort_unstable();
        carry(&mut change.source_rewrites, &change.shifts);
    }
}

/// Moves ascending keys by ascending shifts.
fn carry<S>(rewrites: &mut [(u64, S)], shifts: &[Shift]) {
    let mut next = shifts.iter().peekable();
    for (output, _) in rewrites {
        while next.next_if(|shift| shift.last < *output).is_some() {}
        if let Some(shift) = next.peek()
            && shift.first <= *output
        {
            *output = output.wrapping_add_signed(shift.delta);
        }
    }
}
