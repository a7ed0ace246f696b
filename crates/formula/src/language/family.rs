//! The family of an expression's values, known before binding. It decides what `+` means in a formula: beside a text the
//! other side is cast to text, and beside an instant a whole number is cast to a duration.

use crate::language::names::Names;
use crate::tree::expr::Expr;
use crate::tree::family::{Family, Gives};
use crate::tree::function::Function;
use crate::tree::literal::Literal;

/// The family of what arithmetic, or a choice among values, makes of these.
pub(crate) fn combined(function: Function, families: &[Family]) -> Family {
    match families {
        found if found.contains(&Family::List) => Family::List,
        [Family::Instant, Family::Instant] if function == Function::Subtract => Family::Other,
        [first, rest @ ..] if rest.iter().all(|next| next == first) => *first,
        found if function == Function::Add && found.contains(&Family::Text) => Family::Text,
        [first @ (Family::Instant | Family::Text), ..] => *first,
        found if found.contains(&Family::Unknown) => Family::Unknown,
        _ => Family::Other,
    }
}

impl Names<'_> {
    /// The family of an expression's values, as far as its shape tells.
    pub(crate) fn family(&self, expr: &Expr) -> Family {
        match expr {
            Expr::Column(name) => {
                let field = self.columns.and_then(|schema| schema.field_with_name(name).ok());
                field.map_or(Family::Unknown, |field| Family::of(field.data_type()))
            }
            Expr::Literal(Literal::Null | Literal::TypedNull(_)) => Family::Unknown,
            Expr::Literal(literal) => match literal {
                Literal::Str(_) => Family::Text,
                Literal::Int(_) | Literal::UInt(_) => Family::Integer,
                Literal::Timestamp { .. } => Family::Instant,
                _ => Family::Other,
            },
            Expr::Alias(input, _) => self.family(input),
            Expr::Cast { to, .. } => Family::of(to),
            Expr::When { branches, .. } => branches.first().map_or(Family::Unknown, |(_, value)| self.family(value)),
            Expr::Aggregate { .. } => Family::Unknown,
            Expr::InSet { .. } => Family::Other,
            Expr::Eval { .. } => Family::List,
            Expr::Host { .. } => Family::Unknown,
            Expr::Over { input, .. } => self.family(input),
            Expr::Call { function, args } => match function.gives() {
                Gives::Always(family) => family,
                Gives::AsFirst => args.first().map_or(Family::Unknown, |arg| self.family(arg)),
                Gives::Combined => {
                    combined(*function, &args.iter().map(|arg| self.family(arg)).collect::<Vec<Family>>())
                }
                Gives::ListOfLists if args.iter().any(|arg| self.family(arg) == Family::List) => Family::List,
                Gives::ListOfLists => Family::Other,
            },
        }
    }
}
