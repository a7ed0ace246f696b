//! Formulas over groups: a column is the list of its values in the rows of a group.

use crate::tree::aggregate::Aggregate;
use crate::tree::expr::Expr;
use crate::tree::function::Function;

impl Expr {
    /// The expression with the list of a group's values in place of each column.
    pub fn over_groups(&self) -> Expr {
        match self {
            Expr::Column(_) => {
                Expr::Aggregate { kind: Aggregate::Implode, inputs: [self.clone()].into_iter().collect() }
            }
            Expr::Aggregate { .. } => self.clone(),
            // Without a table a name is a variable of the caller.
            Expr::Call { function: Function::Variable, args } if args.len() == 2 => args[1].clone(),
            other => other.map_children(&mut Expr::over_groups),
        }
    }
}
