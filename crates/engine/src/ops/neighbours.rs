//! `with_columns` and `select` over expressions that read more than their own row: neighbours
//! (`shift(n)`, `X_[i-1]`), positions, whole columns, the clock.
//!
//!   in   + 0 1    + 1 2    + 2 3          with_columns y = V.shift(1)
//!   out  + 0 1 .  + 1 2 1  + 2 3 2
//!   in   - 1      out   - 1    ~ 2 3 1    the neighbour of row 2 is another
//!   in   ~ 0 5    out   ~ 0 5 .    ~ 2 3 5
//!
//! Stored. Cost of an update: the change times how far an expression looks; cells that come out as
//! they were are not told. What depends on the clock is computed anew for all rows in a step in which
//! its value differs; such a table has a due timer in every step.

use std::sync::Arc;

use column::Chunk;
use formula::Expr;
use graph::{Moment, NodeId, Step, UpdateGraph};
use rowset::RowSet;

use super::select::{Output, Select};
use crate::driver::alarm::Alarm;
use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::eval::affected::affected_rows;
use crate::eval::call::Call;
use crate::eval::evaluator::{Evaluator, evaluate_all};
use crate::eval::schedule::ExecutionOrder;
use crate::plan::spec::InputColumns;
use crate::row_errors::{OnError, RowErrors};
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::Attributes;
use crate::table::request::Request;
use crate::table::store::{Columns, Writes};
use crate::table::update::{ColumnSet, TableUpdate};

/// Stored columns that depend on more than their own row.
pub struct Neighbours {
    select: Select,
}

impl Neighbours {
    /// `own`: what becomes of the table's own columns.
    pub fn new(
        call: &Call,
        table: &Table,
        expressions: &[Expr],
        orders: &[ExecutionOrder],
        own: InputColumns,
    ) -> Result<Neighbours, Error> {
        let mut select = Select::ordered(call, table, expressions, orders, own)?;
        // Whoever asks twice for random numbers wants others.
        select.request.shareable &= !expressions.iter().any(Expr::is_unseeded);
        select.request.timed = select.computed.iter().any(|column| column.reach().clock);
        Ok(Neighbours { select })
    }

    /// Sets `on_error`: cells that cannot be computed are null, and are reported.
    pub(crate) fn with_on_error(self, on_error: OnError, row_errors: &RowErrors) -> Neighbours {
        Neighbours { select: self.select.with_on_error(on_error, row_errors) }
    }
}

/// What a table stays when its new columns look at other rows, or at the clock.
pub(super) fn attributes(kept: &Attributes, computed: &[Evaluator]) -> Attributes {
    let reaches = || computed.iter().map(Evaluator::reach);
    let clock = reaches().any(|reach| reach.clock);
    let ahead = reaches().any(|reach| reach.ahead > 0);
    let far = ahead || reaches().any(|reach| reach.back > 0);
    Attributes {
        append_only: kept.append_only && !clock && !ahead,
        add_only: kept.add_only && !clock && (!far || kept.append_only && !ahead),
        ..kept.clone()
    }
}

impl Operation for Neighbours {
    fn request(&self) -> &Request {
        self.select.request()
    }

    fn expressions(&self) -> Option<Arc<[Evaluator]>> {
        Some(self.select.computed.clone())
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let Input { table, view } = &inputs[0];
        let computed = self.select.computed.clone();
        let now = table.graph().map_or_else(graph::env::epoch_nanos, now_of);
        for evaluator in computed.iter() {
            evaluator.set_now(now)?;
        }
        let (sources, columns) = self.select.start(table, view, at)?;
        let mut parts = self.select.parts(table, &sources);
        parts.attributes = attributes(&parts.attributes, &computed);
        let owned = columns.as_ref().map(Columns::owned).unwrap_or_default();
        let live = NeighboursLive {
            outputs: self.select.outputs.clone(),
            computed,
            columns,
            alarm: table.graph().map(Alarm::new),
        };
        Ok(Start { parts, live: Box::new(live), owned })
    }
}

/// The start of the step that runs, or of the last one; of a graph that never stepped, now.
pub(super) fn now_of(graph: &UpdateGraph) -> i64 {
    match graph.step_nanos() {
        0 => graph.time().epoch_nanos(),
        nanos => nanos,
    }
}

struct NeighboursLive {
    outputs: Vec<Output>,
    computed: Arc<[Evaluator]>,
    columns: Option<Columns>,
    alarm: Option<Alarm>,
}

impl Live for NeighboursLive {
    fn joined(&mut self, node: NodeId) {
        if let Some(alarm) = self.alarm.as_mut().filter(|_| self.computed.iter().any(|one| one.reach().clock)) {
            alarm.joined(node);
            alarm.ring();
        }
    }

    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let change = &inputs[0];
        let update = change.update();
        let dirty = self.dirty(change)?;
        let Some(columns) = &self.columns else {
            return Err(Error::internal("neighbours", "a live table without stored columns"));
        };
        let mut writes = Writes { removed: update.removed.clone(), shifts: update.shifts.clone(), ..Writes::default() };
        if !update.added.is_empty() {
            let all: Vec<&Evaluator> = self.computed.iter().collect();
            writes.added.push((update.added.clone(), evaluate_all(&all, change.now(), &update.added)?));
        }
        writes.modified = vec![None; self.computed.len()];
        for (at, rows) in dirty.iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            let cells = self.computed[at].evaluate(change.now(), rows)?;
            writes.modified[at] = differing(columns, at, rows, cells, change, step)?;
        }
        columns.write(step, || change.before().rows().clone(), change.now().rows().clone(), &writes)?;
        Ok(told(&self.outputs, update, |place| writes.modified[place].as_ref().map(|(rows, _)| rows)))
    }
}

/// The update of the table: shared columns as they changed, computed ones where `modified` says so.
pub(super) fn told<'a>(
    outputs: &[Output],
    update: &TableUpdate,
    modified: impl Fn(usize) -> Option<&'a RowSet>,
) -> TableUpdate {
    let (mut rows, mut columns) = (RowSet::new(), ColumnSet::new());
    for (at, output) in outputs.iter().enumerate() {
        let changed = match output {
            Output::Shared(index, _) => Some(&update.modified).filter(|_| update.columns.contains(*index)),
            Output::Computed(place) => modified(*place),
        };
        if let Some(changed) = changed.filter(|changed| !changed.is_empty()) {
            columns.insert(at);
            rows |= changed;
        }
    }
    TableUpdate { columns, modified: rows, ..update.clone() }
}

impl NeighboursLive {
    /// For each computed column the rows that stay and may have another value.
    fn dirty(&mut self, change: &Change) -> Result<Vec<RowSet>, Error> {
        let now = self.alarm.as_ref().map(|alarm| now_of(alarm.graph())).unwrap_or_default();
        self.wake(now)?;
        let rows = |evaluator: &Evaluator| {
            let ticked = evaluator.set_now(now)?;
            let stay = || change.now().rows() - &change.update().added;
            Ok(if ticked { stay() } else { affected_rows(evaluator.reach(), change) })
        };
        self.computed.iter().map(rows).collect()
    }

    /// Asks for the step in which the clock next matters: the next one, or the first of the next day.
    fn wake(&mut self, now: i64) -> Result<(), Error> {
        let Some(alarm) = &mut self.alarm else { return Ok(()) };
        let mut next: Option<i64> = None;
        for evaluator in self.computed.iter().filter(|evaluator| evaluator.reach().clock) {
            let Some(at) = evaluator.next_change(now)? else {
                alarm.ring();
                return Ok(());
            };
            next = Some(next.map_or(at, |next| next.min(at)));
        }
        alarm.set(next);
        Ok(())
    }
}

/// Of rows that stay, those whose cell differs from the one that is stored, and their cells.
pub(super) fn differing(
    columns: &Columns,
    at: usize,
    rows: &RowSet,
    cells: Chunk,
    change: &Change,
    step: Step,
) -> Result<Option<(RowSet, Chunk)>, Error> {
    let old = columns.stored(at, step, &change.update().shifts.back(rows).0)?;
    let differs = !&column::kernels::equal_cells(&cells, &old);
    if differs.count_set_bits() == differs.len() {
        return Ok(Some((rows.clone(), cells)));
    }
    let kept = column::matching(rows, &differs);
    if kept.is_empty() {
        return Ok(None);
    }
    let cells = arrow_select::filter::filter(&cells, &arrow_array::BooleanArray::new(differs, None))?;
    Ok(Some((kept, cells)))
}

#[cfg(test)]
pub(super) mod tests {
    use formula::Function;
    use model::ops::{Derived, filter, with_columns};
    use model::{Arith, Compare, Comparison, ModelExpr};

    use super::*;
    use crate::plan::{ColumnOptions, Materialization, columns, filtered};
    use crate::testing::{any_table, check_law, check_steps};

    pub(in crate::ops) fn shift(expr: Expr, by: i64) -> Expr {
        Expr::call(Function::Shift { by }, vec![expr]).expect("a call")
    }

    fn made(table: &Table, expressions: &[Expr], kept: Materialization) -> Result<Table, Error> {
        columns("with_columns", table, expressions, ColumnOptions { kept, ..ColumnOptions::STORED })
    }

    /// Looks one back, three back, two ahead, and through one another.
    pub(in crate::ops) fn wide() -> Vec<Expr> {
        let v = || Expr::column("v");
        let sum = Expr::call(Function::Add, vec![v(), shift(v(), 3), shift(v(), -2)]).expect("a call");
        let through = shift(Expr::call(Function::Subtract, vec![shift(v(), -4), v()]).expect("a call"), 3);
        vec![shift(v(), 1).alias("one"), sum.alias("sum"), through.alias("through")]
    }

    pub(in crate::ops) fn model_wide() -> [Derived; 3] {
        let v = || Box::new(ModelExpr::column("v"));
        let of = |expr: ModelExpr, by| Box::new(ModelExpr::Shift(Box::new(expr), by));
        let sum = ModelExpr::Arith(Arith::Add, v(), of(*v(), 3));
        let sum = ModelExpr::Arith(Arith::Add, Box::new(sum), of(*v(), -2));
        let through = *of(ModelExpr::Arith(Arith::Subtract, of(*v(), -4), v()), 3);
        [Derived::expr("one", *of(*v(), 1)), Derived::expr("sum", sum), Derived::expr("through", through)]
    }

    #[test]
    fn neighbours_of_what_comes_goes_and_changes_are_told() {
        check_steps(
            |table| made(table, &[shift(Expr::column("V"), 1).alias("y")], Materialization::Stored),
            "0 A 1 | 1 B 2 | 2 C 3 | 5 D 4",
            &[
                ("~ 0 . 7", "~ 0 . 7 null | ~ 1 . 2 7"),
                ("~ 1 Z .", "~ 1 Z . ."),
                ("- 1", "- 1 | ~ 2 . . 7"),
                ("+ 3 E 9", "+ 3 E 9 3 | ~ 5 . . 9"),
                ("> [5..5]+4", "> [5..5]+4"),
                ("- 0", "- 0 | ~ 2 . . null"),
            ],
        );
    }

    #[test]
    fn law() {
        let build = |table: &Table| made(table, &wide(), Materialization::Stored);
        check_law(&any_table(), 400, Compare::ByPosition, build, |input| with_columns(input, &model_wide()));
    }

    #[test]
    fn law_of_a_filter_on_neighbours() {
        let rising =
            Expr::call(Function::Greater, vec![Expr::column("v"), shift(Expr::column("v"), 1)]).expect("a call");
        let build = |table: &Table| filtered("where", table, std::slice::from_ref(&rising), &[], OnError::Fail);
        let before = Box::new(ModelExpr::Shift(Box::new(ModelExpr::column("v")), 1));
        let model = ModelExpr::Compare(Comparison::Greater, Box::new(ModelExpr::column("v")), before);
        check_law(&any_table(), 300, Compare::ByPosition, build, |input| filter(input, std::slice::from_ref(&model)));
    }

    #[test]
    fn the_clock_is_followed_and_a_date_waits_for_the_next_day() {
        use arrow_array::cast::AsArray;
        use arrow_array::types::{Date32Type, TimestampNanosecondType};

        const DAY: i64 = 86_400_000_000_000;
        let time = graph::env::ManualTime::starting_at(10 * DAY);
        let settings = graph::Settings { threads: Some(1), init_threads: Some(1), ..Default::default() };
        let graph = UpdateGraph::with_time(settings, graph::env::TimeSource::Manual(time.clone()));
        let drawn = crate::testing::Drawn::new(&graph, "0 A 1 | 1 B 2");
        let now = || Expr::call(Function::Now, vec![]).expect("a call");
        let today = Expr::call(Function::Time(formula::Time::Date), vec![now()]).expect("a call").alias("d");
        let ticking = made(drawn.table(), &[now().alias("n")], Materialization::Stored).expect("a table");
        let daily = made(drawn.table(), &[today], Materialization::Stored).expect("a table");
        let step = |hours: u64| {
            time.advance(std::time::Duration::from_secs(3_600 * hours));
            let step = graph.step().expect("a step").number();
            let cells =
                |table: &Table| table.view().expect("alive").read(2, &table.rows().expect("alive")).expect("cells");
            let (n, d) = (cells(&ticking), cells(&daily));
            let hour = n.as_primitive::<TimestampNanosecondType>().value(1) % DAY / 3_600_000_000_000;
            (hour, d.as_primitive::<Date32Type>().value(1), daily.last_step() == step)
        };
        step(0);
        assert_eq!(step(1), (1, 10, false));
        assert_eq!(step(22), (23, 10, false));
        assert_eq!(step(1), (0, 11, true));
        assert_eq!(step(1), (1, 11, false));
    }

    #[test]
    fn positions_and_whole_columns_are_refused_where_rows_move() {
        let graph = crate::testing::still_graph();
        let drawn = crate::testing::Drawn::new(&graph, "0 A 1");
        let element = Expr::call(Function::Element, vec![Expr::column("V"), Expr::literal(0_i64)]).expect("a call");
        for (function, text) in [(Function::Position, "append-only or blink"), (Function::RowKey, "add-only or blink")]
        {
            let expr = Expr::call(function, vec![]).expect("a call").alias("y");
            let error =
                made(drawn.table(), &[expr], Materialization::Stored).err().expect("the input is no append-only table");
            assert!(error.to_string().contains(text), "{error}");
            assert!(error.to_string().contains("shift(n)") && error.to_string().contains("update_by"), "{error}");
        }
        let error =
            made(drawn.table(), &[element.alias("y")], Materialization::Lazy).err().expect("the input is not static");
        assert!(error.to_string().contains("static or blink"), "{error}");
    }
}
