//! Binding of random numbers: each call draws its own, from the key of the row.

use arrow_schema::DataType;

use super::{Binder, Call, Term};
use crate::error::Error;
use crate::eval::beside::ContextInput;
use crate::eval::functions::random;
use crate::tree::function::{Function, Random};

impl Binder<'_> {
    pub(crate) fn random(&mut self, c: &Call<'_>) -> Result<Term, Error> {
        let Function::Random { kind, seed } = c.function else { return Err(c.wrong_arguments()) };
        let of = match kind {
            Random::Bool => None,
            Random::Int => Some(DataType::Int64),
            Random::Float | Random::Gaussian => Some(DataType::Float64),
        };
        let keys = self.beside("draw", DataType::Int64, ContextInput::Draw)?;
        let mut nodes = vec![self.settled(keys)?];
        for arg in c.args {
            let bound = self.expr(arg)?;
            let (of, given) = (of.clone().unwrap_or(DataType::Null), self.term_type(&bound));
            if crate::tree::types::promote(&given, &of).ok().as_ref() != Some(&of) {
                return Err(super::type_error(c.name, &[&given], "its bounds are numbers"));
            }
            nodes.push(self.as_type(&bound, &of)?);
        }
        self.draws += 1;
        let kernel = random::random(kind, seed, self.draws);
        let data_type = of.unwrap_or(DataType::Boolean);
        self.whole(&format!("random {}", self.draws), kernel, nodes, data_type, &c.text()).map(Term::Node)
    }
}
