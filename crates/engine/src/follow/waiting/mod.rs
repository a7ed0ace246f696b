//! What the followers of a graph's tables have not heard yet, each in his own time.
//!
//! Changes wait in the order of their steps. A change of a table waits once, for all who have yet to hear it, and owns
//! its rows once, in the columns that any of them asked for. Where too many changes of a table wait, or too many bytes,
//! neighbours become one equivalent change ([`Delivered::merge`]): two changes of a table, one behind the other, that
//! the same followers have yet to hear.
//!
//! ```text
//!   changes of t   1 2 3 4 5 6      late: a, from the first; b, who came after 3
//!   heard by       a a a ab ab ab   one may become of 2 3, and of 4 5 6; the oldest is with its reader at any moment
//! ```
//!
//! However many followers there are and however late: a table's changes are no more than the bound, one for each follower who
//! came meanwhile, and two. Of all neighbours those with the fewest bytes are merged, as many pairs as changes came in:
//! so a row is copied once for each time that what it lies in doubles, and changes that touch the same rows take no
//! more room than these.

mod line;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Weak};

use crate::error::Failure;
use crate::follow::listener::Delivered;

use line::{Line, Place};

/// Somebody who hears of a table.
pub trait Follows: Send + Sync {
    /// The columns whose rows he wants; all without.
    fn columns(&self) -> Option<&[usize]>;
}

/// What is heard.
#[derive(Clone)]
pub enum Word {
    /// The table changed.
    Update(Arc<Delivered>),
    /// The table failed.
    Failure(Arc<Failure>),
}

/// A [`Waiting`] behind its lock.
pub trait Shared<F: Follows> {
    /// Runs under the lock.
    fn with<R>(&self, run: impl FnOnce(&mut Waiting<F>) -> R) -> R;

    /// As a step opens: changes of the step before that somebody still has own their rows from now on, and where too
    /// much waits neighbours are merged. Cells are copied without the lock.
    fn own_rows(&self) {
        for fresh in self.with(Waiting::open) {
            if let Some(bytes) = fresh.own() {
                self.with(|waiting| waiting.owns(&fresh, bytes));
            }
        }
        while let Some(pair) = self.with(Waiting::pair) {
            // What cannot be merged stays as it is.
            if let Ok(Some(merged)) = pair.first.merge(&pair.next) {
                drop(self.with(|waiting| waiting.merge(&pair, merged)));
            }
        }
    }
}

/// What waits for the followers of one graph. The lock around it is the caller's: nothing here takes long, and what it
/// gives back is dropped outside.
pub struct Waiting<F> {
    entries: BTreeMap<u64, Entry<F>>,
    /// The first number of each entry: an entry made of several stands for all of them.
    firsts: BTreeSet<u64>,
    /// Changes that may be merged, by table.
    lines: HashMap<usize, Line>,
    /// Changes that came since the last step opened.
    fresh: Vec<Fresh>,
    /// Steps that opened.
    opened: u64,
    /// Tables of which changes came, and how many pairs of each may be merged for it.
    due: Vec<(usize, usize)>,
    /// The number of what came last.
    last: u64,
    /// The first number of what is being listened to.
    heard_now: Option<u64>,
    bytes: u64,
    merged: u64,
}

struct Entry<F> {
    word: Word,
    to: VecDeque<Arc<F>>,
    /// The first number it stands for.
    first: u64,
    /// The table whose line it stands in.
    table: Option<usize>,
    /// Where among the fresh ones of which opening its columns are noted.
    fresh: Option<(u64, usize)>,
}

/// A change that came since the last step opened, and the columns that its followers want.
struct Fresh {
    at: u64,
    delivered: Weak<Delivered>,
    columns: Option<Vec<usize>>,
}

/// Two neighbours that may become one.
struct Pair {
    table: usize,
    older: u64,
    newer: u64,
    first: Arc<Delivered>,
    next: Arc<Delivered>,
}

/// What has left. It may be the last to hold a table, so it is dropped without a lock.
#[must_use = "drop it where no lock is held"]
pub struct Gone {
    _words: Vec<Word>,
}

impl<F> Default for Waiting<F> {
    fn default() -> Waiting<F> {
        Waiting {
            entries: BTreeMap::new(),
            firsts: BTreeSet::new(),
            lines: HashMap::new(),
            fresh: Vec::new(),
            opened: 0,
            due: Vec::new(),
            last: 0,
            heard_now: None,
            bytes: 0,
            merged: 0,
        }
    }
}

impl Fresh {
    /// Lets the change own its rows; its bytes, unless nobody has it any more.
    fn own(&self) -> Option<u64> {
        let delivered = self.delivered.upgrade()?;
        delivered.detach(self.columns.as_deref());
        Some(delivered.bytes())
    }

    fn also(&mut self, columns: Option<&[usize]>) {
        match (&mut self.columns, columns) {
            (Some(own), Some(more)) => own.extend(more),
            (own, _) => *own = None,
        }
    }
}

impl<F: Follows> Waiting<F> {
    /// A table changed. Followers of one table share the change of a step.
    pub fn change(&mut self, table: usize, to: Arc<F>, delivered: Arc<Delivered>) {
        if self.joined(table, &to, &delivered) {
            return;
        }
        let (at, mark) = (self.last + 1, mark(&to));
        let columns = to.columns().map(<[usize]>::to_vec);
        self.fresh.push(Fresh { at, delivered: Arc::downgrade(&delivered), columns });
        let fresh = Some((self.opened, self.fresh.len() - 1));
        let line = self.lines.entry(table).or_default();
        line.push(Place { at, audience: mark, bytes: 0, owned: false });
        self.enter(Entry {
            word: Word::Update(delivered),
            to: VecDeque::from([to]),
            first: at,
            table: Some(table),
            fresh,
        });
    }

    /// Everything that is there, for one who has just come: its rows stay pinned, and it is merged with nothing.
    pub fn initial(&mut self, to: Arc<F>, delivered: Arc<Delivered>) {
        let (word, first) = (Word::Update(delivered), self.last + 1);
        self.enter(Entry { word, to: VecDeque::from([to]), first, table: None, fresh: None });
    }

    /// A table failed.
    pub fn failure(&mut self, to: Arc<F>, failure: Arc<Failure>) {
        let (word, first) = (Word::Failure(failure), self.last + 1);
        self.enter(Entry { word, to: VecDeque::from([to]), first, table: None, fresh: None });
    }

    fn enter(&mut self, entry: Entry<F>) {
        self.last += 1;
        self.firsts.insert(self.last);
        self.entries.insert(self.last, entry);
    }

    /// Whether the change waits already, for another follower of the table.
    fn joined(&mut self, table: usize, to: &Arc<F>, delivered: &Arc<Delivered>) -> bool {
        let Some(place) = self.lines.get_mut(&table).and_then(Line::newest) else { return false };
        let Some(entry) = self.entries.get_mut(&place.at) else { return false };
        let Some(fresh) = entry.fresh.filter(|(opened, _)| *opened == self.opened) else { return false };
        if !matches!(&entry.word, Word::Update(own) if std::ptr::eq(own.update(), delivered.update())) {
            return false;
        }
        if let Some(fresh) = self.fresh.get_mut(fresh.1) {
            fresh.also(to.columns());
        }
        place.audience = place.audience.wrapping_add(mark(to));
        entry.to.push_back(to.clone());
        true
    }

    /// The next thing to hear, and who hears it. It counts as heard with [`Waiting::heard`].
    pub fn take(&mut self) -> Option<(Arc<F>, Word)> {
        let mut first = self.entries.first_entry()?;
        let entry = first.get_mut();
        let to = entry.to.pop_front().expect("an entry waits for somebody");
        self.heard_now = Some(entry.first);
        if let Some(place) = entry.table.and_then(|table| self.lines.get_mut(&table)).and_then(Line::oldest) {
            place.audience = place.audience.wrapping_sub(mark(&to));
        }
        let word = entry.word.clone();
        if entry.to.is_empty() {
            let at = *first.key();
            // The word has a second holder, so nothing is dropped here.
            drop(self.leave(at));
        }
        Some((to, word))
    }

    /// What was taken last has been listened to.
    pub fn heard(&mut self) {
        self.heard_now = None;
    }

    /// The number of what came last.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Whether everything up to a number has been listened to.
    pub fn is_heard(&self, number: u64) -> bool {
        let waits = self.firsts.first().into_iter().chain(&self.heard_now).any(|first| *first <= number);
        !waits
    }

    /// Nothing waits.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Somebody hears nothing more.
    pub fn forget(&mut self, follower: &Arc<F>) -> Gone {
        let mark = mark(follower);
        let mut empty = Vec::new();
        for (at, entry) in &mut self.entries {
            let before = entry.to.len();
            entry.to.retain(|to| !Arc::ptr_eq(to, follower));
            let gone = (before - entry.to.len()) as u64;
            let line = entry.table.filter(|_| gone > 0).and_then(|table| self.lines.get_mut(&table));
            if let Some(place) = line.and_then(|line| line.place(*at)) {
                place.audience = place.audience.wrapping_sub(mark.wrapping_mul(gone));
            }
            if entry.to.is_empty() {
                empty.push(*at);
            }
        }
        Gone { _words: empty.into_iter().filter_map(|at| self.leave(at)).collect() }
    }

    /// Everything, when nobody will hear it.
    pub fn clear(&mut self) -> Gone {
        let words = std::mem::take(&mut self.entries).into_values().map(|entry| entry.word).collect();
        self.firsts.clear();
        self.lines.clear();
        self.fresh.clear();
        (self.bytes, self.heard_now) = (0, None);
        Gone { _words: words }
    }

    fn leave(&mut self, at: u64) -> Option<Word> {
        let entry = self.entries.remove(&at)?;
        self.firsts.remove(&entry.first);
        if let Some(table) = entry.table
            && let Some(line) = self.lines.get_mut(&table)
        {
            self.bytes -= line.remove(at);
            if line.is_empty() {
                self.lines.remove(&table);
            }
        }
        Some(entry.word)
    }

    /// A step opens: what came since the last one is to own its rows, and then as
    /// many neighbours may be merged as came in, and again as many.
    fn open(&mut self) -> Vec<Fresh> {
        self.opened += 1;
        self.due.clear();
        for (table, line) in &mut self.lines {
            let came = line.came();
            if came > 0 {
                self.due.push((*table, 2 * came));
            }
        }
        std::mem::take(&mut self.fresh)
    }

    /// A change owns its rows from now on, in so many bytes.
    fn owns(&mut self, fresh: &Fresh, bytes: u64) {
        let table = self.entries.get(&fresh.at).and_then(|entry| entry.table);
        if let Some(place) = table.and_then(|table| self.lines.get_mut(&table)).and_then(|line| line.place(fresh.at)) {
            (place.bytes, place.owned) = (bytes, true);
            self.bytes += bytes;
        }
    }

    /// Two neighbours to merge, if too much waits.
    fn pair(&mut self) -> Option<Pair> {
        while let Some((table, budget)) = self.due.last_mut() {
            let heavy = self.bytes > crate::sizes::WAITING_BYTES.get() as u64;
            let chosen = self.lines.get(table).filter(|_| *budget > 0).and_then(|line| line.neighbours(heavy));
            if let Some((older, newer)) = chosen
                && let Some(Word::Update(first)) = self.entries.get(&older).map(|entry| &entry.word)
                && let Some(Word::Update(next)) = self.entries.get(&newer).map(|entry| &entry.word)
            {
                *budget -= 1;
                return Some(Pair { table: *table, older, newer, first: first.clone(), next: next.clone() });
            }
            self.due.pop();
        }
        None
    }

    /// Puts the merged change where the newer one was, unless one of the two was taken or changed meanwhile.
    fn merge(&mut self, pair: &Pair, merged: Delivered) -> Gone {
        let bytes = merged.bytes();
        let mut word = Word::Update(Arc::new(merged));
        let same = self.same_audience(pair);
        let Some(line) = self.lines.get_mut(&pair.table).filter(|_| same) else {
            return Gone { _words: vec![word] };
        };
        let first = self.entries[&pair.older].first;
        let (gone, place) = (line.remove(pair.older), line.place(pair.newer).expect("it stands in its line"));
        self.bytes = self.bytes - gone - place.bytes + bytes;
        place.bytes = bytes;
        let newer = self.entries.get_mut(&pair.newer).expect("it waits");
        std::mem::swap(&mut newer.word, &mut word);
        self.firsts.remove(&newer.first);
        newer.first = first;
        let older = self.entries.remove(&pair.older).map(|entry| entry.word);
        self.merged += 1;
        Gone { _words: older.into_iter().chain([word]).collect() }
    }

    /// Whether both still wait, for the same followers, as they were when they were chosen.
    fn same_audience(&self, pair: &Pair) -> bool {
        let (Some(older), Some(newer)) = (self.entries.get(&pair.older), self.entries.get(&pair.newer)) else {
            return false;
        };
        let is =
            |word: &Word, delivered: &Arc<Delivered>| matches!(word, Word::Update(own) if Arc::ptr_eq(own, delivered));
        let sorted = |entry: &Entry<F>| {
            let mut to: Vec<*const F> = entry.to.iter().map(Arc::as_ptr).collect();
            to.sort_unstable();
            to
        };
        is(&older.word, &pair.first) && is(&newer.word, &pair.next) && sorted(older) == sorted(newer)
    }

    /// Bytes of the rows that waiting changes own.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Neighbours that were merged, ever.
    pub fn merged(&self) -> u64 {
        self.merged
    }

    /// How many changes of a table wait.
    #[cfg(test)]
    pub fn changes_of(&self, table: usize) -> usize {
        self.lines.get(&table).map_or(0, Line::len)
    }
}

/// What a follower adds to the mark of those who hear the same.
fn mark<F>(follower: &Arc<F>) -> u64 {
    let mixed = (Arc::as_ptr(follower).cast::<u8>() as usize as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 29)
}
