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
    /// Reads a sequence of numbers with units y, q, mo, w, d, h, m, s, ms, us, ns; a minus stands for all.
    pub(crate) fn parse(text: &str) -> Result<Period, String> {
        let wrong = || {
            format!(
                "\"{text}\" is no length of time; write it as \"1h\", \"15m\", \"1d12h\" or \"1mo\" (units: y q mo w d h m s ms us ns)"
            )
        };
        let (sign, mut rest) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text),
        };
        let mut period = Period::default();
        if rest.starts_with('P') {
            let iso = if sign < 0 { length(text) } else { length(rest) };
            return match iso.map_err(|_| wrong())? {
                Length::Calendar(period) => Period::parse(&period),
                Length::Exact(ns) => Ok(Period { ns, ..Period::default() }),
            };
        }
        if rest.is_empty() {
            return Err(wrong());
        }
        while !rest.is_empty() {
            let digits = rest.find(|character: char| !character.is_ascii_digit()).ok_or_else(wrong)?;
            let count: i64 = rest[..digits].parse().map_err(|_| wrong())?;
            let letters =
                rest[digits..].find(|character: char| !character.is_ascii_lowercase()).unwrap_or(rest.len() - digits);
            let (field, factor) = match &rest[digits..digits + letters] {
                "y" => (&mut period.months, 12),
                "q" => (&mut period.months, 3),
                "mo" => (&mut period.months, 1),
                "w" => (&mut period.days, 7),
                "d" => (&mut period.days, 1),
                "h" => (&mut period.ns, 3_600_000_000_000),
                "m" => (&mut period.ns, 60_000_000_000),
                "s" => (&mut period.ns, 1_000_000_000),
                "ms" => (&mut period.ns, 1_000_000),
                "us" => (&mut period.ns, 1_000),
                "ns" => (&mut period.ns, 1),
                _ => return Err(wrong()),
            };
            let length = count.checked_mul(factor * sign).and_then(|length| field.checked_add(length));
            *field = length.ok_or_else(wrong)?;
            rest = &rest[digits + letters..];
        }
        // Beyond what instants span, months and days only overflow.
        let most = 1 << 32;
        if period.months.abs() > most || period.days.abs() > most { Err(wrong()) } else { Ok(period) }
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
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text),
    };
    let rest = rest.strip_prefix('P').ok_or_else(wrong)?;
    let (date, clock) = match rest.split_once('T') {
        Some((date, clock)) if !clock.is_empty() => (date, clock),
        None if !rest.is_empty() => (rest, ""),
        _ => return Err(wrong()),
    };
    if !clock.is_empty() {
        let ns = exact(date, clock).ok_or_else(wrong)?;
        return Ok(Length::Exact(if sign.is_empty() { ns } else { ns.checked_neg().ok_or_else(wrong)? }));
    }
    let mut period = String::from(sign);
    for (count, unit) in fields(date).ok_or_else(wrong)? {
        let unit = match unit {
            'Y' | 'y' => "y",
            'M' | 'm' => "mo",
            'W' | 'w' => "w",
            'D' | 'd' => "d",
            _ => return Err(wrong()),
        };
        period.push_str(&format!("{count}{unit}"));
    }
    Period::parse(&period).map_err(|_| wrong())?;
    Ok(Length::Calendar(period))
}

/// A duration as text has it: `PT5H2M1.2S`, `P1DT1H`, `P2D`, or `1h30m`.
pub(crate) fn duration(text: &str) -> Option<i64> {
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let ns = match rest.strip_prefix('P') {
        Some(rest) => {
            let (date, clock) = rest.split_once('T').unwrap_or((rest, ""));
            if date.is_empty() && clock.is_empty() {
                return None;
            }
            exact(date, clock)?
        }
        None if rest.starts_with('-') => return None,
        None => match Period::parse(rest).ok()? {
            Period { months: 0, days, ns } => days.checked_mul(DAY)?.checked_add(ns)?,
            _ => return None,
        },
    };
    if negative { ns.checked_neg() } else { Some(ns) }
}

fn fields(text: &str) -> Option<Vec<(&str, char)>> {
    let mut fields = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find(|character: char| !character.is_ascii_digit() && character != '.')?;
        if end == 0 {
            return None;
        }
        let unit = rest[end..].chars().next()?;
        fields.push((&rest[..end], unit));
        rest = &rest[end + unit.len_utf8()..];
    }
    Some(fields)
}

/// Days of 24 hours, hours, minutes and seconds with a fraction, as nanoseconds.
fn exact(date: &str, clock: &str) -> Option<i64> {
    let mut total: i64 = 0;
    for (count, unit) in fields(date)? {
        let length = match unit {
            'D' | 'd' => DAY,
            'W' | 'w' => 7 * DAY,
            _ => return None,
        };
        total = total.checked_add(count.parse::<i64>().ok()?.checked_mul(length)?)?;
    }
    for (count, unit) in fields(clock)? {
        let length = match unit {
            'H' | 'h' => 3_600_000_000_000,
            'M' | 'm' => 60_000_000_000,
            'S' | 's' => 1_000_000_000,
            _ => return None,
        };
        let (whole, fraction) = count.split_once('.').unwrap_or((count, ""));
        if !fraction.is_empty() && !matches!(unit, 'S' | 's') || fraction.len() > 9 {
            return None;
        }
        total = total.checked_add(whole.parse::<i64>().ok()?.checked_mul(length)?)?;
        if !fraction.is_empty() {
            let ns: i64 = format!("{fraction:0<9}").parse().ok()?;
            total = total.checked_add(ns)?;
        }
    }
    Some(total)
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
        assert_eq!(Period::parse("1mo1d").unwrap().as_step(), None);
        assert_eq!(Period::parse("0s").unwrap().as_step(), None);
        assert_eq!(Period::parse("2w").unwrap().as_step(), Some(Step::Nanoseconds { length: 14 * DAY, weeks: true }));
    }
}
