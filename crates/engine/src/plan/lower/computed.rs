//! Columns of expressions that read no other table and no group: which operation computes them, by what they read beside
//! their row and by what becomes of the values.

use formula::Expr;

use crate::error::Error;
use crate::eval::call::Call;
use crate::eval::schedule::ExecutionOrder;
use crate::ops::view::{is_deep, refuse_order};
use crate::ops::{ComputedView, Filter, LazyUpdate, Neighbours, Select};
use crate::plan::spec::{InputColumns, Materialization};
use crate::row_errors::{OnError, RowErrors};
use crate::table::handle::Table;

/// How new columns are kept, besides their expressions.
#[derive(Clone, Copy, Debug)]
pub struct ColumnOptions<'a> {
    /// Who may run beside whom: one for each expression, or none.
    pub orders: &'a [ExecutionOrder],
    /// What becomes of the values.
    pub kept: Materialization,
    /// Whether the table's own columns stand before the new ones.
    pub own: InputColumns,
    /// What becomes of rows that cannot be computed.
    pub on_error: OnError,
    /// Whose rows they are, if the table is a step on the way to another.
    pub row_errors: Option<&'a RowErrors>,
}

impl ColumnOptions<'_> {
    /// Stored, after the table's own columns; a row that cannot be computed fails the table.
    pub const STORED: ColumnOptions<'static> = ColumnOptions {
        orders: &[],
        kept: Materialization::Stored,
        own: InputColumns::Keep,
        on_error: OnError::Fail,
        row_errors: None,
    };
}

/// The planner of columns: what stands below it is handed it.
pub(super) type Columns = fn(&Call, &Table, &[Expr], ColumnOptions<'_>) -> Result<Table, Error>;

/// New columns of such expressions.
pub(super) fn computed(
    call: &Call,
    table: &Table,
    expressions: &[Expr],
    how: ColumnOptions<'_>,
) -> Result<Table, Error> {
    let ColumnOptions { orders, kept, own, on_error, .. } = how;
    let input = std::slice::from_ref(table);
    match kept {
        Materialization::Stored => stored(call, table, expressions, how),
        Materialization::Lazy if on_error == OnError::Fail && !is_deep(table) => {
            call.attach(&ComputedView::new(call, table, expressions, orders, own)?, input)
        }
        Materialization::Lazy => {
            // Refused what a view refuses, and then stored: reads do not go through ever more views.
            ComputedView::new(call, table, expressions, orders, own)?;
            stored(call, table, expressions, how)
        }
        Materialization::Memoized => {
            refuse_order(&call.method, orders)?;
            let lazy = LazyUpdate::new(call, table, expressions)?;
            if on_error == OnError::Fail { call.attach(&lazy, input) } else { stored(call, table, expressions, how) }
        }
    }
}

fn stored(call: &Call, table: &Table, expressions: &[Expr], how: ColumnOptions<'_>) -> Result<Table, Error> {
    let ColumnOptions { orders, own, on_error, .. } = how;
    let beside = expressions.iter().any(Expr::needs_context);
    let start = |over: &Table, row_errors: Option<&RowErrors>| {
        let over = std::slice::from_ref(over);
        if beside {
            let columns = Neighbours::new(call, &over[0], expressions, orders, own)?;
            return call.attach(
                &row_errors.into_iter().fold(columns, |made, row_errors| made.with_on_error(on_error, row_errors)),
                over,
            );
        }
        let columns = Select::ordered(call, &over[0], expressions, orders, own)?;
        call.attach(
            &row_errors.into_iter().fold(columns, |made, row_errors| made.with_on_error(on_error, row_errors)),
            over,
        )
    };
    if on_error == OnError::Fail {
        return start(table, None);
    }
    if expressions.iter().all(|one| matches!(one.unaliased(), Expr::Column(_))) {
        return start(table, how.row_errors.map(RowErrors::sibling).as_ref());
    }
    let row_errors = how.row_errors.map_or_else(|| RowErrors::of(&call.method), RowErrors::sibling);
    if on_error == OnError::Null {
        return start(table, Some(&row_errors));
    }
    if beside {
        return Err(Error::invalid(
            &call.method,
            "on_error=\"drop\" with an expression that reads other rows (shift, X_[i-1], i): to leave a row out would \
             change what the others read; use on_error=\"null\"",
        ));
    }
    let computable = Filter::computable(call, table, expressions, &row_errors)?;
    let over = call.attach(&computable, std::slice::from_ref(table))?;
    // Equal requests share that node, and then its row_errors.
    let row_errors = over.request().row_errors.as_ref().unwrap_or(&row_errors).sibling();
    start(&over, Some(&row_errors))
}
