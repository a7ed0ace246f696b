//! The choice of the operation that computes an expression of `select`, `with_columns`, `update`, `view`, `filter` …:
//! by the inputs that the expression reads, and by the policy for rows that cannot be computed (`on_error`).

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
    /// Whose rows they are, if the table is a step on the way to another.
    pub faults: Option<&'a Faults>,
}

impl How<'_> {
    /// Stored, after the table's own columns; a row that cannot be computed fails the table.
    pub const STORED: How<'static> =
        How { turns: &[], kept: Kept::Stored, all: true, on_error: OnError::Fail, faults: None };
}

/// New columns: after those of the table, or only these.
///
/// To leave rows without a value out is a filter that asks whether each column has one, and the columns over what
/// passes it. Columns whose failures are passed over are stored: a failure is told once, not at every read.
pub fn columns(operation: &str, table: &Table, expressions: &[Expr], how: How<'_>) -> Result<Table, Error> {
    let How { turns, kept, all, on_error, .. } = how;
    if kept == Kept::Stored && !all && one_row(expressions) && !table.attributes().blink {
        return super::agg::totals(operation, table, expressions, on_error);
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
            let lazy = LazyUpdate::new(operation, table, expressions)?;
            if on_error == OnError::Fail { attach(&lazy, input) } else { stored(operation, table, expressions, how) }
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
    if on_error == OnError::Fail {
        return start(table, None);
    }
    if expressions.iter().all(|one| matches!(one.unaliased(), Expr::Column(_))) {
        return start(table, how.faults.map(Faults::beside).as_ref());
    }
    let faults = how.faults.map_or_else(|| Faults::of(operation), Faults::beside);
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
    let faults = over.request().faults.as_ref().unwrap_or(&faults).beside();
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
    let read: Vec<Beside> = predicates
        .iter()
        .map(|one| Beside { becomes: String::new(), expression: one.clone(), stored: one.reads_beside() })
        .collect();
    let (wide, read) = beside(operation, table, &read, How { on_error, ..How::STORED })?;
    let filter = Filter::in_turns(operation, &wide, &read, turns)?.passing_over(on_error);
    let kept = attach(&filter, std::slice::from_ref(&wide))?;
    let names: Vec<String> = table.schema().fields().iter().map(|field| field.name().clone()).collect();
    let project = Project::choose(&kept, &names)?.noting(wide.request().faults.as_ref());
    attach(&project, std::slice::from_ref(&kept))
}

/// An expression that another operation reads, perhaps as a column that was stored for it.
pub(super) struct Beside {
    /// The user's column that it becomes or goes into; empty if it has no name.
    pub(super) becomes: String,
    pub(super) expression: Expr,
    pub(super) stored: bool,
}

/// The table with a hidden column for each expression that is to be stored, equal ones sharing one, and the expressions
/// over it.
pub(super) fn beside(
    operation: &str,
    table: &Table,
    expressions: &[Beside],
    how: How<'_>,
) -> Result<(Table, Vec<Expr>), Error> {
    let mut hidden: Vec<Expr> = Vec::new();
    let mut stand_ins: Vec<(&Expr, String)> = Vec::new();
    let mut read = Vec::new();
    for Beside { becomes, expression, stored } in expressions {
        let bare = expression.unaliased();
        if !stored {
            read.push(expression.clone());
            continue;
        }
        let known = stand_ins.iter().position(|(other, _)| *other == bare);
        let at = known.unwrap_or_else(|| {
            let name = formula::stand_in(hidden.len(), becomes, &bare.to_python());
            hidden.push(bare.clone().alias(name.as_str()));
            stand_ins.push((bare, name));
            hidden.len() - 1
        });
        read.push(Expr::column(stand_ins[at].1.as_str()));
    }
    if hidden.is_empty() {
        return Ok((table.clone(), read));
    }
    Ok((columns(operation, table, &hidden, how)?, read))
}
