//! The text buffers behind a block's string views, each with a count of its live bytes. There are at most four, or as
//! many as the bytes need; so the texts of any block fit, if each text fits a buffer.  A block owns its bytes: texts
//! are copied in, so that a live string never pins the batch it came with. The buffers are compacted once more than
//! half of their bytes are dead.  A write is planned before anything changes. If the plan cannot be made, nothing has
//! changed; a plan that was made is carried out without a step that can fail. So no view ever lacks its bytes.

use std::ops::Range;
use std::sync::Arc;

use arrow_buffer::Buffer;

use crate::error::Error;
use crate::sizes::BLOCK;
use crate::sizes::{MOST_ROOM, SMALL_TEXTS, TEXT_BUFFER};
use crate::storage::counters::StorageCounters;
use crate::storage::failpoints::{Point, strike};
use crate::storage::slab::Text;
use crate::types::views::{is_long, length, place, placed};

/// Buffers that a block may have however little they hold, and numbers of buffers that it has for itself among the
/// blocks of its slab. One with more buffers than numbers leaves by itself.
pub(crate) const MOST_TEXTS: usize = 4;
/// Buffers a block may have: one for each of its cells.
const MOST_BUFFERS: usize = BLOCK;

/// The plan of a write: the buffers for the new bytes.
pub(crate) struct Plan {
    /// Whether the live bytes move into new buffers first.
    compact: bool,
    /// Sizes of the buffers to be made, in the order in which they are filled.
    buffers: Vec<usize>,
}

/// The new buffers of a plan that is being carried out.
pub(crate) struct Filling<'a> {
    texts: &'a mut Texts,
    buffers: std::vec::IntoIter<usize>,
    counters: &'a Arc<StorageCounters>,
}

#[derive(Clone)]
struct Slot {
    text: Arc<Text>,
    used: usize,
    live: usize,
}

/// The text buffers of one block.
#[derive(Clone, Default)]
pub(crate) struct Texts {
    /// Index of the first buffer in the block's views: blocks of one slab have disjoint ones, as long as they
    /// have no more than [`MOST_TEXTS`], so that neighbours can leave as one array.
    base: u32,
    slots: Vec<Slot>,
}

impl Texts {
    pub(crate) fn base(&self) -> u32 {
        self.base
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Moves to another base; every view of the block goes with it.
    pub(crate) fn rebase(&mut self, base: u32, views: &mut [u128]) {
        let old = std::mem::replace(&mut self.base, base);
        if old == base {
            return;
        }
        for view in views.iter_mut().filter(|view| is_long(**view)) {
            let (buffer, offset) = place(*view);
            *view = placed(*view, buffer - old + base, offset);
        }
    }

    /// The buffers as readers may see them, in the order of the views' indices from the base on.
    pub(crate) fn buffers(&self) -> impl Iterator<Item = Buffer> + '_ {
        self.slots.iter().map(|slot| slot.text.lend(slot.used))
    }

    /// The bytes of a long view.
    pub(crate) fn bytes(&self, view: u128) -> &[u8] {
        let (buffer, offset) = place(view);
        let slot = &self.slots[(buffer - self.base) as usize];
        &slot.text.bytes(slot.used)[offset as usize..][..length(view)]
    }

    /// Uncounts the bytes of the views at these places of the block, and makes the views empty.
    pub(crate) fn forget(&mut self, views: &mut [u128], places: &[Range<usize>]) {
        for range in places {
            for view in &mut views[range.clone()] {
                if is_long(*view) {
                    self.slots[(place(*view).0 - self.base) as usize].live -= length(*view);
                }
                *view = 0;
            }
        }
    }

    /// Recounts the live bytes from the remaining views.
    pub(crate) fn recount(&mut self, views: &[u128]) {
        self.slots.iter_mut().for_each(|slot| slot.live = 0);
        for &view in views.iter().filter(|view| is_long(**view)) {
            self.slots[(place(view).0 - self.base) as usize].live += length(view);
        }
    }

    /// Plans room for texts of these lengths, which take the place of the `going` ranges of the block's `views`.
    ///
    /// # Errors
    /// If one of them is longer than a buffer may be, or there is no memory for them. Nothing has changed then.
    pub(crate) fn plan(
        &self,
        views: &[u128],
        going: &[Range<usize>],
        arriving: impl Iterator<Item = usize> + Clone,
    ) -> Result<Plan, Error> {
        strike(Point::Reserve)?;
        let more: usize = arriving.clone().sum();
        if more == 0 || self.slots.last().is_some_and(|slot| slot.text.room(slot.used) >= more) {
            return Ok(Plan { compact: false, buffers: Vec::new() });
        }
        if self.may_grow() {
            let one = (more <= TEXT_BUFFER.get()).then(|| vec![more]);
            let mut buffers = one.map_or_else(|| bins(arriving.clone()), Ok)?;
            if self.slots.len() + buffers.len() <= MOST_BUFFERS {
                widen(&mut buffers, more, self.slots.iter().map(|slot| slot.used).sum());
                return Plan { compact: false, buffers }.affordable();
            }
        }
        strike(Point::Compact)?;
        let ends = going.iter().map(|range| range.start).chain([views.len()]);
        let starts = std::iter::once(0).chain(going.iter().map(|range| range.end));
        let staying = starts.zip(ends).flat_map(|(start, end)| &views[start..end]);
        let staying = staying.filter(|view| is_long(**view)).map(|view| length(*view));
        let live: usize = staying.clone().sum();
        let mut buffers = bins(staying.chain(arriving))?;
        widen(&mut buffers, more, live);
        Plan { compact: true, buffers }.affordable()
    }

    /// Whether there may be another buffer beside those that there are: beyond the first few they are to be a quarter
    /// full on average. Those that have just been filled in order are twice as full.
    fn may_grow(&self) -> bool {
        let used = || self.slots.iter().map(|slot| slot.used).sum::<usize>();
        self.slots.len() < MOST_TEXTS || used() / self.slots.len() >= TEXT_BUFFER.get() / 4
    }

    /// Begins to carry a plan out; `views` are all views of the block, those that go are zero by now.
    pub(crate) fn open<'a>(
        &'a mut self,
        plan: Plan,
        views: &mut [u128],
        counters: &'a Arc<StorageCounters>,
    ) -> Filling<'a> {
        let old = if plan.compact { std::mem::take(&mut self.slots) } else { Vec::new() };
        let base = self.base;
        let mut filling = Filling { texts: self, buffers: plan.buffers.into_iter(), counters };
        if plan.compact {
            filling.refill(&Texts { base, slots: old }, views);
        }
        filling
    }

    /// Compacts the buffers if there are more dead bytes than live ones.
    pub(crate) fn tidy(&mut self, views: &mut [u128], counters: &Arc<StorageCounters>) {
        let used: usize = self.slots.iter().map(|slot| slot.used).sum();
        let live: usize = self.slots.iter().map(|slot| slot.live).sum();
        if live == 0 {
            self.slots.clear();
        } else if used > SMALL_TEXTS.get() && live * 2 < used {
            let staying = views.iter().filter(|view| is_long(**view)).map(|view| length(*view));
            // Each lies in a buffer already: it fits one.
            if let Ok(buffers) = bins(staying) {
                self.open(Plan { compact: true, buffers }, views, counters);
            }
        }
    }
}

impl Plan {
    /// Checks that the memory budget has room for the plan.
    fn affordable(self) -> Result<Plan, Error> {
        limits::ask(self.buffers.iter().map(|bytes| *bytes as u64).sum())?;
        Ok(self)
    }
}

impl Filling<'_> {
    /// Stores the bytes of a long view and returns the view over the stored bytes.
    pub(crate) fn store(&mut self, view: u128, bytes: &[u8]) -> u128 {
        let texts = &mut *self.texts;
        loop {
            if let Some(slot) = texts.slots.last_mut()
                && slot.text.append(slot.used, bytes)
            {
                let offset = slot.used as u32;
                slot.used += bytes.len();
                slot.live += bytes.len();
                return placed(view, texts.base + texts.slots.len() as u32 - 1, offset);
            }
            let capacity = self.buffers.next().expect("every text that was planned for has room");
            texts.slots.push(Slot { text: Text::with_room(capacity, self.counters), used: 0, live: 0 });
        }
    }

    /// Copies the bytes of the views from `old`.
    fn refill(&mut self, old: &Texts, views: &mut [u128]) {
        for view in views.iter_mut().filter(|view| is_long(**view)) {
            *view = self.store(*view, old.bytes(*view));
        }
    }
}

/// Sizes of the buffers that texts of these lengths fill one after the other.
///
/// # Errors
/// [`Error::TooLong`] if one is longer than a buffer.
fn bins(lengths: impl Iterator<Item = usize>) -> Result<Vec<usize>, Error> {
    let limit = TEXT_BUFFER.get();
    let mut buffers: Vec<usize> = Vec::new();
    for length in lengths {
        if let Some(last) = buffers.last_mut().filter(|last| **last + length <= limit) {
            *last += length;
        } else if length > limit {
            return Err(Error::TooLong { bytes: length, most: limit });
        } else {
            buffers.push(length);
        }
    }
    Ok(buffers)
}

/// Makes the last buffer larger, for more to come: `more` bytes arrive beside `present` ones.
fn widen(buffers: &mut [usize], more: usize, present: usize) {
    if let Some(last) = buffers.last_mut() {
        let spare = (present / 2).min(MOST_ROOM.get()).saturating_sub(more);
        *last = (*last + spare).min(TEXT_BUFFER.get().max(*last));
    }
}
