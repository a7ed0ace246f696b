//! The libraries that are compared, behind one trait.

use std::hint::black_box;
use std::time::Instant;

use croaring::{Bitmap64, Portable};
use roaring::{RoaringBitmap, RoaringTreemap};
use rowset::{Before, RowSet, Shift, Shifts, Span};

/// A set of keys in order.
pub trait Peer: Sized {
    fn build(keys: &[u64]) -> Self;
    fn union(&self, other: &Self) -> Self;
    fn intersection(&self, other: &Self) -> Self;
    fn difference(&self, other: &Self) -> Self;
    fn symmetric_difference(&self, other: &Self) -> Self;
    fn holds(&self, key: u64) -> bool;
    fn rank_of(&self, key: u64) -> u64;
    fn key_of(&self, pos: u64) -> u64;
    fn sum(&self) -> u64;
    /// How many ranges, walked one by one.
    fn ranges(&self) -> Option<u64> {
        None
    }
    /// Seconds a key, where ascending keys can be looked up together.
    fn positions(&self, _sorted: &[u64]) -> Option<f64> {
        None
    }
    /// The keys at some positions, one behind the other.
    fn slice(&self, from_pos: u64, len: u64) -> Self;
    /// What is known of a shift before it is applied.
    type Ready;
    fn ready(&self, delta: u64) -> Self::Ready;
    /// The upper half moved up.
    fn shifted(&self, delta: u64, ready: &Self::Ready) -> Self;
    /// The ones of a mask, where that can be asked for.
    fn of_mask(_bytes: &[u8]) -> Option<Self> {
        None
    }
    /// The mask of the keys below `end`.
    fn to_mask(&self, _end: u64) -> Option<Vec<u64>> {
        None
    }
    fn with(&self, keys: &[u64]) -> Self;
    fn without(&self, keys: &[u64]) -> Self;
    fn bytes_out(&self) -> Vec<u8>;
    fn memory(&self) -> usize;
}

impl Peer for RowSet {
    fn build(keys: &[u64]) -> RowSet {
        RowSet::from_sorted_keys(keys)
    }
    fn union(&self, other: &RowSet) -> RowSet {
        self | other
    }
    fn intersection(&self, other: &RowSet) -> RowSet {
        self & other
    }
    fn difference(&self, other: &RowSet) -> RowSet {
        self - other
    }
    fn symmetric_difference(&self, other: &RowSet) -> RowSet {
        self ^ other
    }
    fn holds(&self, key: u64) -> bool {
        self.contains(key)
    }
    fn rank_of(&self, key: u64) -> u64 {
        self.position_of(key).unwrap_or(0)
    }
    fn key_of(&self, pos: u64) -> u64 {
        self.key_at(pos).unwrap_or(0)
    }
    fn sum(&self) -> u64 {
        self.iter().fold(0, u64::wrapping_add)
    }
    fn ranges(&self) -> Option<u64> {
        Some(self.spans().fold(0, |count, _| count + 1))
    }
    fn positions(&self, sorted: &[u64]) -> Option<f64> {
        let mut keys = sorted.to_vec();
        keys.dedup();
        let keys = RowSet::from_sorted_keys(&keys);
        let took = |_| {
            let start = Instant::now();
            black_box(self.positions_of(&keys));
            start.elapsed().as_secs_f64()
        };
        let best = (0..5).map(took).fold(f64::INFINITY, f64::min);
        Some(best / keys.len() as f64)
    }
    fn slice(&self, from_pos: u64, len: u64) -> RowSet {
        RowSet::slice(self, from_pos, len)
    }
    type Ready = Shifts;
    fn ready(&self, delta: u64) -> Shifts {
        let upper = RowSet::slice(self, self.len() / 2, self.len());
        let (Some(first), Some(last)) = (upper.first(), upper.last()) else { return Shifts::none() };
        let shift = Shift { first, last, delta: delta as i64 };
        Shifts::new(vec![shift], &Before(self.clone())).expect("there is room above")
    }
    fn shifted(&self, _delta: u64, shifts: &Shifts) -> RowSet {
        let mut made = self.clone();
        made.apply(&RowSet::new(), shifts, &RowSet::new());
        made
    }
    fn of_mask(bytes: &[u8]) -> Option<RowSet> {
        Some(RowSet::from_mask(0, bytes, 0, 8 * bytes.len()))
    }
    fn to_mask(&self, end: u64) -> Option<Vec<u64>> {
        Some(RowSet::to_mask(self, Span { first: 0, last: end - 1 }))
    }
    fn with(&self, keys: &[u64]) -> RowSet {
        if let [key] = keys {
            let mut edited = self.clone();
            edited.insert(*key);
            return edited;
        }
        self | &RowSet::from_keys(keys.to_vec())
    }
    fn without(&self, keys: &[u64]) -> RowSet {
        self - &RowSet::from_keys(keys.to_vec())
    }
    fn bytes_out(&self) -> Vec<u8> {
        self.to_roaring()
    }
    fn memory(&self) -> usize {
        self.bytes()
    }
}

impl Peer for RoaringTreemap {
    fn build(keys: &[u64]) -> RoaringTreemap {
        RoaringTreemap::from_sorted_iter(keys.iter().copied()).expect("ascending")
    }
    fn union(&self, other: &RoaringTreemap) -> RoaringTreemap {
        self | other
    }
    fn intersection(&self, other: &RoaringTreemap) -> RoaringTreemap {
        self & other
    }
    fn difference(&self, other: &RoaringTreemap) -> RoaringTreemap {
        self - other
    }
    fn symmetric_difference(&self, other: &RoaringTreemap) -> RoaringTreemap {
        self ^ other
    }
    fn holds(&self, key: u64) -> bool {
        self.contains(key)
    }
    fn rank_of(&self, key: u64) -> u64 {
        self.rank(key)
    }
    fn key_of(&self, pos: u64) -> u64 {
        self.select(pos).unwrap_or(0)
    }
    fn sum(&self) -> u64 {
        self.iter().fold(0, u64::wrapping_add)
    }
    fn slice(&self, from_pos: u64, len: u64) -> RoaringTreemap {
        let (first, last) = (self.select(from_pos).unwrap_or(0), self.select(from_pos + len - 1).unwrap_or(0));
        let mut within = RoaringTreemap::new();
        // A range further than this takes it minutes, and memory without end.
        if last - first > 1 << 34 {
            return self.iter().skip(from_pos as usize).take(len as usize).collect();
        }
        within.insert_range(first..=last);
        self & within
    }
    type Ready = ();
    fn ready(&self, _delta: u64) {}
    fn shifted(&self, delta: u64, (): &()) -> RoaringTreemap {
        let half = self.len() / 2;
        let moved = self.iter().enumerate().map(|(at, key)| if (at as u64) < half { key } else { key + delta });
        RoaringTreemap::from_sorted_iter(moved).expect("ascending")
    }
    fn of_mask(bytes: &[u8]) -> Option<RoaringTreemap> {
        Some(RoaringTreemap::from_bitmaps([(0, RoaringBitmap::from_lsb0_bytes(0, bytes))]))
    }
    fn with(&self, keys: &[u64]) -> RoaringTreemap {
        let mut edited = self.clone();
        edited.extend(keys);
        edited
    }
    fn without(&self, keys: &[u64]) -> RoaringTreemap {
        let mut edited = self.clone();
        keys.iter().for_each(|&key| {
            edited.remove(key);
        });
        edited
    }
    fn bytes_out(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.serialized_size());
        self.serialize_into(&mut bytes).expect("written to memory");
        bytes
    }
    fn memory(&self) -> usize {
        // Its containers, without what the maps around them take.
        self.bitmaps()
            .map(|(_, map)| {
                let told = map.statistics();
                (told.n_bytes_array_containers + told.n_bytes_bitset_containers + told.n_bytes_run_containers) as usize
            })
            .sum()
    }
}

impl Peer for Bitmap64 {
    fn build(keys: &[u64]) -> Bitmap64 {
        let mut made = Bitmap64::of(keys);
        made.run_optimize();
        made
    }
    fn union(&self, other: &Bitmap64) -> Bitmap64 {
        self.or(other)
    }
    fn intersection(&self, other: &Bitmap64) -> Bitmap64 {
        self.and(other)
    }
    fn difference(&self, other: &Bitmap64) -> Bitmap64 {
        self.andnot(other)
    }
    fn symmetric_difference(&self, other: &Bitmap64) -> Bitmap64 {
        self.xor(other)
    }
    fn holds(&self, key: u64) -> bool {
        self.contains(key)
    }
    fn rank_of(&self, key: u64) -> u64 {
        self.rank(key)
    }
    fn key_of(&self, pos: u64) -> u64 {
        self.select(pos).unwrap_or(0)
    }
    fn sum(&self) -> u64 {
        self.iter().fold(0, u64::wrapping_add)
    }
    fn slice(&self, from_pos: u64, len: u64) -> Bitmap64 {
        let (first, last) = (self.select(from_pos).unwrap_or(0), self.select(from_pos + len - 1).unwrap_or(0));
        let mut cut = self.clone();
        cut.remove_range(..first);
        cut.remove_range(last + 1..);
        cut
    }
    type Ready = ();
    fn ready(&self, _delta: u64) {}
    fn shifted(&self, delta: u64, (): &()) -> Bitmap64 {
        let half = self.select(self.cardinality() / 2).unwrap_or(0);
        let mut low = self.clone();
        low.remove_range(half..);
        let mut made = self.andnot(&low).add_offset(i128::from(delta));
        made.or_inplace(&low);
        made.run_optimize();
        made
    }
    fn with(&self, keys: &[u64]) -> Bitmap64 {
        let mut edited = self.clone();
        edited.add_many(keys);
        edited
    }
    fn without(&self, keys: &[u64]) -> Bitmap64 {
        let mut edited = self.clone();
        edited.remove_many(keys);
        edited
    }
    fn bytes_out(&self) -> Vec<u8> {
        self.serialize::<Portable>()
    }
    fn memory(&self) -> usize {
        self.get_serialized_size_in_bytes::<Portable>()
    }
}

impl Peer for Vec<u64> {
    fn build(keys: &[u64]) -> Vec<u64> {
        keys.to_vec()
    }
    fn union(&self, other: &Vec<u64>) -> Vec<u64> {
        merged(self, other, |_, _| true)
    }
    fn intersection(&self, other: &Vec<u64>) -> Vec<u64> {
        merged(self, other, |l, r| l & r)
    }
    fn difference(&self, other: &Vec<u64>) -> Vec<u64> {
        merged(self, other, |l, r| l & !r)
    }
    fn symmetric_difference(&self, other: &Vec<u64>) -> Vec<u64> {
        merged(self, other, |l, r| l ^ r)
    }
    fn holds(&self, key: u64) -> bool {
        self.binary_search(&key).is_ok()
    }
    fn rank_of(&self, key: u64) -> u64 {
        self.partition_point(|&own| own < key) as u64
    }
    fn key_of(&self, pos: u64) -> u64 {
        self[pos as usize]
    }
    fn sum(&self) -> u64 {
        self.iter().copied().fold(0, u64::wrapping_add)
    }
    fn slice(&self, from_pos: u64, len: u64) -> Vec<u64> {
        self[from_pos as usize..(from_pos + len) as usize].to_vec()
    }
    type Ready = ();
    fn ready(&self, _delta: u64) {}
    fn shifted(&self, delta: u64, (): &()) -> Vec<u64> {
        let (low, high) = self.split_at(self.len() / 2);
        low.iter().copied().chain(high.iter().map(|key| key + delta)).collect()
    }
    fn with(&self, keys: &[u64]) -> Vec<u64> {
        let mut keys = keys.to_vec();
        keys.sort_unstable();
        keys.dedup();
        self.union(&keys)
    }
    fn without(&self, keys: &[u64]) -> Vec<u64> {
        let mut keys = keys.to_vec();
        keys.sort_unstable();
        keys.dedup();
        self.difference(&keys)
    }
    fn bytes_out(&self) -> Vec<u8> {
        self.iter().flat_map(|key| key.to_le_bytes()).collect()
    }
    fn memory(&self) -> usize {
        8 * self.capacity()
    }
}

/// One merge of two sorted arrays.
fn merged(left: &[u64], right: &[u64], keep: fn(bool, bool) -> bool) -> Vec<u64> {
    let mut out = Vec::with_capacity(left.len() + right.len());
    let (mut at, mut other) = (0, 0);
    while at < left.len() || other < right.len() {
        let (l, r) = (left.get(at).copied().unwrap_or(u64::MAX), right.get(other).copied().unwrap_or(u64::MAX));
        let key = l.min(r);
        if keep(l == key, r == key) {
            out.push(key);
        }
        at += usize::from(l == key);
        other += usize::from(r == key);
    }
    out
}
