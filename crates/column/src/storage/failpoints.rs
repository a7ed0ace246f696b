//! Errors on demand inside a write, in builds with debug assertions: what they leave standing is found out by
//! making them happen. Elsewhere [`strike`] is nothing.

use crate::error::Error;

/// Where a write can be struck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(test), allow(dead_code, reason = "armed by tests"))]
pub(crate) enum Point {
    /// A row set and its cells are about to be stored, or rows to be moved.
    Write,
    /// The blocks of a leaf are about to be written.
    Leaf,
    /// The cells of a block are about to be stored.
    Block,
    /// Room for texts is about to be planned.
    Reserve,
    /// The texts of a block are about to be planned anew.
    Compact,
}

/// Every point, to be gone through.
#[cfg(all(test, debug_assertions))]
pub(crate) const POINTS: [Point; 5] = [Point::Write, Point::Leaf, Point::Block, Point::Reserve, Point::Compact];

/// How a struck write fails.
#[cfg(debug_assertions)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(test), allow(dead_code, reason = "armed by tests"))]
pub(crate) enum Fail {
    Error,
    Panic,
}

/// What every such failure says.
#[cfg(debug_assertions)]
pub(crate) const TEXT: &str = "struck at a failpoint";

#[cfg(debug_assertions)]
mod armed {
    use std::cell::Cell;

    use super::{Fail, Point};

    thread_local! {
        pub(super) static ARMED: Cell<Option<(Point, u32, Fail)>> = const { Cell::new(None) };
    }
}

/// The point fails on this thread when it is passed the next time after `passes` times.
#[cfg(all(test, debug_assertions))]
pub(crate) fn arm(point: Point, passes: u32, fail: Fail) {
    armed::ARMED.set(Some((point, passes, fail)));
}

/// Nothing is armed any more; whether something still was.
#[cfg(all(test, debug_assertions))]
pub(crate) fn disarm() -> bool {
    armed::ARMED.take().is_some()
}

/// Fails if the point is armed and its time has come.
#[inline(always)]
pub(crate) fn strike(point: Point) -> Result<(), Error> {
    #[cfg(debug_assertions)]
    if let Some((armed, passes, fail)) = armed::ARMED.get()
        && armed == point
    {
        armed::ARMED.set(passes.checked_sub(1).map(|passes| (armed, passes, fail)));
        match fail {
            _ if passes > 0 => {}
            Fail::Error => return Err(Error::TooMany(TEXT)),
            Fail::Panic => panic!("{TEXT}"),
        }
    }
    #[cfg(not(debug_assertions))]
    let _ = point;
    Ok(())
}
