//! Bytes read as choices; past their end every choice is the first.

/// What is left of a case's bytes.
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Reads from the first byte on.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader(bytes)
    }

    /// Whether all has been read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One byte.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number below `end`, which is at most 256.
    pub fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end.max(1)
    }

    /// One of these.
    pub fn choice<'b, T>(&mut self, of: &'b [T]) -> &'b T {
        &of[self.below(of.len())]
    }

    /// Eight bytes as a number.
    pub fn word(&mut self) -> u64 {
        (0..8).fold(0, |word, _| word << 8 | u64::from(self.byte()))
    }

    /// A whole number: mostly small, sometimes at an edge, sometimes any.
    pub fn integer(&mut self) -> i64 {
        match self.byte() {
            0..=159 => i64::from(self.byte() as i8),
            160..=199 => *self.choice(&[i64::MIN, i64::MAX, -1, 0, 1, i64::MIN + 1, 1 << 31, 1 << 32, 1 << 53]),
            _ => self.word() as i64,
        }
    }

    /// A float: often a special one.
    pub fn float(&mut self) -> f64 {
        match self.byte() {
            0..=99 => f64::from(self.byte() as i8) / 4.0,
            100..=179 => *self.choice(&[0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e308, 5e-324, 1e19]),
            _ => f64::from_bits(self.word()),
        }
    }

    /// A text of at most so many bytes.
    pub fn text(&mut self, most: usize) -> String {
        let end = self.below(most + 1).min(self.0.len());
        let (own, rest) = self.0.split_at(end);
        self.0 = rest;
        String::from_utf8_lossy(own).into_owned()
    }

    /// All that is left.
    pub fn rest(self) -> &'a [u8] {
        self.0
    }
}
