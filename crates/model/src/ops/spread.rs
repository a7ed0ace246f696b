//! Variances and covariances, from centred values.

use crate::sum::exact_sum;
use crate::value::Value;

/// The values as floats; true is 1.
pub(super) fn floats(values: &[&Value]) -> Vec<f64> {
    let number = |value: &&Value| match value {
        Value::Bool(x) => f64::from(u8::from(*x)),
        other => other.as_number().expect("only numbers are summed"),
    };
    values.iter().map(number).collect()
}

/// The variance of numbers, null of too few.
pub(super) fn variance(values: &[&Value], ddof: u64) -> Value {
    let count = values.len() as u64;
    if count <= ddof {
        return Value::Null;
    }
    let floats = floats(values);
    if floats.iter().any(|x| !x.is_finite()) {
        return Value::Near(f64::NAN, 0.0);
    }
    if floats.iter().all(|x| *x == floats[0]) {
        return Value::Float(0.0);
    }
    let mean = exact_sum(&floats) / count as f64;
    let squares: Vec<f64> = floats.iter().map(|x| (x - mean) * (x - mean)).collect();
    // The mean is rounded; its error shifts every difference alike, so what it adds is taken off.
    let drift = exact_sum(&floats.iter().map(|x| x - mean).collect::<Vec<_>>());
    let variance = (exact_sum(&squares) - drift * drift / count as f64) / (count - ddof) as f64;
    let size: f64 = floats.iter().map(|x| x * x).sum();
    if !size.is_finite() || !variance.is_finite() {
        // Whatever overflows, a variance is not negative.
        return Value::Near(if variance.is_nan() { f64::INFINITY } else { variance }, f64::INFINITY);
    }
    // A double-double sum of squares loses ε² of its size; the centred differences lose ε of theirs.
    let within = 1e-12 * variance + 64.0 * f64::EPSILON * f64::EPSILON * size + f64::MIN_POSITIVE;
    Value::Near(variance.max(0.0), within)
}

/// The standard deviation of a variance.
pub(super) fn root(variance: &Value) -> Value {
    match variance {
        Value::Near(x, within) if x.is_nan() || within.is_infinite() => Value::Near(x.sqrt(), *within),
        Value::Near(x, within) => {
            let spread = ((x + within).sqrt() - x.sqrt()).max(x.sqrt() - (x - within).max(0.0).sqrt());
            Value::Near(x.sqrt(), spread + f64::EPSILON * x.sqrt())
        }
        Value::Float(x) => Value::Float(x.sqrt()),
        other => other.clone(),
    }
}

/// The covariance of pairs without a null, null of too few.
pub(super) fn covariance(cells: &[(&Value, &Value)], ddof: u64) -> Value {
    let pairs = cells.iter().filter(|(first, second)| !first.is_null() && !second.is_null());
    let (first, second): (Vec<&Value>, Vec<&Value>) = pairs.copied().unzip();
    let count = first.len() as u64;
    if count <= ddof {
        return Value::Null;
    }
    let (first, second) = (floats(&first), floats(&second));
    if first.iter().chain(&second).any(|x| !x.is_finite()) {
        return Value::Near(f64::NAN, 0.0);
    }
    // Each column by its own power of two, so that nothing leaves the range of doubles on the way.
    let scaled = |values: &[f64]| {
        let most = values.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
        let exponent = if most == 0.0 { 0 } else { most.log2().floor() as i32 };
        let half = exponent / 2;
        let down = |x: &f64| x * 2f64.powi(-half) * 2f64.powi(half - exponent);
        (values.iter().map(down).collect::<Vec<f64>>(), exponent)
    };
    let centred = |values: &[f64]| {
        let mean = exact_sum(values) / count as f64;
        values.iter().map(|x| x - mean).collect::<Vec<f64>>()
    };
    let ((first, up), (second, more)) = (scaled(&first), scaled(&second));
    let (first, second) = (centred(&first), centred(&second));
    let products: Vec<f64> = first.iter().zip(&second).map(|(x, y)| x * y).collect();
    // Means are rounded; their errors shift all differences alike, so what they add is taken off.
    let drift = exact_sum(&first) * exact_sum(&second) / count as f64;
    let divisor = (count - ddof) as f64;
    let covariance = (exact_sum(&products) - drift) / divisor;
    let within = 1e-12 * (products.iter().map(|x| x.abs()).sum::<f64>() + drift.abs()) / divisor;
    let half = (up + more) / 2;
    let back = |x: f64| x * 2f64.powi(half) * 2f64.powi(up + more - half);
    let (covariance, within) = (back(covariance), back(within) + f64::MIN_POSITIVE);
    Value::Near(covariance, if covariance.is_finite() { within } else { f64::INFINITY })
}
