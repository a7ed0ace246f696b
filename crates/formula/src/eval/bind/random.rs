//! Binding of random numbers: each call draws its own, from the key of the row.

use std::sync::Arc;

use arrow_schema::DataType;

use super::{Binder, Term};
use crate::error::Error;
use crate::eval::beside::ContextInput;
use crate::eval::functions::random;
use crate::tree::expr::Expr;
use crate::tree::function::{Function, Random};

impl Binder<'_> {
    pub(super) fn random(
        &mut self,
        kind: Random,
        seed: Option<i64>,
        args: &[Expr],
        text: &dyn Fn() -> Arc<str>,
    ) -> Result<Term, Error> {
        let function = Function::Random { kind, seed };
        let of = match kind {
            Random::Bool => None,
            Random::Int => Some(DataType::Int64),
            Random::Float | Random::Gaussian => Some(DataType::Float64),
        };
        if args.len() != if of.is_some() { 2 } else { 0 } {
            let takes = if of.is_some() { "two bounds" } else { "no bounds" };
            return Err(Error::Arguments { function: function.name(), takes, given: args.len() });
        }
        let keys = self.beside("draw", DataType::Int64, ContextInput::Draw)?;
        let mut nodes = vec![self.settled(keys)?];
        for arg in args {
            let bound = self.expr(arg)?;
            let (of, given) = (of.clone().unwrap_or(DataType::Null), self.term_type(&bound));
            if crate::tree::types::promote(&given, &of).ok().as_ref() != Some(&of) {
                return Err(super::type_error(&function.name(), &[&given], "its bounds are numbers"));
            }
            nodes.push(self.as_type(&bound, &of)?);
        }
        self.draws += 1;
        let kernel = random::random(kind, seed, self.draws);
        let data_type = of.unwrap_or(DataType::Boolean);
        self.whole(&format!("random {}", self.draws), kernel, nodes, data_type, &text()).map(Term::Node)
    }
}
