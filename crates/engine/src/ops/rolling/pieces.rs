//! Values that were computed piece by piece, group after group, in the order of rows again.
//!
//!   pieces  7 8 | 9 .    places  2 0 1    values  9 7 8
//!
//! Each value is copied once. Cost: the places.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{Array, ArrayRef, PrimitiveArray, UInt64Array, downcast_primitive};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use column::{Chunk, NO_ROW};

use super::groups::Started;
use crate::error::Error;

impl Started {
    /// For each row the place of its value; [`NO_ROW`] for a row in no group.
    pub(super) fn places(&self, rows: usize) -> Vec<u64> {
        let starts = &self.ordered.starts;
        if let Some(slots) = &self.slots {
            let mut next: Vec<u64> = starts.iter().map(|start| *start as u64).collect();
            let place = |slot: &u32| match next.get_mut(*slot as usize) {
                Some(next) => {
                    *next += 1;
                    *next - 1
                }
                None => NO_ROW,
            };
            return slots.iter().map(place).collect();
        }
        let mut places = vec![NO_ROW; rows];
        (0u64..).zip(&self.ordered.order).for_each(|(place, position)| places[*position] = place);
        places
    }
}

/// Values of one column in pieces of so many, but for the last.
pub(super) struct Pieces {
    pieces: Vec<Chunk>,
    step: usize,
}

impl Pieces {
    /// Pieces of so many values; the last may have fewer. What is no number is one piece.
    pub(super) fn new(pieces: Vec<Chunk>, step: usize) -> Result<Pieces, Error> {
        if pieces.len() < 2 || pieces[0].data_type().is_primitive() {
            return Ok(Pieces { pieces, step });
        }
        let whole = arrow_select::concat::concat(&pieces.iter().map(|piece| &**piece).collect::<Vec<_>>())?;
        Ok(Pieces { pieces: vec![whole], step: usize::MAX })
    }

    /// The values at some places, null at [`NO_ROW`].
    pub(super) fn take(&self, places: &[u64]) -> Result<Chunk, Error> {
        if let [one] = self.pieces.as_slice() {
            let places: UInt64Array = match places.contains(&NO_ROW) {
                true => places.iter().map(|place| (*place != NO_ROW).then_some(*place)).collect(),
                false => places.to_vec().into(),
            };
            return Ok(arrow_select::take::take(one, &places, None)?);
        }
        macro_rules! numbers {
            ($kind:ty, $pieces:expr, $step:expr, $places:expr) => {
                Ok(Arc::new(numbers::<$kind>($pieces, $step, $places)) as ArrayRef)
            };
        }
        let (pieces, step) = (&self.pieces, self.step);
        let data_type = pieces[0].data_type();
        downcast_primitive! {
            data_type => (numbers, pieces, step, places),
            _ => Err(Error::internal("rolling", "pieces of what is no number")),
        }
    }
}

fn numbers<T: ArrowPrimitiveType>(pieces: &[Chunk], step: usize, places: &[u64]) -> PrimitiveArray<T> {
    let cells: Vec<&PrimitiveArray<T>> = pieces.iter().map(|piece| piece.as_primitive()).collect();
    let values: Vec<&[T::Native]> = cells.iter().map(|cells| &cells.values()[..]).collect();
    let at = |place: u64| (place as usize / step, place as usize % step);
    let value = |place: &u64| match *place {
        NO_ROW => T::Native::default(),
        place => values[at(place).0][at(place).1],
    };
    let taken: Vec<T::Native> = places.iter().map(value).collect();
    let known = |place: u64| place != NO_ROW && cells[at(place).0].is_valid(at(place).1);
    let all = cells.iter().all(|cells| cells.null_count() == 0) && !places.contains(&NO_ROW);
    let nulls = (!all).then(|| NullBuffer::new(BooleanBuffer::collect_bool(places.len(), |row| known(places[row]))));
    PrimitiveArray::new(taken.into(), nulls).with_data_type(pieces[0].data_type().clone())
}
