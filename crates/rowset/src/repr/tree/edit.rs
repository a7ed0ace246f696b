//! Nodes cut, joined and edited: what is shared is copied first.

use std::sync::Arc;

use super::{Edit, Entry, FANOUT, Kids, Node};

pub(super) fn edit_node<E: Entry, R>(
    node: &mut Arc<Node<E>>,
    key: u64,
    edit: impl FnOnce(&mut E) -> (R, Edit<E>),
) -> (R, Option<Arc<Node<E>>>) {
    let own = Arc::make_mut(node);
    let at = own.kid_for(key);
    match &mut own.kids {
        Kids::Entries(entries) => {
            let (result, outcome) = edit(&mut entries[at]);
            match outcome {
                Edit::Kept if !entries[at].is_small() || !merge_around(entries, at) => {
                    let (first, len) = (entries[at].first(), entries[at].len());
                    own.set_kid(at, first, len);
                    return (result, None);
                }
                Edit::Kept => {}
                Edit::Replaced(with) => {
                    entries.splice(at..=at, with);
                    merge_around(entries, at);
                }
            }
            (result, own.normalize())
        }
        Kids::Nodes(nodes) => {
            let entries_before = nodes[at].entries;
            let (result, sibling) = edit_node(&mut nodes[at], key, edit);
            let kid = &nodes[at];
            let pair = if at + 1 < nodes.len() { at } else { at.saturating_sub(1) };
            if let Some(sibling) = sibling {
                nodes.insert(at + 1, sibling);
            } else if kid.width() == 0 {
                nodes.remove(at);
            } else if kid.width() < FANOUT / 4
                && pair + 1 < nodes.len()
                && nodes[pair].width() + nodes[pair + 1].width() <= FANOUT
            {
                let next = nodes.remove(pair + 1);
                absorb(&mut nodes[pair], &next, false);
            } else {
                let (first, len, entries) = (kid.firsts[0], kid.len(), kid.entries);
                own.set_kid(at, first, len);
                own.entries = own.entries - entries_before + entries;
                return (result, None);
            }
            (result, own.normalize())
        }
    }
}

/// How items are brought to the entries that they edit.
pub(crate) struct Edits<K, A, F> {
    /// The key by which an item's entry is found; items ascend by it.
    pub(crate) key: K,
    /// Sees the entries of a node before the first of them is edited.
    pub(crate) prefetch: A,
    /// Keeps the entry in its interval, and not empty.
    pub(crate) edit: F,
}

/// Edits, for each item, the entry whose interval holds the item's key (keys below the first entry go to the first).
/// `ends` are running counts of keys: their growth is carried along and written once per node.
pub(super) fn edit_kept<E: Entry, T>(
    node: &mut Arc<Node<E>>,
    items: &[T],
    edits: &mut Edits<impl Fn(&T) -> u64, impl Fn(&E, &T), impl FnMut(&mut E, &T)>,
) {
    let Node { firsts, ends, kids, .. } = Arc::make_mut(node);
    let width = ends.len();
    let kid_for = |key: u64| firsts.partition_point(|&first| first <= key).saturating_sub(1);
    // The counts of the children before `done` are up to date; later ones still lack `grown`.
    let (mut done, mut grown) = (0, 0u64);
    let mut carry = |to: usize, more: u64| {
        ends[done..to].iter_mut().for_each(|end| *end = end.wrapping_add(grown));
        (done, grown) = (to, grown.wrapping_add(more));
    };
    match kids {
        Kids::Entries(entries) => {
            let places: Vec<usize> = items.iter().map(|item| kid_for((edits.key)(item))).collect();
            items.iter().zip(&places).for_each(|(item, &at)| (edits.prefetch)(&entries[at], item));
            for (item, at) in items.iter().zip(places) {
                let was = entries[at].len();
                (edits.edit)(&mut entries[at], item);
                carry(at, entries[at].len().wrapping_sub(was));
            }
        }
        Kids::Nodes(nodes) => {
            let mut items = items;
            while let Some(first) = items.first() {
                let at = kid_for((edits.key)(first));
                let next = firsts.get(at + 1).copied().unwrap_or(u64::MAX);
                let (own, rest) = items.split_at(items.partition_point(|item| (edits.key)(item) < next));
                let was = nodes[at].len();
                edit_kept(&mut nodes[at], own, edits);
                carry(at, nodes[at].len().wrapping_sub(was));
                items = rest;
            }
        }
    }
    carry(width, 0);
}

/// Asks the entries around `at` to become one with a neighbour; whether some did.
fn merge_around<E: Entry>(entries: &mut Vec<E>, at: usize) -> bool {
    let before = entries.len();
    let mut at = at.saturating_sub(1);
    let mut asked = 0;
    while at + 1 < entries.len() && asked < 4 {
        match entries[at].merged(&entries[at + 1]) {
            Some(merged) => {
                entries[at] = merged;
                entries.remove(at + 1);
            }
            None => at += 1,
        }
        asked += 1;
    }
    entries.len() < before
}

impl<E: Entry> Node<E> {
    fn set_kid(&mut self, at: usize, first: u64, len: u64) {
        let was = self.ends[at] - self.before(at);
        self.firsts[at] = first;
        let change = len.wrapping_sub(was);
        if change != 0 {
            self.ends[at..].iter_mut().for_each(|end| *end = end.wrapping_add(change));
        }
    }

    /// Counts anew; if there are too many kids, keeps half and gives the others.
    fn normalize(&mut self) -> Option<Arc<Node<E>>> {
        let sibling = match &mut self.kids {
            Kids::Entries(entries) if entries.len() > FANOUT => {
                Some(Node::of_entries(entries.split_off(entries.len() / 2)))
            }
            Kids::Nodes(nodes) if nodes.len() > FANOUT => Some(Node::of_nodes(nodes.split_off(nodes.len() / 2))),
            _ => None,
        };
        self.recount();
        sibling
    }
}

/// Takes in the kids of a node of the same height.
fn absorb<E: Entry>(node: &mut Arc<Node<E>>, other: &Node<E>, in_front: bool) {
    let own = Arc::make_mut(node);
    match (&mut own.kids, &other.kids) {
        (Kids::Entries(own), Kids::Entries(other)) => {
            let at = if in_front { 0 } else { own.len() };
            own.splice(at..at, other.iter().cloned());
        }
        (Kids::Nodes(own), Kids::Nodes(other)) => {
            let at = if in_front { 0 } else { own.len() };
            own.splice(at..at, other.iter().cloned());
        }
        _ => unreachable!("nodes of one height hold the same kind of kids"),
    }
    own.recount();
}

/// Hangs `other`, no higher than `node`, behind it; what does not fit comes back.
pub(super) fn push_back<E: Entry>(node: &mut Arc<Node<E>>, other: Arc<Node<E>>) -> Option<Arc<Node<E>>> {
    if node.height == other.height {
        if node.width() + other.width() > FANOUT {
            return Some(other);
        }
        absorb(node, &other, false);
        return None;
    }
    let own = Arc::make_mut(node);
    if let Kids::Nodes(nodes) = &mut own.kids {
        let last = nodes.len() - 1;
        if let Some(sibling) = push_back(&mut nodes[last], other) {
            nodes.push(sibling);
        }
    }
    own.normalize()
}

/// Hangs `other`, lower than `node`, in front of it; what does not fit comes back, to stand in front.
pub(super) fn push_front<E: Entry>(node: &mut Arc<Node<E>>, other: Arc<Node<E>>) -> Option<Arc<Node<E>>> {
    if node.height == other.height {
        if node.width() + other.width() > FANOUT {
            return Some(other);
        }
        absorb(node, &other, true);
        return None;
    }
    let own = Arc::make_mut(node);
    if let Kids::Nodes(nodes) = &mut own.kids
        && let Some(in_front) = push_front(&mut nodes[0], other)
    {
        nodes.insert(0, in_front);
    }
    // `normalize` gives the higher half; here the lower half must come back.
    own.normalize().map(|higher| std::mem::replace(node, higher))
}

fn of_some<E: Entry>(nodes: Vec<Arc<Node<E>>>) -> Option<Arc<Node<E>>> {
    if nodes.is_empty() { None } else { Some(Node::of_nodes(nodes)) }
}

/// The entries that do not start below `key`.
pub(super) fn kept_from<E: Entry>(node: &Arc<Node<E>>, key: u64) -> Option<Arc<Node<E>>> {
    let below = node.firsts.partition_point(|&first| first < key);
    if below == 0 {
        return Some(node.clone());
    }
    match &node.kids {
        Kids::Entries(entries) => (below < entries.len()).then(|| Node::of_entries(entries[below..].to_vec())),
        Kids::Nodes(nodes) => {
            of_some(kept_from(&nodes[below - 1], key).into_iter().chain(nodes[below..].iter().cloned()).collect())
        }
    }
}

/// The entries that start below `key`.
pub(super) fn kept_below<E: Entry>(node: &Arc<Node<E>>, key: u64) -> Option<Arc<Node<E>>> {
    let below = node.firsts.partition_point(|&first| first < key);
    if below == 0 {
        return None;
    }
    match &node.kids {
        Kids::Entries(entries) if below == entries.len() => Some(node.clone()),
        Kids::Entries(entries) => Some(Node::of_entries(entries[..below].to_vec())),
        Kids::Nodes(nodes) => {
            let last = kept_below(&nodes[below - 1], key);
            if below == nodes.len() && last.as_ref().is_some_and(|last| Arc::ptr_eq(last, &nodes[below - 1])) {
                return Some(node.clone());
            }
            of_some(nodes[..below - 1].iter().cloned().chain(last).collect())
        }
    }
}
