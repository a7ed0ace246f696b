//! The windows of rows that follow one another in their group, as frames of the rows that are read for them.
//!
//!   group  0 1 2 3 4 5     Rows { back: 1, ahead: 0 }     rows 3 4     read 2 3 4     frames 0..2 1..3
//!
//! Frames move on only, within a group and from one group to the next. Pure. Cost: the rows that are read.

use std::ops::Range;

use crate::error::Error;
use crate::keys::frame::Frame;

/// Rows that are computed, and the rows that are read for them.
#[derive(Default)]
pub(super) struct Spans {
    /// The keys of the rows that are computed, group by group.
    pub(super) rows: Vec<u64>,
    /// The keys of the rows that are read, group by group.
    pub(super) read: Vec<u64>,
    /// The window of each row, in places of `read`.
    pub(super) frames: Vec<Range<usize>>,
}

impl Spans {
    /// Adds windows over rows that are read from a place of `read` on, of which these are read now: `frames` are places from
    /// there on.
    pub(super) fn push(
        &mut self,
        from: usize,
        rows: impl IntoIterator<Item = u64>,
        read: impl IntoIterator<Item = u64>,
        frames: impl IntoIterator<Item = Range<usize>>,
    ) {
        self.read.extend(read);
        self.rows.extend(rows);
        self.frames.extend(frames.into_iter().map(|frame| frame.start + from..frame.end + from));
    }
}

/// Asks for the memory of so many rows that are computed, and of so many that are read.
pub(super) fn room(rows: u64, read: u64) -> Result<(), Error> {
    limits::ask_rows(rows, 48)?;
    Ok(limits::ask_rows(read, 24)?)
}

/// The places within `len` rows that the rows from one place to another see.
pub(super) fn seen(len: u64, rows: &Range<u64>, back: i64, ahead: i64) -> Range<u64> {
    let place = |at: u64, by: i64| at.saturating_add_signed(by).min(len);
    let start = place(rows.start, back.saturating_neg());
    let end = match rows.end.checked_sub(1) {
        Some(last) => place(last, ahead.saturating_add(1)),
        None => start,
    };
    start..end.max(start)
}

/// The frames of rows by count, from the first place that is seen on.
pub(super) fn by_rows(len: u64, rows: Range<u64>, back: i64, ahead: i64) -> impl Iterator<Item = Range<usize>> {
    let from = seen(len, &rows, back, ahead).start;
    rows.map(move |at| {
        let own = seen(len, &(at..at + 1), back, ahead);
        let start = own.start.max(from) - from;
        start as usize..(own.end.max(from) - from).max(start) as usize
    })
}

/// The least and the greatest stamp in the window of a stamp, which may lie beyond all that there are.
pub(super) fn around(frame: Frame, stamp: u64) -> (i128, i128) {
    let Frame::Range { back, ahead } = frame else { return (0, -1) };
    (i128::from(stamp) - i128::from(back), i128::from(stamp) + i128::from(ahead))
}

/// The frames of rows with these stamps, which ascend, among rows with those stamps, which do so too.
pub(super) fn by_stamps(frame: Frame, own: &[u64], read: &[u64]) -> Vec<Range<usize>> {
    let (mut start, mut end) = (0, 0);
    let each = |stamp: &u64| {
        let (least, greatest) = around(frame, *stamp);
        while start < read.len() && i128::from(read[start]) < least {
            start += 1;
        }
        end = end.max(start);
        while end < read.len() && i128::from(read[end]) <= greatest {
            end += 1;
        }
        start..end
    };
    own.iter().map(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each frame as the places that it has by itself.
    #[test]
    fn frames_are_the_places_that_each_row_sees() {
        for (len, back, ahead) in
            (0..6u64).flat_map(|len| (-3..4i64).map(move |back| (len, back))).flat_map(|(len, back)| {
                (-3..4i64).filter(move |ahead| back + ahead >= 0).map(move |ahead| (len, back, ahead))
            })
        {
            for first in 0..len {
                for last in first..len {
                    let seen = seen(len, &(first..last + 1), back, ahead);
                    let frames: Vec<_> = by_rows(len, first..last + 1, back, ahead).collect();
                    for (at, frame) in (first..).zip(&frames) {
                        let found: Vec<u64> = frame.clone().map(|place| seen.start + place as u64).collect();
                        let wanted: Vec<u64> = (0..len)
                            .filter(|other| (at as i64 - back..=at as i64 + ahead).contains(&(*other as i64)))
                            .collect();
                        assert_eq!(found, wanted, "{at} of {len}, {back} back, {ahead} ahead");
                    }
                    assert!(frames.is_sorted_by(|one, next| one.start <= next.start && one.end <= next.end));
                    assert!(frames.iter().all(|frame| frame.end <= (seen.end - seen.start) as usize));
                }
            }
        }
    }

    #[test]
    fn stamps_that_are_equal_see_one_another() {
        let frame = Frame::Range { back: 2, ahead: 0 };
        assert_eq!(by_stamps(frame, &[3, 3, 6], &[1, 2, 3, 3, 6]), [0..4, 0..4, 4..5]);
        let beside = Frame::Range { back: -1, ahead: 2 };
        assert_eq!(by_stamps(beside, &[1, 3, 9], &[1, 2, 3, 5, 9]), [1..3, 3..4, 5..5]);
        let wide = Frame::Range { back: i64::MAX, ahead: i64::MAX };
        assert_eq!(by_stamps(wide, &[0, u64::MAX], &[0, 7, u64::MAX]), [0..2, 2..3]);
    }
}
