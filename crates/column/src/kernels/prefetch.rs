//! Memory that is fetched before it is looked at.
//!
//! `rowset` stands below and has the same few lines for the words of its blocks.
#![allow(unsafe_code, reason = "the processor's own instruction; it reads nothing and cannot fail")]

/// Fetches the memory of a list that will be looked at soon. Unlike a load nothing waits for it: as much memory as the
/// processor can fetch at a time is on its way at once.
#[inline]
pub fn prefetch_slice<T>(list: &[T]) {
    const LINE: usize = 64;
    list.chunks((LINE / size_of::<T>().max(1)).max(1)).for_each(|line| prefetch(&line[0]));
}

/// Fetches the memory of one value, or the start of a large one.
#[inline(always)]
pub fn prefetch<T>(memory: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the instruction reads nothing that could be seen, and this is the memory of a value.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(std::ptr::from_ref(memory).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = memory;
}
