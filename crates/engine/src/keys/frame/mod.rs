//! Frames: which rows of its group a row's value is computed from, and from that the rows that a change of the groups
//! concerns.
//!
//!   Rows { back: 2, ahead: 0 }     group  0 1 2 3 4 5     ~ 1     again  . ~ ~ ~ . .
//!                                                         - 1     again    . ~ ~ . .
//!
//! Pure: places in, places out. A window may lie beside its row: `shift(n)` is `Rows { back: n, ahead: -n }`. Cost: a few
//! searches for each touched place, and the sorting of what comes out.

use std::ops::Range;

use super::group_order::{GroupOrder, OrderKey};

/// The rows that the value of a row is computed from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Frame {
    /// The rows from so many before to so many after; negative distances move that end of the window to the other side.
    Rows { back: i64, ahead: i64 },
    /// The rows whose stamp is at most so much less or greater, both included; negative as with `Rows`.
    Range { back: i64, ahead: i64 },
}

/// What a step did at a place of a group, in places after the step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Touch<P> {
    /// These rows have come.
    Entered(Range<P>),
    /// A row has gone that had this stamp; `next` is the next of those that stayed.
    Left { next: P, stamp: u64 },
    /// These rows have other cells.
    Changed(Range<P>),
}

/// The rows to compute again, in order of group and place and without overlaps; those that have come are among them.
pub(crate) fn affected<'a, O: GroupOrder>(
    frame: Frame,
    groups: &O,
    touched: impl IntoIterator<Item = &'a (u32, Touch<O::Place>)>,
) -> Vec<(u32, Range<O::Place>)>
where
    O::Place: 'a,
{
    let mut spans = Vec::new();
    for (slot, touch) in touched {
        if let Touch::Entered(own) = touch {
            spans.push((*slot, own.clone()));
        }
        spans.push((*slot, reached(frame, groups, *slot, touch)));
    }
    merged(spans)
}

/// The rows whose frame a touch reaches.
fn reached<O: GroupOrder>(frame: Frame, groups: &O, slot: u32, touch: &Touch<O::Place>) -> Range<O::Place> {
    let (from, to) = match touch {
        Touch::Entered(rows) | Touch::Changed(rows) => (rows.start, rows.end),
        Touch::Left { next, .. } => (*next, *next),
    };
    match frame {
        Frame::Rows { back, ahead } => {
            // A row that comes or goes moves all that a frame sees beyond it. Another cell is seen where it stands.
            let (back, ahead) = match touch {
                Touch::Changed(_) => (back, ahead),
                _ => (back.max(0), ahead.max(0)),
            };
            groups.moved(slot, from, ahead.saturating_neg())..groups.moved(slot, to, back)
        }
        Frame::Range { back, ahead } => {
            let stamp = |place| groups.get(slot, place).map(OrderKey::stamp);
            let stamps = match touch {
                Touch::Left { stamp, .. } => Some((*stamp, *stamp)),
                _ => stamp(from).zip(stamp(groups.moved(slot, to, -1))),
            };
            let Some((least, greatest)) = stamps else { return from..from };
            let (least, greatest) = (i128::from(least) - i128::from(ahead), i128::from(greatest) + i128::from(back));
            // The first place at or after a stamp, which may lie outside all that there are.
            let lower = |stamp: i128| match u64::try_from(stamp.max(0)) {
                Ok(stamp) => groups.lower(slot, O::Key::least(stamp)),
                Err(_) => groups.end(slot),
            };
            lower(least)..lower(greatest + 1)
        }
    }
}

/// Spans in order, each place once.
fn merged<P: Copy + Ord>(mut spans: Vec<(u32, Range<P>)>) -> Vec<(u32, Range<P>)> {
    spans.retain(|(_, span)| span.start < span.end);
    spans.sort_unstable_by_key(|(slot, span)| (*slot, span.start));
    spans.dedup_by(|(slot, span), (open_slot, open)| {
        let joins = slot == open_slot && span.start <= open.end;
        if joins {
            open.end = open.end.max(span.end);
        }
        joins
    });
    spans
}

#[cfg(test)]
mod tests;
