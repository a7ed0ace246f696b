//! `select`, `with_columns`: stored columns computed from expressions.
//!
//!   in   + 0 X 1    + 1 X 2    with_columns y = X * 2
//!   out  + 0 X 1 y 2    + 1 X 2 y 4
//!   in   ~ 1 X 3    out   ~ 1 X 3 y 6    K {X, y}
//!   in   ~ 1 Z 9    out   ~ 1 Z 9        K {Z}: y does not read Z and is not computed
//!
//! Rows and unchanged columns are shared with the input. Cost of an update: added rows are computed in all new columns,
//! modified rows in those columns that read a modified one; shifts move stored cells.

use std::sync::Arc;

use arrow_schema::{Field, Schema};
use column::{Chunk, ColumnSource, FlatColumn};
use formula::Expr;
use formula::hidden::renamed;
use graph::{Moment, Step};
use rowset::RowSet;

use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::eval::call::Call;
use crate::eval::evaluator::{Evaluator, evaluate_all, pieces_of_all};
use crate::eval::schedule::ExecutionOrder;
use crate::ops::asked::{Asked, Expressions};
use crate::plan::spec::InputColumns;
use crate::row_errors::{OnError, RowErrors};
use crate::sizes::TOGETHER_ROWS;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::Attributes;
use crate::table::parts::Parts;
use crate::table::request::Request;
use crate::table::store::{Columns, Writes};
use crate::table::update::{ColumnSet, TableUpdate};
use crate::threads::parallel::both;

/// `select` and `with_columns`: shared and computed columns over the rows of the input.
pub struct Select {
    pub(super) request: Request,
    pub(super) outputs: Vec<Output>,
    pub(super) computed: Arc<[Evaluator]>,
}

#[derive(Clone)]
pub(super) enum Output {
    /// Input column under a name.
    Shared(usize, String),
    /// Computed column, by its place among the computed ones.
    Computed(usize),
}

impl Select {
    /// Only these columns.
    pub fn only(table: &Table, expressions: &[Expr]) -> Result<Select, Error> {
        Select::named("select", table, expressions)
    }

    /// As [`Select::only`], with the name of the method that the user called, for error messages.
    pub fn named(operation: &str, table: &Table, expressions: &[Expr]) -> Result<Select, Error> {
        Select::ordered(&operation.into(), table, expressions, &[], InputColumns::Drop)
    }

    fn only_ordered(
        call: &Call,
        table: &Table,
        expressions: &[Expr],
        orders: &[ExecutionOrder],
    ) -> Result<Select, Error> {
        let mut select = Select::empty(call, table, expressions, orders);
        let mut computed = Vec::with_capacity(expressions.len());
        for (at, expression) in expressions.iter().enumerate() {
            let output = output(call, table, expression, orders.get(at), &mut computed)?;
            select.outputs.push(output);
        }
        select.finish(&call.method, computed)
    }

    /// All columns of the table, replaced by or followed by these.
    pub fn with(table: &Table, expressions: &[Expr]) -> Result<Select, Error> {
        Select::ordered(&"with_columns".into(), table, expressions, &[], InputColumns::Keep)
    }

    fn with_ordered(
        call: &Call,
        table: &Table,
        expressions: &[Expr],
        orders: &[ExecutionOrder],
    ) -> Result<Select, Error> {
        let mut select = Select::empty(call, table, expressions, orders);
        select.outputs =
            (0..table.width()).map(|index| Output::Shared(index, table.schema().field(index).name().clone())).collect();
        let mut computed = Vec::with_capacity(expressions.len());
        let mut named = std::collections::HashSet::new();
        for (at, expression) in expressions.iter().enumerate() {
            let output = output(call, table, expression, orders.get(at), &mut computed)?;
            let name = name_of(&output, &computed).to_owned();
            if !named.insert(name.clone()) {
                return Err(Error::Duplicate { operation: call.method.to_string(), name });
            }
            match table.schema().index_of(&name) {
                Ok(index) => select.outputs[index] = output,
                Err(_) => select.outputs.push(output),
            }
        }
        select.finish(&call.method, computed)
    }

    /// Sets `on_error`: cells that cannot be computed are null, and are reported.
    pub(crate) fn with_on_error(mut self, on_error: OnError, row_errors: &RowErrors) -> Select {
        for column in Arc::get_mut(&mut self.computed).into_iter().flatten() {
            column.with_on_error(row_errors);
        }
        self.request = self.request.with_on_error(on_error, row_errors);
        self
    }

    /// Makes `with_columns` if the table's own columns are kept, otherwise `select`; with the execution order of each
    /// expression, or none.
    pub(crate) fn ordered(
        call: &Call,
        table: &Table,
        expressions: &[Expr],
        orders: &[ExecutionOrder],
        own: InputColumns,
    ) -> Result<Select, Error> {
        match own {
            InputColumns::Keep => Select::with_ordered(call, table, expressions, orders),
            InputColumns::Drop => Select::only_ordered(call, table, expressions, orders),
        }
    }

    fn empty(call: &Call, table: &Table, expressions: &[Expr], orders: &[ExecutionOrder]) -> Select {
        let told = |expression: &Expr| call.told(expression, table.canonical());
        let text = expressions.iter().map(told).collect::<Vec<_>>().join(", ");
        let asked = Asked::Select { columns: Expressions(expressions), orders };
        Select {
            request: Request::new(&call.method, &asked).with_text(text),
            outputs: Vec::new(),
            computed: Arc::new([]),
        }
    }

    fn finish(mut self, operation: &str, computed: Vec<Evaluator>) -> Result<Select, Error> {
        let mut seen = std::collections::HashSet::new();
        if let Some(twice) = self.outputs.iter().find(|output| !seen.insert(name_of(output, &computed).to_owned())) {
            return Err(Error::Duplicate { operation: operation.into(), name: name_of(twice, &computed).to_owned() });
        }
        self.computed = computed.into();
        Ok(self)
    }
}

fn name_of<'a>(output: &'a Output, computed: &'a [Evaluator]) -> &'a str {
    match output {
        Output::Shared(_, name) => name,
        Output::Computed(at) => computed[*at].name(),
    }
}

/// A plain or renamed column is shared; everything else is computed.
fn output(
    call: &Call,
    table: &Table,
    expression: &Expr,
    order: Option<&ExecutionOrder>,
    computed: &mut Vec<Evaluator>,
) -> Result<Output, Error> {
    let (inner, name) = match expression {
        Expr::Alias(inner, name) => (inner.as_ref(), Some(name)),
        other => (other, None),
    };
    if let Expr::Column(column) = inner {
        let index = table.column_index(&call.method, column)?;
        return Ok(Output::Shared(index, name.unwrap_or(column).to_string()));
    }
    computed.push(Evaluator::new(call, expression, table)?.with_order(order.cloned().unwrap_or_default()));
    Ok(Output::Computed(computed.len() - 1))
}

impl Operation for Select {
    fn request(&self) -> &Request {
        &self.request
    }

    fn expressions(&self) -> Option<Arc<[Evaluator]>> {
        Some(self.computed.clone())
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let Input { table, view } = &inputs[0];
        crate::eval::evaluator::own_row_only(&self.request.name, &self.computed)?;
        let (sources, columns) = self.start(table, view, at)?;
        let parts = self.parts(table, &sources);
        let owned = columns.as_ref().map(Columns::owned).unwrap_or_default();
        let live = SelectLive { outputs: self.outputs.clone(), computed: self.computed.clone(), columns };
        Ok(Start { parts, live: Box::new(live), owned })
    }
}

impl Select {
    /// The rows, columns and schema of the result; `sources` are the computed columns.
    pub(super) fn parts(&self, table: &Table, sources: &[Arc<dyn ColumnSource>]) -> Parts {
        let mut fields = Vec::with_capacity(self.outputs.len());
        let mut result: Vec<Arc<dyn ColumnSource>> = Vec::with_capacity(self.outputs.len());
        for output in &self.outputs {
            match output {
                Output::Shared(index, name) => {
                    fields.push(renamed(table.schema().field(*index), name));
                    result.push(table.parts().columns[*index].clone());
                }
                Output::Computed(place) => {
                    let column = &self.computed[*place];
                    fields.push(column.field(declared_type(column.data_type())));
                    result.push(sources[*place].clone());
                }
            }
        }
        let attributes = Attributes { key: Vec::new(), sorted_by: Vec::new(), ..table.attributes().clone() };
        Parts { rows: table.parts().rows.clone(), columns: result, schema: Arc::new(Schema::new(fields)), attributes }
    }

    /// The computed columns. Over a static flat input the computed chunks themselves are the columns.
    pub(super) fn start(
        &self,
        table: &Table,
        view: &crate::table::view::View,
        at: Moment,
    ) -> Result<(Vec<Arc<dyn ColumnSource>>, Option<Columns>), Error> {
        let rows = view.rows();
        let all: Vec<&Evaluator> = self.computed.iter().collect();
        let pieces = if rows.is_empty() {
            self.computed.iter().map(|_| Vec::new()).collect()
        } else {
            pieces_of_all(&all, view, rows)?
        };
        if !table.is_live() && rows.is_flat() && !rows.is_empty() {
            let column = |pieces: Vec<Chunk>| Ok(Arc::new(FlatColumn::new(pieces)?) as Arc<dyn ColumnSource>);
            return Ok((pieces.into_iter().map(column).collect::<Result<_, Error>>()?, None));
        }
        let canonical = Schema::new(
            self.computed
                .iter()
                .map(|column| Field::new(column.name(), column.data_type().clone(), true))
                .collect::<Vec<_>>(),
        );
        let counters = table.graph().map(crate::observe::storage).unwrap_or_default();
        let mut cells = Vec::new();
        for pieces in pieces {
            let mut start = 0;
            cells.push(
                pieces
                    .into_iter()
                    .map(|piece| {
                        let keys = rows.slice(start, piece.len() as u64);
                        start += piece.len() as u64;
                        (keys, piece)
                    })
                    .collect::<Vec<_>>(),
            );
        }
        let columns = Columns::filled(&canonical, at, &counters, &cells)?;
        Ok((columns.sources(), Some(columns)))
    }
}

/// The declared type of a computed column. Strings are stored as views but declared as plain `utf8` (and binary values
/// as plain `binary`), because every Arrow consumer reads the plain types.
pub(crate) fn declared_type(canonical: &arrow_schema::DataType) -> arrow_schema::DataType {
    match canonical {
        arrow_schema::DataType::Utf8View => arrow_schema::DataType::Utf8,
        arrow_schema::DataType::BinaryView => arrow_schema::DataType::Binary,
        other => other.clone(),
    }
}

struct SelectLive {
    outputs: Vec<Output>,
    computed: Arc<[Evaluator]>,
    columns: Option<Columns>,
}

impl Live for SelectLive {
    // All cells are computed before any is written.
    fn resumes(&self) -> bool {
        true
    }

    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let change = &inputs[0];
        let update = change.update();
        if let Some(columns) = self.columns.as_ref().filter(|columns| !columns.is_empty()) {
            let writes = self.writes(change, columns, step)?;
            columns.write(step, || change.before().rows().clone(), change.now().rows().clone(), &writes)?;
        }
        let changed = |output: &Output| match output {
            Output::Shared(index, _) => update.columns.contains(*index),
            Output::Computed(place) => update.columns.contains_any(self.computed[*place].inputs()),
        };
        let columns: ColumnSet =
            (self.outputs.iter().enumerate()).filter(|(_, output)| changed(output)).map(|(at, _)| at).collect();
        let modified = if columns.is_empty() { RowSet::new() } else { update.modified.clone() };
        Ok(TableUpdate { columns, modified, ..update.clone() })
    }
}

impl SelectLive {
    fn writes(&self, change: &Change, columns: &Columns, step: Step) -> Result<Writes, Error> {
        let update = change.update();
        let mut writes = Writes { removed: update.removed.clone(), shifts: update.shifts.clone(), ..Writes::default() };
        if !update.added.is_empty() {
            let all: Vec<&Evaluator> = self.computed.iter().collect();
            let cells = evaluate_all(&all, change.now(), &update.added)?;
            writes.added.push((update.added.clone(), cells));
        }
        let dirty: Vec<usize> =
            (0..self.computed.len()).filter(|at| update.columns.contains_any(self.computed[*at].inputs())).collect();
        if !dirty.is_empty() && !update.modified.is_empty() {
            let evaluators: Vec<&Evaluator> = dirty.iter().map(|at| &self.computed[*at]).collect();
            // Stored cells and input cells both miss the cache: two threads overlap these misses.
            let together = update.shifts.is_empty()
                && update.modified.len() >= 2 * TOGETHER_ROWS.rows()
                && update.modified.as_span().is_none()
                && !evaluators.iter().any(|evaluator| evaluator.calls_host());
            let stored = |at: &usize| together.then(|| columns.stored(*at, step, &update.modified)).transpose();
            let (cells, old) = both(
                together,
                || evaluate_all(&evaluators, change.now(), &update.modified),
                || dirty.iter().map(stored).collect::<Result<Vec<_>, _>>(),
            );
            writes.modified = vec![None; self.computed.len()];
            writes.old = vec![None; self.computed.len()];
            for ((at, cells), old) in dirty.iter().zip(cells?).zip(old?) {
                writes.modified[*at] = Some((update.modified.clone(), cells));
                writes.old[*at] = old;
            }
        }
        Ok(writes)
    }
}

#[cfg(test)]
mod tests {
    use formula::Function;
    use model::ops::{Derived, select, with_columns};
    use model::{Arith, Compare, ModelExpr};

    use super::*;
    use crate::driver::attach::attach;
    use crate::testing::{any_table, check_law, check_steps};

    fn doubled(column: &str) -> Result<Expr, formula::Error> {
        Expr::call(Function::Multiply, vec![Expr::column(column), Expr::literal(2)])
    }

    fn model_doubled(column: &str) -> ModelExpr {
        ModelExpr::Arith(Arith::Multiply, Box::new(ModelExpr::column(column)), Box::new(ModelExpr::literal(2)))
    }

    #[test]
    fn only_what_reads_a_changed_column_is_computed_and_told() {
        let build =
            |table: &Table| attach(&Select::with(table, &[doubled("V")?.alias("y")])?, std::slice::from_ref(table));
        check_steps(
            build,
            "0 A 1 | 1 B 2",
            &[
                ("~ 1 . 3", "~ 1 . 3 6"),
                ("~ 1 Z .", "~ 1 Z . ."),
                ("+ 2 C 4", "+ 2 C 4 8"),
                ("- 0 | > [1..2]-1", "- 0 | > [1..2]-1"),
            ],
        );
    }

    #[test]
    fn law() {
        let build = |table: &Table| {
            let columns = [doubled("v")?.alias("y"), doubled("x")?.alias("x"), Expr::column("k").alias("z")];
            attach(&Select::with(table, &columns)?, std::slice::from_ref(table))
        };
        let columns = || {
            [
                Derived::expr("y", model_doubled("v")),
                Derived::expr("x", model_doubled("x")),
                Derived::expr("z", ModelExpr::column("k")),
            ]
        };
        check_law(&any_table(), 300, Compare::ByPosition, build, |input| with_columns(input, &columns()));
    }

    #[test]
    fn law_of_select() {
        let build = |table: &Table| {
            let columns = [Expr::column("x"), doubled("g")?.alias("h"), Expr::column("k")];
            attach(&Select::only(table, &columns)?, std::slice::from_ref(table))
        };
        let columns = || [Derived::column("x"), Derived::expr("h", model_doubled("g")), Derived::column("k")];
        check_law(&any_table(), 300, Compare::ByPosition, build, |input| select(input, &columns()));
    }
}
