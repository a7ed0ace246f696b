//! Which groups of an input that only grows have a state: those whose last row is not too long ago, and at most so many.
//!
//!   at most 2     touch 0    touch 1    touch 0    touch 2      lets go 1
//!   ttl 10        touch 0 at 5          time 15    nothing      time 16    lets go 0
//!
//! A group is known by a slot, which its owner may give to another once it is let go. Cost of a touch: a write; of a group that is
//! let go, and of one that was touched since it was looked at last: a place in a heap, which has one for each group.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use graph::NodeId;
use rowset::RowSet;

use super::Time;
use crate::driver::operation::Input;
use crate::error::Error;
use crate::ops::stamps::stamps;
use crate::plan::{GroupBounds, WhenFull};
use crate::table::beside::Tallies;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::view::View;

/// What is asked of the groups of an operation.
#[derive(Clone)]
pub(crate) struct HowHeld {
    pub(crate) bounds: GroupBounds,
    /// The column by which a watermark tells the time; that is the last input then.
    pub(crate) stamp: Option<usize>,
    pub(crate) tallies: Arc<Tallies>,
}

impl HowHeld {
    /// Whether groups are let go as time goes on, though no row comes.
    pub(crate) fn in_time(&self) -> bool {
        self.bounds.state_ttl.is_some()
    }
}

/// When a group was touched last: the time, and how many touches there were before.
type Touch = (i64, u64);

/// The groups that have a state.
pub(crate) struct HeldGroups {
    operation: String,
    bounds: GroupBounds,
    time: Time,
    last: Vec<Option<Touch>>,
    /// A touch of each group, the last one or one before it.
    queue: BinaryHeap<Reverse<(Touch, u32)>>,
    touches: u64,
    held: u64,
    tallies: Arc<Tallies>,
}

impl HeldGroups {
    pub(crate) fn start(operation: &str, how: &HowHeld, table: &Table) -> HeldGroups {
        HeldGroups {
            operation: operation.to_owned(),
            bounds: how.bounds,
            time: Time::start(how.stamp, table),
            last: Vec::new(),
            queue: BinaryHeap::new(),
            touches: 0,
            held: 0,
            tallies: Arc::clone(&how.tallies),
        }
    }

    pub(crate) fn joined(&mut self, node: NodeId) {
        self.time.joined(node);
        self.arm();
    }

    /// As an operation starts: the groups of the rows that are there, and those that are let go at once.
    pub(crate) fn begin(&mut self, inputs: &[Input], rows: &RowSet, slots: &[u32]) -> Result<Vec<u32>, Error> {
        let now = self.time.at_start(inputs)?;
        self.touch(&inputs[0].view, rows, slots, now)?;
        self.let_go(now)
    }

    /// The groups of the rows that came in a step, and those that are let go behind it.
    pub(crate) fn step(&mut self, inputs: &[Change], slots: &[u32]) -> Result<Vec<u32>, Error> {
        let now = self.time.in_step(inputs)?;
        self.touch(inputs[0].now(), &inputs[0].update().added, slots, now)?;
        self.let_go(now)
    }

    /// Whether the rows of what is let go stay in the result.
    pub(crate) fn keeps_results(&self) -> bool {
        self.bounds.keep_results
    }

    /// A row without a stamp came at the time of the watermark.
    fn touch(&mut self, view: &View, rows: &RowSet, slots: &[u32], now: i64) -> Result<(), Error> {
        let stamps = match self.time.stamp() {
            Some(stamp) => stamps(view, stamp, rows)?,
            None => Vec::new(),
        };
        let most = slots.iter().max().map_or(0, |most| *most as usize + 1);
        limits::ask_rows((most.saturating_sub(self.last.len())) as u64, 48)?;
        self.last.resize(self.last.len().max(most), None);
        for (at, slot) in slots.iter().enumerate() {
            let time = stamps.get(at).copied().flatten().unwrap_or(now);
            let touch = (time, self.touches);
            self.touches += 1;
            let last = &mut self.last[*slot as usize];
            match last {
                Some(before) => *before = touch.max(*before),
                None => {
                    *last = Some(touch);
                    self.held += 1;
                    self.queue.push(Reverse((touch, *slot)));
                }
            }
        }
        Ok(())
    }

    fn let_go(&mut self, now: i64) -> Result<Vec<u32>, Error> {
        let mut gone = Vec::new();
        while let Some(Reverse((touch, slot))) = self.queue.peek().copied() {
            let last = self.last[slot as usize].unwrap_or(touch);
            if last > touch {
                self.queue.pop();
                self.queue.push(Reverse((last, slot)));
                continue;
            }
            let old = self.bounds.state_ttl.is_some_and(|ttl| touch.0.saturating_add(ttl) < now);
            let full = self.bounds.max_groups.filter(|most| self.held > *most);
            match (old, full) {
                (false, None) => break,
                (false, Some(most)) if self.bounds.when_full == WhenFull::Error => {
                    let message = format!(
                        "there are {} groups, and max_groups={most} with when_full=\"error\"; allow more, or let those go that had \
                         no row for the longest time: when_full=\"evict\"",
                        self.held
                    );
                    return Err(Error::Resource { operation: self.operation.clone(), message });
                }
                _ => {}
            }
            self.queue.pop();
            self.last[slot as usize] = None;
            self.held -= 1;
            gone.push(slot);
        }
        self.tallies.groups(self.held, gone.len() as u64);
        self.arm();
        Ok(gone)
    }

    fn arm(&mut self) {
        let Some(ttl) = self.bounds.state_ttl else { return };
        let first = self.queue.peek().map(|Reverse((touch, _))| touch.0.saturating_add(ttl).saturating_add(1));
        self.time.arm(first);
    }
}
