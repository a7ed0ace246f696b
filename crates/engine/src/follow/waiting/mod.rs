//! The queue of changes that listeners have not received yet; each listener reads at its own pace.
//!
//! Changes wait in the order of their steps. A change of a table is queued once for all listeners that have yet to
//! receive it, and owns its rows once, in the columns that any of them requested. When too many changes of a table
//! wait, or too many bytes, neighbours are coalesced into one equivalent change ([`UpdateEvent::merge`]): two consecutive
//! changes of a table that the same listeners have yet to receive.
//!
//! ```text
//!   changes of t   1 2 3 4 5 6      listeners: a, from change 1; b, from change 4; neither has received anything
//!   wait for       a a a ab ab ab   2 3 may be coalesced, and 4 5 6; not 1, which its listener may be reading
//! ```
//!
//! However many listeners there are and however slow they are, a table has at most `WAITING` changes in the queue, plus
//! one for each listener that registered meanwhile, plus two. The neighbours with the fewest bytes are coalesced first,
//! as many pairs as changes came in. So a row is copied once for each doubling of the change that holds it, and changes
//! that touch the same rows take no more room than those rows.

mod line;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Weak};

use crate::error::Failure;
use crate::follow::listener::UpdateEvent;

use line::{Line, Place};

/// A listener of a table, as the queue sees it.
pub trait Follows: Send + Sync {
    /// The requested columns; none means all.
    fn columns(&self) -> Option<&[usize]>;
}

/// An event to deliver.
#[derive(Clone)]
pub enum Message {
    /// The table changed.
    Update(Arc<UpdateEvent>),
    /// The table failed.
    Failure(Arc<Failure>),
    /// The table was closed: no change comes any more.
    Ended,
    /// A step is over.
    Step(u64),
}

/// A [`Waiting`] behind a lock.
pub trait Shared<F: Follows> {
    /// Runs under the lock.
    fn with<R>(&self, run: impl FnOnce(&mut Waiting<F>) -> R) -> R;

    /// Called as a step opens: materializes the changes of the previous step that are still held, and coalesces
    /// neighbours if too much waits. Cells are copied without the lock.
    fn materialize_pending(&self) {
        for fresh in self.with(Waiting::open) {
            if let Some(bytes) = fresh.own() {
                self.with(|waiting| waiting.owns(&fresh, bytes));
            }
        }
        while let Some(pair) = self.with(Waiting::pair) {
            // A pair that cannot be coalesced stays as it is.
            if let Ok(Some(merged)) = pair.first.merge(&pair.next) {
                drop(self.with(|waiting| waiting.merge(&pair, merged)));
            }
        }
    }
}

/// The changes that wait for the followers of one graph. The caller provides the lock. Every method is short, and
/// returns what it removes, so that the caller drops it after unlocking.
pub struct Waiting<F> {
    entries: BTreeMap<u64, Entry<F>>,
    /// The first number of each entry. A coalesced entry covers the numbers of all changes that it was made of.
    firsts: BTreeSet<u64>,
    /// Changes that may be coalesced, by table.
    lines: HashMap<usize, Line>,
    /// Changes that came since the last step opened.
    fresh: Vec<Fresh>,
    /// Steps that opened.
    opened: u64,
    /// Tables with new changes, each with the number of pairs that may be coalesced in return.
    due: Vec<(usize, usize)>,
    /// The number of the newest entry.
    last: u64,
    /// The first number of the delivery that is being made.
    heard_now: Option<u64>,
    bytes: u64,
    merged: u64,
}

struct Entry<F> {
    word: Message,
    to: VecDeque<Arc<F>>,
    /// The first number that the entry covers.
    first: u64,
    /// The table whose line contains the entry.
    table: Option<usize>,
    /// The step opening and the index in `fresh` under which its requested columns are noted.
    fresh: Option<(u64, usize)>,
}

/// A change that came since the last step opened, and the columns that its followers requested.
struct Fresh {
    at: u64,
    delivered: Weak<UpdateEvent>,
    columns: Option<Vec<usize>>,
}

/// Two neighbours that may be coalesced.
struct Pair {
    table: usize,
    older: u64,
    newer: u64,
    first: Arc<UpdateEvent>,
    next: Arc<UpdateEvent>,
}

/// Removed entries. An entry may hold the last handle of a table, so it must be dropped without a lock.
#[must_use = "drop it where no lock is held"]
pub struct Gone {
    _words: Vec<Message>,
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
    /// Materializes the change and returns its bytes; none if it was dropped already.
    fn own(&self) -> Option<u64> {
        let delivered = self.delivered.upgrade()?;
        delivered.materialize(self.columns.as_deref());
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
    /// Queues a change of a table. Followers of one table share the change of a step.
    pub fn change(&mut self, table: usize, to: Arc<F>, delivered: Arc<UpdateEvent>) {
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
            word: Message::Update(delivered),
            to: VecDeque::from([to]),
            first: at,
            table: Some(table),
            fresh,
        });
    }

    /// Queues the initial delivery of a new follower. Its rows stay pinned, and it is never coalesced.
    pub fn initial(&mut self, to: Arc<F>, delivered: Arc<UpdateEvent>) {
        let (word, first) = (Message::Update(delivered), self.last + 1);
        self.enter(Entry { word, to: VecDeque::from([to]), first, table: None, fresh: None });
    }

    /// Queues the failure of a table.
    pub fn failure(&mut self, to: Arc<F>, failure: Arc<Failure>) {
        self.note(to, Message::Failure(failure));
    }

    /// Queues what is no change, behind all that waits.
    pub fn note(&mut self, to: Arc<F>, word: Message) {
        let first = self.last + 1;
        self.enter(Entry { word, to: VecDeque::from([to]), first, table: None, fresh: None });
    }

    /// Whether the entry of this number waits.
    pub fn waits(&self, at: u64) -> bool {
        self.entries.contains_key(&at)
    }

    /// Takes back a note that waits.
    pub fn take_back(&mut self, at: u64) {
        // A note holds nothing.
        drop(self.leave(at));
    }

    fn enter(&mut self, entry: Entry<F>) {
        self.last += 1;
        self.firsts.insert(self.last);
        self.entries.insert(self.last, entry);
    }

    /// Adds a follower to a change that waits already for another follower of the table; false if there is none.
    fn joined(&mut self, table: usize, to: &Arc<F>, delivered: &Arc<UpdateEvent>) -> bool {
        let Some(place) = self.lines.get_mut(&table).and_then(Line::newest) else { return false };
        let Some(entry) = self.entries.get_mut(&place.at) else { return false };
        let Some(fresh) = entry.fresh.filter(|(opened, _)| *opened == self.opened) else { return false };
        let Message::Update(own) = &entry.word else { return false };
        if !std::ptr::eq(own.update(), delivered.update()) {
            return false;
        }
        own.keep_before(delivered);
        if let Some(fresh) = self.fresh.get_mut(fresh.1) {
            fresh.also(to.columns());
        }
        place.audience = place.audience.wrapping_add(mark(to));
        entry.to.push_back(to.clone());
        true
    }

    /// The next event and its follower. The delivery counts as done after [`Waiting::heard`].
    pub fn take(&mut self) -> Option<(Arc<F>, Message)> {
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
            // The caller holds the event as well, so nothing is dropped here.
            drop(self.leave(at));
        }
        Some((to, word))
    }

    /// Marks the delivery that was taken last as done.
    pub fn heard(&mut self) {
        self.heard_now = None;
    }

    /// The number of the newest entry.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Whether everything up to a number has been delivered.
    pub fn is_heard(&self, number: u64) -> bool {
        let waits = self.firsts.first().into_iter().chain(&self.heard_now).any(|first| *first <= number);
        !waits
    }

    /// Whether nothing waits.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Removes a follower and everything that waits for it alone.
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

    /// Removes everything, when there will be no more deliveries.
    pub fn clear(&mut self) -> Gone {
        let words = std::mem::take(&mut self.entries).into_values().map(|entry| entry.word).collect();
        self.firsts.clear();
        self.lines.clear();
        self.fresh.clear();
        (self.bytes, self.heard_now) = (0, None);
        Gone { _words: words }
    }

    fn leave(&mut self, at: u64) -> Option<Message> {
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

    /// Called as a step opens: returns the changes to materialize. Afterwards up to two pairs may be coalesced for each
    /// of them.
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

    /// Notes that a change is materialized and how many bytes its rows take.
    fn owns(&mut self, fresh: &Fresh, bytes: u64) {
        let table = self.entries.get(&fresh.at).and_then(|entry| entry.table);
        if let Some(place) = table.and_then(|table| self.lines.get_mut(&table)).and_then(|line| line.place(fresh.at)) {
            (place.bytes, place.owned) = (bytes, true);
            self.bytes += bytes;
        }
    }

    /// The next two neighbours to coalesce, if too much waits.
    fn pair(&mut self) -> Option<Pair> {
        while let Some((table, budget)) = self.due.last_mut() {
            let heavy = self.bytes > crate::sizes::WAITING_BYTES.get() as u64;
            let chosen = self.lines.get(table).filter(|_| *budget > 0).and_then(|line| line.neighbours(heavy));
            if let Some((older, newer)) = chosen
                && let Some(Message::Update(first)) = self.entries.get(&older).map(|entry| &entry.word)
                && let Some(Message::Update(next)) = self.entries.get(&newer).map(|entry| &entry.word)
            {
                *budget -= 1;
                return Some(Pair { table: *table, older, newer, first: first.clone(), next: next.clone() });
            }
            self.due.pop();
        }
        None
    }

    /// Replaces the pair by its coalesced change, at the place of the newer one, unless either was taken or changed
    /// meanwhile.
    fn merge(&mut self, pair: &Pair, merged: UpdateEvent) -> Gone {
        let bytes = merged.bytes();
        let mut word = Message::Update(Arc::new(merged));
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

    /// Whether both changes still wait, unchanged and for the same followers.
    fn same_audience(&self, pair: &Pair) -> bool {
        let (Some(older), Some(newer)) = (self.entries.get(&pair.older), self.entries.get(&pair.newer)) else {
            return false;
        };
        let is = |word: &Message, delivered: &Arc<UpdateEvent>| matches!(word, Message::Update(own) if Arc::ptr_eq(own, delivered));
        let sorted = |entry: &Entry<F>| {
            let mut to: Vec<*const F> = entry.to.iter().map(Arc::as_ptr).collect();
            to.sort_unstable();
            to
        };
        is(&older.word, &pair.first) && is(&newer.word, &pair.next) && sorted(older) == sorted(newer)
    }

    /// Bytes of the rows of materialized changes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The number of changes that were coalesced since the queue was made.
    pub fn merged(&self) -> u64 {
        self.merged
    }

    /// How many changes of a table wait.
    #[cfg(test)]
    pub fn changes_of(&self, table: usize) -> usize {
        self.lines.get(&table).map_or(0, Line::len)
    }
}

/// The follower's summand in the mark of an audience.
fn mark<F>(follower: &Arc<F>) -> u64 {
    let mixed = (Arc::as_ptr(follower).cast::<u8>() as usize as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 29)
}
