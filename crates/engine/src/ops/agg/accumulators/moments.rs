//! Variances and covariances: from the exact sums of values and of their products, so that a removal leaves no trace and constant values
//! have a variance of exactly 0.
//!
//!   n Σxx − (Σx)²  over  n (n − ddof)        computed exactly, then rounded once
//!
//! The product of two doubles is the sum of two doubles, unless it leaves their range. A value from 2^470 on is scaled
//! down by 2^600 before it is multiplied, and the products are summed by how many of their factors were.

use super::exact::{ExactSum, HUGE, grow_expansion, rounded, two_product, two_sum};
use super::quick::{Quick, ThreeDoubles, TwoDoubles};
use super::{Accumulator, Removable};

/// From here on a value is scaled down: products of smaller ones, and the squares of their sums, are doubles.
const LARGE: f64 = f64::from_bits((1023 + 470) << 52);
/// 2^-600 and back.
const SMALLER: f64 = f64::from_bits((1023 - 600) << 52);
const LARGER: f64 = f64::from_bits((1023 + 600) << 52);

/// The exact sum of products of pairs; pairs that are not finite are left out.
#[derive(Clone, Debug, Default)]
pub(super) struct Products {
    /// Of factors that are not large.
    sum: ExactSum,
    large: Option<Box<LargeProducts>>,
}

/// The sums of products with large factors, which are scaled down by [`SMALLER`].
#[derive(Clone, Debug, Default)]
struct LargeProducts {
    /// One factor is large.
    one: ExactSum,
    both: ExactSum,
    /// How many of the first factors are large, and how many of the second.
    counts: [i64; 2],
}

impl Products {
    /// The product of a pair enters, or leaves with a sign of −1.
    #[inline]
    pub(super) fn enter(&mut self, pair: [f64; 2], sign: i64) {
        if pair[0].abs() < LARGE && pair[1].abs() < LARGE {
            add_product(&mut self.sum, pair, sign);
        } else {
            self.enter_large(pair, sign);
        }
    }

    #[cold]
    fn enter_large(&mut self, pair: [f64; 2], sign: i64) {
        if !pair.iter().all(|factor| factor.is_finite()) {
            return;
        }
        let is_large = pair.map(|factor| factor.abs() >= LARGE);
        let scaled = [0, 1].map(|at| if is_large[at] { pair[at] * SMALLER } else { pair[at] });
        let large = self.large.get_or_insert_default();
        let sum = if is_large == [true; 2] { &mut large.both } else { &mut large.one };
        add_product(sum, scaled, sign);
        for (count, is_large) in large.counts.iter_mut().zip(is_large) {
            *count += sign * i64::from(is_large);
        }
        self.tidy();
    }

    /// Frees the sums of large products where there are none.
    fn tidy(&mut self) {
        if self.large.as_ref().is_some_and(|large| large.counts == [0; 2]) {
            self.large = None;
        }
    }

    pub(super) fn merge(&mut self, other: &Products) {
        self.join(other, ExactSum::merge, 1);
    }

    pub(super) fn unmerge(&mut self, other: &Products) {
        self.join(other, ExactSum::unmerge, -1);
    }

    fn join(&mut self, other: &Products, join: fn(&mut ExactSum, &ExactSum), sign: i64) {
        join(&mut self.sum, &other.sum);
        let Some(others) = &other.large else { return };
        let own = self.large.get_or_insert_default();
        join(&mut own.one, &others.one);
        join(&mut own.both, &others.both);
        own.counts = [0, 1].map(|at| own.counts[at] + sign * others.counts[at]);
        self.tidy();
    }

    /// n Σxy − Σx Σy, exactly, then rounded once, and how often it is scaled down by [`SMALLER`].
    fn centred(&self, count: i64, sums: [&ExactSum; 2]) -> (f64, u32) {
        if let Some(centred) = self.in_pairs(count, sums) {
            return (centred, 0);
        }
        let counts = self.large.as_ref().map_or([0; 2], |large| large.counts);
        let scale = |at: usize| if counts[at] > 0 { sums[at].scaled(SMALLER) } else { sums[at].parts() };
        let times = u32::from(counts[0] > 0) + u32::from(counts[1] > 0);
        let mut total = Vec::new();
        let mut push = |a: f64, b: f64| {
            let (product, error) = two_product(a, b);
            grow_expansion(&mut total, product);
            grow_expansion(&mut total, error);
        };
        let mut of = |sum: &ExactSum, times: u32| {
            let down = |part: f64| (0..times).fold(part, |part, _| part * SMALLER);
            sum.parts().into_iter().for_each(|part| push(down(part), count as f64));
        };
        of(&self.sum, times);
        if let Some(large) = &self.large {
            of(&large.one, times - 1);
            // Without a pair of two large factors there is nothing in it.
            of(&large.both, times.saturating_sub(2));
        }
        let second = scale(1);
        for a in scale(0) {
            second.iter().for_each(|b| push(-a, *b));
        }
        (rounded(&total), times)
    }

    /// As [`centred_in_pairs`], where two doubles hold each sum.
    fn in_pairs(&self, count: i64, sums: [&ExactSum; 2]) -> Option<f64> {
        if self.large.is_some() {
            return None;
        }
        centred_in_pairs(count, self.sum.pair()?, [sums[0].pair()?, sums[1].pair()?])
    }

    /// The covariance of so many pairs with these sums; none where they are too few.
    pub(super) fn covariance(&self, count: i64, sums: [&ExactSum; 2], ddof: u8) -> Option<(f64, u32)> {
        let degrees = count - i64::from(ddof);
        if degrees <= 0 {
            return None;
        }
        if sums.iter().any(|sum| sum.special().is_some()) {
            return Some((f64::NAN, 0));
        }
        let (centred, times) = self.centred(count, sums);
        Some((centred / count as f64 / degrees as f64, times))
    }
}

/// Undoes scaling.
pub(super) fn enlarged(value: f64, times: u32) -> f64 {
    (0..times).fold(value, |value, _| value * LARGER)
}

#[inline]
fn add_product(sum: &mut ExactSum, pair: [f64; 2], sign: i64) {
    let (product, error) = two_product(pair[0], pair[1]);
    sum.add_finite(product * sign as f64);
    sum.add_finite(error * sign as f64);
}

/// What a variance and a standard deviation are made of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moments {
    count: i64,
    sum: ExactSum,
    squares: Products,
}

/// Which measure of spread is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    /// Subtracted from the count in the divisor.
    pub(crate) ddof: u8,
    /// Whether it is the standard deviation.
    pub(crate) root: bool,
}

impl Spread {
    /// The measure of so many values, of n Σxx − (Σx)²; none of too few.
    #[inline]
    pub(super) fn of(&self, centred: f64, count: i64) -> Option<f64> {
        let degrees = count - i64::from(self.ddof);
        let variance = (centred / count as f64 / degrees as f64).max(0.0);
        (degrees > 0).then(|| if self.root { variance.sqrt() } else { variance })
    }
}

impl Accumulator for Moments {
    type In = f64;
    type How = Spread;
    /// None of too few values.
    type Out = Option<f64>;

    #[inline]
    fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum.add(value);
        self.squares.enter([value; 2], 1);
    }

    fn merge(&mut self, other: &Moments) {
        self.count += other.count;
        self.sum.merge(&other.sum);
        self.squares.merge(&other.squares);
    }

    fn value(&self, how: &Spread) -> Option<f64> {
        let (variance, times) = self.squares.covariance(self.count, [&self.sum; 2], how.ddof)?;
        if variance.is_nan() {
            return Some(variance);
        }
        let variance = variance.max(0.0);
        Some(if how.root { enlarged(variance.sqrt(), times / 2) } else { enlarged(variance, times) })
    }
}

impl Removable for Moments {
    #[inline]
    fn remove(&mut self, value: f64) {
        self.count -= 1;
        self.sum.remove(value);
        self.squares.enter([value; 2], -1);
    }

    fn unmerge(&mut self, other: &Moments) {
        self.count -= other.count;
        self.sum.unmerge(&other.sum);
        self.squares.unmerge(&other.squares);
    }
}

/// n Σxy − Σx Σy from pairs of doubles, where it is certain that it is rounded as the exact value is. The pair of products may
/// leave out less than 2^-100 of their sum.
#[inline]
fn centred_in_pairs(count: i64, (product, rest): (f64, f64), [first, second]: [(f64, f64); 2]) -> Option<f64> {
    /// What is lost in pairs is less than this part of the greater term.
    const LOST: f64 = f64::from_bits((1023 - 98) << 52);
    /// Products of numbers from here on have an exact error.
    const LEAST: f64 = f64::from_bits((1023 - 400) << 52);
    let count = count as f64;
    let (whole, low) = two_product(product, count);
    let (square, low_square) = two_product(first.0, second.0);
    let most = whole.abs().max(square.abs());
    if !(LEAST..=HUGE).contains(&most) {
        return None;
    }
    let (low, low_square) = (low + rest * count, low_square + (first.0 * second.1 + first.1 * second.0));
    let (high, error) = two_sum(whole, -square);
    let (error, lost) = (error + (low - low_square), most * LOST);
    let (least, greatest) = (high + (error - lost), high + (error + lost));
    (least == greatest).then_some(least)
}

/// A value with its square and the rounding error of that; NaN in place of a value that is beyond [`QuickMoments`].
#[inline(always)]
pub(crate) fn squared(value: f64) -> [f64; 3] {
    let (square, error) = two_product(value, value);
    if value.abs() < LARGE { [value, square, error] } else { [f64::NAN; 3] }
}

/// [`Moments`] of values none of which is large, in a few words. A value is what [`squared`] gives.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QuickMoments {
    sum: TwoDoubles,
    squares: ThreeDoubles,
}

impl QuickMoments {
    /// What [`Moments`] of so many values give.
    #[inline]
    pub(crate) fn value(&self, count: i64, how: &Spread) -> Option<f64> {
        let sum = self.sum.pair();
        let centred = self.squares.pair().and_then(|squares| centred_in_pairs(count, squares, [sum, sum]));
        match centred {
            Some(centred) => how.of(centred, count),
            None => self.moments(count).value(how),
        }
    }

    #[cold]
    fn moments(&self, count: i64) -> Moments {
        let mut moments = Moments { count, ..Moments::default() };
        let (high, low) = self.sum.pair();
        [low, high].into_iter().for_each(|part| moments.sum.add_finite(part));
        self.squares.parts().into_iter().for_each(|part| moments.squares.sum.add_finite(part));
        moments
    }
}

impl Quick for QuickMoments {
    type In = [f64; 3];

    #[inline(always)]
    fn enter(&mut self, [value, square, error]: [f64; 3]) -> bool {
        self.sum.enter(value) & self.squares.enter((square, error))
    }

    #[inline(always)]
    fn leave(&mut self, [value, square, error]: [f64; 3]) -> bool {
        self.sum.enter(-value) & self.squares.enter((-square, -error))
    }
}

/// What a covariance is made of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Comoments {
    count: i64,
    sums: [ExactSum; 2],
    products: Products,
}

impl Accumulator for Comoments {
    type In = [f64; 2];
    /// What is subtracted from the count in the divisor.
    type How = u8;
    /// None of too few pairs.
    type Out = Option<f64>;

    #[inline]
    fn add(&mut self, pair: [f64; 2]) {
        self.count += 1;
        self.sums.iter_mut().zip(pair).for_each(|(sum, value)| sum.add(value));
        self.products.enter(pair, 1);
    }

    fn merge(&mut self, other: &Comoments) {
        self.count += other.count;
        self.sums.iter_mut().zip(&other.sums).for_each(|(sum, other)| sum.merge(other));
        self.products.merge(&other.products);
    }

    fn value(&self, ddof: &u8) -> Option<f64> {
        let (covariance, times) = self.products.covariance(self.count, self.sums.each_ref(), *ddof)?;
        Some(enlarged(covariance, times))
    }
}

impl Removable for Comoments {
    #[inline]
    fn remove(&mut self, pair: [f64; 2]) {
        self.count -= 1;
        self.sums.iter_mut().zip(pair).for_each(|(sum, value)| sum.remove(value));
        self.products.enter(pair, -1);
    }

    fn unmerge(&mut self, other: &Comoments) {
        self.count -= other.count;
        self.sums.iter_mut().zip(&other.sums).for_each(|(sum, other)| sum.unmerge(other));
        self.products.unmerge(&other.products);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variance(values: &[f64]) -> f64 {
        let mut moments = Moments::default();
        values.iter().for_each(|value| moments.add(*value));
        moments.value(&Spread { ddof: 1, root: false }).expect("two values or more")
    }

    /// Squares that are doubles, but not in the range in which sums are made of two.
    #[test]
    fn values_of_every_size_have_their_spread() {
        for exponent in (-480..=1020).step_by(20) {
            let size = 2f64.powi(exponent);
            let mut moments = Moments::default();
            [size, 3.0 * size].into_iter().for_each(|value| moments.add(value));
            let deviation = moments.value(&Spread { ddof: 0, root: true });
            assert_eq!(deviation, Some(size), "2^{exponent}");
        }
    }

    #[test]
    fn a_large_value_leaves_no_trace() {
        let mut moments = Moments::default();
        let all = [1.0, 1e200, f64::MAX, 2.0, f64::NAN, -1e145, 4.0];
        all.iter().for_each(|value| moments.add(*value));
        [1e200, f64::MAX, f64::NAN, -1e145].iter().for_each(|value| moments.remove(*value));
        assert_eq!(moments.value(&Spread { ddof: 1, root: false }), Some(variance(&[1.0, 2.0, 4.0])));
        assert!(moments.squares.large.is_none());
    }

    /// Either column may be of any size: (1, 5), (3, 1) has the covariance -2 · 4 / 2.
    #[test]
    fn pairs_of_every_size_have_their_covariance() {
        for (first, second) in (-400..=1000).step_by(50).flat_map(|a| (-400..=1000).step_by(50).map(move |b| (a, b))) {
            let size = [first, second].map(|exponent| 2f64.powi(exponent));
            let mut pairs = Comoments::default();
            [[1.0, 5.0], [7.0, 7.0], [3.0, 1.0]]
                .iter()
                .for_each(|pair| pairs.add([pair[0] * size[0], pair[1] * size[1]]));
            pairs.remove([7.0 * size[0], 7.0 * size[1]]);
            assert_eq!(pairs.value(&1), Some(-4.0 * size[0] * size[1]), "2^{first} and 2^{second}");
        }
    }

    #[test]
    fn constant_values_have_no_spread() {
        for value in [0.1, 1e-200, 1e100, 1e145, 1e250, f64::MAX] {
            assert_eq!(variance(&[value; 7]), 0.0, "{value}");
        }
    }
}
