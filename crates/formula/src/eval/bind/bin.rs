//! Binding of bins: of numbers by arithmetic, of time by the kernel of `dt.truncate`.

use arrow_schema::DataType;

use super::{Binder, Call, Term, type_error};
use crate::error::Error;
use crate::tree::expr::Expr;
use crate::tree::function::{Function, Time};
use crate::tree::literal::Literal;
use crate::tree::types::{DURATION, is_integer, is_numeric};

impl Binder<'_> {
    /// Value, width, offset: the greatest `offset + n · width` not above the value, or the least not below it.
    pub(crate) fn bin(&mut self, c: &Call<'_>, upper: bool) -> Result<Term, Error> {
        let (value, width, offset) = match c.args {
            [value, width] => (value, width, None),
            [value, width, offset] => (value, width, Some(offset)),
            _ => return Err(c.wrong_arguments()),
        };
        let term = self.expr(value)?;
        let data_type = self.term_type(&term);
        if matches!(data_type, DataType::Timestamp(_, _)) {
            return self.bin_of_instants(c.name, value, width, offset, upper);
        }
        if !is_numeric(&data_type) && data_type != DataType::Null && data_type != DURATION {
            return Err(type_error(c.name, &[&data_type], "it takes numbers and instants"));
        }
        // Written out: offset + ((value - offset) // width) * width, and one width more where that falls short.
        let call = |function, a: Expr, b: Expr| Expr::joined(function, vec![a, b]);
        let moved = match offset {
            Some(offset) => call(Function::Subtract, value.clone(), offset.clone()),
            None => value.clone(),
        };
        let count = if upper {
            let negative = Expr::Call { function: Function::Negate, args: vec![moved] };
            let floored = call(Function::FloorDivide, negative, width.clone());
            Expr::Call { function: Function::Negate, args: vec![floored] }
        } else {
            call(Function::FloorDivide, moved, width.clone())
        };
        let bin = call(Function::Multiply, count, width.clone());
        let bin = match offset {
            Some(offset) => call(Function::Add, bin, offset.clone()),
            None => bin,
        };
        self.expr(&bin)
    }

    fn bin_of_instants(
        &mut self,
        name: &str,
        value: &Expr,
        width: &Expr,
        offset: Option<&Expr>,
        upper: bool,
    ) -> Result<Term, Error> {
        let offset = offset.map(|offset| self.length(name, offset, "the offset")).transpose()?.unwrap_or(0);
        if let Some(months) = self.months(name, width)? {
            return self.bin_of_months(value, months, offset, upper);
        }
        let width = self.length(name, width, "the width")?;
        if width <= 0 {
            return Err(Error::Parameter {
                function: name.to_owned(),
                message: "the width must be positive".to_owned(),
            });
        }
        // The upper bin is the lower one of the last nanosecond before the next.
        let before = offset.saturating_sub(if upper { width - 1 } else { 0 });
        let moved = |by: i64, input: Expr| {
            let by = Expr::Literal(Literal::Duration(by));
            Expr::Call { function: Function::Subtract, args: vec![input, by] }
        };
        let input = if before == 0 { value.clone() } else { moved(before, value.clone()) };
        let width = Expr::Literal(Literal::Duration(width));
        let cut = Expr::Call { function: Function::Time(Time::Truncate), args: vec![input, width] };
        self.expr(&if offset == 0 { cut } else { moved(offset.saturating_neg(), cut) })
    }

    /// Months begin on the calendar of the column's zone; the upper bin is the one after the last nanosecond before.
    fn bin_of_months(&mut self, value: &Expr, months: i64, offset: i64, upper: bool) -> Result<Term, Error> {
        let moved = |by: i64, input: Expr| {
            let by = Expr::Literal(Literal::Duration(by));
            if by == Expr::Literal(Literal::Duration(0)) {
                return input;
            }
            Expr::Call { function: Function::Subtract, args: vec![input, by] }
        };
        let months = || Expr::literal(format!("{months}mo").as_str());
        let on = |function, input| Expr::Call { function: Function::Time(function), args: vec![input, months()] };
        let before = moved(offset.saturating_add(i64::from(upper)), value.clone());
        let cut = on(Time::Truncate, before);
        let bin = if upper { on(Time::OffsetBy, cut) } else { cut };
        self.expr(&moved(offset.saturating_neg(), bin))
    }

    /// The months of a text such as `"1mo"`; none of what is shorter.
    fn months(&mut self, name: &str, width: &Expr) -> Result<Option<i64>, Error> {
        let term = self.expr(width)?;
        if !crate::tree::types::is_text(&self.term_type(&term)) {
            return Ok(None);
        }
        let width = self.known_text(name, &term, "the width")?;
        let step = crate::eval::functions::period::Period::parse(&width).ok().and_then(|width| width.as_step());
        Ok(match step {
            Some(crate::eval::functions::period::Step::Months(months)) => Some(months),
            _ => None,
        })
    }

    /// Nanoseconds: a whole number, a duration, or a text such as `"5m"`.
    fn length(&mut self, name: &str, length: &Expr, what: &str) -> Result<i64, Error> {
        let term = self.expr(length)?;
        let data_type = self.term_type(&term);
        let wrong = |message: String| Error::Parameter { function: name.to_owned(), message };
        if is_integer(&data_type) {
            return self.known_integer(name, &term, what);
        }
        if data_type == DURATION {
            use arrow_array::Array;
            use arrow_array::cast::AsArray;
            let value = self.known(name, &term, what)?;
            let value = value.as_primitive::<arrow_array::types::DurationNanosecondType>();
            return if value.is_null(0) { Err(wrong(format!("{what} must not be null"))) } else { Ok(value.value(0)) };
        }
        let period = self.known_text(name, &term, what)?;
        let period = crate::eval::functions::period::Period::parse(&period).map_err(wrong)?;
        match period.as_step() {
            Some(crate::eval::functions::period::Step::Nanoseconds { length, .. }) => Ok(length),
            _ => Err(wrong(format!("{what} must be of days or shorter units"))),
        }
    }
}
