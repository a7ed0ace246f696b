//! The entries of a tree in order, from both ends.

use std::sync::Arc;

use super::{Entry, Kids, Node, Tree};

/// Entries in order, from both ends.
#[derive(Clone)]
pub(crate) struct Entries<'a, E> {
    tree: &'a Tree<E>,
    front: Path<'a, E>,
    /// Only when it is asked for.
    back: Option<Path<'a, E>>,
    /// Keys of the entries that have not come yet; every entry has at least one.
    left: u64,
    /// Keys up to the end of the last entry that has not come yet.
    end: u64,
}

#[derive(Clone)]
struct Path<'a, E> {
    above: Vec<(&'a [Arc<Node<E>>], usize)>,
    entries: &'a [E],
    /// Index of the next entry; for the back, one past it.
    at: usize,
}

impl<'a, E: Entry> Entries<'a, E> {
    pub(super) fn new(tree: &'a Tree<E>, from: u64, start: u64, end: u64) -> Entries<'a, E> {
        let mut front = Path { above: Vec::new(), entries: &[], at: 0 };
        if let Some(root) = &tree.root {
            front.descend(root, |node| node.kid_for(from));
        }
        Entries { tree, front, back: None, left: end - start, end }
    }

    /// Keys of the entries that have not come yet.
    pub(crate) fn keys_left(&self) -> u64 {
        self.left
    }

    /// The entry that comes next, where that is seen at once.
    pub(crate) fn peek(&self) -> Option<&'a E> {
        self.front.entries.get(self.front.at)
    }

    /// The way to the last entry that has not come yet.
    fn path_back(&self) -> Path<'a, E> {
        let mut back = Path { above: Vec::new(), entries: &[], at: 0 };
        if let Some(root) = &self.tree.root {
            let mut pos = self.end.saturating_sub(1);
            back.descend(root, |node| {
                let at = node.ends.partition_point(|&end| end <= pos).min(node.width() - 1);
                pos -= node.before(at);
                at
            });
            back.at += 1;
        }
        back
    }
}

impl<'a, E: Entry> Path<'a, E> {
    fn descend(&mut self, root: &'a Arc<Node<E>>, mut kid: impl FnMut(&Node<E>) -> usize) {
        let mut node = root;
        loop {
            let at = kid(node);
            match &node.kids {
                Kids::Entries(entries) => {
                    self.entries = entries;
                    self.at = at;
                    return;
                }
                Kids::Nodes(nodes) => {
                    self.above.push((nodes, at));
                    node = &nodes[at];
                }
            }
        }
    }

    fn next_leaf(&mut self) -> bool {
        while let Some((nodes, at)) = self.above.pop() {
            if at + 1 < nodes.len() {
                self.above.push((nodes, at + 1));
                self.descend(&nodes[at + 1], |_| 0);
                return true;
            }
        }
        false
    }

    fn previous_leaf(&mut self) -> bool {
        while let Some((nodes, at)) = self.above.pop() {
            if at > 0 {
                self.above.push((nodes, at - 1));
                self.descend(&nodes[at - 1], |node| node.width() - 1);
                self.at += 1;
                return true;
            }
        }
        false
    }
}

impl<'a, E: Entry> Iterator for Entries<'a, E> {
    type Item = &'a E;

    fn next(&mut self) -> Option<&'a E> {
        if self.left == 0 || (self.front.at == self.front.entries.len() && !self.front.next_leaf()) {
            return None;
        }
        let entry = &self.front.entries[self.front.at];
        self.front.at += 1;
        self.left -= entry.len();
        Some(entry)
    }
}

impl<'a, E: Entry> DoubleEndedIterator for Entries<'a, E> {
    fn next_back(&mut self) -> Option<&'a E> {
        if self.left == 0 {
            return None;
        }
        let mut back = self.back.take().unwrap_or_else(|| self.path_back());
        if back.at == 0 && !back.previous_leaf() {
            return None;
        }
        back.at -= 1;
        let entry = &back.entries[back.at];
        self.left -= entry.len();
        self.back = Some(back);
        Some(entry)
    }
}
