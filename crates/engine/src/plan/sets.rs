//! Live sets in expressions: a plan knows them by their places among a node's inputs.

use std::sync::Arc;

use formula::Expr;

use super::lower::live_set;
use super::op::Op;
use crate::error::Error;
use crate::table::handle::Table;

/// The operation with the live sets that stand at places among the inputs.
pub(super) fn with_sets(method: &str, op: Op, inputs: &[Table]) -> Result<Op, Error> {
    fn walk(method: &str, expression: &Expr, inputs: &[Table], refused: &mut Option<Error>) -> Expr {
        match expression {
            Expr::InSet { input, set, nulls_equal } => {
                let input = Arc::new(walk(method, input, inputs, refused));
                let table = usize::try_from(set.id).ok().and_then(|at| inputs.get(at));
                let missing = || Error::internal(method, "a live set that is no input");
                match table.ok_or_else(missing).and_then(|table| live_set(method, table)) {
                    Ok(set) => Expr::InSet { input, set, nulls_equal: *nulls_equal },
                    Err(error) => {
                        refused.get_or_insert(error);
                        expression.clone()
                    }
                }
            }
            other if other.reads_tables() => other.map_children(&mut |child| walk(method, child, inputs, refused)),
            other => other.clone(),
        }
    }
    let mut refused = None;
    let op = op.map_expressions(&mut |expression| walk(method, expression, inputs, &mut refused));
    refused.map_or(Ok(op), Err)
}
