//! A row key, and the keys from one to another.

/// The highest row key.
pub const MAX_KEY: u64 = i64::MAX as u64;

/// The keys `first ..= last`: closed on both sides.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Span {
    /// The lowest key.
    pub first: u64,
    /// The highest key.
    pub last: u64,
}

impl Span {
    /// How many keys; never 0.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> u64 {
        self.last - self.first + 1
    }

    /// Whether the key lies in it.
    pub fn contains(&self, key: u64) -> bool {
        self.first <= key && key <= self.last
    }
}
