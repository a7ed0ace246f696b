//! A shared tree of entries in key order, with the keys accumulated in front of each.
//!
//! No node holds more than 64 entries, so an edit of one entry copies a few short nodes and the
//! entry, whatever the size of the whole; everything else stays shared with the other handles.

mod edit;
mod entries;
#[cfg(test)]
mod held;

use std::sync::Arc;

pub(crate) use self::edit::Edits;
use self::edit::{edit_kept, edit_node, kept_below, kept_from, push_back, push_front};
pub(crate) use self::entries::Entries;
use super::part::Part;
use crate::key::Span;

/// What a tree is made of: some keys of an interval that no other entry's interval meets.
pub(crate) trait Entry: Clone {
    type Walk<'a>: DoubleEndedIterator<Item = Span> + Clone
    where
        Self: 'a;

    /// Start of the interval: no key of it lies below.
    fn first(&self) -> u64;
    /// End of the interval: no key of it lies above.
    fn last(&self) -> u64;
    fn first_key(&self) -> u64;
    fn last_key(&self) -> u64;
    /// How many keys; never 0.
    fn len(&self) -> u64;
    /// About how many runs.
    fn heft(&self) -> u64;
    fn contains(&self, key: u64) -> bool;
    /// How many of its keys lie below `key`.
    fn rank(&self, key: u64) -> u64;
    /// The rank of a key that it holds.
    fn position(&self, key: u64) -> Option<u64> {
        self.contains(key).then(|| self.rank(key))
    }
    /// The key at a position below `len`.
    fn at(&self, pos: u64) -> u64;
    /// `before + rank(key)` of each of the keys, which ascend.
    fn ranks(&self, keys: &[u64], before: u64, out: &mut Vec<u64>) {
        out.extend(keys.iter().map(|&key| before + self.rank(key)));
    }
    /// `at(pos - before)` of each of the positions, which ascend.
    fn keys_at(&self, positions: &[u64], before: u64, out: &mut Vec<u64>) {
        out.extend(positions.iter().map(|&pos| self.at(pos - before)));
    }
    /// A forward cursor over the entry's keys.
    fn part(&self) -> Part<'_>;
    /// A forward cursor that starts at the run that holds `first`, or else at the next run.
    fn part_from(&self, first: u64) -> Part<'_>;
    /// Its runs, which may touch.
    fn walk(&self) -> Self::Walk<'_>;
    /// The runs of the keys within `first ..= last`, which may touch.
    fn walk_between(&self, first: u64, last: u64) -> Self::Walk<'_>;
    /// Its keys within `first ..= last`, as none, one or a few entries.
    fn clip(&self, first: u64, last: u64) -> Vec<Self>;
    fn heap_bytes(&self) -> usize;
    /// Where these bytes lie.
    #[cfg(test)]
    fn heap_at(&self) -> usize;
    fn check(&self) -> Result<(), String>;
    /// This and the entry behind it as one, if they should be one.
    fn merged(&self, next: &Self) -> Option<Self>;
    /// Whether it is small enough that its neighbours should be asked.
    fn is_small(&self) -> bool;
}

const FANOUT: usize = 64;

#[derive(Clone)]
pub(crate) struct Tree<E> {
    root: Option<Arc<Node<E>>>,
}

#[derive(Clone)]
struct Node<E> {
    height: u32,
    entries: usize,
    firsts: Vec<u64>,
    /// Keys up to the end of each kid.
    ends: Vec<u64>,
    kids: Kids<E>,
}

#[derive(Clone)]
enum Kids<E> {
    Entries(Vec<E>),
    Nodes(Vec<Arc<Node<E>>>),
}

/// What becomes of an entry that is edited.
pub(crate) enum Edit<E> {
    Kept,
    Replaced(Vec<E>),
}

impl<E: Entry> Node<E> {
    fn of_entries(entries: Vec<E>) -> Arc<Node<E>> {
        let mut node =
            Node { height: 0, entries: 0, firsts: Vec::new(), ends: Vec::new(), kids: Kids::Entries(entries) };
        node.recount();
        Arc::new(node)
    }

    fn of_nodes(nodes: Vec<Arc<Node<E>>>) -> Arc<Node<E>> {
        let height = nodes[0].height + 1;
        let mut node = Node { height, entries: 0, firsts: Vec::new(), ends: Vec::new(), kids: Kids::Nodes(nodes) };
        node.recount();
        Arc::new(node)
    }

    fn recount(&mut self) {
        let Node { firsts, ends, kids, entries, .. } = self;
        firsts.clear();
        ends.clear();
        let mut total = 0;
        match kids {
            Kids::Entries(kids) => {
                firsts.extend(kids.iter().map(Entry::first));
                ends.extend(kids.iter().map(|kid| {
                    total += kid.len();
                    total
                }));
                *entries = kids.len();
            }
            Kids::Nodes(kids) => {
                firsts.extend(kids.iter().map(|kid| kid.firsts[0]));
                ends.extend(kids.iter().map(|kid| {
                    total += kid.len();
                    total
                }));
                *entries = kids.iter().map(|kid| kid.entries).sum();
            }
        }
    }

    fn len(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    fn width(&self) -> usize {
        self.firsts.len()
    }

    /// Index of the last kid that does not start above the key, or of the first one.
    fn kid_for(&self, key: u64) -> usize {
        self.firsts.partition_point(|&first| first <= key).saturating_sub(1)
    }

    fn before(&self, kid: usize) -> u64 {
        if kid == 0 { 0 } else { self.ends[kid - 1] }
    }

    fn last_entry(&self) -> &E {
        let mut node = self;
        loop {
            match &node.kids {
                Kids::Entries(entries) => return &entries[entries.len() - 1],
                Kids::Nodes(nodes) => node = &nodes[nodes.len() - 1],
            }
        }
    }

    fn first_entry(&self) -> &E {
        let mut node = self;
        loop {
            match &node.kids {
                Kids::Entries(entries) => return &entries[0],
                Kids::Nodes(nodes) => node = &nodes[0],
            }
        }
    }
}

impl<E: Entry> Tree<E> {
    pub(crate) fn build(entries: Vec<E>) -> Tree<E> {
        if entries.is_empty() {
            return Tree { root: None };
        }
        let mut level: Vec<Arc<Node<E>>> = in_shares(entries).into_iter().map(Node::of_entries).collect();
        while level.len() > 1 {
            level = in_shares(level).into_iter().map(Node::of_nodes).collect();
        }
        Tree { root: level.pop() }
    }

    pub(crate) fn len(&self) -> u64 {
        self.root.as_ref().map_or(0, |root| root.len())
    }

    /// How many entries.
    pub(crate) fn entries(&self) -> usize {
        self.root.as_ref().map_or(0, |root| root.entries)
    }

    pub(crate) fn first_entry(&self) -> Option<&E> {
        self.root.as_ref().map(|root| root.first_entry())
    }

    pub(crate) fn last_entry(&self) -> Option<&E> {
        self.root.as_ref().map(|root| root.last_entry())
    }

    pub(crate) fn is_same(&self, other: &Tree<E>) -> bool {
        match (&self.root, &other.root) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other),
            (own, other) => own.is_none() && other.is_none(),
        }
    }

    /// The last entry that does not start above `key`, and the keys in front of it.
    pub(crate) fn find(&self, key: u64) -> Option<(&E, u64)> {
        let mut node = &**self.root.as_ref()?;
        if key < node.firsts[0] {
            return None;
        }
        let mut before = 0;
        loop {
            let at = node.kid_for(key);
            before += node.before(at);
            match &node.kids {
                Kids::Entries(entries) => return Some((&entries[at], before)),
                Kids::Nodes(nodes) => node = &nodes[at],
            }
        }
    }

    /// The entry that holds position `pos`, and the keys in front of it.
    pub(crate) fn find_position(&self, pos: u64) -> Option<(&E, u64)> {
        let mut node = &**self.root.as_ref()?;
        if pos >= node.len() {
            return None;
        }
        let mut before = 0;
        loop {
            let at = node.ends.partition_point(|&end| before + end <= pos);
            before += node.before(at);
            match &node.kids {
                Kids::Entries(entries) => return Some((&entries[at], before)),
                Kids::Nodes(nodes) => node = &nodes[at],
            }
        }
    }

    /// Edits the entry that `find` gives, or the first one, in place where nobody else holds it.
    pub(crate) fn edit<R>(&mut self, key: u64, edit: impl FnOnce(&mut E) -> (R, Edit<E>)) -> Option<R> {
        let root = self.root.as_mut()?;
        let (result, sibling) = edit_node(root, key, edit);
        if let Some(sibling) = sibling {
            let left = root.clone();
            *root = Node::of_nodes(vec![left, sibling]);
        }
        self.trim();
        Some(result)
    }

    /// Edits many entries in place; no entry is added or removed.
    pub(crate) fn edit_kept<T>(
        &mut self,
        items: &[T],
        mut edits: Edits<impl Fn(&T) -> u64, impl Fn(&E, &T), impl FnMut(&mut E, &T)>,
    ) {
        if let Some(root) = self.root.as_mut().filter(|_| !items.is_empty()) {
            edit_kept(root, items, &mut edits);
        }
    }

    /// Drops an emptied root and roots of one kid.
    fn trim(&mut self) {
        while let Some(root) = &self.root {
            match &root.kids {
                _ if root.width() == 0 => self.root = None,
                Kids::Nodes(nodes) if nodes.len() == 1 => self.root = Some(nodes[0].clone()),
                _ => return,
            }
        }
    }

    /// The entries of both, all of `next` behind these.
    pub(crate) fn concat(mut self, mut next: Tree<E>) -> Tree<E> {
        let merged = match (self.last_entry(), next.first_entry()) {
            (Some(last), Some(first)) => last.merged(first),
            _ => None,
        };
        if let Some(merged) = merged {
            self.edit(u64::MAX, |_| ((), Edit::Replaced(Vec::new())));
            next.edit(0, |first| {
                *first = merged;
                ((), Edit::Kept)
            });
        }
        let (Some(left), Some(right)) = (&self.root, &next.root) else {
            return if self.root.is_some() { self } else { next };
        };
        let (mut root, sibling) = if left.height >= right.height {
            let mut root = left.clone();
            let sibling = push_back(&mut root, right.clone());
            (root, sibling)
        } else {
            let mut root = right.clone();
            match push_front(&mut root, left.clone()) {
                Some(in_front) => (in_front, Some(root)),
                None => (root, None),
            }
        };
        if let Some(sibling) = sibling {
            root = Node::of_nodes(vec![root, sibling]);
        }
        Tree { root: Some(root) }
    }

    pub(crate) fn iter(&self) -> Entries<'_, E> {
        Entries::new(self, 0, 0, self.len())
    }

    /// The entries from the one that `find` gives on, or from the first.
    pub(crate) fn iter_from(&self, key: u64) -> Entries<'_, E> {
        let before = self.find(key).map_or(0, |(_, before)| before);
        Entries::new(self, key, before, self.len())
    }

    /// The entries that meet `first ..= last`, and perhaps one below.
    pub(crate) fn iter_between(&self, first: u64, last: u64) -> Entries<'_, E> {
        let before = self.find(first).map_or(0, |(_, before)| before);
        let end = self.find(last).map_or(0, |(entry, before)| before + entry.len());
        Entries::new(self, first, before, end.max(before))
    }

    /// How many keys lie below `key`.
    pub(crate) fn rank(&self, key: u64) -> u64 {
        self.find(key).map_or(0, |(entry, before)| before + entry.rank(key))
    }

    pub(crate) fn contains(&self, key: u64) -> bool {
        self.find(key).is_some_and(|(entry, _)| entry.contains(key))
    }

    pub(crate) fn key_at(&self, pos: u64) -> Option<u64> {
        self.find_position(pos).map(|(entry, before)| entry.at(pos - before))
    }

    /// About how many runs.
    pub(crate) fn heft(&self) -> u64 {
        self.iter().map(Entry::heft).sum()
    }

    /// The keys within `first ..= last`: entries at the ends are cut, the nodes between them shared.
    pub(crate) fn between(&self, first: u64, last: u64) -> Tree<E> {
        let Some(root) = &self.root else { return Tree { root: None } };
        let cut = |key: u64| self.find(key).map(|(entry, _)| entry);
        let head = cut(first).filter(|entry| entry.first() < first && first <= entry.last());
        let tail = cut(last).filter(|entry| last < entry.last());
        if let (Some(head), Some(tail)) = (head, tail)
            && std::ptr::eq(head, tail)
        {
            return Tree::build(head.clip(first, last));
        }
        let from = kept_from(root, first);
        // Where the last entry is cut, it is left out here.
        let end = tail.map_or(last.saturating_add(1), Entry::first);
        let inside = from.and_then(|root| if end == u64::MAX { Some(root) } else { kept_below(&root, end) });
        let mut between = Tree { root: inside };
        between.trim();
        if let Some(head) = head {
            between = Tree::build(head.clip(first, last)).concat(between);
        }
        if let Some(tail) = tail.filter(|tail| first <= tail.first()) {
            between = between.concat(Tree::build(tail.clip(first, last)));
        }
        between
    }

    /// Every entry made anew, none left out.
    pub(crate) fn map(&self, made: impl FnMut(&E) -> E) -> Tree<E> {
        Tree::build(self.iter().map(made).collect())
    }

    /// Bytes on the heap.
    pub(crate) fn bytes(&self) -> usize {
        self.node_bytes() + self.iter().map(Entry::heap_bytes).sum::<usize>()
    }

    fn node_bytes(&self) -> usize {
        fn node_bytes<E>(node: &Node<E>) -> usize {
            let own = 16 + size_of::<Node<E>>() + 8 * (node.firsts.capacity() + node.ends.capacity());
            own + match &node.kids {
                Kids::Entries(entries) => entries.capacity() * size_of::<E>(),
                Kids::Nodes(nodes) => nodes.capacity() * 8 + nodes.iter().map(|node| node_bytes(node)).sum::<usize>(),
            }
        }
        self.root.as_ref().map_or(0, |root| node_bytes(root))
    }

    /// Which invariant of the tree is broken, if one is.
    pub(crate) fn validate(&self) -> Result<(), String> {
        fn check<E: Entry>(node: &Node<E>) -> Result<(), String> {
            let mut again = node.clone();
            again.recount();
            if again.firsts != node.firsts || again.ends != node.ends || again.entries != node.entries {
                return Err(format!("a node of height {} is miscounted", node.height));
            }
            if node.width() == 0 || node.width() > FANOUT {
                return Err(format!("a node of {} kids", node.width()));
            }
            match &node.kids {
                Kids::Entries(_) if node.height != 0 => Err("entries above the ground".to_string()),
                Kids::Entries(_) => Ok(()),
                Kids::Nodes(nodes) => nodes.iter().try_for_each(|kid| match kid.height + 1 == node.height {
                    true => check(kid),
                    false => Err("a kid of the wrong height".to_string()),
                }),
            }
        }
        if let Some(root) = &self.root {
            check(root)?;
        }
        let mut last = None;
        for entry in self.iter() {
            if entry.first() > entry.last() || last.is_some_and(|last| last >= entry.first()) {
                return Err(format!("an entry at {} is out of order", entry.first()));
            }
            if !(entry.first() <= entry.first_key()
                && entry.first_key() <= entry.last_key()
                && entry.last_key() <= entry.last())
            {
                return Err(format!("an entry at {} holds keys outside its interval", entry.first()));
            }
            entry.check()?;
            last = Some(entry.last());
        }
        Ok(())
    }
}

/// Cuts into shares of at most a node, the last two of about one size.
fn in_shares<T>(items: Vec<T>) -> Vec<Vec<T>> {
    if items.len() <= FANOUT {
        return vec![items];
    }
    let shares = items.len().div_ceil(FANOUT);
    let (size, larger) = (items.len() / shares, items.len() % shares);
    let mut items = items.into_iter();
    (0..shares).map(|share| items.by_ref().take(size + usize::from(share < larger)).collect()).collect()
}
