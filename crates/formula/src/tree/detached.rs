//! Expressions without what they hold on to: functions of the host, live sets, the values of long lists.

use crate::tree::expr::Expr;
use crate::tree::function::Function;
use crate::tree::host::HostId;
use crate::tree::literal::Literal;

impl Expr {
    /// Replaces each user function by another.
    pub fn map_hosts(&self, map: &mut impl FnMut(&HostId) -> HostId) -> Expr {
        match self {
            Expr::Host { function, args } => {
                Expr::Host { function: map(function), args: args.iter().map(|arg| arg.map_hosts(map)).collect() }
            }
            other => other.map_children(&mut |child| child.map_hosts(map)),
        }
    }

    /// Replaces each membership test of a live set by `is_null` of its input: a Boolean that reads the same columns, so
    /// that the expression can be bound without the set's table.
    pub(crate) fn without_sets(&self) -> Expr {
        match self {
            Expr::InSet { input, .. } => Expr::Call { function: Function::IsNull, args: vec![input.without_sets()] },
            other if other.reads_tables() => other.map_children(&mut Expr::without_sets),
            other => other.clone(),
        }
    }

    /// Replaces the values of long lists by a 128-bit digest, which keeps memo keys small and still tells plans apart.
    pub fn digested(&self) -> Expr {
        match self {
            Expr::Literal(Literal::Values(values)) => {
                Expr::literal(format!("values {:032x}", values.digest()).as_str())
            }
            other => other.map_children(&mut Expr::digested),
        }
    }
}
