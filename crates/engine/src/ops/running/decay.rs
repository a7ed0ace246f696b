//! Values that fade: exponential moving means, sums, extremes and deviations.
//!
//! What was there fades by `a = e^(-1/τ)` a row, or by `a = e^(-Δt/τ)` over a time; the first value is the first number. A row
//! that is passed over has the value before it, and no part in anything.

use arrow_schema::DataType;
use column::Chunk;

use super::cumulative::{read_floats, write_floats};
use super::kernel::{Fault, Kernel};
use crate::error::Error;
use crate::ops::agg::integers;
use crate::plan::update_by::{BadData, Control, Decay};

/// What fades with each row.
pub(super) struct ByTicks {
    pub(super) fading: Fading,
    /// What is left of it after a row.
    pub(super) left: f64,
}

/// What fades with time.
pub(super) struct ByTime {
    pub(super) fading: Fading,
    /// After so many nanoseconds the e-th part is left.
    pub(super) nanos: f64,
}

/// How numbers meet what fades.
pub(super) struct Fading {
    pub(super) of: Decay,
    pub(super) control: Control,
}

/// What fades.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Faded {
    /// Whether a number has come.
    begun: bool,
    value: f64,
    /// Of deviations the variance; negative before the second number.
    variance: f64,
}

/// What becomes of a row.
enum Met {
    /// It is a number.
    Number(f64),
    /// It has no part, and the state is what it says.
    Passed,
    /// It has no part and no value.
    Blank,
}

impl Fading {
    /// Sorts a cell out: a number, or none.
    #[inline]
    fn met(&self, state: &mut Faded, cell: Option<f64>) -> Result<Met, Fault> {
        let (what, fault) = match cell {
            Some(number) if !number.is_nan() => return Ok(Met::Number(number)),
            Some(_) => (self.control.on_nan, Fault::Nan),
            None => (self.control.on_null, Fault::Null),
        };
        match what {
            BadData::Skip => {}
            BadData::Null => return Ok(Met::Blank),
            BadData::Reset => *state = Faded::default(),
            BadData::Throw => return Err(fault),
            BadData::Poison => *state = Faded { begun: true, value: f64::NAN, variance: f64::NAN },
        }
        Ok(Met::Passed)
    }

    /// Whether the row of a cell has no value.
    fn is_blank(&self, cell: Option<f64>) -> bool {
        match cell {
            Some(number) => number.is_nan() && self.control.on_nan == BadData::Null,
            None => self.control.on_null == BadData::Null,
        }
    }

    /// Takes a number in, of which so much is left of what was there.
    #[inline]
    fn take(&self, state: &mut Faded, number: f64, left: f64) {
        if !state.begun {
            *state = Faded { begun: true, value: number, variance: -1.0 };
            return;
        }
        // What is poisoned stays so.
        if state.value.is_nan() {
            return;
        }
        let old = state.value;
        state.value = match self.of {
            // Nothing has faded: the number has no weight, were it infinite.
            Decay::Mean | Decay::Std if left == 1.0 => old,
            Decay::Mean | Decay::Std => left * old + (1.0 - left) * number,
            Decay::Sum => left * old + number,
            Decay::Min => (left * old).min(number),
            Decay::Max => (left * old).max(number),
        };
        if self.of == Decay::Std {
            let distance = number - old;
            let more = if left == 1.0 { 0.0 } else { (1.0 - left) * distance * distance };
            let before = if state.variance < 0.0 { 0.0 } else { state.variance };
            state.variance = left * (before + more);
        }
    }

    #[inline]
    fn value(&self, state: &Faded) -> Option<f64> {
        match (state.begun, self.of) {
            (false, _) => None,
            (true, Decay::Std) => (state.variance.is_nan() || state.variance >= 0.0).then(|| state.variance.sqrt()),
            (true, _) => Some(state.value),
        }
    }
}

fn one(one: &Faded, other: &Faded) -> bool {
    let bits = |of: &Faded| (of.begun, of.value.to_bits(), of.variance.to_bits());
    bits(one) == bits(other)
}

impl Kernel for ByTicks {
    type In = Option<f64>;
    type State = Faded;
    type Out = f64;

    fn read(&self, cells: &[Chunk]) -> Result<Vec<Option<f64>>, Error> {
        Ok(read_floats(&cells[0]))
    }

    #[inline]
    fn step(&self, state: &mut Faded, input: &Option<f64>) -> Result<Option<f64>, Fault> {
        match self.fading.met(state, *input)? {
            Met::Number(number) => self.fading.take(state, number, self.left),
            Met::Passed => {}
            Met::Blank => return Ok(None),
        }
        Ok(self.fading.value(state))
    }

    fn tells(&self, input: &Option<f64>) -> bool {
        self.fading.of != Decay::Std && !self.fading.is_blank(*input)
    }

    fn same(&self, one_of: &Faded, other: &Faded) -> bool {
        one(one_of, other)
    }

    fn write(&self, values: Vec<Option<f64>>) -> Result<Chunk, Error> {
        write_floats(values, &DataType::Float64)
    }
}

/// What fades with time, and when.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Timed {
    faded: Faded,
    /// The stamp of the last number.
    since: i64,
    /// The greatest stamp so far.
    seen: Option<i64>,
}

impl Kernel for ByTime {
    /// Number and stamp.
    type In = (Option<f64>, Option<i64>);
    type State = Timed;
    type Out = f64;

    fn read(&self, cells: &[Chunk]) -> Result<Vec<Self::In>, Error> {
        let stamps = integers(&cells[1]);
        Ok(read_floats(&cells[0]).into_iter().zip(stamps.iter()).collect())
    }

    #[inline]
    fn step(&self, state: &mut Timed, (cell, stamp): &Self::In) -> Result<Option<f64>, Fault> {
        // A row at no time has no value, and no part in any.
        let Some(stamp) = *stamp else { return Ok(None) };
        if state.seen.is_some_and(|seen| stamp < seen) {
            return Err(Fault::Back);
        }
        state.seen = Some(stamp);
        match self.fading.met(&mut state.faded, *cell)? {
            Met::Number(number) => {
                let passed = if state.faded.begun { (i128::from(stamp) - i128::from(state.since)) as f64 } else { 0.0 };
                self.fading.take(&mut state.faded, number, (-passed / self.nanos).exp());
                state.since = stamp;
            }
            Met::Passed => {}
            Met::Blank => return Ok(None),
        }
        Ok(self.fading.value(&state.faded))
    }

    // Where the row is a number at a time, both stamps are its own.
    fn tells(&self, (cell, stamp): &Self::In) -> bool {
        self.fading.of != Decay::Std && stamp.is_some() && cell.is_some_and(|number| !number.is_nan())
    }

    fn same(&self, one_of: &Timed, other: &Timed) -> bool {
        one(&one_of.faded, &other.faded) && one_of.since == other.since && one_of.seen == other.seen
    }

    fn write(&self, values: Vec<Option<f64>>) -> Result<Chunk, Error> {
        write_floats(values, &DataType::Float64)
    }
}
