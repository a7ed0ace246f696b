//! `lazy_update`: columns computed when they are read, once for each distinct input.
//!
//!   in   + 0 X 1    + 1 X 1    + 2 X 2        lazy_update y = f(X): f is called for 1 and for 2
//!   in   ~ 0 X 2    y of row 0 is known; f is not called
//!
//! Results are cached by the bits of their inputs, up to a few times as many values as the table has rows. Beyond that
//! the cache is dropped, and values are computed again when they are read. Cost of an update: only the names of the
//! modified columns. Cost of a read: one lookup per row.

use std::any::Any;
use std::sync::{Arc, Mutex};

use arrow_array::{Array, ArrayRef, UInt64Array};
use arrow_row::{RowConverter, SortField};
use arrow_schema::DataType;
use column::{Chunk, Column, ColumnSource};
use formula::Expr;
use graph::{Moment, Moved, Step};
use hashbrown::HashTable;
use rowset::RowSet;

use super::select::{Output, Select};
use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::eval::call::Call;
use crate::eval::computed::take_by;
use crate::eval::evaluator::Evaluator;
use crate::plan::spec::InputColumns;
use crate::sizes::{LAZY_BATCH, LAZY_CHUNKS, LAZY_KEPT};
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::request::Request;
use crate::table::rows::LiveRows;
use crate::table::update::TableUpdate;
use crate::table::view::View;
use crate::threads::lock;

/// Values kept for each row of the table.
const KEPT_A_ROW: usize = 4;

/// Columns computed once for each distinct input.
pub struct LazyUpdate {
    select: Select,
}

impl LazyUpdate {
    /// The table's columns, then these.
    pub fn new(call: &Call, table: &Table, expressions: &[Expr]) -> Result<LazyUpdate, Error> {
        if let Some(beside) = expressions.iter().find(|expression| expression.needs_context()) {
            let message = format!(
                "values are cached by the columns of the row, and {} depends on more (other rows, the clock): use update",
                beside.to_python()
            );
            return Err(Error::invalid(&call.method, message));
        }
        let select = Select::ordered(call, table, expressions, &[], InputColumns::Keep)?;
        let read = select.computed.iter().flat_map(Evaluator::inputs);
        if let Some(input) = read.copied().find(|input| !column::types::can_be_key(table.column_type(*input))) {
            return Err(Error::unkeyable(&call.method, table.schema().field(input).name(), table.column_type(input)));
        }
        Ok(LazyUpdate { select })
    }
}

impl Operation for LazyUpdate {
    fn request(&self) -> &Request {
        self.select.request()
    }

    fn expressions(&self) -> Option<Arc<[Evaluator]>> {
        Some(self.select.computed.clone())
    }

    fn init(&self, inputs: &[Input], _: Moment) -> Result<Start, Error> {
        let table = &inputs[0].table;
        let sources: Arc<[Arc<dyn ColumnSource>]> = table.parts().columns.clone().into();
        let computed = (0..self.select.computed.len())
            .map(|at| {
                let types = self.select.computed[at].inputs().iter().map(|input| table.column_type(*input).clone());
                let known = Known::new(types.collect())?;
                Ok(Arc::new(LazySource {
                    memo: Arc::new(Memo { columns: self.select.computed.clone(), at, known: Mutex::new(known) }),
                    rows: table.parts().rows.clone(),
                    sources: sources.clone(),
                }) as Arc<dyn ColumnSource>)
            })
            .collect::<Result<Vec<_>, Error>>()?;
        let parts = self.select.parts(table, &computed);
        let live = LazyLive { outputs: self.select.outputs.clone(), computed: self.select.computed.clone() };
        Ok(Start { parts, live: Box::new(live), owned: Vec::new() })
    }
}

struct LazyLive {
    outputs: Vec<Output>,
    computed: Arc<[Evaluator]>,
}

impl Live for LazyLive {
    fn update(&mut self, inputs: &[Change], _: Step) -> Result<TableUpdate, Error> {
        let update = inputs[0].update();
        let modified = |place: usize| {
            Some(&update.modified).filter(|_| update.columns.contains_any(self.computed[place].inputs()))
        };
        Ok(super::neighbours::told(&self.outputs, update, modified))
    }
}

/// What is known of one column.
struct Memo {
    columns: Arc<[Evaluator]>,
    at: usize,
    known: Mutex<Known>,
}

struct Known {
    converter: RowConverter,
    /// Where the value of an input stands, by the hash of its bits.
    places: HashTable<(u64, Box<[u8]>, u64)>,
    values: Vec<ArrayRef>,
    /// How many values there are.
    len: usize,
}

impl Known {
    fn new(types: Vec<DataType>) -> Result<Known, Error> {
        let converter = RowConverter::new(types.into_iter().map(SortField::new).collect())?;
        Ok(Known { converter, places: HashTable::new(), values: Vec::new(), len: 0 })
    }

    fn forget(&mut self) {
        self.places.clear();
        self.values.clear();
        self.len = 0;
    }

    fn values(&mut self) -> Result<ArrayRef, Error> {
        if self.values.len() > 1 {
            let parts: Vec<&dyn Array> = self.values.iter().map(|part| part.as_ref()).collect();
            self.values = vec![arrow_select::concat::concat(&parts)?];
        }
        Ok(self.values[0].clone())
    }
}

impl Memo {
    fn evaluator(&self) -> &Evaluator {
        &self.columns[self.at]
    }

    /// The values for these rows of a table of about `present` rows. What is not known is computed under the lock, so that two readers
    /// never compute one input twice, and on this thread, which therefore never waits for another.
    fn read(&self, view: &View, rows: &RowSet, present: u64) -> Result<Chunk, Error> {
        let evaluator = self.evaluator();
        let cells = view.read_columns(evaluator.inputs(), rows)?;
        if cells.is_empty() || rows.is_empty() {
            return evaluator.on_batch(&cells, rows);
        }
        let mut known = lock(&self.known);
        if known.len > LAZY_KEPT.get().max(KEPT_A_ROW * present as usize) {
            known.forget();
        }
        let inputs = known.converter.convert_columns(&cells)?;
        let (mut places, mut new) = (Vec::with_capacity(rows.len() as usize), Vec::new());
        let next = known.len;
        for at in 0..rows.len() as usize {
            let bits = inputs.row(at);
            let hash = hash_of(bits.as_ref());
            let entry =
                known.places.entry(hash, |known| known.0 == hash && *known.1 == *bits.as_ref(), |known| known.0);
            let place = entry
                .or_insert_with(|| {
                    new.push(at as u64);
                    (hash, bits.as_ref().into(), (next + new.len() - 1) as u64)
                })
                .get()
                .2;
            places.push(place);
        }
        if let Err(error) = self.compute(&mut known, &cells, rows, &new) {
            known.forget();
            return Err(error);
        }
        let values = known.values()?;
        drop(known);
        Ok(arrow_select::take::take(&values, &UInt64Array::from(places), None)?)
    }

    fn compute(&self, known: &mut Known, cells: &[Chunk], rows: &RowSet, new: &[u64]) -> Result<(), Error> {
        for batch in new.chunks(LAZY_BATCH.get()) {
            let at = UInt64Array::from(batch.to_vec());
            let taken =
                cells.iter().map(|cells| arrow_select::take::take(cells, &at, None)).collect::<Result<Vec<_>, _>>();
            let keys: RowSet = batch.iter().filter_map(|at| rows.key_at(*at)).collect();
            known.values.push(self.evaluator().on_batch(&taken?, &keys)?);
            known.len += batch.len();
        }
        if known.values.len() > LAZY_CHUNKS.get() {
            known.values()?;
        }
        Ok(())
    }
}

fn hash_of(bits: &[u8]) -> u64 {
    use std::hash::BuildHasher;
    foldhash::fast::FixedState::default().hash_one(bits)
}

/// A column computed once for each distinct input.
struct LazySource {
    memo: Arc<Memo>,
    rows: Arc<LiveRows>,
    sources: Arc<[Arc<dyn ColumnSource>]>,
}

impl ColumnSource for LazySource {
    fn data_type(&self) -> &DataType {
        self.memo.evaluator().data_type()
    }

    fn at(&self, moment: Moment) -> Result<Arc<dyn Column>, Moved> {
        let view = View::new(self.rows.clone(), moment, self.sources.clone());
        view.pin(self.memo.evaluator().inputs())?;
        Ok(Arc::new(Lazy { memo: self.memo.clone(), view, present: self.rows.latest().len() }))
    }

    fn bytes(&self) -> u64 {
        let known = lock(&self.memo.known);
        let keys: usize = known.places.iter().map(|known| known.1.len() + 32).sum();
        let values: usize = known.values.iter().map(|values| values.get_array_memory_size()).sum();
        (keys + values) as u64
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

struct Lazy {
    memo: Arc<Memo>,
    view: View,
    present: u64,
}

impl Column for Lazy {
    fn data_type(&self) -> &DataType {
        self.memo.evaluator().data_type()
    }

    fn read(&self, rows: &RowSet) -> Result<Chunk, column::Error> {
        self.memo.read(&self.view, rows, self.present).map_err(|error| column::Error::Computed(Arc::new(error)))
    }

    fn take(&self, keys: &[u64]) -> Result<Chunk, column::Error> {
        take_by(keys, |rows| self.read(rows))
    }

    fn pieces(&self, rows: &RowSet) -> Result<Vec<Chunk>, column::Error> {
        if rows.is_empty() { Ok(Vec::new()) } else { Ok(vec![self.read(rows)?]) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use formula::{Function, Host, HostFailure, HostId};
    use model::ops::{Derived, with_columns};
    use model::{Arith, Compare, ModelExpr};

    use super::*;
    use crate::driver::attach::attach;
    use crate::testing::{any_table, check_law, check_steps};

    /// Doubles, and counts the values it was given.
    struct Doubling(AtomicUsize);

    impl Host for Doubling {
        fn name(&self) -> &str {
            "doubling"
        }

        fn returns(&self, _: &[DataType]) -> Result<DataType, String> {
            Ok(DataType::Int64)
        }

        fn is_ordered(&self) -> Option<bool> {
            None
        }

        fn call(&self, args: &[ArrayRef], rows: usize) -> Result<ArrayRef, HostFailure> {
            self.0.fetch_add(rows, Ordering::Relaxed);
            let doubled = arrow_arith::numeric::mul_wrapping(&args[0], &arrow_array::Int64Array::new_scalar(2));
            Ok(doubled.expect("integers"))
        }
    }

    fn lazy(table: &Table, expression: Expr) -> Result<Table, Error> {
        attach(&LazyUpdate::new(&"lazy_update".into(), table, &[expression])?, std::slice::from_ref(table))
    }

    #[test]
    fn each_distinct_input_is_computed_once() {
        let host = Arc::new(Doubling(AtomicUsize::new(0)));
        let function = HostId::register(host.clone());
        let doubled = function.call(vec![Expr::column("V")]).expect("a call").alias("y");
        check_steps(
            |table| lazy(table, doubled.clone()),
            "0 A 1 | 1 B 1 | 2 C 2",
            &[("~ 0 . 2", "~ 0 . 2 4"), ("+ 3 D 1", "+ 3 D 1 2"), ("+ 4 D 5", "+ 4 D 5 10")],
        );
        let distinct = 3;
        // `check_steps` builds the table several times, each with a memory of its own.
        assert_eq!(host.0.load(Ordering::Relaxed) % distinct, 0);
        let drawn = crate::testing::Drawn::new(&crate::testing::still_graph(), "0 A 1 | 1 B 1 | 2 C 2 | 3 C 2");
        let made = lazy(drawn.table(), doubled).expect("a table");
        let before = host.0.load(Ordering::Relaxed);
        for _ in 0..3 {
            let rows = made.rows().expect("alive");
            made.view().expect("alive").read(2, &rows).expect("cells");
        }
        assert_eq!(host.0.load(Ordering::Relaxed) - before, 2);
    }

    #[test]
    fn law() {
        let sum =
            || Expr::call(Function::Add, vec![Expr::column("v"), Expr::literal(1_i64)]).expect("a call").alias("w");
        let model = |input: &model::Table| {
            let (v, one) = (Box::new(ModelExpr::column("v")), Box::new(ModelExpr::literal(1)));
            with_columns(input, &[Derived::expr("w", ModelExpr::Arith(Arith::Add, v, one))])
        };
        check_law(&any_table(), 300, Compare::ByPosition, |table| lazy(table, sum()), model);
    }
}
