//! What an aggregator keeps for each group, and the table of aggregators.

use arrow_array::{Array, ArrayRef, Int64Array};
use arrow_schema::DataType;
use column::Chunk;
use formula::Aggregate;

use super::count::Count;
use super::extreme;
use super::moments::{Mean, Spread};
use super::sum;
use crate::error::Error;

/// State of one aggregator, one entry for each group's slot. Values are added and taken away; what
/// a removal restores is exact.
pub(crate) trait State: Send {
    /// Room for this many slots.
    fn grow(&mut self, slots: usize);
    /// Cell `i` enters group `slots[i]`.
    fn add(&mut self, slots: &[u32], cells: &Chunk);
    /// Cell `i` leaves group `slots[i]`.
    fn remove(&mut self, slots: &[u32], cells: &Chunk);
    /// The group is gone.
    fn reset(&mut self, slot: u32);
    /// The result of each of these groups.
    fn values(&self, slots: &[u32]) -> Result<ArrayRef, Error>;
    /// Takes in another state of the same kind: its slot `i` is this one's `slots[i]`.
    fn merge(&mut self, other: Box<dyn State>, slots: &[u32]);
    /// For `merge`.
    fn into_any(self: Box<Self>) -> Box<dyn std::any::Any>;
}

/// The state of an aggregator over cells of this type. `retractable`: whether cells may leave.
pub(crate) fn state_of(kind: &Aggregate, input: &DataType, retractable: bool) -> Result<Box<dyn State>, Error> {
    let output = kind.output_type(input)?;
    Ok(match kind {
        Aggregate::Count => Box::new(Count::default()),
        Aggregate::Sum { min_count } => sum::state(input, &output, *min_count),
        Aggregate::Mean => Box::new(Mean::new(input, &output)),
        Aggregate::Std { ddof } => Box::new(Spread::new(*ddof, true)),
        Aggregate::Var { ddof } => Box::new(Spread::new(*ddof, false)),
        Aggregate::Min | Aggregate::Max | Aggregate::NanMin | Aggregate::NanMax => {
            extreme::state(kind, input, retractable)?
        }
        Aggregate::Len | Aggregate::First | Aggregate::Last => {
            return Err(Error::internal("group_by", format!("{} has no state of its own", kind.name())));
        }
        Aggregate::NUnique => return Err(Error::invalid("group_by", "n_unique is not available yet")),
    })
}

/// Takes the other state apart for a merge of equals.
pub(crate) fn same<S: 'static>(other: Box<dyn State>) -> Box<S> {
    other.into_any().downcast().expect("states of one aggregator are of one kind")
}

/// Runs `each` on the slots and positions of cells that are not null.
#[inline]
pub(crate) fn valid_cells(slots: &[u32], cells: &dyn Array, mut each: impl FnMut(u32, usize)) {
    match cells.logical_nulls().filter(|nulls| nulls.null_count() > 0) {
        None => slots.iter().enumerate().for_each(|(at, slot)| each(*slot, at)),
        Some(nulls) => nulls.valid_indices().for_each(|at| each(slots[at], at)),
    }
}

/// Numbers as `f64`, whatever they are stored as.
pub(crate) fn floats(cells: &Chunk) -> arrow_array::Float64Array {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Float64Type;
    if let Some(floats) = cells.as_primitive_opt::<Float64Type>() {
        return floats.clone();
    }
    let cast = arrow_cast::cast(cells, &DataType::Float64).expect("every number is a double, rounded");
    cast.as_primitive::<Float64Type>().clone()
}

/// Integers, times and booleans as `i64`, unsigned ones as their bits.
pub(crate) fn integers(cells: &Chunk) -> Int64Array {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Int64Type, UInt64Type};
    match cells.data_type() {
        DataType::Int64 => cells.as_primitive::<Int64Type>().clone(),
        DataType::UInt64 => cells.as_primitive::<UInt64Type>().unary(|value| value as i64),
        DataType::Date32 => integers(&arrow_cast::cast(cells, &DataType::Int32).expect("days are 32 bits")),
        _ => arrow_cast::cast(cells, &DataType::Int64).expect("fits in 64 bits").as_primitive::<Int64Type>().clone(),
    }
}

/// 64-bit integers back as a type of the same width or narrower.
pub(crate) fn from_integers(values: Int64Array, to: &DataType) -> Result<ArrayRef, Error> {
    use arrow_array::types::UInt64Type;
    let array: ArrayRef = std::sync::Arc::new(values.clone());
    Ok(match to {
        DataType::Int64 => array,
        DataType::UInt64 => std::sync::Arc::new(values.unary::<_, UInt64Type>(|value| value as u64)),
        DataType::Date32 => arrow_cast::cast(&arrow_cast::cast(&array, &DataType::Int32)?, to)?,
        DataType::Boolean => arrow_cast::cast(&array, &DataType::Boolean)?,
        _ => arrow_cast::cast(&array, to)?,
    })
}
