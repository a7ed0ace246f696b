//! `view`, `update_view`: columns computed when they are read.
//!
//!   in   + 0 X 1    + 1 X 2    update_view y = X * 2
//!   out  + 0 X 1 y 2    + 1 X 2 y 4          nothing is stored
//!   in   ~ 1 X 3    out   ~ 1 X 3 y 6    K {X, y}: before, y reads as 4 from the old X
//!
//! Cost of an update: none but the names of columns (and for neighbours the rows they reach). Cost of
//! a read: the expression, each time. What differs between two reads has no place here: the clock is
//! refused, and so are serial columns and barriers.

use std::sync::Arc;

use formula::Expr;
use graph::{Moment, Step};
use rowset::RowSet;

use super::neighbours::{attributes, told};
use super::select::{Output, Select};
use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::eval::affected::affected_rows;
use crate::eval::call::Call;
use crate::eval::computed::{computed_columns, depth};
use crate::eval::evaluator::Evaluator;
use crate::eval::schedule::ExecutionOrder;
use crate::plan::spec::InputColumns;
use crate::sizes::DEEPEST_VIEW;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::request::Request;
use crate::table::update::TableUpdate;

/// Columns computed on read.
pub struct ComputedView {
    select: Select,
}

impl ComputedView {
    /// `own`: what becomes of the table's own columns.
    pub fn new(
        call: &Call,
        table: &Table,
        expressions: &[Expr],
        orders: &[ExecutionOrder],
        own: InputColumns,
    ) -> Result<ComputedView, Error> {
        if let Some(of_clock) = expressions.iter().find(|expression| expression.reads_clock()) {
            let message = format!(
                "{} changes with the clock, and two reads would differ: use update or with_columns, which follow the clock",
                of_clock.to_python()
            );
            return Err(Error::invalid(&call.method, message));
        }
        if let Some(random) = expressions.iter().find(|expression| expression.is_volatile()) {
            let message = format!(
                "{} draws a number, and two reads would differ: use update or with_columns, which keep what was drawn",
                random.to_python()
            );
            return Err(Error::invalid(&call.method, message));
        }
        refuse_order(&call.method, orders)?;
        Ok(ComputedView { select: Select::ordered(call, table, expressions, orders, own)? })
    }
}

/// Order has no meaning where columns are computed on read.
pub(crate) fn refuse_order(operation: &str, orders: &[ExecutionOrder]) -> Result<(), Error> {
    let controlled = |order: &ExecutionOrder| order.serial || !order.declares.is_empty() || !order.respects.is_empty();
    if orders.iter().any(controlled) {
        let message = "a serial column or a barrier has no meaning where columns are computed on read: use update";
        return Err(Error::invalid(operation, message));
    }
    Ok(())
}

/// Whether a view over these columns would be computed through too many others.
pub fn is_deep(table: &Table) -> bool {
    table.parts().columns.iter().any(|source| depth(source) >= DEEPEST_VIEW.get())
}

impl Operation for ComputedView {
    fn request(&self) -> &Request {
        self.select.request()
    }

    fn expressions(&self) -> Option<Arc<[Evaluator]>> {
        Some(self.select.computed.clone())
    }

    fn init(&self, inputs: &[Input], _: Moment) -> Result<Start, Error> {
        let table = &inputs[0].table;
        let computed = computed_columns(&self.select.computed, table);
        let mut parts = self.select.parts(table, &computed);
        parts.attributes = attributes(&parts.attributes, &self.select.computed);
        let live = ViewLive { outputs: self.select.outputs.clone(), computed: self.select.computed.clone() };
        Ok(Start { parts, live: Box::new(live), owned: Vec::new() })
    }
}

struct ViewLive {
    outputs: Vec<Output>,
    computed: Arc<[Evaluator]>,
}

impl Live for ViewLive {
    fn update(&mut self, inputs: &[Change], _: Step) -> Result<TableUpdate, Error> {
        let change = &inputs[0];
        let dirty: Vec<RowSet> = self.computed.iter().map(|column| affected_rows(column.reach(), change)).collect();
        Ok(told(&self.outputs, change.update(), |place| Some(&dirty[place])))
    }
}

#[cfg(test)]
mod tests {
    use formula::Function;
    use model::ops::{Derived, with_columns};
    use model::{Arith, Compare, ModelExpr};

    use super::*;
    use crate::plan::{ColumnOptions, Materialization, columns};
    use crate::testing::{any_table, check_law, check_steps};

    fn call(function: Function, args: Vec<Expr>) -> Expr {
        Expr::call(function, args).expect("a call")
    }

    fn view(table: &Table, expressions: &[Expr]) -> Result<Table, Error> {
        columns(
            "update_view",
            table,
            expressions,
            ColumnOptions { kept: Materialization::Lazy, ..ColumnOptions::STORED },
        )
    }

    #[test]
    fn before_values_come_from_the_inputs() {
        let doubled = call(Function::Multiply, vec![Expr::column("V"), Expr::literal(2_i64)]).alias("y");
        check_steps(
            |table| view(table, std::slice::from_ref(&doubled)),
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
        let sum = || call(Function::Add, vec![Expr::column("v"), Expr::literal(1_i64)]).alias("w");
        let over = || call(Function::Multiply, vec![Expr::column("w"), Expr::column("v")]).alias("x");
        let build = |table: &Table| view(&view(table, &[sum()])?, &[over()]);
        let (v, w) = (|| Box::new(ModelExpr::column("v")), || Box::new(ModelExpr::column("w")));
        let model = |input: &model::Table| {
            let one = Box::new(ModelExpr::literal(1));
            let first = with_columns(input, &[Derived::expr("w", ModelExpr::Arith(Arith::Add, v(), one))]);
            with_columns(&first, &[Derived::expr("x", ModelExpr::Arith(Arith::Multiply, w(), v()))])
        };
        check_law(&any_table(), 300, Compare::ByPosition, build, model);
    }

    #[test]
    fn law_of_neighbours_on_read() {
        let wide = super::super::neighbours::tests::wide();
        let build = |table: &Table| view(table, &wide);
        let model = super::super::neighbours::tests::model_wide();
        check_law(&any_table(), 300, Compare::ByPosition, build, |input| with_columns(input, &model));
    }

    #[test]
    fn nothing_is_stored_and_the_clock_is_refused() {
        let graph = crate::testing::still_graph();
        let drawn = crate::testing::Drawn::new(&graph, "0 A 1 | 1 B 2");
        let made = view(drawn.table(), &[call(Function::Negate, vec![Expr::column("V")]).alias("y")]).expect("a view");
        assert_eq!(made.parts().columns[2].bytes(), 0);
        let now = call(Function::Now, vec![]).alias("t");
        let error = view(drawn.table(), &[now]).err().expect("two reads would differ");
        assert!(error.to_string().contains("use update"), "{error}");
    }

    #[test]
    fn a_chain_of_any_length_is_read() {
        let graph = crate::testing::still_graph();
        let drawn = crate::testing::Drawn::new(&graph, "0 A 1");
        let mut table = drawn.table().clone();
        for _ in 0..2_000 {
            let next = call(Function::Add, vec![Expr::column("V"), Expr::literal(1_i64)]).alias("V");
            table = view(&table, &[next]).expect("a view");
        }
        let rows = table.rows().expect("alive");
        let cells = table.view().expect("alive").read(1, &rows).expect("cells");
        assert_eq!(format!("{cells:?}").matches("2001").count(), 1, "{cells:?}");
    }
}
