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

#[cfg(test)]
mod tests {
    use std::any::Any;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use arrow_array::cast::AsArray;
    use arrow_array::types::Int32Type;
    use arrow_array::{Int32Array, Int64Array, StringViewArray};
    use arrow_schema::{DataType, Field, Schema};
    use column::kernels::{gather, gather_rows};
    use column::{Chunk, Column, ColumnSource, Error as ColumnError};
    use formula::functions::Text;
    use formula::{Expr, Function, Literal};
    use graph::{Moment, Moved};

    use super::*;
    use crate::driver::attach::attach;
    use crate::error::Error;
    use crate::eval::selection::Selection;
    use crate::ops::Filter;
    use crate::sources::{from_chunks, of_columns};
    use crate::table::handle::Table;

    const NAMES: [&str; 5] = ["AIR", "MAIL", "SHIP by sea, slowly", "", "no row has this"];

    /// Texts that are codes, and how often they were read as texts of many rows.
    #[derive(Clone)]
    struct Texts {
        coded: Coded,
        reads: Arc<AtomicUsize>,
    }

    impl ColumnSource for Texts {
        fn data_type(&self) -> &DataType {
            &DataType::Utf8View
        }
        fn at(&self, _: Moment) -> Result<Arc<dyn Column>, Moved> {
            Ok(Arc::new(self.clone()))
        }
        fn bytes(&self) -> u64 {
            0
        }
        fn as_any(&self) -> &dyn Any {
            self
        }
    }

    impl Column for Texts {
        fn data_type(&self) -> &DataType {
            &DataType::Utf8View
        }
        fn read(&self, rows: &RowSet) -> Result<Chunk, ColumnError> {
            self.reads.fetch_add(1, Ordering::Relaxed);
            gather_rows(&self.coded.cells()?, 0, rows)
        }
        fn take(&self, keys: &[u64]) -> Result<Chunk, ColumnError> {
            gather(&self.coded.cells()?, keys)
        }
        fn read_coded(&self, rows: &RowSet) -> Result<Option<Coded>, ColumnError> {
            let codes = gather_rows(&(Arc::new(self.coded.codes.clone()) as Chunk), 0, rows)?;
            let values = self.coded.values.clone();
            Ok(Some(Coded { codes: codes.as_primitive::<Int32Type>().clone(), values }))
        }
        fn pieces(&self, rows: &RowSet) -> Result<Vec<Chunk>, ColumnError> {
            Ok(vec![self.read(rows)?])
        }
    }

    /// Rows as codes, the rows as texts, and the reads of the former.
    fn tables(seed: u64, rows: usize) -> (Table, Table, Arc<AtomicUsize>) {
        let mut dice = fastrand::Rng::with_seed(seed);
        let with_nulls = seed.is_multiple_of(2);
        let code = |dice: &mut fastrand::Rng| (!with_nulls || dice.u8(0..4) > 0).then(|| dice.i32(0..4));
        let codes: Int32Array = (0..rows).map(|_| code(&mut dice)).collect();
        let values: Chunk = Arc::new(StringViewArray::from_iter_values(NAMES));
        let coded = Coded { codes, values };
        let numbers: Chunk = Arc::new(Int64Array::from_iter_values((0..rows).map(|_| dice.i64(0..100))));
        let fields = [Field::new("s", DataType::Utf8View, true), Field::new("v", DataType::Int64, true)];
        let schema = Arc::new(Schema::new(fields.to_vec()));
        let texts = Texts { coded: coded.clone(), reads: Arc::default() };
        let of_numbers = column::FlatColumn::new(vec![numbers.clone()]).expect("one array");
        let sources: Vec<Arc<dyn ColumnSource>> = vec![Arc::new(texts.clone()), Arc::new(of_numbers)];
        let cells = coded.cells().expect("codes of the values");
        let plain = from_chunks(schema.clone(), vec![vec![cells], vec![numbers]], rows as u64).expect("a table");
        (of_columns(schema, sources, rows as u64).expect("a table"), plain, texts.reads)
    }

    fn call(function: Function, args: Vec<Expr>) -> Expr {
        Expr::call(function, args).expect("a small tree")
    }

    fn predicates() -> Vec<Expr> {
        let s = || Expr::column("s");
        let is = |name: &str| call(Function::Equal, vec![s(), Expr::literal(name)]);
        let absent = || call(Function::IsNull, vec![s()]);
        let names = Literal::List(["AIR", "", "elsewhere"].into_iter().map(Literal::from).collect());
        let contains = Function::Text(Text::Contains { literal: true });
        vec![
            is("AIR"),
            is("no row has this"),
            absent(),
            call(Function::Not, vec![is("MAIL")]),
            call(Function::Or, vec![is("MAIL"), absent()]),
            call(Function::IsIn { nulls_equal: false }, vec![s(), Expr::Literal(names)]),
            call(contains, vec![s(), Expr::literal("I")]),
            call(Function::Less, vec![s(), Expr::literal("MAIL")]),
        ]
    }

    #[test]
    fn codes_pass_where_their_texts_do() -> Result<(), Error> {
        let above = call(Function::Greater, vec![Expr::column("v"), Expr::literal(40_i64)]);
        for seed in 0..24 {
            limits::Scope::drawn(seed).enter(|| {
                let (coded, plain, _) = tables(seed, 700);
                for predicate in predicates() {
                    let both = [above.clone(), predicate.clone()];
                    let turned = [predicate.clone(), above.clone()];
                    for predicates in [&[predicate][..], &both[..], &turned[..]] {
                        let kept = |table: &Table| {
                            attach(&Filter::new(table, predicates)?, std::slice::from_ref(table))?.rows()
                        };
                        assert_eq!(kept(&coded)?, kept(&plain)?, "{predicates:?}, seed {seed}");
                        // What is read after is of the rows that are left, whether it was asked before or not.
                        let read = |table: &Table| {
                            let (mut selection, view) = (Selection::default(), table.view()?);
                            for predicate in predicates {
                                let bound = Evaluator::predicate(&"filter".into(), predicate, table)?;
                                selection.filter(table.view()?, Arc::new([bound]));
                            }
                            let (rows, cells) = selection.rows(view.rows(), |block| {
                                block.compact();
                                block.column(&view, 0)
                            })?;
                            let cells: Vec<Chunk> = cells.into_iter().flatten().collect();
                            Ok::<_, Error>((rows, column::kernels::concat(&DataType::Utf8View, &cells)?))
                        };
                        let ((rows, cells), wanted) = (read(&coded)?, read(&plain)?);
                        assert_eq!((rows, &cells), (wanted.0, &wanted.1), "{predicates:?}, seed {seed}");
                    }
                }
                Ok::<_, Error>(())
            })?;
        }
        Ok(())
    }

    #[test]
    fn texts_of_many_rows_are_not_looked_at() -> Result<(), Error> {
        let (coded, _, reads) = tables(1, 200_000);
        let above = call(Function::Greater, vec![Expr::column("v"), Expr::literal(40_i64)]);
        for predicate in predicates() {
            for predicates in [vec![predicate.clone()], vec![predicate, above.clone()]] {
                attach(&Filter::new(&coded, &predicates)?, std::slice::from_ref(&coded))?;
            }
        }
        assert_eq!(reads.load(Ordering::Relaxed), 0);
        Ok(())
    }

    #[test]
    fn a_dictionary_that_is_gone_is_forgotten() -> Result<(), Error> {
        let (table, ..) = tables(2, 10);
        let is = call(Function::Equal, vec![Expr::column("s"), Expr::literal("AIR")]);
        let predicate = Evaluator::predicate(&"filter".into(), &is, &table)?;
        for round in 0..3 * REMEMBERED {
            let names = if round % 2 == 0 { ["AIR", "MAIL"] } else { ["MAIL", "AIR"] };
            let values: Chunk = Arc::new(StringViewArray::from_iter_values(names));
            let coded = Coded { codes: Int32Array::from(vec![0, 1, 0]), values };
            for _ in 0..2 {
                let mask = predicate.mask_of_codes(&coded).expect("few values");
                assert_eq!(mask.iter().collect::<Vec<_>>(), [round % 2 == 0, round % 2 == 1, round % 2 == 0]);
            }
            assert!(lock(&predicate.verdicts().0).len() <= 2);
        }
        Ok(())
    }
}
