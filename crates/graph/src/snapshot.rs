//! Reading several things at one moment, from any thread, without stopping a cycle.

use crate::clock::{Clock, Moment, Moved};
use crate::core::Core;
use crate::env;
use crate::gate::SharedLock;
use crate::sync::{Arc, Ordering};

/// Optimistic reads before the shared lock is taken. Only one under `loom`, which explores every interleaving and has
/// to reach the lock within a few cycles.
const TRIES: usize = if cfg!(feature = "loom") { 1 } else { 8 };

/// Optimistic reads where the shared lock is refused. Inside a step no moment moves, so the first read succeeds.
const PATIENCE: usize = 10_000;

/// Reads at one settled moment: up to eight times without a lock while the moment moves, then under the shared lock.
pub(crate) fn read<R>(core: &Arc<Core>, mut read: impl FnMut(Moment) -> Result<R, Moved>) -> R {
    let restart = || _ = core.tally.restarts.fetch_add(1, Ordering::Relaxed);
    if let Some(found) = optimistic(&core.clock, &mut read, restart) {
        return found;
    }
    if core.may_share().is_ok() {
        core.tally.fallbacks.fetch_add(1, Ordering::Relaxed);
        let _held = SharedLock::take(core);
        return read(core.clock.settled()).unwrap_or_else(|Moved| moved_for_ever());
    }
    for _ in 0..PATIENCE {
        if let Ok(found) = read(core.clock.settled()) {
            return found;
        }
        env::yield_now();
    }
    moved_for_ever()
}

/// Reads at the settled moment without a lock; `None` if it moved each time.
pub(crate) fn optimistic<R>(
    clock: &Clock,
    read: &mut impl FnMut(Moment) -> Result<R, Moved>,
    restart: impl Fn(),
) -> Option<R> {
    for _ in 0..TRIES {
        if let Ok(found) = read(clock.settled()) {
            return Some(found);
        }
        restart();
    }
    None
}

fn moved_for_ever() -> ! {
    panic!("a snapshot found its moment gone while no step could end: something was written outside of a step")
}
