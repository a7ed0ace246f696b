//! `session(…)`: the number of the session in which each row lies, beside it.
//!
//!   gap 5    in    + 0 A 1    + 1 A 4    + 2 A 20      out   + 0 A 1 0    + 1 A 4 0    + 2 A 20 1
//!            in    + 3 A 9    + 4 A 14   + 5 A 17      out   + … 0    ~ 2 . . 0    the rows between make them one
//!            in    - 4                                 out   - 4    ~ 2 . . 2    ~ 5 . . 2    the smaller part has a new one
//!
//! Rows and columns shared, but for the number, which is stored. Aggregates by it are those of sessions. Cost of an update: a
//! probe and a search for each row that comes, goes, moves or has another time, and the smaller part of what merges or splits.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::UInt64Array;
use arrow_schema::{DataType, Field, Schema};
use column::Chunk;
use column::keys::{KeyTable, NO_SLOT};
use column::types::can_be_key;
use formula::ColumnName;
use formula::hidden::shown;
use graph::{Moment, Step};
use rowset::RowSet;

use super::asked::Asked;
use super::neighbours::{differing, told};
use super::select::Output;
use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::keys::sessions::{Session, Sessions as Parted};
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::{Attributes, Parts};
use crate::table::request::Request;
use crate::table::store::{Columns, Writes};
use crate::table::update::TableUpdate;
use crate::table::view::View;

/// The columns of a table, then the number of the session of each row.
pub struct Sessions {
    request: Request,
    keys: Vec<usize>,
    stamp: usize,
    gap: i64,
    name: ColumnName,
}

impl Sessions {
    /// `keys`: the columns that make groups; `stamp`: a column of instants without nulls; `gap`: the greatest distance of
    /// neighbours in a session, in nanoseconds; `name`: of the new column.
    pub fn new(
        operation: &str,
        table: &Table,
        keys: &[String],
        stamp: &str,
        gap: i64,
        name: &ColumnName,
    ) -> Result<Sessions, Error> {
        let columns = keys.iter().map(|key| table.column_index(operation, key)).collect::<Result<Vec<_>, _>>()?;
        if let Some((key, column)) = keys.iter().zip(&columns).find(|(_, at)| !can_be_key(table.column_type(**at))) {
            return Err(Error::unkeyable(operation, shown(table.schema(), key), table.column_type(*column)));
        }
        let place = table.column_index(operation, stamp)?;
        if table.attributes().blink {
            let message = "sessions of a blink table: its rows live for one step, and a later row may make two sessions one; \
                           keep them with blink_to_append_only(t)";
            return Err(Error::invalid(operation, message));
        }
        let request = Request::new(operation, &Asked::Sessions { keys, stamp, gap, name });
        Ok(Sessions { request, keys: columns, stamp: place, gap, name: name.clone() })
    }
}

impl Operation for Sessions {
    fn request(&self) -> &Request {
        &self.request
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let Input { table, view } = &inputs[0];
        let rows = view.rows();
        // Its slot, stamp and key, as they are sorted and as they are kept, and the number.
        limits::ask_rows(rows.len(), 20 + 24 + 8)?;
        let types: Vec<DataType> = self.keys.iter().map(|column| table.column_type(*column).clone()).collect();
        let mut groups = Groups {
            keys: self.keys.clone(),
            stamp: self.stamp,
            table: (!types.is_empty()).then(|| KeyTable::new(&types)),
            sessions: Parted::new(self.gap.unsigned_abs()),
        };
        let placed = groups.enter(view, rows)?;
        let mut order: Vec<(u32, u64, u64)> = placed.iter().collect();
        order.sort_unstable();
        let keys = rows.to_vec();
        let mut numbers = vec![0; keys.len()];
        for (slot, stamp, key) in order {
            groups.sessions.insert(slot, stamp, key, |key, session| {
                // Rows come in order: none that was there changes.
                if let Ok(at) = keys.binary_search(&key) {
                    numbers[at] = session;
                }
            });
        }
        let cells: Chunk = Arc::new(UInt64Array::from(numbers));
        let field = self.name.field(DataType::UInt64);
        let counters = table.graph().map(crate::observe::storage).unwrap_or_default();
        let filled = if rows.is_empty() { Vec::new() } else { vec![(rows.clone(), cells)] };
        let columns = Columns::filled(&Schema::new(vec![field.clone()]), at, &counters, &[filled])?;
        let fields = table.schema().fields().iter().map(|field| Field::clone(field)).chain([field]);
        let kept = table.attributes();
        let parts = Parts {
            rows: table.parts().rows.clone(),
            columns: table.parts().columns.iter().cloned().chain(columns.sources()).collect(),
            schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
            attributes: Attributes { append_only: false, add_only: false, ..kept.clone() },
        };
        let shared = |index: usize| Output::Shared(index, table.schema().field(index).name().clone());
        let outputs = (0..table.width()).map(shared).chain([Output::Computed(0)]).collect();
        let owned = columns.owned();
        Ok(Start { parts, live: Box::new(SessionsLive { groups, outputs, columns }), owned })
    }
}

/// Rows by key, parted into sessions.
struct Groups {
    keys: Vec<usize>,
    stamp: usize,
    /// None without keys, when all rows are one group.
    table: Option<KeyTable>,
    sessions: Parted,
}

/// Rows with their group and their stamp as an ordered number.
struct Placed {
    slots: Vec<u32>,
    stamps: Vec<u64>,
    rows: RowSet,
}

impl Placed {
    fn iter(&self) -> impl Iterator<Item = (u32, u64, u64)> + '_ {
        let places = self.slots.iter().zip(&self.stamps).zip(self.rows.iter());
        places.map(|((slot, stamp), key)| (*slot, *stamp, key))
    }
}

impl Groups {
    /// These rows with their groups, which are entered; the rows are not.
    fn enter(&mut self, view: &View, rows: &RowSet) -> Result<Placed, Error> {
        let mut slots = vec![0; rows.len() as usize];
        if let Some(table) = self.table.as_mut().filter(|_| !rows.is_empty()) {
            slots.clear();
            table.insert(&view.read_columns(&self.keys, rows)?, &mut slots, &mut Vec::new())?;
        }
        self.sessions.grow(self.table.as_ref().map_or(1, KeyTable::capacity_slots));
        Ok(Placed { slots, stamps: self.stamps(view, rows)?, rows: rows.clone() })
    }

    /// These rows, which are there, with their groups.
    fn find(&self, view: &View, rows: &RowSet) -> Result<Placed, Error> {
        let slots = self.slots(view, rows)?;
        Ok(Placed { slots, stamps: self.stamps(view, rows)?, rows: rows.clone() })
    }

    fn slots(&self, view: &View, rows: &RowSet) -> Result<Vec<u32>, Error> {
        let mut slots = vec![0; rows.len() as usize];
        if let Some(table) = self.table.as_ref().filter(|_| !rows.is_empty()) {
            slots.clear();
            table.find(&view.read_columns(&self.keys, rows)?, &mut slots);
        }
        if slots.contains(&NO_SLOT) {
            return Err(Error::internal("session", "a row that is present has a key of no group"));
        }
        Ok(slots)
    }

    fn stamps(&self, view: &View, rows: &RowSet) -> Result<Vec<u64>, Error> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let stamps = crate::ops::agg::integers(&view.read(self.stamp, rows)?);
        Ok(stamps.values().iter().map(|stamp| *stamp as u64 ^ 1 << 63).collect())
    }

    /// Forgets the groups among these that have no row.
    fn free(&mut self, slots: &mut Vec<u32>) {
        slots.sort_unstable();
        slots.dedup();
        if let Some(table) = &mut self.table {
            slots.iter().filter(|slot| self.sessions.is_empty(**slot)).for_each(|slot| table.free(*slot));
        }
    }
}

struct SessionsLive {
    groups: Groups,
    outputs: Vec<Output>,
    columns: Columns,
}

impl Live for SessionsLive {
    fn entries(&self) -> u64 {
        self.groups.sessions.len() as u64 + self.groups.table.as_ref().map_or(0, |table| table.len() as u64)
    }

    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let change = &inputs[0];
        let (update, now) = (change.update(), change.now());
        let told_of = self.follow(change)?;
        let mut writes = Writes { removed: update.removed.clone(), shifts: update.shifts.clone(), ..Writes::default() };
        let (mut fresh, mut rows, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for (key, session) in told_of {
            if update.added.contains(key) {
                fresh.push(session);
            } else {
                rows.push(key);
                others.push(session);
            }
        }
        let rows = RowSet::from_sorted_keys(&rows);
        writes.modified.push(match rows.is_empty() {
            true => None,
            false => differing(&self.columns, 0, &rows, Arc::new(UInt64Array::from(others)), change, step)?,
        });
        if !update.added.is_empty() {
            writes.added.push((update.added.clone(), vec![Arc::new(UInt64Array::from(fresh))]));
        }
        self.columns.write(step, || change.before().rows().clone(), now.rows().clone(), &writes)?;
        Ok(told(&self.outputs, update, |place| writes.modified[place].as_ref().map(|(rows, _)| rows)))
    }
}

impl SessionsLive {
    /// Takes over a change, and says of which rows the session may be another, by their keys after it. All cells are read
    /// before any session changes.
    fn follow(&mut self, change: &Change) -> Result<BTreeMap<u64, Session>, Error> {
        let (groups, update) = (&mut self.groups, change.update());
        let read = groups.keys.iter().chain([&groups.stamp]).copied().collect::<Vec<_>>();
        let restamped = !update.modified.is_empty() && update.columns.contains_any(&read);
        let (gone, moving) = change.departing_rows(restamped);
        let gone = groups.find(change.before(), &gone.0)?;
        let mut moved = groups.slots(change.before(), &moving.0)?;
        let fresh = if restamped { &update.added | &update.modified } else { update.added.clone() };
        let fresh = groups.enter(change.now(), &fresh)?;

        let mut told = BTreeMap::new();
        for (slot, stamp, key) in gone.iter() {
            groups.sessions.remove(slot, stamp, key, |key, session| {
                told.insert(key, session);
            });
            told.remove(&key);
        }
        moved.sort_unstable();
        moved.dedup();
        groups.sessions.shift(&moved, &update.shifts);
        let forward = |(key, session)| (update.shifts.forward_key(key), session);
        let mut told: BTreeMap<u64, Session> = told.into_iter().map(forward).collect();
        for (slot, stamp, key) in fresh.iter() {
            groups.sessions.insert(slot, stamp, key, |key, session| {
                told.insert(key, session);
            });
        }
        let mut left = gone.slots;
        groups.free(&mut left);
        Ok(told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::attach::attach;
    use crate::testing::{any_table, check_law, check_steps};

    fn sessions(table: &Table, keys: &[&str], gap: i64) -> Result<Table, Error> {
        let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        attach(&Sessions::new("session", table, &keys, "T", gap, &"n".into())?, std::slice::from_ref(table))
    }

    #[test]
    fn what_merges_and_splits_is_told() {
        check_steps(
            |table| sessions(table, &[], 5),
            "T:time: 0 1 | 1 4 | 2 20",
            &[
                ("+ 3 9", "+ 3 9 0"),
                ("+ 4 14 | + 5 17", "+ 4 14 0 | + 5 17 0 | ~ 2 . 0"),
                ("- 4", "- 4 | ~ 2 . 2 | ~ 5 . 2"),
                ("~ 0 18", "~ 0 18 2"),
                ("> [5..5]+1 | + 5 30", "> [5..5]+1 | + 5 30 3"),
            ],
        );
    }

    #[test]
    fn each_group_has_its_own() {
        check_steps(
            |table| sessions(table, &["K"], 5),
            "T:time K:str: 0 1 A | 1 2 B | 2 7 A",
            &[("+ 3 4 A", "+ 3 4 A 0 | ~ 2 . . 0"), ("- 1", "- 1"), ("~ 3 . B", "~ 0 . A 3 | ~ 3 . B 4")],
        );
    }

    /// The sessions that users see: groups by the number, over rows in any order.
    #[test]
    fn law() {
        for (key, gap) in [("k", 1), ("g", 0), ("b", 3), ("k", 40)] {
            let gap = gap * 1_000_000_000;
            let how =
                crate::plan::SessionOptions { stamp: "t".to_owned(), gap, closing: crate::plan::Closing::default() };
            let keys = vec![formula::Expr::column(key)];
            let lengths = |table: &Table| {
                let len = formula::Expr::aggregate(formula::Aggregate::Len, None)?.alias("n");
                let (how, keys, on_error) = (how.clone(), keys.clone(), crate::row_errors::OnError::Drop);
                let op = crate::plan::Op::Session { how, keys, aggregates: vec![len], on_error };
                crate::plan::apply(op, "session", std::slice::from_ref(table))
            };
            let told_apart = [key, "session_start"].map(str::to_owned).to_vec();
            check_law(&any_table(), 100, model::Compare::ByKey(told_apart), lengths, |table| {
                model::ops::time_sessions(table, "t", gap, &[key.to_owned()], &[model::ops::Aggregate::len("n")])
            });
        }
    }

    #[test]
    fn rows_that_live_for_one_step_have_none() {
        let graph = crate::testing::still_graph();
        let schema = Arc::new(Schema::new(vec![Field::new(
            "T",
            DataType::Timestamp(arrow_schema::TimeUnit::Nanosecond, None),
            true,
        )]));
        let source = crate::sources::BlinkTable::new(&graph, schema).expect("a sound schema");
        let refused = sessions(source.table(), &[], 1).err().expect("refused").to_string();
        assert!(refused.contains("blink_to_append_only"), "{refused}");
    }
}
