//! Expressions without what they hold on to: functions of the host, live sets, the values of long lists.

use crate::tree::expr::Expr;
use crate::tree::function::Function;
use crate::tree::literal::Literal;

impl Expr {
    /// The same expression, which holds none of the functions that it names.
    pub(crate) fn without_hosts(&self) -> Expr {
        match self {
            Expr::Host { function, args } => {
                Expr::Host { function: function.detached(), args: args.iter().map(Expr::without_hosts).collect() }
            }
            other => other.map_children(&mut Expr::without_hosts),
        }
    }

    /// The same with a test that reads the same columns in place of each live set: of the same type, and bound as it is.
    pub(crate) fn without_sets(&self) -> Expr {
        match self {
            Expr::InSet { input, .. } => Expr::Call { function: Function::IsNull, args: vec![input.without_sets()] },
            other if other.reads_tables() => other.map_children(&mut Expr::without_sets),
            other => other.clone(),
        }
    }

    /// The same with a digest in place of the values of long lists: by that plans are told apart, and it is small.
    pub fn digested(&self) -> Expr {
        match self {
            Expr::Literal(Literal::Values(values)) => {
                Expr::literal(format!("values {:032x}", values.digest()).as_str())
            }
            other => other.map_children(&mut Expr::digested),
        }
    }
}
