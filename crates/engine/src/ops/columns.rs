//! Which operation computes an expression: `select`, `with_columns`, `update`, `view`, `filter` … by what it reads,
//! and by what becomes of rows that cannot be computed.

use formula::Expr;

use super::over::{one_row, planned, without_hidden};
use super::{ComputedView, Filter, LazyUpdate, Neighbours, Project, Select};
use crate::attach::attach;
use crate::error::Error;
use crate::expression::Turn;
use crate::faults::{Faults, OnError};
use crate::table::Table;

/// What becomes of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Stored, and kept true.
    Stored,
    /// Computed when they are read.
    OnRead,
    /// Computed when they are read, once for each distinct input.
    OncePerInput,
}

/// What is asked of new columns, besides their expressions.
#[derive(Clone, Copy, Debug)]
pub struct How<'a> {
    /// Who may run beside whom: one for each expression, or none.
    pub turns: &'a [Turn],
    /// What becomes of the values.
    pub kept: Kept,
    /// After the table's own columns; else only these.
    pub all: bool,
    /// What becomes of rows that cannot be computed.
    pub on_error: OnError,
}

impl How<'_> {
    /// Stored, after the table's own columns; a row that cannot be computed fails the table.
    pub const STORED: How<'static> = How { turns: &[], kept: Kept::Stored, all: true, on_error: OnError::Fail };
}

/// New columns: after those of the table, or only these.
///
/// To leave rows without a value out is a filter that asks whether each column has one, and the columns over what
/// passes it. Columns whose failures are passed over are stored: a failure is told once, not at every read.
pub fn columns(operation: &str, table: &Table, expressions: &[Expr], how: How<'_>) -> Result<Table, Error> {
    let How { turns, kept, all, on_error } = how;
    if kept == Kept::Stored && !all && one_row(expressions) && !table.attributes().blink {
        if on_error != OnError::Fail {
            return Err(Error::invalid(operation, "on_error of aggregates alone: there is no row to pass over"));
        }
        return super::aggregate(operation, table, &[], expressions);
    }
    if let Some((wide, read)) = planned(operation, table, expressions, on_error)? {
        let made = columns(operation, &wide, &read, how)?;
        return if all { without_hidden(table, &made, expressions) } else { Ok(made) };
    }
    let input = std::slice::from_ref(table);
    match kept {
        Kept::Stored => stored(operation, table, expressions, how),
        Kept::OnRead if on_error == OnError::Fail && !super::view::is_deep(table) => {
            attach(&ComputedView::new(operation, table, expressions, turns, all)?, input)
        }
        Kept::OnRead => {
            // Refused what a view refuses, and then stored: reads do not go through ever more views.
            ComputedView::new(operation, table, expressions, turns, all)?;
            stored(operation, table, expressions, how)
        }
        Kept::OncePerInput => {
            super::view::refuse_turns(operation, turns)?;
            attach(&LazyUpdate::new(operation, table, expressions)?, input)
        }
    }
}

fn stored(operation: &str, table: &Table, expressions: &[Expr], how: How<'_>) -> Result<Table, Error> {
    let How { turns, all, on_error, .. } = how;
    let beside = expressions.iter().any(Expr::reads_beside);
    let start = |over: &Table, faults: Option<&Faults>| {
        let over = std::slice::from_ref(over);
        if beside {
            let columns = Neighbours::new(operation, &over[0], expressions, turns, all)?;
            return attach(&faults.into_iter().fold(columns, |made, faults| made.passing_over(on_error, faults)), over);
        }
        let columns = Select::in_turns(operation, &over[0], expressions, turns, all)?;
        attach(&faults.into_iter().fold(columns, |made, faults| made.passing_over(on_error, faults)), over)
    };
    if on_error == OnError::Fail || expressions.iter().all(|one| matches!(one.unaliased(), Expr::Column(_))) {
        return start(table, None);
    }
    let faults = Faults::of(operation);
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
    let faults = over.request().faults.clone().unwrap_or(faults);
    start(&over, Some(&faults))
}

/// The rows for which every predicate is true. One that reads beside its row is a column first.
pub fn filtered(
    operation: &str,
    table: &Table,
    predicates: &[Expr],
    turns: &[Turn],
    on_error: OnError,
) -> Result<Table, Error> {
    let rest = |rest: &[Expr]| {
        let nothing =
            rest.iter().all(|one| *one == Expr::literal(true)) && turns.iter().all(|turn| *turn == Turn::default());
        if nothing { Ok(table.clone()) } else { filtered(operation, table, rest, turns, on_error) }
    };
    if let Some(kept) = super::sets::members(operation, predicates, rest)? {
        return Ok(kept);
    }
    if let Some((wide, read)) = planned(operation, table, predicates, on_error)? {
        return without_hidden(table, &filtered(operation, &wide, &read, turns, on_error)?, &[]);
    }
    let own = Filter::in_turns(operation, table, predicates, turns)?;
    if !predicates.iter().any(Expr::reads_beside) {
        return attach(&own.passing_over(on_error), std::slice::from_ref(table));
    }
    // The filter was judged all the same: an error names the predicate, not the column that it becomes. A predicate
    // that fails is null there, and null does not pass.
    let on_error = if on_error == OnError::Fail { OnError::Fail } else { OnError::Null };
    let (wide, read) = beside(operation, table, predicates, on_error)?;
    let filter = Filter::in_turns(operation, &wide, &read, turns)?.passing_over(on_error);
    let kept = attach(&filter, std::slice::from_ref(&wide))?;
    let names: Vec<String> = table.schema().fields().iter().map(|field| field.name().clone()).collect();
    let project = Project::choose(&kept, &names)?.noting(wide.request().faults.clone());
    attach(&project, std::slice::from_ref(&kept))
}

/// The table with a hidden column for each expression that reads beside its row, and the expressions over it.
pub(super) fn beside(
    operation: &str,
    table: &Table,
    expressions: &[Expr],
    on_error: OnError,
) -> Result<(Table, Vec<Expr>), Error> {
    let mut hidden = Vec::new();
    let mut read = Vec::new();
    for expression in expressions {
        if expression.reads_beside() {
            let name = expression.hidden_name(hidden.len());
            read.push(Expr::column(name.as_str()));
            hidden.push(expression.unaliased().clone().alias(name));
        } else {
            read.push(expression.clone());
        }
    }
    Ok((columns(operation, table, &hidden, How { on_error, ..How::STORED })?, read))
}
