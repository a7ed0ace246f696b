//! Random functions in formulas: `random()`, `randomInt(1, 7)`, `randomGaussian(0, 1, seed=7)`.

use std::sync::Arc;

use crate::language::ast::{Ast, Kind};
use crate::language::lex::Span;
use crate::language::library::random::{DRAWS, Draw};
use crate::language::lower::lower;
use crate::language::names::{Names, Trouble, wrong};
use crate::tree::expr::Expr;
use crate::tree::function::{Function, Random};
use crate::tree::literal::Literal;

impl Names<'_> {
    /// The call of a random function, if this is one.
    pub(crate) fn chance(
        &self,
        name: &str,
        args: &[Ast],
        named: &[(Arc<str>, Ast)],
        span: Span,
    ) -> Result<Option<Expr>, Trouble> {
        let Some(Draw { kind, bounds, to, .. }) = DRAWS.iter().find(|draw| draw.name == name) else { return Ok(None) };
        if args.len() != *bounds {
            let takes = if *bounds == 0 { "no bounds" } else { "two bounds" };
            return Err(wrong(span, format!("{name} takes {takes} and maybe seed=…, not {} arguments", args.len())));
        }
        let mut seed = None;
        for (key, value) in named {
            match (&**key, &value.kind) {
                ("seed", Kind::Literal(Literal::Int(given), None)) => seed = Some(*given),
                ("seed", Kind::Name(name)) if matches!(self.values.get(&**name), Some(Literal::Int(_))) => {
                    if let Some(Literal::Int(given)) = self.values.get(&**name) {
                        seed = Some(*given);
                    }
                }
                ("seed", _) => return Err(wrong(value.span, "seed is a whole number, the same for all rows")),
                _ => return Err(wrong(value.span, format!("{name} has no argument {key}; it has seed"))),
            }
        }
        let mut bounds: Vec<Expr> = args.iter().map(|arg| lower(arg, self)).collect::<Result<_, _>>()?;
        if bounds.is_empty() && *kind == Random::Float {
            bounds = vec![Expr::literal(0.0), Expr::literal(1.0)];
        }
        let drawn = Expr::Call { function: Function::Random { kind: *kind, seed }, args: bounds };
        Ok(Some(match to {
            Some(to) => Expr::Cast { input: Arc::new(drawn), to: to.clone(), strict: true },
            None => drawn,
        }))
    }
}
