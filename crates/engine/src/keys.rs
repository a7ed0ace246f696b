//! What joins and aggregations have in common about keys: the slots a step touches, keys that may match.

use arrow_array::BooleanArray;
use column::Chunk;
use column::keys::any_null;
use rowset::RowSet;

use crate::error::Error;

/// The slots that a step touches, each once, in order of first touch.
#[derive(Default)]
pub struct Touched {
    slots: Vec<u32>,
    marks: Vec<bool>,
}

impl Touched {
    /// Notes these slots, all below `capacity`.
    pub fn add(&mut self, slots: &[u32], capacity: usize) {
        if self.marks.len() < capacity {
            self.marks.resize(capacity, false);
        }
        for slot in slots {
            if !std::mem::replace(&mut self.marks[*slot as usize], true) {
                self.slots.push(*slot);
            }
        }
    }

    /// The slots noted; none is any more.
    pub fn take(&mut self) -> Vec<u32> {
        let slots = std::mem::take(&mut self.slots);
        slots.iter().for_each(|slot| self.marks[*slot as usize] = false);
        slots
    }
}

/// The rows whose keys may match something: with `nulls_equal` all of them, else those without a
/// null in any key column.
pub fn joinable(keys: Vec<Chunk>, rows: &RowSet, nulls_equal: bool) -> Result<(Vec<Chunk>, RowSet), Error> {
    let Some(nulls) = any_null(&keys).filter(|_| !nulls_equal) else {
        return Ok((keys, rows.clone()));
    };
    let valid = BooleanArray::new(nulls.inner().clone(), None);
    let kept = column::matching(rows, valid.values());
    let keys = keys.iter().map(|cells| arrow_select::filter::filter(cells, &valid)).collect::<Result<_, _>>()?;
    Ok((keys, kept))
}
