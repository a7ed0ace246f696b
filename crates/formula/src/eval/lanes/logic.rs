//! Kleene logic and selection on words of 64 rows.

use super::{In, Native, Operand, Valid, spread};

/// A connective of two booleans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Connective {
    And,
    Or,
    Xor,
}

/// Kleene logic. Returns whether the result has nulls.
pub(crate) fn connect(
    connective: Connective,
    a: &Operand<'_>,
    b: &Operand<'_>,
    out: &mut [u64],
    valid: &mut [u64],
) -> bool {
    let nulls = a.valid.has_nulls() || b.valid.has_nulls();
    for (index, (word, valid)) in out.iter_mut().zip(valid).enumerate() {
        let (x, y) = (a.word(index), b.word(index));
        let (vx, vy) = (a.valid.word(index), b.valid.word(index));
        match connective {
            Connective::And => {
                *word = x & y;
                *valid = (vx & vy) | (vx & !x) | (vy & !y);
            }
            Connective::Or => {
                *word = x | y;
                *valid = (vx & vy) | (vx & x) | (vy & y);
            }
            Connective::Xor => {
                *word = x ^ y;
                *valid = vx & vy;
            }
        }
    }
    nulls
}

/// The bits where a condition is known to be true.
pub(crate) fn truth(condition: &Operand<'_>, out: &mut [u64]) {
    for (index, word) in out.iter_mut().enumerate() {
        *word = condition.word(index) & condition.valid.word(index);
    }
}

/// `out[i] = if mask[i] { a[i] } else { b[i] }`.
pub(crate) fn select<T: Native>(mask: &[u64], a: In<'_, T>, b: In<'_, T>, out: &mut [T]) {
    simd::widest(Select { mask, a, b, out });
}

struct Select<'a, T> {
    mask: &'a [u64],
    a: In<'a, T>,
    b: In<'a, T>,
    out: &'a mut [T],
}

impl<T: Native> simd::Loop for Select<'_, T> {
    type Made = ();

    #[inline(always)]
    fn run<const BITS: usize>(self) {
        for (index, (out, word)) in self.out.chunks_mut(64).zip(self.mask).enumerate() {
            let a = part(self.a, index, out.len());
            let b = part(self.b, index, out.len());
            match (*word, a, b) {
                (0, _, In::Many(b)) => out.copy_from_slice(b),
                (0, _, In::One(b)) => out.fill(b),
                (u64::MAX, In::Many(a), _) => out.copy_from_slice(a),
                (u64::MAX, In::One(a), _) => out.fill(a),
                (word, a, b) => choose(&spread(word), a, b, out),
            }
        }
    }
}

#[inline(always)]
fn choose<T: Native>(mask: &[u8; 64], a: In<'_, T>, b: In<'_, T>, out: &mut [T]) {
    let rows = out.iter_mut().zip(mask);
    match (a, b) {
        (In::Many(a), In::Many(b)) => {
            rows.zip(a.iter().zip(b)).for_each(|((out, mask), (a, b))| *out = a.if_or(*mask != 0, *b))
        }
        (In::Many(a), In::One(b)) => rows.zip(a).for_each(|((out, mask), a)| *out = a.if_or(*mask != 0, b)),
        (In::One(a), In::Many(b)) => rows.zip(b).for_each(|((out, mask), b)| *out = a.if_or(*mask != 0, *b)),
        (In::One(a), In::One(b)) => rows.for_each(|(out, mask)| *out = a.if_or(*mask != 0, b)),
    }
}

fn part<T: Native>(values: In<'_, T>, index: usize, rows: usize) -> In<'_, T> {
    match values {
        In::Many(values) => In::Many(&values[64 * index..64 * index + rows]),
        one => one,
    }
}

/// Selection of bits and of validity.
pub(crate) fn select_words(mask: &[u64], a: impl Fn(usize) -> u64, b: impl Fn(usize) -> u64, out: &mut [u64]) {
    for (index, (out, mask)) in out.iter_mut().zip(mask).enumerate() {
        *out = (mask & a(index)) | (!mask & b(index));
    }
}

/// Rows where both have a value. Returns whether there can be nulls.
pub(crate) fn meet(a: Valid<'_>, b: Valid<'_>, out: &mut [u64]) -> bool {
    match (a, b) {
        (Valid::All, Valid::All) => return false,
        (Valid::Never, _) | (_, Valid::Never) => out.fill(0),
        (Valid::Words(words), Valid::All) | (Valid::All, Valid::Words(words)) => out.copy_from_slice(words),
        (Valid::Words(a), Valid::Words(b)) => {
            out.iter_mut().zip(a.iter().zip(b)).for_each(|(out, (a, b))| *out = a & b)
        }
    }
    true
}
