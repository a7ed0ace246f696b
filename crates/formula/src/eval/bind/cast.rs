//! Binding of casts: numbers among themselves in lanes, the rest by kernels over whole chunks.

use std::sync::Arc;

use arrow_cast::CastOptions;
use arrow_cast::display::FormatOptions;
use arrow_schema::{DataType, TimeUnit};

use super::{Binder, Term, type_error};
use crate::error::Error;
use crate::eval::functions::cast;
use crate::eval::lanes::{Check, Kind, LaneOp};
use crate::eval::node::{Failure, Whole};
use crate::tree::expr::Expr;
use crate::tree::literal::Literal;
use crate::tree::types::{canonical, is_float, is_integer, is_numeric, type_name};

impl Binder<'_> {
    pub(super) fn cast_expr(
        &mut self,
        input: &Expr,
        declared: &DataType,
        strict: bool,
        whole: &Expr,
    ) -> Result<usize, Error> {
        let to = canonical(declared);
        let term = self.expr(input)?;
        if let Term::Literal(Literal::Null) = term {
            return self.as_type(&term, &to);
        }
        let node = self.settled(term)?;
        self.cast(node, declared, &to, strict, &|| whole.to_python().into())
    }

    fn cast(
        &mut self,
        node: usize,
        declared: &DataType,
        to: &DataType,
        strict: bool,
        text: &dyn Fn() -> Arc<str>,
    ) -> Result<usize, Error> {
        let from = self.type_of(node).clone();
        if from == *to {
            return Ok(node);
        }
        if from == DataType::Null {
            return self.promoted(node, to);
        }
        if let Some(cast) = self.cast_time(node, to, strict, text)? {
            return Ok(cast);
        }
        if let Some(factor) = ticks(declared).filter(|factor| is_numeric(&from) && *factor > 1) {
            // A number cast to an instant or a duration counts in the unit that was named.
            let wide = self.cast(node, &DataType::Int64, &DataType::Int64, strict, text)?;
            if !strict {
                let kernel = cast::ticks(factor, to.clone());
                return self.whole(&format!("ticks of {factor}"), kernel, vec![wide], to.clone(), &text());
            }
            let factor = self.constant_of(&Literal::Int(factor), &DataType::Int64)?;
            let op = LaneOp::Checked(crate::eval::lanes::Arithmetic::Multiply);
            return self.fallible_lane(op, vec![wide, factor], to.clone(), &text());
        }
        if (is_plain(&from) && is_plain(to) || same_ticks(&from, to))
            && let (Some(from), Some(kind)) = (Kind::of(&from), Kind::of(to))
        {
            let op = if from == kind {
                LaneOp::Same(kind)
            } else {
                LaneOp::Convert { from, to: kind, check: check(self.type_of(node), to, strict) }
            };
            return self.fallible_lane(op, vec![node], to.clone(), &text());
        }
        let kernel = cast::kernel(&from, to, strict).ok_or_else(|| {
            type_error("cast", &[&from, to], "there is no cast between them; go through String or a number")
        })?;
        self.whole(&format!("cast {strict}"), kernel, vec![node], to.clone(), &text())
    }
}

/// Nanoseconds in the unit of an instant or a duration as it was written.
fn ticks(declared: &DataType) -> Option<i64> {
    match declared {
        DataType::Timestamp(unit, _) | DataType::Duration(unit) => Some(match unit {
            TimeUnit::Second => 1_000_000_000,
            TimeUnit::Millisecond => 1_000_000,
            TimeUnit::Microsecond => 1_000,
            TimeUnit::Nanosecond => 1,
        }),
        _ => None,
    }
}

/// Booleans and numbers that lie in lanes.
fn is_plain(data_type: &DataType) -> bool {
    *data_type == DataType::Boolean || is_integer(data_type) || is_float(data_type) && *data_type != DataType::Float16
}

/// Casts that only rename: Int64 and what is counted in nanoseconds, Int32 and days, a zone for another.
fn same_ticks(from: &DataType, to: &DataType) -> bool {
    use DataType::*;
    matches!(
        (from, to),
        (Int64, Timestamp(_, _) | Duration(_))
            | (Timestamp(_, _) | Duration(_) | Time64(_), Int64)
            | (Timestamp(_, _), Timestamp(_, _))
            | (Int32, Date32)
            | (Date32, Int32)
    )
}

fn check(from: &DataType, to: &DataType, strict: bool) -> Check {
    let widens = is_float(to)
        || is_integer(from) && is_integer(to) && crate::tree::types::promote(from, to).ok().as_ref() == Some(to);
    match strict {
        _ if widens => Check::Never,
        true => Check::Strict,
        false => Check::Null,
    }
}

/// The cast of arrow, to a type that the value is known or checked to fit.
pub(crate) fn to_type(to: DataType, strict: bool) -> Whole {
    Arc::new(move |args, _| {
        let options = CastOptions { safe: !strict, format_options: FormatOptions::default() };
        arrow_cast::cast_with_options(args[0].array(), &to, &options).map_err(|error| Failure {
            row: 0,
            message: format!("{error}; wanted {}", type_name(&to)),
            payload: None,
        })
    })
}
