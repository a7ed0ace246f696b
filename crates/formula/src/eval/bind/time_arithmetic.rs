//! Binding of arithmetic of instants, dates, times of day and durations.

use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_schema::DataType;

use super::time::Needs;
use super::{Binder, Term, type_error};
use crate::error::Error;
use crate::eval::functions::civil::DAY;
use crate::eval::functions::period::duration;
use crate::eval::functions::time;
use crate::eval::lanes::{Arithmetic, Check, Kind, LaneOp, Math};
use crate::eval::node::Op;
use crate::tree::function::Function;
use crate::tree::literal::Literal;
use crate::tree::types::{DURATION, is_float, is_integer};

impl Binder<'_> {
    /// Arithmetic in which an instant, a date, a time or a duration takes part; none if none does.
    pub(super) fn time_arithmetic(
        &mut self,
        function: Function,
        a: &Term,
        b: &Term,
        text: &dyn Fn() -> Arc<str>,
    ) -> Result<Option<usize>, Error> {
        use Function::{Add, Divide, FloorDivide, Modulo, Multiply, Subtract};
        let (a, b) = (&self.span_beside(a, b, function)?, &self.span_beside(b, a, function)?);
        let (a_type, b_type) = (self.term_type(a), self.term_type(b));
        let temporal = |data_type: &DataType| {
            matches!(data_type, DataType::Timestamp(_, _) | DataType::Date32 | DataType::Time64(_))
                || *data_type == DURATION
        };
        if !temporal(&a_type) && !temporal(&b_type) {
            return Ok(None);
        }
        // Null beside a time is a missing duration, beside a duration too.
        let a_type = if a_type == DataType::Null { DURATION } else { a_type };
        let b_type = if b_type == DataType::Null { DURATION } else { b_type };
        let is_number = |data_type: &DataType| is_integer(data_type) || is_float(data_type);
        let (x, y) = (self.as_type(a, &a_type)?, self.as_type(b, &b_type)?);
        let shown = text();
        let checked = |binder: &mut Self, op, args, to| binder.fallible_lane(LaneOp::Checked(op), args, to, &shown);
        let node = match (function, &a_type, &b_type) {
            (Add, DataType::Timestamp(_, _), d) if *d == DURATION => {
                checked(self, Arithmetic::Add, vec![x, y], a_type)?
            }
            (Add, d, DataType::Timestamp(_, _)) if *d == DURATION => {
                checked(self, Arithmetic::Add, vec![x, y], b_type)?
            }
            (Subtract, DataType::Timestamp(_, _), d) if *d == DURATION => {
                checked(self, Arithmetic::Subtract, vec![x, y], a_type)?
            }
            (Add | Subtract, DataType::Timestamp(_, _) | DataType::Date32, DataType::Interval(_)) => {
                self.by_interval(function, x, y, &shown)?
            }
            (Add, DataType::Interval(_), DataType::Timestamp(_, _) | DataType::Date32) => {
                self.by_interval(function, y, x, &shown)?
            }
            (Subtract, DataType::Timestamp(_, a), DataType::Timestamp(_, b)) if a.is_some() != b.is_some() => {
                return Err(type_error(&function.name(), &[&a_type, &b_type], super::compare::ZONED));
            }
            (Subtract, DataType::Timestamp(_, _), DataType::Timestamp(_, _))
            | (Subtract, DataType::Time64(_), DataType::Time64(_)) => {
                checked(self, Arithmetic::Subtract, vec![x, y], DURATION)?
            }
            (Add, d, e) if *d == DURATION && *e == DURATION => checked(self, Arithmetic::Add, vec![x, y], DURATION)?,
            (Subtract, d, e) if *d == DURATION && *e == DURATION => {
                checked(self, Arithmetic::Subtract, vec![x, y], DURATION)?
            }
            (Subtract, DataType::Date32, DataType::Date32) => {
                let (x, y) = (self.days(x)?, self.days(y)?);
                let days =
                    self.lane(LaneOp::Arithmetic(Arithmetic::Subtract, Kind::I64), vec![x, y], DataType::Int64)?;
                let length = self.int64(DAY)?;
                checked(self, Arithmetic::Multiply, vec![days, length], DURATION)?
            }
            (Add | Subtract, DataType::Date32, d) if *d == DURATION => self.date_moved(function, x, y, &shown)?,
            (Add, d, DataType::Date32) if *d == DURATION => self.date_moved(function, y, x, &shown)?,
            (Multiply, d, number) if *d == DURATION && is_number(number) => self.scaled(x, y, &shown)?,
            (Multiply, number, d) if *d == DURATION && is_number(number) => self.scaled(y, x, &shown)?,
            (Divide, d, e) if *d == DURATION && *e == DURATION => {
                let (x, y) = (self.float(x)?, self.float(y)?);
                self.lane(LaneOp::Divide(Kind::F64), vec![x, y], DataType::Float64)?
            }
            (Divide, d, number) if *d == DURATION && is_float(number) => {
                let (x, y) = (self.float(x)?, self.float(y)?);
                let quotient = self.lane(LaneOp::Divide(Kind::F64), vec![x, y], DataType::Float64)?;
                self.rounded_duration(quotient, &shown)?
            }
            (Divide | FloorDivide, d, number) if *d == DURATION && is_integer(number) => {
                let y = self.whole_number(y)?;
                self.lane(LaneOp::Arithmetic(Arithmetic::FloorDivide, Kind::I64), vec![x, y], DURATION)?
            }
            (FloorDivide, d, e) if *d == DURATION && *e == DURATION => {
                self.lane(LaneOp::Arithmetic(Arithmetic::FloorDivide, Kind::I64), vec![x, y], DataType::Int64)?
            }
            (Modulo, d, e) if *d == DURATION && *e == DURATION => {
                self.lane(LaneOp::Arithmetic(Arithmetic::Modulo, Kind::I64), vec![x, y], DURATION)?
            }
            _ => {
                let advice = "an instant takes a duration beside it, such as lit(timedelta(hours=1)); whole numbers are cast with .cast(Duration(\"ns\"))";
                return Err(type_error(&function.name(), &[&a_type, &b_type], advice));
            }
        };
        Ok(Some(node))
    }

    /// A text that stands beside a time, as the length of time that it says; any other term as it is.
    fn span_beside(&mut self, term: &Term, other: &Term, function: Function) -> Result<Term, Error> {
        let moves = matches!(function, Function::Add | Function::Subtract)
            && matches!(self.term_type(other), DataType::Timestamp(..) | DataType::Duration(_) | DataType::Date32);
        let text = match term {
            Term::Literal(Literal::Str(text)) if moves => text.clone(),
            Term::Node(node) if moves => match self.constant_text(*node) {
                Some(text) => text,
                None => return Ok(term.clone()),
            },
            _ => return Ok(term.clone()),
        };
        match duration(&text) {
            Some(ns) => Ok(Term::Literal(Literal::Duration(ns))),
            None => {
                let advice = format!("{text:?} is no length of time; write \"5m\", \"1h30m\" or \"PT5S\"");
                Err(type_error(&function.name(), &[&self.term_type(other), &self.term_type(term)], &advice))
            }
        }
    }

    fn constant_text(&self, node: usize) -> Option<Arc<str>> {
        match &self.nodes[node].op {
            Op::Constant(value) if value.len() == 1 && value.is_valid(0) => {
                value.as_string_view_opt().map(|text| text.value(0).into())
            }
            _ => None,
        }
    }

    /// Months and days on the clock of the column's zone, the rest in absolute time.
    fn by_interval(&mut self, function: Function, time: usize, by: usize, text: &str) -> Result<usize, Error> {
        let data_type = self.type_of(time).clone();
        let clock = self.clock(&function.name(), Needs::Date, &data_type)?;
        let kernel = time::by_interval(clock, function == Function::Subtract);
        self.whole(&format!("by interval {function:?}"), kernel, vec![time, by], data_type, text)
    }

    fn int64(&mut self, value: i64) -> Result<usize, Error> {
        self.constant_of(&Literal::Int(value), &DataType::Int64)
    }

    fn days(&mut self, node: usize) -> Result<usize, Error> {
        let op = LaneOp::Convert { from: Kind::I32, to: Kind::I64, check: Check::Never };
        self.lane(op, vec![node], DataType::Int64)
    }

    fn float(&mut self, node: usize) -> Result<usize, Error> {
        match Kind::of(self.type_of(node)) {
            Some(Kind::F64) => Ok(node),
            Some(from) => {
                self.lane(LaneOp::Convert { from, to: Kind::F64, check: Check::Never }, vec![node], DataType::Float64)
            }
            None => self.promoted(node, &DataType::Float64),
        }
    }

    fn whole_number(&mut self, node: usize) -> Result<usize, Error> {
        let data_type = self.type_of(node).clone();
        if data_type == DataType::UInt64 {
            return Err(type_error("arithmetic of durations", &[&data_type], "cast it to Int64"));
        }
        self.promoted(node, &DataType::Int64)
    }

    /// A date some time later: the date on which that falls.
    fn date_moved(
        &mut self,
        function: Function,
        date: usize,
        duration: usize,
        text: &Arc<str>,
    ) -> Result<usize, Error> {
        let length = self.int64(DAY)?;
        let duration = if function == Function::Subtract {
            let zero = self.constant_of(&Literal::Duration(0), &DURATION)?;
            self.fallible_lane(LaneOp::Checked(Arithmetic::Subtract), vec![zero, duration], DURATION, text)?
        } else {
            duration
        };
        let moved =
            self.lane(LaneOp::Arithmetic(Arithmetic::FloorDivide, Kind::I64), vec![duration, length], DataType::Int64)?;
        let days = self.days(date)?;
        let days = self.lane(LaneOp::Arithmetic(Arithmetic::Add, Kind::I64), vec![days, moved], DataType::Int64)?;
        let op = LaneOp::Convert { from: Kind::I64, to: Kind::I32, check: Check::Strict };
        self.fallible_lane(op, vec![days], DataType::Date32, text)
    }

    fn scaled(&mut self, duration: usize, factor: usize, text: &Arc<str>) -> Result<usize, Error> {
        if is_float(self.type_of(factor)) {
            let (duration, factor) = (self.float(duration)?, self.float(factor)?);
            let product = self.lane(
                LaneOp::Arithmetic(Arithmetic::Multiply, Kind::F64),
                vec![duration, factor],
                DataType::Float64,
            )?;
            return self.rounded_duration(product, text);
        }
        let factor = self.whole_number(factor)?;
        self.fallible_lane(LaneOp::Checked(Arithmetic::Multiply), vec![duration, factor], DURATION, text)
    }

    fn rounded_duration(&mut self, ns: usize, text: &Arc<str>) -> Result<usize, Error> {
        let rounded = self.lane(LaneOp::Math(Math::RoundEven, Kind::F64), vec![ns], DataType::Float64)?;
        let op = LaneOp::Convert { from: Kind::F64, to: Kind::I64, check: Check::Strict };
        self.fallible_lane(op, vec![rounded], DURATION, text)
    }
}
