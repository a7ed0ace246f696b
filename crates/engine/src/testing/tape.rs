//! A tape of bytes from which every random choice is drawn, so that a failure shrinks by shrinking
//! the tape and is replayed by its text.

/// Bytes read from front to back. A seeded tape writes itself as it is read; a replayed one ends,
/// and from there on every choice is the first and smallest.
#[derive(Clone, Debug)]
pub struct Tape {
    bytes: Vec<u8>,
    at: usize,
    source: Option<u64>,
}

impl Tape {
    /// An endless tape of this seed.
    pub fn seeded(seed: u64) -> Tape {
        Tape { bytes: Vec::new(), at: 0, source: Some(seed) }
    }

    /// A tape of these bytes.
    pub fn replay(bytes: &[u8]) -> Tape {
        Tape { bytes: bytes.to_vec(), at: 0, source: None }
    }

    /// A tape from its text.
    pub fn from_hex(text: &str) -> Option<Tape> {
        let digits: Vec<u32> = text.trim().chars().map(|digit| digit.to_digit(16)).collect::<Option<_>>()?;
        let bytes = digits.chunks(2).map(|pair| (pair[0] * 16 + pair.get(1).copied().unwrap_or(0)) as u8);
        Some(Tape::replay(&bytes.collect::<Vec<_>>()))
    }

    /// What has been read so far.
    pub fn used(&self) -> &[u8] {
        &self.bytes[..self.at.min(self.bytes.len())]
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        if self.at >= self.bytes.len() {
            let Some(state) = &mut self.source else {
                return 0;
            };
            let word = scramble(state);
            self.bytes.extend(word.to_le_bytes());
        }
        self.at += 1;
        self.bytes[self.at - 1]
    }

    /// Eight bytes as one number.
    pub fn word(&mut self) -> u64 {
        (0..8).fold(0, |word, _| word << 8 | u64::from(self.byte()))
    }

    /// A number below `bound`, from as few bytes as it takes. Zero bytes give 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "something to choose from");
        let bytes = (64 - (bound - 1).leading_zeros()).div_ceil(8);
        let drawn = (0..bytes).fold(0u64, |word, _| word << 8 | u64::from(self.byte()));
        drawn % bound
    }

    /// A number in `low ..= high`; zero bytes give `low`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        match (high - low).checked_add(1) {
            Some(size) => low + self.below(size),
            None => self.word(),
        }
    }

    /// True in so many of 256 cases; zero bytes give false.
    pub fn chance(&mut self, of_256: u8) -> bool {
        u16::from(self.byte()) + u16::from(of_256) > 255
    }

    /// One of these; zero bytes give the first.
    pub fn choose<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.below(among.len() as u64) as usize]
    }
}

/// The text of a tape: two digits a byte, trailing zeros left off, as they are read anyway.
pub fn to_hex(bytes: &[u8]) -> String {
    let end = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    bytes[..end].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// One step of a well-known mixing generator (splitmix64).
fn scramble(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut word = *state;
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// A smaller tape that still fails: pieces taken out, set to zero, bytes lowered, as long as
/// anything helps and tries are left.
pub fn shrink(bytes: &[u8], tries: usize, fails: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let mut shrinker = Shrinker { best: bytes.to_vec(), tries, fails };
    loop {
        let before = shrinker.best.clone();
        shrinker.cut_the_end();
        for size in [64, 32, 16, 8, 4, 2, 1] {
            shrinker.change_pieces(size, |piece| !piece.is_empty(), |_| Vec::new());
        }
        for size in [16, 4, 1] {
            shrinker.change_pieces(size, |piece| piece.iter().any(|byte| *byte != 0), |piece| vec![0; piece.len()]);
        }
        shrinker.change_pieces(1, |piece| piece[0] > 1, |piece| vec![piece[0] / 2]);
        shrinker.change_pieces(1, |piece| piece[0] > 0, |piece| vec![piece[0] - 1]);
        // A plainer choice with more of it: many small steps instead of one large one.
        shrinker.change_pieces(2, |piece| piece[0] > 0 && piece.len() == 2, |_| vec![0, 3]);
        if shrinker.best == before || shrinker.tries == 0 {
            return shrinker.best;
        }
    }
}

struct Shrinker<F> {
    best: Vec<u8>,
    tries: usize,
    fails: F,
}

impl<F: Fn(&[u8]) -> bool> Shrinker<F> {
    fn keep_if_failing(&mut self, candidate: Vec<u8>) -> bool {
        if self.tries == 0 || candidate == self.best {
            return false;
        }
        self.tries -= 1;
        let failing = (self.fails)(&candidate);
        if failing {
            self.best = candidate;
        }
        failing
    }

    fn cut_the_end(&mut self) {
        let mut keep = self.best.len() / 2;
        while keep < self.best.len() && self.tries > 0 {
            if !self.keep_if_failing(self.best[..keep].to_vec()) {
                keep += (self.best.len() - keep).div_ceil(2);
            } else {
                keep /= 2;
            }
        }
    }

    /// From the back, because what comes early shapes what comes late.
    fn change_pieces(&mut self, size: usize, worth: impl Fn(&[u8]) -> bool, change: impl Fn(&[u8]) -> Vec<u8>) {
        let mut end = self.best.len();
        while end > 0 && self.tries > 0 {
            let start = end.saturating_sub(size);
            let piece = &self.best[start..end.min(self.best.len())];
            if !piece.is_empty() && worth(piece) {
                let mut candidate = self.best[..start].to_vec();
                candidate.extend(change(piece));
                candidate.extend(&self.best[end.min(self.best.len())..]);
                self.keep_if_failing(candidate);
            }
            end = start;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_tape_and_its_text_replays_it() {
        let mut first = Tape::seeded(7);
        let drawn: Vec<u64> = (0..50).map(|_| first.below(1000)).collect();
        let mut again = Tape::from_hex(&to_hex(first.used())).expect("its own text");
        assert_eq!(drawn, (0..50).map(|_| again.below(1000)).collect::<Vec<_>>());
        let mut other = Tape::seeded(8);
        assert_ne!(drawn, (0..50).map(|_| other.below(1000)).collect::<Vec<_>>());
    }

    #[test]
    fn past_its_end_a_tape_chooses_the_first() {
        let mut tape = Tape::replay(&[]);
        assert_eq!(
            (tape.below(9), tape.between(3, 5), tape.chance(200), *tape.choose(&["a", "b"])),
            (0, 3, false, "a")
        );
        assert_eq!(tape.word(), 0);
    }

    #[test]
    fn draws_stay_in_their_bounds() {
        let mut tape = Tape::seeded(1);
        for bound in [1, 2, 255, 256, 257, 1 << 40, u64::MAX] {
            assert!((0..100).all(|_| tape.below(bound) < bound));
            assert!(
                (0..100).all(|_| { (5..=bound.saturating_add(5)).contains(&tape.between(5, bound.saturating_add(5))) })
            );
        }
        assert!((0..300).any(|_| tape.chance(1)) || (0..1000).any(|_| tape.chance(1)));
        assert!((0..1000).all(|_| !tape.chance(0)));
    }

    #[test]
    fn shrinking_finds_what_matters() {
        let tape = Tape::seeded(3);
        let mut read = tape.clone();
        (0..200).for_each(|_| _ = read.byte());
        let mut bytes = read.used().to_vec();
        bytes[150] = 200;
        let small = shrink(&bytes, 5_000, |bytes| bytes.iter().any(|byte| *byte >= 100));
        assert_eq!(small, [100]);
    }
}
