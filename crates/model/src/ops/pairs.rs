//! Correlations and weighted variances, from centred values and from the differences of all pairs.

use crate::ops::spread::floats;
use crate::sum::exact_sum;
use crate::value::Value;

/// The pairs without a null as numbers.
fn numbers(cells: &[(&Value, &Value)]) -> (Vec<f64>, Vec<f64>) {
    let pairs = cells.iter().filter(|(first, second)| !first.is_null() && !second.is_null());
    let (first, second): (Vec<&Value>, Vec<&Value>) = pairs.copied().unzip();
    (floats(&first), floats(&second))
}

/// A value of which nothing is known: something leaves the range of doubles on the way, or its last bits decide.
fn anything() -> Value {
    Value::Near(f64::NAN, f64::INFINITY)
}

/// The correlation of pairs without a null, null of fewer than two.
pub(super) fn correlation(cells: &[(&Value, &Value)]) -> Value {
    let (first, second) = numbers(cells);
    if first.len() < 2 {
        return Value::Null;
    }
    if first.iter().chain(&second).any(|x| !x.is_finite()) {
        return Value::Float(f64::NAN);
    }
    if [&first, &second].iter().any(|values| values.iter().all(|x| *x == values[0])) {
        return Value::Float(f64::NAN);
    }
    let count = first.len() as f64;
    let (mut centred, mut rounding) = (Vec::new(), 0.0);
    for values in [first, second] {
        let most = values.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
        if most < 1e-140 {
            return anything();
        }
        let values: Vec<f64> = values.iter().map(|x| x / most).collect();
        let mean = exact_sum(&values) / count;
        let values: Vec<f64> = values.iter().map(|x| x - mean).collect();
        let size = values.iter().map(|x| x * x).sum::<f64>().sqrt();
        rounding += count * f64::EPSILON / size;
        centred.push(values.into_iter().map(|x| x / size).collect::<Vec<f64>>());
    }
    if !rounding.is_finite() || rounding > 1e-3 {
        return anything();
    }
    let products: Vec<f64> = centred[0].iter().zip(&centred[1]).map(|(x, y)| x * y).collect();
    Value::Near(exact_sum(&products).clamp(-1.0, 1.0), 1e-12 + 16.0 * rounding)
}

/// The variance of weighted values without a null, null of fewer than two: what the differences of all pairs give.
pub(super) fn weighted_variance(cells: &[(&Value, &Value)]) -> Value {
    let (values, weights) = numbers(cells);
    if values.len() < 2 {
        return Value::Null;
    }
    if values.iter().chain(&weights).any(|x| x.is_nan() || x.abs() >= 2f64.powi(200)) {
        return Value::Float(f64::NAN);
    }
    let (mut shares, mut squares) = (Vec::new(), Vec::new());
    for one in 0..values.len() {
        for other in 0..one {
            let share = weights[one] * weights[other];
            shares.push(2.0 * share);
            squares.push(share * (values[one] - values[other]) * (values[one] - values[other]));
        }
    }
    let (below, size) = (exact_sum(&shares), shares.iter().map(|x| x.abs()).sum::<f64>());
    if size == 0.0 {
        return Value::Float(f64::NAN);
    }
    // Of weights that cancel, or are next to nothing, the last bits decide.
    if below.abs() < 1e-9 * size || size < 1e-150 {
        return anything();
    }
    if below < 0.0 {
        return Value::Float(f64::NAN);
    }
    let lost = squares.iter().map(|x| x.abs()).sum::<f64>();
    let variance = exact_sum(&squares) / below;
    Value::Near(variance, 1e-6 * lost / size + 1e-9 * variance.abs() + 1e-290)
}
