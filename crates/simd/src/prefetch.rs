//! Memory that is fetched before it is read.

/// Prefetches the cache lines of a list that will be read soon. Nothing waits for them, as it would for a load: the processor has as
/// many on their way as it can.
#[inline]
pub fn prefetch_slice<T>(list: &[T]) {
    const LINE: usize = 64;
    list.chunks((LINE / size_of::<T>().max(1)).max(1)).for_each(|line| prefetch(&line[0]));
}

/// Prefetches the cache line where a value starts.
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
