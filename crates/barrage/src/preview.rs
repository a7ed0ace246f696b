//! Lists of which a client wants the first elements, or the last ones.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, GenericListArray, OffsetSizeTrait, UInt64Array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::DataType;
use arrow_select::take::take;
use rowset::RowSet;

use crate::BarrageError;
use crate::train::Cells;

/// Cells whose lists have at most so many elements: the first ones, or if the number is negative the last.
pub struct Preview<'a> {
    /// The whole cells.
    pub cells: &'a dyn Cells,
    /// How many elements; 0 for all.
    pub elements: i64,
}

impl Cells for Preview<'_> {
    fn cells(&self, column: usize, rows: &RowSet) -> Result<ArrayRef, BarrageError> {
        let whole = self.cells.cells(column, rows)?;
        let cut = match whole.data_type() {
            _ if self.elements == 0 => return Ok(whole),
            DataType::List(_) => shortened(whole.as_list::<i32>(), self.elements),
            DataType::LargeList(_) => shortened(whole.as_list::<i64>(), self.elements),
            _ => return Ok(whole),
        };
        cut.map_err(|error| BarrageError::Column { column: column.to_string(), what: error.to_string() })
    }
}

fn shortened<O: OffsetSizeTrait>(
    lists: &GenericListArray<O>,
    elements: i64,
) -> Result<ArrayRef, arrow_schema::ArrowError> {
    let most = usize::try_from(elements.unsigned_abs()).unwrap_or(usize::MAX);
    let mut places = Vec::new();
    let mut lengths = Vec::with_capacity(lists.len());
    for row in 0..lists.len() {
        let from = lists.value_offsets()[row].as_usize();
        let len = if lists.is_null(row) { 0 } else { lists.value_length(row).as_usize() };
        let kept = len.min(most);
        let first = if elements < 0 { from + len - kept } else { from };
        places.extend((first..first + kept).map(|place| place as u64));
        lengths.push(kept);
    }
    let values = take(lists.values(), &UInt64Array::from(places), None)?;
    let field = match lists.data_type() {
        DataType::List(field) | DataType::LargeList(field) => Arc::clone(field),
        _ => return Ok(Arc::new(lists.clone())),
    };
    let offsets = OffsetBuffer::<O>::from_lengths(lengths);
    Ok(Arc::new(GenericListArray::try_new(field, offsets, values, lists.nulls().cloned())?))
}

#[cfg(test)]
mod tests {
    use arrow_array::ListArray;
    use arrow_array::types::Int64Type;

    use super::*;

    struct Given(ArrayRef);

    impl Cells for Given {
        fn cells(&self, _: usize, rows: &RowSet) -> Result<ArrayRef, BarrageError> {
            let first = rows.first().unwrap_or(0) as usize;
            Ok(self.0.slice(first, rows.len() as usize))
        }
    }

    fn lists(of: &[Option<&[i64]>]) -> ArrayRef {
        let rows = of.iter().map(|list| list.map(|list| list.iter().map(|value| Some(*value))));
        Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(rows))
    }

    #[test]
    fn lists_keep_their_first_or_their_last_elements() {
        let given = Given(lists(&[Some(&[0]), Some(&[1, 2, 3]), None, Some(&[]), Some(&[4, 5])]));
        let of = |elements| Preview { cells: &given, elements }.cells(0, &RowSet::range(1, 4)).expect("lists");
        assert_eq!(&of(2), &lists(&[Some(&[1, 2]), None, Some(&[]), Some(&[4, 5])]));
        assert_eq!(&of(-1), &lists(&[Some(&[3]), None, Some(&[]), Some(&[5])]));
        assert_eq!(&of(0), &lists(&[Some(&[1, 2, 3]), None, Some(&[]), Some(&[4, 5])]));
        assert_eq!(&of(i64::MIN), &of(0));
    }
}
