//! `watermark`: up to which time rows have come. A table of one row: the watermark, and whether its source is idle.
//!
//!   delay 5    in   + 0 10    + 1 7       out   ~ 0 5
//!              in   + 2 8                 out   nothing: it never goes back
//!              in   - 0   ~ 2 20          out   ~ 0 15
//!
//! What stands on a watermark has this table as an input, and finds in its change the watermark before the step and after
//! it. Cost of an update: the stamps of the rows that come or change.

mod late;
mod open;
pub(super) mod own;
mod results;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampNanosecondType;
use arrow_array::{Array, BooleanArray, TimestampNanosecondArray};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use column::Chunk;
use graph::{Moment, NodeId, Step};
use rowset::RowSet;

pub use self::late::LateRows;
pub(crate) use self::open::Closes;
pub use self::open::OpenRows;
pub use self::results::WindowResults;
use super::neighbours::now_of;
use super::stamps::stamps;
use crate::driver::alarm::Alarm;
use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::{Attributes, Parts};
use crate::table::request::Request;
use crate::table::store::{Store, Writes};
use crate::table::update::TableUpdate;
use crate::table::view::View;

/// What the columns of a watermark are called.
const NAMES: [&str; 2] = ["watermark", "idle"];

/// The watermark of one source: the greatest stamp that was seen, so much earlier.
pub struct Watermark {
    request: Request,
    stamp: usize,
    delay: i64,
    idle_after: Option<i64>,
}

impl Watermark {
    /// Over a column of instants or dates. `delay`: how late rows may come, in nanoseconds; `idle_after`: after how long
    /// without a row the source is idle.
    pub fn new(
        method: &str,
        table: &Table,
        stamp: &str,
        delay: i64,
        idle_after: Option<i64>,
    ) -> Result<Watermark, Error> {
        let place = table.column_index(method, stamp)?;
        let kind = table.canonical().field(place).data_type();
        if !matches!(kind, DataType::Timestamp(..) | DataType::Date32) {
            let kind = formula::type_name(kind);
            let message =
                format!("the column {stamp:?} holds {kind}, and a watermark is of instants or dates; cast it first");
            return Err(Error::types(method, message));
        }
        for (given, what) in [(Some(delay), "delay"), (idle_after, "idle_after")] {
            if given.is_some_and(|given| given < 0) {
                return Err(Error::invalid(method, format!("{what} must be 0 or longer")));
            }
        }
        let request = Request { timed: idle_after.is_some(), ..Request::unique(method) };
        Ok(Watermark { request, stamp: place, delay, idle_after })
    }
}

impl Operation for Watermark {
    fn request(&self) -> &Request {
        &self.request
    }

    fn remembers(&self, _inputs: &[Table]) -> bool {
        true
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let Input { table, view } = &inputs[0];
        let stamped = stamps(view, self.stamp, view.rows())?;
        let most = stamped.iter().flatten().max().map(|most| most.saturating_sub(self.delay));
        let zone = match table.column_type(self.stamp) {
            DataType::Timestamp(_, zone) => zone.clone(),
            _ => None,
        };
        let told = Told::start(table, at, State { mark: most, idle: false }, zone)?;
        let live = SourceLive {
            stamp: self.stamp,
            delay: self.delay,
            idle_after: self.idle_after,
            heard: table.graph().map_or(0, now_of),
            alarm: table.graph().filter(|_| self.idle_after.is_some()).map(Alarm::new),
            told,
        };
        let (parts, owned) = live.told.parts();
        Ok(Start { parts, live: Box::new(live), owned })
    }
}

/// The least watermark of several, none of which is idle.
pub struct LeastWatermark {
    request: Request,
}

impl LeastWatermark {
    /// Over watermarks alone.
    pub fn new(method: &str) -> LeastWatermark {
        LeastWatermark { request: Request::unique(method) }
    }
}

impl Operation for LeastWatermark {
    fn request(&self) -> &Request {
        &self.request
    }

    fn remembers(&self, _inputs: &[Table]) -> bool {
        true
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let states = inputs.iter().map(|input| State::of(&input.view)).collect::<Result<Vec<_>, _>>()?;
        let table = inputs.iter().map(|input| &input.table).find(|table| table.is_live()).unwrap_or(&inputs[0].table);
        let zone = match inputs[0].table.column_type(0) {
            DataType::Timestamp(_, zone) => zone.clone(),
            _ => None,
        };
        let told = Told::start(table, at, State::least(&states, None), zone)?;
        let (parts, owned) = told.parts();
        Ok(Start { parts, live: Box::new(LeastLive { told }), owned })
    }
}

/// The watermark of a table, in a step: as it was at the end of the step before, and as it is.
pub(in crate::ops) struct Watermarks {
    pub(in crate::ops) before: i64,
    pub(in crate::ops) now: i64,
}

impl Watermarks {
    /// So much earlier; before the first row, earlier than any.
    pub(in crate::ops) fn of(clock: &Change, allowed: i64) -> Result<Watermarks, Error> {
        let at = |view: &View| Ok::<_, Error>(at(State::of(view)?, allowed));
        Ok(Watermarks { before: at(clock.before())?, now: at(clock.now())? })
    }

    /// As an operation starts.
    pub(in crate::ops) fn at_start(view: &View, allowed: i64) -> Result<i64, Error> {
        Ok(at(State::of(view)?, allowed))
    }
}

fn at(state: State, allowed: i64) -> i64 {
    state.mark.map_or(i64::MIN, |mark| mark.saturating_sub(allowed))
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct State {
    /// None before the first row.
    mark: Option<i64>,
    idle: bool,
}

impl State {
    fn of(view: &View) -> Result<State, Error> {
        let row = RowSet::range(0, 0);
        let mark = view.read(0, &row)?;
        let mark = mark.as_primitive::<TimestampNanosecondType>();
        let idle = view.read(1, &row)?.as_boolean().value(0);
        Ok(State { mark: mark.is_valid(0).then(|| mark.value(0)), idle })
    }

    /// Of several, and of what the least was before.
    fn least(states: &[State], before: Option<i64>) -> State {
        let awake = || states.iter().filter(|state| !state.idle);
        let least = match awake().all(|state| state.mark.is_some()) {
            true => awake().filter_map(|state| state.mark).min(),
            false => None,
        };
        State { mark: least.max(before), idle: awake().next().is_none() }
    }
}

/// The one row.
struct Told {
    state: State,
    zone: Option<Arc<str>>,
    store: Store,
}

impl Told {
    fn start(table: &Table, at: Moment, state: State, zone: Option<Arc<str>>) -> Result<Told, Error> {
        let counters = table.graph().map(crate::observe::storage).unwrap_or_default();
        let row = RowSet::range(0, 0);
        let cells = cells(state, zone.as_ref()).map(|cells| vec![(row.clone(), cells)]);
        let store = Store::filled(&schema(zone.as_ref()), at, &counters, row, &cells)?;
        Ok(Told { state, zone, store })
    }

    fn parts(&self) -> (Parts, Vec<Arc<dyn crate::table::settle::Settle>>) {
        let parts = Parts {
            rows: self.store.rows().clone(),
            columns: self.store.columns().sources(),
            schema: Arc::new(schema(self.zone.as_ref())),
            attributes: Attributes { flat: true, ..Attributes::default() },
        };
        (parts, self.store.owned())
    }

    fn tell(&mut self, step: Step, state: State) -> Result<TableUpdate, Error> {
        let old = std::mem::replace(&mut self.state, state);
        let changed = [old.mark != state.mark, old.idle != state.idle];
        if changed == [false; 2] {
            return Ok(TableUpdate::default());
        }
        let cells = changed.into_iter().zip(cells(state, self.zone.as_ref()));
        let modified = cells.map(|(changed, cells)| changed.then(|| (RowSet::range(0, 0), cells))).collect();
        self.store.write(step, Writes { modified, ..Writes::default() })
    }
}

fn schema(zone: Option<&Arc<str>>) -> Schema {
    let [mark, idle] = NAMES;
    let instant = DataType::Timestamp(TimeUnit::Nanosecond, zone.cloned());
    Schema::new(vec![Field::new(mark, instant, true), Field::new(idle, DataType::Boolean, true)])
}

fn cells(state: State, zone: Option<&Arc<str>>) -> [Chunk; 2] {
    let mark = TimestampNanosecondArray::from(vec![state.mark]).with_timezone_opt(zone.cloned());
    [Arc::new(mark), Arc::new(BooleanArray::from(vec![state.idle]))]
}

struct SourceLive {
    stamp: usize,
    delay: i64,
    idle_after: Option<i64>,
    /// When a row last came.
    heard: i64,
    alarm: Option<Alarm>,
    told: Told,
}

impl Live for SourceLive {
    fn joined(&mut self, node: NodeId) {
        if let Some(alarm) = &mut self.alarm {
            alarm.joined(node);
        }
        self.arm();
    }

    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let change = &inputs[0];
        let update = change.update();
        let restamped = update.columns.contains(self.stamp);
        let fresh = if restamped { &update.added | &update.modified } else { update.added.clone() };
        let most = stamps(change.now(), self.stamp, &fresh)?.into_iter().flatten().max();
        let mark = most.map(|most| most.saturating_sub(self.delay)).max(self.told.state.mark);
        let now = self.alarm.as_ref().map_or(self.heard, |alarm| now_of(alarm.graph()));
        let heard = !(update.added.is_empty() && update.modified.is_empty());
        if heard {
            self.heard = now.max(self.heard);
        }
        let silent = now.saturating_sub(self.heard);
        let idle = !heard && self.idle_after.is_some_and(|after| silent >= after);
        self.arm();
        self.told.tell(step, State { mark, idle })
    }
}

impl SourceLive {
    /// Asks for the step in which the source is idle.
    fn arm(&mut self) {
        if let (Some(alarm), Some(after)) = (&mut self.alarm, self.idle_after) {
            let due = self.heard.saturating_add(after);
            alarm.set((due > now_of(alarm.graph())).then_some(due));
        }
    }
}

struct LeastLive {
    told: Told,
}

impl Live for LeastLive {
    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let states = inputs.iter().map(|clock| State::of(clock.now())).collect::<Result<Vec<_>, _>>()?;
        self.told.tell(step, State::least(&states, self.told.state.mark))
    }
}
