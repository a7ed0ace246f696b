//! Kernels that tell the shape of the values in a list, in one number: how far they lean, and how heavy their tails are.
//! Nulls are left out.

use std::sync::Arc;

use arrow_schema::DataType;

use super::declared::{FunctionSpec, Takes, method};
use super::reduce::of_floats;
use crate::eval::node::Whole;
use crate::tree::family::Family;
use crate::tree::function::{Function, List};

const LIST: Takes = (1, 1, "a list");

pub(crate) const FUNCTIONS: &[FunctionSpec] = &[
    method(Function::List(List::Skew { bias: true }), "list.skew", LIST, |b, c| {
        b.of_list(c, |l| l.numbers().map(|()| (skew(c.flag("bias")), DataType::Float64)))
    })
    .always(Family::Unknown),
    method(Function::List(List::Kurtosis { fisher: true, bias: true }), "list.kurtosis", LIST, |b, c| {
        b.of_list(c, |l| l.numbers().map(|()| (kurtosis(c.flag("fisher"), c.flag("bias")), DataType::Float64)))
    })
    .always(Family::Unknown),
];

/// How far the values lean to one side: the third central moment, in standard deviations. Null of nothing; NaN of values
/// that are all the same, and where one is not finite.
fn skew(bias: bool) -> Whole {
    Arc::new(move |args, rows| {
        of_floats(args, rows, |_, values| {
            let count = values.len() as f64;
            let Central { second, third, .. } = Central::of(&values)?;
            let biased = third / second.powf(1.5);
            match bias {
                true => Some(biased),
                false if values.len() < 3 => None,
                false => Some(biased * (count * (count - 1.0)).sqrt() / (count - 2.0)),
            }
        })
    })
}

/// How heavy the tails of the values are: the fourth central moment over the square of the variance, less 3 by Fisher.
fn kurtosis(fisher: bool, bias: bool) -> Whole {
    let normal = if fisher { 0.0 } else { 3.0 };
    Arc::new(move |args, rows| {
        of_floats(args, rows, |_, values| {
            let count = values.len() as f64;
            let Central { second, fourth, .. } = Central::of(&values)?;
            let biased = fourth / (second * second);
            match bias {
                true => Some(biased - 3.0 + normal),
                false if values.len() < 4 => None,
                false => {
                    let excess = (count * count - 1.0) * biased - 3.0 * (count - 1.0) * (count - 1.0);
                    Some(excess / ((count - 2.0) * (count - 3.0)) + normal)
                }
            }
        })
    })
}

/// Central moments, of values that were scaled by a power of two so that they are about 1 away from each other: what is
/// made of them does not know the scale, and values that lie the same on both sides lean to none.
struct Central {
    second: f64,
    third: f64,
    fourth: f64,
}

impl Central {
    /// None of nothing.
    fn of(values: &[f64]) -> Option<Central> {
        // Differences of values that are so much smaller are doubles.
        let scale = if values.iter().any(|value| value.abs() > f64::MAX / 4.0) { 0.25 } else { 1.0 };
        let first = *values.first()? * scale;
        let count = values.len() as f64;
        // From the first value on: values that are all the same have no spread at all.
        let away = values.iter().map(|value| value * scale - first);
        let most = away.clone().fold(0.0_f64, |most, away| most.max(away.abs()));
        let unit = f64::from_bits(most.to_bits() & f64::INFINITY.to_bits());
        // The least of numbers have no exponent.
        let unit = if unit > 0.0 { unit } else { most };
        let scaled: Vec<f64> = away.map(|away| away / unit).collect();
        let mean = scaled.iter().sum::<f64>() / count;
        let moment = |power: i32| scaled.iter().map(|value| (value - mean).powi(power)).sum::<f64>() / count;
        Some(Central { second: moment(2), third: moment(3), fourth: moment(4) })
    }
}
