//! Binding of conditionals and of the first, least or greatest of several values.

use arrow_schema::DataType;

use super::{Binder, Call, Term, type_error};
use crate::error::Error;
use crate::eval::functions::order;
use crate::eval::lanes::{Class, Kind, LaneOp};
use crate::tree::expr::Expr;
use crate::tree::literal::Literal;
use crate::tree::types::{is_float, is_numeric, is_ordered};

impl Binder<'_> {
    pub(super) fn when(&mut self, branches: &[(Expr, Expr)], otherwise: Option<&Expr>) -> Result<Term, Error> {
        if branches.is_empty() {
            return Err(Error::NoBranch);
        }
        let mut conditions = Vec::with_capacity(branches.len());
        let mut values = Vec::with_capacity(branches.len() + 1);
        for (condition, value) in branches {
            conditions.push(self.condition(condition)?);
            values.push(self.expr(value)?);
        }
        values.push(otherwise.map_or(Ok(Term::Literal(Literal::Null)), |otherwise| self.expr(otherwise))?);
        let (values, data_type) = self.meet_as("when", &values)?;
        let (last, values) = values.split_last().expect("there is a branch and an otherwise");
        let mut result = *last;
        for (condition, value) in conditions.iter().zip(values).rev() {
            result = self.select(*condition, *value, result, &data_type)?;
        }
        Ok(Term::Node(result))
    }

    fn condition(&mut self, condition: &Expr) -> Result<usize, Error> {
        let term = self.expr(condition)?;
        let node = self.settled(term)?;
        match self.type_of(node) {
            DataType::Boolean => Ok(node),
            DataType::Null => self.promoted(node, &DataType::Boolean),
            other => Err(type_error("when", &[other], "a condition is Boolean; compare it with something")),
        }
    }

    /// Nodes of a common type, an error naming `function`.
    fn meet_as(&mut self, function: &str, terms: &[Term]) -> Result<(Vec<usize>, DataType), Error> {
        let met = self.meet(terms);
        met.map_err(|error| match error {
            Error::Type { types, advice, .. } => Error::Type { function: function.to_owned(), types, advice },
            other => other,
        })
    }

    fn select(&mut self, condition: usize, a: usize, b: usize, data_type: &DataType) -> Result<usize, Error> {
        if *data_type == DataType::Null {
            return Ok(b);
        }
        let args = vec![condition, a, b];
        match Kind::of(data_type) {
            Some(kind) => self.lane(LaneOp::Select(kind), args, data_type.clone()),
            None => self.whole("select", order::select(), args, data_type.clone(), ""),
        }
    }

    pub(crate) fn coalesce(&mut self, c: &Call<'_>) -> Result<Term, Error> {
        let terms = self.terms(c.args)?;
        let (nodes, data_type) = self.meet_as(c.name, &terms)?;
        let mut result = nodes[0];
        for next in &nodes[1..] {
            if data_type == DataType::Null {
                break;
            }
            result = match Kind::of(&data_type) {
                Some(kind) => self.lane(LaneOp::Coalesce(kind), vec![result, *next], data_type.clone())?,
                None => {
                    let there = self.lane(LaneOp::IsNull { negate: true }, vec![result], DataType::Boolean)?;
                    self.select(there, result, *next, &data_type)?
                }
            };
        }
        Ok(Term::Node(result))
    }

    pub(crate) fn fill_nan(&mut self, c: &Call<'_>) -> Result<Term, Error> {
        let terms: [Term; 2] = self.terms_of(c)?;
        let (nodes, data_type) = self.meet_as("fill_nan", &terms)?;
        let first = self.term_type(&terms[0]);
        if !is_float(&first) {
            // Integers and decimals have no NaN.
            return if is_numeric(&first) {
                Ok(terms[0].clone())
            } else {
                Err(type_error("fill_nan", &[&first], "it takes floats"))
            };
        }
        let (tested, kind) = match Kind::of(&data_type) {
            Some(kind) => (nodes[0], kind),
            None => (self.promoted(nodes[0], &DataType::Float32)?, Kind::F32),
        };
        let is_nan = self.lane(LaneOp::Class(Class::Nan, kind), vec![tested], DataType::Boolean)?;
        self.select(is_nan, nodes[1], nodes[0], &data_type).map(Term::Node)
    }

    pub(crate) fn extreme(&mut self, c: &Call<'_>, greatest: bool) -> Result<Term, Error> {
        let terms = self.terms(c.args)?;
        let (nodes, data_type) = self.meet_as(c.name, &terms)?;
        if !is_ordered(&data_type) {
            return Err(type_error(c.name, &[&data_type], "its values have no order"));
        }
        let mut result = nodes[0];
        for next in &nodes[1..] {
            result = self.better(greatest, result, *next, &data_type)?;
        }
        Ok(Term::Node(result))
    }

    fn better(&mut self, greatest: bool, a: usize, b: usize, data_type: &DataType) -> Result<usize, Error> {
        match data_type {
            DataType::Null => Ok(a),
            DataType::Float16 => {
                let args = vec![self.promoted(a, &DataType::Float32)?, self.promoted(b, &DataType::Float32)?];
                let node = self.lane(LaneOp::Extreme { greatest, kind: Kind::F32 }, args, DataType::Float32)?;
                self.promoted(node, data_type)
            }
            other => match Kind::of(other) {
                Some(kind) => self.lane(LaneOp::Extreme { greatest, kind }, vec![a, b], data_type.clone()),
                None => self.whole(
                    &format!("extreme {greatest}"),
                    order::extreme(greatest),
                    vec![a, b],
                    data_type.clone(),
                    "",
                ),
            },
        }
    }

    /// The greater of value and lower bound, then the lesser of that and the upper bound; NaN stays.
    pub(crate) fn clip(&mut self, c: &Call<'_>) -> Result<Term, Error> {
        let terms: [Term; 3] = self.terms_of(c)?;
        let [value, low, high] = &terms;
        let node = self.settled(value.clone())?;
        let data_type = self.type_of(node).clone();
        if !is_ordered(&data_type) {
            return Err(type_error("clip", &[&data_type], "its values have no order"));
        }
        let bound = |binder: &mut Self, term: &Term| {
            let other = binder.term_type(term);
            let met = binder.common_type(&[Term::Node(node), term.clone()]);
            if met.as_ref().ok() != Some(&data_type) {
                return Err(type_error(
                    "clip",
                    &[&data_type, &other],
                    "cast the column to a type that holds the bounds",
                ));
            }
            binder.as_type(term, &data_type)
        };
        let (low, high) = (bound(self, low)?, bound(self, high)?);
        let raised = self.better(true, node, low, &data_type)?;
        let clipped = self.better(false, raised, high, &data_type)?;
        // A missing value has no bounds, and NaN is not moved to one.
        let mut keep = self.lane(LaneOp::IsNull { negate: false }, vec![node], DataType::Boolean)?;
        if is_float(&data_type) {
            let wide = if data_type == DataType::Float16 { self.promoted(node, &DataType::Float32)? } else { node };
            let kind = Kind::of(self.type_of(wide)).expect("floats lie in lanes");
            let nan = self.lane(LaneOp::Class(Class::Nan, kind), vec![wide], DataType::Boolean)?;
            keep =
                self.lane(LaneOp::Connect(crate::eval::lanes::Connective::Or), vec![keep, nan], DataType::Boolean)?;
        }
        self.select(keep, node, clipped, &data_type).map(Term::Node)
    }
}
