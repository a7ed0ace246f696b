//! Extensions of a graph: one value per type, which lives as long as the graph.

use std::any::{Any, TypeId};

use crate::graph::UpdateGraph;
use crate::sync::{Arc, Mutex, Rank};

type Known = (TypeId, Arc<dyn Any + Send + Sync>);

/// The values attached to a graph. They are few: a list is looked through faster than a map.
pub(crate) struct Extensions(Mutex<Vec<Known>>);

impl Extensions {
    pub(crate) fn new() -> Extensions {
        Extensions(Mutex::ranked(Rank::Value, Vec::new()))
    }

    fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let known = self.0.lock();
        let found = known.iter().find(|(kind, _)| *kind == TypeId::of::<T>())?.1.clone();
        drop(known);
        found.downcast().ok()
    }
}

impl UpdateGraph {
    /// The graph's one `T`, made at the first call. It lives as long as the graph, so it must hold no handle of it but a
    /// weak one.
    pub fn extension<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Arc<T> {
        let extensions = &self.core().extensions;
        if let Some(found) = extensions.get() {
            return found;
        }
        // Made without the lock: it may ask for another one.
        let made: Arc<T> = Arc::new(make());
        let mut known = extensions.0.lock();
        // Somebody may have made one meanwhile: the first one stands.
        let standing = known.iter().find(|(kind, _)| *kind == TypeId::of::<T>()).map(|(_, value)| value.clone());
        match standing.and_then(|value| value.downcast().ok()) {
            Some(first) => {
                drop(known);
                first
            }
            None => {
                known.push((TypeId::of::<T>(), made.clone()));
                made
            }
        }
    }
}

#[cfg(all(test, not(any(feature = "loom", feature = "shuttle"))))]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;
    use crate::graph::Settings;

    #[test]
    fn a_graph_has_one_value_of_each_type_and_lets_it_go() {
        let (one, other) = (UpdateGraph::new(Settings::default()), UpdateGraph::new(Settings::default()));
        let number = one.extension(|| AtomicU64::new(1));
        assert!(Arc::ptr_eq(&number, &one.extension(|| -> AtomicU64 { unreachable!("it is there") })));
        assert!(!Arc::ptr_eq(&number, &other.extension(|| AtomicU64::new(1))));
        // Whoever makes one may ask for another.
        let text = one.extension(|| format!("{:?}", one.extension(|| AtomicU64::new(2))));
        assert_eq!(*text, "1");
        let weak = Arc::downgrade(&number);
        drop((number, one));
        assert!(weak.upgrade().is_none());
    }
}
