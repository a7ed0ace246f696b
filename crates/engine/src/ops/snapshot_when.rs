//! `snapshot_when`: the rows of a table as they were when another last changed, with a stamp of that one's last row.
//!
//!   base   0 A    1 B        trigger   + 0 9s       out   + 0 A 9s    + 1 B 9s
//!   base   + 2 C             trigger   nothing      out   nothing
//!   base   nothing           trigger   + 1 10s      out   - 0    - 1    + 0 A 10s    + 1 B 10s    + 2 C 10s
//!   incremental                                     out   + 2 C 10s
//!   history                                         out   + 2 A 10s    + 3 B 10s    + 4 C 10s
//!
//! Rows are copied. Cost of a step in which the trigger changes: the table, or what changed in it since the last time if
//! `incremental`; of others: keys of what changed, if `incremental`, else nothing.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::{Field, Schema};
use column::{Chunk, NO_ROW};
use graph::{Moment, Step};
use rowset::{Before, RowSet};

use super::asked::Asked;
use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::sources::fed::next_keys;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::{Attributes, Parts};
use crate::table::request::Request;
use crate::table::store::{Store, Writes};
use crate::table::update::{Merged, TableUpdate};
use crate::table::view::View;

const NO_HISTORY: &str = "history and incremental exclude each other: a copy of all rows is kept for each time, or one is \
                          brought up to date";
const NOT_APPENDED: &str = "history keeps a copy for each time the trigger grows; give an append-only trigger, such as a \
                            time_table";
const NO_BLINK: &str = "incremental copies what changed since the last time, and rows of a blink table are gone by then; \
                        take blink_to_append_only of it, or leave incremental out";

/// What is kept of a table when another changes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    /// All rows, in place of those before.
    Last,
    /// The rows that changed since the last time, over those before.
    Changed,
    /// All rows, after those before.
    All,
}

/// A table as it was when another last changed.
pub struct SnapshotWhen {
    request: Request,
    /// The columns of the trigger that stand behind those of the table.
    stamps: Vec<usize>,
    kept: Kept,
    initial: bool,
}

impl SnapshotWhen {
    /// A copy of `base` whenever `trigger` changes, with the columns `stamps` of its last row.
    pub fn new(
        base: &Table,
        trigger: &Table,
        stamps: &[String],
        initial: bool,
        incremental: bool,
        history: bool,
    ) -> Result<SnapshotWhen, Error> {
        let method = "snapshot_when";
        let kept = match (incremental, history) {
            (true, true) => return Err(Error::invalid(method, NO_HISTORY)),
            (true, false) => Kept::Changed,
            (false, true) => Kept::All,
            (false, false) => Kept::Last,
        };
        if kept == Kept::All && trigger.is_live() && !trigger.attributes().append_only {
            return Err(Error::invalid(method, NOT_APPENDED));
        }
        if kept == Kept::Changed && base.attributes().blink {
            return Err(Error::invalid(method, NO_BLINK));
        }
        let places = stamps.iter().map(|name| trigger.column_index(method, name)).collect::<Result<Vec<_>, _>>()?;
        let mut seen: HashSet<&str> = base.schema().fields().iter().map(|field| field.name().as_str()).collect();
        if let Some(name) = stamps.iter().find(|name| !seen.insert(name)) {
            return Err(Error::Duplicate { operation: method.into(), name: name.clone() });
        }
        let asked = Asked::SnapshotWhen { stamps, initial, incremental, history };
        Ok(SnapshotWhen { request: Request::new(method, &asked), stamps: places, kept, initial })
    }
}

impl Operation for SnapshotWhen {
    fn request(&self) -> &Request {
        &self.request
    }

    fn remembers(&self, _inputs: &[Table]) -> bool {
        true
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let [base, trigger] = inputs else { return Err(Error::internal("snapshot_when", "two inputs")) };
        let fields = |of: fn(&Table) -> &Arc<Schema>| {
            let own = of(&base.table).fields().iter().map(|field| Field::clone(field));
            let stamps = self.stamps.iter().map(|place| of(&trigger.table).field(*place).clone().with_nullable(true));
            Schema::new(own.chain(stamps).collect::<Vec<_>>())
        };
        let graph = base.table.graph().or(trigger.table.graph());
        let counters = graph.map(crate::observe::storage).unwrap_or_default();
        let taken = if self.initial { base.view.rows().clone() } else { RowSet::new() };
        let rows = if self.kept == Kept::Changed { taken.clone() } else { RowSet::flat(taken.len()) };
        let cells = match taken.is_empty() {
            true => vec![Vec::new(); base.table.width() + self.stamps.len()],
            false => {
                let own = base.view.read_columns(&(0..base.table.width()).collect::<Vec<_>>(), &taken)?;
                let stamps = stamps(&trigger.view, &self.stamps, taken.len())?;
                own.into_iter().chain(stamps).map(|cells| vec![(rows.clone(), cells)]).collect()
            }
        };
        let store = Store::filled(&fields(Table::canonical), at, &counters, rows.clone(), &cells)?;
        let parts = Parts {
            rows: store.rows().clone(),
            columns: store.columns().sources(),
            schema: Arc::new(fields(Table::schema)),
            attributes: Attributes {
                append_only: self.kept == Kept::All,
                add_only: self.kept == Kept::All,
                flat: self.kept != Kept::Changed,
                ..Attributes::default()
            },
        };
        let since = (self.kept == Kept::Changed && self.initial).then(|| Merged::new(rows.clone(), base.table.width()));
        let owned = store.owned();
        let live = SnapshotWhenLive {
            kept: self.kept,
            stamps: self.stamps.clone(),
            blinks: trigger.table.attributes().blink,
            width: base.table.width(),
            next: rows.len(),
            since,
            store,
        };
        Ok(Start { parts, live: Box::new(live), owned })
    }
}

/// The columns of the last row of the trigger, so many times; null if it has no row.
fn stamps(trigger: &View, columns: &[usize], len: u64) -> Result<Vec<Chunk>, Error> {
    limits::ask_rows(len, size_of::<u64>() as u64)?;
    let keys = vec![trigger.rows().last().unwrap_or(NO_ROW); len as usize];
    columns.iter().map(|column| Ok(trigger.column(*column)?.take(&keys)?)).collect()
}

struct SnapshotWhenLive {
    kept: Kept,
    stamps: Vec<usize>,
    /// Whether the rows of the trigger live for a step: that they go is no change.
    blinks: bool,
    width: usize,
    /// The key of the next row that is kept after those before.
    next: u64,
    /// What changed since the last time; none before the first.
    since: Option<Merged>,
    store: Store,
}

impl Live for SnapshotWhenLive {
    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let [base, trigger] = inputs else { return Err(Error::internal("snapshot_when", "two inputs")) };
        if let Some(since) = &mut self.since {
            since.push(base.update());
        }
        let told = trigger.update();
        if told.is_empty() || (self.blinks && told.added.is_empty()) {
            return Ok(TableUpdate::default());
        }
        let now = base.now();
        let mut writes = Writes::default();
        let all: Vec<usize> = (0..self.width).collect();
        match self.kept {
            Kept::Last => {
                let rows = RowSet::flat(now.rows().len());
                writes.removed = Before(self.store.rows().latest());
                if !rows.is_empty() {
                    writes.added.push((rows, self.copied(now, trigger.now(), &all, now.rows())?));
                }
            }
            Kept::All => {
                let cells = self.copied(now, trigger.now(), &all, now.rows())?;
                let keys = RowSet::flat(now.rows().len());
                let keys =
                    if cells.is_empty() { self.next_flat(keys.len()) } else { next_keys(&mut self.next, &cells)? };
                writes.added.extend(keys.map(|keys| (keys, cells)));
            }
            Kept::Changed => {
                let since = self.since.replace(Merged::new(now.rows().clone(), self.width));
                self.changed(since, now, trigger.now(), &mut writes)?;
            }
        }
        self.store.write(step, writes)
    }
}

impl SnapshotWhenLive {
    /// The cells of these rows of the base, and the stamps.
    fn copied(&self, base: &View, trigger: &View, columns: &[usize], rows: &RowSet) -> Result<Vec<Chunk>, Error> {
        let mut cells = base.read_columns(columns, rows)?;
        cells.extend(stamps(trigger, &self.stamps, rows.len())?);
        Ok(cells)
    }

    /// The next keys for rows without columns.
    fn next_flat(&mut self, rows: u64) -> Option<RowSet> {
        let first = self.next;
        self.next += rows;
        (rows > 0).then(|| RowSet::range(first, self.next - 1))
    }

    /// What changed since the last time; all rows if this is the first.
    fn changed(&self, since: Option<Merged>, base: &View, trigger: &View, writes: &mut Writes) -> Result<(), Error> {
        let all: Vec<usize> = (0..self.width).collect();
        let update = since.as_ref().map_or_else(|| TableUpdate::of_added(base.rows().clone()), Merged::update);
        if !update.added.is_empty() {
            writes.added.push((update.added.clone(), self.copied(base, trigger, &all, &update.added)?));
        }
        if let Some(since) = since.filter(|_| !update.modified.is_empty()) {
            for column in 0..self.width {
                let rows = since.modified_in(column);
                let cells = if rows.is_empty() { None } else { Some((rows.clone(), base.read(column, rows)?)) };
                writes.modified.push(cells);
            }
            let stamped = stamps(trigger, &self.stamps, update.modified.len())?;
            writes.modified.extend(stamped.into_iter().map(|cells| Some((update.modified.clone(), cells))));
        }
        writes.removed = update.removed;
        writes.shifts = update.shifts;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use model::Compare;
    use model::ops::{Derived, with_columns};

    use super::*;
    use crate::driver::attach::attach;
    use crate::ops::Project;
    use crate::testing::{any_table, check_law, check_steps_of_two};

    fn taken(base: &Table, trigger: &Table, stamps: &[&str], how: (bool, bool, bool)) -> Result<Table, Error> {
        let stamps: Vec<String> = stamps.iter().map(|name| (*name).to_owned()).collect();
        let when = SnapshotWhen::new(base, trigger, &stamps, how.0, how.1, how.2)?;
        attach(&when, &[base.clone(), trigger.clone()])
    }

    fn named(table: &Table) -> Result<Table, Error> {
        let pairs = [("v".to_owned(), "stamp".to_owned())];
        attach(&Project::rename(table, &pairs)?, std::slice::from_ref(table))
    }

    #[test]
    fn rows_are_copied_when_the_trigger_changes() {
        let stamp = |trigger: &Table| {
            let pairs = [("V".to_owned(), "S".to_owned())];
            attach(&Project::rename(trigger, &pairs)?, std::slice::from_ref(trigger))
        };
        check_steps_of_two(
            |base, trigger| taken(base, &stamp(trigger)?, &["S"], (false, false, false)),
            ("0 A 1 | 1 B 2", "0 T 7"),
            &[
                (("+ 2 C 3", ""), ""),
                (("", "+ 1 T 8"), "+ 0 A 1 8 | + 1 B 2 8 | + 2 C 3 8"),
                (("- 0 | ~ 1 . 5", ""), ""),
                (("", "- 0 | - 1"), "- [0..2] | + 0 B 5 null | + 1 C 3 null"),
            ],
        );
        check_steps_of_two(
            |base, trigger| taken(base, &stamp(trigger)?, &["S"], (true, true, false)),
            ("0 A 1 | 1 B 2", "0 T 7"),
            &[
                (("+ 2 C 3", ""), ""),
                (("~ 1 . 5", ""), ""),
                (("- 0", "~ 0 . 9"), "- 0 | + 2 C 3 9 | ~ 1 . 5 9"),
                (("", "~ 0 . 6"), ""),
            ],
        );
    }

    /// A table that is its own trigger is copied in each step.
    #[test]
    fn law() {
        let last = |input: &model::Table| {
            let place = input.names.iter().position(|name| name == "v").expect("it is there");
            let stamp = input.rows.last().map_or(model::Value::Null, |(_, row)| row[place].clone());
            with_columns(input, &[Derived::new("stamp", move |_| stamp.clone())])
        };
        let build = |table: &Table| taken(table, &named(table)?, &["stamp"], (true, false, false));
        check_law(&any_table(), 150, Compare::ByPosition, build, last);
        let build = |table: &Table| taken(table, &named(table)?, &[], (true, true, false));
        check_law(&any_table(), 300, Compare::ByPosition, build, Clone::clone);
    }
}
