//! The proleptic Gregorian calendar in whole numbers: days since 1970-01-01 and what they are called.

/// Nanoseconds in a day.
pub(crate) const DAY: i64 = 86_400_000_000_000;

/// A day of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Day {
    pub(crate) year: i64,
    /// 1 to 12.
    pub(crate) month: i64,
    /// 1 to 31.
    pub(crate) day: i64,
}

/// The day that lies `days` after 1970-01-01.
#[inline]
pub(crate) fn day_of(days: i64) -> Day {
    // Where 32 bits suffice, Euclidean affine functions need no division (Neri and Schneider, 2022).
    const DAYS_OF_32_BITS: i64 = 500_000_000;
    if (-DAYS_OF_32_BITS..DAYS_OF_32_BITS).contains(&days) { day_nearby(days as i32) } else { day_far(days) }
}

#[inline]
fn day_nearby(days: i32) -> Day {
    const CYCLES: u32 = 3_670;
    let shifted = (days + 719_468 + 146_097 * CYCLES as i32) as u32;
    let (century, of_century) = ((4 * shifted + 3) / 146_097, (4 * shifted + 3) % 146_097 / 4);
    let product = 2_939_745 * u64::from(4 * of_century + 3);
    let (of_year, year_of_century) = ((product as u32) / 2_939_745 / 4, (product >> 32) as u32);
    let month = 2_141 * of_year + 197_913;
    let next_year = of_year >= 306;
    Day {
        year: i64::from(100 * century + year_of_century) - i64::from(400 * CYCLES) + i64::from(next_year),
        month: i64::from(month / 65_536) - if next_year { 12 } else { 0 },
        day: i64::from(month % 65_536 / 2_141) + 1,
    }
}

/// Years are counted from March, so that the leap day is the last of its year, in eras of 400 years.
#[cold]
fn day_far(days: i64) -> Day {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097) as u32;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = i64::from(year_of_era) + era * 400 + i64::from(month <= 2);
    Day { year, month: i64::from(month), day: i64::from(day) }
}

/// Days from 1970-01-01 to a day; month and day within their ranges.
#[inline]
pub fn days_to(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let shifted = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * shifted + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

pub(crate) fn is_leap(year: i64) -> bool {
    year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0)
}

pub(crate) fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// So many months later; the day is brought back to the end of a shorter month.
pub(crate) fn add_months(days: i64, months: i64) -> i64 {
    let Day { year, month, day } = day_of(days);
    let count = year * 12 + month - 1 + months;
    let (year, month) = (count.div_euclid(12), count.rem_euclid(12) + 1);
    days_to(year, month, day.min(days_in_month(year, month)))
}

/// 1 is Monday, 7 is Sunday.
#[inline]
pub(crate) fn weekday(days: i64) -> i64 {
    (days + 3).rem_euclid(7) + 1
}

/// The week by ISO 8601: a week belongs to the year of its Thursday.
pub(crate) fn iso_week(days: i64) -> i64 {
    let thursday = days + 4 - weekday(days);
    let year = day_of(thursday).year;
    (thursday - days_to(year, 1, 1)) / 7 + 1
}

/// The year of the week by ISO 8601.
pub(crate) fn iso_year(days: i64) -> i64 {
    day_of(days + 4 - weekday(days)).year
}

pub(crate) fn ordinal_day(days: i64) -> i64 {
    days - days_to(day_of(days).year, 1, 1) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_days_are_what_far_days_are() {
        let sparse = (-499_999_000..499_999_000).step_by(9_973);
        for days in sparse.chain(-1_000_000..-700_000).chain(-800..800).chain(10_000..20_000) {
            assert_eq!(day_nearby(days), day_far(days.into()), "{days}");
        }
        assert_eq!(day_nearby(-500_000_000), day_far(-500_000_000));
        assert_eq!(day_nearby(499_999_999), day_far(499_999_999));
    }

    #[test]
    fn days_and_names_are_inverse_and_agree_with_jiff() {
        let first = jiff::civil::date(1970, 1, 1);
        for days in (-4_000_000..2_900_000).step_by(997).chain(-1_000..1_000) {
            let Day { year, month, day } = day_of(days);
            assert_eq!(days_to(year, month, day), days);
            if (-9_000..9_000).contains(&year) {
                let date = jiff::civil::date(year as i16, month as i8, day as i8);
                assert_eq!(first.until(date).unwrap().get_days(), days as i32);
                assert_eq!(i64::from(date.weekday().to_monday_one_offset()), weekday(days));
                assert_eq!(i64::from(date.iso_week_date().week()), iso_week(days));
                assert_eq!(i64::from(date.iso_week_date().year()), iso_year(days));
                assert_eq!(i64::from(date.day_of_year()), ordinal_day(days));
                assert_eq!(i64::from(date.days_in_month()), days_in_month(year, month));
            }
        }
    }

    #[test]
    fn months_clamp_to_the_end() {
        let after = |year, month, day, months| day_of(add_months(days_to(year, month, day), months));
        assert_eq!(after(2024, 1, 31, 1), Day { year: 2024, month: 2, day: 29 });
        assert_eq!(after(2023, 3, 31, -1), Day { year: 2023, month: 2, day: 28 });
        assert_eq!(after(2023, 12, 15, 13), Day { year: 2025, month: 1, day: 15 });
    }
}
