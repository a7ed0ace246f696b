//! A predicate over cells that are codes: it is evaluated over their values once, and a row has what its code has.
//!
//!   values   AIR MAIL SHIP       mode == "SHIP"      . . x
//!   codes    2 0 2 1                                 x . x .
//!
//! Only a predicate that reads one column and nothing else, and has a value in every row, is evaluated so: a value that no row has
//! cannot fail.

use std::sync::{Arc, Mutex, Weak};

use arrow_array::{Array, new_null_array};
use arrow_buffer::BooleanBuffer;
use column::Coded;
use graph::lock;
use rowset::RowSet;

use crate::eval::evaluator::Evaluator;

/// More values than a few blocks have rows are not evaluated for the rows of one.
const MOST_VALUES: usize = 1 << 14;

/// Arrays of values that are remembered: about one for each thread that reads a part of a file of its own.
const REMEMBERED: usize = 8;

/// What a predicate says of arrays of values; of one that nobody has any longer it is forgotten.
#[derive(Default)]
pub(crate) struct Verdicts(Mutex<Vec<(Weak<dyn Array>, Arc<Verdict>)>>);

struct Verdict {
    of_values: Vec<bool>,
    of_null: bool,
}

impl Verdicts {
    /// Where a predicate is true; None where it has to be evaluated over the cells.
    pub(crate) fn mask(&self, predicate: &Evaluator, coded: &Coded) -> Option<BooleanBuffer> {
        let known = {
            let held = lock(&self.0);
            held.iter().find(|(of, _)| Weak::ptr_eq(of, &Arc::downgrade(&coded.values))).map(|(_, known)| known.clone())
        };
        let verdict = match known {
            Some(verdict) => verdict,
            None => self.remember(coded, Verdict::of(predicate, coded)?),
        };
        let (of_values, codes) = (&verdict.of_values, coded.codes.values());
        let of = |at: usize| of_values.get(codes[at] as usize).copied().unwrap_or(verdict.of_null);
        Some(match coded.codes.nulls() {
            None => BooleanBuffer::collect_bool(codes.len(), of),
            Some(nulls) => {
                BooleanBuffer::collect_bool(codes.len(), |at| if nulls.is_valid(at) { of(at) } else { verdict.of_null })
            }
        })
    }

    fn remember(&self, coded: &Coded, verdict: Verdict) -> Arc<Verdict> {
        let verdict = Arc::new(verdict);
        let mut held = lock(&self.0);
        held.retain(|(of, _)| of.strong_count() > 0);
        if held.len() >= REMEMBERED {
            held.remove(0);
        }
        held.push((Arc::downgrade(&coded.values), verdict.clone()));
        verdict
    }
}

impl Verdict {
    fn of(predicate: &Evaluator, coded: &Coded) -> Option<Verdict> {
        let values = &coded.values;
        if values.len() > MOST_VALUES {
            return None;
        }
        let null = new_null_array(values.data_type(), 1);
        let mask = |cells, len: usize| predicate.mask_of_batch(&[cells], &RowSet::flat(len as u64), len).ok();
        let of_null = mask(null, 1)?.value(0);
        Some(Verdict { of_values: mask(values.clone(), values.len())?.iter().collect(), of_null })
    }
}
