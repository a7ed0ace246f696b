//! Large memory that was given back, kept for the next who asks.
//!
//! To map memory anew costs a call, a fault for each page and the system's zeros: as long as many a
//! column takes to be computed. What is kept here is free for the system to take back, unread, as
//! soon as it is short of memory.

use std::sync::{Mutex, TryLockError};

/// At most so many bytes are kept: what leaves beyond that goes back to the system.
const MOST_BYTES: usize = 256 << 20;
/// At most so many mappings.
const PLACES: usize = 128;

/// Memory mapped from `start` on.
#[derive(Clone, Copy)]
pub(super) struct Mapping {
    pub(super) start: *mut u8,
    pub(super) bytes: usize,
}

// SAFETY: memory of nobody's; an address may go from thread to thread.
unsafe impl Send for Mapping {}

struct Kept {
    places: [Mapping; PLACES],
    count: usize,
    bytes: usize,
}

static KEPT: Mutex<Kept> = Mutex::new(Kept::new());

impl Kept {
    const fn new() -> Kept {
        Kept { places: [Mapping { start: std::ptr::null_mut(), bytes: 0 }; PLACES], count: 0, bytes: 0 }
    }

    /// The smallest mapping of at least so many bytes, and of less than twice as many.
    fn take(&mut self, bytes: usize) -> Option<Mapping> {
        let fits = |mapping: &Mapping| mapping.bytes >= bytes && mapping.bytes / 2 < bytes;
        let found = self.places[..self.count].iter().enumerate().filter(|(_, mapping)| fits(mapping));
        let (at, mapping) = found.min_by_key(|(_, mapping)| mapping.bytes).map(|(at, mapping)| (at, *mapping))?;
        self.count -= 1;
        self.places[at] = self.places[self.count];
        self.bytes -= mapping.bytes;
        Some(mapping)
    }

    fn put(&mut self, mapping: Mapping) -> bool {
        if self.count == PLACES || self.bytes + mapping.bytes > MOST_BYTES {
            return false;
        }
        self.places[self.count] = mapping;
        self.count += 1;
        self.bytes += mapping.bytes;
        true
    }
}

/// Nobody waits for another here: in a process that was forked the other is not there to end.
fn with<R>(work: impl FnOnce(&mut Kept) -> R) -> Option<R> {
    match KEPT.try_lock() {
        Ok(mut kept) => Some(work(&mut kept)),
        Err(TryLockError::Poisoned(kept)) => Some(work(&mut kept.into_inner())),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// A mapping of at least so many bytes that was kept; what lies in it is anything.
pub(super) fn take(bytes: usize) -> Option<Mapping> {
    with(|kept| kept.take(bytes)).flatten()
}

/// Keeps a mapping that nobody uses any more, unless enough is kept.
pub(super) fn put(mapping: Mapping) -> bool {
    with(|kept| kept.put(mapping)).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(bytes: usize) -> Mapping {
        Mapping { start: std::ptr::null_mut(), bytes }
    }

    #[test]
    fn the_smallest_that_suffices_is_taken_and_none_of_twice_the_size() {
        let mut kept = Kept::new();
        for mega in [8, 4, 6, 40] {
            assert!(kept.put(mapping(mega << 20)));
        }
        let taken = |kept: &mut Kept, mega: usize| kept.take(mega << 20).map(|mapping| mapping.bytes >> 20);
        assert_eq!(taken(&mut kept, 5), Some(6));
        assert_eq!(taken(&mut kept, 5), Some(8));
        assert_eq!(taken(&mut kept, 5), None);
        assert_eq!(taken(&mut kept, 20), None);
        assert_eq!(taken(&mut kept, 21), Some(40));
        assert_eq!((taken(&mut kept, 4), kept.count, kept.bytes), (Some(4), 0, 0));
    }

    #[test]
    fn no_more_is_kept_than_was_said() {
        let mut kept = Kept::new();
        let most = (0..200).filter(|_| kept.put(mapping(4 << 20))).count();
        assert_eq!(most, 64);
        let mut kept = Kept::new();
        assert!((0..PLACES).all(|_| kept.put(mapping(1 << 20))) && !kept.put(mapping(1 << 20)));
        assert!(!Kept::new().put(mapping(MOST_BYTES + 1)));
    }
}
