//! What stands between single quotes: a character, a date, a time, an instant, a duration, a zone.

use std::sync::Arc;

use jiff::civil;

use crate::eval::functions::civil::DAY;
use crate::eval::functions::zone::zone_of;
use crate::tree::literal::Literal;

/// What a quoted word means.
pub(crate) enum Meaning {
    Literal(Literal),
    /// Calendar time, as [`crate::eval::functions::period::Period`] reads it.
    Period(String),
}

/// Short names of zones, as they are used on trading floors.
const ALIASES: &[(&str, &str)] = &[
    ("ET", "America/New_York"),
    ("EST", "America/New_York"),
    ("EDT", "America/New_York"),
    ("NY", "America/New_York"),
    ("CT", "America/Chicago"),
    ("CST", "America/Chicago"),
    ("MT", "America/Denver"),
    ("MST", "America/Denver"),
    ("PT", "America/Los_Angeles"),
    ("PST", "America/Los_Angeles"),
    ("LON", "Europe/London"),
    ("BT", "Europe/London"),
    ("CE", "Europe/Berlin"),
    ("CET", "Europe/Berlin"),
    ("JP", "Asia/Tokyo"),
    ("KR", "Asia/Seoul"),
    ("HK", "Asia/Hong_Kong"),
    ("SG", "Asia/Singapore"),
    ("IN", "Asia/Kolkata"),
    ("SY", "Australia/Sydney"),
    ("UTC", "UTC"),
    ("GMT", "UTC"),
    ("Z", "UTC"),
];

/// The zone's full name.
pub(crate) fn zone_name(name: &str) -> Arc<str> {
    ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, zone)| zone).into()
}

/// Reads a quoted word; an error says what it might be.
pub(crate) fn meaning(text: &str) -> Result<Meaning, String> {
    let mut characters = text.chars();
    if characters.next().is_some() && characters.next().is_none() {
        return Ok(Meaning::Literal(Literal::Str(text.into())));
    }
    let literal = if text.len() > 10 && text.as_bytes()[10] == b'T' {
        Some(instant(text)?)
    } else if let Ok(date) = text.parse::<civil::Date>()
        && text.len() == 10
    {
        Some(Literal::Date(days(date)))
    } else if let Some(time) = time(text) {
        Some(time)
    } else if text.strip_prefix('-').unwrap_or(text).starts_with('P') && text.len() > 2 && text != "PST" {
        return length(text);
    } else {
        let zone = zone_name(text);
        zone_of(Some(&zone)).is_ok().then_some(Literal::Str(zone))
    };
    literal.map(Meaning::Literal).ok_or_else(|| {
        format!(
            "'{text}' is no character, date, time, instant, duration or zone; write '2025-01-31', '14:30:00', \
             '2025-01-31T14:30:00 ET', 'PT5M', or a string as `{text}`"
        )
    })
}

fn days(date: civil::Date) -> i32 {
    crate::eval::functions::civil::days_to(date.year().into(), date.month().into(), date.day().into()) as i32
}

/// Nanoseconds since midnight: hours, minutes, and seconds that may be left out.
fn time(text: &str) -> Option<Literal> {
    let bytes = text.as_bytes();
    let shaped = bytes.len() >= 5
        && bytes[2] == b':'
        && bytes.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.'));
    let time: civil::Time = if shaped { text.parse().ok()? } else { return None };
    Some(Literal::Time(nanoseconds(time)))
}

fn nanoseconds(time: civil::Time) -> i64 {
    let seconds = i64::from(time.hour()) * 3_600 + i64::from(time.minute()) * 60 + i64::from(time.second());
    seconds * 1_000_000_000 + i64::from(time.subsec_nanosecond())
}

/// Date, time and zone: `2025-01-23T15:21:48 ET`, `…Z`, `… Europe/Paris`, `…+05:30`.
fn instant(text: &str) -> Result<Literal, String> {
    let wrong = || format!("'{text}' is no instant; write it as '2025-01-31T14:30:00 ET' or with Z at the end");
    let end = text[11..]
        .find(|character: char| !character.is_ascii_digit() && !matches!(character, ':' | '.'))
        .map(|length| 11 + length)
        .ok_or_else(|| format!("'{text}' has no zone; write it as '{text} ET' or '{text}Z'"))?;
    let local: civil::DateTime = text[..end].parse().map_err(|_| wrong())?;
    let name = text[end..].trim();
    let zone = zone_of(Some(&zone_name(name))).map_err(|message| format!("'{text}': {message}"))?;
    let ambiguous = zone.to_ambiguous_timestamp(local);
    let instant = ambiguous.compatible().map_err(|_| wrong())?;
    let ns = i64::try_from(instant.as_nanosecond())
        .map_err(|_| format!("'{text}' is outside the range of instants, 1677-09-21 to 2262-04-11"))?;
    Ok(Literal::Timestamp { ns, zone: Some("UTC".into()) })
}

/// An ISO 8601 duration: exact with hours, minutes, seconds; calendar time with years, months, weeks, days alone.
pub(crate) fn length(text: &str) -> Result<Meaning, String> {
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
        return Ok(Meaning::Literal(Literal::Duration(if sign.is_empty() {
            ns
        } else {
            ns.checked_neg().ok_or_else(wrong)?
        })));
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
    crate::eval::functions::period::Period::parse(&period).map_err(|_| wrong())?;
    Ok(Meaning::Period(period))
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
        None => match crate::eval::functions::period::Period::parse(rest).ok()? {
            crate::eval::functions::period::Period { months: 0, days, ns } => days.checked_mul(DAY)?.checked_add(ns)?,
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

    fn literal(text: &str) -> Literal {
        match meaning(text) {
            Ok(Meaning::Literal(literal)) => literal,
            Ok(Meaning::Period(period)) => panic!("{text} is the period {period}"),
            Err(message) => panic!("{message}"),
        }
    }

    #[test]
    fn quoted_words() {
        assert_eq!(literal("A"), Literal::from("A"));
        assert_eq!(literal("é"), Literal::from("é"));
        assert_eq!(literal("1970-01-02"), Literal::Date(1));
        assert_eq!(literal("00:00:01"), Literal::Time(1_000_000_000));
        assert_eq!(literal("14:30"), Literal::Time(52_200_000_000_000));
        assert_eq!(literal("14:30:00.12345"), Literal::Time(52_200_123_450_000));
        assert_eq!(literal("ET"), Literal::from("America/New_York"));
        assert_eq!(literal("Europe/Paris"), Literal::from("Europe/Paris"));
        assert_eq!(literal("PT5H2M1.2S"), Literal::Duration(18_121_200_000_000));
        assert_eq!(literal("-PT1S"), Literal::Duration(-1_000_000_000));
        assert_eq!(literal("P1DT1H"), Literal::Duration(90_000_000_000_000));
        assert!(matches!(meaning("P1Y4M5D"), Ok(Meaning::Period(period)) if period == "1y4mo5d"));
        assert!(matches!(meaning("-P2W"), Ok(Meaning::Period(period)) if period == "-2w"));
    }

    #[test]
    fn instants_take_zones() {
        let ns = |text| match literal(text) {
            Literal::Timestamp { ns, .. } => ns,
            other => panic!("{other:?}"),
        };
        assert_eq!(ns("1970-01-01T00:00:01Z"), 1_000_000_000);
        assert_eq!(ns("1970-01-01T00:00:00 ET"), 5 * 3_600_000_000_000);
        assert_eq!(ns("1970-01-01T00:00:00 America/New_York"), 5 * 3_600_000_000_000);
        assert_eq!(ns("1970-01-01T00:00:00.000000001+01:00"), 1 - 3_600_000_000_000);
        assert_eq!(ns("1969-12-31T23:59:59.999999999 UTC"), -1);
    }

    #[test]
    fn what_is_neither_says_what_there_is() {
        for wrong in [
            "abc",
            "2025-13-01",
            "25:00:00",
            "2025-01-01T00:00:00",
            "2025-01-01T00:00:00 Mars",
            "P1D2",
            "P1",
            "PTH",
            "P1.5D",
            "PT99999999999999999H",
            "3000-01-01T00:00:00Z",
            "P99999999999999999999Y",
        ] {
            let Err(message) = meaning(wrong) else { panic!("{wrong} has a meaning") };
            assert!(message.contains(wrong), "{message}");
        }
    }
}
