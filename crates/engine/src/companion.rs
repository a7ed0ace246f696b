//! Per-graph singletons, looked up by graph id and type. They are held weakly: each lives as long as a user does.

use std::any::{Any, TypeId};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use graph::UpdateGraph;

type Known = (u64, TypeId, Weak<dyn Any + Send + Sync>);

static ALL: Mutex<Vec<Known>> = Mutex::new(Vec::new());

/// The graph's one `T`; made if nobody has one now.
pub(crate) fn of<T: Any + Send + Sync>(graph: &UpdateGraph, make: impl FnOnce() -> T) -> Arc<T> {
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    all.retain(|(.., companion)| companion.strong_count() > 0);
    let known = all.iter().find(|(id, kind, _)| *id == graph.id() && *kind == TypeId::of::<T>());
    if let Some(found) = known.and_then(|(.., companion)| companion.upgrade()?.downcast::<T>().ok()) {
        return found;
    }
    let made = Arc::new(make());
    let weak: Weak<T> = Arc::downgrade(&made);
    all.push((graph.id(), TypeId::of::<T>(), weak));
    made
}
