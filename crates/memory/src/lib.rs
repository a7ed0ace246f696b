//! An allocator that puts large memory on large pages.
//!
//! New memory costs a fault for each page when it is first written: for a column of ten million
//! doubles twenty thousand faults of 4 KB, which take longer than to compute it, or forty of 2 MB.
//! Memory below that size comes from the system's allocator. What is given back is kept for a while
//! ([`kept`], [`warm`]).
#![allow(unsafe_code, reason = "memory before it has an owner")]

use std::alloc::{GlobalAlloc, Layout, System};

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
use self::warm::Class;

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod kept;
mod warm;

/// The system's allocator, and large pages for what is at least one of them.
pub struct LargePages;

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod large {
    use std::alloc::Layout;
    use std::ffi::{c_int, c_void};

    use super::kept::{self, Mapping};

    pub(super) const PAGE: usize = 2 << 20;
    /// What mappings are rounded to: a multiple of every size that small pages have.
    const SMALL_PAGES: usize = 64 << 10;
    /// The least of those sizes: what a mapping that moved is aligned to.
    const LEAST_PAGE: usize = 4 << 10;

    const READ_AND_WRITE: c_int = 1 | 2;
    const PRIVATE_AND_ANONYMOUS: c_int = 2 | 0x20;
    const MAY_MOVE: c_int = 1;
    const MADV_FREE: c_int = 8;
    const MADV_HUGEPAGE: c_int = 14;

    unsafe extern "C" {
        fn mmap(at: *mut c_void, bytes: usize, access: c_int, kind: c_int, file: c_int, from: i64) -> *mut c_void;
        fn munmap(start: *mut c_void, bytes: usize) -> c_int;
        fn mremap(start: *mut c_void, old: usize, new: usize, flags: c_int, ...) -> *mut c_void;
        fn madvise(start: *mut c_void, bytes: usize, advice: c_int) -> c_int;
    }

    /// Whether memory of this layout is ours.
    pub(super) fn is_large(layout: Layout) -> bool {
        layout.size() >= PAGE && layout.align() <= LEAST_PAGE
    }

    /// What is mapped for so many bytes; none if that is more than there can be.
    fn mapped(bytes: usize) -> Option<usize> {
        bytes.checked_next_multiple_of(SMALL_PAGES)
    }

    fn found(start: *mut c_void) -> *mut u8 {
        if start.addr() == usize::MAX { std::ptr::null_mut() } else { start.cast() }
    }

    /// Memory that begins with a large page, or with what was one before it moved.
    pub(super) fn alloc(bytes: usize) -> *mut u8 {
        kept_for(bytes).unwrap_or_else(|| map(bytes))
    }

    /// As [`alloc`], but every byte is zero.
    pub(super) fn alloc_zeroed(bytes: usize) -> *mut u8 {
        match kept_for(bytes) {
            Some(start) => {
                // SAFETY: a mapping of at least so many bytes that is nobody's.
                unsafe { start.write_bytes(0, bytes) };
                start
            }
            None => map(bytes),
        }
    }

    /// Memory that was given back, cut to size.
    fn kept_for(bytes: usize) -> Option<*mut u8> {
        let wanted = mapped(bytes)?;
        let Mapping { start, bytes: found } = kept::take(wanted)?;
        if found > wanted {
            // SAFETY: the end of a mapping that is nobody's; both lengths are whole small pages.
            unsafe { give(Mapping { start: start.add(wanted), bytes: found - wanted }) };
        }
        Some(start)
    }

    /// A new mapping: zeroed memory that begins with a large page.
    fn map(bytes: usize) -> *mut u8 {
        let Some(wanted) = mapped(bytes) else { return std::ptr::null_mut() };
        let Some(room) = wanted.checked_add(PAGE) else { return std::ptr::null_mut() };
        // SAFETY: a new mapping at an address of the system's choice.
        let whole = found(unsafe { mmap(std::ptr::null_mut(), room, READ_AND_WRITE, PRIVATE_AND_ANONYMOUS, -1, 0) });
        if whole.is_null() {
            return whole;
        }
        let before = whole.addr().next_multiple_of(PAGE) - whole.addr();
        let after = PAGE - before;
        // SAFETY: `before + wanted + after` is what was mapped; both ends are whole small pages that
        // nobody has been told of.
        unsafe {
            let start = whole.add(before);
            if before > 0 {
                munmap(whole.cast(), before);
            }
            if after > 0 {
                munmap(start.add(wanted).cast(), after);
            }
            madvise(start.cast(), wanted, MADV_HUGEPAGE);
            start
        }
    }

    /// # Safety
    /// `start` came from here for so many bytes.
    pub(super) unsafe fn dealloc(start: *mut u8, bytes: usize) {
        let Some(bytes) = mapped(bytes) else { return };
        // SAFETY: the whole mapping of an allocation that its owner has given up. The system may take its pages, if it
        // must; it is told so before another can have the mapping.
        unsafe {
            madvise(start.cast(), bytes, MADV_FREE);
            give(Mapping { start, bytes });
        }
    }

    /// Keeps a mapping, or gives it back to the system.
    ///
    /// # Safety
    /// It is nobody's.
    unsafe fn give(mapping: Mapping) {
        if !kept::put(mapping) {
            // SAFETY: nobody else has it.
            unsafe { munmap(mapping.start.cast(), mapping.bytes) };
        }
    }

    /// What grows moves to memory that is kept, if there is some: a copy takes less than the system's faults and zeros.
    ///
    /// # Safety
    /// `start` came from here for `old` bytes.
    pub(super) unsafe fn realloc(start: *mut u8, old: usize, new: usize) -> *mut u8 {
        let (Some(held), Some(wanted)) = (mapped(old), mapped(new)) else { return std::ptr::null_mut() };
        if held == wanted {
            return start;
        }
        // SAFETY: the whole mapping of an allocation; its pages move as they are, or its bytes do. The system refuses to move
        // what once were two mappings.
        unsafe {
            if wanted < held {
                dealloc(start.add(wanted), held - wanted);
                return start;
            }
            let moved = match kept_for(new) {
                Some(moved) => moved,
                None => match found(mremap(start.cast(), held, wanted, MAY_MOVE)) {
                    moved if moved.is_null() => map(new),
                    moved => return moved,
                },
            };
            if !moved.is_null() {
                std::ptr::copy_nonoverlapping(start, moved, old);
                dealloc(start, old);
            }
            moved
        }
    }
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
/// Large memory mapped here, the rest the system's, of which blocks of some size are kept warm.
struct Plain;

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
use std::alloc::System as Plain;

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
// SAFETY: a layout says whether its memory is mapped here, of a class that is kept warm, or the system's, at every call alike; all
// are zeroed where that is asked for, and aligned: mappings to a small page, blocks of a class to at least the layout's alignment.
unsafe impl GlobalAlloc for Plain {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if large::is_large(layout) {
            return large::alloc(layout.size());
        }
        match Class::of(layout) {
            Some(class) => class.alloc(),
            // SAFETY: the caller's promise.
            None => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if large::is_large(layout) {
            return large::alloc_zeroed(layout.size());
        }
        match Class::of(layout) {
            Some(class) => class.alloc_zeroed(layout.size()),
            // SAFETY: the caller's promise.
            None => unsafe { System.alloc_zeroed(layout) },
        }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        if large::is_large(layout) {
            // SAFETY: the caller's promise: the same layout, so it came from `large`.
            return unsafe { large::dealloc(start, layout.size()) };
        }
        match Class::of(layout) {
            // SAFETY: the caller's promise: the same layout, so it came from its class.
            Some(class) => unsafe { class.dealloc(start) },
            // SAFETY: the caller's promise.
            None => unsafe { System.dealloc(start, layout) },
        }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that `size` is a size for this alignment.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        let (held, whole) = (whole(layout), whole(wanted));
        match (large::is_large(layout), large::is_large(wanted)) {
            // SAFETY: the caller's promise: the same layout, so it came from `large`.
            (true, true) => unsafe { large::realloc(start, layout.size(), size) },
            (false, false) if held == whole => start,
            // The system moves what it mapped without a copy.
            // SAFETY: the caller's promise; the system gave it by this layout.
            (false, false) if held.align() == whole.align() && held.align() <= warm::ALIGNS[0] => unsafe {
                System.realloc(start, held, whole.size())
            },
            // SAFETY: new memory of the wanted layout, the lesser of both sizes copied, the old given back.
            _ => unsafe {
                let moved = self.alloc(wanted);
                if !moved.is_null() {
                    std::ptr::copy_nonoverlapping(start, moved, layout.size().min(size));
                    self.dealloc(start, layout);
                }
                moved
            },
        }
    }
}

/// The layout by which the system gives what is not large.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn whole(layout: Layout) -> Layout {
    Class::of(layout).map_or(layout, Class::whole)
}

/// Lets the system's allocator keep what its own rule would let it keep after a while: blocks below what is mapped here are no mappings
/// of their own, and the end of a heap is not given back at every turn. A process that was told otherwise by its environment is
/// left as it is.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn keep_heaps() {
    use std::ffi::c_int;

    const TRIM_THRESHOLD: c_int = -1;
    const MMAP_THRESHOLD: c_int = -3;
    const TOLD: [&str; 3] = ["GLIBC_TUNABLES", "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"];

    unsafe extern "C" {
        fn mallopt(what: c_int, value: c_int) -> c_int;
    }

    if TOLD.iter().all(|name| std::env::var_os(name).is_none()) {
        // SAFETY: glibc's own call, which sets two numbers under its lock.
        unsafe {
            mallopt(TRIM_THRESHOLD, 64 << 20);
            mallopt(MMAP_THRESHOLD, 4 << 20);
        }
    }
}

/// Other allocators have other rules.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn keep_heaps() {}

/// Counts what is large for the budget, whoever gives it.
fn counted(layout: Layout) -> bool {
    layout.size() >= limits::COUNTED
}

fn took(start: *mut u8, layout: Layout) -> *mut u8 {
    if counted(layout) && !start.is_null() {
        limits::took(layout.size());
    }
    start
}

// SAFETY: nothing but the allocator below it, whose memory is counted.
unsafe impl GlobalAlloc for LargePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        took(unsafe { Plain.alloc(layout) }, layout)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        took(unsafe { Plain.alloc_zeroed(layout) }, layout)
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { Plain.dealloc(start, layout) };
        if counted(layout) {
            limits::gave(layout.size());
        }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        let moved = unsafe { Plain.realloc(start, layout, size) };
        if !moved.is_null() {
            if counted(layout) {
                limits::gave(layout.size());
            }
            if size >= limits::COUNTED {
                limits::took(size);
            }
        }
        moved
    }
}

#[cfg(all(test, target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod tests {
    use super::*;

    fn layout(bytes: usize, align: usize) -> Layout {
        Layout::from_size_align(bytes, align).expect("a small alignment")
    }

    #[test]
    fn large_memory_is_zero_also_where_it_was_used_before() {
        for (bytes, align) in [(2 << 20, 1), ((2 << 20) + 1, 64), ((5 << 20) + 4097, 4096), (2 << 20, 1), (5 << 20, 8)]
        {
            // SAFETY: used within its size, and given back with its layout.
            unsafe {
                let start = LargePages.alloc_zeroed(layout(bytes, align));
                assert_eq!(start.addr() % 4096, 0);
                let cells = std::slice::from_raw_parts_mut(start, bytes);
                assert!(cells.iter().all(|cell| *cell == 0));
                cells.fill(7);
                LargePages.dealloc(start, layout(bytes, align));
            }
        }
    }

    #[test]
    fn what_grows_and_shrinks_keeps_its_bytes() {
        let sizes = [100, 1 << 20, 3 << 20, (3 << 20) + 10, 40 << 20, 9 << 20, 2 << 20, 1 << 20, 6 << 20, 10];
        // SAFETY: used within its size of the moment, and given back with its last layout.
        unsafe {
            let mut start = LargePages.alloc(layout(sizes[0], 8));
            for at in 0..sizes[0] {
                start.add(at).write(at as u8);
            }
            let mut known = sizes[0];
            for pair in sizes.windows(2) {
                start = LargePages.realloc(start, layout(pair[0], 8), pair[1]);
                known = known.min(pair[1]);
                assert!((0..known).all(|at| *start.add(at) == at as u8), "{} to {} bytes", pair[0], pair[1]);
                (known..pair[1]).for_each(|at| start.add(at).write(at as u8));
                known = pair[1];
            }
            LargePages.dealloc(start, layout(sizes[sizes.len() - 1], 8));
        }
    }

    #[test]
    fn more_than_there_is_gives_null() {
        // SAFETY: nothing is used.
        unsafe {
            assert!(LargePages.alloc(layout(isize::MAX as usize - 4096, 8)).is_null());
            let start = LargePages.alloc(layout(2 << 20, 8));
            assert!(LargePages.realloc(start, layout(2 << 20, 8), isize::MAX as usize - 4096).is_null());
            LargePages.dealloc(start, layout(2 << 20, 8));
        }
    }
}
