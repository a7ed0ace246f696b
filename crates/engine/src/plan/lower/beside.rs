//! Columns that are stored because another operation reads them.

use formula::hidden::next_hidden;
use formula::{ColumnName, Expr};

use super::computed::{ColumnOptions, Columns};
use super::hidden::taken;
use crate::error::Error;
use crate::eval::call::Call;
use crate::table::handle::Table;

/// An expression that another operation reads, perhaps as a column that was stored for it.
pub(super) struct StagedExpr {
    /// The user's column that it becomes or goes into.
    pub(super) becomes: Option<String>,
    pub(super) expression: Expr,
    pub(super) stored: bool,
}

/// The table with a hidden column for each expression that is to be stored, equal ones sharing one, and the expressions
/// over it.
pub(super) fn stage_inputs(
    call: &Call,
    table: &Table,
    expressions: &[StagedExpr],
    how: ColumnOptions<'_>,
    columns: Columns,
) -> Result<(Table, Vec<Expr>), Error> {
    stage_inputs_from(next_hidden(table.schema()), call, table, expressions, how, columns)
}

/// [`stage_inputs`] where hidden names below `next` are given to columns that stand beside these later.
pub(super) fn stage_inputs_from(
    mut next: usize,
    call: &Call,
    table: &Table,
    expressions: &[StagedExpr],
    how: ColumnOptions<'_>,
    columns: Columns,
) -> Result<(Table, Vec<Expr>), Error> {
    let mut hidden: Vec<Expr> = Vec::new();
    let mut known: Vec<(&Expr, ColumnName)> = Vec::new();
    let mut read = Vec::new();
    for StagedExpr { becomes, expression, stored } in expressions {
        let bare = expression.unaliased();
        if !stored {
            read.push(expression.clone());
            continue;
        }
        let at = known.iter().position(|(other, _)| *other == bare).unwrap_or_else(|| {
            let name = ColumnName::hidden(taken(&mut next), becomes.as_deref(), bare.to_python());
            hidden.push(bare.clone().alias(&name));
            known.push((bare, name));
            hidden.len() - 1
        });
        read.push(Expr::column(&known[at].1));
    }
    if hidden.is_empty() {
        return Ok((table.clone(), read));
    }
    Ok((columns(call, table, &hidden, how)?, read))
}
