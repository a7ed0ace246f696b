//! Means and variances whose weights fade with each row.
//!
//! Of a value `i` rows back the weight is `(1 - alpha)^i`; where weights are not adjusted, each value takes `alpha` of the whole
//! and leaves the rest to those before it. A row without a value has none itself, and makes those before it fade unless it is
//! passed over. NaN is a value, and the result is NaN from there on. A sum is of the values as they have faded, and divides by
//! nothing.

use arrow_schema::DataType;
use column::Chunk;
use formula::{Ewm, EwmOf};

use super::cumulative::{read_floats, write_floats};
use super::kernel::{Fault, Kernel};
use crate::error::Error;

/// What is computed with weights that fade.
pub(super) struct Weighted(pub(super) Ewm);

/// What is known of the values so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Weights {
    /// How many values there were.
    count: u64,
    /// The mean, or of a sum that.
    mean: f64,
    /// About the mean, by weight.
    variance: f64,
    /// The weight of all values so far, beside one that comes.
    old: f64,
    sum: f64,
    /// The sum of their squares.
    squares: f64,
}

impl Weighted {
    #[inline]
    fn take(&self, state: &mut Weights, cell: Option<f64>) {
        let Ewm { of, alpha, adjust, ignore_nulls, .. } = self.0;
        if state.count == 0 {
            if let Some(number) = cell {
                *state = Weights { count: 1, mean: number, variance: 0.0, old: 1.0, sum: 1.0, squares: 1.0 };
                // A mean has no need of the rest.
                if matches!(of, EwmOf::Mean | EwmOf::Sum) {
                    (state.sum, state.squares) = (0.0, 0.0);
                }
                if number.is_nan() {
                    state.variance = f64::NAN;
                }
            }
            return;
        }
        if cell.is_none() && ignore_nulls {
            return;
        }
        if of == EwmOf::Sum {
            state.mean = (1.0 - alpha) * state.mean + cell.unwrap_or(0.0);
            state.count += u64::from(cell.is_some());
            return;
        }
        let (left, new) = (1.0 - alpha, if adjust { 1.0 } else { alpha });
        state.old *= left;
        state.sum *= left;
        state.squares *= left * left;
        let Some(number) = cell else { return };
        state.count += 1;
        let (before, all) = (state.mean, state.old + new);
        // Equal values have their own mean, to the last bit.
        if before != number {
            state.mean = (state.old * before + new * number) / all;
        }
        if of != EwmOf::Mean {
            let (moved, away) = (before - state.mean, number - state.mean);
            state.variance = (state.old * (state.variance + moved * moved) + new * away * away) / all;
            state.sum += new;
            state.squares += new * new;
            if !adjust {
                state.sum /= all;
                state.squares /= all * all;
            }
        }
        state.old = if adjust { all } else { 1.0 };
    }

    fn value(&self, state: &Weights) -> Option<f64> {
        let Ewm { of, min_samples, bias, .. } = self.0;
        if state.count == 0 || state.count < min_samples {
            return None;
        }
        if matches!(of, EwmOf::Mean | EwmOf::Sum) {
            return Some(state.mean);
        }
        let variance = if bias {
            state.variance
        } else {
            let whole = state.sum * state.sum;
            let rest = whole - state.squares;
            if state.count < 2 || rest <= 0.0 {
                return None;
            }
            whole / rest * state.variance
        };
        Some(if of == EwmOf::Std { variance.sqrt() } else { variance })
    }
}

impl Kernel for Weighted {
    type In = Option<f64>;
    type State = Weights;
    type Out = f64;

    fn read(&self, cells: &[Chunk]) -> Result<Vec<Option<f64>>, Error> {
        Ok(read_floats(&cells[0]))
    }

    #[inline]
    fn step(&self, state: &mut Weights, input: &Option<f64>) -> Result<Option<f64>, Fault> {
        self.take(state, *input);
        Ok(input.and_then(|_| self.value(state)))
    }

    // The weights are not in the value.
    fn tells(&self, _: &Option<f64>) -> bool {
        false
    }

    fn same(&self, one: &Weights, other: &Weights) -> bool {
        let bits = |of: &Weights| [of.mean, of.variance, of.old, of.sum, of.squares].map(f64::to_bits);
        one.count.min(self.0.min_samples.max(2)) == other.count.min(self.0.min_samples.max(2))
            && bits(one) == bits(other)
    }

    fn write(&self, values: Vec<Option<f64>>) -> Result<Chunk, Error> {
        write_floats(values, &DataType::Float64)
    }
}
