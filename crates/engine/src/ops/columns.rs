//! Which operation computes an expression: `select`, `with_columns`, `update`, `view`, `filter` … by what it reads.

use formula::Expr;

use super::{ComputedView, Filter, LazyUpdate, Neighbours, Project, Select};
use crate::attach::attach;
use crate::error::Error;
use crate::expression::Turn;
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

/// What values that a filter reads are called between the two tables; no user's column begins so.
const BESIDE: &str = "\u{0}beside";

/// New columns: after those of the table (`all`), or only these. `turns`: one for each, or none.
pub fn columns(
    operation: &str,
    table: &Table,
    expressions: &[Expr],
    turns: &[Turn],
    kept: Kept,
    all: bool,
) -> Result<Table, Error> {
    let input = std::slice::from_ref(table);
    match kept {
        Kept::OnRead if !super::view::is_deep(table) => {
            attach(&ComputedView::new(operation, table, expressions, turns, all)?, input)
        }
        Kept::OnRead => {
            // Refused what a view refuses, and then stored: reads do not go through ever more views.
            ComputedView::new(operation, table, expressions, turns, all)?;
            columns(operation, table, expressions, turns, Kept::Stored, all)
        }
        Kept::OncePerInput => {
            super::view::refuse_turns(operation, turns)?;
            attach(&LazyUpdate::new(operation, table, expressions)?, input)
        }
        Kept::Stored if expressions.iter().any(Expr::reads_beside) => {
            attach(&Neighbours::new(operation, table, expressions, turns, all)?, input)
        }
        Kept::Stored if all => attach(&Select::with_in_turns(operation, table, expressions, turns)?, input),
        Kept::Stored => attach(&Select::only_in_turns(operation, table, expressions, turns)?, input),
    }
}

/// The rows for which every predicate is true. One that reads beside its row is a column first.
pub fn filtered(operation: &str, table: &Table, predicates: &[Expr], turns: &[Turn]) -> Result<Table, Error> {
    if !predicates.iter().any(Expr::reads_beside) {
        return attach(&Filter::in_turns(operation, table, predicates, turns)?, std::slice::from_ref(table));
    }
    // Judged first: the error names the predicate, not the column that it becomes.
    Filter::in_turns(operation, table, predicates, turns)?;
    let (wide, read) = beside(operation, table, predicates)?;
    let kept = attach(&Filter::in_turns(operation, &wide, &read, turns)?, std::slice::from_ref(&wide))?;
    let names: Vec<String> = table.schema().fields().iter().map(|field| field.name().clone()).collect();
    attach(&Project::choose(&kept, &names)?, std::slice::from_ref(&kept))
}

/// The table with a hidden column for each expression that reads beside its row, and the expressions over it.
pub(super) fn beside(operation: &str, table: &Table, expressions: &[Expr]) -> Result<(Table, Vec<Expr>), Error> {
    let mut hidden = Vec::new();
    let mut read = Vec::new();
    for expression in expressions {
        if expression.reads_beside() {
            let name = format!("{BESIDE}{}", hidden.len());
            read.push(Expr::column(name.as_str()));
            hidden.push(expression.unaliased().clone().alias(name));
        } else {
            read.push(expression.clone());
        }
    }
    Ok((columns(operation, table, &hidden, &[], Kept::Stored, true)?, read))
}
