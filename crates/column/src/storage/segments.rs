//! Strings gathered out of blocks: each long view is pointed at a buffer of its new array.

use std::sync::Arc;

use arrow_buffer::Buffer;

use crate::kernels::cells::{Gathered, Shape};
use crate::sizes::{COPY_BYTES, SHARE_STRINGS};
use crate::storage::block::Block;
use crate::types::views::{is_long, place, placed};

/// The number of no buffer.
const NOT_SHARED: u32 = u32::MAX;

/// From which block each stretch of gathered views came.
pub(crate) struct Segments<'a> {
    wanted: bool,
    /// Number of the block at place 0, where blocks have places.
    pub first_number: u64,
    places: usize,
    list: Vec<Segment<'a>>,
}

struct Segment<'a> {
    block: &'a Arc<Block>,
    place: usize,
    at: usize,
    len: usize,
}

impl<'a> Segments<'a> {
    /// Blocks that may come back have a place each, below `places`; others come once.
    pub(crate) fn new(shape: &Shape, (first_number, places): (u64, usize)) -> Segments<'a> {
        Segments { wanted: shape.has_views(), first_number, places, list: Vec::new() }
    }

    /// Notes that `len` cells from `at` on came from this block.
    #[inline(always)]
    pub(crate) fn note(&mut self, block: &'a Arc<Block>, place: usize, at: usize, len: usize) {
        if !self.wanted || block.texts().is_empty() {
            return;
        }
        match self.list.last_mut() {
            Some(last) if Arc::ptr_eq(last.block, block) && last.at + last.len == at => last.len += len,
            _ => self.list.push(Segment { block, place, at, len }),
        }
    }

    /// Points every long view at a buffer of the gathered array.
    pub(crate) fn settle(self, gathered: &mut Gathered) {
        if self.list.is_empty() {
            return;
        }
        let views = gathered.values.typed_data_mut::<u128>();
        let longs = self.longs(views);
        let mut sink = Sink { texts: &mut gathered.texts, copied: Vec::new(), shared: vec![NOT_SHARED; self.places] };
        for segment in &self.list {
            let views = &mut views[segment.at..segment.at + segment.len];
            let long = match longs.get(segment.place) {
                Some(&long) => long,
                None => views.iter().filter(|view| is_long(**view)).count(),
            };
            if long >= SHARE_STRINGS.get() {
                let base = sink.share(segment);
                let old = segment.block.texts().base();
                for view in views.iter_mut().filter(|view| is_long(**view)) {
                    let (buffer, offset) = place(*view);
                    *view = placed(*view, buffer - old + base, offset);
                }
            } else if long > 0 {
                for view in views.iter_mut().filter(|view| is_long(**view)) {
                    *view = sink.copy(*view, segment.block.texts().bytes(*view));
                }
            }
        }
        sink.close();
    }

    /// How many long views each place gave in all.
    fn longs(&self, views: &[u128]) -> Vec<usize> {
        let mut longs = vec![0; self.places];
        for segment in self.list.iter().filter(|segment| segment.place < self.places) {
            let views = &views[segment.at..segment.at + segment.len];
            longs[segment.place] += views.iter().filter(|view| is_long(**view)).count();
        }
        longs
    }
}

/// The buffers of the gathered array.
struct Sink<'a> {
    texts: &'a mut Vec<Buffer>,
    /// Bytes of the buffer that is being filled.
    copied: Vec<u8>,
    /// Number of the first buffer shared with the block of each place.
    shared: Vec<u32>,
}

impl Sink<'_> {
    fn share(&mut self, segment: &Segment) -> u32 {
        if let Some(&base) = self.shared.get(segment.place)
            && base != NOT_SHARED
        {
            return base;
        }
        self.close();
        let base = self.texts.len() as u32;
        self.texts.extend(segment.block.texts().buffers());
        if let Some(shared) = self.shared.get_mut(segment.place) {
            *shared = base;
        }
        base
    }

    fn copy(&mut self, view: u128, bytes: &[u8]) -> u128 {
        if !self.copied.is_empty() && self.copied.len() + bytes.len() > COPY_BYTES.get() {
            self.close();
        }
        let view = placed(view, self.texts.len() as u32, self.copied.len() as u32);
        self.copied.extend_from_slice(bytes);
        view
    }

    fn close(&mut self) {
        if !self.copied.is_empty() {
            self.texts.push(Buffer::from_vec(std::mem::take(&mut self.copied)));
        }
    }
}
