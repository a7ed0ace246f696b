//! Binding of functions and arithmetic of time.

use std::sync::Arc;

use arrow_schema::DataType;

use super::{Binder, Term, type_error};
use crate::error::Error;
use crate::eval::functions::civil::DAY;
use crate::eval::functions::period::{Period, Step};
use crate::eval::functions::time;
use crate::eval::functions::time::Clock;
use crate::eval::functions::zone::zone_of;
use crate::eval::lanes::{Arithmetic, Check, Kind, LaneOp, Math};
use crate::tree::expr::Expr;
use crate::tree::function::{Function, Time};
use crate::tree::literal::Literal;
use crate::tree::types::{DURATION, TIME, is_float, is_integer};

impl Binder<'_> {
    pub(super) fn time(&mut self, function: Time, args: &[Expr], text: &dyn Fn() -> Arc<str>) -> Result<Term, Error> {
        let name = Function::Time(function).name();
        let (least, most) = arity(function);
        if args.len() < least || args.len() > most {
            let takes = if least == 2 { "a time and one argument" } else { "one time" };
            return Err(Error::Arguments { function: name, takes, given: args.len() });
        }
        let terms = self.terms(args)?;
        let node = self.settled(terms[0].clone())?;
        let data_type = self.type_of(node).clone();
        if data_type == DataType::Null {
            return self.promoted(node, &DataType::Int64).map(Term::Node);
        }
        if let Some(unit) = total(function) {
            if data_type != DURATION {
                return Err(type_error(&name, &[&data_type], "it takes durations; subtract two instants first"));
            }
            return self.whole(&name, time::count_of(unit, false), vec![node], DataType::Int64, "").map(Term::Node);
        }
        let clock = self.clock(&name, function, &data_type)?;
        let on_clock = |key: &str| format!("{key} of {data_type}");
        let kernel = match function {
            Time::Date if data_type == DataType::Date32 => return Ok(Term::Node(node)),
            Time::Time if data_type == TIME => return Ok(Term::Node(node)),
            Time::Date => {
                return self
                    .whole(&on_clock(&name), time::date(clock), vec![node], DataType::Date32, "")
                    .map(Term::Node);
            }
            Time::Time => {
                return self.whole(&on_clock(&name), time::time_of_day(clock), vec![node], TIME, "").map(Term::Node);
            }
            Time::Truncate | Time::Round => {
                let (step, key) = self.step(&name, &terms[1])?;
                let kernel = time::truncate(clock, step, function == Time::Round);
                return self
                    .whole(&on_clock(&format!("{name} {key}")), kernel, vec![node], data_type.clone(), &text())
                    .map(Term::Node);
            }
            Time::OffsetBy => {
                let by = self.known_text(&name, &terms[1], "the offset")?;
                let period =
                    Period::parse(&by).map_err(|message| Error::Parameter { function: name.clone(), message })?;
                let kernel = time::offset_by(clock, period);
                return self
                    .whole(&on_clock(&format!("{name} {by}")), kernel, vec![node], data_type.clone(), &text())
                    .map(Term::Node);
            }
            Time::MonthStart | Time::MonthEnd => {
                let kernel = time::month_edge(clock, function == Time::MonthEnd);
                return self.whole(&on_clock(&name), kernel, vec![node], data_type.clone(), &text()).map(Term::Node);
            }
            Time::Strftime => {
                let format = self.known_text(&name, &terms[1], "the format")?;
                time::check_format(&clock, &format)
                    .map_err(|message| Error::Parameter { function: name.clone(), message })?;
                let kernel = time::strftime(clock, format.clone());
                return self
                    .whole(&on_clock(&format!("{name} {format}")), kernel, vec![node], DataType::Utf8View, &text())
                    .map(Term::Node);
            }
            Time::Epoch => return self.epoch(&name, node, &data_type, terms.get(1)),
            Time::ConvertTimeZone | Time::ReplaceTimeZone => {
                return self.zone(&name, function, node, &data_type, &terms[1], text);
            }
            part => time::part(part, clock),
        };
        self.whole(&on_clock(&name), kernel, vec![node], DataType::Int64, "").map(Term::Node)
    }

    fn clock(&self, name: &str, function: Time, data_type: &DataType) -> Result<Clock, Error> {
        let parameter = |message| Error::Parameter { function: name.to_owned(), message };
        let fits = |clock| match (&clock, needs(function)) {
            (Clock::Date, Needs::Time)
            | (Clock::TimeOfDay, Needs::Date)
            | (Clock::Date | Clock::TimeOfDay, Needs::Instant) => None,
            _ => Some(clock),
        };
        let clock = match data_type {
            DataType::Date32 => fits(Clock::Date),
            DataType::Time64(_) => fits(Clock::TimeOfDay),
            DataType::Timestamp(_, zone) => Some(Clock::Instant(zone_of(zone.as_ref()).map_err(parameter)?)),
            _ => None,
        };
        clock.ok_or_else(|| {
            let advice = match data_type {
                DataType::Utf8View => "read the text first with .str.to_datetime() or .str.to_date()",
                DataType::Date32 => "a date has no time; cast it to Datetime first",
                DataType::Time64(_) => "a time of day has no date",
                _ => "it takes dates, times and instants; cast first, e.g. .cast(Datetime(\"ns\"))",
            };
            type_error(name, &[data_type], advice)
        })
    }

    fn step(&self, name: &str, term: &Term) -> Result<(Step, String), Error> {
        let value = self.known(name, term, "the step")?;
        let wrong = |message: String| Error::Parameter { function: name.to_owned(), message };
        if *value.data_type() == DURATION {
            use arrow_array::cast::AsArray;
            let length = value.as_primitive::<arrow_array::types::DurationNanosecondType>().value(0);
            let step = Step::Nanoseconds { length, weeks: length % (7 * DAY) == 0 };
            return if length > 0 {
                Ok((step, length.to_string()))
            } else {
                Err(wrong("the step must be longer than nothing".to_owned()))
            };
        }
        let every = self.known_text(name, term, "the step")?;
        let period = Period::parse(&every).map_err(wrong)?;
        let step = period.as_step().ok_or_else(|| {
            wrong(format!(
                "\"{every}\" is no step; it must be longer than nothing, in months or in shorter units but not both"
            ))
        })?;
        Ok((step, every))
    }

    fn epoch(&mut self, name: &str, node: usize, data_type: &DataType, unit: Option<&Term>) -> Result<Term, Error> {
        let unit = unit.map(|unit| self.known_text(name, unit, "the unit")).transpose()?;
        let length = match unit.as_deref().unwrap_or("us") {
            "ns" => 1,
            "us" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "d" => DAY,
            other => {
                return Err(Error::Parameter {
                    function: name.to_owned(),
                    message: format!("\"{other}\" is no unit; choose among ns us ms s d"),
                });
            }
        };
        if !matches!(data_type, DataType::Timestamp(_, _)) {
            return Err(type_error(name, &[data_type], "it takes instants; cast first, e.g. .cast(Datetime(\"ns\"))"));
        }
        self.whole(&format!("{name} {length}"), time::count_of(length, true), vec![node], DataType::Int64, "")
            .map(Term::Node)
    }

    fn zone(
        &mut self,
        name: &str,
        function: Time,
        node: usize,
        data_type: &DataType,
        zone: &Term,
        text: &dyn Fn() -> Arc<str>,
    ) -> Result<Term, Error> {
        let DataType::Timestamp(_, from) = data_type else {
            return Err(type_error(name, &[data_type], "it takes instants"));
        };
        let wrong = |message| Error::Parameter { function: name.to_owned(), message };
        let to = match zone {
            Term::Literal(Literal::Null) => None,
            term => Some(crate::eval::functions::zone::zone_name(&self.known_text(name, term, "the zone")?)),
        };
        let zone = zone_of(to.as_ref()).map_err(wrong)?;
        let output = time::timestamp(to);
        if function == Time::ConvertTimeZone {
            return self.lane(LaneOp::Same(Kind::I64), vec![node], output).map(Term::Node);
        }
        let kernel = time::replace_zone(zone_of(from.as_ref()).map_err(wrong)?, zone, output.clone());
        self.whole(&format!("{name} of {data_type}"), kernel, vec![node], output, &text()).map(Term::Node)
    }

    /// Arithmetic in which an instant, a date, a time or a duration takes part; none if none does.
    pub(super) fn time_arithmetic(
        &mut self,
        function: Function,
        a: &Term,
        b: &Term,
        text: &dyn Fn() -> Arc<str>,
    ) -> Result<Option<usize>, Error> {
        use Function::{Add, Divide, FloorDivide, Modulo, Multiply, Subtract};
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

    /// Months and days on the clock of the column's zone, the rest in absolute time.
    fn by_interval(&mut self, function: Function, time: usize, by: usize, text: &str) -> Result<usize, Error> {
        let data_type = self.type_of(time).clone();
        let clock = self.clock(&function.name(), Time::OffsetBy, &data_type)?;
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

    /// Casts between dates, times of day and instants, which follow the zone's clock.
    pub(super) fn cast_time(
        &mut self,
        node: usize,
        to: &DataType,
        text: &dyn Fn() -> Arc<str>,
    ) -> Result<Option<usize>, Error> {
        let from = self.type_of(node).clone();
        let wrong = |message| Error::Parameter { function: "cast".to_owned(), message };
        let key = format!("cast of {from}");
        Ok(match (&from, to) {
            (DataType::Timestamp(_, zone), DataType::Date32) => {
                let clock = Clock::Instant(zone_of(zone.as_ref()).map_err(wrong)?);
                Some(self.whole(&key, time::date(clock), vec![node], DataType::Date32, "")?)
            }
            (DataType::Timestamp(_, zone), DataType::Time64(_)) => {
                let clock = Clock::Instant(zone_of(zone.as_ref()).map_err(wrong)?);
                Some(self.whole(&key, time::time_of_day(clock), vec![node], TIME, "")?)
            }
            (DataType::Date32, DataType::Timestamp(_, zone)) => {
                let kernel = time::midnight(zone_of(zone.as_ref()).map_err(wrong)?, to.clone());
                Some(self.whole(&key, kernel, vec![node], to.clone(), &text())?)
            }
            _ => None,
        })
    }
}

/// What a function needs of a column of time.
#[derive(PartialEq)]
enum Needs {
    Any,
    Date,
    Time,
    Instant,
}

fn needs(function: Time) -> Needs {
    match function {
        Time::Year
        | Time::Quarter
        | Time::Month
        | Time::Week
        | Time::Weekday
        | Time::OrdinalDay
        | Time::Day
        | Time::Date => Needs::Date,
        Time::Truncate | Time::Round | Time::OffsetBy | Time::MonthStart | Time::MonthEnd => Needs::Date,
        Time::Hour
        | Time::Minute
        | Time::Second
        | Time::Millisecond
        | Time::Microsecond
        | Time::Nanosecond
        | Time::Time => Needs::Time,
        Time::Epoch | Time::ConvertTimeZone | Time::ReplaceTimeZone => Needs::Instant,
        _ => Needs::Any,
    }
}

fn total(function: Time) -> Option<i64> {
    Some(match function {
        Time::TotalDays => DAY,
        Time::TotalHours => 3_600_000_000_000,
        Time::TotalMinutes => 60_000_000_000,
        Time::TotalSeconds => 1_000_000_000,
        Time::TotalMilliseconds => 1_000_000,
        Time::TotalMicroseconds => 1_000,
        Time::TotalNanoseconds => 1,
        _ => return None,
    })
}

fn arity(function: Time) -> (usize, usize) {
    match function {
        Time::Truncate
        | Time::Round
        | Time::OffsetBy
        | Time::Strftime
        | Time::ConvertTimeZone
        | Time::ReplaceTimeZone => (2, 2),
        Time::Epoch => (1, 2),
        _ => (1, 1),
    }
}
