//! Large memory that was given back, kept for the next who asks.
//!
//! To map memory anew costs a call, a fault for each page and the system's zeros: as long as many a
//! column takes to be computed. What is kept here is free for the system to take back, unread, as
//! soon as it is short of memory.

use std::sync::{Mutex, TryLockError};

/// At most so many bytes are kept: what leaves beyond that goes back to the system.
const MOST_BYTES: usize = 1 << 30;
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

    /// The smallest mapping of at least so many bytes.
    fn take(&mut self, bytes: usize) -> Option<Mapping> {
        let found = self.places[..self.count].iter().enumerate().filter(|(_, mapping)| mapping.bytes >= bytes);
        let (at, mapping) = found.min_by_key(|(_, mapping)| mapping.bytes).map(|(at, mapping)| (at, *mapping))?;
        self.count -= 1;
        self.places[at] = self.places[self.count];
        self.bytes -= mapping.bytes;
        Some(mapping)
    }

    /// Keeps a mapping, as one with those that it touches: what was cut off is whole again.
    fn put(&mut self, mut mapping: Mapping) -> bool {
        if self.count == PLACES || self.bytes + mapping.bytes > MOST_BYTES {
            return false;
        }
        self.bytes += mapping.bytes;
        let touches = |one: &Mapping, other: &Mapping| one.start.wrapping_add(one.bytes) == other.start;
        while let Some(at) =
            self.places[..self.count].iter().position(|kept| touches(kept, &mapping) || touches(&mapping, kept))
        {
            let kept = self.places[at];
            let start = if touches(&kept, &mapping) { kept.start } else { mapping.start };
            mapping = Mapping { start, bytes: kept.bytes + mapping.bytes };
            self.count -= 1;
            self.places[at] = self.places[self.count];
        }
        self.places[self.count] = mapping;
        self.count += 1;
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
    fn the_smallest_that_suffices_is_taken() {
        let mut kept = Kept::new();
        for mega in [8, 4, 6, 40] {
            assert!(kept.put(mapping(mega << 20)));
        }
        let taken = |kept: &mut Kept, mega: usize| kept.take(mega << 20).map(|mapping| mapping.bytes >> 20);
        assert_eq!(taken(&mut kept, 5), Some(6));
        assert_eq!(taken(&mut kept, 5), Some(8));
        assert_eq!(taken(&mut kept, 41), None);
        assert_eq!(taken(&mut kept, 5), Some(40));
        assert_eq!(taken(&mut kept, 5), None);
        assert_eq!((taken(&mut kept, 4), kept.count, kept.bytes), (Some(4), 0, 0));
    }

    #[test]
    fn pieces_that_touch_are_one() {
        let at = |mega: usize| std::ptr::without_provenance_mut(mega << 20);
        let mut kept = Kept::new();
        for (start, mega) in [(100, 8), (200, 4), (112, 4)] {
            assert!(kept.put(Mapping { start: at(start), bytes: mega << 20 }));
        }
        assert!(kept.put(Mapping { start: at(108), bytes: 4 << 20 }));
        assert_eq!((kept.count, kept.bytes), (2, 20 << 20));
        let whole = kept.take(16 << 20).map(|mapping| (mapping.start, mapping.bytes >> 20));
        assert_eq!(whole, Some((at(100), 16)));
    }

    #[test]
    fn no_more_is_kept_than_was_said() {
        let mut kept = Kept::new();
        let most = (0..200).filter(|_| kept.put(mapping(16 << 20))).count();
        assert_eq!(most, MOST_BYTES / (16 << 20));
        let mut kept = Kept::new();
        assert!((0..PLACES).all(|_| kept.put(mapping(1 << 20))) && !kept.put(mapping(1 << 20)));
        assert!(!Kept::new().put(mapping(MOST_BYTES + 1)));
    }
}
