//! `time_window`: whether the stamp of a row lies within the last so long.
//!
//!   now 100s, span 10s    in   0 95s    1 80s     out   0 95s true    1 80s false
//!   now 106s              in   nothing            out   ~ 0 . false
//!   now 106s              in   + 2 100s           out   + 2 100s true
//!
//! Rows and columns shared, but for the flag. The stamps inside the window stand in order; the first of them is when the
//! table next runs by itself. Cost of an update: the change and the rows that age, each a search.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::BooleanArray;
use arrow_array::cast::AsArray;
use arrow_schema::{DataType, Field, Schema};
use column::Chunk;
use formula::ColumnName;
use graph::{Moment, NodeId, Step};
use rowset::RowSet;

use super::asked::Asked;
use super::neighbours::{differing, now_of};
use super::stamps::stamps;
use crate::driver::alarm::Alarm;
use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::{Attributes, Parts};
use crate::table::request::Request;
use crate::table::store::{Columns, Writes};
use crate::table::update::TableUpdate;

/// A column that says of each row whether its stamp is recent.
pub struct TimeWindow {
    request: Request,
    stamp: usize,
    span: i64,
    flag: ColumnName,
}

impl TimeWindow {
    /// Whether the column `stamp` is not before `span` nanoseconds ago, as the column `flag`. A negative span ends after now.
    pub fn new(method: &str, table: &Table, stamp: &str, span: i64, flag: &ColumnName) -> Result<TimeWindow, Error> {
        let place = table.column_index(method, stamp)?;
        let found = table.canonical().field(place).data_type();
        if !matches!(found, DataType::Timestamp(_, Some(_))) {
            let message = format!(
                "the column {stamp:?} holds {}, and a window takes instants with a zone, such as Datetime(\"ns\", \
                 \"UTC\"); cast it first",
                formula::type_name(found)
            );
            return Err(Error::types(method, message));
        }
        if table.schema().index_of(flag.as_str()).is_ok() {
            return Err(Error::Duplicate { operation: method.into(), name: flag.as_str().into() });
        }
        let asked = Asked::TimeWindow { stamp, span, flag: flag.as_str() };
        let request = Request { timed: true, ..Request::new(method, &asked) };
        Ok(TimeWindow { request, stamp: place, span, flag: flag.clone() })
    }
}

impl Operation for TimeWindow {
    fn request(&self) -> &Request {
        &self.request
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let Input { table, view } = &inputs[0];
        let now = table.graph().map_or_else(graph::env::epoch_nanos, now_of);
        let (rows, limit) = (view.rows(), now.saturating_sub(self.span));
        limits::ask_rows(rows.len(), 2 * size_of::<(i64, u64)>() as u64)?;
        let stamps = stamps(view, self.stamp, rows)?;
        let cells = if rows.is_empty() { Vec::new() } else { vec![(rows.clone(), flags(&stamps, limit))] };
        let field = self.flag.field(DataType::Boolean);
        let counters = table.graph().map(crate::observe::storage).unwrap_or_default();
        let columns = Columns::filled(&Schema::new(vec![field.clone()]), at, &counters, &[cells])?;
        let fields = table.schema().fields().iter().map(|field| Field::clone(field)).chain([field]);
        let old = table.attributes().clone();
        let parts = Parts {
            rows: table.parts().rows.clone(),
            columns: table.parts().columns.iter().cloned().chain(columns.sources()).collect(),
            schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
            attributes: Attributes { append_only: false, add_only: false, ..old },
        };
        let inside = rows.iter().zip(&stamps).filter_map(|(key, stamp)| Some(((*stamp)?, key)));
        let live = TimeWindowLive {
            stamp: self.stamp,
            span: self.span,
            flag: table.width(),
            alarm: table.graph().map(Alarm::new),
            now,
            inside: inside.filter(|(stamp, _)| *stamp >= limit).collect(),
            columns,
        };
        let owned = live.columns.owned();
        Ok(Start { parts, live: Box::new(live), owned })
    }
}

struct TimeWindowLive {
    stamp: usize,
    span: i64,
    flag: usize,
    /// Of the step in which the first row is outside.
    alarm: Option<Alarm>,
    /// The latest instant that was seen. The window never moves back, even if the machine's clock does.
    now: i64,
    /// The rows inside the window, the first that leaves it first.
    inside: BTreeSet<(i64, u64)>,
    columns: Columns,
}

impl Live for TimeWindowLive {
    fn joined(&mut self, node: NodeId) {
        if let Some(alarm) = &mut self.alarm {
            alarm.joined(node);
        }
        self.arm();
    }

    fn entries(&self) -> u64 {
        self.inside.len() as u64
    }

    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let change = &inputs[0];
        let update = change.update();
        self.now = self.alarm.as_ref().map_or(self.now, |alarm| now_of(alarm.graph())).max(self.now);
        let limit = self.now.saturating_sub(self.span);
        let restamped = if update.columns.contains(self.stamp) { update.modified.clone() } else { RowSet::new() };
        limits::ask_rows(update.added.len() + restamped.len(), 2 * size_of::<(i64, u64)>() as u64)?;

        let added = stamps(change.now(), self.stamp, &update.added)?;
        let changed = stamps(change.now(), self.stamp, &restamped)?;
        self.leave(change, !restamped.is_empty())?;
        let aged = self.aged(limit);
        self.enter(&update.added, &added, limit);
        self.enter(&restamped, &changed, limit);

        let mut writes = Writes { removed: update.removed.clone(), shifts: update.shifts.clone(), ..Writes::default() };
        if !update.added.is_empty() {
            writes.added.push((update.added.clone(), vec![flags(&added, limit)]));
        }
        let changed = flags(&changed, limit);
        let restamped = match restamped.is_empty() {
            true => None,
            false => differing(&self.columns, 0, &restamped, changed, change, step)?,
        };
        let flagged = merged(aged, restamped);
        writes.modified = vec![flagged.clone()];
        self.columns.write(step, || change.before().rows().clone(), change.now().rows().clone(), &writes)?;
        self.arm();
        let mut told = update.clone();
        if let Some((rows, _)) = flagged {
            told.modified |= &rows;
            told.columns.insert(self.flag);
        }
        Ok(told)
    }
}

impl TimeWindowLive {
    /// Rows that are gone, or have another stamp, leave the window; those whose key moves stand under the new one.
    fn leave(&mut self, change: &Change, restamped: bool) -> Result<(), Error> {
        let (gone, moving) = change.departing_rows(restamped);
        for (key, stamp) in gone.0.iter().zip(stamps(change.before(), self.stamp, &gone.0)?) {
            if let Some(stamp) = stamp {
                self.inside.remove(&(stamp, key));
            }
        }
        if moving.0.is_empty() {
            return Ok(());
        }
        let stamps = stamps(change.before(), self.stamp, &moving.0)?;
        let moved = change.update().shifts.forward(&moving);
        let places = moving.0.iter().zip(moved.iter()).zip(stamps);
        let there: Vec<(i64, u64)> = places
            .filter_map(|((from, to), stamp)| self.inside.remove(&(stamp?, from)).then_some((stamp?, to)))
            .collect();
        self.inside.extend(there);
        Ok(())
    }

    /// The rows whose stamp is before the window now; they leave it.
    fn aged(&mut self, limit: i64) -> RowSet {
        let mut aged = Vec::new();
        while self.inside.first().is_some_and(|(stamp, _)| *stamp < limit) {
            aged.extend(self.inside.pop_first().map(|(_, key)| key));
        }
        aged.sort_unstable();
        RowSet::from_sorted_keys(&aged)
    }

    fn enter(&mut self, rows: &RowSet, stamps: &[Option<i64>], limit: i64) {
        let stamped = rows.iter().zip(stamps).filter_map(|(key, stamp)| Some(((*stamp)?, key)));
        self.inside.extend(stamped.filter(|(stamp, _)| *stamp >= limit));
    }

    /// Asks for the step in which the first row is outside; none if no row is inside.
    fn arm(&mut self) {
        let first = self.inside.first().map(|(stamp, _)| stamp.saturating_add(self.span).saturating_add(1));
        if let Some(alarm) = &mut self.alarm {
            alarm.set(first);
        }
    }
}

fn flags(stamps: &[Option<i64>], limit: i64) -> Chunk {
    Arc::new(stamps.iter().map(|stamp| stamp.map(|stamp| stamp >= limit)).collect::<BooleanArray>())
}

/// The rows whose flag changes: those that aged, which are false, and those of another stamp. No row is both.
fn merged(aged: RowSet, restamped: Option<(RowSet, Chunk)>) -> Option<(RowSet, Chunk)> {
    let Some((rows, cells)) = restamped else {
        let fallen: Chunk = Arc::new(BooleanArray::from(vec![false; aged.len() as usize]));
        return (!aged.is_empty()).then_some((aged, fallen));
    };
    if aged.is_empty() {
        return Some((rows, cells));
    }
    let mut given = cells.as_boolean().iter();
    let all = &aged | &rows;
    let flag = |key| if aged.contains(key) { Some(false) } else { given.next().flatten() };
    let cells = all.iter().map(flag).collect::<BooleanArray>();
    Some((all, Arc::new(cells)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use graph::env::{ManualTime, TimeSource};
    use graph::{Settings, UpdateGraph};
    use model::{Compare, differences};

    use super::*;
    use crate::driver::attach::attach;
    use crate::testing::oracle::to_model;
    use crate::testing::{Source, Watch, explore, table_of};

    const SECOND: i64 = 1_000_000_000;

    fn window(table: &Table, span: i64) -> Result<Table, Error> {
        let window = TimeWindow::new("time_window", table, "t", span, &"recent".into())?;
        attach(&window, std::slice::from_ref(table))
    }

    /// A clock that stands still, goes on a little, or leaps, beside rows that come, change, move and go.
    #[test]
    fn law() {
        explore(300, |tape| {
            let text = |error: Error| error.to_string();
            let clock = ManualTime::starting_at(tape.below(12) as i64 * SECOND);
            let settings = Settings { period: Duration::ZERO, threads: Some(1), init_threads: Some(1) };
            let graph = UpdateGraph::with_time(settings, TimeSource::Manual(clock.clone()));
            let spec = table_of("k:str t:time v:int");
            let spec = if tape.chance(40) { spec.blink(false) } else { spec };
            let (source, mut case) = Source::draw(&graph, &spec, tape).map_err(text)?;
            let span = *tape.choose(&[3 * SECOND, 0, 1, 20 * SECOND, i64::MAX]);
            let mut made = None;
            for round in 0..12 {
                clock.advance(Duration::from_nanos(*tape.choose(&[0, 1, 500_000_000, 1_000_000_000, 7_000_000_000])));
                case.open_cycle();
                for _ in 0..tape.below(3) {
                    let step = case.step(tape);
                    if !step.is_empty() {
                        source.apply(&step, &case.mirror.schema).map_err(text)?;
                    }
                }
                graph.step().map_err(|error| error.to_string())?;
                if round == 2 {
                    let table = window(source.table(), span).map_err(text)?;
                    made = Some((Watch::attach(&table).map_err(text)?, table));
                }
                let Some((watch, _)) = &made else { continue };
                let timers = graph.counters().timers;
                if timers > 1 {
                    return Err(format!("{timers} timers of one table"));
                }
                if let Some(fault) = watch.fault() {
                    return Err(fault);
                }
                let wanted =
                    model::ops::time_window(&to_model(&case.plain()), "t", span, clock.epoch_nanos(), "recent");
                let found = watch.with_now(|now| differences(&wanted, &to_model(now), &Compare::ByPosition));
                if let Some(difference) = found {
                    return Err(format!("{difference} at {} with {span}", clock.epoch_nanos()));
                }
            }
            Ok(())
        });
    }
}
