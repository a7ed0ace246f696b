//! Thread roles: what the current thread does for a graph (runs a step, runs a listener, works in a pool, queues rows).

use crate::sync::local;
use std::cell::RefCell;

/// Why a thread must not wait for a graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ThreadRole {
    /// It runs nodes, or a user's function.
    Step,
    /// It runs terminal notifications.
    Callback,
    /// It holds the intake lock.
    Intake,
}

local! {
    static MARKS: RefCell<Vec<(u64, ThreadRole)>> = RefCell::new(Vec::new());
}

/// A mark on this thread, until dropped (there).
pub(crate) struct RoleScope {
    graph: u64,
    mark: ThreadRole,
    _here: std::marker::PhantomData<*const ()>,
}

/// Marks this thread.
pub(crate) fn enter(graph: u64, mark: ThreadRole) -> RoleScope {
    stay(graph, mark);
    RoleScope { graph, mark, _here: std::marker::PhantomData }
}

/// Marks this thread for as long as it lives: the threads of a pool.
pub(crate) fn stay(graph: u64, mark: ThreadRole) {
    let _ = MARKS.try_with(|marks| marks.borrow_mut().push((graph, mark)));
}

/// What this thread does for the graph, the innermost first.
pub(crate) fn innermost(graph: u64) -> Option<ThreadRole> {
    MARKS.try_with(|marks| marks.borrow().iter().rev().find(|(id, _)| *id == graph).map(|(_, mark)| *mark)).ok()?
}

/// Whether this thread carries that mark for the graph.
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
