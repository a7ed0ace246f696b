//! `where_in`, `where_not_in`: the rows whose key is, or is not, among the keys of a set table.
//!
//!   rows  0 A    1 B    2 A    set  0 A          out  0 A    2 A
//!   set   + 1 B                                  out  + 1 B
//!   set   + 2 A                                  out  –       another row of a key that is there changes nothing
//!   set   - 0 - 2                                out  - 0 - 2
//!
//! Columns are shared, rows are own. Null is in no set unless `nulls_equal`, so `where_not_in` keeps rows with a null
//! key. Both inputs settle first: one update for both. Cost of an update: one probe a changed row of either side, and
//! the rows of the keys that came to the set or left it.

use std::sync::Arc;

use arrow_buffer::BooleanBuffer;
use column::keys::NO_SLOT;
use graph::{Moment, Step};
use rowset::{Before, RowSet, Shifts};

use super::on::{On, Side};
use super::side::{JoinKeys, Slotted};
use super::still::StillSlots;
use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::keys::ordered::Still;
use crate::ops::asked::Asked;
use crate::plan::spec::Member;
use crate::row_errors::RowErrors;
use crate::sizes::WHERE_IN_PROBE_ROWS;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::Attributes;
use crate::table::parts::Parts;
use crate::table::request::Request;
use crate::table::rows::LiveRows;
use crate::table::update::TableUpdate;
use crate::table::view::View;

/// `where_in` and `where_not_in`: a filter by membership of the row's key in a set table.
pub struct WhereIn {
    request: Request,
    on: Arc<On>,
    member: Member,
    nulls_equal: bool,
}

impl WhereIn {
    /// `on`: names of the key columns, of the rows and of the set.
    pub fn new(
        operation: &str,
        rows: &Table,
        set: &Table,
        on: &[(String, String)],
        member: Member,
        nulls_equal: bool,
    ) -> Result<WhereIn, Error> {
        if on.is_empty() {
            return Err(Error::schema(operation, "at least one key column is needed (cols=)"));
        }
        let keys = On::new(operation, rows, set, on)?;
        let request =
            Request::new(operation, &Asked::WhereIn { on, member, nulls_equal }).with_text(On::text(rows, set, on));
        Ok(WhereIn { request, on: Arc::new(keys), member, nulls_equal })
    }

    /// Sets the recorder of rows that an operation before this one skipped, for `errors()` of the result.
    pub(crate) fn reporting_to(mut self, row_errors: Option<RowErrors>) -> WhereIn {
        self.request.row_errors = row_errors;
        self
    }

    /// Sets the text that errors and `explain` show: what the user wrote.
    pub(crate) fn written(mut self, text: String) -> WhereIn {
        self.request = self.request.with_text(text);
        self
    }
}

impl Operation for WhereIn {
    fn request(&self) -> &Request {
        &self.request
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let [rows, set] = inputs else { unreachable!("rows and their set") };
        let still = !set.table.is_live();
        let kept = rows.table.attributes();
        let attributes = Attributes {
            flat: false,
            append_only: kept.append_only && still,
            add_only: kept.add_only && still,
            ..kept.clone()
        };
        let parts = |kept: &Arc<LiveRows>| Parts {
            rows: kept.clone(),
            columns: rows.table.parts().columns.clone(),
            schema: rows.table.schema().clone(),
            attributes,
        };
        if still && !rows.table.is_live() {
            let kept = Arc::new(LiveRows::new(self.of_still(&rows.view, &set.view)?, at));
            return Ok(Start { parts: parts(&kept), live: Box::new(Still), owned: Vec::new() });
        }
        limits::ask_rows(rows.view.rows().len().saturating_add(set.view.rows().len()), 4)?;
        let mut live = WhereInLive {
            member: self.member,
            // The rows of a key are needed when the key enters or leaves the set, which a static set never sees.
            keys: JoinKeys::new(&self.on, self.nulls_equal, set.table.is_live(), false),
            counts: Vec::new(),
            rows: Arc::new(LiveRows::new(RowSet::new(), at)),
        };
        for part in crate::threads::parallel::parts(set.view.rows(), WHERE_IN_PROBE_ROWS.rows()) {
            let found = live.keys.insert(Side::Right, &set.view, &part)?;
            live.count(&found.slots, 1, &mut Vec::new());
        }
        let kept = live.start(&rows.view)?;
        live.rows = Arc::new(LiveRows::new(kept, at));
        let owned: Vec<Arc<dyn crate::table::settle::Settle>> = vec![live.rows.clone()];
        Ok(Start { parts: parts(&live.rows), live: Box::new(live), owned })
    }
}

impl WhereIn {
    /// The rows that pass, of two tables that stay as they are.
    fn of_still(&self, rows: &View, set: &View) -> Result<RowSet, Error> {
        let mut keys = JoinKeys::new(&self.on, self.nulls_equal, false, false);
        let slots = StillSlots::new(&mut keys, rows, set)?;
        let known = StillSlots::among(&slots.right, keys.slots());
        let passes = |slot: u32| (slot != NO_SLOT && known[slot as usize]) == (self.member == Member::In);
        let passing: Vec<bool> = slots.left.iter().map(|slot| passes(*slot)).collect();
        Ok(column::matching(rows.rows(), &BooleanBuffer::from(passing)))
    }
}

struct WhereInLive {
    member: Member,
    /// The rows of each key, in the result or not, unless the set never changes.
    keys: JoinKeys,
    /// For each key slot, the number of rows of the set with that key.
    counts: Vec<u64>,
    rows: Arc<LiveRows>,
}

impl Live for WhereInLive {
    fn entries(&self) -> u64 {
        self.keys.len() as u64
    }

    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let (source, set) = (&inputs[0], &inputs[1]);
        let rekeyed = self.keys.is_rekeyed(Side::Left, source);
        let flipped = self.take_set(set)?;
        self.move_sources(source, rekeyed)?;
        let rows = self.rows.clone();
        rows.edit(step, |kept| self.change(source, &flipped, rekeyed, kept))
    }
}

impl WhereInLive {
    /// The change of the rows that are kept, after the keys of the sets have flipped.
    fn change(&mut self, source: &Change, flipped: &[u32], rekeyed: bool, kept: &RowSet) -> Result<TableUpdate, Error> {
        let update = source.update();
        let gone = kept & &update.removed.0;
        let before = Before(kept - &gone);
        let survivors = if update.shifts.is_empty() { before.0.clone() } else { update.shifts.forward(&before) };
        let arriving = self.enter(source.now(), &update.added)?;
        let (mut tested, mut passing) = self.of_flipped(flipped, &update.added);
        if rekeyed {
            // Rekeyed rows are not among the rows of flipped keys: they have left their old key's slot, and enter their
            // new one only here.
            passing |= &self.enter(source.now(), &update.modified)?;
            tested |= &update.modified;
        }
        self.free();
        let left = &(&tested & &survivors) - &passing;
        let added = &arriving | &(&passing - &survivors);
        let modified = &(&update.modified & &survivors) - &left;
        let (left, shifts) = if update.shifts.is_empty() {
            (left, Shifts::none())
        } else {
            let left = update.shifts.back(&left);
            let shifts = update.shifts.restrict(&(&before - &left));
            (left.0, shifts)
        };
        let removed = Before(&gone | &left);
        Ok(TableUpdate { columns: update.columns.unless_empty(&modified), added, removed, modified, shifts })
    }

    fn passes(&self, slot: u32) -> bool {
        let known = slot != NO_SLOT && self.counts.get(slot as usize).is_some_and(|count| *count > 0);
        known == (self.member == Member::In)
    }

    /// Counts rows that enter the set (`by` is 1) or leave it (-1). Notes in `was`, for each touch, whether the slot's
    /// key was in the set before.
    fn count(&mut self, slots: &[u32], by: i64, was: &mut Vec<(u32, bool)>) {
        if self.counts.len() < self.keys.slots() {
            self.counts.resize(self.keys.slots(), 0);
        }
        for slot in slots {
            let count = &mut self.counts[*slot as usize];
            was.push((*slot, *count > 0));
            *count = count.wrapping_add_signed(by);
        }
    }

    /// Applies the set's change. Returns the slots whose membership flipped.
    fn take_set(&mut self, set: &Change) -> Result<Vec<u32>, Error> {
        let update = set.update();
        let rekeyed = self.keys.is_rekeyed(Side::Right, set);
        let back = if rekeyed { update.shifts.back(&update.modified) } else { Before::default() };
        let gone = &update.removed | &back;
        let come = if rekeyed { &update.added | &update.modified } else { update.added.clone() };
        let mut was: Vec<(u32, bool)> = Vec::new();
        let gone = self.keys.find(Side::Right, set.before(), &gone.0)?;
        self.count(&gone.slots, -1, &mut was);
        let come = self.keys.insert(Side::Right, set.now(), &come)?;
        self.count(&come.slots, 1, &mut was);
        [gone, come].iter().for_each(|found| self.keys.touch(&found.slots));
        // A stable sort: of several touches of a slot, the first one holds the membership before the step.
        was.sort_by_key(|(slot, _)| *slot);
        was.dedup_by_key(|(slot, _)| *slot);
        was.retain(|(slot, was)| (self.counts[*slot as usize] > 0) != *was);
        Ok(was.into_iter().map(|(slot, _)| slot).collect())
    }

    /// Applies the change of the filtered table, except for added and rekeyed rows, which enter later.
    fn move_sources(&mut self, source: &Change, rekeyed: bool) -> Result<(), Error> {
        if !self.is_stored() {
            return Ok(());
        }
        let (gone, moving) = source.departing_rows(rekeyed);
        let gone = self.keys.find(Side::Left, source.before(), &gone.0)?;
        let moving = self.keys.find(Side::Left, source.before(), &moving.0)?;
        self.keys.leave(Side::Left, &gone);
        self.keys.shift(Side::Left, moving.slots, &source.update().shifts);
        Ok(())
    }

    /// Whether the rows of each key are stored.
    fn is_stored(&self) -> bool {
        self.keys.side(Side::Left).is_some()
    }

    /// The initial result: the rows that pass. Over a static set the rows are only looked up and not entered.
    fn start(&mut self, view: &View) -> Result<RowSet, Error> {
        let parts = crate::threads::parallel::parts(view.rows(), WHERE_IN_PROBE_ROWS.rows());
        let passing: Vec<RowSet> = if self.is_stored() {
            let mut passing = Vec::with_capacity(parts.len());
            for part in &parts {
                let found = self.keys.load(Side::Left, view, part)?;
                passing.push(self.passing(part, &found));
            }
            passing
        } else {
            crate::threads::parallel::try_map(parts.len() > 2, &parts, |_, part| self.look_up(view, part))?
        };
        Ok(RowSet::union_all(passing.iter()))
    }

    /// Enters rows under their keys and returns those that pass.
    fn enter(&mut self, view: &View, rows: &RowSet) -> Result<RowSet, Error> {
        if !self.is_stored() {
            return self.look_up(view, rows);
        }
        let found = self.keys.insert(Side::Left, view, rows)?;
        self.keys.enter(Side::Left, &found);
        Ok(self.passing(rows, &found))
    }

    fn look_up(&self, view: &View, rows: &RowSet) -> Result<RowSet, Error> {
        Ok(self.passing(rows, &self.keys.find(Side::Left, view, rows)?))
    }

    /// The rows that pass. Those that are not in `found` have a null key, which is in no set.
    fn passing(&self, rows: &RowSet, found: &Slotted) -> RowSet {
        let keys: Vec<u64> = found.iter().filter(|(_, slot)| self.passes(*slot)).map(|(row, _)| row).collect();
        let passing = RowSet::from_sorted_keys(&keys);
        let others = self.member == Member::NotIn && found.rows.len() < rows.len();
        if others { &passing | &(rows - &found.rows) } else { passing }
    }

    /// The rows of keys whose membership flipped, without `fresh` ones; and those of them that pass now.
    fn of_flipped(&self, flipped: &[u32], fresh: &RowSet) -> (RowSet, RowSet) {
        let Some(sources) = self.keys.side(Side::Left) else { return Default::default() };
        let (mut all, mut passing) = (Vec::new(), Vec::new());
        for slot in flipped {
            let passes = self.passes(*slot);
            sources.for_each(*slot, |row| {
                all.push(row);
                if passes {
                    passing.push(row);
                }
            });
        }
        (&RowSet::from_keys(all) - fresh, &RowSet::from_keys(passing) - fresh)
    }

    /// Frees the slots of keys that neither side has any more.
    fn free(&mut self) {
        let touched = self.keys.take_touched();
        if self.is_stored() {
            self.keys.free(&touched, |slot| self.counts.get(slot as usize).is_none_or(|count| *count == 0));
        }
    }
}

#[cfg(test)]
mod tests {
    use model::Compare;
    use model::ops::where_in;

    use super::*;
    use crate::driver::attach::attach;
    use crate::testing::check::check_steps_of_two;
    use crate::testing::{check_law_of_two, table_of};

    fn same(keys: &[&str]) -> Vec<(String, String)> {
        keys.iter().map(|key| ((*key).to_owned(), (*key).to_owned())).collect()
    }

    fn kept(rows: &Table, set: &Table, keys: &[&str], member: Member, nulls_equal: bool) -> Result<Table, Error> {
        attach(&WhereIn::new("where_in", rows, set, &same(keys), member, nulls_equal)?, &[rows.clone(), set.clone()])
    }

    #[test]
    fn keys_come_to_the_set_and_leave_it() {
        check_steps_of_two(
            |rows, set| kept(rows, set, &["k"], Member::In, false),
            ("k:str l:int: 0 A 1 | 1 B 2 | 2 A 3 | 3 null 4", "k:str r:int: 0 A 1"),
            &[
                (("", "+ 1 B 2"), "+ 1 B 2"),
                (("", "+ 2 A 3"), ""),
                (("", "- 0"), ""),
                (("", "~ 2 C ."), "- 0 | - 2"),
                (("~ 0 B .", ""), "+ 0 B 1"),
                (("~ 0 . 7", "- 1"), "- 0 | - 1"),
                (("", "+ 5 null 1"), ""),
                (("+ 9 A 9", "+ 6 A 1"), "+ 2 A 3 | + 9 A 9"),
                (("> [9..9]+4", ""), "> [9..9]+4"),
                (("- 13", "- 6"), "- 2 | - 13"),
            ],
        );
    }

    #[test]
    fn a_null_key_is_in_no_set() {
        check_steps_of_two(
            |rows, set| kept(rows, set, &["k"], Member::NotIn, false),
            ("k:str l:int: 0 A 1 | 1 null 2", "k:str r:int: 0 null 1"),
            &[(("", "+ 1 A 1"), "- 0"), (("~ 1 A .", ""), "- 1"), (("~ 1 null .", ""), "+ 1 null 2")],
        );
        check_steps_of_two(
            |rows, set| kept(rows, set, &["k"], Member::In, true),
            ("k:str l:int: 0 A 1 | 1 null 2", "k:str r:int: 0 A 1"),
            &[(("", "+ 1 null 1"), "+ 1 null 2")],
        );
    }

    #[test]
    fn law() {
        let (rows, set) = (table_of("k:str v:int"), table_of("k:str w:int").rows(6));
        for (member, not) in [(Member::In, false), (Member::NotIn, true)] {
            let build = |rows: &Table, set: &Table| kept(rows, set, &["k"], member, false);
            check_law_of_two((&rows, &set), 300, Compare::ByPosition, build, |rows, set| {
                Ok(where_in(rows, set, &same(&["k"]), not, false))
            });
        }
    }

    #[test]
    fn law_of_several_keys_and_nulls() {
        let (rows, set) = (table_of("g:int x:float v:int"), table_of("g:int x:float w:str"));
        for (member, not) in [(Member::In, false), (Member::NotIn, true)] {
            let build = |rows: &Table, set: &Table| kept(rows, set, &["g", "x"], member, true);
            check_law_of_two((&rows, &set), 200, Compare::ByPosition, build, |rows, set| {
                Ok(where_in(rows, set, &same(&["g", "x"]), not, true))
            });
        }
    }
}
