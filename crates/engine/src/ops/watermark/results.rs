//! The rows of windows, as they are sent: every change of those that are open, or each window once, when it has closed.
//!
//!   windows of 10, watermark 9    in   + 0 0 3     + 1 10 1     update   + 0 0 3    + 1 10 1     final   nothing
//!   watermark 12                  in   ~ 1 10 2                 update   ~ 1 10 2                final   + 0 0 3
//!   watermark 13                  in   - 0                      update   nothing: it closed, and stays as it was
//!
//! The rows below go when their state is freed; here they stay, unless they are not to be kept. Cost of an update: a probe or a
//! search for each row of a window that comes, goes, changes, moves or closes.

use std::collections::BTreeSet;

use graph::{Moment, Step};
use rowset::RowSet;

use super::Watermarks;
use super::own::{Own, OwnRows, Theirs};
use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::ops::stamps::stamps;
use crate::plan::{Closing, Emit};
use crate::row_errors::RowErrors;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::Attributes;
use crate::table::request::Request;
use crate::table::update::TableUpdate;
use crate::table::view::View;

/// The rows of windows as they are sent.
pub struct WindowResults {
    request: Request,
    end: End,
    how: Closing,
}

/// A column of instants, and how long after each the window of the row has ended.
#[derive(Clone, Copy)]
struct End {
    column: usize,
    after: i64,
}

impl End {
    fn of(self, view: &View, rows: &RowSet) -> Result<Vec<i64>, Error> {
        let ends = stamps(view, self.column, rows)?;
        Ok(ends.into_iter().map(|end| end.unwrap_or(i64::MIN).saturating_add(self.after)).collect())
    }
}

impl WindowResults {
    /// Over a table of windows and a watermark. `end`: the column of their ends; `after`: how long after that a row may still
    /// belong to one.
    pub fn new(method: &str, end: usize, after: i64, how: Closing) -> WindowResults {
        WindowResults { request: Request::unique(method), end: End { column: end, after }, how }
    }

    /// Where the rows of windows were passed over before it.
    pub(crate) fn reporting_to(mut self, row_errors: Option<&RowErrors>) -> WindowResults {
        self.request.row_errors = row_errors.map(RowErrors::sibling);
        self
    }
}

impl Operation for WindowResults {
    fn request(&self) -> &Request {
        &self.request
    }

    fn remembers(&self, _inputs: &[Table]) -> bool {
        true
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let [input, clock] = inputs else { return Err(Error::internal("watermark", "two inputs")) };
        let (rows, allowed) = (input.view.rows(), self.how.allowed_lateness);
        limits::ask_rows(rows.len(), 64)?;
        let ends = self.end.of(&input.view, rows)?;
        let both = || rows.iter().zip(ends.iter().copied());
        if self.how.emit == Emit::Final {
            let by = Watermarks::at_start(&clock.view, allowed)?;
            let closed: Vec<Theirs> = both().filter(|(_, end)| *end <= by).map(|(key, _)| key).collect();
            let own = OwnRows::start(input, &RowSet::from_sorted_keys(&closed), at)?;
            let attributes = Attributes { append_only: true, add_only: true, flat: true, ..Attributes::default() };
            let (parts, owned) = own.parts(input, attributes);
            let open = both().filter(|(_, end)| *end > by).map(|(key, end)| (end, key)).collect();
            return Ok(Start { parts, live: Box::new(Finals { end: self.end, allowed, open, own }), owned });
        }
        let mut own = OwnRows::start(input, rows, at)?;
        let mut ends_of = BTreeSet::new();
        for (place, (theirs, end)) in (0..).zip(both()) {
            own.follow(theirs, place);
            if self.how.forget_results {
                ends_of.insert((end, place));
            }
        }
        let (parts, owned) = own.parts(input, Attributes::default());
        let live = Updates { end: self.end, allowed, forgets: self.how.forget_results, open: ends_of, own };
        Ok(Start { parts, live: Box::new(live), owned })
    }
}

/// Every change of a window that is open.
struct Updates {
    end: End,
    allowed: i64,
    forgets: bool,
    /// The copies by the ends of their windows, if they go then.
    open: BTreeSet<(i64, Own)>,
    own: OwnRows,
}

impl Live for Updates {
    fn entries(&self) -> u64 {
        self.own.followed() + self.open.len() as u64
    }

    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let [change, clock] = inputs else { return Err(Error::internal("watermark", "two inputs")) };
        let limit = Watermarks::of(clock, self.allowed)?.before;
        let update = change.update();
        let (mut gone, mut changed) = (Vec::new(), Vec::new());
        for (theirs, end) in update.removed.0.iter().zip(self.end.of(change.before(), &update.removed.0)?) {
            let Some(own) = self.own.forget(theirs).filter(|_| end > limit) else { continue };
            self.open.remove(&(end, own));
            gone.push(own);
        }
        let back = update.shifts.back(&update.modified);
        let old = self.end.of(change.before(), &back.0)?;
        let new = self.end.of(change.now(), &update.modified)?;
        for ((before, theirs), (old, new)) in back.0.iter().zip(update.modified.iter()).zip(old.into_iter().zip(new)) {
            let Some(own) = self.own.of(before).filter(|_| old > limit) else { continue };
            changed.push((own, theirs));
            if self.open.remove(&(old, own)) {
                self.open.insert((new, own));
            }
        }
        self.own.shift(change);
        while self.forgets
            && let Some((end, own)) = self.open.first().copied()
            && end <= limit
        {
            self.open.pop_first();
            gone.push(own);
        }
        let added = update.added.to_vec();
        limits::ask_rows(added.len() as u64, 64)?;
        let ends = self.end.of(change.now(), &update.added)?;
        let (told, fresh) = self.own.write(step, change, &added, changed, gone)?;
        for (own, (theirs, end)) in fresh.iter().zip(added.into_iter().zip(ends)) {
            self.own.follow(theirs, own);
            if self.forgets {
                self.open.insert((end, own));
            }
        }
        Ok(told)
    }
}

/// Each window once, when it has closed.
struct Finals {
    end: End,
    allowed: i64,
    /// The windows that are open, the first that ends first.
    open: BTreeSet<(i64, Theirs)>,
    own: OwnRows,
}

impl Live for Finals {
    fn entries(&self) -> u64 {
        self.open.len() as u64
    }

    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let [change, clock] = inputs else { return Err(Error::internal("watermark", "two inputs")) };
        let Watermarks { before: limit, now: by } = Watermarks::of(clock, self.allowed)?;
        let update = change.update();
        let (gone, moving) = change.departing_rows(true);
        for (theirs, end) in gone.0.iter().zip(self.end.of(change.before(), &gone.0)?) {
            self.open.remove(&(end, theirs));
        }
        let moved = update.shifts.forward(&moving);
        let ends = self.end.of(change.before(), &moving.0)?;
        let places = moving.0.iter().zip(moved.iter()).zip(ends);
        let there: Vec<(i64, Theirs)> =
            places.filter_map(|((from, to), end)| self.open.remove(&(end, from)).then_some((end, to))).collect();
        self.open.extend(there);
        let fresh = &update.added | &update.modified;
        let ends = self.end.of(change.now(), &fresh)?;
        // A row of a window that closed before has lost some of its rows: it was sent.
        self.open.extend(ends.into_iter().zip(fresh.iter()).filter(|(end, _)| *end > limit));
        let mut closed = Vec::new();
        while let Some((end, theirs)) = self.open.first().copied()
            && end <= by
        {
            self.open.pop_first();
            closed.push(theirs);
        }
        Ok(self.own.write(step, change, &closed, Vec::new(), Vec::new())?.0)
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::{Emit, Late};

    #[test]
    fn law() {
        crate::ops::watermark::tests::equal_to_the_model(200, &[Emit::Final, Emit::Update], &[Late::Drop, Late::Keep]);
    }
}
