//! Binding of arithmetic and of functions of numbers.

use std::sync::Arc;

use arrow_schema::DataType;

use super::{Binder, Call, Term, type_error};
use crate::error::Error;
use crate::eval::functions::{decimal, text};
use crate::eval::lanes::{Arithmetic, Bitwise, Check, Connective, Kind, LaneOp, Math, Math2, Unary};
use crate::tree::function::Function;
use crate::tree::literal::Literal;
use crate::tree::types::{DURATION, is_decimal, is_float, is_integer, is_numeric, is_text};

impl Binder<'_> {
    pub(crate) fn arithmetic(&mut self, c: &Call<'_>) -> Result<Term, Error> {
        let text = || c.text();
        let mut terms = self.terms(c.args)?.into_iter();
        let (Some(first), Some(second)) = (terms.next(), terms.next()) else { return Err(c.wrong_arguments()) };
        let mut result = self.operate(c.function, first, second, &text)?;
        for next in terms {
            result = self.operate(c.function, Term::Node(result), next, &text)?;
        }
        Ok(Term::Node(result))
    }

    fn operate(&mut self, function: Function, a: Term, b: Term, text: &dyn Fn() -> Arc<str>) -> Result<usize, Error> {
        if let Some(node) = self.of_elements(function, &[&a, &b], text)? {
            return Ok(node);
        }
        if let Some(node) = self.time_arithmetic(function, &a, &b, text)? {
            return Ok(node);
        }
        if function == Function::Add && (self.is_text_term(&a) || self.is_text_term(&b)) {
            return self.join_text(a, b);
        }
        if function == Function::Power {
            return self.power(a, b);
        }
        let name = function.name();
        let met = self.common_type(&[a.clone(), b.clone()]);
        let met = met.map_err(|_| self.operands_error(&name, &a, &b))?;
        match (function, &met) {
            (_, DataType::Null) => self.arithmetic_as(function, &a, &b, &DataType::Int64),
            (_, met) if is_decimal(met) => {
                let (a, b) = (self.settled(a)?, self.settled(b)?);
                let (kernel, data_type) = decimal::operator(function, self.type_of(a), self.type_of(b), met);
                self.whole(&format!("decimal {function:?}"), kernel, vec![a, b], data_type, &text())
            }
            (_, met) if is_numeric(met) => self.arithmetic_as(function, &a, &b, met),
            _ => Err(self.operands_error(&name, &a, &b)),
        }
    }

    /// How much a value is more than another, or by which part of it. What does not fit in the type of whole numbers would wrap:
    /// the difference of unsigned ones has a sign, and a part of whole ones is that of doubles.
    pub(crate) fn difference(&mut self, c: &Call<'_>, relative: bool) -> Result<Term, Error> {
        let [mut of, mut before] = self.terms_of(c)?;
        if let Ok(met) = self.common_type(&[of.clone(), before.clone()])
            && let Some(wide) = wide_enough(&met, relative)
        {
            for term in [&mut of, &mut before] {
                let node = self.as_type(term, &met)?;
                *term = Term::Node(self.promoted(node, &wide)?);
            }
        }
        let text = || c.text();
        let less = self.operate(Function::Subtract, of, before.clone(), &text)?;
        if !relative {
            return Ok(Term::Node(less));
        }
        self.operate(Function::Divide, Term::Node(less), before, &text).map(Term::Node)
    }

    fn arithmetic_as(&mut self, function: Function, a: &Term, b: &Term, met: &DataType) -> Result<usize, Error> {
        let computed = match (function, met) {
            (_, DataType::Float16) => DataType::Float32,
            (Function::Divide, met) if is_integer(met) => DataType::Float64,
            (_, met) => met.clone(),
        };
        let (a, b) = (self.as_type(a, met)?, self.as_type(b, met)?);
        let args = vec![self.promoted(a, &computed)?, self.promoted(b, &computed)?];
        let kind = Kind::of(&computed).expect("numbers but Float16 and decimals lie in lanes");
        let op = match function {
            Function::Divide => LaneOp::Divide(kind),
            other => LaneOp::Arithmetic(plain(other), kind),
        };
        let node = self.lane(op, args, computed)?;
        if *met == DataType::Float16 { self.promoted(node, met) } else { Ok(node) }
    }

    /// An integer to an integer power is an integer only if the exponent cannot be negative.
    fn power(&mut self, a: Term, b: Term) -> Result<usize, Error> {
        let negative = match &b {
            Term::Literal(Literal::Int(exponent)) => *exponent < 0,
            Term::Literal(_) => false,
            Term::Node(node) => match &self.nodes[*node].op {
                crate::eval::node::Op::Constant(value) => {
                    super::literal::integer(value).is_some_and(|exponent| exponent < 0)
                }
                _ => self.type_of(*node).is_signed_integer(),
            },
        };
        let met = self.common_type(&[a.clone(), b.clone()]).map_err(|_| self.operands_error("**", &a, &b))?;
        let met = match met {
            DataType::Null => DataType::Int64,
            met if is_integer(&met) && negative || is_decimal(&met) => DataType::Float64,
            met if is_numeric(&met) => met,
            _ => return Err(self.operands_error("**", &a, &b)),
        };
        self.arithmetic_as(Function::Power, &a, &b, &met)
    }

    fn is_text_term(&self, term: &Term) -> bool {
        matches!(term, Term::Node(node) if is_text(self.type_of(*node)))
    }

    fn join_text(&mut self, a: Term, b: Term) -> Result<usize, Error> {
        for term in [&a, &b] {
            if !self.is_text_term(term) && !matches!(term, Term::Literal(Literal::Null)) {
                return Err(self.operands_error("+", &a, &b));
            }
        }
        let args = vec![self.as_type(&a, &DataType::Utf8View)?, self.as_type(&b, &DataType::Utf8View)?];
        self.whole("concat", text::concat(), args, DataType::Utf8View, "")
    }

    pub(super) fn operands_error(&mut self, name: &str, a: &Term, b: &Term) -> Error {
        let types = [self.term_type(a), self.term_type(b)];
        let advice = if types.iter().any(is_text) {
            "cast one side, e.g. .cast(String) or .cast(Int64)"
        } else if types.contains(&DataType::Boolean) {
            "cast the Boolean, e.g. .cast(Int64)"
        } else {
            "cast one side so that both are of one kind"
        };
        type_error(name, &[&types[0], &types[1]], advice)
    }

    pub(super) fn term_type(&self, term: &Term) -> DataType {
        match term {
            Term::Node(node) => self.type_of(*node).clone(),
            Term::Literal(literal) => super::literal::own_type(literal),
        }
    }

    pub(crate) fn negate(&mut self, c: &Call<'_>) -> Result<Term, Error> {
        let [term] = self.terms_of(c)?;
        // The negative of a literal is a literal: it still takes the type of its neighbour.
        match term {
            Term::Literal(Literal::Int(value)) => return Ok(Term::Literal(Literal::Int(value.wrapping_neg()))),
            Term::Literal(Literal::Float(value)) => return Ok(Term::Literal(Literal::Float(-value))),
            Term::Literal(Literal::UInt(value)) if value == 1 << 63 => {
                return Ok(Term::Literal(Literal::Int(i64::MIN)));
            }
            _ => {}
        }
        if let Some(node) = self.of_elements(Function::Negate, &[&term], &|| c.text())? {
            return Ok(Term::Node(node));
        }
        let node = self.settled(term)?;
        self.signed(c, Unary::Negate, node).map(Term::Node)
    }

    /// The value without its sign, or what the sign is.
    pub(crate) fn sign(&mut self, c: &Call<'_>, op: Unary) -> Result<Term, Error> {
        let [term] = self.terms_of(c)?;
        let node = self.settled(term)?;
        self.signed(c, op, node).map(Term::Node)
    }

    fn signed(&mut self, c: &Call<'_>, op: Unary, node: usize) -> Result<usize, Error> {
        let data_type = self.type_of(node).clone();
        match &data_type {
            DataType::Null => self.promoted(node, &DataType::Int64),
            DataType::Float16 => {
                let wide = self.promoted(node, &DataType::Float32)?;
                let node = self.lane(LaneOp::Unary(op, Kind::F32), vec![wide], DataType::Float32)?;
                self.promoted(node, &data_type)
            }
            unsigned if unsigned.is_unsigned_integer() && op == Unary::Negate => Err(type_error(
                c.name,
                &[unsigned],
                "it has no negative values; cast to a signed type first, e.g. .cast(Int64)",
            )),
            other if is_decimal(other) => {
                let kernel = decimal::unary(op, other);
                self.whole(&format!("decimal {op:?}"), kernel, vec![node], data_type, &c.text())
            }
            other if is_numeric(other) || *other == DURATION => {
                let kind = Kind::of(other).expect("numbers but Float16 and decimals lie in lanes");
                self.lane(LaneOp::Unary(op, kind), vec![node], data_type)
            }
            other => Err(type_error(c.name, &[other], "it takes numbers; cast first")),
        }
    }

    pub(crate) fn logic(&mut self, c: &Call<'_>) -> Result<Term, Error> {
        let terms = self.terms(c.args)?;
        let met = self.common_type(&terms);
        let met = match met {
            Ok(DataType::Null) => DataType::Boolean,
            Ok(met) if met == DataType::Boolean || is_integer(&met) => met,
            _ => {
                let types: Vec<DataType> = terms.iter().map(|term| self.term_type(term)).collect();
                let types: Vec<&DataType> = types.iter().collect();
                return Err(type_error(
                    c.name,
                    &types,
                    "it takes booleans, or integers bit by bit; compare or cast first",
                ));
            }
        };
        let nodes = terms.iter().map(|term| self.as_type(term, &met)).collect::<Result<Vec<_>, _>>()?;
        let kind = Kind::of(&met).expect("booleans and integers lie in lanes");
        let op = match (c.function, kind) {
            (Function::Not, Kind::Bits) => return self.lane(LaneOp::Not, nodes, met).map(Term::Node),
            (Function::Not, kind) => return self.lane(LaneOp::Bitwise(Bitwise::Not, kind), nodes, met).map(Term::Node),
            (Function::And, Kind::Bits) => LaneOp::Connect(Connective::And),
            (Function::Or, Kind::Bits) => LaneOp::Connect(Connective::Or),
            (_, Kind::Bits) => LaneOp::Connect(Connective::Xor),
            (Function::And, kind) => LaneOp::Bitwise(Bitwise::And, kind),
            (Function::Or, kind) => LaneOp::Bitwise(Bitwise::Or, kind),
            (_, kind) => LaneOp::Bitwise(Bitwise::Xor, kind),
        };
        let mut result = nodes[0];
        for next in &nodes[1..] {
            result = self.lane(op, vec![result, *next], met.clone())?;
        }
        Ok(Term::Node(result))
    }

    pub(crate) fn shift(&mut self, c: &Call<'_>, left: bool) -> Result<Term, Error> {
        let [value, count] = self.terms_of(c)?;
        let (value_type, count_type) = (self.term_type(&value), self.term_type(&count));
        if !is_integer(&value_type) || !is_integer(&count_type) || count_type == DataType::UInt64 {
            return Err(type_error(c.name, &[&value_type, &count_type], "it takes integers; cast first"));
        }
        let value = self.settled(value)?;
        let count = self.as_type(&count, &DataType::Int64)?;
        let kind = Kind::of(&value_type).expect("integers lie in lanes");
        let op = LaneOp::Shift { left, kind };
        self.lane(op, vec![value, count], value_type).map(Term::Node)
    }

    /// A function of one number: integers are computed as Float64.
    pub(crate) fn math(&mut self, c: &Call<'_>, op: Math) -> Result<Term, Error> {
        let [term] = self.terms_of(c)?;
        let input = self.settled(term)?;
        self.as_floats(c, input, |binder, input, kind, computed| {
            binder.lane(LaneOp::Math(op, kind), vec![input], computed)
        })
    }

    /// A function of two numbers, computed as floats of the first one's width.
    pub(crate) fn math_of_two(&mut self, c: &Call<'_>, op: Math2) -> Result<Term, Error> {
        let [first, second] = self.terms_of(c)?;
        let (input, other) = (self.settled(first)?, self.settled(second)?);
        let types = [self.type_of(input).clone(), self.type_of(other).clone()];
        self.as_floats(c, input, |binder, input, kind, computed| {
            if !is_numeric(&types[1]) {
                return Err(type_error(c.name, &[&types[0], &types[1]], "it takes numbers; cast first"));
            }
            let other = binder.number_as(other, &computed)?;
            binder.lane(LaneOp::Math2(op, kind), vec![input, other], computed)
        })
    }

    /// To whole numbers, or to so many decimals: integers are that already, decimals stay decimals.
    pub(crate) fn rounding(&mut self, c: &Call<'_>, op: Math) -> Result<Term, Error> {
        let terms = self.terms(c.args)?;
        let input = self.settled(terms[0].clone())?;
        let data_type = self.type_of(input).clone();
        if is_integer(&data_type) {
            return Ok(Term::Node(input));
        }
        let places = terms.get(1).map(|places| self.known_integer(c.name, places, "the number of decimals"));
        if is_decimal(&data_type) {
            let places = places.transpose()?.unwrap_or(0);
            let kernel = decimal::rounding(c.function, places, &data_type);
            let key = format!("{:?} {places}", c.function);
            return self.whole(&key, kernel, vec![input], data_type, c.name).map(Term::Node);
        }
        self.as_floats(c, input, |binder, input, kind, computed| match places.transpose()? {
            None | Some(0) => binder.lane(LaneOp::Math(op, kind), vec![input], computed),
            Some(places) => {
                let places = binder.constant_of(&Literal::Int(places), &DataType::Int64)?;
                binder.lane(LaneOp::Round(kind), vec![input, places], computed)
            }
        })
    }

    /// What `make` makes of a number as a float that holds it; of Float16 it is Float16 again.
    fn as_floats(
        &mut self,
        c: &Call<'_>,
        input: usize,
        make: impl FnOnce(&mut Self, usize, Kind, DataType) -> Result<usize, Error>,
    ) -> Result<Term, Error> {
        let data_type = self.type_of(input).clone();
        if data_type != DataType::Null && !is_numeric(&data_type) {
            return Err(type_error(c.name, &[&data_type], "it takes numbers; cast first, e.g. .cast(Float64)"));
        }
        let computed = match &data_type {
            DataType::Float16 | DataType::Float32 => DataType::Float32,
            _ => DataType::Float64,
        };
        let kind = Kind::of(&computed).expect("floats lie in lanes");
        let input = self.number_as(input, &computed)?;
        let node = make(self, input, kind, computed)?;
        Ok(Term::Node(if data_type == DataType::Float16 { self.promoted(node, &data_type)? } else { node }))
    }

    /// A number as a float, wider or narrower.
    fn number_as(&mut self, node: usize, float: &DataType) -> Result<usize, Error> {
        let from = self.type_of(node).clone();
        match (Kind::of(&from), Kind::of(float)) {
            (Some(from), Some(to)) if from != to && is_float(float) => {
                self.lane(LaneOp::Convert { from, to, check: Check::Never }, vec![node], float.clone())
            }
            _ => self.promoted(node, float),
        }
    }
}

/// The type in which numbers are subtracted, where it is another than their own. UInt64 wraps as it goes to Int64 and back as it is
/// subtracted there: what is within Int64 is right.
fn wide_enough(met: &DataType, relative: bool) -> Option<DataType> {
    match met {
        whole if relative => is_integer(whole).then_some(DataType::Float64),
        DataType::UInt8 => Some(DataType::Int16),
        DataType::UInt16 => Some(DataType::Int32),
        DataType::UInt32 | DataType::UInt64 => Some(DataType::Int64),
        _ => None,
    }
}

fn plain(function: Function) -> Arithmetic {
    match function {
        Function::Add => Arithmetic::Add,
        Function::Subtract => Arithmetic::Subtract,
        Function::Multiply => Arithmetic::Multiply,
        Function::FloorDivide => Arithmetic::FloorDivide,
        Function::Modulo => Arithmetic::Modulo,
        _ => Arithmetic::Power,
    }
}
