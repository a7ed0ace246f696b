//! The operations that start on the way to where a thread is: a function of the user may ask for the very operation that
//! it works for.

use std::any::Any;
use std::cell::RefCell;
use std::sync::Arc;

/// The starting operations on this thread's call path, innermost first. Pool threads that help inherit them.
#[derive(Clone, Default)]
pub(crate) struct Starting(Option<Arc<Link>>);

struct Link {
    /// Whose place is taken until it has started; known by its address alone.
    slot: Option<Arc<dyn Any + Send + Sync>>,
    depth: usize,
    above: Starting,
}

thread_local! {
    static STARTING: RefCell<Starting> = const { RefCell::new(Starting(None)) };
}

impl Starting {
    pub(crate) fn current() -> Starting {
        STARTING.with_borrow(Clone::clone)
    }

    /// Runs `work` below these.
    pub(crate) fn enter<R>(&self, work: impl FnOnce() -> R) -> R {
        /// Puts back what was there, also when `work` panics.
        struct Back(Starting);
        impl Drop for Back {
            fn drop(&mut self) {
                STARTING.set(std::mem::take(&mut self.0));
            }
        }
        let _back = Back(STARTING.replace(self.clone()));
        work()
    }

    /// These, and one more that starts below them; how many it starts below.
    pub(crate) fn below(self, slot: Option<Arc<dyn Any + Send + Sync>>) -> (Starting, usize) {
        let depth = self.0.as_ref().map_or(0, |link| link.depth + 1);
        (Starting(Some(Arc::new(Link { slot, depth, above: self }))), depth)
    }

    /// Whether one of them holds this place.
    pub(crate) fn holds(&self, slot: *const ()) -> bool {
        self.links().any(|link| link.slot.as_ref().is_some_and(|own| Arc::as_ptr(own).cast::<()>() == slot))
    }

    fn links(&self) -> impl Iterator<Item = &Link> {
        std::iter::successors(self.0.as_deref(), |link| link.above.0.as_deref())
    }
}
