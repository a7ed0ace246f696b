//! Pages that lose entries: what stands for them, and which become one.

use super::Order;
use super::entry::Key;
use super::page::Page;

impl<K: Key> Order<K> {
    /// What stands for a page is its first entry; for an empty page, which is only passed by, that of
    /// the page before it.
    pub(super) fn refresh_firsts(&mut self, which: impl Fn(&Page<K>) -> bool) {
        let mut empty = Vec::new();
        for (at, page) in self.pages.iter_mut().enumerate().filter(|(_, page)| which(page)) {
            page.headless = false;
            match page.next_taken(0) {
                Some(slot) => self.firsts[at] = page.entry(slot),
                None => empty.push(at),
            }
        }
        for at in empty {
            match at.checked_sub(1) {
                Some(before) => self.firsts[at] = self.firsts[before].clone(),
                None => {
                    if let Some(filled) = self.pages.iter().position(|page| page.len > 0) {
                        self.firsts[at] = self.firsts[filled].clone();
                    }
                }
            }
        }
    }

    pub(super) fn drop_empty(&mut self) {
        if self.pages.iter().any(|page| page.len == 0) {
            let mut keep = self.pages.iter().map(|page| page.len > 0);
            self.firsts.retain(|_| keep.next().is_some_and(|keep| keep));
            self.pages.retain(|page| page.len > 0);
        }
    }

    /// Joins pages that removals left nearly empty with a neighbour.
    pub(super) fn join_sparse(&mut self) {
        let (sparse, most) = (self.room.page / 8, self.room.page / 8 * 3);
        let mut page = 0;
        while page < self.pages.len() {
            let len = self.pages[page].len;
            if std::mem::take(&mut self.pages[page].shrunk) && len < sparse && self.pages.len() > 1 {
                let lower = page.checked_sub(1).filter(|&lower| self.pages[lower].len + len <= most);
                let upper = Some(page + 1).filter(|&upper| self.pages.get(upper).is_some_and(|p| p.len + len <= most));
                if let Some(low) = lower.or(upper.map(|_| page)) {
                    self.join(low);
                    page = low;
                    // What was joined may still be sparse.
                    self.pages[page].shrunk = self.pages[page].len < sparse && page + 1 < self.pages.len();
                    continue;
                }
            }
            page += 1;
        }
    }

    /// Makes one page of `low` and the one after it: the fuller one stays where it is.
    fn join(&mut self, low: usize) {
        let upper = self.pages.remove(low + 1);
        self.firsts.remove(low + 1);
        if self.pages[low].len >= upper.len {
            self.pages[low].join(&upper, false);
        } else {
            let lower = std::mem::replace(&mut self.pages[low], upper);
            self.pages[low].join(&lower, true);
        }
    }
}
