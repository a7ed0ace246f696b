//! Thread roles: what the current thread does for a graph (runs a step, runs a listener, works in a pool, queues rows).

use crate::sync::local;
use std::cell::RefCell;

/// A role of a thread, in which it must not wait for the graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ThreadRole {
    /// The thread runs nodes, or a user function.
    Step,
    /// The thread runs terminal notifications.
    Callback,
    /// The thread holds the intake lock.
    Intake,
}

local! {
    static MARKS: RefCell<Vec<(u64, ThreadRole)>> = RefCell::new(Vec::new());
}

/// The guard of a role; it must be dropped on the same thread.
pub(crate) struct RoleScope {
    graph: u64,
    mark: ThreadRole,
    _here: std::marker::PhantomData<*const ()>,
}

/// Gives this thread a role, until the guard is dropped.
pub(crate) fn enter(graph: u64, mark: ThreadRole) -> RoleScope {
    stay(graph, mark);
    RoleScope { graph, mark, _here: std::marker::PhantomData }
}

/// Gives this thread a role for its whole life, as for the threads of a pool.
pub(crate) fn stay(graph: u64, mark: ThreadRole) {
    let _ = MARKS.try_with(|marks| marks.borrow_mut().push((graph, mark)));
}

/// The innermost role of this thread for the graph.
pub(crate) fn innermost(graph: u64) -> Option<ThreadRole> {
    MARKS.try_with(|marks| marks.borrow().iter().rev().find(|(id, _)| *id == graph).map(|(_, mark)| *mark)).ok()?
}

/// Whether this thread has that role for the graph.
pub(crate) fn has(graph: u64, mark: ThreadRole) -> bool {
    MARKS.try_with(|marks| marks.borrow().contains(&(graph, mark))).unwrap_or(false)
}

impl Drop for RoleScope {
    fn drop(&mut self) {
        let _ = MARKS.try_with(|marks| {
            let mut marks = marks.borrow_mut();
            if let Some(place) = marks.iter().rposition(|entry| *entry == (self.graph, self.mark)) {
                marks.remove(place);
            }
        });
    }
}
