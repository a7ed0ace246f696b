//! The heap allocations of a tree, one by one, for tests of structural sharing.

use super::{Entry, Kids, Node, Tree};

/// Where a piece lies, its bytes, and whether it is an entry's rather than a node's.
pub(crate) type Piece = (usize, usize, bool);

impl<E: Entry> Tree<E> {
    /// Every piece that handles may share.
    pub(crate) fn pieces(&self) -> Vec<Piece> {
        fn visit<E: Entry>(node: &Node<E>, pieces: &mut Vec<Piece>) {
            let own = size_of::<Node<E>>() + 8 * (node.firsts.capacity() + node.ends.capacity());
            let kids = match &node.kids {
                Kids::Entries(entries) => {
                    pieces.extend(entries.iter().map(|entry| (entry.heap_at(), entry.heap_bytes(), true)));
                    entries.capacity() * size_of::<E>()
                }
                Kids::Nodes(nodes) => {
                    nodes.iter().for_each(|node| visit(node, pieces));
                    nodes.capacity() * 8
                }
            };
            pieces.push((&raw const *node as usize, own + kids, false));
        }
        let mut pieces = Vec::new();
        if let Some(root) = &self.root {
            visit(root, &mut pieces);
        }
        pieces.retain(|(_, bytes, _)| *bytes > 0);
        pieces
    }
}
