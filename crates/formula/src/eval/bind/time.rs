//! Binding of functions of time.

use std::sync::Arc;

use arrow_schema::DataType;

use super::{Binder, Call, Term, type_error};
use crate::error::Error;
use crate::eval::functions::civil::DAY;
use crate::eval::functions::period::{Period, Step};
use crate::eval::functions::time;
use crate::eval::functions::time::Clock;
use crate::eval::functions::zone::{zone_name, zone_of};
use crate::eval::lanes::{Kind, LaneOp};
use crate::eval::node::Whole;
use crate::tree::function::Function;
use crate::tree::literal::Literal;
use crate::tree::types::{DURATION, TIME};

impl Binder<'_> {
    /// A function of what a clock shows of dates, times or instants; `make` gives its kernel, the type of its values, and
    /// what tells it from another of that name.
    pub(crate) fn on_clock(
        &mut self,
        c: &Call<'_>,
        needs: Needs,
        make: impl FnOnce(&mut Self, Clock, &DataType, &[Term]) -> Result<(Whole, DataType, String), Error>,
    ) -> Result<Term, Error> {
        let terms = self.terms(c.args)?;
        let node = self.settled(terms[0].clone())?;
        let data_type = self.type_of(node).clone();
        if data_type == DataType::Null {
            return self.promoted(node, &DataType::Int64).map(Term::Node);
        }
        let clock = self.clock(c.name, needs, &data_type)?;
        let (kernel, made, key) = make(self, clock, &data_type, &terms[1..])?;
        let key = format!("{} {key} of {data_type}", c.name);
        self.whole(&key, kernel, vec![node], made, &c.text()).map(Term::Node)
    }

    /// A part of a date, a time or an instant, as a whole number.
    pub(crate) fn part_of_time(&mut self, c: &Call<'_>, needs: Needs) -> Result<Term, Error> {
        self.on_clock(c, needs, |_, clock, _, _| {
            let Function::Time(part) = c.function else { return Err(c.wrong_arguments()) };
            Ok((time::part(part, clock), DataType::Int64, String::new()))
        })
    }

    /// The date of an instant, or its time of day; itself if it is that already.
    pub(crate) fn half_of_instant(
        &mut self,
        c: &Call<'_>,
        needs: Needs,
        half: DataType,
        kernel: fn(Clock) -> Whole,
    ) -> Result<Term, Error> {
        let term = self.expr(&c.args[0])?;
        if self.term_type(&term) == half {
            return self.settled(term).map(Term::Node);
        }
        self.on_clock(c, needs, |_, clock, _, _| Ok((kernel(clock), half, String::new())))
    }

    /// A time cut off, or rounded, to steps.
    pub(crate) fn stepped(&mut self, c: &Call<'_>, round: bool) -> Result<Term, Error> {
        self.on_clock(c, Needs::Date, |binder, clock, data_type, rest| {
            let (step, key) = binder.step(c.name, &rest[0])?;
            Ok((time::truncate(clock, step, round), data_type.clone(), key))
        })
    }

    pub(crate) fn offset_by(&mut self, c: &Call<'_>) -> Result<Term, Error> {
        self.on_clock(c, Needs::Date, |binder, clock, data_type, rest| {
            let by = binder.known_text(c.name, &rest[0], "the offset")?;
            let period = Period::parse(&by).map_err(|message| c.refused(message))?;
            Ok((time::offset_by(clock, period), data_type.clone(), by))
        })
    }

    /// Whether the year has 366 days.
    pub(crate) fn is_leap_year(&mut self, c: &Call<'_>) -> Result<Term, Error> {
        self.on_clock(c, Needs::Date, |_, clock, _, _| {
            Ok((time::is_leap_year(clock), DataType::Boolean, String::new()))
        })
    }

    /// A date, or that of an instant, at a time of day.
    pub(crate) fn combine(&mut self, c: &Call<'_>) -> Result<Term, Error> {
        let [date, at] = self.terms_of(c)?;
        let (date, at) = (self.settled(date)?, self.settled(at)?);
        let (of, by) = (self.type_of(date).clone(), self.type_of(at).clone());
        let zone = if let DataType::Timestamp(_, zone) = &of { zone.clone() } else { None };
        let output = time::timestamp(zone);
        if of == DataType::Null {
            return self.promoted(date, &output).map(Term::Node);
        }
        let clock = self.clock(c.name, Needs::Date, &of)?;
        if by == DataType::Null {
            return self.promoted(at, &output).map(Term::Node);
        }
        if by != TIME {
            let advice =
                "the second is a time of day: a Time column, .dt.time() of an instant, or datetime.time(9, 30)";
            return Err(type_error(c.name, &[&of, &by], advice));
        }
        let kernel = time::combine(clock, output.clone());
        self.whole(&format!("{} of {of}", c.name), kernel, vec![date, at], output, &c.text()).map(Term::Node)
    }

    /// The first day of the month, or the last.
    pub(crate) fn month_edge(&mut self, c: &Call<'_>, end: bool) -> Result<Term, Error> {
        self.on_clock(c, Needs::Date, |_, clock, data_type, _| {
            Ok((time::month_edge(clock, end), data_type.clone(), String::new()))
        })
    }

    pub(crate) fn strftime(&mut self, c: &Call<'_>) -> Result<Term, Error> {
        self.on_clock(c, Needs::Any, |binder, clock, _, rest| {
            let format = binder.known_text(c.name, &rest[0], "the format")?;
            time::check_format(&clock, &format).map_err(|message| c.refused(message))?;
            Ok((time::strftime(clock, format.clone()), DataType::Utf8View, format))
        })
    }

    /// A duration in whole units.
    pub(crate) fn total(&mut self, c: &Call<'_>, unit: i64) -> Result<Term, Error> {
        let [term] = self.terms_of(c)?;
        let node = self.settled(term)?;
        let data_type = self.type_of(node).clone();
        if data_type == DataType::Null {
            return self.promoted(node, &DataType::Int64).map(Term::Node);
        }
        if data_type != DURATION {
            return Err(type_error(c.name, &[&data_type], "it takes durations; subtract two instants first"));
        }
        self.whole(c.name, time::count_of(unit, false), vec![node], DataType::Int64, "").map(Term::Node)
    }

    pub(super) fn clock(&self, name: &str, needs: Needs, data_type: &DataType) -> Result<Clock, Error> {
        let parameter = |message| Error::Parameter { function: name.to_owned(), message };
        let fits = |clock| match (&clock, needs) {
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
                Err(wrong("the step must be positive".to_owned()))
            };
        }
        let every = self.known_text(name, term, "the step")?;
        let period = Period::parse(&every).map_err(wrong)?;
        let step = period.as_step().ok_or_else(|| {
            wrong(format!(
                "\"{every}\" is not a valid step: it must be positive, in months or in shorter units but not both"
            ))
        })?;
        Ok((step, every))
    }

    /// An instant as a count of units since 1970.
    pub(crate) fn epoch(&mut self, c: &Call<'_>) -> Result<Term, Error> {
        let (node, data_type, rest) = self.instant(c)?;
        let Some(data_type) = data_type else { return Ok(Term::Node(node)) };
        let unit = rest.first().map(|unit| self.known_text(c.name, unit, "the unit")).transpose()?;
        let length = match unit.as_deref().unwrap_or("us") {
            "ns" => 1,
            "us" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "d" => DAY,
            other => return Err(c.refused(format!("\"{other}\" is no unit; choose among ns us ms s d"))),
        };
        if !matches!(data_type, DataType::Timestamp(_, _)) {
            return Err(type_error(
                c.name,
                &[&data_type],
                "it takes instants; cast first, e.g. .cast(Datetime(\"ns\"))",
            ));
        }
        let kernel = time::count_of(length, true);
        self.whole(&format!("{} {length}", c.name), kernel, vec![node], DataType::Int64, "").map(Term::Node)
    }

    /// The instants of a column in another zone: the instants stay, or what their clocks show does.
    pub(crate) fn in_zone(&mut self, c: &Call<'_>, clocks_stay: bool) -> Result<Term, Error> {
        let (node, data_type, rest) = self.instant(c)?;
        let Some(data_type) = data_type else { return Ok(Term::Node(node)) };
        let DataType::Timestamp(_, from) = &data_type else {
            return Err(type_error(c.name, &[&data_type], "it takes instants"));
        };
        let to = match &rest[0] {
            Term::Literal(Literal::Null) => None,
            term => Some(zone_name(&self.known_text(c.name, term, "the zone")?)),
        };
        let zone = zone_of(to.as_ref()).map_err(|message| c.refused(message))?;
        let output = time::timestamp(to);
        if !clocks_stay {
            return self.lane(LaneOp::Same(Kind::I64), vec![node], output).map(Term::Node);
        }
        let from = zone_of(from.as_ref()).map_err(|message| c.refused(message))?;
        let kernel = time::replace_zone(from, zone, output.clone());
        self.whole(&format!("{} of {data_type}", c.name), kernel, vec![node], output, &c.text()).map(Term::Node)
    }

    /// A node that a clock can be read of, its type, and the other arguments; no type for nulls alone.
    fn instant(&mut self, c: &Call<'_>) -> Result<(usize, Option<DataType>, Vec<Term>), Error> {
        let mut terms = self.terms(c.args)?;
        let rest = terms.split_off(1);
        let node = self.settled(terms.remove(0))?;
        let data_type = self.type_of(node).clone();
        if data_type == DataType::Null {
            return Ok((self.promoted(node, &DataType::Int64)?, None, rest));
        }
        self.clock(c.name, Needs::Instant, &data_type)?;
        Ok((node, Some(data_type), rest))
    }

    /// Casts between dates, times of day and instants, which follow the zone's clock.
    pub(super) fn cast_time(
        &mut self,
        node: usize,
        to: &DataType,
        strict: bool,
        text: &dyn Fn() -> Arc<str>,
    ) -> Result<Option<usize>, Error> {
        let from = self.type_of(node).clone();
        let wrong = |message| Error::Parameter { function: "cast".to_owned(), message };
        let key = format!("cast {strict} of {from}");
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
                let kernel = time::midnight(zone_of(zone.as_ref()).map_err(wrong)?, to.clone(), strict);
                Some(self.whole(&key, kernel, vec![node], to.clone(), &text())?)
            }
            _ => None,
        })
    }
}

/// What a function needs of a column of time.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Needs {
    Any,
    Date,
    Time,
    Instant,
}
