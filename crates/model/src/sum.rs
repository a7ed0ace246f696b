//! Sums of floats without rounding, and the error an engine may have beside them.

/// The exactly rounded sum. NaN and ±∞ follow IEEE as if added one by one.
pub(crate) fn exact_sum(values: &[f64]) -> f64 {
    if values.iter().any(|x| !x.is_finite()) {
        return values.iter().filter(|x| !x.is_finite()).sum();
    }
    // Large values are added where no sum on the way can overflow, and none of their bits can be lost; small ones after.
    let (large, small): (Vec<f64>, Vec<f64>) = values.iter().partition(|x| x.abs() > 2f64.powi(900));
    let (down, up) = (2f64.powi(-100), 2f64.powi(100));
    let mut parts: Vec<f64> = Vec::new();
    large.iter().for_each(|value| grow(&mut parts, value * down));
    if parts.iter().any(|part| (part * up).is_infinite()) {
        return parts.iter().rev().fold(0.0, |sum, part| sum + part) * up;
    }
    parts.iter_mut().for_each(|part| *part *= up);
    small.iter().for_each(|value| grow(&mut parts, *value));
    parts.iter().rev().fold(0.0, |sum, part| sum + part)
}

/// Adds a value to a sum kept as parts that do not overlap, small ones first.
fn grow(parts: &mut Vec<f64>, value: f64) {
    let mut carry = value;
    let mut kept = Vec::with_capacity(parts.len() + 1);
    for &part in parts.iter() {
        let (large, small) = if carry.abs() >= part.abs() { (carry, part) } else { (part, carry) };
        let sum = large + small;
        let rest = small - (sum - large);
        if rest != 0.0 {
            kept.push(rest);
        }
        carry = sum;
    }
    kept.push(carry);
    *parts = kept;
}

/// 4·ε·Σ|x|, the error that a sum may have.
pub(crate) fn allowance(values: &[f64]) -> f64 {
    values.iter().filter(|x| x.is_finite()).map(|x| 4.0 * f64::EPSILON * x.abs()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_between_large_and_small() {
        assert_eq!(exact_sum(&[1e100, 1.0, -1e100]), 1.0);
        assert_eq!(exact_sum(&[0.1; 10]), 1.0);
        assert_eq!(exact_sum(&[]), 0.0);
        let least = f64::from_bits(1);
        assert_eq!(exact_sum(&[-f64::MAX, least, f64::MAX]), least);
        assert_eq!(exact_sum(&[f64::MAX, f64::MAX, least, -f64::MAX, -f64::MAX]), least);
    }

    #[test]
    fn an_overflow_on_the_way_is_none_at_the_end() {
        assert_eq!(exact_sum(&[f64::MAX, f64::MAX, -f64::MAX]), f64::MAX);
        assert_eq!(exact_sum(&[f64::MAX, f64::MAX]), f64::INFINITY);
    }

    #[test]
    fn infinities_and_nan_follow_ieee() {
        assert_eq!(exact_sum(&[1.0, f64::INFINITY]), f64::INFINITY);
        assert!(exact_sum(&[f64::NEG_INFINITY, f64::INFINITY]).is_nan());
        assert!(exact_sum(&[1.0, f64::NAN]).is_nan());
    }
}
