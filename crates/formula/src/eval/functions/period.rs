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
            let iso = if sign < 0 {
                crate::language::literals::length(text)
            } else {
                crate::language::literals::length(rest)
            };
            return match iso.map_err(|_| wrong())? {
                crate::language::literals::Meaning::Period(period) => Period::parse(&period),
                crate::language::literals::Meaning::Literal(crate::tree::literal::Literal::Duration(ns)) => {
                    Ok(Period { ns, ..Period::default() })
                }
                crate::language::literals::Meaning::Literal(_) => Err(wrong()),
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
