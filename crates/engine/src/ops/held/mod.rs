//! What is held of an input that never ends.

mod groups;
mod rows;
#[cfg(test)]
mod tests;

use graph::NodeId;

pub(crate) use self::groups::{HeldGroups, HowHeld};
pub use self::rows::HeldRows;
use super::neighbours::now_of;
use super::watermark::Watermarks;
use crate::driver::alarm::Alarm;
use crate::driver::operation::Input;
use crate::error::Error;
use crate::table::change::Change;
use crate::table::handle::Table;

/// By what time is told: a watermark, which is the last input of a node, or the clock of the graph.
pub(crate) enum Time {
    Watermark { stamp: usize, alarm: Option<Alarm>, now: i64 },
    Clock { alarm: Option<Alarm>, now: i64 },
}

impl Time {
    /// `stamp`: the column by which a watermark tells the time.
    fn start(stamp: Option<usize>, table: &Table) -> Time {
        match stamp {
            Some(stamp) => Time::Watermark { stamp, alarm: table.graph().map(Alarm::new), now: i64::MIN },
            None => Time::Clock {
                alarm: table.graph().map(Alarm::new),
                now: table.graph().map_or_else(graph::env::epoch_nanos, now_of),
            },
        }
    }

    /// The column of stamps, if a watermark tells the time.
    fn stamp(&self) -> Option<usize> {
        match self {
            Time::Watermark { stamp, .. } => Some(*stamp),
            Time::Clock { .. } => None,
        }
    }

    fn at_start(&self, inputs: &[Input]) -> Result<i64, Error> {
        match (self, inputs.last()) {
            (Time::Clock { now, .. }, _) => Ok(*now),
            (Time::Watermark { .. }, Some(clock)) => Watermarks::at_start(&clock.view, 0),
            (Time::Watermark { .. }, None) => Err(no_clock()),
        }
    }

    /// The time in a step; a watermark's is that of the end of the step before, so that what comes together is judged
    /// together. It never goes back.
    fn in_step(&mut self, inputs: &[Change]) -> Result<i64, Error> {
        match (self, inputs.last()) {
            (Time::Clock { alarm, now }, _) => {
                *now = alarm.as_ref().map_or(*now, |alarm| now_of(alarm.graph())).max(*now);
                Ok(*now)
            }
            (Time::Watermark { now, .. }, Some(clock)) => {
                let marks = Watermarks::of(clock, 0)?;
                *now = marks.now;
                Ok(marks.before)
            }
            (Time::Watermark { .. }, None) => Err(no_clock()),
        }
    }

    fn joined(&mut self, node: NodeId) {
        if let Time::Clock { alarm: Some(alarm), .. } | Time::Watermark { alarm: Some(alarm), .. } = self {
            alarm.joined(node);
        }
    }

    /// Asks for the step in which the time is this: by a watermark that has come so far, the next one.
    fn arm(&mut self, next: Option<i64>) {
        match self {
            Time::Clock { alarm: Some(alarm), .. } => alarm.set(next),
            Time::Watermark { alarm: Some(alarm), now, .. } if next.is_some_and(|next| next <= *now) => alarm.ring(),
            _ => {}
        }
    }
}

fn no_clock() -> Error {
    Error::internal("watermark", "no watermark")
}
