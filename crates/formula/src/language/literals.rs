//! Literals in single quotes: a character, a date, a time, an instant, a duration, a zone.

use jiff::civil;

use crate::eval::functions::period::{Length, length};
use crate::eval::functions::zone::{zone_name, zone_of};
use crate::tree::literal::Literal;

/// What a quoted word means.
pub(crate) enum Meaning {
    Literal(Literal),
    /// Calendar time, as [`crate::eval::functions::period::Period`] reads it.
    Period(String),
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
        return Ok(match length(text)? {
            Length::Exact(ns) => Meaning::Literal(Literal::Duration(ns)),
            Length::Calendar(period) => Meaning::Period(period),
        });
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
