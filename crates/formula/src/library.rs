//! The functions, constants and types that formulas know by name: a closed list.
//!
//! `x.f(a)` is `f(x, a)`. A function either is one of [`Function`], or is written out in terms of them.

use arrow_schema::{DataType, TimeUnit};

use crate::expr::Expr;
use crate::function::{Closed, Function, Text, Time};
use crate::literal::Literal;
use crate::types::DURATION;
use crate::{chance, vectors};

/// A function by its name, with the least and the greatest number of its arguments.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    least: usize,
    most: usize,
    make: Make,
}

enum Make {
    Call(Function),
    Write(fn(Vec<Expr>) -> Result<Expr, String>),
}

const MANY: usize = usize::MAX;

impl Entry {
    /// The call with these arguments, or what is wrong with them.
    pub(crate) fn make(&self, args: Vec<Expr>) -> Result<Expr, String> {
        if args.len() < self.least || args.len() > self.most {
            return Err(format!("{} takes {}, not {}", self.name, self.takes(), args.len()));
        }
        match self.make {
            Make::Call(function) => Ok(call(function, args)),
            Make::Write(write) => write(args),
        }
    }

    fn takes(&self) -> String {
        let arguments = |count: usize| if count == 1 { "1 argument".to_owned() } else { format!("{count} arguments") };
        match (self.least, self.most) {
            (least, most) if least == most => arguments(least),
            (least, MANY) => format!("at least {}", arguments(least)),
            (least, most) => format!("{least} to {}", arguments(most)),
        }
    }
}

/// The function called `name`.
pub(crate) fn function(name: &str) -> Option<&'static Entry> {
    LIBRARY.iter().find(|entry| entry.name == name)
}

/// All names of functions that formulas know.
pub fn names<'a>() -> impl Iterator<Item = &'a str> {
    LIBRARY
        .iter()
        .map(|entry| -> &'a str { entry.name })
        .chain(vectors::names())
        .chain(chance::names())
        .chain(["cast", "col"])
}

fn call(function: Function, args: Vec<Expr>) -> Expr {
    Expr::Call { function, args }
}

fn one(function: Function, arg: Expr) -> Expr {
    call(function, vec![arg])
}

fn two(function: Function, a: Expr, b: Expr) -> Expr {
    Expr::joined(function, vec![a, b])
}

fn int(value: i64) -> Expr {
    Expr::literal(value)
}

fn cast(input: Expr, to: DataType) -> Expr {
    Expr::Cast { input: std::sync::Arc::new(input), to, strict: true }
}

fn choice(condition: Expr, then: Expr, otherwise: Expr) -> Expr {
    Expr::When { branches: vec![(condition, then)], otherwise: Some(std::sync::Arc::new(otherwise)) }
}

fn take<const N: usize>(args: Vec<Expr>) -> [Expr; N] {
    args.try_into().unwrap_or_else(|_| unreachable!("the number of arguments was checked"))
}

fn with<const N: usize>(args: Vec<Expr>, write: impl FnOnce([Expr; N]) -> Expr) -> Result<Expr, String> {
    Ok(write(take(args)))
}

/// A function of an instant, on the clock of the zone that may be the last argument.
fn on_clock(mut args: Vec<Expr>) -> Expr {
    match args.pop() {
        Some(zone) if !args.is_empty() => call(Function::Time(Time::ConvertTimeZone), vec![args.remove(0), zone]),
        Some(instant) => instant,
        None => unreachable!("the number of arguments was checked"),
    }
}

fn clock_part(part: Time, args: Vec<Expr>) -> Result<Expr, String> {
    Ok(one(Function::Time(part), on_clock(args)))
}

/// A part of the second as a part of something shorter.
fn within(part: Time, args: Vec<Expr>, length: i64) -> Result<Expr, String> {
    Ok(two(Function::Modulo, clock_part(part, args)?, int(length)))
}

/// Hours, minutes, … of the day in one unit.
fn of_day(args: Vec<Expr>, parts: &[(Time, i64)]) -> Result<Expr, String> {
    let instant = on_clock(args);
    let term = |part: &(Time, i64)| {
        let value = one(Function::Time(part.0), instant.clone());
        if part.1 == 1 { value } else { two(Function::Multiply, value, int(part.1)) }
    };
    Ok(Expr::joined(Function::Add, parts.iter().map(term).collect()))
}

/// The time from the first instant to the second, whole in a unit.
fn difference(args: Vec<Expr>, unit: Time) -> Expr {
    let [from, to] = take(args);
    one(Function::Time(unit), two(Function::Subtract, to, from))
}

/// The same as a Float64 of a unit of so many nanoseconds.
fn fraction(args: Vec<Expr>, unit: f64) -> Result<Expr, String> {
    Ok(two(Function::Divide, difference(args, Time::TotalNanoseconds), Expr::literal(unit)))
}

fn since_epoch(args: Vec<Expr>, unit: &str) -> Result<Expr, String> {
    let [instant] = take(args);
    Ok(two(Function::Time(Time::Epoch), instant, Expr::literal(unit)))
}

fn from_epoch(args: Vec<Expr>, unit: TimeUnit) -> Result<Expr, String> {
    let [count] = take(args);
    Ok(cast(count, DataType::Timestamp(unit, Some("UTC".into()))))
}

/// Time plus or minus a duration, which may be a whole number of nanoseconds.
fn moved(function: Function, args: Vec<Expr>) -> Result<Expr, String> {
    let [time, by] = take(args);
    let by = match by {
        Expr::Literal(Literal::Duration(_)) => by,
        other => cast(other, DURATION),
    };
    Ok(two(function, time, by))
}

/// A regular expression that must match the whole text.
fn whole_match(args: Vec<Expr>) -> Result<Expr, String> {
    let [text, pattern] = take(args);
    match pattern {
        Expr::Literal(Literal::Str(pattern)) => {
            let pattern = Expr::literal(&*format!("^(?:{pattern})$"));
            Ok(two(Function::Text(Text::Contains { literal: false }), text, pattern))
        }
        _ => Err("matches takes a pattern that is a string, not a column".to_owned()),
    }
}

/// From one position to before another, which may be left out.
fn substring(args: Vec<Expr>) -> Result<Expr, String> {
    let slice = Function::Text(Text::Slice);
    if args.len() == 2 {
        return Ok(call(slice, args));
    }
    let [text, from, to] = take(args);
    let length = match (&from, &to) {
        (Expr::Literal(Literal::Int(from)), Expr::Literal(Literal::Int(to))) => int(to.saturating_sub(*from)),
        _ => two(Function::Subtract, to, from.clone()),
    };
    Ok(call(slice, vec![text, from, length]))
}

/// The date of the step, of UTC or of a zone.
fn today(zone: Vec<Expr>) -> Result<Expr, String> {
    let args: Vec<Expr> = std::iter::once(call(Function::Now, vec![])).chain(zone).collect();
    Ok(one(Function::Time(Time::Date), on_clock(args)))
}

fn lower_case(text: Expr) -> Expr {
    one(Function::Text(Text::ToLowercase), text)
}

/// In which the value stands where a test holds, else the replacement.
fn unless(test: Function, args: Vec<Expr>) -> Result<Expr, String> {
    let [value, replacement] = take(args);
    Ok(choice(one(test, value.clone()), value, replacement))
}

const LIBRARY: &[Entry] = {
    use Make::{Call, Write};
    const fn entry(name: &'static str, least: usize, most: usize, make: Make) -> Entry {
        Entry { name, least, most, make }
    }
    const fn same(name: &'static str, count: usize, function: Function) -> Entry {
        Entry { name, least: count, most: count, make: Call(function) }
    }
    const fn text(name: &'static str, count: usize, function: Text) -> Entry {
        same(name, count, Function::Text(function))
    }
    &[
        // The clock.
        same("now", 0, Function::Now),
        entry("today", 0, 1, Write(today)),
        // Numbers.
        same("abs", 1, Function::Abs),
        same("signum", 1, Function::Sign),
        same("sign", 1, Function::Sign),
        same("sqrt", 1, Function::Sqrt),
        same("cbrt", 1, Function::Cbrt),
        same("exp", 1, Function::Exp),
        entry("log", 1, 2, Call(Function::Log)),
        same("log10", 1, Function::Log10),
        same("log1p", 1, Function::Log1p),
        same("pow", 2, Function::Power),
        entry("round", 1, 2, Call(Function::Round)),
        same("rint", 1, Function::Round),
        same("floor", 1, Function::Floor),
        same("ceil", 1, Function::Ceil),
        same("clamp", 3, Function::Clip),
        same("sin", 1, Function::Sin),
        same("cos", 1, Function::Cos),
        same("tan", 1, Function::Tan),
        same("asin", 1, Function::Arcsin),
        same("acos", 1, Function::Arccos),
        same("atan", 1, Function::Arctan),
        same("atan2", 2, Function::Arctan2),
        same("sinh", 1, Function::Sinh),
        same("cosh", 1, Function::Cosh),
        same("tanh", 1, Function::Tanh),
        same("toDegrees", 1, Function::Degrees),
        same("toRadians", 1, Function::Radians),
        entry("min", 2, MANY, Call(Function::MinHorizontal)),
        entry("max", 2, MANY, Call(Function::MaxHorizontal)),
        entry("lowerBin", 2, 3, Call(Function::Bin { upper: false })),
        entry("upperBin", 2, 3, Call(Function::Bin { upper: true })),
        // Logic, nulls, NaN.
        same("not", 1, Function::Not),
        entry("ifelse", 3, 3, Write(|args| with(args, |[c, a, b]| choice(c, a, b)))),
        same("inRange", 3, Function::IsBetween { closed: Closed::Both }),
        same("isNull", 1, Function::IsNull),
        same("isNaN", 1, Function::IsNan),
        same("isInf", 1, Function::IsInfinite),
        same("isFinite", 1, Function::IsFinite),
        entry(
            "isNormal",
            1,
            1,
            Write(|mut args| {
                args = vec![call(Function::IsFinite, args), Expr::literal(false)];
                Ok(call(Function::FillNull, args))
            }),
        ),
        same("replaceIfNull", 2, Function::FillNull),
        same("replaceIfNaN", 2, Function::FillNan),
        entry(
            "replaceIfNullNaN",
            2,
            2,
            Write(|args| {
                with(args, |[value, other]| {
                    two(Function::FillNull, two(Function::FillNan, value, other.clone()), other)
                })
            }),
        ),
        entry("replaceIfNonFinite", 2, 2, Write(|args| unless(Function::IsFinite, args))),
        entry("coalesce", 1, MANY, Call(Function::Coalesce)),
        same("fill_null", 2, Function::FillNull),
        same("fill_nan", 2, Function::FillNan),
        // Strings.
        text("length", 1, Text::LenChars),
        text("len", 1, Text::LenChars),
        text("upper", 1, Text::ToUppercase),
        text("toUpperCase", 1, Text::ToUppercase),
        text("lower", 1, Text::ToLowercase),
        text("toLowerCase", 1, Text::ToLowercase),
        entry("trim", 1, 2, Call(Function::Text(Text::StripChars))),
        entry("substring", 2, 3, Write(substring)),
        text("startsWith", 2, Text::StartsWith),
        text("endsWith", 2, Text::EndsWith),
        text("contains", 2, Text::Contains { literal: true }),
        entry("matches", 2, 2, Write(whole_match)),
        text("replace", 3, Text::ReplaceAll { literal: true }),
        text("replaceAll", 3, Text::ReplaceAll { literal: false }),
        text("replaceFirst", 3, Text::Replace { literal: false }),
        entry("concat", 2, MANY, Write(|args| Ok(Expr::joined(Function::Add, args)))),
        entry("padStart", 2, 3, Call(Function::Text(Text::PadStart))),
        entry("padEnd", 2, 3, Call(Function::Text(Text::PadEnd))),
        entry("pad", 2, 3, Call(Function::Text(Text::PadEnd))),
        text("indexOf", 2, Text::IndexOf),
        text("split", 2, Text::Split),
        text("reverse", 1, Text::Reverse),
        entry(
            "charAt",
            2,
            2,
            Write(|args| with(args, |[text, at]| call(Function::Text(Text::Slice), vec![text, at, int(1)]))),
        ),
        entry(
            "isEmpty",
            1,
            1,
            Write(|args| with(args, |[text]| two(Function::Equal, one(Function::Text(Text::LenBytes), text), int(0)))),
        ),
        same("equals", 2, Function::Equal),
        entry(
            "equalsIgnoreCase",
            2,
            2,
            Write(|args| with(args, |[a, b]| two(Function::Equal, lower_case(a), lower_case(b)))),
        ),
        entry("parseInt", 1, 1, Write(|args| with(args, |[text]| cast(text, DataType::Int32)))),
        entry("parseLong", 1, 1, Write(|args| with(args, |[text]| cast(text, DataType::Int64)))),
        entry("parseDouble", 1, 1, Write(|args| with(args, |[text]| cast(text, DataType::Float64)))),
        entry("parseFloat", 1, 1, Write(|args| with(args, |[text]| cast(text, DataType::Float32)))),
        entry("parseBoolean", 1, 1, Write(|args| with(args, |[text]| cast(text, DataType::Boolean)))),
        entry("parseLocalTime", 1, 1, Write(|args| with(args, |[text]| cast(text, crate::types::TIME)))),
        entry("parseInstant", 1, 2, Call(Function::Text(Text::ToDatetime { strict: true }))),
        entry("parseLocalDate", 1, 2, Call(Function::Text(Text::ToDate { strict: true }))),
        // Parts of time.
        entry("year", 1, 2, Write(|args| clock_part(Time::Year, args))),
        entry("quarter", 1, 2, Write(|args| clock_part(Time::Quarter, args))),
        entry("monthOfYear", 1, 2, Write(|args| clock_part(Time::Month, args))),
        entry("weekOfYear", 1, 2, Write(|args| clock_part(Time::Week, args))),
        entry("dayOfMonth", 1, 2, Write(|args| clock_part(Time::Day, args))),
        entry("dayOfWeek", 1, 2, Write(|args| clock_part(Time::Weekday, args))),
        entry("dayOfWeekValue", 1, 2, Write(|args| clock_part(Time::Weekday, args))),
        entry("dayOfYear", 1, 2, Write(|args| clock_part(Time::OrdinalDay, args))),
        entry("hourOfDay", 1, 2, Write(|args| clock_part(Time::Hour, args))),
        entry("minuteOfHour", 1, 2, Write(|args| clock_part(Time::Minute, args))),
        entry("secondOfMinute", 1, 2, Write(|args| clock_part(Time::Second, args))),
        entry("millisOfSecond", 1, 2, Write(|args| clock_part(Time::Millisecond, args))),
        entry("microsOfSecond", 1, 2, Write(|args| clock_part(Time::Microsecond, args))),
        entry("nanosOfSecond", 1, 2, Write(|args| clock_part(Time::Nanosecond, args))),
        entry("microsOfMilli", 1, 2, Write(|args| within(Time::Microsecond, args, 1_000))),
        entry("nanosOfMilli", 1, 2, Write(|args| within(Time::Nanosecond, args, 1_000_000))),
        entry("minuteOfDay", 1, 2, Write(|args| of_day(args, &[(Time::Hour, 60), (Time::Minute, 1)]))),
        entry(
            "secondOfDay",
            1,
            2,
            Write(|args| of_day(args, &[(Time::Hour, 3_600), (Time::Minute, 60), (Time::Second, 1)])),
        ),
        entry(
            "millisOfDay",
            1,
            2,
            Write(|args| {
                let parts =
                    [(Time::Hour, 3_600_000), (Time::Minute, 60_000), (Time::Second, 1_000), (Time::Millisecond, 1)];
                of_day(args, &parts)
            }),
        ),
        entry(
            "nanosOfDay",
            1,
            2,
            Write(|args| {
                let parts = [
                    (Time::Hour, 3_600_000_000_000),
                    (Time::Minute, 60_000_000_000),
                    (Time::Second, 1_000_000_000),
                    (Time::Nanosecond, 1),
                ];
                of_day(args, &parts)
            }),
        ),
        entry(
            "atMidnight",
            1,
            2,
            Write(|args| Ok(two(Function::Time(Time::Truncate), on_clock(args), Expr::literal("1d")))),
        ),
        // Arithmetic of time.
        entry("plus", 2, 2, Write(|args| moved(Function::Add, args))),
        entry("minus", 2, 2, Write(|args| moved(Function::Subtract, args))),
        entry("diffNanos", 2, 2, Write(|args| Ok(difference(args, Time::TotalNanoseconds)))),
        entry("diffMicros", 2, 2, Write(|args| Ok(difference(args, Time::TotalMicroseconds)))),
        entry("diffMillis", 2, 2, Write(|args| Ok(difference(args, Time::TotalMilliseconds)))),
        entry("diffSeconds", 2, 2, Write(|args| fraction(args, 1e9))),
        entry("diffMinutes", 2, 2, Write(|args| fraction(args, 6e10))),
        entry("diffHours", 2, 2, Write(|args| fraction(args, 3.6e12))),
        entry("diffDays", 2, 2, Write(|args| fraction(args, 8.64e13))),
        entry("diffYears365", 2, 2, Write(|args| fraction(args, 365.0 * 8.64e13))),
        entry("diffYearsAvg", 2, 2, Write(|args| fraction(args, 365.2425 * 8.64e13))),
        same("isBefore", 2, Function::Less),
        same("isBeforeOrEqual", 2, Function::LessEqual),
        same("isAfter", 2, Function::Greater),
        same("isAfterOrEqual", 2, Function::GreaterEqual),
        entry("epochNanos", 1, 1, Write(|args| since_epoch(args, "ns"))),
        entry("epochMicros", 1, 1, Write(|args| since_epoch(args, "us"))),
        entry("epochMillis", 1, 1, Write(|args| since_epoch(args, "ms"))),
        entry("epochSeconds", 1, 1, Write(|args| since_epoch(args, "s"))),
        entry("epochDays", 1, 1, Write(|args| since_epoch(args, "d"))),
        entry("epochNanosToInstant", 1, 1, Write(|args| from_epoch(args, TimeUnit::Nanosecond))),
        entry("epochMicrosToInstant", 1, 1, Write(|args| from_epoch(args, TimeUnit::Microsecond))),
        entry("epochMillisToInstant", 1, 1, Write(|args| from_epoch(args, TimeUnit::Millisecond))),
        entry("epochSecondsToInstant", 1, 1, Write(|args| from_epoch(args, TimeUnit::Second))),
        entry(
            "epochDaysToLocalDate",
            1,
            1,
            Write(|args| with(args, |[days]| cast(cast(days, DataType::Int32), DataType::Date32))),
        ),
        entry(
            "toInstant",
            2,
            2,
            Write(|args| {
                with(args, |[date, zone]| {
                    let local = cast(date, DataType::Timestamp(TimeUnit::Nanosecond, None));
                    two(Function::Time(Time::ReplaceTimeZone), local, zone)
                })
            }),
        ),
        entry("toZonedDateTime", 2, 2, Call(Function::Time(Time::ConvertTimeZone))),
        entry("toLocalDate", 1, 2, Write(|args| clock_part(Time::Date, args))),
        entry("toLocalTime", 1, 2, Write(|args| clock_part(Time::Time, args))),
        entry(
            "formatDateTime",
            1,
            2,
            Write(|args| {
                Ok(two(Function::Time(Time::Strftime), on_clock(args), Expr::literal("%Y-%m-%dT%H:%M:%S%.f %Z")))
            }),
        ),
        entry(
            "formatDate",
            1,
            2,
            Write(|args| Ok(two(Function::Time(Time::Strftime), on_clock(args), Expr::literal("%Y-%m-%d")))),
        ),
        same("strftime", 2, Function::Time(Time::Strftime)),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_take_their_own_arguments() {
        for (index, entry) in LIBRARY.iter().enumerate() {
            assert!(LIBRARY[..index].iter().all(|other| other.name != entry.name), "{} stands twice", entry.name);
            for count in entry.least..=entry.most.min(entry.least + 2) {
                let args = vec![Expr::literal("x"); count];
                assert!(entry.make(args).is_ok(), "{} of {count}", entry.name);
            }
            let many = entry.most.saturating_add(1).min(entry.least + 9);
            let wrong = if entry.least > 0 { 0 } else { many };
            let message = entry.make(vec![Expr::literal("x"); wrong]).unwrap_err();
            assert!(message.contains(entry.name) && message.contains(&format!("not {wrong}")), "{message}");
        }
    }
}
