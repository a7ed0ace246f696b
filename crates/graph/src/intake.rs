//! The intake: active sources and timers that wait for the next step, and the lock under which a step takes all of them
//! at once.

use crate::env;
use crate::node::NodeId;
use crate::spin::SpinWait;
use crate::sync::{Condvar, Guard, Mutex, Ordering, Rank};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

/// The intake of a graph. Writers queue into sources under `taking`; the cycle seals the sources under the same lock.
pub(crate) struct Intake {
    pub(crate) taking: Mutex<()>,
    pending: Mutex<Pending>,
    /// Notified when something becomes pending, or when a cycle thread should check its condition.
    bell: Condvar,
    /// The number of notifications, whether the cycle thread slept or not. A spinning cycle thread reads only this.
    wakeups: AtomicU64,
    spin: SpinWait,
}

#[derive(Default)]
struct Pending {
    active: Vec<NodeId>,
    /// By node slot: the generation of the node that is in `active`, or 0.
    flagged: Vec<u32>,
    /// One for each node that waits for a time, the first that is due first.
    timers: BTreeSet<(Instant, NodeId)>,
    /// The time for which each of them waits.
    awaited: BTreeMap<NodeId, Instant>,
    last_start: Option<Instant>,
    /// The time at which a sleeping cycle thread was notified.
    woken_at: Option<Instant>,
}

/// The time at which the next automatic cycle may start.
enum Due {
    Now,
    At(Instant),
    Never,
}

impl Pending {
    /// Adds a source to the active ones; true if it was not active already.
    fn activate(&mut self, id: NodeId) -> bool {
        let slot = id.slot as usize;
        if slot >= self.flagged.len() {
            self.flagged.resize(slot + 1, 0);
        }
        let fresh = self.flagged[slot] != id.generation;
        if fresh {
            self.flagged[slot] = id.generation;
            self.active.push(id);
        }
        fresh
    }

    /// Sets the one timer of a node, or takes it back; true if a timer is due earlier than any was.
    fn set_timer(&mut self, id: NodeId, when: Option<Instant>) -> bool {
        let first = self.timers.first().map(|(when, _)| *when);
        let before = match when {
            Some(when) => self.awaited.insert(id, when),
            None => self.awaited.remove(&id),
        };
        if before != when {
            before.map(|before| self.timers.remove(&(before, id)));
            when.map(|when| self.timers.insert((when, id)));
        }
        when.is_some_and(|when| first.is_none_or(|first| when < first))
    }

    fn due(&self, now: Instant, period: Duration) -> Due {
        let wanted = match (self.active.is_empty(), self.timers.first()) {
            (false, _) => now,
            (true, Some((when, _))) => *when,
            (true, None) => return Due::Never,
        };
        let gate = self.last_start.and_then(|start| start.checked_add(period)).unwrap_or(wanted);
        let earliest = gate.max(wanted);
        if earliest <= now { Due::Now } else { Due::At(earliest) }
    }
}

impl Intake {
    pub(crate) fn new() -> Intake {
        Intake {
            taking: Mutex::ranked(Rank::Intake, ()),
            pending: Mutex::ranked(Rank::Pending, Pending::default()),
            bell: Condvar::new(),
            wakeups: AtomicU64::new(0),
            spin: SpinWait::new(),
        }
    }

    /// Activates a source for the next step. Wakes the cycle thread if `ring`.
    pub(crate) fn activate(&self, id: NodeId, ring: bool) {
        let mut pending = self.pending.lock();
        if pending.activate(id) && ring {
            self.call(pending);
        }
    }

    /// Activates a source for the first step at or after `when`, in place of the time for which it was asked before.
    /// Without a time that is taken back.
    pub(crate) fn activate_at(&self, id: NodeId, when: Option<Instant>) {
        let mut pending = self.pending.lock();
        // A thread that sleeps too short a time finds nothing due, and sleeps again.
        if pending.set_timer(id, when) {
            self.call(pending);
        }
    }

    /// Makes every sleeping cycle thread check its condition again, after a change outside the intake. The lock is
    /// taken so that no thread is between its check and its sleep, where it would miss the notification.
    pub(crate) fn ring(&self) {
        self.call(self.pending.lock());
    }

    /// As [`Intake::ring`], if something is pending.
    pub(crate) fn ring_if_pending(&self) {
        let pending = self.pending.lock();
        if !pending.active.is_empty() {
            self.call(pending);
        }
    }

    /// Notifies the cycle thread: it sees the counter if it spins, and is woken if it sleeps.
    fn call(&self, mut pending: Guard<'_, Pending>) {
        self.wakeups.fetch_add(1, Ordering::Release);
        if self.bell.is_awaited() {
            pending.woken_at.get_or_insert_with(env::now);
        }
        drop(pending);
        self.bell.notify_all();
    }

    /// Removes a node that is gone: it is no longer active and has no timers.
    pub(crate) fn forget(&self, id: NodeId) {
        let mut pending = self.pending.lock();
        let slot = id.slot as usize;
        if pending.flagged.get(slot) == Some(&id.generation) {
            pending.flagged[slot] = 0;
            pending.active.retain(|active| *active != id);
        }
        pending.set_timer(id, None);
    }

    /// Whether an automatic cycle would have work at `now`, regardless of the period.
    pub(crate) fn has_work(&self, now: Instant) -> bool {
        let pending = self.pending.lock();
        !pending.active.is_empty() || pending.timers.first().is_some_and(|(when, _)| *when <= now)
    }

    /// Sleeps until a cycle is due; false if `stop` returns true first. `sleep_until` turns a time into a duration to
    /// sleep; `None` means until the next notification.
    pub(crate) fn wait_due(
        &self,
        period: Duration,
        now: &dyn Fn() -> Instant,
        sleep_until: &dyn Fn(Instant) -> Option<Duration>,
        stop: &dyn Fn() -> bool,
    ) -> bool {
        let mut pending = self.pending.lock();
        // With a period, the next cycle waits for the period anyway: spinning would gain nothing.
        let mut looks = period.is_zero();
        loop {
            if stop() {
                return false;
            }
            let sleep = match pending.due(now(), period) {
                Due::Now => return true,
                Due::At(when) => sleep_until(when),
                Due::Never if std::mem::take(&mut looks) => {
                    pending = self.look(pending);
                    continue;
                }
                Due::Never => None,
            };
            pending = self.sleep(pending, sleep);
        }
    }

    /// Spins for a short time without the lock, if spinning has paid off lately.
    fn look<'a>(&'a self, pending: Guard<'a, Pending>) -> Guard<'a, Pending> {
        let wakeups = self.wakeups.load(Ordering::Relaxed);
        drop(pending);
        self.spin.spin(|| self.wakeups.load(Ordering::Acquire) != wakeups);
        self.pending.lock()
    }

    fn sleep<'a>(&'a self, mut pending: Guard<'a, Pending>, longest: Option<Duration>) -> Guard<'a, Pending> {
        let asleep = env::now();
        pending.woken_at = None;
        let mut pending = match longest {
            Some(duration) => self.bell.wait_timeout(pending, duration),
            None => self.bell.wait(pending),
        };
        if let Some(woken_at) = pending.woken_at.take() {
            self.spin.woke_after(woken_at.saturating_duration_since(asleep));
        }
        pending
    }

    /// Takes every active source and every due timer for the step that starts, in order of id.
    pub(crate) fn take(&self, started: Instant, _under: &Guard<'_, ()>, active: &mut Vec<NodeId>) {
        active.clear();
        let mut pending = self.pending.lock();
        pending.last_start = Some(started);
        while let Some((_, id)) = pending.timers.first().copied().filter(|(when, _)| *when <= started) {
            pending.set_timer(id, None);
            pending.activate(id);
        }
        std::mem::swap(&mut pending.active, active);
        for id in active.iter() {
            pending.flagged[id.slot as usize] = 0;
        }
        drop(pending);
        active.sort_unstable();
    }

    pub(crate) fn pending(&self) -> (usize, usize) {
        let pending = self.pending.lock();
        (pending.active.len(), pending.timers.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_is_due_a_period_after_the_last_start_and_not_before_its_timer() {
        let start = crate::env::now();
        let ms = |count| start + Duration::from_millis(count);
        let period = Duration::from_millis(50);
        let id = NodeId { slot: 0, generation: 1 };
        let mut pending = Pending::default();
        assert!(matches!(pending.due(ms(0), period), Due::Never));
        pending.activate(id);
        assert!(matches!(pending.due(ms(0), period), Due::Now), "nothing ran before");
        pending.last_start = Some(start);
        assert!(matches!(pending.due(ms(49), period), Due::At(when) if when == ms(50)));
        assert!(matches!(pending.due(ms(50), period), Due::Now));
        pending.active.clear();
        assert!(pending.set_timer(id, Some(ms(70))));
        assert!(matches!(pending.due(ms(60), period), Due::At(when) if when == ms(70)));
        assert!(matches!(pending.due(ms(70), period), Due::Now));
    }

    #[test]
    fn a_node_has_one_timer() {
        let start = crate::env::now();
        let ms = |count| start + Duration::from_millis(count);
        let [one, other] = [1, 2].map(|slot| NodeId { slot, generation: 1 });
        let mut pending = Pending::default();
        assert!(pending.set_timer(one, Some(ms(20))) && !pending.set_timer(other, Some(ms(30))));
        assert!(!pending.set_timer(one, Some(ms(40))) && pending.set_timer(one, Some(ms(10))));
        let all: Vec<_> = pending.timers.iter().copied().collect();
        assert_eq!(all, [(ms(10), one), (ms(30), other)]);
        assert!(!pending.set_timer(one, None) && !pending.set_timer(one, None));
        assert_eq!((pending.timers.len(), pending.awaited.len()), (1, 1));
    }
}
