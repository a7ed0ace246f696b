//! Events for the program's log: a table failed, a table skipped rows for the first time.
//!
//! Recording an event never waits for the log: events are kept in a bounded list, and one thread of the embedding
//! program takes them in batches ([`take`]).

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::threads::lock;

/// The maximum number of waiting events; further events are only counted.
const WAITING_EVENTS: usize = 1_000;

/// The severity of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// An operation continued without some of its rows.
    Warning,
    /// Something failed.
    Error,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// How bad it is.
    pub level: Level,
    /// The message.
    pub text: String,
}

#[derive(Default)]
struct Waiting {
    events: Vec<Event>,
    lost: usize,
    ended: bool,
}

static WAITING: Mutex<Waiting> = Mutex::new(Waiting { events: Vec::new(), lost: 0, ended: false });
static BELL: Condvar = Condvar::new();

fn waiting() -> MutexGuard<'static, Waiting> {
    lock(&WAITING)
}

/// Records, from here on, troubles of graphs that belong to no table as events.
pub fn log_graphs() {
    graph::log_troubles(|text| note(Level::Error, text.to_owned()));
}

/// Records an event.
pub fn note(level: Level, text: String) {
    let mut waiting = waiting();
    if waiting.events.len() < WAITING_EVENTS {
        waiting.events.push(Event { level, text });
    } else {
        waiting.lost += 1;
    }
    drop(waiting);
    BELL.notify_one();
}

/// Waits for events and takes all there are; none after [`end`].
pub fn take() -> Option<Vec<Event>> {
    let mut waiting = waiting();
    loop {
        if !waiting.events.is_empty() {
            let mut events = std::mem::take(&mut waiting.events);
            let lost = std::mem::take(&mut waiting.lost);
            if lost > 0 {
                let text = format!("{lost} more events came faster than the log was written");
                events.push(Event { level: Level::Warning, text });
            }
            return Some(events);
        }
        if waiting.ended {
            return None;
        }
        waiting = BELL.wait(waiting).unwrap_or_else(PoisonError::into_inner);
    }
}

/// Closes the list: [`take`] returns the remaining events, and then none. `false` opens the list again.
pub fn end(ended: bool) {
    waiting().ended = ended;
    BELL.notify_all();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Other tests fail tables at the same time: only what this one notes is looked at.
    #[test]
    fn events_come_in_order_and_a_flood_is_counted() {
        let mark = "a flood of this test";
        (0..2 * WAITING_EVENTS).for_each(|n| note(Level::Error, format!("{mark} {n}")));
        let taken = take().expect("there are events");
        let mine: Vec<&Event> = taken.iter().filter(|event| event.text.starts_with(mark)).collect();
        assert!(mine.len() <= WAITING_EVENTS && mine[0].level == Level::Error);
        assert!(mine.is_sorted_by_key(|event| event.text[mark.len() + 1..].parse::<usize>().expect("a number")));
        assert!(taken.last().expect("it is counted").text.contains("more events"));
    }
}
