//! The only place that asks the machine for the time, starts a thread, or asks which process this is.

use crate::sync::thread::{self, JoinHandle};
use crate::sync::{Arc, CHECKED, Mutex, OnceLock, Weak};
use std::io;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Where a graph takes its time from: the machine, or a test's own hand.
#[derive(Clone, Default)]
pub enum TimeSource {
    /// The machine's clocks.
    #[default]
    Wall,
    /// A clock that moves only when told to.
    Manual(Arc<ManualTime>),
}

impl TimeSource {
    /// The monotonic time.
    pub fn now(&self) -> Instant {
        match self {
            TimeSource::Wall => now(),
            TimeSource::Manual(manual) => manual.now(),
        }
    }

    /// Nanoseconds since 1970-01-01T00:00:00Z.
    pub fn epoch_nanos(&self) -> i64 {
        match self {
            TimeSource::Wall => epoch_nanos(),
            TimeSource::Manual(manual) => manual.epoch_nanos(),
        }
    }

    /// The monotonic time at which the calendar will show `epoch_nanos`; now, if that has passed.
    pub fn instant_at(&self, epoch_nanos: i64) -> Instant {
        let ahead = epoch_nanos.saturating_sub(self.epoch_nanos());
        let now = self.now();
        // A date too far to be counted is as good as never.
        let ahead = Duration::from_nanos(u64::try_from(ahead).unwrap_or(0));
        now.checked_add(ahead).unwrap_or(now)
    }
}

/// A clock for tests: it stands still until somebody moves it.
pub struct ManualTime {
    state: Mutex<ManualState>,
}

struct ManualState {
    origin: Instant,
    origin_nanos: i64,
    passed: Duration,
    sleepers: Vec<Weak<dyn Wake>>,
}

/// Somebody who waits for a manual clock to move.
pub(crate) trait Wake: Send + Sync {
    fn wake(&self);
}

impl ManualTime {
    /// A clock that shows `epoch_nanos` and stands still.
    pub fn starting_at(epoch_nanos: i64) -> Arc<ManualTime> {
        let state =
            ManualState { origin: now(), origin_nanos: epoch_nanos, passed: Duration::ZERO, sleepers: Vec::new() };
        Arc::new(ManualTime { state: Mutex::new(state) })
    }

    /// The monotonic time it shows.
    pub fn now(&self) -> Instant {
        let state = self.state.lock();
        state.origin + state.passed
    }

    /// The calendar time it shows.
    pub fn epoch_nanos(&self) -> i64 {
        let state = self.state.lock();
        let passed = i64::try_from(state.passed.as_nanos()).unwrap_or(i64::MAX);
        state.origin_nanos.saturating_add(passed)
    }

    /// Moves the clock and wakes every graph that runs by it.
    pub fn advance(&self, by: Duration) {
        let mut state = self.state.lock();
        state.passed += by;
        state.sleepers.retain(|sleeper| sleeper.strong_count() > 0);
        let sleepers = state.sleepers.clone();
        drop(state);
        sleepers.iter().filter_map(Weak::upgrade).for_each(|sleeper| sleeper.wake());
    }

    pub(crate) fn register(&self, sleeper: Weak<dyn Wake>) {
        self.state.lock().sleepers.push(sleeper);
    }
}

/// The machine's monotonic time. Under a model checker it stands still: a choice by time would not come again.
#[inline]
pub fn now() -> Instant {
    if CHECKED {
        static START: OnceLock<Instant> = OnceLock::new();
        return *START.get_or_init(Instant::now);
    }
    Instant::now()
}

/// The machine's calendar time in nanoseconds since 1970-01-01T00:00:00Z, in whole microseconds: as fine as a calendar is
/// set, and as Python's datetime has it.
pub fn epoch_nanos() -> i64 {
    let whole = |since: Duration| i64::try_from(since.as_micros()).ok()?.checked_mul(1_000);
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(after) => whole(after).unwrap_or(i64::MAX),
        Err(before) => whole(before.duration()).map_or(i64::MIN, |nanos| -nanos),
    }
}

/// Starts a named thread.
pub fn spawn(name: String, body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name).spawn(body)
}

/// Lets another thread go first.
pub fn yield_now() {
    thread::yield_now();
}

/// Which process this is; it changes in the child of a fork.
#[inline]
pub fn process() -> u32 {
    std::process::id()
}

/// How many threads the machine runs at once.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
