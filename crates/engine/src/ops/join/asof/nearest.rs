//! As-of matching: the right row that matches a left stamp, and the range of left stamps that a right row can match.

use column::NO_ROW;

use super::{AsofSpec, Strategy};
use crate::keys::timeline::{Place, Timeline};

/// The right rows of a group by (stamp, row key), to be searched.
pub(super) trait Line {
    /// Where a row is, or would be.
    type Place: Copy;
    /// The first place that is not before (stamp, row key), which is mostly near `hint`; the key is 0 or greater than all.
    fn lower_from(&self, hint: Self::Place, at: (u64, u64)) -> Self::Place;
    /// The first place that is not before, without a hint.
    fn lower(&self, at: (u64, u64)) -> Self::Place;
    /// Stamp and key at a place, none at the end.
    fn at(&self, place: Self::Place) -> Option<(u64, u64)>;
    /// Those before a place.
    fn before_place(&self, place: Self::Place) -> Option<(u64, u64)>;
}

impl Line for Timeline<()> {
    type Place = Place;

    #[inline]
    fn lower_from(&self, hint: Place, at: (u64, u64)) -> Place {
        self.lower_from(hint, at)
    }

    #[inline]
    fn lower(&self, at: (u64, u64)) -> Place {
        self.lower(at)
    }

    #[inline]
    fn at(&self, place: Place) -> Option<(u64, u64)> {
        self.get(place).map(|entry| (entry.stamp, entry.key))
    }

    #[inline]
    fn before_place(&self, place: Place) -> Option<(u64, u64)> {
        self.before(place).map(|entry| (entry.stamp, entry.key))
    }
}

impl AsofSpec {
    /// The match of a left stamp. `hint` is where the last search of this group ended.
    #[inline]
    pub(super) fn find<L: Line>(&self, right: &L, stamp: u64, hint: &mut L::Place) -> u64 {
        let found = match self.strategy {
            Strategy::Backward => self.last_not_after(right, stamp, hint),
            Strategy::Forward => self.first_not_before(right, stamp, hint),
            Strategy::ForwardLast => self.first_not_before(right, stamp, hint).and_then(|(at, _)| last_of(right, at)),
            Strategy::Nearest => self.nearest(right, stamp, hint),
        };
        let near = found.filter(|(at, _)| self.reach.holds(*at, stamp));
        near.map_or(NO_ROW, |(_, key)| key)
    }

    #[inline]
    fn last_not_after<L: Line>(&self, right: &L, stamp: u64, hint: &mut L::Place) -> Option<(u64, u64)> {
        *hint = right.lower_from(*hint, if self.exact { (stamp, u64::MAX) } else { (stamp, 0) });
        right.before_place(*hint)
    }

    #[inline]
    fn first_not_before<L: Line>(&self, right: &L, stamp: u64, hint: &mut L::Place) -> Option<(u64, u64)> {
        *hint = right.lower_from(*hint, if self.exact { (stamp, 0) } else { (stamp, u64::MAX) });
        right.at(*hint)
    }

    fn nearest<L: Line>(&self, right: &L, stamp: u64, hint: &mut L::Place) -> Option<(u64, u64)> {
        let earlier = self.last_not_after(right, stamp, hint);
        let later = self.first_not_before(right, stamp, hint).and_then(|(at, _)| last_of(right, at));
        match (earlier, later) {
            (Some(earlier), Some(later)) if self.reach.is_nearer(earlier.0, stamp, later.0) => Some(earlier),
            (earlier, later) => later.or(earlier),
        }
    }

    /// The left stamps, both ends included, that a right row coming or going at `stamp` can concern.
    pub(super) fn concerned(&self, right: &Timeline<()>, stamp: u64) -> (u64, u64) {
        let next = || right.get(right.lower((stamp, u64::MAX))).map_or(u64::MAX, |entry| entry.stamp);
        let previous = || right.before(right.lower((stamp, 0))).map_or(0, |entry| entry.stamp);
        let (from, to) = match self.strategy {
            Strategy::Backward => (stamp, next()),
            Strategy::Forward | Strategy::ForwardLast => (previous(), stamp),
            Strategy::Nearest => (previous(), next()),
        };
        let (least, most) = self.reach.around(stamp);
        (from.max(least), to.min(most))
    }

    /// Whether a left row after `stamp` that does not match it ends the run of those that do.
    #[inline]
    pub(super) fn runs_end(&self, left: u64, stamp: u64) -> bool {
        self.strategy == Strategy::Backward && (left > stamp || self.exact)
    }
}

/// The last row of a stamp.
#[inline]
fn last_of<L: Line>(right: &L, stamp: u64) -> Option<(u64, u64)> {
    right.before_place(right.lower((stamp, u64::MAX)))
}
