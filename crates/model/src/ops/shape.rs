//! How values lean, and how heavy their tails are: by the sums of powers of their distances from the mean.

use crate::ops::spread::floats;
use crate::sum::exact_sum;
use crate::value::Value;

/// The central moments of these powers in units of the range of the values, which no ratio of them knows; none where a value is not
/// finite, or all are the same.
fn moments<const N: usize>(values: &[f64], powers: [i32; N]) -> Option<[f64; N]> {
    // A range that is too great for a float is one of halves, and the least of numbers has none.
    let scale = if values.iter().any(|x| x.abs() > f64::MAX / 2.0) { 0.5 } else { 1.0 };
    let halves: Vec<f64> = values.iter().map(|x| x * scale).collect();
    let (low, high) =
        halves.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(*x), high.max(*x)));
    if values.iter().any(|x| !x.is_finite()) || low == high {
        return None;
    }
    let count = values.len() as f64;
    let places: Vec<f64> = halves.iter().map(|x| (x - low) / (high - low)).collect();
    let mean = exact_sum(&places) / count;
    Some(powers.map(|power| exact_sum(&places.iter().map(|x| (x - mean).powi(power)).collect::<Vec<_>>()) / count))
}

fn near(value: f64) -> Value {
    Value::Near(value, 1e-9 * (1.0 + value.abs()))
}

/// The third central moment in standard deviations. `bias`: of these values alone.
pub(super) fn skew(values: &[&Value], bias: bool) -> Value {
    let count = values.len() as f64;
    if values.is_empty() || !bias && values.len() < 3 {
        return Value::Null;
    }
    let Some([second, third]) = moments(&floats(values), [2, 3]) else { return Value::Near(f64::NAN, 0.0) };
    let wider = if bias { 1.0 } else { (count * (count - 1.0)).sqrt() / (count - 2.0) };
    near(wider * third / second / second.sqrt())
}

/// The fourth central moment over the square of the variance. `fisher`: less 3. `bias`: of these values alone.
pub(super) fn kurtosis(values: &[&Value], fisher: bool, bias: bool) -> Value {
    let count = values.len() as f64;
    if values.is_empty() || !bias && values.len() < 4 {
        return Value::Null;
    }
    let Some([second, fourth]) = moments(&floats(values), [2, 4]) else { return Value::Near(f64::NAN, 0.0) };
    let excess = fourth / second / second - 3.0;
    let excess = match bias {
        true => excess,
        false => (count - 1.0) / ((count - 2.0) * (count - 3.0)) * ((count + 1.0) * excess + 6.0),
    };
    near(if fisher { excess } else { excess + 3.0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_shapes() {
        let values: Vec<Value> = [1.0, 2.0, 4.0, 9.0].map(Value::Float).to_vec();
        let values: Vec<&Value> = values.iter().collect();
        let found = |value| if let Value::Near(value, _) = value { value } else { panic!("{value:?}") };
        let close = |value, wanted: f64| assert!((found(value) - wanted).abs() < 1e-12, "{wanted}");
        close(skew(&values, true), 0.768_417_257_987_822_6);
        close(skew(&values, false), 1.330_937_732_247_670_3);
        close(kurtosis(&values, true, true), -1.0);
        close(kurtosis(&values, false, true), 2.0);
        close(kurtosis(&values, true, false), 1.5);
        assert!(skew(&values[..0], true).is_null());
        assert!(kurtosis(&values[..3], true, false).is_null());
        assert!(found(skew(&values[..1], true)).is_nan());
    }
}
