//! Groups that are spans of cells in a row, and overlap: what is known of each, without a look at each of its cells.
//!
//!   cells  1 2 3 4        spans  0..2 1..4        sums 3 9
//!
//! Of what can be taken back there is one accumulator for the cells before each place, and a span is the difference of two. Of
//! what merges alone there is a tree whose nodes stand for two, four, eight cells, and a span is merged of a few nodes. Cost: the
//! cells, and for each span one difference, or two nodes a level.

use column::Chunk;

use super::accumulators::{Accumulator, Removable};
use super::state::{Codec, PerGroup, Span};

/// Spans as differences of what stands before their ends.
pub(super) fn by_difference<C: Codec>(state: &mut PerGroup<C>, cells: &[Chunk], spans: &[Span])
where
    C::Of: Removable,
{
    let mut before: Vec<C::Of> = Vec::with_capacity(cells[0].len() + 1);
    let mut whole = state.codec.empty();
    state.codec.decode(cells, |at, value| {
        before.resize(at + 1, whole.clone());
        whole.add(value);
    });
    before.resize(cells[0].len() + 1, whole);
    for (slot, span) in spans {
        let group = &mut state.groups[*slot as usize];
        *group = before[span.end].clone();
        group.unmerge(&before[span.start]);
    }
}

/// Spans as nodes of a tree that are merged. The order of values does not matter.
pub(super) fn by_tree<C: Codec>(state: &mut PerGroup<C>, cells: &[Chunk], spans: &[Span]) {
    let (count, empty) = (cells[0].len(), state.codec.empty());
    // The cells stand from `count` on, and below a node those at twice its place and behind it.
    let mut nodes = vec![empty.clone(); 2 * count];
    state.codec.decode(cells, |at, value| nodes[count + at].add(value));
    for at in (1..count).rev() {
        let mut node = nodes[2 * at].clone();
        node.merge(&nodes[2 * at + 1]);
        nodes[at] = node;
    }
    for (slot, span) in spans {
        let group = &mut state.groups[*slot as usize];
        *group = empty.clone();
        let (mut from, mut to) = (span.start + count, span.end + count);
        while from < to {
            if from % 2 == 1 {
                group.merge(&nodes[from]);
                from += 1;
            }
            if to % 2 == 1 {
                to -= 1;
                group.merge(&nodes[to]);
            }
            (from, to) = (from / 2, to / 2);
        }
    }
}
