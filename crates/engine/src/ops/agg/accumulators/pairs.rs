//! Correlations, and variances of weighted values: from exact sums, so that a removal leaves no trace.
//!
//!   correlation  (n Σxy − Σx Σy) / √(n Σxx − (Σx)²) / √(n Σyy − (Σy)²)
//!   variance     (Σw Σwxx − (Σwx)²) / ((Σw)² − Σww)      equal weights: that of the values

use super::exact::{ExactSum, grow_expansion, rounded, two_product};
use super::moments::Products;
use super::{Accumulator, Removable};

/// What a correlation is made of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Correlation {
    count: i64,
    sums: [ExactSum; 2],
    /// Of the first with itself, of the second with itself, of both.
    products: [Products; 3],
}

impl Correlation {
    fn enter(&mut self, [first, second]: [f64; 2], sign: i64) {
        let pairs = [[first; 2], [second; 2], [first, second]];
        self.products.iter_mut().zip(pairs).for_each(|(products, pair)| products.enter(pair, sign));
        self.count += sign;
    }
}

impl Accumulator for Correlation {
    type In = [f64; 2];
    type How = ();
    /// None of fewer than two pairs; NaN where a column is constant.
    type Out = Option<f64>;

    fn add(&mut self, pair: [f64; 2]) {
        self.sums.iter_mut().zip(pair).for_each(|(sum, value)| sum.add(value));
        self.enter(pair, 1);
    }

    fn merge(&mut self, other: &Correlation) {
        self.count += other.count;
        self.sums.iter_mut().zip(&other.sums).for_each(|(sum, other)| sum.merge(other));
        self.products.iter_mut().zip(&other.products).for_each(|(own, other)| own.merge(other));
    }

    fn value(&self, (): &()) -> Option<f64> {
        let [first, second] = &self.sums;
        let of = |at: usize, sums: [&ExactSum; 2]| self.products[at].covariance(self.count, sums, 1);
        // Large columns are scaled alike above and below the line.
        let (both, _) = of(2, [first, second])?;
        let (own, _) = of(0, [first, first])?;
        let (other, _) = of(1, [second, second])?;
        Some((both / own.max(0.0).sqrt() / other.max(0.0).sqrt()).clamp(-1.0, 1.0))
    }
}

impl Removable for Correlation {
    fn remove(&mut self, pair: [f64; 2]) {
        self.sums.iter_mut().zip(pair).for_each(|(sum, value)| sum.remove(value));
        self.enter(pair, -1);
    }

    fn unmerge(&mut self, other: &Correlation) {
        self.count -= other.count;
        self.sums.iter_mut().zip(&other.sums).for_each(|(sum, other)| sum.unmerge(other));
        self.products.iter_mut().zip(&other.products).for_each(|(own, other)| own.unmerge(other));
    }
}

/// Values and weights from here on, 1.6e60, are too large for exact products.
const BEYOND: f64 = f64::from_bits((1023 + 200) << 52);

/// What the variance of weighted values is made of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Weighted {
    count: i64,
    /// Pairs that are too large, infinite or NaN.
    beyond: i64,
    /// Of weights, of their squares, of weights times values, and times values twice.
    sums: [ExactSum; 4],
}

impl Weighted {
    fn enter(&mut self, [value, weight]: [f64; 2], sign: i64) {
        self.count += sign;
        if !(value.abs() < BEYOND && weight.abs() < BEYOND) {
            self.beyond += sign;
            return;
        }
        let factor = sign as f64;
        let [weights, squares, first, second] = &mut self.sums;
        weights.add_finite(factor * weight);
        let push = |sum: &mut ExactSum, (product, error): (f64, f64)| {
            sum.add_finite(factor * product);
            sum.add_finite(factor * error);
        };
        push(squares, two_product(weight, weight));
        let (product, error) = two_product(weight, value);
        push(first, (product, error));
        push(second, two_product(product, value));
        push(second, two_product(error, value));
    }
}

/// a b − c d of exact sums, rounded once; without `d` that is a b − c.
fn difference(a: &ExactSum, b: &ExactSum, c: &ExactSum, d: Option<&ExactSum>) -> f64 {
    let mut total = Vec::new();
    let mut push = |a: f64, b: f64| {
        let (product, error) = two_product(a, b);
        grow_expansion(&mut total, product);
        grow_expansion(&mut total, error);
    };
    let b = b.parts();
    a.parts().into_iter().for_each(|a| b.iter().for_each(|b| push(a, *b)));
    let d = d.map_or_else(|| vec![1.0], ExactSum::parts);
    c.parts().into_iter().for_each(|c| d.iter().for_each(|d| push(-c, *d)));
    rounded(&total)
}

impl Accumulator for Weighted {
    /// Value and weight.
    type In = [f64; 2];
    /// Whether it is the standard deviation.
    type How = bool;
    /// None of fewer than two pairs; NaN where weights leave nothing to divide by.
    type Out = Option<f64>;

    fn add(&mut self, pair: [f64; 2]) {
        self.enter(pair, 1);
    }

    fn merge(&mut self, other: &Weighted) {
        self.count += other.count;
        self.beyond += other.beyond;
        self.sums.iter_mut().zip(&other.sums).for_each(|(sum, other)| sum.merge(other));
    }

    fn value(&self, root: &bool) -> Option<f64> {
        if self.count < 2 {
            return None;
        }
        let [weights, squares, first, second] = &self.sums;
        let below = difference(weights, weights, squares, None);
        if self.beyond > 0 || below.partial_cmp(&0.0) != Some(std::cmp::Ordering::Greater) {
            return Some(f64::NAN);
        }
        let variance = difference(weights, second, first, Some(first)) / below;
        Some(if *root { variance.sqrt() } else { variance })
    }
}

impl Removable for Weighted {
    fn remove(&mut self, pair: [f64; 2]) {
        self.enter(pair, -1);
    }

    fn unmerge(&mut self, other: &Weighted) {
        self.count -= other.count;
        self.beyond -= other.beyond;
        self.sums.iter_mut().zip(&other.sums).for_each(|(sum, other)| sum.unmerge(other));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weighted(pairs: &[[f64; 2]]) -> Option<f64> {
        let mut made = Weighted::default();
        pairs.iter().for_each(|pair| made.add(*pair));
        made.value(&false)
    }

    #[test]
    fn equal_weights_are_none() {
        for weight in [1.0, 0.1, 1e9, 1e-9] {
            let found = weighted(&[[1.0, weight], [2.0, weight], [4.0, weight]]).expect("three values");
            assert!((found - 7.0 / 3.0).abs() < 1e-15, "{found}");
            assert_eq!(weighted(&[[0.1, weight]; 5]), Some(0.0));
        }
        assert_eq!(weighted(&[[1.0, 2.0]]), None);
        assert!(weighted(&[[1.0, 0.0], [2.0, 0.0]]).is_some_and(f64::is_nan));
        assert!(weighted(&[[1.0, f64::NAN], [2.0, 1.0]]).is_some_and(f64::is_nan));
    }

    #[test]
    fn columns_of_every_size_are_correlated() {
        for size in [1e-150, 1.0, 1e150, 1e300] {
            let mut made = Correlation::default();
            for (x, y) in [(1.0, 3.0), (2.0, 5.0), (4.0, 9.0)] {
                made.add([x * size, y]);
            }
            assert!(made.value(&()).is_some_and(|found| (found - 1.0).abs() < 1e-14), "{size}");
            made.add([1.0 * size, 9.0]);
            assert!(made.value(&()).is_some_and(|found| found < 0.5));
        }
        let mut constant = Correlation::default();
        [[1.0, 2.0], [1.0, 3.0]].into_iter().for_each(|pair| constant.add(pair));
        assert!(constant.value(&()).is_some_and(f64::is_nan));
    }
}
