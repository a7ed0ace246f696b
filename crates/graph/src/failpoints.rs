//! Panics of the cycle itself, on demand, in builds with debug assertions: what they should leave standing is found out
//! by making them happen. In a release there is nothing here.

/// Where a cycle can be struck. All there are: [`Point::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Point {
    /// What is active has been taken, and no walk yet.
    TakeWalk,
    /// The walk has been taken, and no source sealed.
    Seal,
    /// A pool is being built.
    Pools,
    /// The thread that leads takes a node.
    Lead,
    /// A helper takes a node.
    Help,
    /// A node has run, and its children have not been told.
    Tell,
    /// Nodes that joined are about to run.
    Close,
    /// Nodes are being settled.
    Settle,
    /// Terminal notifications are being called.
    Notify,
}

#[cfg(debug_assertions)]
impl Point {
    /// Every point, to be gone through.
    pub const ALL: [Point; 9] = [
        Point::TakeWalk,
        Point::Seal,
        Point::Pools,
        Point::Lead,
        Point::Help,
        Point::Tell,
        Point::Close,
        Point::Settle,
        Point::Notify,
    ];
}

/// What every such panic says.
#[cfg(debug_assertions)]
pub const TEXT: &str = "struck at a failpoint of the cycle";

/// What is armed in a graph.
#[derive(Default)]
pub(crate) struct Strikes {
    #[cfg(debug_assertions)]
    armed: std::sync::Mutex<Option<(Point, usize)>>,
    #[cfg(debug_assertions)]
    any: std::sync::atomic::AtomicBool,
}

#[cfg(debug_assertions)]
impl Strikes {
    /// The point panics once, after it has been passed `after` times.
    pub(crate) fn arm(&self, armed: Option<(Point, usize)>) {
        use std::sync::{PoisonError, atomic::Ordering};
        *self.armed.lock().unwrap_or_else(PoisonError::into_inner) = armed;
        self.any.store(armed.is_some(), Ordering::Release);
    }

    /// Panics here, if that is armed.
    pub(crate) fn pass(&self, point: Point) {
        use std::sync::{PoisonError, atomic::Ordering};
        if !self.any.load(Ordering::Acquire) {
            return;
        }
        let mut armed = self.armed.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *armed {
            Some((at, 0)) if *at == point => {
                *armed = None;
                self.any.store(false, Ordering::Release);
                drop(armed);
                panic!("{TEXT}");
            }
            Some((at, left)) if *at == point => *left -= 1,
            _ => {}
        }
    }
}

#[cfg(not(debug_assertions))]
impl Strikes {
    #[inline(always)]
    pub(crate) fn pass(&self, _point: Point) {}
}
