//! Random numbers: drawn from the key of the row, so that neither threads nor chunks matter.
//!
//! With a seed a row gets the same number whenever it is computed; without one another each time.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, BooleanArray, Float64Array, Int64Array};

use super::declared::{FunctionSpec, Takes, free};
use crate::eval::node::{Argument, Failure, Whole};
use crate::tree::function::Function;
use crate::tree::function::Random;

const BOUNDS: Takes = (2, 2, "two bounds");

pub(crate) const FUNCTIONS: &[FunctionSpec] = &[
    free(Function::Random { kind: Random::Float, seed: None }, "random_float", BOUNDS, |b, c| b.random(c))
        .shown_by("tf.random_float(0, 10, seed=1) < 10"),
    free(Function::Random { kind: Random::Int, seed: None }, "random_int", BOUNDS, |b, c| b.random(c))
        .shown_by("tf.random_int(1, 2, seed=1)"),
    free(Function::Random { kind: Random::Bool, seed: None }, "random_bool", (0, 0, "no bounds"), |b, c| b.random(c))
        .shown_by("tf.random_bool(seed=1).is_null()"),
    free(Function::Random { kind: Random::Gaussian, seed: None }, "random_gaussian", BOUNDS, |b, c| b.random(c))
        .shown_by("tf.random_gaussian(0, 1, seed=1).is_finite()"),
];

/// The first argument is the keys of the rows, the others bounds. `draw` tells the draws of one expression apart.
pub(crate) fn random(kind: Random, seed: Option<i64>, draw: u64) -> Whole {
    let stream = mix(seed.map_or_else(|| RandomState::new().build_hasher().finish(), |seed| seed as u64) ^ mix(draw));
    let calls = AtomicU64::new(0);
    Arc::new(move |args, rows| {
        // Each call of a function without a seed is another stream.
        let call = if seed.is_some() { 0 } else { calls.fetch_add(1, Ordering::Relaxed) };
        let keys = args[0].expanded(rows);
        let keys = keys.as_primitive::<Int64Type>();
        let stream = mix(stream.wrapping_add(call.wrapping_mul(GOLDEN)));
        let bits = |row: usize| mix(stream.wrapping_add(mix((keys.value(row) as u64).wrapping_add(GOLDEN))));
        Ok(match kind {
            Random::Bool => Arc::new(BooleanArray::from_iter((0..rows).map(|row| Some(bits(row) >> 63 == 1)))),
            Random::Float => {
                let (low, high) = (floats(&args[1], rows), floats(&args[2], rows));
                let value = |row: usize| Some(low(row)? + unit(bits(row)) * (high(row)? - low(row)?));
                Arc::new((0..rows).map(value).collect::<Float64Array>())
            }
            Random::Gaussian => {
                let (mean, deviation) = (floats(&args[1], rows), floats(&args[2], rows));
                let value = |row: usize| {
                    // Box and Muller: 1 − u is never 0.
                    let (u, v) = (1.0 - unit(bits(row)), unit(mix(bits(row) ^ GOLDEN)));
                    let normal = (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos();
                    Some(mean(row)? + deviation(row)? * normal)
                };
                Arc::new((0..rows).map(value).collect::<Float64Array>())
            }
            Random::Int => {
                let (low, high) = (args[1].expanded(rows), args[2].expanded(rows));
                let (low, high) = (low.as_primitive::<Int64Type>(), high.as_primitive::<Int64Type>());
                let value = |row: usize| {
                    if low.is_null(row) || high.is_null(row) {
                        return Ok(None);
                    }
                    let (low, high) = (low.value(row), high.value(row));
                    if high <= low {
                        let message = format!("there is no whole number from {low} to before {high}");
                        return Err(Failure { row, message, payload: None });
                    }
                    let span = high.wrapping_sub(low) as u64;
                    let step = (u128::from(bits(row)) * u128::from(span)) >> 64;
                    Ok(Some(low.wrapping_add(step as u64 as i64)))
                };
                Arc::new((0..rows).map(value).collect::<Result<Int64Array, Failure>>()?)
            }
        })
    })
}

fn floats(argument: &Argument, rows: usize) -> impl Fn(usize) -> Option<f64> + use<> {
    let values = argument.expanded(rows).as_primitive::<Float64Type>().clone();
    move |row| values.is_valid(row).then(|| values.value(row))
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A number in which every bit depends on every bit of the given one.
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// From 0 to before 1.
fn unit(bits: u64) -> f64 {
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}
