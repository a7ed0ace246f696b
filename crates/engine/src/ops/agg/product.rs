//! `product`: of integers it wraps, of floats it leaves their range only where it must.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array};
use arrow_schema::DataType;
use column::Chunk;

use super::accumulators::{Accumulator, Factors, Product, Removable};
use super::spans::by_difference;
use super::state::{Codec, PerGroup, State, TakeSpans, each_float, from_integers, integers, valid_cells};
use crate::error::Error;

/// The state for a result of this type.
pub(crate) fn state(output: &DataType) -> Box<dyn State> {
    let output = output.clone();
    match output {
        DataType::Float16 | DataType::Float32 | DataType::Float64 => PerGroup::boxed(Floats { output }),
        _ => PerGroup::boxed(Integers { output }),
    }
}

struct Integers {
    output: DataType,
}

impl Codec for Integers {
    type Of = Factors;
    const SPANS: Option<TakeSpans<Self>> = Some(by_difference);

    fn empty(&self) -> Factors {
        Factors::default()
    }

    fn decode(&self, cells: &[Chunk], mut each: impl FnMut(usize, i64)) {
        let values = integers(&cells[0]);
        valid_cells(&values, |at| each(at, values.values()[at]));
    }

    fn remove(of: &mut Factors, value: i64) {
        of.remove(value);
    }

    fn encode<'a>(&self, groups: impl Iterator<Item = &'a Factors>) -> Result<ArrayRef, Error> {
        from_integers(groups.map(|group| group.value(&())).collect::<Int64Array>(), &self.output)
    }
}

struct Floats {
    output: DataType,
}

impl Codec for Floats {
    type Of = Product;

    fn empty(&self) -> Product {
        Product::default()
    }

    fn decode(&self, cells: &[Chunk], each: impl FnMut(usize, f64)) {
        each_float(&cells[0], each);
    }

    fn remove(of: &mut Product, value: f64) {
        of.remove(value);
    }

    fn encode<'a>(&self, groups: impl Iterator<Item = &'a Product>) -> Result<ArrayRef, Error> {
        let values: ArrayRef = Arc::new(groups.map(|group| group.value(&())).collect::<Float64Array>());
        Ok(if self.output == DataType::Float64 { values } else { arrow_cast::cast(&values, &self.output)? })
    }
}
