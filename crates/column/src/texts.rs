//! The bytes behind a block's string views: at most four buffers, each with its live bytes counted.
//!
//! A block owns its bytes: what is stored is copied in, so one live string never pins the batch it came
//! with, and what is overwritten is squeezed out as soon as more than half is dead.

use std::sync::Arc;

use arrow_buffer::Buffer;

use crate::cells::{is_long, length, place, placed};
use crate::slab::Text;
use crate::{Error, StorageCounters};

/// Buffers a block may have.
pub(crate) const MOST_TEXTS: usize = 4;
/// Below this many bytes, dead ones are not worth a copy.
const SMALL: usize = 1024;
/// A buffer made for more to come is no larger than this beyond what is needed.
const MOST_ROOM: usize = 64 * 1024;

#[derive(Clone)]
struct Slot {
    text: Arc<Text>,
    used: usize,
    live: usize,
}

/// The text buffers of one block.
#[derive(Clone, Default)]
pub(crate) struct Texts {
    /// Index of the first buffer in the block's views: blocks of one slab have disjoint ones, so that
    /// neighbours can leave as one array.
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

    /// Notes that a view of this block is gone.
    pub(crate) fn forget(&mut self, view: u128) {
        if is_long(view) {
            let slot = (place(view).0 - self.base) as usize;
            self.slots[slot].live -= length(view);
        }
    }

    /// Counts the live bytes again from the views that are left.
    pub(crate) fn recount(&mut self, views: &[u128]) {
        self.slots.iter_mut().for_each(|slot| slot.live = 0);
        for &view in views.iter().filter(|view| is_long(**view)) {
            self.slots[(place(view).0 - self.base) as usize].live += length(view);
        }
    }

    /// Makes room for `more` bytes in the last buffer; `views` are all views of the block.
    pub(crate) fn reserve(
        &mut self,
        more: usize,
        views: &mut [u128],
        counters: &Arc<StorageCounters>,
    ) -> Result<(), Error> {
        if more == 0 || self.slots.last().is_some_and(|slot| slot.text.capacity() - slot.used >= more) {
            return Ok(());
        }
        if self.slots.len() == MOST_TEXTS {
            return self.compact(more, views, counters);
        }
        let used: usize = self.slots.iter().map(|slot| slot.used).sum();
        self.push_slot(more.max((used / 2).min(MOST_ROOM)), counters)
    }

    /// Stores the bytes of a long view and gives the view over them. Room must have been reserved.
    pub(crate) fn store(&mut self, view: u128, bytes: &[u8], counters: &Arc<StorageCounters>) -> Result<u128, Error> {
        let last = self.slots.len().wrapping_sub(1);
        if let Some(slot) = self.slots.get_mut(last)
            && slot.text.append(slot.used, bytes)
        {
            let offset = slot.used as u32;
            slot.used += bytes.len();
            slot.live += bytes.len();
            return Ok(placed(view, self.base + last as u32, offset));
        }
        // Only a copy of this block can have taken the room: begin a buffer of our own.
        self.push_slot(bytes.len(), counters)?;
        self.store(view, bytes, counters)
    }

    /// Squeezes dead bytes out when they outweigh the live ones.
    pub(crate) fn tidy(&mut self, views: &mut [u128], counters: &Arc<StorageCounters>) -> Result<(), Error> {
        let used: usize = self.slots.iter().map(|slot| slot.used).sum();
        let live: usize = self.slots.iter().map(|slot| slot.live).sum();
        if live == 0 {
            self.slots.clear();
        } else if used > SMALL && live * 2 < used || self.slots.len() > MOST_TEXTS {
            return self.compact(0, views, counters);
        }
        Ok(())
    }

    /// Copies the live bytes into one new buffer with room for `more`.
    fn compact(&mut self, more: usize, views: &mut [u128], counters: &Arc<StorageCounters>) -> Result<(), Error> {
        let live: usize = self.slots.iter().map(|slot| slot.live).sum();
        let room = if more == 0 { 0 } else { more.max((live / 2).min(MOST_ROOM)) };
        let old = Texts { base: self.base, slots: std::mem::take(&mut self.slots) };
        if live + room == 0 {
            return Ok(());
        }
        self.push_slot(live + room, counters)?;
        for view in views.iter_mut().filter(|view| is_long(**view)) {
            *view = self.store(*view, old.bytes(*view), counters)?;
        }
        Ok(())
    }

    fn push_slot(&mut self, capacity: usize, counters: &Arc<StorageCounters>) -> Result<(), Error> {
        if i32::try_from(capacity).is_err() {
            return Err(Error::TooLong { bytes: capacity });
        }
        self.slots.push(Slot { text: Text::with_room(capacity, counters), used: 0, live: 0 });
        Ok(())
    }
}
