//! Sums of floats without error: what is kept is the exact sum of the values present.
//!
//! A sum is a pair of doubles whose exact total is the sum (error-free additions); the rare bits
//! that do not fit go to a list of further doubles. Adding and taking away are exact, so removing
//! a value restores the sum to the bit, the order of additions does not matter, and the result is
//! the correctly rounded sum of the rows now present. NaN and infinities are counted apart.
//!
//! Source: J. R. Shewchuk, Adaptive Precision Floating-Point Arithmetic (1997).

use std::collections::HashMap;

/// Values at least this large are summed in their own scale, so that no partial sum overflows.
pub(super) const HUGE: f64 = f64::from_bits((1023 + 960) << 52);
/// 2^-200 and back.
const DOWN: f64 = f64::from_bits((1023 - 200) << 52);
pub(crate) const UP: f64 = f64::from_bits((1023 + 200) << 52);

/// One exact sum for each slot.
#[derive(Default)]
pub(crate) struct ExactSums {
    high: Vec<f64>,
    low: Vec<f64>,
    rest: HashMap<u32, Vec<f64>>,
    huge: HashMap<u32, Vec<f64>>,
    special: HashMap<u32, Special>,
}

/// Values that no sum holds.
#[derive(Clone, Copy, Default, PartialEq)]
struct Special {
    nan: i64,
    plus: i64,
    minus: i64,
}

impl ExactSums {
    pub(crate) fn grow(&mut self, slots: usize) {
        self.high.resize(slots, 0.0);
        self.low.resize(slots, 0.0);
    }

    pub(crate) fn reset(&mut self, slot: u32) {
        self.high[slot as usize] = 0.0;
        self.low[slot as usize] = 0.0;
        if !(self.rest.is_empty() && self.huge.is_empty() && self.special.is_empty()) {
            self.rest.remove(&slot);
            self.huge.remove(&slot);
            self.special.remove(&slot);
        }
    }

    /// Adds a value.
    #[inline]
    pub(crate) fn add(&mut self, slot: u32, value: f64) {
        if value.abs() < HUGE {
            self.add_finite(slot, value);
        } else {
            self.add_rare(slot, value, 1);
        }
    }

    /// Takes a value away that was added before.
    #[inline]
    pub(crate) fn remove(&mut self, slot: u32, value: f64) {
        if value.abs() < HUGE {
            self.add_finite(slot, -value);
        } else {
            self.add_rare(slot, value, -1);
        }
    }

    /// Adds a value that is less than [`HUGE`], or a part of a sum of such.
    #[inline]
    pub(super) fn add_finite(&mut self, slot: u32, value: f64) {
        let at = slot as usize;
        let (high, error) = two_sum(self.high[at], value);
        let (low, lost) = two_sum(self.low[at], error);
        if lost == 0.0 {
            self.high[at] = high;
            self.low[at] = low;
        } else {
            self.spill(slot, value);
        }
    }

    #[cold]
    fn spill(&mut self, slot: u32, value: f64) {
        let at = slot as usize;
        let rest = self.rest.entry(slot).or_default();
        let mut parts = std::mem::take(rest);
        for part in [self.low[at], self.high[at], value] {
            grow_expansion(&mut parts, part);
        }
        self.high[at] = parts.pop().unwrap_or(0.0);
        self.low[at] = parts.pop().unwrap_or(0.0);
        if parts.is_empty() {
            self.rest.remove(&slot);
        } else {
            *rest = parts;
        }
    }

    #[cold]
    fn add_rare(&mut self, slot: u32, value: f64, times: i64) {
        if value.is_finite() {
            let parts = self.huge.entry(slot).or_default();
            grow_expansion(parts, value * times as f64 * DOWN);
            if parts.iter().all(|part| *part == 0.0) {
                self.huge.remove(&slot);
            }
            return;
        }
        let special = self.special.entry(slot).or_default();
        match value {
            value if value.is_nan() => special.nan += times,
            value if value > 0.0 => special.plus += times,
            _ => special.minus += times,
        }
        if *special == Special::default() {
            self.special.remove(&slot);
        }
    }

    /// The sum, correctly rounded.
    pub(crate) fn value(&self, slot: u32) -> f64 {
        if let Some(special) = self.special(slot) {
            return special;
        }
        if self.rest.is_empty() && self.huge.is_empty() {
            return self.high[slot as usize] + self.low[slot as usize];
        }
        if self.huge.contains_key(&slot) {
            return self.scaled_value(slot) * UP;
        }
        rounded(&self.parts(slot))
    }

    /// The sum of what is finite divided by [`UP`]: within the range of doubles where the sum is not.
    pub(crate) fn scaled_value(&self, slot: u32) -> f64 {
        let mut parts = self.huge.get(&slot).cloned().unwrap_or_default();
        self.parts(slot).into_iter().for_each(|part| grow_expansion(&mut parts, part * DOWN));
        rounded(&parts)
    }

    /// NaN or an infinity, if such values are present.
    pub(crate) fn special(&self, slot: u32) -> Option<f64> {
        if self.special.is_empty() {
            return None;
        }
        let special = self.special.get(&slot)?;
        Some(match (special.nan, special.plus, special.minus) {
            (0, _, 0) => f64::INFINITY,
            (0, 0, _) => f64::NEG_INFINITY,
            _ => f64::NAN,
        })
    }

    /// Doubles whose exact total is the sum of what is not huge, ascending in size.
    pub(crate) fn parts(&self, slot: u32) -> Vec<f64> {
        let mut parts = self.rest.get(&slot).cloned().unwrap_or_default();
        grow_expansion(&mut parts, self.low[slot as usize]);
        grow_expansion(&mut parts, self.high[slot as usize]);
        parts
    }

    /// Takes in another set of sums: its slot `i` is this one's `slots[i]`.
    pub(crate) fn merge(&mut self, other: &ExactSums, slots: &[u32]) {
        for (from, to) in slots.iter().enumerate() {
            self.add_finite(*to, other.high[from]);
            self.add_finite(*to, other.low[from]);
        }
        for (from, parts) in &other.rest {
            parts.iter().for_each(|part| self.add_finite(slots[*from as usize], *part));
        }
        for (from, parts) in &other.huge {
            let own = self.huge.entry(slots[*from as usize]).or_default();
            parts.iter().for_each(|part| grow_expansion(own, *part));
        }
        for (from, special) in &other.special {
            let own = self.special.entry(slots[*from as usize]).or_default();
            own.nan += special.nan;
            own.plus += special.plus;
            own.minus += special.minus;
        }
    }
}

/// The sum and its rounding error, exactly.
#[inline]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_part = sum - a;
    (sum, (a - (sum - b_part)) + (b - b_part))
}

/// The product and its rounding error, exactly (unless it leaves the range of doubles).
pub(crate) fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    let ((a_high, a_low), (b_high, b_low)) = (split(a), split(b));
    (product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low))
}

/// A double as two halves of 26 bits.
fn split(value: f64) -> (f64, f64) {
    const SPLITTER: f64 = 134_217_729.0; // 2^27 + 1
    let c = SPLITTER * value;
    let high = c - (c - value);
    (high, value - high)
}

/// Adds a double to a list of doubles that do not overlap, ascending in size; zeros are left out.
pub(crate) fn grow_expansion(parts: &mut Vec<f64>, value: f64) {
    let mut carry = value;
    let mut kept = 0;
    for at in 0..parts.len() {
        let (sum, error) = two_sum(carry, parts[at]);
        if error != 0.0 {
            parts[kept] = error;
            kept += 1;
        }
        carry = sum;
    }
    parts.truncate(kept);
    if carry != 0.0 {
        parts.push(carry);
    }
}

/// The total of doubles that do not overlap, ascending in size, rounded once to even.
pub(crate) fn rounded(parts: &[f64]) -> f64 {
    let mut rest = parts.iter().rev();
    let Some(mut high) = rest.next().copied() else { return 0.0 };
    let mut low = 0.0;
    for part in rest.by_ref() {
        let (sum, error) = two_sum(high, *part);
        high = sum;
        if error != 0.0 {
            low = error;
            break;
        }
    }
    // Halfway cases: what lies below decides which way to round.
    if let Some(next) = rest.next()
        && low != 0.0
        && (low < 0.0) == (*next < 0.0)
    {
        let doubled = low * 2.0;
        let moved = high + doubled;
        if doubled == moved - high {
            return moved;
        }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removing_restores_to_the_bit() {
        let mut sums = ExactSums::default();
        sums.grow(1);
        let values = [1e300, 1.0, 1e-20, -3.5e-300, 1e17, f64::MAX, -f64::MAX, f64::MIN_POSITIVE, 0.1];
        values.iter().for_each(|value| sums.add(0, *value));
        for value in &values[..8] {
            sums.remove(0, *value);
        }
        assert_eq!(sums.value(0), 0.1);
    }

    #[test]
    fn order_does_not_matter() {
        let values: Vec<f64> = (0..1000).map(|i| (f64::from(i) * 0.7).sin() * 10f64.powi(i % 40 - 20)).collect();
        let total = |order: &mut dyn Iterator<Item = &f64>| {
            let mut sums = ExactSums::default();
            sums.grow(1);
            order.for_each(|value| sums.add(0, *value));
            sums.value(0)
        };
        assert_eq!(total(&mut values.iter()).to_bits(), total(&mut values.iter().rev()).to_bits());
    }

    #[test]
    fn specials_leave_with_their_rows() {
        let mut sums = ExactSums::default();
        sums.grow(1);
        for value in [1.0, f64::NAN, f64::INFINITY, 2.0] {
            sums.add(0, value);
        }
        assert!(sums.value(0).is_nan());
        sums.remove(0, f64::NAN);
        assert_eq!(sums.value(0), f64::INFINITY);
        sums.remove(0, f64::INFINITY);
        assert_eq!(sums.value(0), 3.0);
    }

    #[test]
    fn sums_beyond_the_range_come_back() {
        let mut sums = ExactSums::default();
        sums.grow(1);
        sums.add(0, f64::MAX);
        sums.add(0, f64::MAX);
        assert_eq!(sums.value(0), f64::INFINITY);
        sums.remove(0, f64::MAX);
        assert_eq!(sums.value(0), f64::MAX);
    }

    #[test]
    fn halves_round_to_even_over_all_that_lies_below() {
        let mut sums = ExactSums::default();
        sums.grow(1);
        for value in [1.0, f64::EPSILON / 2.0, 1e-300] {
            sums.add(0, value);
        }
        assert_eq!(sums.value(0), 1.0 + f64::EPSILON);
    }
}
