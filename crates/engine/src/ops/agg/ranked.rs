//! `median`, `quantile`: the values of a group in two ordered halves, split at the place that is asked for. NaN is the
//! greatest value.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Float64Array};
use arrow_schema::DataType;
use column::Chunk;
use formula::aggregates::{Interpolation, Part};

use super::accumulators::{Accumulator, Halves, Removable, around, slide_sorted};
use super::extreme::{Decimals, Family, Floats, Integers, Texts};
use super::state::{Codec, PerGroup, State, floats};
use crate::error::Error;
use crate::sizes::SORTED_WINDOW;

/// The state for cells of this type, whose result is of that.
pub(crate) fn state(input: &DataType, output: &DataType, part: Part, between: Interpolation) -> Box<dyn State> {
    fn of<F: Family>(family: F, output: &DataType, part: Part, between: Interpolation) -> Box<dyn State> {
        PerGroup::boxed(Ranked { family, output: output.clone(), part: part.get(), between })
    }
    let cells = input.clone();
    match input {
        DataType::Float16 | DataType::Float32 | DataType::Float64 | DataType::Decimal256(..) => {
            of(Floats { cells: DataType::Float64, nan_first: false }, output, part, between)
        }
        DataType::Decimal128(..) => of(Decimals { cells }, output, part, between),
        DataType::Utf8View | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            of(Texts { cells }, output, part, between)
        }
        _ => of(Integers { cells }, output, part, between),
    }
}

/// The middle: of numbers the mean of the two, of others the lower one.
pub(crate) fn median(input: &DataType, output: &DataType) -> Box<dyn State> {
    let between = if *output == DataType::Float64 { Interpolation::Midpoint } else { Interpolation::Lower };
    state(input, output, Part::HALF, between)
}

/// Cells of which the value at a place in their order is asked for.
struct Ranked<F> {
    family: F,
    output: DataType,
    part: f64,
    between: Interpolation,
}

impl<F: Family> Codec for Ranked<F> {
    type Of = Halves<F::Key>;

    fn is_like(&self, other: &Self) -> bool {
        self.part == other.part
    }

    fn empty(&self) -> Halves<F::Key> {
        Halves::new(self.part)
    }

    fn decode(&self, cells: &[Chunk], each: impl FnMut(usize, F::Key)) {
        self.family.keys(&cells[0], each);
    }

    fn remove(of: &mut Halves<F::Key>, value: F::Key) {
        of.remove(value);
    }

    fn encode<'a>(&self, groups: impl Iterator<Item = &'a Halves<F::Key>>) -> Result<ArrayRef, Error> {
        self.cells(groups.map(|group| group.value(&self.between)).collect())
    }

    fn slide(&self, cells: &[Chunk], windows: &[Range<usize>]) -> Option<Result<ArrayRef, Error>> {
        if windows.iter().any(|window| window.len() > SORTED_WINDOW.get()) {
            return None;
        }
        let mut found = Vec::with_capacity(windows.len());
        let each = |inside: &[F::Key]| found.push(around(inside, self.part, self.between));
        slide_sorted(&self.values(cells), windows, each);
        Some(self.cells(found))
    }
}

impl<F: Family> Ranked<F> {
    /// What lies around the place in each group as cells: the value below, the one above, how far between them.
    fn cells(&self, around: Vec<Option<(F::Key, F::Key, f64)>>) -> Result<ArrayRef, Error> {
        if self.output != DataType::Float64 {
            let chosen = |(below, above, toward)| if toward < 1.0 { below } else { above };
            return self.family.cells(around.into_iter().map(|around| around.map(chosen)));
        }
        let way: Vec<f64> = around.iter().map(|around| around.as_ref().map_or(0.0, |(.., toward)| *toward)).collect();
        let (below, above): (Vec<_>, Vec<_>) = around
            .into_iter()
            .map(|around| around.map_or((None, None), |(below, above, _)| (Some(below), Some(above))))
            .unzip();
        let numbers = |keys: Vec<Option<F::Key>>| Ok::<_, Error>(floats(&self.family.cells(keys.into_iter())?));
        let (below, above) = (numbers(below)?, numbers(above)?);
        let value =
            |(at, toward): (usize, f64)| below.is_valid(at).then(|| between(below.value(at), above.value(at), toward));
        Ok(Arc::new(way.into_iter().enumerate().map(value).collect::<Float64Array>()))
    }
}

/// A part of the way from one number to the next.
fn between(below: f64, above: f64, toward: f64) -> f64 {
    match toward {
        0.0 => below,
        1.0 => above,
        _ if below == above => below,
        0.5 if (below + above).is_finite() => (below + above) / 2.0,
        _ if (above - below).is_finite() => below + (above - below) * toward,
        _ => below * (1.0 - toward) + above * toward,
    }
}
