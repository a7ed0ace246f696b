//! Columns that are stored because another operation reads them.

use formula::Expr;

use super::computed::{ColumnOptions, Columns};
use crate::error::Error;
use crate::eval::call::Call;
use crate::table::handle::Table;

/// An expression that another operation reads, perhaps as a column that was stored for it.
pub(super) struct StagedExpr {
    /// The user's column that it becomes or goes into; empty if it has no name.
    pub(super) becomes: String,
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
    let mut hidden: Vec<Expr> = Vec::new();
    let mut stand_ins: Vec<(&Expr, String)> = Vec::new();
    let mut read = Vec::new();
    for StagedExpr { becomes, expression, stored } in expressions {
        let bare = expression.unaliased();
        if !stored {
            read.push(expression.clone());
            continue;
        }
        let known = stand_ins.iter().position(|(other, _)| *other == bare);
        let at = known.unwrap_or_else(|| {
            let name = formula::hidden::stand_in(hidden.len(), becomes, &bare.to_python());
            hidden.push(bare.clone().alias(name.as_str()));
            stand_ins.push((bare, name));
            hidden.len() - 1
        });
        read.push(Expr::column(stand_ins[at].1.as_str()));
    }
    if hidden.is_empty() {
        return Ok((table.clone(), read));
    }
    Ok((columns(call, table, &hidden, how)?, read))
}
