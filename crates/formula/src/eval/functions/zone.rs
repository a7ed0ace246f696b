//! Time zones: the offset of an instant, looked up once for each run of instants between two changes.

use std::ops::RangeInclusive;
use std::sync::Arc;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, civil};

use super::civil::DAY;

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

/// A zone by its IANA name or as a fixed offset such as `+05:30`; none is wall-clock time.
pub(crate) fn zone_of(name: Option<&Arc<str>>) -> Result<TimeZone, String> {
    let Some(name) = name else { return Ok(TimeZone::UTC) };
    if matches!(&**name, "UTC" | "Z" | "Etc/UTC") {
        return Ok(TimeZone::UTC);
    }
    if name.starts_with(['+', '-']) {
        let seconds = fixed_offset(name).ok_or_else(|| format!("\"{name}\" is no offset; write it as \"+05:30\""))?;
        let offset = jiff::tz::Offset::from_seconds(seconds).map_err(|error| error.to_string())?;
        return Ok(TimeZone::fixed(offset));
    }
    TimeZone::get(name)
        .map_err(|_| format!("no time zone is called \"{name}\"; names are IANA's, such as \"Europe/Paris\", or short ones, such as \"ET\""))
}

fn fixed_offset(text: &str) -> Option<i32> {
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let digits: String = text[1..].chars().filter(|character| *character != ':').collect();
    if digits.len() != 4 && digits.len() != 2 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let hours: i32 = digits[..2].parse().ok()?;
    let minutes: i32 = if digits.len() == 4 { digits[2..].parse().ok()? } else { 0 };
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3_600 + minutes * 60))
}

/// Offsets of instants from UTC, in nanoseconds.
pub(crate) struct Offsets<'a> {
    zone: &'a TimeZone,
    /// The instants for which `offset` holds.
    run: RangeInclusive<i64>,
    offset: i64,
}

impl<'a> Offsets<'a> {
    pub(crate) fn new(zone: &'a TimeZone) -> Offsets<'a> {
        match zone.to_fixed_offset() {
            Ok(offset) => Offsets { zone, run: i64::MIN..=i64::MAX, offset: nanoseconds(offset) },
            Err(_) => Offsets { zone, run: RangeInclusive::new(1, 0), offset: 0 },
        }
    }

    /// The offset at an instant.
    #[inline]
    pub(crate) fn at(&mut self, ns: i64) -> i64 {
        if !self.run.contains(&ns) {
            self.look_up(ns);
        }
        self.offset
    }

    #[cold]
    fn look_up(&mut self, ns: i64) {
        let instant = instant(ns);
        self.offset = nanoseconds(self.zone.to_offset(instant));
        // `preceding` is strict: an instant that is itself a change is found one nanosecond later.
        let just_after = instant.checked_add(SignedDuration::from_nanos(1)).unwrap_or(instant);
        let from =
            self.zone.preceding(just_after).next().map_or(i128::MIN, |change| change.timestamp().as_nanosecond());
        let to = self.zone.following(instant).next().map_or(i128::MAX, |change| change.timestamp().as_nanosecond());
        let bound = |ns: i128| i64::try_from(ns).unwrap_or(if ns < 0 { i64::MIN } else { i64::MAX });
        self.run = bound(from)..=bound(to - 1);
    }

    /// Local days since 1970-01-01 and nanoseconds of the day.
    #[inline]
    pub(crate) fn local(&mut self, ns: i64) -> (i64, i64) {
        let offset = self.at(ns);
        let (days, rest) = (ns.div_euclid(DAY), ns.rem_euclid(DAY) + offset);
        (days + rest.div_euclid(DAY), rest.rem_euclid(DAY))
    }

    /// The instant of a local time: with the offset of `near` if that is right there; else a time that
    /// does not exist moves forward, and an ambiguous one takes the earlier offset. None beyond the range.
    pub(crate) fn instant_of(&mut self, days: i64, ns_of_day: i64, near: Option<i64>) -> Option<i64> {
        let local = i128::from(days) * i128::from(DAY) + i128::from(ns_of_day);
        let candidate = |offset: i64| i64::try_from(local - i128::from(offset)).ok();
        if let Some(near) = near {
            let offset = self.at(near);
            let candidate = candidate(offset);
            if candidate.is_some_and(|instant| self.at(instant) == offset) {
                return candidate;
            }
        }
        if let Ok(offset) = self.zone.to_fixed_offset() {
            return candidate(nanoseconds(offset));
        }
        let local = Timestamp::from_nanosecond(local).ok()?;
        let local: civil::DateTime = TimeZone::UTC.to_datetime(local);
        let instant = self.zone.to_ambiguous_timestamp(local).compatible().ok()?;
        i64::try_from(instant.as_nanosecond()).ok()
    }
}

/// As jiff has it; every Int64 of nanoseconds lies within jiff's range.
pub(crate) fn instant(ns: i64) -> Timestamp {
    Timestamp::from_nanosecond(i128::from(ns)).unwrap_or(Timestamp::UNIX_EPOCH)
}

fn nanoseconds(offset: jiff::tz::Offset) -> i64 {
    i64::from(offset.seconds()) * 1_000_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_change_with_the_zone() {
        let zone = zone_of(Some(&"America/New_York".into())).unwrap();
        let mut offsets = Offsets::new(&zone);
        let hour = 3_600_000_000_000;
        let spring = 1_362_898_800 * 1_000_000_000_i64; // 2013-03-10T07:00:00Z
        for (ns, hours) in [(spring - 1, -5), (spring, -4), (spring + 1, -4), (spring - 1, -5), (0, -5), (i64::MAX, -4)]
        {
            assert_eq!(offsets.at(ns), hours * hour, "{ns}");
        }
        assert!(offsets.at(i64::MIN) < -4 * hour);
    }

    #[test]
    fn gaps_move_forward_and_folds_take_the_earlier_offset() {
        let zone = zone_of(Some(&"America/New_York".into())).unwrap();
        let mut offsets = Offsets::new(&zone);
        let day = super::super::civil::days_to(2013, 3, 10);
        let half_past_two = offsets.instant_of(day, 9_000_000_000_000, None).unwrap();
        assert_eq!(instant(half_past_two).to_string(), "2013-03-10T07:30:00Z");
        let day = super::super::civil::days_to(2013, 11, 3);
        let half_past_one = offsets.instant_of(day, 5_400_000_000_000, None).unwrap();
        assert_eq!(instant(half_past_one).to_string(), "2013-11-03T05:30:00Z");
        assert_eq!(offsets.instant_of(i64::from(i32::MAX), 0, None), None);
    }

    #[test]
    fn fixed_offsets_and_unknown_names() {
        let zone = zone_of(Some(&"+05:30".into())).unwrap();
        assert_eq!(Offsets::new(&zone).at(0), 19_800_000_000_000);
        assert!(zone_of(Some(&"Mars/Base".into())).unwrap_err().contains("Mars/Base"));
        assert!(zone_of(Some(&"+5".into())).is_err());
    }
}
