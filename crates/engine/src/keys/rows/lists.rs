//! Lists of a few rows, each size in a pool of its own.

use super::Head;

/// Lists hold 8, 16 … 1,024 rows.
pub(super) const SIZES: usize = 8;
const SMALLEST: usize = 8;

/// Lists of one size.
#[derive(Default)]
pub(super) struct Lists {
    pub(super) cells: Vec<u64>,
    pub(super) unused: Vec<u32>,
}

impl Lists {
    #[inline]
    pub(super) fn take(&mut self, size: usize) -> u32 {
        self.unused.pop().unwrap_or_else(|| {
            let place = self.cells.len() / capacity(size);
            self.cells.resize(self.cells.len() + capacity(size), 0);
            place as u32
        })
    }

    #[inline]
    pub(super) fn list(&self, size: usize, head: &Head) -> &[u64] {
        &self.cells[head.place as usize * capacity(size)..][..head.len as usize]
    }

    /// The whole of a list, with the room behind its rows.
    #[inline]
    pub(super) fn room(&mut self, size: usize, place: u32) -> &mut [u64] {
        &mut self.cells[place as usize * capacity(size)..][..capacity(size)]
    }
}

#[inline]
pub(super) fn capacity(size: usize) -> usize {
    SMALLEST << size
}
