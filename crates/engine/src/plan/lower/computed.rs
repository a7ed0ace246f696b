//! Columns of expressions that read no other table and no group: which operation computes them, by what they read beside
//! their row and by what becomes of the values.

use formula::Expr;

use crate::driver::attach::attach;
use crate::error::Error;
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
pub(super) type Columns = fn(&str, &Table, &[Expr], ColumnOptions<'_>) -> Result<Table, Error>;

/// New columns of such expressions.
pub(super) fn computed(
    operation: &str,
    table: &Table,
    expressions: &[Expr],
    how: ColumnOptions<'_>,
) -> Result<Table, Error> {
    let ColumnOptions { turns, kept, all, on_error, .. } = how;
    let input = std::slice::from_ref(table);
    match kept {
        Materialization::Stored => stored(operation, table, expressions, how),
        Materialization::Lazy if on_error == OnError::Fail && !is_deep(table) => {
            attach(&ComputedView::new(operation, table, expressions, turns, all)?, input)
        }
        Materialization::Lazy => {
            // Refused what a view refuses, and then stored: reads do not go through ever more views.
            ComputedView::new(operation, table, expressions, turns, all)?;
            stored(operation, table, expressions, how)
        }
        Materialization::Memoized => {
            refuse_turns(operation, turns)?;
            let lazy = LazyUpdate::new(operation, table, expressions)?;
            if on_error == OnError::Fail { attach(&lazy, input) } else { stored(operation, table, expressions, how) }
        }
    }
}

fn stored(operation: &str, table: &Table, expressions: &[Expr], how: ColumnOptions<'_>) -> Result<Table, Error> {
    let ColumnOptions { turns, all, on_error, .. } = how;
    let beside = expressions.iter().any(Expr::needs_context);
    let start = |over: &Table, faults: Option<&Faults>| {
        let over = std::slice::from_ref(over);
        if beside {
            let columns = Neighbours::new(operation, &over[0], expressions, turns, all)?;
            return attach(
                &faults.into_iter().fold(columns, |made, faults| made.with_on_error(on_error, faults)),
                over,
            );
        }
        let columns = Select::in_turns(operation, &over[0], expressions, turns, all)?;
        attach(&faults.into_iter().fold(columns, |made, faults| made.with_on_error(on_error, faults)), over)
    };
    if on_error == OnError::Fail {
        return start(table, None);
    }
    if expressions.iter().all(|one| matches!(one.unaliased(), Expr::Column(_))) {
        return start(table, how.faults.map(Faults::sibling).as_ref());
    }
    let faults = how.faults.map_or_else(|| Faults::of(operation), Faults::sibling);
    if on_error == OnError::Null {
        return start(table, Some(&faults));
    }
    if beside {
        return Err(Error::invalid(
            operation,
            "on_error=\"drop\" with an expression that reads other rows (shift, X_[i-1], i): to leave a row out would \
             change what the others read; use on_error=\"null\"",
        ));
    }
    let computable = Filter::computable(operation, table, expressions, &faults)?;
    let over = attach(&computable, std::slice::from_ref(table))?;
    // Equal requests share that node, and then its faults.
    let faults = over.request().faults.as_ref().unwrap_or(&faults).sibling();
    start(&over, Some(&faults))
}
