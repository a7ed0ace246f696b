//! The output keys of pages: how the pages of an order are laid out in the key space.

use rowset::MAX_KEY;

use super::Order;
use super::entry::Key;
use crate::sizes::SORT_PAGE;

/// Slots of a page, and how far pages lie apart at first.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Output keys a page.
    pub page: usize,
    /// Pages of the key space from one page to the next, inside a cluster.
    pub stride: u64,
    /// Pages of the key space.
    pub pages: u64,
}

impl Default for Room {
    fn default() -> Room {
        let page = SORT_PAGE.get();
        Room { page, stride: 2, pages: (MAX_KEY + 1) / page as u64 }
    }
}

/// On which side new pages leave their room.
#[derive(Clone, Copy)]
pub(super) enum Align {
    Low,
    Middle,
    High,
}

/// Pages that lie close together, so that blocks of row sets and of columns are not nearly empty.
const CLUSTER: u64 = 4;
/// Pages of the key space from one cluster to the next, at most: where pages are halved again and again,
/// they spread into the room behind their cluster, and the others stay.
const PITCH: u64 = 512;

/// Where a page lies among `all` that share `width` pages of the key space.
fn place(page: u64, all: u64, width: u64, stride: u64) -> u64 {
    let pitch = (width / all.div_ceil(CLUSTER)).min(PITCH);
    if pitch < CLUSTER {
        return page * (width / all);
    }
    page / CLUSTER * pitch + page % CLUSTER * stride.min(pitch / CLUSTER)
}

impl<K: Key> Order<K> {
    /// Numbers for `count` new pages before page `at`, renumbering its neighbours where they lie too close.
    pub(super) fn numbers(&mut self, at: usize, count: usize) -> Vec<u64> {
        let Room { stride, pages: limit, .. } = self.room;
        let wanted = count as u64;
        let below = at.checked_sub(1).map(|page| self.pages[page].number);
        let above = self.pages.get(at).map(|page| page.number);
        let apart = |first: u64, step: u64| (0..wanted).map(|page| first + page * step).collect();
        match (below, above) {
            (None, None) => {
                let place = |page| place(page, wanted, limit, stride);
                let first = (limit - place(wanted - 1)) / 2;
                return (0..wanted).map(|page| first + place(page)).collect();
            }
            (Some(below), None) if below + wanted * stride < limit => return apart(below + stride, stride),
            (None, Some(above)) if wanted * stride <= above => return apart(above - wanted * stride, stride),
            (Some(below), Some(above)) if above - below > wanted => {
                let step = ((above - below) / (wanted + 1)).min(stride);
                return apart(below + step, step);
            }
            _ => {}
        }
        self.renumber_around(at, count)
    }

    /// Spreads the pages around `at`, with places for `count` more among them.
    fn renumber_around(&mut self, at: usize, count: usize) -> Vec<u64> {
        let (mut from, mut to) = (at, at);
        if self.pages.len() - at <= 4 {
            to = self.pages.len(); // the end is open: nothing below has to move
        } else if at <= 4 {
            from = 0;
        }
        loop {
            let all = (to - from + count) as u64;
            // An open end may go as far as the key space does.
            let grow = all * (PITCH / CLUSTER);
            let low = match from.checked_sub(1) {
                Some(page) => self.pages[page].number + 1,
                None => self.pages.first().map_or(0, |page| page.number.saturating_sub(grow)),
            };
            let high = match self.pages.get(to) {
                Some(page) => page.number,
                None => self.pages.last().map_or(0, |page| (page.number + 1 + grow).min(self.room.pages)),
            };
            let whole = from == 0 && to == self.pages.len();
            if high - low >= 2 * all || whole {
                let (low, high) = if high - low < all { (0, self.room.pages) } else { (low, high) };
                assert!(high - low >= all, "there are fewer pages than the key space holds");
                let number = |page: usize| low + place(page as u64, all, high - low, self.room.stride);
                for page in from..to {
                    let place = if page < at { page - from } else { page - from + count };
                    self.pages[page].renumber(number(place));
                }
                return (0..count).map(|page| number(at - from + page)).collect();
            }
            let width = (to - from).max(1);
            from = from.saturating_sub(width);
            to = (to + width).min(self.pages.len());
        }
    }
}
