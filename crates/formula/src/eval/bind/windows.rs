//! Binding of windows of time.

use super::{Binder, Call, Needs, Term};
use crate::error::Error;
use crate::eval::functions::period::Period;
use crate::eval::functions::time::{Clock, truncate};
use crate::eval::functions::windows::{self, Windows};
use crate::tree::function::Closed;
use crate::tree::types::list_of;

/// The most windows that may hold one time.
const MOST_WINDOWS: u64 = 1 << 16;
/// Nanoseconds of a day.
const DAY: i64 = crate::eval::functions::civil::DAY;

impl Binder<'_> {
    /// Time, step, offset, closed ends: where the one window begins.
    pub(crate) fn window_start(&mut self, c: &Call<'_>) -> Result<Term, Error> {
        self.on_clock(c, Needs::Date, |binder, clock, data_type, rest| {
            let [every, offset, closed] = rest else { return Err(c.wrong_arguments()) };
            let (windows, key) = binder.windows(c, &clock, [every, offset], None, Some(closed))?;
            let cut = truncate(clock.clone(), windows.every, false);
            Ok((windows::start(clock, windows, cut), data_type.clone(), key))
        })
    }

    /// Time, step, period, offset, closed ends: where all windows begin.
    pub(crate) fn window_starts(&mut self, c: &Call<'_>) -> Result<Term, Error> {
        self.on_clock(c, Needs::Date, |binder, clock, data_type, rest| {
            let [every, period, offset, closed] = rest else { return Err(c.wrong_arguments()) };
            let (windows, key) = binder.windows(c, &clock, [every, offset], Some(period), Some(closed))?;
            Ok((windows::starts(clock, windows), list_of(data_type), key))
        })
    }

    /// Start, step, period, offset: where the window ends.
    pub(crate) fn window_end(&mut self, c: &Call<'_>) -> Result<Term, Error> {
        self.on_clock(c, Needs::Date, |binder, clock, data_type, rest| {
            let [every, period, offset] = rest else { return Err(c.wrong_arguments()) };
            let (windows, key) = binder.windows(c, &clock, [every, offset], Some(period), None)?;
            Ok((windows::end(clock, windows), data_type.clone(), key))
        })
    }

    /// The windows that are asked for, and what tells them from others. An empty period lasts until the next begins.
    fn windows(
        &self,
        c: &Call<'_>,
        clock: &Clock,
        [every, offset]: [&Term; 2],
        period: Option<&Term>,
        closed: Option<&Term>,
    ) -> Result<(Windows, String), Error> {
        let text = |term: &Term, what: &str| self.known_text(c.name, term, what);
        let read = |text: &str| Period::parse(text).map_err(|message| c.refused(message));
        let said = [text(every, "every")?, text(offset, "offset")?];
        let of_days = |period: Period| period.ns % DAY == 0 || !matches!(clock, Clock::Date);
        let whole = |what: &str, text: &str, period: Period| match of_days(period) {
            true => Ok(period),
            false => Err(c.refused(format!("{what} must be whole days where dates are grouped, not \"{text}\""))),
        };
        let every = whole("every", &said[0], read(&said[0])?)?;
        let step = every.as_step().ok_or_else(|| {
            c.refused(format!(
                "every must be positive, in months or in shorter units but not both, not \"{}\"",
                said[0]
            ))
        })?;
        let offset = whole("offset", &said[1], read(&said[1])?)?;
        let said_period = period.map(|period| text(period, "period")).transpose()?.unwrap_or_default();
        let period = if said_period.is_empty() {
            None
        } else {
            let period = whole("period", &said_period, read(&said_period)?)?;
            let parts = [period.months, period.days, period.ns];
            if parts.iter().any(|part| *part < 0) || parts == [0; 3] {
                return Err(c.refused(format!("period must be positive, not \"{said_period}\"")));
            }
            Some(period)
        };
        let said_closed = closed.map(|closed| text(closed, "closed")).transpose()?.unwrap_or_else(|| "left".into());
        let ends = Closed::named(&said_closed);
        let closed = ends.ok_or_else(|| {
            c.refused(format!("closed must be \"left\", \"right\", \"both\" or \"none\", not \"{said_closed}\""))
        })?;
        let windows = Windows { every: step, period, offset, closed };
        if windows.overlap() > MOST_WINDOWS {
            return Err(c.refused(format!(
                "windows of \"{said_period}\" that begin every \"{}\" are about {} around each row, more than {MOST_WINDOWS}",
                said[0],
                windows.overlap()
            )));
        }
        Ok((windows, format!("{} {said_period} {} {said_closed}", said[0], said[1])))
    }
}
