//! Reading the rows of many ranges: rows in which ranges overlap are listed once, and each range is a span of the list.
//!
//!   ranges  10..30 20..40      rows 10 20 30 40      listed 10 20 30 40, spans 0..3 1..4

use super::ranges::{Ends, room_for_one};
use crate::error::Error;
use crate::keys::timeline::Timelines;
use crate::ops::agg::Span;

/// A range to read: the stamps from one to another of a group, both included, and the list that it is the rows of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::ops::join) struct Reading {
    pub(in crate::ops::join) group: u32,
    pub(in crate::ops::join) from: u64,
    pub(in crate::ops::join) list: u32,
    pub(in crate::ops::join) to: u64,
}

/// Calls `read` with rows, and with the spans of them that ranges are: every range is in one call. `readings` are in order. A call has
/// about so many rows; a row is in several calls only if ranges are longer than that.
pub(in crate::ops::join) fn sweep(
    right: &Timelines<()>,
    ends: Ends,
    readings: &[Reading],
    rows_at_once: usize,
    mut read: impl FnMut(&[u64], &[Span]) -> Result<(), Error>,
) -> Result<(), Error> {
    let (mut listed, mut rows, mut spans): (Vec<(u64, u64)>, Vec<u64>, Vec<Span>) = Default::default();
    let mut flush = |listed: &mut Vec<(u64, u64)>, spans: &mut Vec<Span>| {
        rows.clear();
        rows.extend(listed.drain(..).map(|(_, key)| key));
        let done = read(&rows, spans);
        spans.clear();
        done
    };
    let mut group = None;
    // Where the last range begins in the list, and up to where the rows of its group are listed.
    let (mut first, mut end) = (0, (0, 0));
    for reading in readings {
        let line = &right[reading.group];
        let (start, stop) = ends.places(line, (reading.from, reading.to));
        if group != Some(reading.group) {
            (group, first, end) = (Some(reading.group), listed.len(), (0, 0));
        }
        first += listed[first..].partition_point(|at| *at < start);
        // What the range shares with the list is listed once more, which is half of it at most.
        if listed.len() >= rows_at_once && first >= listed.len() / 2 {
            flush(&mut listed, &mut spans)?;
            (first, end) = (0, (0, 0));
        }
        end = end.max(start);
        if end < stop {
            for (stamp, key, ()) in line.from(line.lower(end)) {
                if (stamp, key) >= stop {
                    break;
                }
                room_for_one(&listed)?;
                listed.push((stamp, key));
            }
            end = stop;
        }
        let last = first + listed[first..].partition_point(|at| *at < stop);
        spans.push((reading.list, first..last));
    }
    if spans.is_empty() { Ok(()) } else { flush(&mut listed, &mut spans) }
}
