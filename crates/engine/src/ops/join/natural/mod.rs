//! `natural_join`: every left row, with the columns of its one right match, or nulls.
//!
//!   left  0 A    1 B    right  0 A 1           out  0 A 1    1 B –
//!   right + 1 B 2                              out  ~ 1 B 2    K {V}
//!   right ~ 0 A 9                              out  ~ 0 A 9    K {V}
//!
//! Left rows and columns are shared with the left table; right columns are read through a redirection index, which
//! holds the right row key of each left row. Null matches null only with `nulls_equal`. A second right row of a key is
//! an error only if a left row has that key at the end of the step; for an exact join so is a left row without a match. Cost of an update: one probe per changed row, plus
//! the left rows of the keys whose match changed.

mod matching;

use std::sync::Arc;

use column::NO_ROW;
use graph::{Moment, Step};
use rowset::RowSet;

use self::matching::RightChange;
use super::matches::{StoredMatches, flat_matches, redirected};
use super::on::{On, Side, added_columns, joined_schema, joined_update, match_now};
use super::side::JoinKeys;
use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::ops::asked::Asked;
use crate::plan::spec::Matches;
use crate::row_errors::{OnError, RowErrors};
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::Attributes;
use crate::table::parts::Parts;
use crate::table::request::Request;
use crate::table::update::TableUpdate;

/// `natural_join`: left rows with their one match.
pub struct NaturalJoin {
    request: Request,
    on: Arc<On>,
    added: Vec<(usize, String)>,
    matches: Matches,
    nulls_equal: bool,
    row_errors: Option<RowErrors>,
    /// What the error of a second match calls the right table.
    called: String,
    /// What the error of a second match says to do.
    remedy: &'static str,
}

const ONE_OF_SEVERAL: &str = "a natural join takes at most one (use multiple=\"first\" or \"last\", or on_error)";
const EXACTLY_ONE: &str = "an exact join takes exactly one";
const ONE_OF_EACH: &str = "multi_join takes at most one of each table";
const VALIDATED: &str = "validate=\"m:1\" takes at most one";

impl NaturalJoin {
    /// `on`: left and right names; `joins`: new and old names of right columns, all but the keys without it.
    pub fn new(
        operation: &str,
        left: &Table,
        right: &Table,
        on: &[(String, String)],
        joins: Option<&[(String, String)]>,
        suffix: Option<&str>,
        matches: Matches,
        nulls_equal: bool,
    ) -> Result<NaturalJoin, Error> {
        if on.is_empty() {
            return Err(Error::schema(operation, "at least one key column is needed (on=)"));
        }
        let keys = On::new(operation, left, right, on)?;
        let added = added_columns(operation, left, right, joins, &keys.columns(Side::Right), suffix)?;
        let asked = Asked::NaturalJoin { on, added: &added, matches, nulls_equal };
        let request = Request::new(operation, &asked).with_text(On::text(left, right, on));
        Ok(NaturalJoin {
            request,
            on: Arc::new(keys),
            added,
            matches,
            nulls_equal,
            row_errors: None,
            called: "the right table".to_owned(),
            remedy: if matches == Matches::One { EXACTLY_ONE } else { ONE_OF_SEVERAL },
        })
    }

    /// Makes the error of a second match that of `join`, which was told how many there may be.
    pub(crate) fn validated(mut self) -> NaturalJoin {
        self.remedy = VALIDATED;
        self
    }

    /// Makes the error of a second match that of a join of several tables, of which the right one is this.
    pub(crate) fn of_several(mut self, at: usize) -> NaturalJoin {
        (self.called, self.remedy) = (format!("table {at}"), ONE_OF_EACH);
        self
    }

    /// Sets `on_error`: a left row with several matches, where at most one is allowed, gets none and is reported.
    pub(crate) fn with_on_error(mut self, on_error: OnError, row_errors: &RowErrors) -> NaturalJoin {
        self.request = self.request.with_on_error(on_error, row_errors);
        self.row_errors = Some(row_errors.clone());
        self
    }

    /// Whether several matches of a left row are an error, and none is not.
    pub(crate) fn asks_for_one(&self) -> bool {
        self.matches == Matches::Error
    }

    pub(crate) fn nulls_equal(&self) -> bool {
        self.nulls_equal
    }
}

impl Operation for NaturalJoin {
    fn request(&self) -> &Request {
        &self.request
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let [left, right] = inputs else { unreachable!("a join has two inputs") };
        // The join keeps for each row its key and its row key.
        limits::ask_rows(left.view.rows().len().saturating_add(right.view.rows().len()), 16)?;
        let mut live = NaturalLive {
            matches: self.matches,
            operation: self.request.name.clone(),
            row_errors: self.row_errors.clone(),
            called: self.called.clone(),
            remedy: self.remedy,
            // The left rows of a key are needed when its right rows change, and to free a key that no row has any more.
            // Neither happens if the right side is static.
            keys: JoinKeys::new(&self.on, self.nulls_equal, right.table.is_live(), true),
            left_width: left.table.width(),
            added: self.added.iter().map(|(column, _)| *column).collect(),
            frozen: None,
            index: None,
        };
        live.keys.load(Side::Right, &right.view, right.view.rows())?;
        live.freeze_matches();
        let matched = live.start(&left.view)?;
        live.check(&(0..live.keys.slots() as u32).collect::<Vec<_>>())?;
        let counters =
            [left, right].iter().find_map(|input| input.table.graph()).map(crate::observe::storage).unwrap_or_default();
        let still = !left.table.is_live() && !right.table.is_live() && left.view.rows().is_flat();
        let index = if still && !matched.is_empty() {
            flat_matches(matched)?
        } else {
            live.index.insert(StoredMatches::start(matched, at, &counters)?).index()
        };
        let sources = redirected(&left.table, &right.table, &self.added, index);
        let attributes = left.table.attributes().clone();
        let attributes = if right.table.is_live() {
            Attributes { append_only: false, add_only: false, ..attributes }
        } else {
            attributes
        };
        let schema = Arc::new(joined_schema(&left.table, &right.table, &self.added));
        let parts = Parts { rows: left.table.parts().rows.clone(), columns: sources, schema, attributes };
        let owned = live.index.as_ref().map(StoredMatches::owned).unwrap_or_default();
        Ok(Start { parts, live: Box::new(live), owned })
    }
}

struct NaturalLive {
    matches: Matches,
    operation: String,
    row_errors: Option<RowErrors>,
    called: String,
    remedy: &'static str,
    /// The right rows of each key, and the left ones unless the right side never changes.
    keys: JoinKeys,
    left_width: usize,
    added: Vec<usize>,
    /// The match of each key slot, if the right side never changes.
    frozen: Option<Vec<u64>>,
    index: Option<StoredMatches>,
}

impl Live for NaturalLive {
    fn entries(&self) -> u64 {
        self.keys.len() as u64
    }

    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let (left, right) = (&inputs[0], &inputs[1]);
        let update = left.update();
        // The order matters. First the right side is updated, noting the old match of every touched key. Then left rows
        // leave and shift. Only then the left rows of a touched key are listed, in after-keys and without the new ones.
        // Last the new left rows are entered and probe the updated right side.
        let old = self.note_right(right)?;
        self.move_left(left)?;
        let mut right_change = self.judge_right(right, &old)?;
        let mut probe = update.added.clone();
        if self.keys.is_rekeyed(Side::Left, left) {
            probe |= &update.modified;
        }
        let (matches, rematched) = self.indexed(left, right, &probe, &mut right_change)?;
        self.check_and_free()?;
        self.index().write(step, left, matches)?;
        let added = self.left_width..self.left_width + self.added.len();
        Ok(joined_update(update, added, &rematched, right_change.modified, &right_change.columns))
    }
}

impl NaturalLive {
    fn index(&self) -> &StoredMatches {
        self.index.as_ref().expect("the index is made as the join starts")
    }

    /// The new cells of the index, as (left row, right row) ascending by left row; and the surviving left rows whose
    /// match changed. `probe` are the rows whose key is new: added rows, and modified ones if a key column changed.
    fn indexed(
        &mut self,
        left: &Change,
        right_side: &Change,
        probe: &RowSet,
        right: &mut RightChange,
    ) -> Result<(Vec<(u64, u64)>, RowSet), Error> {
        let update = left.update();
        let mut rematched = RowSet::from_keys(right.rematched.clone());
        let mut again = &rematched | &RowSet::from_keys(right.moved.clone());
        let mut cells: Vec<(u64, u64)> = Vec::new();
        if !probe.is_empty() {
            let matched = self.probe(left.now(), probe)?;
            cells.extend(probe.iter().zip(matched));
            again = &again - probe;
        }
        if !again.is_empty() {
            let found = self.look_up(left.now(), &again)?;
            cells.extend(again.iter().zip(found));
            cells.sort_unstable();
        }
        // A surviving row with a new key may have the same match as before. It is reported as modified only if the
        // right row is another one, or if that right row's cells changed; so its old match is read from the index and
        // moved to after-keys.
        let stayed = probe - &update.added;
        if !stayed.is_empty() {
            let before = update.shifts.back(&stayed);
            let old = self.index().before(left, &before)?;
            let changed = right_side.update();
            let mut other = Vec::new();
            for (at, key) in stayed.iter().enumerate() {
                let now = cells[cells.partition_point(|(known, _)| *known < key)].1;
                let same = if now == NO_ROW {
                    old.value(at) == NO_ROW
                } else {
                    match_now(old.value(at), changed) == Some(now)
                };
                if !same {
                    other.push(key);
                } else if now != NO_ROW && changed.modified.contains(now) {
                    right.modified.push(key);
                }
            }
            rematched |= &RowSet::from_sorted_keys(&other);
        }
        rematched = &rematched - &update.added;
        Ok((cells, rematched))
    }

    /// Checks the touched keys for second matches, and frees the slots of keys that neither side has any more. Both
    /// wait for the end of the step: a second match may come and go within one step.
    fn check_and_free(&mut self) -> Result<(), Error> {
        let touched = self.keys.take_touched();
        self.check(&touched)?;
        if self.keys.side(Side::Left).is_some() {
            self.keys.free(&touched, |_| true);
        }
        Ok(())
    }

    fn check(&self, slots: &[u32]) -> Result<(), Error> {
        let judged = self.refuses_several();
        let Some(left) = self.keys.side(Side::Left).filter(|_| judged) else { return Ok(()) };
        let met = slots.iter().find(|slot| self.right().is_several(**slot) && !left.is_empty(**slot));
        met.map_or(Ok(()), |slot| Err(self.second_match(*slot)))
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::ArrayRef;
    use arrow_schema::{DataType, Field, Schema};
    use model::Compare;
    use model::ops::{NaturalJoin as Wanted, SecondMatch, natural_join};

    use super::*;
    use crate::driver::attach::attach;
    use crate::testing::check::check_steps_of_two;
    use crate::testing::{check_law_of_two, table_of};

    fn joined(left: &Table, right: &Table, keys: &[&str], matches: Matches, nulls_equal: bool) -> Result<Table, Error> {
        let on: Vec<(String, String)> = keys.iter().map(|key| ((*key).to_owned(), (*key).to_owned())).collect();
        let join = NaturalJoin::new("natural_join", left, right, &on, None, None, matches, nulls_equal)?;
        attach(&join, &[left.clone(), right.clone()])
    }

    #[test]
    fn matches_come_change_and_go() {
        check_steps_of_two(
            |left, right| joined(left, right, &["k"], Matches::Error, false),
            ("k:str l:int: 0 A 1 | 1 B 2 | 2 A 3", "k:str r:int: 0 A 10"),
            &[
                (("", "+ 1 B 20"), "~ 1 . . 20"),
                (("", "~ 0 . 11"), "~ 0 . . 11 | ~ 2 . . 11"),
                (("~ 0 B .", ""), "~ 0 B . 20"),
                (("+ 3 C 4", ""), "+ 3 C 4 null"),
                (("", "- 1"), "~ 0 . . null | ~ 1 . . null"),
                (("", "- 0 | + 5 A 12"), "~ 2 . . 12"),
                (("", "> [5..5]+4"), ""),
                (("", "+ 7 Z 1 | + 8 Z 2"), ""),
                (("+ 9 Z 1", ""), "! the key (Z) has several rows"),
            ],
        );
    }

    #[test]
    fn an_exact_join_fails_where_a_match_is_missing() {
        let starts = ("k:str l:int: 0 A 1", "k:str r:int: 0 A 10 | 1 C 30 | 2 C 31");
        let exact = |left: &Table, right: &Table| joined(left, right, &["k"], Matches::One, false);
        let missing = "the key (A) has no row in the right table; an exact join takes exactly one";
        let steps = [(("", "- 0 | + 5 A 12"), "~ 0 . . 12"), (("", "+ 6 B 20"), ""), (("+ 1 B 2", ""), "+ 1 B 2 20")];
        let ends = [
            (("", "- 5"), format!("! {missing}")),
            (("+ 2 null 3", ""), format!("! {}", missing.replace("(A)", "(null)"))),
            (("~ 0 D .", ""), format!("! {}", missing.replace("(A)", "(D)"))),
            (
                ("+ 2 C 3", ""),
                "! the key (C) has several rows in the right table; an exact join takes exactly one".into(),
            ),
        ];
        for (step, error) in ends {
            let steps: Vec<_> = steps.iter().copied().chain([(step, error.as_str())]).collect();
            check_steps_of_two(exact, starts, &steps);
        }
    }

    /// Tables that stand still are matched in batches, and their index is kept as it was found.
    #[test]
    fn tables_that_stand_still() -> Result<(), Error> {
        let numbers = |cells: Vec<Option<i64>>| -> ArrayRef { Arc::new(arrow_array::Int64Array::from(cells)) };
        let table = |columns: [(&str, Vec<Option<i64>>); 2]| {
            let fields: Vec<Field> = columns.iter().map(|(name, _)| Field::new(*name, DataType::Int64, true)).collect();
            let rows = columns[0].1.len() as u64;
            let columns = columns.map(|(_, cells)| vec![numbers(cells)]);
            crate::sources::from_chunks(Arc::new(Schema::new(fields)), columns.to_vec(), rows)
        };
        let keys = |row: i64| (row % 10 != 7).then_some(row % 300);
        let left = table([("k", (0..9000).map(keys).collect()), ("l", (0..9000).map(Some).collect())])?;
        let right_keys = (0..100).map(Some).chain([Some(40), None]).collect();
        let right = table([("k", right_keys), ("r", (1000..1102).map(Some).collect())])?;
        for (matches, of_40, nulls_equal) in [(Matches::First, 1040, false), (Matches::Last, 1100, true)] {
            let joined = joined(&left, &right, &["k"], matches, nulls_equal)?;
            let wanted = (0..9000).map(|row| match keys(row) {
                None => nulls_equal.then_some(1101),
                Some(40) => Some(of_40),
                Some(key) => (key < 100).then_some(1000 + key),
            });
            let view = joined.view()?;
            assert_eq!(&view.read(2, view.rows())?, &numbers(wanted.collect()));
        }
        let error = joined(&left, &right, &["k"], Matches::Error, false).err().expect("40 has two rows");
        assert!(error.to_string().contains("the key (40) has several rows"), "{error}");
        let others = table([("k", vec![Some(39), None, Some(500)]), ("l", vec![Some(1); 3])])?;
        let view = joined(&others, &right, &["k"], Matches::Error, false)?.view()?;
        assert_eq!(&view.read(2, view.rows())?, &numbers(vec![Some(1039), None, None]));
        Ok(())
    }

    #[test]
    fn law() {
        let (left, right) = (table_of("k:str v:int"), table_of("k:str w:int").rows(6));
        let wanted = Wanted::new(&["k"], &["w"]);
        let build = |left: &Table, right: &Table| joined(left, right, &["k"], Matches::Error, false);
        check_law_of_two((&left, &right), 300, Compare::ByPosition, build, |left, right| {
            natural_join(left, right, &wanted)
        });
    }

    #[test]
    fn law_of_exactly_one() {
        for (rows, right) in [(2, "b:bool w:int"), (4, "b:bool w:str")] {
            let (left, right) = (table_of("b:bool v:int").rows(3), table_of(right).rows(rows));
            let wanted = Wanted { exactly_one: true, nulls_equal: true, ..Wanted::new(&["b"], &["w"]) };
            let build = |left: &Table, right: &Table| joined(left, right, &["b"], Matches::One, true);
            check_law_of_two((&left, &right), 300, Compare::ByPosition, build, |left, right| {
                natural_join(left, right, &wanted)
            });
        }
    }

    #[test]
    fn law_of_first_and_last() {
        let (left, right) = (table_of("g:int x:float v:int"), table_of("g:int x:float w:str"));
        for (matches, second, nulls_equal) in
            [(Matches::First, SecondMatch::First, true), (Matches::Last, SecondMatch::Last, false)]
        {
            let wanted = Wanted { second, nulls_equal, ..Wanted::new(&["g", "x"], &["w"]) };
            let build = |left: &Table, right: &Table| joined(left, right, &["g", "x"], matches, nulls_equal);
            check_law_of_two((&left, &right), 200, Compare::ByPosition, build, |left, right| {
                natural_join(left, right, &wanted)
            });
        }
    }
}
