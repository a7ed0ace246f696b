//! Layouts of row keys in random tables: dense, sparse, across block edges, at the ends of integers, at the top.

use std::collections::BTreeSet;

use super::tape::Tape;

/// The highest row key.
pub const LAST_KEY: u64 = (1 << 63) - 1;

/// A window of the key space in which a table lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// 0, 1, 2, …
    Dense,
    /// Anywhere, far apart.
    Sparse,
    /// Across the edge of a storage block.
    BlockEdge,
    /// Across 2^16, the edge of a row set's container.
    ContainerEdge,
    /// Across 2^31.
    Edge31,
    /// Across 2^32.
    Edge32,
    /// At the end of the key space.
    Top,
}

/// All layouts, the plainest first.
pub const LAYOUTS: [Layout; 7] = [
    Layout::Dense,
    Layout::Sparse,
    Layout::BlockEdge,
    Layout::ContainerEdge,
    Layout::Edge31,
    Layout::Edge32,
    Layout::Top,
];

impl Layout {
    /// The lowest and highest key of the window.
    pub fn window(self) -> (u64, u64) {
        let around = |edge: u64| (edge - 24, edge + 40);
        match self {
            Layout::Dense => (0, 1 << 20),
            Layout::Sparse => (0, LAST_KEY),
            Layout::BlockEdge => around(4096),
            Layout::ContainerEdge => around(1 << 16),
            Layout::Edge31 => around(1 << 31),
            Layout::Edge32 => around(1 << 32),
            Layout::Top => (LAST_KEY - 200, LAST_KEY),
        }
    }

    /// How far apart new keys may be.
    pub fn largest_gap(self) -> u64 {
        match self {
            Layout::Dense => 1,
            Layout::Sparse => 1 << 40,
            _ => 3,
        }
    }
}

/// Where among the rows that are there new keys are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Above all.
    Back,
    /// Below all.
    Front,
    /// Anywhere between.
    Middle,
}

/// Up to `count` free keys in the window, near `place`. Fewer if there is no room.
pub fn free_keys(tape: &mut Tape, layout: Layout, taken: &BTreeSet<u64>, place: Place, count: u64) -> Vec<u64> {
    let (low, high) = layout.window();
    let mut found = BTreeSet::new();
    let step = |tape: &mut Tape| 1 + tape.below(layout.largest_gap());
    let mut at = match (place, taken.first(), taken.last()) {
        (Place::Back, _, Some(&last)) => last.saturating_add(step(tape)).max(low),
        (Place::Front, Some(&first), _) => first.saturating_sub(step(tape)),
        (Place::Middle, Some(&first), Some(&last)) => first + tape.below(last - first + 1),
        // Not at the bottom of the window, so that there is room in front; a dense table starts at 0.
        _ if layout == Layout::Dense => low,
        _ => low + (high - low) / 4,
    };
    // A bounded walk: a full window is given up, not searched for ever.
    for _ in 0..count.saturating_mul(4) {
        if found.len() as u64 == count || at > high.min(LAST_KEY) || at < low {
            break;
        }
        if !taken.contains(&at) {
            found.insert(at);
        }
        let next = if place == Place::Front { at.checked_sub(step(tape)) } else { at.checked_add(step(tape)) };
        let Some(next) = next else { break };
        at = next;
    }
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_free_in_the_window_and_where_they_were_asked_for() {
        for layout in LAYOUTS {
            let mut tape = Tape::seeded(11);
            let mut taken = BTreeSet::new();
            for round in 0..60 {
                let place = [Place::Back, Place::Front, Place::Middle][round % 3];
                let keys = free_keys(&mut tape, layout, &taken, place, 3);
                let (low, high) = layout.window();
                assert!(keys.iter().all(|key| !taken.contains(key) && (low..=high).contains(key)), "{layout:?}");
                match place {
                    Place::Back => {
                        assert!(keys.first() > taken.last() || keys.is_empty() || taken.is_empty())
                    }
                    Place::Front => {
                        assert!(keys.last() < taken.first() || keys.is_empty() || taken.is_empty())
                    }
                    Place::Middle => {}
                }
                taken.extend(keys);
            }
            assert!(taken.len() > 20, "{layout:?} has room");
        }
    }

    #[test]
    fn past_the_end_of_the_tape_a_dense_table_is_flat() {
        let mut tape = Tape::replay(&[]);
        assert_eq!(free_keys(&mut tape, Layout::Dense, &BTreeSet::new(), Place::Back, 3), [0, 1, 2]);
    }
}
