//! Memory of 128 KB to 2 MB that was given back, kept warm for the next who asks.
//!
//! The system's allocator maps such memory anew, or trims it as it is freed: a page of a Parquet file, its bytes and its cells,
//! is a fault for each 4 KB of it, a fifth of a scan. What is kept here has its pages. It is asked for by size classes, four to
//! each power of two: what is written of a block is what it costs, so the rest of its class is free.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::{Mutex, TryLockError};

/// The least and the most bytes of what is kept here.
const SMALLEST_BLOCK: usize = 128 << 10;
const LARGEST_BLOCK: usize = 2 << 20;
/// Alignments of what is kept: the system's own, and that of Arrow's buffers.
pub(super) const ALIGNS: [usize; 2] = [16, 128];
/// Size classes, and blocks of each that are kept.
const CLASSES: usize = 16;
const PLACES: usize = 256;
/// At most so many bytes are kept.
const KEPT_BYTES: usize = 256 << 20;

struct Warm {
    blocks: [[[*mut u8; PLACES]; CLASSES]; ALIGNS.len()],
    counts: [[usize; CLASSES]; ALIGNS.len()],
    bytes: usize,
}

// SAFETY: memory of nobody's; an address may go from thread to thread.
unsafe impl Send for Warm {}

static WARM: Mutex<Warm> = Mutex::new(Warm::new());

/// Where a block of a layout is kept, and the layout that it has of the system.
#[derive(Clone, Copy)]
pub(super) struct Class {
    align: usize,
    size: usize,
    whole: Layout,
}

impl Class {
    /// The class of a layout, if its memory is kept here.
    pub(super) fn of(layout: Layout) -> Option<Class> {
        let align = ALIGNS.iter().position(|align| layout.align() <= *align)?;
        if !(SMALLEST_BLOCK..LARGEST_BLOCK).contains(&layout.size()) {
            return None;
        }
        let power = (layout.size() / SMALLEST_BLOCK).ilog2();
        let quarter = (SMALLEST_BLOCK / 4) << power;
        let steps = layout.size().div_ceil(quarter);
        // The class behind the last of a power is the first of the next.
        let (power, steps) = if steps == 8 { (power + 1, 4) } else { (power, steps) };
        let size = power as usize * 4 + steps - 4;
        let whole = Layout::from_size_align(((SMALLEST_BLOCK / 4) << power) * steps, ALIGNS[align]).ok()?;
        // The last class ends where large memory begins.
        (size < CLASSES).then_some(Class { align, size, whole })
    }

    /// A block; what lies in it is anything.
    pub(super) fn alloc(self) -> *mut u8 {
        match self.take() {
            Some(block) => block,
            // SAFETY: a layout of some bytes.
            None => unsafe { System.alloc(self.whole) },
        }
    }

    /// A block whose first bytes are zero.
    pub(super) fn alloc_zeroed(self, bytes: usize) -> *mut u8 {
        match self.take() {
            Some(block) => {
                // SAFETY: a block of at least so many bytes that is nobody's.
                unsafe { block.write_bytes(0, bytes) };
                block
            }
            // SAFETY: a layout of some bytes.
            None => unsafe { System.alloc_zeroed(self.whole) },
        }
    }

    /// # Safety
    /// The block came from this class, and its owner has given it up.
    pub(super) unsafe fn dealloc(self, block: *mut u8) {
        if !with(|warm| warm.put(self, block)).unwrap_or(false) {
            // SAFETY: the caller's promise; nobody else has it.
            unsafe { System.dealloc(block, self.whole) };
        }
    }

    /// The layout that its blocks have of the system.
    pub(super) fn whole(self) -> Layout {
        self.whole
    }

    fn take(self) -> Option<*mut u8> {
        with(|warm| warm.take(self)).flatten()
    }
}

impl Warm {
    const fn new() -> Warm {
        let blocks = [[[std::ptr::null_mut(); PLACES]; CLASSES]; ALIGNS.len()];
        Warm { blocks, counts: [[0; CLASSES]; ALIGNS.len()], bytes: 0 }
    }

    fn take(&mut self, class: Class) -> Option<*mut u8> {
        let count = &mut self.counts[class.align][class.size];
        *count = count.checked_sub(1)?;
        self.bytes -= class.whole.size();
        Some(self.blocks[class.align][class.size][*count])
    }

    fn put(&mut self, class: Class, block: *mut u8) -> bool {
        let count = &mut self.counts[class.align][class.size];
        if *count == PLACES || self.bytes + class.whole.size() > KEPT_BYTES {
            return false;
        }
        self.blocks[class.align][class.size][*count] = block;
        *count += 1;
        self.bytes += class.whole.size();
        true
    }
}

/// Nobody waits for another here: in a process that was forked the other is not there to end.
fn with<R>(work: impl FnOnce(&mut Warm) -> R) -> Option<R> {
    match WARM.try_lock() {
        Ok(mut warm) => Some(work(&mut warm)),
        Err(TryLockError::Poisoned(warm)) => Some(work(&mut warm.into_inner())),
        Err(TryLockError::WouldBlock) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(bytes: usize, align: usize) -> Option<Class> {
        Class::of(Layout::from_size_align(bytes, align).expect("a small alignment"))
    }

    #[test]
    fn classes_hold_their_sizes_and_waste_a_quarter_at_most() {
        let mut last = 0;
        for bytes in (SMALLEST_BLOCK..LARGEST_BLOCK).step_by(4093) {
            let Some(class) = class(bytes, 8) else {
                assert!(bytes > 7 << 18, "{bytes} is beyond the last class");
                continue;
            };
            let whole = class.whole.size();
            assert!(whole >= bytes && whole <= bytes + bytes / 4, "{bytes} in {whole}");
            assert!(class.size == last || class.size == last + 1, "class {} after {last}", class.size);
            assert_eq!(self::class(whole, 8).map(|class| class.size), Some(class.size), "{whole} is of its own class");
            last = class.size;
        }
        assert_eq!(last, CLASSES - 1);
        assert!(
            class(SMALLEST_BLOCK - 1, 8).is_none()
                && class(LARGEST_BLOCK, 8).is_none()
                && class(SMALLEST_BLOCK, 256).is_none()
        );
    }

    #[test]
    fn no_more_is_kept_than_was_said_and_alignments_stand_apart() {
        let mut warm = Warm::new();
        let (plain, wide) = (class(1 << 20, 8).expect("a class"), class(1 << 20, 64).expect("a class"));
        let (least, block) = (class(SMALLEST_BLOCK, 8).expect("a class"), std::ptr::without_provenance_mut(4096));
        assert_eq!((0..2 * PLACES).filter(|_| warm.put(least, block)).count(), PLACES);
        let left = (KEPT_BYTES >> 20) - ((PLACES * SMALLEST_BLOCK) >> 20);
        assert_eq!((0..2 * PLACES).filter(|_| warm.put(plain, block)).count(), left);
        assert_eq!((warm.bytes, warm.take(wide)), (KEPT_BYTES, None));
        assert!(!warm.put(wide, block), "there is no room");
        assert_eq!(warm.take(plain), Some(block));
        assert!(warm.put(wide, block));
    }
}
