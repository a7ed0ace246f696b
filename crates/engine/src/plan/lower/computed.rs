//! Columns of expressions that read no other table and no group: which operation computes them, by what they read beside
//! their row and by what becomes of the values.

use formula::Expr;

use crate::error::Error;
use crate::eval::call::Call;
use crate::eval::schedule::Turn;
use crate::ops::view::{is_deep, refuse_turns};
use crate::ops::{ComputedView, Filter, LazyUpdate, Neighbours, Select};
use crate::plan::spec::Materialization;
use crate::row_errors::{Faults, OnError};
use crate::table::handle::Table;

/// How new columns are kept, besides their expressions.
#[derive(Clone, Copy, Debug)]
pub struct ColumnOptions<'a> {
    /// Who may run beside whom: one for each expression, or none.
    pub turns: &'a [Turn],
    /// What becomes of the values.
    pub kept: Materialization,
    /// After the table's own columns; else only these.
    pub all: bool,
    /// What becomes of rows that cannot be computed.
    pub on_error: OnError,
    /// Whose rows they are, if the table is a step on the way to another.
    pub faults: Option<&'a Faults>,
}

impl ColumnOptions<'_> {
    /// Stored, after the table's own columns; a row that cannot be computed fails the table.
    pub const STORED: ColumnOptions<'static> =
        ColumnOptions { turns: &[], kept: Materialization::Stored, all: true, on_error: OnError::Fail, faults: None };
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
    let ColumnOptions { turns, kept, all, on_error, .. } = how;
    let input = std::slice::from_ref(table);
    match kept {
        Materialization::Stored => stored(call, table, expressions, how),
        Materialization::Lazy if on_error == OnError::Fail && !is_deep(table) => {
            call.attach(&ComputedView::new(call, table, expressions, turns, all)?, input)
        }
        Materialization::Lazy => {
            // Refused what a view refuses, and then stored: reads do not go through ever more views.
            ComputedView::new(call, table, expressions, turns, all)?;
            stored(call, table, expressions, how)
        }
        Materialization::Memoized => {
            refuse_turns(&call.method, turns)?;
            let lazy = LazyUpdate::new(call, table, expressions)?;
            if on_error == OnError::Fail { call.attach(&lazy, input) } else { stored(call, table, expressions, how) }
        }
    }
}

fn stored(call: &Call, table: &Table, expressions: &[Expr], how: ColumnOptions<'_>) -> Result<Table, Error> {
    let ColumnOptions { turns, all, on_error, .. } = how;
    let beside = expressions.iter().any(Expr::needs_context);
    let start = |over: &Table, faults: Option<&Faults>| {
        let over = std::slice::from_ref(over);
        if beside {
            let columns = Neighbours::new(call, &over[0], expressions, turns, all)?;
            return call
                .attach(&faults.into_iter().fold(columns, |made, faults| made.with_on_error(on_error, faults)), over);
        }
        let columns = Select::in_turns(call, &over[0], expressions, turns, all)?;
        call.attach(&faults.into_iter().fold(columns, |made, faults| made.with_on_error(on_error, faults)), over)
    };
    if on_error == OnError::Fail {
        return start(table, None);
    }
    if expressions.iter().all(|one| matches!(one.unaliased(), Expr::Column(_))) {
        return start(table, how.faults.map(Faults::sibling).as_ref());
    }
    let faults = how.faults.map_or_else(|| Faults::of(&call.method), Faults::sibling);
    if on_error == OnError::Null {
        return start(table, Some(&faults));
    }
    if beside {
        return Err(Error::invalid(
            &call.method,
            "on_error=\"drop\" with an expression that reads other rows (shift, X_[i-1], i): to leave a row out would \
             change what the others read; use on_error=\"null\"",
        ));
    }
    let computable = Filter::computable(call, table, expressions, &faults)?;
    let over = call.attach(&computable, std::slice::from_ref(table))?;
    // Equal requests share that node, and then its faults.
    let faults = over.request().faults.as_ref().unwrap_or(&faults).sibling();
    start(&over, Some(&faults))
}
