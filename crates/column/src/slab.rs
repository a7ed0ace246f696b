//! Memory for cells: slabs that hand out regions side by side, and lend them to Arrow without a copy.
//!
//! All raw memory of the crate is here. A [`Region`] is the only way to write a stretch of its slab;
//! a lent buffer keeps the owners of every region it covers alive, so nobody can get at them mutably.
#![allow(unsafe_code)]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::panic::AssertUnwindSafe;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_buffer::{ArrowNativeType, Buffer};

use crate::StorageCounters;

const ALIGNMENT: usize = 64;

/// Zeroed bytes at a fixed address, counted while they are held.
struct Memory {
    start: NonNull<u8>,
    bytes: usize,
    counters: Arc<StorageCounters>,
}

// SAFETY: `Memory` is plain bytes; who may touch which of them is ruled by `Region` and `Text`.
unsafe impl Send for Memory {}
// SAFETY: as above; a shared `Memory` gives out nothing but its address.
unsafe impl Sync for Memory {}

impl Memory {
    fn zeroed(bytes: usize, counters: &Arc<StorageCounters>) -> Memory {
        let layout = Memory::layout(bytes);
        // SAFETY: the layout has a size of at least one alignment, never zero.
        let start = unsafe { alloc_zeroed(layout) };
        let start = NonNull::new(start).unwrap_or_else(|| handle_alloc_error(layout));
        counters.hold(bytes);
        Memory { start, bytes, counters: counters.clone() }
    }

    fn layout(bytes: usize) -> Layout {
        Layout::from_size_align(bytes.max(ALIGNMENT), ALIGNMENT).expect("sizes are far below isize::MAX")
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.counters.release(self.bytes);
        // SAFETY: allocated in `zeroed` with the same layout, and dropped once.
        unsafe { dealloc(self.start.as_ptr(), Memory::layout(self.bytes)) }
    }
}

/// Neighbouring regions in one allocation.
struct Slab {
    memory: Memory,
    region_bytes: usize,
    regions: u32,
    /// Regions that came back, for the pool to hand out again.
    freed: Mutex<BinaryHeap<Reverse<u32>>>,
}

impl Slab {
    fn freed(&self) -> std::sync::MutexGuard<'_, BinaryHeap<Reverse<u32>>> {
        self.freed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A stretch of a slab that exactly one owner may write.
pub(crate) struct Region {
    slab: Arc<Slab>,
    index: u32,
}

impl Region {
    /// The place of this region within its slab.
    pub(crate) fn index(&self) -> u32 {
        self.index
    }

    /// Whether `next` lies directly behind this region.
    pub(crate) fn touches(&self, next: &Region) -> bool {
        Arc::ptr_eq(&self.slab, &next.slab) && self.index + 1 == next.index
    }

    /// The region as cells.
    pub(crate) fn cells<T: ArrowNativeType>(&self) -> &[T] {
        // SAFETY: the region is zeroed or written memory of this many bytes, aligned to 64 when its size
        // is (or to T, whose size divides it), every bit pattern is a T, and writers need `&mut self`.
        unsafe { std::slice::from_raw_parts(self.start().cast(), self.len::<T>()) }
    }

    /// The region as cells to write.
    pub(crate) fn cells_mut<T: ArrowNativeType>(&mut self) -> &mut [T] {
        // SAFETY: as in `cells`; `&mut self` is the only handle on these bytes, because regions of a slab
        // are disjoint and a lent buffer holds the `Arc` of the region's owner.
        unsafe { std::slice::from_raw_parts_mut(self.start().cast(), self.len::<T>()) }
    }

    fn len<T>(&self) -> usize {
        debug_assert_eq!(self.start().align_offset(align_of::<T>()), 0);
        self.slab.region_bytes / size_of::<T>()
    }

    fn start(&self) -> *mut u8 {
        // SAFETY: the index is below the slab's number of regions, so the offset stays inside it.
        unsafe { self.slab.memory.start.as_ptr().add(self.index as usize * self.slab.region_bytes) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        self.slab.freed().push(Reverse(self.index));
    }
}

/// Whoever owns a region and may be kept alive for a reader.
pub(crate) trait Lender: Send + Sync + 'static {
    /// The region that is lent.
    fn region(&self) -> Option<&Region>;
}

/// A buffer over `bytes` bytes from byte `from` of neighbouring regions, without a copy.
///
/// # Panics
/// If the regions do not lie together or the range leaves them: a bug of the caller.
pub(crate) fn lend<L: Lender>(lenders: Vec<Arc<L>>, from: usize, bytes: usize) -> Buffer {
    let regions: Vec<&Region> = lenders.iter().filter_map(|lender| lender.region()).collect();
    assert!(regions.len() == lenders.len() && regions.windows(2).all(|pair| pair[0].touches(pair[1])));
    let first = regions.first().expect("a slice covers at least one region");
    assert!(from + bytes <= regions.len() * first.slab.region_bytes);
    // SAFETY: both offsets stay inside the slab, as just asserted.
    let start = unsafe { NonNull::new_unchecked(first.start().add(from)) };
    let owner = Arc::new(AssertUnwindSafe(lenders));
    // SAFETY: the bytes live as long as the owner, which keeps every covered region's owner, hence its
    // slab; none of them can be borrowed mutably while the `Arc`s in `owner` exist.
    unsafe { Buffer::from_custom_allocation(start, bytes, owner) }
}

/// Where a column's regions come from: slabs that double up to a limit, freed regions first.
pub(crate) struct Pool {
    region_bytes: usize,
    slab_regions: u32,
    most_regions: u32,
    slabs: Vec<Arc<Slab>>,
    /// Regions handed out so far from the last slab.
    taken: u32,
    counters: Arc<StorageCounters>,
}

impl Pool {
    /// A pool of regions of `region_bytes` bytes, in slabs of up to `slab_bytes`.
    pub(crate) fn new(region_bytes: usize, slab_bytes: usize, counters: Arc<StorageCounters>) -> Pool {
        let region_bytes = region_bytes.next_multiple_of(ALIGNMENT).max(ALIGNMENT);
        let most_regions = u32::try_from(slab_bytes / region_bytes).unwrap_or(u32::MAX).max(1);
        Pool { region_bytes, slab_regions: 1, most_regions, slabs: Vec::new(), taken: 0, counters }
    }

    pub(crate) fn counters(&self) -> &Arc<StorageCounters> {
        &self.counters
    }

    /// A zeroed region; the next one lies behind it where there is room.
    pub(crate) fn region(&mut self) -> Region {
        match self.slabs.last() {
            Some(slab) if self.taken < slab.regions => {
                self.taken += 1;
                Region { slab: slab.clone(), index: self.taken - 1 }
            }
            _ => self.reused().unwrap_or_else(|| self.fresh()),
        }
    }

    /// A region of a slab that is at least half free: so scattered survivors cost at most double.
    fn reused(&mut self) -> Option<Region> {
        for slab in &self.slabs {
            let mut freed = slab.freed();
            if freed.len() * 2 < slab.regions as usize {
                continue;
            }
            let Reverse(index) = freed.pop()?;
            drop(freed);
            let mut region = Region { slab: slab.clone(), index };
            region.cells_mut::<u8>().fill(0);
            return Some(region);
        }
        None
    }

    fn fresh(&mut self) -> Region {
        let regions = self.slab_regions;
        self.slab_regions = (regions * 2).min(self.most_regions);
        let memory = Memory::zeroed(regions as usize * self.region_bytes, &self.counters);
        let slab = Slab { memory, region_bytes: self.region_bytes, regions, freed: Mutex::default() };
        self.slabs.push(Arc::new(slab));
        self.taken = 1;
        let slab = self.slabs.last().expect("just pushed").clone();
        Region { slab, index: 0 }
    }

    /// Gives back slabs of which no region is in use, but for one to write the next rows into.
    pub(crate) fn trim(&mut self) {
        let last = self.slabs.last().map(Arc::as_ptr);
        let used: usize = self.slabs.iter().map(|slab| Arc::strong_count(slab) - 1).sum();
        let mut spared = false;
        self.slabs.retain(|slab| {
            let spare = Arc::strong_count(slab) == 1 && !spared && slab.regions as usize <= used;
            spared |= spare;
            spare || Arc::strong_count(slab) > 1
        });
        if self.slabs.last().map(Arc::as_ptr) != last {
            // Whatever slab is last now has no untouched regions left.
            self.taken = u32::MAX;
        }
        if self.slabs.is_empty() {
            self.slab_regions = 1;
        }
    }
}

/// Bytes of strings: a prefix that readers may see, and room behind it for one writer to append.
pub(crate) struct Text {
    memory: Memory,
    /// Bytes written so far; whoever moves it forward owns the bytes it passed.
    claimed: AtomicUsize,
}

impl Text {
    /// Room for `capacity` bytes.
    pub(crate) fn with_room(capacity: usize, counters: &Arc<StorageCounters>) -> Arc<Text> {
        Arc::new(Text { memory: Memory::zeroed(capacity, counters), claimed: AtomicUsize::new(0) })
    }

    pub(crate) fn capacity(&self) -> usize {
        self.memory.bytes
    }

    /// Writes `bytes` behind the first `used` bytes, if these are all that was ever written.
    pub(crate) fn append(&self, used: usize, bytes: &[u8]) -> bool {
        let end = used + bytes.len();
        if end > self.memory.bytes
            || self.claimed.compare_exchange(used, end, Ordering::Relaxed, Ordering::Relaxed).is_err()
        {
            return false;
        }
        // SAFETY: `used..end` lies inside the memory, and the exchange gave this call alone the right to
        // it: nobody has been told of a prefix longer than `used`.
        unsafe {
            let target = self.memory.start.as_ptr().add(used);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), target, bytes.len());
        }
        true
    }

    /// The first `used` bytes.
    pub(crate) fn bytes(&self, used: usize) -> &[u8] {
        assert!(used <= self.claimed.load(Ordering::Relaxed));
        // SAFETY: bytes below `claimed` are never written again; who knows `used` learned it from the
        // writer through the column's lock or through a block's `Arc`.
        unsafe { std::slice::from_raw_parts(self.memory.start.as_ptr(), used) }
    }

    /// The first `used` bytes as a buffer that keeps this text alive.
    pub(crate) fn lend(self: &Arc<Text>, used: usize) -> Buffer {
        assert!(used <= self.claimed.load(Ordering::Relaxed));
        let owner = Arc::new(AssertUnwindSafe(self.clone()));
        // SAFETY: as in `bytes`; the owner keeps the memory.
        unsafe { Buffer::from_custom_allocation(self.memory.start, used, owner) }
    }
}
