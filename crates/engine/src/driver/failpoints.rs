//! Failures on demand, in builds for tests: what they should leave standing is found out by making them happen.
//!
//! A point is armed for one table and strikes once. Cycles can be made to run where only chance lets them run: between what an
//! operation reads and its joining. Elsewhere [`strike`] and [`interleave`] are nothing.

/// Where the driver can be struck. All there are: [`POINTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Point {
    /// The operation starts over a snapshot of its inputs.
    Start,
    /// The operation has not looked at the change yet.
    BeforeUpdate,
    /// The operation has taken the change in, and nobody has been told.
    AfterUpdate,
}

/// Every point, to be gone through.
pub const POINTS: [Point; 3] = [Point::Start, Point::BeforeUpdate, Point::AfterUpdate];

/// How it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fail {
    /// With an error.
    Error,
    /// With a panic.
    Panic,
}

/// What every such failure says.
pub const TEXT: &str = "struck at a failpoint";

#[cfg(any(test, feature = "testing"))]
pub use armed::{amid, arm, arm_start, disarm};

#[cfg(any(test, feature = "testing"))]
pub(crate) use armed::{interleave, strike};

#[cfg(any(test, feature = "testing"))]
mod armed {
    use std::cell::{Cell, RefCell};
    use std::collections::BTreeMap;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Mutex, MutexGuard};

    use super::{Fail, Point, TEXT};
    use crate::error::Error;
    use crate::table::handle::Table;
    use crate::threads::lock;

    static ARMED: Mutex<BTreeMap<usize, (Point, Fail)>> = Mutex::new(BTreeMap::new());
    static ARMED_COUNT: AtomicUsize = AtomicUsize::new(0);

    thread_local! {
        static START: Cell<Option<Fail>> = const { Cell::new(None) };
        static HAPPENING: RefCell<Option<Box<dyn FnMut()>>> = const { RefCell::new(None) };
    }

    fn all() -> MutexGuard<'static, BTreeMap<usize, (Point, Fail)>> {
        lock(&ARMED)
    }

    /// The table's next update fails.
    pub fn arm(table: &Table, point: Point, fail: Fail) {
        let node = table.node().expect("a live table has a node");
        let mut all = all();
        all.insert(std::sync::Arc::as_ptr(node).cast::<u8>() as usize, (point, fail));
        ARMED_COUNT.store(all.len(), Ordering::Release);
    }

    /// Nothing is armed for this table any more.
    pub fn disarm(table: &Table) {
        if let Some(node) = table.node() {
            let mut all = all();
            all.remove(&(std::sync::Arc::as_ptr(node).cast::<u8>() as usize));
            ARMED_COUNT.store(all.len(), Ordering::Release);
        }
    }

    /// The next operation that this thread starts fails.
    pub fn arm_start(fail: Fail) {
        START.set(Some(fail));
    }

    /// Lets `happening` happen whenever an operation that `body` attaches has read its inputs, and has not joined yet.
    pub fn amid<R>(happening: impl FnMut() + 'static, body: impl FnOnce() -> R) -> R {
        /// Takes it away, also when `body` panics.
        struct Over;
        impl Drop for Over {
            fn drop(&mut self) {
                HAPPENING.take();
            }
        }
        let _over = Over;
        HAPPENING.set(Some(Box::new(happening)));
        body()
    }

    /// What is to happen amid an attach; not while it happens already, for the cycles it runs are those of other nodes.
    pub(crate) fn interleave() {
        if let Some(mut happening) = HAPPENING.take() {
            happening();
            HAPPENING.set(Some(happening));
        }
    }

    /// Fails here, if that is armed. `node` is the address of a table's node; none as an operation starts.
    pub(crate) fn strike(node: Option<usize>, point: Point) -> Result<(), Error> {
        let fail = match node {
            None => START.take(),
            Some(_) if ARMED_COUNT.load(Ordering::Acquire) == 0 => None,
            Some(node) => {
                let mut all = all();
                let due = all.get(&node).is_some_and(|(wanted, _)| *wanted == point);
                let found = if due { all.remove(&node).map(|(_, fail)| fail) } else { None };
                ARMED_COUNT.store(all.len(), Ordering::Release);
                found
            }
        };
        match fail {
            None => Ok(()),
            Some(Fail::Error) => Err(Error::data("failpoint", TEXT)),
            Some(Fail::Panic) => panic!("{TEXT}"),
        }
    }
}

#[cfg(not(any(test, feature = "testing")))]
#[inline(always)]
pub(crate) fn strike(_: Option<usize>, _: Point) -> Result<(), crate::error::Error> {
    Ok(())
}

#[cfg(not(any(test, feature = "testing")))]
#[inline(always)]
pub(crate) fn interleave() {}
