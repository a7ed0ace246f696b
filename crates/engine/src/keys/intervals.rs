//! Ranges of rows, group by group: which of them hold one of some stamps, and which begin within a span of stamps.
//!
//!   ranges   a 1..4    b 2..9    c 5..6        holding 3: a b        holding 6 or 8: b c        begun in 2..=5: b c
//!
//! For each group a tree in the order of (first stamp, row), balanced by weights drawn as rows come. A node knows the greatest
//! last stamp below it, so that a search enters no part that ends before its stamps. Cost: of a row that comes or goes a
//! search; of a question a search for each stamp and each range found. Every range is found once, whatever number of the
//! stamps it holds.

use std::ops::Range;

/// No node.
const NONE: u32 = u32::MAX;

/// A row and its range, of which both ends belong to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) key: u64,
}

impl Interval {
    fn at(&self) -> (u64, u64) {
        (self.from, self.key)
    }
}

#[derive(Clone, Copy)]
struct Node {
    range: Interval,
    /// The greatest last stamp of the node and of all below it.
    most: u64,
    weight: u32,
    left: u32,
    right: u32,
}

/// The ranges of every group (a slot).
#[derive(Default)]
pub(crate) struct Intervals {
    nodes: Vec<Node>,
    unused: Vec<u32>,
    roots: Vec<u32>,
    drawn: u64,
}

impl Intervals {
    /// Grows to at least this many slots.
    pub(crate) fn grow(&mut self, slots: usize) {
        if slots > self.roots.len() {
            self.roots.resize(slots, NONE);
        }
    }

    /// Whether a group has no range.
    pub(crate) fn is_empty(&self, slot: u32) -> bool {
        self.roots[slot as usize] == NONE
    }

    /// Adds a range. Returns its node, which it keeps while it is there.
    pub(crate) fn insert(&mut self, slot: u32, range: Interval) -> u32 {
        let new = self.node(range);
        self.roots[slot as usize] = self.inserted(self.roots[slot as usize], new);
        new
    }

    /// The ranges of a group that has none, in the order of (first stamp, row). Their nodes are new ones, one after the other.
    pub(crate) fn fill(&mut self, slot: u32, ranges: impl Iterator<Item = Interval>) {
        // The last of each node's line to the right, from the root on: none is lighter than the next.
        let mut line: Vec<u32> = Vec::new();
        for range in ranges {
            let new = self.fresh(range);
            let mut below = NONE;
            while let Some(last) =
                line.pop_if(|last| self.nodes[*last as usize].weight < self.nodes[new as usize].weight)
            {
                self.of(last).right = below;
                below = self.update_most(last);
            }
            self.of(new).left = below;
            line.push(new);
        }
        let mut below = NONE;
        for last in line.into_iter().rev() {
            self.of(last).right = below;
            below = self.update_most(last);
        }
        self.roots[slot as usize] = below;
    }

    /// Removes the range of a row, if it is there, and returns the node that it had.
    pub(crate) fn remove(&mut self, slot: u32, from: u64, key: u64) -> Option<u32> {
        let free = self.unused.len();
        self.roots[slot as usize] = self.removed(self.roots[slot as usize], (from, key));
        self.unused.get(free).copied()
    }

    /// The node of a row's range.
    pub(crate) fn find(&self, slot: u32, from: u64, key: u64) -> Option<u32> {
        let mut at = self.roots[slot as usize];
        while at != NONE {
            let Node { range, left, right, .. } = self.nodes[at as usize];
            match (from, key).cmp(&range.at()) {
                std::cmp::Ordering::Less => at = left,
                std::cmp::Ordering::Equal => return Some(at),
                std::cmp::Ordering::Greater => at = right,
            }
        }
        None
    }

    /// The range of a node.
    pub(crate) fn get(&self, node: u32) -> Interval {
        self.nodes[node as usize].range
    }

    /// Gives the range of a node to another row. In the end the ranges must stand in their order.
    pub(crate) fn rekey(&mut self, node: u32, key: u64) {
        self.of(node).range.key = key;
    }

    /// A bound of the nodes in use.
    pub(crate) fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// Calls `each` with every node of a group whose range holds one of these stamps, which ascend, and with the places of those
    /// that it holds.
    pub(crate) fn holding(&self, slot: u32, stamps: &[u64], each: &mut impl FnMut(u32, Range<usize>)) {
        self.held(self.roots[slot as usize], stamps, 0, each);
    }

    /// Calls `each` with every node of a group whose range begins at one of these stamps, both included.
    pub(crate) fn beginning(&self, slot: u32, first: u64, last: u64, each: &mut impl FnMut(u32)) {
        self.begun(self.roots[slot as usize], first, last, each);
    }

    fn node(&mut self, range: Interval) -> u32 {
        let Some(place) = self.unused.pop() else { return self.fresh(range) };
        self.nodes[place as usize] = self.drawn(range);
        place
    }

    fn fresh(&mut self, range: Interval) -> u32 {
        let node = self.drawn(range);
        self.nodes.push(node);
        self.nodes.len() as u32 - 1
    }

    fn drawn(&mut self, range: Interval) -> Node {
        self.drawn = self.drawn.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.drawn ^ self.drawn >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        Node { range, most: range.to, weight: (mixed >> 32) as u32, left: NONE, right: NONE }
    }

    fn of(&mut self, node: u32) -> &mut Node {
        &mut self.nodes[node as usize]
    }

    /// Sets what a node knows of those below it.
    fn update_most(&mut self, node: u32) -> u32 {
        let Node { range, left, right, .. } = self.nodes[node as usize];
        let below = [left, right].into_iter().filter(|child| *child != NONE);
        let most = below.map(|child| self.nodes[child as usize].most).fold(range.to, u64::max);
        self.of(node).most = most;
        node
    }

    fn inserted(&mut self, root: u32, new: u32) -> u32 {
        if root == NONE {
            return new;
        }
        let (here, added) = (self.nodes[root as usize], self.nodes[new as usize]);
        if added.weight > here.weight {
            let (left, right) = self.split(root, added.range.at());
            (self.of(new).left, self.of(new).right) = (left, right);
            return self.update_most(new);
        }
        if added.range.at() < here.range.at() {
            self.of(root).left = self.inserted(here.left, new);
        } else {
            self.of(root).right = self.inserted(here.right, new);
        }
        self.update_most(root)
    }

    /// What stands before a place, and the rest.
    fn split(&mut self, root: u32, at: (u64, u64)) -> (u32, u32) {
        if root == NONE {
            return (NONE, NONE);
        }
        let here = self.nodes[root as usize];
        if here.range.at() < at {
            let (before, after) = self.split(here.right, at);
            self.of(root).right = before;
            (self.update_most(root), after)
        } else {
            let (before, after) = self.split(here.left, at);
            self.of(root).left = after;
            (before, self.update_most(root))
        }
    }

    /// One tree of two, of which the first stands before the second.
    fn joined(&mut self, left: u32, right: u32) -> u32 {
        if left == NONE || right == NONE {
            return if left == NONE { right } else { left };
        }
        let (one, other) = (self.nodes[left as usize], self.nodes[right as usize]);
        if one.weight > other.weight {
            self.of(left).right = self.joined(one.right, right);
            self.update_most(left)
        } else {
            self.of(right).left = self.joined(left, other.left);
            self.update_most(right)
        }
    }

    fn removed(&mut self, root: u32, at: (u64, u64)) -> u32 {
        if root == NONE {
            return NONE;
        }
        let here = self.nodes[root as usize];
        if here.range.at() == at {
            self.unused.push(root);
            return self.joined(here.left, here.right);
        }
        if at < here.range.at() {
            self.of(root).left = self.removed(here.left, at);
        } else {
            self.of(root).right = self.removed(here.right, at);
        }
        self.update_most(root)
    }

    /// `before`: how many stamps stand before these.
    fn held(&self, root: u32, stamps: &[u64], before: usize, each: &mut impl FnMut(u32, Range<usize>)) {
        if root == NONE {
            return;
        }
        let Node { range, most, left, right, .. } = self.nodes[root as usize];
        let stamps = &stamps[..stamps.partition_point(|stamp| *stamp <= most)];
        if stamps.is_empty() {
            return;
        }
        self.held(left, stamps, before, each);
        let earlier = stamps.partition_point(|stamp| *stamp < range.from);
        let later = &stamps[earlier..];
        if let Some(first) = later.first() {
            let from = before + earlier;
            if *first <= range.to {
                each(root, from..from + later.partition_point(|stamp| *stamp <= range.to));
            }
            self.held(right, later, from, each);
        }
    }

    fn begun(&self, root: u32, first: u64, last: u64, each: &mut impl FnMut(u32)) {
        if root == NONE {
            return;
        }
        let Node { range, left, right, .. } = self.nodes[root as usize];
        if range.from >= first {
            self.begun(left, first, last, each);
        }
        if (first..=last).contains(&range.from) {
            each(root);
        }
        if range.from <= last {
            self.begun(right, first, last, each);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_order_of_inserts_and_removals_finds_what_a_walk_finds() {
        let (mut ranges, mut model): (Intervals, Vec<Interval>) = Default::default();
        ranges.grow(1);
        let mut seed = 7u64;
        let mut draw = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for step in 0..3_000 {
            if model.len() > 200 || draw(3) == 0 && !model.is_empty() {
                let gone = model.swap_remove(draw(model.len() as u64) as usize);
                let node = ranges.find(0, gone.from, gone.key);
                assert!(node.is_some() && ranges.remove(0, gone.from, gone.key) == node);
                assert_eq!(ranges.remove(0, gone.from, gone.key + 10_000), None);
            } else {
                let from = draw(50);
                let to = if draw(9) == 0 { u64::MAX } else { from + draw(12) };
                let range = Interval { from, to, key: step };
                let node = ranges.insert(0, range);
                assert_eq!(ranges.get(node), range);
                model.push(range);
            }
            if step == 1_500 {
                // The same ranges in a tree that is made at once.
                model.sort_unstable_by_key(Interval::at);
                ranges = Intervals::default();
                ranges.grow(1);
                ranges.fill(0, model.iter().copied());
            }
            let mut stamps: Vec<u64> = (0..draw(4)).map(|_| draw(60)).collect();
            stamps.sort_unstable();
            let mut found = Vec::new();
            ranges.holding(0, &stamps, &mut |node, held| {
                let Interval { from, to, key } = ranges.get(node);
                let inside = |at: usize| (from..=to).contains(&stamps[at]);
                assert!((0..stamps.len()).all(|at| inside(at) == held.contains(&at)));
                found.push(key);
            });
            let holds = |range: &&Interval| stamps.iter().any(|stamp| (range.from..=range.to).contains(stamp));
            assert_eq!(sorted(found), sorted(model.iter().filter(holds).map(|range| range.key).collect()));
            let (first, last) = (draw(50), draw(50));
            let mut found = Vec::new();
            ranges.beginning(0, first, last, &mut |node| found.push(ranges.get(node).key));
            let begins = |range: &&Interval| (first..=last).contains(&range.from);
            assert_eq!(sorted(found), sorted(model.iter().filter(begins).map(|range| range.key).collect()));
            assert_eq!(ranges.is_empty(0), model.is_empty());
        }
    }

    fn sorted(mut keys: Vec<u64>) -> Vec<u64> {
        keys.sort_unstable();
        keys
    }

    /// A question looks at the ranges that it finds and at a path to them, not at all ranges.
    #[test]
    fn the_tree_is_flat() {
        let mut ranges = Intervals::default();
        ranges.grow(1);
        ranges.fill(0, (0..50_000).map(|at| Interval { from: at, to: at + 3, key: at }));
        (50_000..100_000).for_each(|at| _ = ranges.insert(0, Interval { from: at, to: at + 3, key: at }));
        fn depth(ranges: &Intervals, node: u32) -> u32 {
            if node == NONE {
                return 0;
            }
            let Node { left, right, .. } = ranges.nodes[node as usize];
            1 + depth(ranges, left).max(depth(ranges, right))
        }
        assert!(depth(&ranges, ranges.roots[0]) < 70);
        (0..100_000).for_each(|at| _ = ranges.remove(0, at, at));
        assert!(ranges.is_empty(0) && ranges.unused.len() == ranges.nodes.len());
    }
}
