//! `top_k`, `bottom_k`: the first rows in the order of some columns, without the order of the others.
//!
//!   in   0 A 3    1 B 1    2 C 2      first 2 by V     out   B 1    C 2
//!   in   - 1                                           out   - B 1    + A 3 behind C 2
//!   in   + 3 D 9                                       out   nothing
//!   in   + 4 E 0                                       out   + E 0 before C 2    - A 3
//!   in   ~ 2 F 2                                       out   ~ F 2
//!
//! Own keys, columns read through an index, as in `sort`. Below the rows that are shown, one in `TOP_SHARE` of the others
//! is kept in order: the reserve. Whatever is in neither comes after both. A row that goes is replaced from the reserve;
//! where that is empty, all rows are read once, and the next ones selected.
//!
//! Cost of an update: a search for each changed row, and the rows that an upstream shift moves or, if these are fewer, those
//! that are kept. All rows are read in a step before which, since the last time, a row in `TOP_SHARE` of them left the
//! first ones, or as many came: so many rows are read for each row that changed.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::ArrayRef;
use column::kernels::{first_positions, gather, order_words};
use graph::{Moment, Step};
use rowset::{RowSet, Shifts};

use super::by::{Bytes, SortKey, Sorting};
use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::keys::order::Edits;
use crate::keys::order::entry::Entry;
use crate::keys::ordered::{OrderedRows, Still, through};
use crate::ops::asked::Asked;
use crate::plan::spec::SortBy;
use crate::sizes::{TOP_RESERVE, TOP_SHARE};
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::Parts;
use crate::table::request::Request;
use crate::table::update::TableUpdate;
use crate::table::view::View;

/// The first rows of a table in another order.
pub struct TopK {
    request: Request,
    sorting: Arc<Sorting>,
    rows: u64,
}

impl TopK {
    /// By one column or several, the first that differs decides.
    pub fn new(operation: &str, table: &Table, by: &[SortBy], rows: u64) -> Result<TopK, Error> {
        let sorting = Sorting::of(operation, table, by)?;
        let text = format!("{rows}, {}", sorting.text);
        let request = Request::new(operation, &Asked::TopK { by, rows }).with_text(text);
        Ok(TopK { request, sorting: Arc::new(sorting), rows })
    }

    fn start<K: SortKey>(&self, input: &Input, at: Moment) -> Result<Start, Error> {
        let Input { table, view } = input;
        let size = view.rows().len();
        let mut first: Vec<Entry<K>> = self.sorting.first_entries(view, pool(self.rows, size))?;
        let rest = first.split_off(first.len().min(most(self.rows)));
        let counters = table.graph().map(crate::observe::storage).unwrap_or_default();
        let shown = OrderedRows::start(&first, at, &counters)?;
        let parts = Parts {
            rows: shown.rows().clone(),
            columns: through(table, &shown.index(0)),
            schema: table.schema().clone(),
            attributes: self.sorting.attributes(table, false),
        };
        let owned = shown.owned();
        let (sorting, rows) = (self.sorting.clone(), self.rows);
        let live = TopLive { sorting, rows, size, shown, reserve: rest.into_iter().collect() };
        Ok(Start { parts, live: Box::new(live), owned })
    }
}

/// How many rows are kept in order of so many: those that are shown, and the reserve.
fn pool(shown: u64, size: u64) -> u64 {
    shown.saturating_add(reserved(size)).min(size)
}

fn reserved(size: u64) -> u64 {
    (size / TOP_SHARE.rows()).max(TOP_RESERVE.rows())
}

fn most(rows: u64) -> usize {
    usize::try_from(rows).unwrap_or(usize::MAX)
}

impl Operation for TopK {
    fn request(&self) -> &Request {
        &self.request
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let Input { table, view } = &inputs[0];
        if !table.is_live() {
            let (_, sources) = self.sorting.first_rows(view, self.rows)?;
            let (rows, index) = Still::rows(sources, at)?;
            let attributes = self.sorting.attributes(table, true);
            let parts = Parts { rows, columns: through(table, &index), schema: table.schema().clone(), attributes };
            return Ok(Start { parts, live: Box::new(Still), owned: Vec::new() });
        }
        // An entry and its place in the order.
        limits::ask_rows(pool(self.rows, view.rows().len()), 48)?;
        match view.read_columns(&self.sorting.columns, &RowSet::new())?.as_slice() {
            [one] if order_words(one, false).is_some() => self.start::<u64>(&inputs[0], at),
            _ => self.start::<Bytes>(&inputs[0], at),
        }
    }
}

impl Sorting {
    /// The sort columns and the row keys of the first rows, in order.
    fn first_rows(&self, view: &View, count: u64) -> Result<(Vec<ArrayRef>, Vec<u64>), Error> {
        let rows = view.rows();
        // A position, and the word or the bytes of the first column.
        limits::ask_rows(rows.len(), 12)?;
        let cells = view.read_columns(&self.columns, rows)?;
        let positions = first_positions(&cells, &self.descending, &self.nulls_last, most(count.min(rows.len())))?;
        let positions: Vec<u64> = positions.into_iter().map(u64::from).collect();
        let cells = cells.iter().map(|cells| gather(cells, &positions)).collect::<Result<_, _>>()?;
        Ok((cells, keys_at(rows, positions)))
    }

    fn first_entries<K: SortKey>(&self, view: &View, count: u64) -> Result<Vec<Entry<K>>, Error> {
        let (cells, sources) = self.first_rows(view, count)?;
        K::entries(self, &cells, &sources)
    }
}

/// The keys at these positions, in any order.
fn keys_at(rows: &RowSet, mut positions: Vec<u64>) -> Vec<u64> {
    if let Some(span) = rows.as_span() {
        positions.iter_mut().for_each(|position| *position += span.first);
    } else if positions.len() as u64 > rows.len() / 8 {
        let keys = rows.to_vec();
        positions.iter_mut().for_each(|position| *position = keys[*position as usize]);
    } else {
        positions.iter_mut().for_each(|position| *position = rows.key_at(*position).unwrap_or(0));
    }
    positions
}

struct TopLive<K: SortKey> {
    sorting: Arc<Sorting>,
    rows: u64,
    /// How many rows the input has.
    size: u64,
    shown: OrderedRows<K>,
    /// The rows that come after those that are shown, before all others.
    reserve: BTreeSet<Entry<K>>,
}

impl<K: SortKey> Live for TopLive<K> {
    fn entries(&self) -> u64 {
        (self.shown.len() + self.reserve.len()) as u64
    }

    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let change = &inputs[0];
        let update = change.update();
        let (rekeyed, kept) = self.sorting.judge_modified(change)?;
        let moved = self.sorting.moved(change, &rekeyed.old_rows, self.shown.len() + self.reserve.len())?;
        let removed: Vec<Entry<K>> = self.sorting.entries(change.before(), &update.removed.0)?;
        let added: Vec<Entry<K>> = self.sorting.entries(change.now(), &update.added)?;
        let all = self.kept() == self.size;
        self.size = self.size + added.len() as u64 - removed.len() as u64;

        let last = self.shown.descending().next();
        let is_shown = |entry: &Entry<K>| last.as_ref().is_some_and(|last| entry <= last);
        let (old, new): (Vec<Entry<K>>, Vec<Entry<K>>) = rekeyed.entries.into_iter().unzip();
        let mut gone = BTreeSet::new();
        for entry in removed.iter().chain(&old) {
            if is_shown(entry) {
                gone.insert(entry.clone());
            } else {
                self.reserve.remove(entry);
            }
        }
        self.move_reserve(&update.shifts, moved.as_deref());
        self.take_in(added.into_iter().chain(new.iter().cloned()), &gone, &update.shifts, all);
        let mut exchange = self.exchange(&gone, &update.shifts);
        self.fill(change.now(), self.shown.len() - gone.len() - exchange.left.len(), &mut exchange)?;

        let Exchange { came, left, last } = exchange;
        let came_in = |entry: &Entry<K>| came.binary_search(entry).is_ok();
        let kept: Vec<Entry<K>> = self.sorting.entries(change.now(), &kept)?;
        let stays = |entry: &Entry<K>| last.as_ref().is_some_and(|last| entry <= last) && !came_in(entry);
        let kept: Vec<Entry<K>> = kept.into_iter().filter(stays).collect();
        let changed: Vec<(Entry<K>, Entry<K>)> =
            old.into_iter().zip(new).filter(|(old, new)| gone.contains(old) && came_in(new)).collect();
        changed.iter().for_each(|(old, _)| {
            gone.remove(old);
        });
        let renewed: BTreeSet<&Entry<K>> = changed.iter().map(|(_, new)| new).collect();
        let added = came.iter().filter(|entry| !renewed.contains(entry)).cloned().collect();
        let moves = |entry: &Entry<K>| is_shown(entry) && left.binary_search_by(|left| entry.cmp(left)).is_err();
        let moved = moved.map(|moved| moved.into_iter().filter(moves).collect());
        let removed = gone.into_iter().chain(left.iter().cloned()).collect();
        let edits = Edits { removed, changed, added, shifts: &update.shifts, moved };
        self.trim();
        self.shown.apply(step, edits, &kept, &update.columns)
    }
}

/// Which rows are shown instead of others.
struct Exchange<K> {
    /// Ascending, as they are now.
    came: Vec<Entry<K>>,
    /// Descending, as they were: rows that are there still.
    left: Vec<Entry<K>>,
    /// The last of those that are shown before and after, as it is now.
    last: Option<Entry<K>>,
}

impl<K: SortKey> TopLive<K> {
    fn kept(&self) -> u64 {
        (self.shown.len() + self.reserve.len()) as u64
    }

    /// Moves the rows of the reserve whose sources move: these, or any.
    fn move_reserve(&mut self, shifts: &Shifts, moved: Option<&[Entry<K>]>) {
        let Some(moved) = moved else {
            let reserve = std::mem::take(&mut self.reserve);
            self.reserve = reserve.into_iter().map(|entry| entry.moved(shifts)).collect();
            return;
        };
        let here: Vec<&Entry<K>> = moved.iter().filter(|entry| self.reserve.remove(entry)).collect();
        self.reserve.extend(here.into_iter().map(|entry| entry.clone().moved(shifts)));
    }

    /// Takes new rows into the reserve that come before some row that is kept; any, if all rows are kept.
    fn take_in(&mut self, new: impl Iterator<Item = Entry<K>>, gone: &BTreeSet<Entry<K>>, shifts: &Shifts, all: bool) {
        let last = match self.reserve.last() {
            Some(last) => Some(last.clone()),
            None => self.shown.descending().find(|entry| !gone.contains(entry)).map(|entry| entry.moved(shifts)),
        };
        self.reserve.extend(new.filter(|entry| all || last.as_ref().is_some_and(|last| entry < last)));
    }

    /// Exchanges rows of the reserve for those that come after them, or that are gone.
    fn exchange(&mut self, gone: &BTreeSet<Entry<K>>, shifts: &Shifts) -> Exchange<K> {
        let mut shown = self.shown.descending().filter(|entry| !gone.contains(entry)).peekable();
        let mut many = (self.shown.len() - gone.len()) as u64;
        let (mut came, mut left) = (Vec::new(), Vec::new());
        while let Some(next) = self.reserve.first() {
            if many < self.rows {
                many += 1;
            } else {
                let Some(last) = shown.next_if(|last| *next < last.clone().moved(shifts)) else { break };
                self.reserve.insert(last.clone().moved(shifts));
                left.push(last);
            }
            came.extend(self.reserve.pop_first());
        }
        Exchange { came, left, last: shown.next().map(|entry| entry.moved(shifts)) }
    }

    /// Selects rows from all of the input where fewer are shown than could be; `stay` were shown before.
    fn fill(&mut self, now: &View, stay: usize, exchange: &mut Exchange<K>) -> Result<(), Error> {
        let shown = stay + exchange.came.len();
        if shown as u64 >= self.rows.min(self.size) {
            return Ok(());
        }
        let mut first: Vec<Entry<K>> = self.sorting.first_entries(now, pool(self.rows, self.size))?;
        self.reserve = first.split_off(first.len().min(most(self.rows))).into_iter().collect();
        exchange.came.extend(first.drain(shown..));
        Ok(())
    }

    /// Lets the last rows of the reserve go where it has become twice what it should be.
    fn trim(&mut self) {
        let many = most(reserved(self.size));
        if self.reserve.len() / 2 > many {
            let end = self.reserve.iter().nth(many).cloned();
            end.map(|end| self.reserve.split_off(&end));
        }
    }
}

#[cfg(test)]
mod tests {
    use model::Compare;

    use super::*;
    use crate::attach;
    use crate::testing::draw::in_order as draw;
    use crate::testing::{any_table, check_law, check_steps, table_of};

    fn top(table: &Table, by: &[SortBy], rows: u64) -> Result<Table, Error> {
        attach(&TopK::new("top_k", table, by, rows)?, std::slice::from_ref(table))
    }

    fn check(rows: u64, start: &str, steps: &[(&str, &str)]) {
        let drawn: Vec<(&str, String)> = steps.iter().map(|(given, wanted)| (*given, draw(wanted))).collect();
        let drawn: Vec<(&str, &str)> = drawn.iter().map(|(given, wanted)| (*given, wanted.as_str())).collect();
        check_steps(|table| top(table, &[SortBy::ascending("V")], rows), start, &drawn);
    }

    #[test]
    fn a_row_that_goes_lets_the_next_one_in() {
        let steps =
            [("- 1", "- @0 | + @6 A 3"), ("+ 3 D 9", ""), ("+ 4 E 0", "- @6 | + @2 E 0"), ("~ 2 F .", "~ @4 F .")];
        check(2, "0 A 3 | 1 B 1 | 2 C 2", &steps);
    }

    #[test]
    fn a_row_that_changes_stays_moves_or_leaves() {
        let steps = [
            ("~ 1 . 2", "~ @0 . 2"),
            ("~ 1 . 9", "- @0 | + @6 A 4"),
            ("~ 0 . 5", "~ @6 . 5"),
            ("~ 1 . 0", "- @6 | + @2 B 0"),
        ];
        check(2, "0 A 4 | 1 B 1 | 2 C 3", &steps);
    }

    #[test]
    fn of_equal_rows_the_first_are_shown_and_a_shift_is_silent() {
        let steps = [("> [0..4]+5", ""), ("+ 6 D 1", "- @4 | + @2 D 1"), ("- 6", "- @2 | + @2 B 1")];
        check(2, "0 A 1 | 2 B 1 | 4 C 1", &steps);
    }

    #[test]
    fn a_column_that_is_not_there_is_named() {
        let graph = crate::testing::still_graph();
        let input = crate::testing::Drawn::new(&graph, "0 A 1");
        let error = TopK::new("top_k", input.table(), &[SortBy::ascending("W")], 1).err().expect("no such column");
        assert!(error.to_string().starts_with("top_k: ") && error.to_string().contains('W'), "{error}");
        assert!(TopK::new("top_k", input.table(), &[], 1).is_err());
    }

    fn law(spec: &crate::testing::TableSpec, by: &[SortBy], rows: u64, runs: u64) {
        let model_by: Vec<model::ops::SortBy> = by
            .iter()
            .map(|by| model::ops::SortBy {
                column: by.column.clone(),
                descending: by.descending,
                nulls_last: by.nulls_last,
            })
            .collect();
        check_law(
            spec,
            runs,
            Compare::ByPosition,
            |table| top(table, by, rows),
            |table| model::ops::head(&model::ops::sort(table, &model_by), rows),
        );
    }

    #[test]
    fn law_of_numbers() {
        for rows in [0, 1, 3, 7, u64::MAX] {
            law(&any_table(), &[SortBy { nulls_last: true, ..SortBy::descending("x") }], rows, 80);
            law(&any_table(), &[SortBy::ascending("v")], rows, 80);
        }
    }

    #[test]
    fn law_of_text_and_several_columns() {
        for rows in [1, 4, 9] {
            law(&any_table(), &[SortBy::ascending("k")], rows, 80);
            let last = SortBy { nulls_last: true, ..SortBy::ascending("x") };
            law(&any_table(), &[SortBy::descending("g"), last, SortBy::ascending("b")], rows, 80);
        }
    }

    #[test]
    fn law_of_larger_tables() {
        law(&table_of("g:int x:float").rows(600).steps(30), &[SortBy::ascending("g")], 20, 10);
    }
}
