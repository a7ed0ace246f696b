//! Memory for cells: slabs that hand out regions side by side, and lend them to Arrow without a copy.
//!
//! All raw memory of the crate is here. A [`Region`] is the only way to write a stretch of its slab;
//! a lent buffer keeps the owners of every region it covers alive, so nobody can get at them mutably.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::panic::AssertUnwindSafe;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use arrow_buffer::{ArrowNativeType, Buffer};
use graph::lock;

use crate::sizes::IDLE_REGIONS;
use crate::storage::counters::StorageCounters;

const ALIGNMENT: usize = 64;
/// Memory of this size on is aligned to it and asks for large pages: cells at random places of a large
/// table cost a walk of the page table each without them.
const HUGE_PAGE: usize = 2 << 20;

#[cfg(target_os = "linux")]
const MADV_HUGEPAGE: i32 = 14;

#[cfg(target_os = "linux")]
unsafe extern "C" {
    fn madvise(start: *mut std::ffi::c_void, bytes: usize, advice: i32) -> i32;
}

/// Zeroed bytes at a fixed address, counted while they are held.
struct Memory {
    start: NonNull<u8>,
    bytes: usize,
    /// What was allocated, of which `bytes` from `start` on are used.
    whole: (NonNull<u8>, Layout),
    counters: Arc<StorageCounters>,
}

// SAFETY: `Memory` is plain bytes; who may touch which of them is ruled by `Region` and `Text`.
unsafe impl Send for Memory {}
// SAFETY: as above; a shared `Memory` gives out nothing but its address.
unsafe impl Sync for Memory {}

impl Memory {
    fn zeroed(bytes: usize, counters: &Arc<StorageCounters>) -> Memory {
        // Room to align by hand: asking the allocator for a large alignment makes it write the zeros,
        // where fresh pages are zero for nothing.
        let alignment = if bytes >= HUGE_PAGE { HUGE_PAGE } else { ALIGNMENT };
        let layout = Layout::from_size_align(bytes + alignment, 16).expect("sizes are far below isize::MAX");
        // SAFETY: the layout has a size of at least one alignment, never zero.
        let whole = unsafe { alloc_zeroed(layout) };
        let whole = NonNull::new(whole).unwrap_or_else(|| handle_alloc_error(layout));
        // SAFETY: the allocation is one alignment longer than `bytes`.
        let start = unsafe { whole.add(whole.align_offset(alignment)) };
        counters.hold(bytes);
        #[cfg(target_os = "linux")]
        if alignment == HUGE_PAGE {
            // SAFETY: the range is our own allocation; the advice changes speed, never contents.
            unsafe { madvise(start.as_ptr().cast(), bytes, MADV_HUGEPAGE) };
        }
        Memory { start, bytes, whole: (whole, layout), counters: counters.clone() }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.counters.release(self.bytes);
        let (whole, layout) = self.whole;
        // SAFETY: allocated in `zeroed` with this layout, and dropped once.
        unsafe { dealloc(whole.as_ptr(), layout) }
    }
}

/// Neighbouring regions in one allocation.
struct Slab {
    memory: Memory,
    region_bytes: usize,
    regions: u32,
    /// Regions that came back, for the pool to hand out again.
    freed: Mutex<BinaryHeap<Reverse<u32>>>,
    /// Regions in use in all slabs of the pool.
    in_use: Arc<AtomicUsize>,
    /// No longer a place for new cells: what is left in it should move out.
    retired: AtomicBool,
}

impl Slab {
    fn freed(&self) -> std::sync::MutexGuard<'_, BinaryHeap<Reverse<u32>>> {
        lock(&self.freed)
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

    /// Whether the cells should move, so that the slab can go.
    pub(crate) fn is_retired(&self) -> bool {
        self.slab.retired.load(Ordering::Relaxed)
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
        self.slab.in_use.fetch_sub(1, Ordering::Relaxed);
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

/// Slabs moved out of at the end of one step.
const RETIRED_AT_ONCE: usize = 2;

/// Where a column's regions come from: slabs as large as what is in use, up to a limit, freed regions first.
pub(crate) struct Pool {
    region_bytes: usize,
    most_regions: u32,
    slabs: Vec<Arc<Slab>>,
    /// Regions handed out so far from the last slab.
    taken: u32,
    /// Regions of all slabs.
    regions: usize,
    in_use: Arc<AtomicUsize>,
    /// Memory for the next slab, whose pages are there: made by a thread that has the time for them.
    ahead: Option<Memory>,
    counters: Arc<StorageCounters>,
}

/// Memory for a slab that is not yet part of its pool.
pub(crate) struct Ahead(Memory);

impl Ahead {
    /// Zeroed memory, each page of which has been touched: a page that is touched first costs as much as the copy of
    /// many blocks.
    pub(crate) fn of(bytes: usize, counters: &Arc<StorageCounters>) -> Ahead {
        const PAGE: usize = 4 << 10;
        let memory = Memory::zeroed(bytes, counters);
        for at in (0..memory.bytes).step_by(PAGE) {
            // SAFETY: the byte lies inside the memory, which nobody else knows of; it is zero, and stays so.
            unsafe { memory.start.as_ptr().add(at).write_volatile(0) };
        }
        Ahead(memory)
    }
}

impl Pool {
    /// A pool of regions of `region_bytes` bytes, in slabs of up to `slab_bytes`.
    pub(crate) fn new(region_bytes: usize, slab_bytes: usize, counters: Arc<StorageCounters>) -> Pool {
        let region_bytes = region_bytes.next_multiple_of(ALIGNMENT).max(ALIGNMENT);
        let most_regions = u32::try_from(slab_bytes / region_bytes).unwrap_or(u32::MAX).max(1);
        let (slabs, in_use) = (Vec::new(), Arc::default());
        Pool { region_bytes, most_regions, slabs, taken: 0, regions: 0, in_use, ahead: None, counters }
    }

    pub(crate) fn counters(&self) -> &Arc<StorageCounters> {
        &self.counters
    }

    /// A zeroed region; the next one lies behind it where there is room.
    pub(crate) fn region(&mut self) -> Region {
        self.in_use.fetch_add(1, Ordering::Relaxed);
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
        // As many again as are in use, of which one is the region that is asked for: so a table that grows doubles, and one that
        // stays as large as it is keeps little beside it.
        let in_use = u32::try_from(self.in_use.load(Ordering::Relaxed)).unwrap_or(u32::MAX);
        let memory = self.ahead.take().unwrap_or_else(|| {
            Memory::zeroed(in_use.clamp(1, self.most_regions) as usize * self.region_bytes, &self.counters)
        });
        let regions = (memory.bytes / self.region_bytes) as u32;
        let (freed, in_use, retired) = (Mutex::default(), self.in_use.clone(), AtomicBool::new(false));
        let slab = Slab { memory, region_bytes: self.region_bytes, regions, freed, in_use, retired };
        self.slabs.push(Arc::new(slab));
        self.regions += regions as usize;
        self.taken = 1;
        let slab = self.slabs.last().expect("just pushed").clone();
        Region { slab, index: 0 }
    }

    /// The bytes of the next slab, if it will be a large one and is not there yet.
    pub(crate) fn wants_ahead(&self) -> Option<usize> {
        let large = self.in_use.load(Ordering::Relaxed) >= self.most_regions as usize;
        (large && self.ahead.is_none()).then(|| self.most_regions as usize * self.region_bytes)
    }

    /// Takes the memory of the next slab, or with none lets go what was not used.
    pub(crate) fn set_ahead(&mut self, ahead: Option<Ahead>) {
        self.ahead = ahead.map(|Ahead(memory)| memory);
    }

    /// Whether many regions lie idle for those in use.
    pub(crate) fn is_wasteful(&self) -> bool {
        let untouched = self.slabs.last().map_or(0, |slab| slab.regions.saturating_sub(self.taken) as usize);
        let in_use = self.in_use.load(Ordering::Relaxed);
        self.regions.saturating_sub(untouched + in_use) > in_use / 3 + IDLE_REGIONS.get()
    }

    /// Closes a few slabs that are mostly idle; whether there were any.
    pub(crate) fn retire(&mut self) -> bool {
        let last = self.slabs.last().cloned();
        let mut retired = 0;
        self.slabs.retain(|slab| {
            let used = Arc::strong_count(slab) - 1;
            // A slab that is all free is the spare one that `trim` left.
            let sparse = used > 0
                && used * 2 <= slab.regions as usize
                && last.as_ref().is_none_or(|last| !Arc::ptr_eq(last, slab));
            if sparse && retired < RETIRED_AT_ONCE {
                retired += 1;
                slab.retired.store(true, Ordering::Relaxed);
                return false;
            }
            true
        });
        self.count();
        retired > 0
    }

    fn count(&mut self) {
        self.regions = self.slabs.iter().map(|slab| slab.regions as usize).sum();
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
        self.count();
        if self.slabs.last().map(Arc::as_ptr) != last {
            // Whatever slab is last now has no untouched regions left.
            self.taken = u32::MAX;
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

    /// Bytes that may be appended by whoever knows of the first `used` bytes: none, if another copy went on first.
    pub(crate) fn room(&self, used: usize) -> usize {
        if self.claimed.load(Ordering::Relaxed) == used { self.memory.bytes - used } else { 0 }
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

#[cfg(test)]
mod tests {
    use super::*;

    struct Owner(Region);

    impl Lender for Owner {
        fn region(&self) -> Option<&Region> {
            Some(&self.0)
        }
    }

    fn pool(counters: &Arc<StorageCounters>) -> Pool {
        Pool::new(256, 1024, counters.clone())
    }

    /// Regions, lent buffers and texts against an oracle that keeps every cell in a plain vector.
    #[test]
    fn regions_agree_with_vectors() {
        let counters = StorageCounters::under(None);
        let mut pool = pool(&counters);
        let mut owners: Vec<(Arc<Owner>, Vec<u64>)> = Vec::new();
        for round in 0..200u64 {
            let mut region = pool.region();
            assert!(region.cells::<u8>().iter().all(|&byte| byte == 0), "a region starts as zeros");
            let cells: Vec<u64> = (0..32).map(|at| round * 1000 + at).collect();
            region.cells_mut::<u64>().copy_from_slice(&cells);
            owners.push((Arc::new(Owner(region)), cells));
            if round % 3 == 0 {
                let at = (round * 7 % owners.len() as u64) as usize;
                owners.remove(at);
            }
            if round % 10 == 0 {
                pool.trim();
            }
            for (owner, cells) in &owners {
                assert_eq!(owner.0.cells::<u64>(), &cells[..]);
                assert_eq!(owner.0.cells::<u128>().len(), 16);
            }
        }
        let (lenders, wanted): (Vec<_>, Vec<_>) =
            owners.windows(2).find(|pair| pair[0].0.0.touches(&pair[1].0.0)).unwrap().iter().cloned().unzip();
        let buffer = lend(lenders.clone(), 8 * 10, 8 * 40);
        assert_eq!(buffer.typed_data::<u64>(), &wanted.concat()[10..50]);
        assert_eq!(buffer.as_ptr(), lenders[0].0.cells::<u64>()[10..].as_ptr().cast());
        let kept = Arc::downgrade(&lenders[0]);
        drop((lenders, owners, pool));
        assert!(kept.upgrade().is_some() && counters.bytes_held() > 0, "the buffer keeps its regions");
        assert_eq!(buffer.typed_data::<u64>(), &wanted.concat()[10..50]);
        drop(buffer);
        assert_eq!(counters.bytes_held(), 0);
    }

    #[test]
    fn a_slab_that_was_made_ahead_is_the_next_one_and_is_let_go_if_it_is_not_wanted() {
        let counters = StorageCounters::under(None);
        let mut pool = pool(&counters);
        assert_eq!(pool.wants_ahead(), None, "a small pool grows in small steps");
        let mut regions: Vec<Region> = (0..7).map(|_| pool.region()).collect();
        let (bytes, held) = (pool.wants_ahead().expect("the next slab is a large one"), counters.bytes_held());
        assert_eq!(bytes, 1024);
        pool.set_ahead(Some(Ahead::of(bytes, &counters)));
        assert_eq!((pool.wants_ahead(), counters.bytes_held()), (None, held + 1024));
        regions.extend((0..4).map(|_| pool.region()));
        assert!(regions.iter().all(|region| region.cells::<u8>().iter().all(|&byte| byte == 0)));
        assert_eq!(counters.bytes_held(), held + 1024, "it was the next one");
        pool.set_ahead(Some(Ahead::of(bytes, &counters)));
        pool.set_ahead(None);
        assert_eq!(counters.bytes_held(), held + 1024);
        drop((regions, pool));
        assert_eq!(counters.bytes_held(), 0);
    }

    #[test]
    #[should_panic(expected = "assertion failed")]
    fn regions_apart_are_not_lent_as_one() {
        let mut pool = pool(&StorageCounters::under(None));
        let regions: Vec<_> = (0..3).map(|_| Arc::new(Owner(pool.region()))).collect();
        lend(vec![regions[0].clone(), regions[2].clone()], 0, 512);
    }

    #[test]
    fn text_grows_behind_what_readers_see() {
        let counters = StorageCounters::under(None);
        let text = Text::with_room(10, &counters);
        assert!(text.append(0, b"abc"));
        let seen = text.lend(3);
        assert!(text.append(3, b"defg"));
        assert!(!text.append(3, b"x"), "those bytes are taken");
        assert!(!text.append(7, b"four"), "no room");
        assert_eq!((seen.as_slice(), text.bytes(7)), (&b"abc"[..], &b"abcdefg"[..]));
        drop(text);
        assert_eq!(seen.as_slice(), b"abc");
        drop(seen);
        assert_eq!(counters.bytes_held(), 0);
    }
}
