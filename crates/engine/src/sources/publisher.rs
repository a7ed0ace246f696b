//! Publishers: programs that feed a source, and hear when a step is about to take what is queued and when nothing is taken
//! any more. And the end of a source that is closed.
//!
//!   step opens          flush: what the publisher holds is queued, and this step takes it
//!   close               calls are refused from here on
//!   next step           takes what was queued before; listeners hear that this was the last change, the publisher that it
//!                       may go
//!
//! A graph that runs by itself makes a step each period while it has a source with a publisher, so that it flushes. Cost of
//! a step: a call a publisher.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::{Duration, Instant};

use graph::{HookId, NodeId, UpdateGraph};

use crate::threads::lock;

/// The shortest time between two steps that are made only to flush.
const LEAST_PERIOD: Duration = Duration::from_millis(10);

/// A program that feeds a source.
pub trait Publisher: Send + Sync {
    /// A step opens: what is queued now belongs to it. Called on the thread that runs the cycle, with no lock but the
    /// cycle's own; it must not wait for the graph.
    fn flush(&self);

    /// The table takes nothing in any more: it was closed and has shown all that was queued, it failed, or it was let
    /// go. Called once, on any thread; it must return at once.
    fn shut_down(&self);
}

/// The publisher of a source, and its hook in the graph.
pub(crate) struct Published {
    graph: UpdateGraph,
    publisher: Arc<dyn Publisher>,
    hook: OnceLock<HookId>,
    shut: AtomicBool,
    /// When the graph makes a step only to flush.
    due: Mutex<Option<Instant>>,
}

impl Published {
    /// The publisher is called as each step opens, from the next one on. Steps are made for it once [`Published::ran`] was
    /// called: the queue must know it by then, or nobody asks for the second one.
    pub(crate) fn begin(graph: &UpdateGraph, publisher: Arc<dyn Publisher>) -> Arc<Published> {
        let (hook, shut, due) = (OnceLock::new(), AtomicBool::new(false), Mutex::new(None));
        let made = Arc::new(Published { graph: graph.clone(), publisher, hook, shut, due });
        let weak: Weak<Published> = Arc::downgrade(&made);
        let hook = graph.before_step(Arc::new(move |_| {
            if let Some(published) = weak.upgrade()
                && !published.shut.load(Ordering::Acquire)
            {
                published.publisher.flush();
            }
        }));
        let _ = made.hook.set(hook);
        made
    }

    /// The source's node ran: its next step is due a period later.
    pub(crate) fn ran(&self, id: NodeId) {
        if self.shut.load(Ordering::Acquire) {
            return;
        }
        let now = self.graph.time().now();
        let mut due = lock(&self.due);
        if due.is_some_and(|due| due > now) {
            return;
        }
        let Some(next) = now.checked_add(self.graph.period().max(LEAST_PERIOD)) else { return };
        *due = Some(next);
        drop(due);
        self.graph.activate_at(id, next);
    }

    /// The publisher is told that nothing is taken in any more; a second time it is not.
    pub(crate) fn shut_down(&self) {
        if self.shut.swap(true, Ordering::AcqRel) {
            return;
        }
        if let Some(hook) = self.hook.get() {
            self.graph.remove_hook(*hook);
        }
        self.publisher.shut_down();
    }
}

impl Drop for Published {
    fn drop(&mut self) {
        self.shut_down();
    }
}
