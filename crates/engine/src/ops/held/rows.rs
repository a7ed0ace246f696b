//! The rows of an input that an operation holds: those that are not too old, and at most so many.
//!
//!   at most 2               in   + 0 A    + 1 B    + 2 C      out   + 1 B    + 2 C
//!                           in   + 3 D    ~ 1 E    - 2        out   - 1    - 2    + 3 D     1 was let go: 3 rows were there
//!   ttl 10, watermark 15    in   + 4 F at 4    + 5 G at 6     out   + 4 G                   what comes too late stays out
//!
//! Rows are copies, in the order in which they came, so that a row that was let go may change or go in the input, and that of a
//! blink table may stay. Oldest is by the stamp where the input has a watermark, else by when it came. Cost of an update: a
//! probe and a search for each row that comes, goes, changes, moves or is let go.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use graph::{Moment, NodeId, Step};
use rowset::{Before, RowSet};

use super::Time;
use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::ops::stamps::stamps;
use crate::ops::watermark::own::{Own, OwnRows, Theirs};
use crate::plan::{RowBounds, WhenFull};
use crate::table::beside::Tallies;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::Attributes;
use crate::table::request::Request;
use crate::table::update::TableUpdate;
use crate::table::view::View;

/// The rows that are held of a table.
pub struct HeldRows {
    request: Request,
    bounds: RowBounds,
    stamp: Option<usize>,
    tallies: Arc<Tallies>,
}

impl HeldRows {
    /// `stamp`: the column by which a watermark, the second input, tells the time.
    pub(crate) fn new(method: &str, bounds: RowBounds, stamp: Option<usize>, tallies: &Arc<Tallies>) -> HeldRows {
        let timed = bounds.state_ttl.is_some();
        HeldRows { request: Request { timed, ..Request::unique(method) }, bounds, stamp, tallies: Arc::clone(tallies) }
    }
}

impl Operation for HeldRows {
    fn request(&self) -> &Request {
        &self.request
    }

    fn remembers(&self, _inputs: &[Table]) -> bool {
        true
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let input = &inputs[0];
        let time = Time::start(self.stamp, &input.table);
        let now = time.at_start(inputs)?;
        let rows = input.view.rows();
        // The copy, the row, when it leaves.
        limits::ask_rows(rows.len(), 96)?;
        let times = times(&input.view, rows, &time, now)?;
        let old = |time: i64| self.bounds.state_ttl.is_some_and(|ttl| time.saturating_add(ttl) < now);
        let mut held: Vec<(i64, Theirs)> = times.into_iter().zip(rows.iter()).filter(|(time, _)| !old(*time)).collect();
        let most = self.bounds.max_rows.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
        let mut let_go = 0;
        if held.len() > most {
            self.refuse(held.len() as u64)?;
            // The oldest, of equal ones the first.
            held.sort();
            let_go = held.len() - most;
            held.drain(..let_go);
            held.sort_unstable_by_key(|(_, theirs)| *theirs);
        }
        let keys: Vec<Theirs> = held.iter().map(|(_, theirs)| *theirs).collect();
        let mut live = HeldLive {
            bounds: self.bounds,
            operation: self.request.name.clone(),
            time,
            blinks: input.table.attributes().blink,
            own: OwnRows::start(input, &RowSet::from_sorted_keys(&keys), at)?,
            held: HashMap::new(),
            oldest: BTreeSet::new(),
            tallies: Arc::clone(&self.tallies),
        };
        for (own, (time, theirs)) in (0..).zip(held) {
            live.enter(own, theirs, time);
        }
        self.tallies.rows(live.oldest.len() as i64, let_go as u64);
        let (parts, owned) = live.own.parts(input, Attributes::default());
        Ok(Start { parts, live: Box::new(live), owned })
    }
}

impl HeldRows {
    fn refuse(&self, rows: u64) -> Result<(), Error> {
        refuse(&self.request.name, self.bounds, rows)
    }
}

fn refuse(operation: &str, bounds: RowBounds, rows: u64) -> Result<(), Error> {
    match (bounds.max_rows, bounds.when_full) {
        (Some(most), WhenFull::Error) if rows > most => {
            let message = format!(
                "there are {rows} rows, and max_rows={most} with when_full=\"error\"; allow more, or let the oldest go: \
                 when_full=\"evict\""
            );
            Err(Error::Resource { operation: operation.to_owned(), message })
        }
        _ => Ok(()),
    }
}

/// The time of each row: its stamp, or when it came. A row without a stamp came at the time of the watermark.
fn times(view: &View, rows: &RowSet, time: &Time, now: i64) -> Result<Vec<i64>, Error> {
    Ok(match time.stamp() {
        Some(stamp) => stamps(view, stamp, rows)?.into_iter().map(|stamp| stamp.unwrap_or(now)).collect(),
        None => vec![now; rows.len() as usize],
    })
}

struct HeldLive {
    bounds: RowBounds,
    operation: String,
    time: Time,
    /// Whether rows of the table live for one step: that they go is no change.
    blinks: bool,
    own: OwnRows,
    /// The time of each copy, and the row that it follows.
    held: HashMap<Own, (i64, Option<Theirs>)>,
    /// The copies, the oldest first.
    oldest: BTreeSet<(i64, Own)>,
    tallies: Arc<Tallies>,
}

impl HeldLive {
    fn enter(&mut self, own: Own, theirs: Theirs, time: i64) {
        let theirs = (!self.blinks).then_some(theirs);
        if let Some(theirs) = theirs {
            self.own.follow(theirs, own);
        }
        self.held.insert(own, (time, theirs));
        self.oldest.insert((time, own));
    }

    fn leave(&mut self, own: Own) {
        let Some((time, theirs)) = self.held.remove(&own) else { return };
        self.oldest.remove(&(time, own));
        theirs.and_then(|theirs| self.own.forget(theirs));
    }

    fn is_old(&self, time: i64, now: i64) -> bool {
        self.bounds.state_ttl.is_some_and(|ttl| time.saturating_add(ttl) < now)
    }

    fn arm(&mut self) {
        let Some(ttl) = self.bounds.state_ttl else { return };
        let first = self.oldest.first().map(|(time, _)| time.saturating_add(ttl).saturating_add(1));
        self.time.arm(first);
    }
}

impl Live for HeldLive {
    fn joined(&mut self, node: NodeId) {
        self.time.joined(node);
        self.arm();
    }

    fn entries(&self) -> u64 {
        self.held.len() as u64
    }

    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let change = &inputs[0];
        let update = change.update();
        let now = self.time.in_step(inputs)?;
        let before = self.oldest.len() as i64;
        let (mut gone, mut late, mut evicted) = (Vec::new(), 0, 0);
        let removed = if self.blinks { Before::default() } else { update.removed.clone() };
        for theirs in removed.0.iter() {
            if let Some(own) = self.own.of(theirs) {
                self.leave(own);
                gone.push(own);
            }
        }
        let back = update.shifts.back(&update.modified);
        let places = back.0.iter().zip(update.modified.iter());
        // A row that was let go stays away, whatever becomes of it.
        let stays: Vec<(Own, Theirs)> =
            places.filter_map(|(from, to)| self.own.of(from).map(|own| (own, to))).collect();
        for (own, theirs) in self.own.shift(change) {
            if let Some(held) = self.held.get_mut(&own) {
                held.1 = Some(theirs);
            }
        }
        let mut changed: Vec<(Own, Theirs)> = Vec::with_capacity(stays.len());
        if let Some(stamp) = self.time.stamp().filter(|stamp| update.columns.contains(*stamp)) {
            let keys = RowSet::from_keys(stays.iter().map(|(_, theirs)| *theirs).collect());
            let of: HashMap<Theirs, Option<i64>> = keys.iter().zip(stamps(change.now(), stamp, &keys)?).collect();
            for (own, theirs) in stays {
                // A row that has no stamp now keeps the time that it had.
                let had = self.held.get(&own).map_or(now, |(time, _)| *time);
                let time = of.get(&theirs).copied().flatten().unwrap_or(had);
                if self.is_old(time, now) {
                    late += 1;
                    self.leave(own);
                    gone.push(own);
                    continue;
                }
                if let Some((held, _)) = self.held.get_mut(&own) {
                    self.oldest.remove(&(*held, own));
                    self.oldest.insert((time, own));
                    *held = time;
                }
                changed.push((own, theirs));
            }
        } else {
            changed = stays;
        }
        let mut added: Vec<(Theirs, i64)> = Vec::new();
        for (theirs, time) in update.added.iter().zip(times(change.now(), &update.added, &self.time, now)?) {
            match self.is_old(time, now) {
                true => late += 1,
                false => added.push((theirs, time)),
            }
        }
        while let Some((time, own)) = self.oldest.first().copied().filter(|(time, _)| self.is_old(*time, now)) {
            debug_assert!(time <= now, "what is old was");
            self.leave(own);
            gone.push(own);
            evicted += 1;
        }
        let most = self.bounds.max_rows.unwrap_or(u64::MAX);
        let total = (self.oldest.len() + added.len()) as u64;
        if total > most {
            refuse(&self.operation, self.bounds, total)?;
            let mut over = total - most;
            evicted += over;
            // Those that come are younger than those of the same time.
            let mut come: BTreeSet<(i64, usize)> =
                added.iter().enumerate().map(|(at, (_, time))| (*time, at)).collect();
            while over > 0 {
                over -= 1;
                let oldest = self.oldest.first().copied();
                match (oldest, come.first().copied()) {
                    (Some((time, own)), next) if next.is_none_or(|(new, _)| time <= new) => {
                        self.leave(own);
                        gone.push(own);
                    }
                    (_, Some(first)) => _ = come.remove(&first),
                    (_, None) => break,
                }
            }
            let stays: std::collections::HashSet<usize> = come.into_iter().map(|(_, at)| at).collect();
            let mut at = 0..;
            added.retain(|_| at.next().is_some_and(|at| stays.contains(&at)));
        }
        changed.retain(|(own, _)| self.held.contains_key(own));
        limits::ask_rows(added.len() as u64, 96)?;
        let fresh: Vec<Theirs> = added.iter().map(|(theirs, _)| *theirs).collect();
        let (told, copies) = self.own.write(step, change, &fresh, changed, gone)?;
        for (own, (theirs, time)) in copies.iter().zip(added) {
            self.enter(own, theirs, time);
        }
        self.tallies.rows(self.oldest.len() as i64 - before, evicted);
        self.tallies.late(late, 0);
        self.arm();
        Ok(told)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn law() {
        crate::ops::held::tests::rows_equal_the_model(500);
    }
}
