//! Lengths of calendar time as text: `1h`, `15m`, `1mo`, `1d12h`, `-1w`.

use super::civil::DAY;

/// Months, days and nanoseconds; each counts in its own way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Period {
    pub(crate) months: i64,
    pub(crate) days: i64,
    pub(crate) ns: i64,
}

impl Period {
    /// Reads a length of time, the months and days of which are those of the calendar.
    pub(crate) fn parse(text: &str) -> Result<Period, String> {
        let period = Sums::read(text).and_then(|sums| {
            let exact = if sums.clock && sums.months == 0 { sums.days.checked_mul(DAY.into())? } else { 0 };
            let days = if sums.clock { 0 } else { sums.days };
            let one = |length: i128| i64::try_from(length).ok();
            Some(Period { months: one(sums.months)?, days: one(days)?, ns: one(sums.ns.checked_add(exact)?)? })
                .filter(|period| !(sums.clock && period.months != 0))
        });
        // Beyond what instants span, months and days only overflow.
        let most = 1 << 32;
        period.filter(|period| period.months.abs() <= most && period.days.abs() <= most).ok_or_else(|| {
            format!(
                "\"{text}\" is no length of time; write it as \"1h\", \"15m\", \"1d12h\" or \"1mo\" (units: y q mo w d h m s ms us ns)"
            )
        })
    }

    /// The one unit in which time is cut: months, or nanoseconds with days as 24 hours.
    pub(crate) fn as_step(&self) -> Option<Step> {
        match *self {
            Period { months, days: 0, ns: 0 } if months > 0 => Some(Step::Months(months)),
            Period { months: 0, days, ns } => {
                let length = days.checked_mul(DAY)?.checked_add(ns).filter(|length| *length > 0)?;
                Some(Step::Nanoseconds { length, weeks: ns == 0 && days % 7 == 0 })
            }
            _ => None,
        }
    }
}

/// A step by which time is truncated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Months(i64),
    /// `weeks`: whole weeks begin on Mondays.
    Nanoseconds {
        length: i64,
        weeks: bool,
    },
}

impl Step {
    /// Whether it is no longer than the hour by which clocks are set.
    pub(crate) fn is_short(self) -> bool {
        matches!(self, Step::Nanoseconds { length, .. } if length <= 3_600_000_000_000)
    }
}

/// What an ISO 8601 duration says.
pub(crate) enum Length {
    /// Nanoseconds.
    Exact(i64),
    /// Calendar time, as [`Period`] reads it.
    Calendar(String),
}

/// An ISO 8601 duration: exact with hours, minutes, seconds; calendar time with years, months, weeks, days alone.
pub(crate) fn length(text: &str) -> Result<Length, String> {
    let wrong = || format!("'{text}' is no duration; write it as 'PT5H2M1.2S' or 'P1Y4M5D'");
    let rest = text.strip_prefix('-').unwrap_or(text);
    let sums = Sums::read(text).filter(|_| rest.starts_with('P')).ok_or_else(wrong)?;
    if sums.clock {
        return sums.exact().and_then(|ns| i64::try_from(ns).ok()).map(Length::Exact).ok_or_else(wrong);
    }
    let (months, days) = (sums.months.unsigned_abs(), sums.days.unsigned_abs());
    let days = if days % 7 == 0 { (days / 7, "w") } else { (days, "d") };
    let parts = [(months / 12, "y"), (months % 12, "mo"), days];
    let parts = parts.iter().filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count}{unit}"));
    let shown: String = parts.collect();
    let sign = if rest.len() < text.len() { "-" } else { "" };
    let period = if shown.is_empty() { "0d".to_owned() } else { format!("{sign}{shown}") };
    Period::parse(&period).map_err(|_| wrong())?;
    Ok(Length::Calendar(period))
}

/// A duration as text has it: `PT5H2M1.2S`, `P1DT1H`, `P2D`, or `1h30m`.
pub(crate) fn duration(text: &str) -> Option<i64> {
    i64::try_from(span_of_time(text)?).ok()
}

/// The nanoseconds that a text says, of days of 24 hours; none if it is no length of time, or one of months.
pub fn span_of_time(text: &str) -> Option<i128> {
    Sums::read(text)?.exact()
}

/// What a text says, as far as it may be.
#[derive(Default)]
struct Sums {
    months: i128,
    days: i128,
    ns: i128,
    /// Whether hours, minutes or seconds of ISO 8601 stand in it: then a day is 24 hours.
    clock: bool,
}

#[derive(Clone, Copy)]
enum Unit {
    Months(i128),
    Days(i128),
    Nanoseconds(i128),
}

impl Sums {
    /// The one grammar of lengths of time, after a minus that stands for all: numbers with units, `1h30m`, `1.5s`; or
    /// ISO 8601, `P1DT2H`, in small letters too.
    fn read(text: &str) -> Option<Sums> {
        let (sign, rest) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
        let mut sums = Sums::default();
        let Some(rest) = rest.strip_prefix(['P', 'p']) else {
            sums.add(sign, rest, plain)?;
            return Some(sums);
        };
        let (date, clock) = match rest.split_once(['T', 't']) {
            Some((date, clock)) => (date, Some(clock)),
            None => (rest, None),
        };
        if !(date.is_empty() && clock.is_some()) {
            sums.add(sign, date, of_date)?;
        }
        if let Some(clock) = clock {
            sums.add(sign, clock, of_clock)?;
            sums.clock = true;
        }
        Some(sums)
    }

    fn add(&mut self, sign: i128, text: &str, unit: fn(&str) -> Option<(Unit, bool)>) -> Option<()> {
        let mut rest = text;
        loop {
            let (count, after) = rest.split_at(rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?);
            let after = after.trim_start_matches(' ');
            let (name, next) =
                after.split_at(after.find(|letter: char| !letter.is_alphabetic()).unwrap_or(after.len()));
            let (unit, divides) = unit(name)?;
            let (whole, part) = match count.split_once('.') {
                Some((_, part)) if part.is_empty() || part.len() > 18 || !divides => return None,
                Some(both) => both,
                None => (count, ""),
            };
            let whole = whole.parse::<i128>().ok()?.checked_mul(sign)?;
            let part = if part.is_empty() {
                (0, 1)
            } else {
                (sign * part.parse::<i128>().ok()?, 10_i128.pow(part.len() as u32))
            };
            let fraction = |of: i128| {
                let product = part.0.checked_mul(of)?;
                (product % part.1 == 0).then_some(product / part.1)
            };
            match unit {
                Unit::Months(each) => self.months = whole.checked_mul(each)?.checked_add(self.months)?,
                Unit::Days(each) => {
                    self.days = whole.checked_mul(each)?.checked_add(self.days)?;
                    self.ns = fraction(each.checked_mul(DAY.into())?)?.checked_add(self.ns)?;
                }
                Unit::Nanoseconds(each) => {
                    self.ns = whole.checked_mul(each)?.checked_add(fraction(each)?)?.checked_add(self.ns)?;
                }
            }
            rest = next.trim_start_matches(' ');
            match (next.is_empty(), rest.is_empty()) {
                (true, _) => return Some(()),
                (false, true) => return None,
                (false, false) => {}
            }
        }
    }

    fn exact(&self) -> Option<i128> {
        if self.months == 0 { self.days.checked_mul(DAY.into())?.checked_add(self.ns) } else { None }
    }
}

const SECOND: i128 = 1_000_000_000;

/// A unit by its name, and whether it may be divided.
fn plain(name: &str) -> Option<(Unit, bool)> {
    Some(match name {
        "y" => (Unit::Months(12), false),
        "q" => (Unit::Months(3), false),
        "mo" => (Unit::Months(1), false),
        "w" => (Unit::Days(7), true),
        "d" => (Unit::Days(1), true),
        "h" => (Unit::Nanoseconds(3600 * SECOND), true),
        "m" => (Unit::Nanoseconds(60 * SECOND), true),
        "s" => (Unit::Nanoseconds(SECOND), true),
        "ms" => (Unit::Nanoseconds(1_000_000), true),
        "us" | "µs" => (Unit::Nanoseconds(1_000), true),
        "ns" => (Unit::Nanoseconds(1), false),
        _ => return None,
    })
}

fn of_date(name: &str) -> Option<(Unit, bool)> {
    Some(match name {
        "Y" | "y" => (Unit::Months(12), false),
        "M" | "m" => (Unit::Months(1), false),
        "W" | "w" => (Unit::Days(7), false),
        "D" | "d" => (Unit::Days(1), false),
        _ => return None,
    })
}

fn of_clock(name: &str) -> Option<(Unit, bool)> {
    Some(match name {
        "H" | "h" => (Unit::Nanoseconds(3600 * SECOND), false),
        "M" | "m" => (Unit::Nanoseconds(60 * SECOND), false),
        "S" | "s" => (Unit::Nanoseconds(SECOND), true),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_read() {
        assert_eq!(Period::parse("1d12h").unwrap(), Period { months: 0, days: 1, ns: 43_200_000_000_000 });
        assert_eq!(Period::parse("-1y2mo").unwrap(), Period { months: -14, days: 0, ns: 0 });
        assert_eq!(Period::parse("5ms7us").unwrap().ns, 5_007_000);
        for wrong in ["", "-", "h", "1", "1x", "1h ", "99999999999999999999h", "9223372036854775807h", "1H"] {
            assert!(Period::parse(wrong).unwrap_err().contains("1mo"), "{wrong}");
        }
        assert_eq!(Period::parse("1h 30m").unwrap().ns, 5_400 * SECOND as i64);
        assert_eq!(Period::parse("P1DT1h").unwrap(), Period { months: 0, days: 0, ns: 25 * 3600 * SECOND as i64 });
        assert_eq!(Period::parse("1.5d").unwrap(), Period { months: 0, days: 1, ns: 12 * 3600 * SECOND as i64 });
        assert!(Period::parse("P1YT1H").is_err() && Period::parse("1.5mo").is_err() && Period::parse("0.5ns").is_err());
        for (text, ns) in
            [("PT1s", 1_000_000_000), ("2.5s", 2_500_000_000), ("-1 h", -3_600_000_000_000), ("3µs", 3_000)]
        {
            assert_eq!(span_of_time(text), Some(ns), "{text}");
        }
        assert_eq!(span_of_time("999999999999h"), Some(999_999_999_999 * 3600 * SECOND));
        assert_eq!(span_of_time("1mo"), None);
        assert_eq!(Period::parse("1mo1d").unwrap().as_step(), None);
        assert_eq!(Period::parse("0s").unwrap().as_step(), None);
        assert_eq!(Period::parse("2w").unwrap().as_step(), Some(Step::Nanoseconds { length: 14 * DAY, weeks: true }));
    }
}
