//! `head`, `tail`, `slice`, and parts of the rows: rows by position.
//!
//!   in   0 A    1 B    2 C        head(2)    out   0 A    1 B
//!   in   - 0                      out   - 0    + 2 C
//!
//! Rows own, columns shared. A negative offset counts from the end; arithmetic saturates.
//! Cost of an update: the change and the rows that cross the edges of the window.

use std::sync::Arc;

use graph::{Moment, Step};
use rowset::{Before, RowSet};

use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::ops::arrivals::{self, End};
use crate::ops::asked::Asked;
use crate::plan::spec::Extent;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::Attributes;
use crate::table::parts::Parts;
use crate::table::request::Request;
use crate::table::rows::LiveRows;
use crate::table::update::TableUpdate;

/// Said of other windows over rows that live for one step.
const NO_SLICE: &str = "the rows of a blink table live for one step, and no position in it lasts; head and tail keep the \
                        first or last rows that ever were";

/// A window of positions.
pub struct Slice {
    request: Request,
    window: Window,
    /// Of `head` and `tail`: which rows it keeps of all that a blink table ever had.
    end: Option<(End, u64)>,
}

#[derive(Clone, Copy)]
enum Window {
    /// So many rows from one on.
    From { offset: i64, length: Option<u64> },
    /// Between two ends.
    Within(Extent),
}

impl Slice {
    /// The first `n` rows.
    pub fn head(n: u64) -> Slice {
        let head = Slice::named("head", Window::From { offset: 0, length: Some(n) });
        Slice { end: Some((End::Head, n)), ..head }
    }

    /// The last `n` rows.
    pub fn tail(n: u64) -> Slice {
        let offset = i64::try_from(n).map_or(i64::MIN, |n| -n);
        let tail = Slice::named("tail", Window::From { offset, length: Some(n) });
        Slice { end: Some((End::Tail, n)), ..tail }
    }

    /// `length` rows from `offset`, which counts from the end if negative; to the end without a length.
    pub fn new(offset: i64, length: Option<u64>) -> Slice {
        Slice::named("slice", Window::From { offset, length })
    }

    /// The rows between two ends, each a position or a part of the rows.
    pub fn within(operation: &str, extent: Extent) -> Result<Slice, Error> {
        if let Some(part) = extent.parts().iter().find(|part| !(0.0..=1.0).contains(*part)) {
            return Err(Error::schema(operation, format!("{part} is no part of the rows; parts go from 0 to 1")));
        }
        Ok(Slice::named(operation, Window::Within(extent)))
    }

    fn named(operation: &str, window: Window) -> Slice {
        let asked = match window {
            Window::From { offset, length } => Asked::Slice { offset, length },
            Window::Within(extent) => Asked::Extent(extent),
        };
        Slice { request: Request::new(operation, &asked), window, end: None }
    }
}

impl Window {
    fn of(self, rows: &RowSet) -> RowSet {
        let size = rows.len();
        let (offset, length) = match self {
            Window::From { offset, length } => (offset, length),
            Window::Within(extent) => {
                let (from, to) = extent.ends(size);
                return rows.slice(from, to.saturating_sub(from));
            }
        };
        let back = offset.unsigned_abs();
        // A window that starts before the first row loses what lies there.
        let (from, lost) =
            if offset >= 0 { (back.min(size), 0) } else { (size.saturating_sub(back), back.saturating_sub(size)) };
        let length = length.map_or(u64::MAX, |length| length.saturating_sub(lost));
        rows.slice(from, length.min(size - from))
    }

    /// Whether it begins with the first row, and grows with the table if at all.
    fn is_head(self) -> bool {
        match self {
            Window::From { offset, .. } => offset == 0,
            Window::Within(Extent::Between { start, .. }) => start == 0,
            Window::Within(extent) => matches!(extent, Extent::Head { .. }),
        }
    }
}

impl Operation for Slice {
    fn request(&self) -> &Request {
        &self.request
    }

    // Rows of a blink table are counted as they come.
    fn remembers(&self, inputs: &[Table]) -> bool {
        inputs[0].attributes().blink
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let Input { table, view } = &inputs[0];
        if table.attributes().blink {
            let (end, most) = self.end.ok_or_else(|| Error::invalid(&self.request.name, NO_SLICE))?;
            return arrivals::start(end, most, &inputs[0], at);
        }
        let rows = Arc::new(LiveRows::new(self.window.of(view.rows()), at));
        let old = table.attributes();
        let head = self.window.is_head();
        let attributes = Attributes {
            append_only: head && old.append_only,
            add_only: head && old.append_only,
            flat: head && old.flat,
            ..old.clone()
        };
        let parts = Parts {
            rows: rows.clone(),
            columns: table.parts().columns.clone(),
            schema: table.schema().clone(),
            attributes,
        };
        let live = SliceLive { window: self.window, rows: rows.clone() };
        Ok(Start { parts, live: Box::new(live), owned: vec![rows] })
    }
}

struct SliceLive {
    window: Window,
    rows: Arc<LiveRows>,
}

impl Live for SliceLive {
    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let update = inputs[0].update();
        let old = self.rows.latest();
        let new = self.window.of(inputs[0].now().rows());
        let gone = &old & &update.removed.0;
        let before = Before(&old - &gone);
        let survivors = update.shifts.forward(&before);
        let left = update.shifts.back(&(&survivors - &new));
        let stay = &survivors & &new;
        let modified = &update.modified & &stay;
        let result = TableUpdate {
            added: &new - &stay,
            removed: Before(&gone | &left.0),
            columns: update.columns.unless_empty(&modified),
            modified,
            shifts: update.shifts.restrict(&(&before - &left)),
        };
        if !(result.added.is_empty() && result.removed.0.is_empty() && result.shifts.is_empty()) {
            self.rows.publish(step, new);
        }
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use model::Compare;

    use super::*;
    use crate::driver::attach::attach;
    use crate::testing::{any_table, check_law, check_steps};

    fn head(table: &Table, n: u64) -> Result<Table, Error> {
        attach(&Slice::head(n), std::slice::from_ref(table))
    }

    fn tail(table: &Table, n: u64) -> Result<Table, Error> {
        attach(&Slice::tail(n), std::slice::from_ref(table))
    }

    #[test]
    fn rows_cross_the_edge_of_the_window() {
        check_steps(
            |table| head(table, 2),
            "0 A | 1 B | 2 C",
            &[("- 0", "- 0 | + 2 C"), ("~ 2 D", "~ 2 D"), ("+ 0 E", "- 2 | + 0 E")],
        );
        check_steps(|table| tail(table, 2), "0 A | 1 B | 2 C", &[("+ 3 D", "- 1 | + 3 D"), ("- 2", "- 2 | + 1 B")]);
    }

    #[test]
    fn law() {
        check_law(&any_table(), 200, Compare::ByPosition, |table| head(table, 7), |input| model::ops::head(input, 7));
    }

    #[test]
    fn law_of_tail() {
        check_law(&any_table(), 200, Compare::ByPosition, |table| tail(table, 5), |input| model::ops::tail(input, 5));
    }

    #[test]
    fn windows_saturate() {
        let rows = RowSet::flat(5);
        let of = |offset, length| Window::From { offset, length }.of(&rows);
        assert_eq!(of(-3, Some(2)), RowSet::range(2, 3));
        assert_eq!(of(-9, Some(5)), RowSet::key(0));
        assert_eq!(of(9, None), RowSet::new());
        assert_eq!(of(i64::MIN, None), rows);
        assert_eq!(of(1, Some(u64::MAX)), RowSet::range(1, 4));
    }

    #[test]
    fn ends_that_go_with_the_size() {
        let rows = RowSet::flat(5);
        let of = |extent| Window::Within(extent).of(&rows);
        assert_eq!(of(Extent::Between { start: 1, stop: -1 }), RowSet::range(1, 3));
        assert_eq!(of(Extent::Between { start: -2, stop: 4 }), RowSet::key(3));
        assert_eq!(of(Extent::Between { start: 4, stop: -4 }), RowSet::new());
        assert_eq!(of(Extent::Between { start: i64::MIN, stop: i64::MAX }), rows);
        assert_eq!(of(Extent::Head { part: 0.5 }), RowSet::range(0, 2));
        assert_eq!(of(Extent::Tail { part: 0.1 }), RowSet::key(4));
        assert_eq!(of(Extent::Part { start: 0.5, stop: 1.0 }), RowSet::range(2, 4));
        // As floats, 0.07 * 100 is 7.000000000000001 and 0.29 * 100 is 28.999999999999996.
        assert_eq!(Extent::Head { part: 0.07 }.ends(100), (0, 7));
        assert_eq!(Extent::Tail { part: 5.0 / 9.0 }.ends(900), (400, 900));
        assert_eq!(Extent::Part { start: 0.29, stop: 0.58 }.ends(100), (29, 58));
        assert_eq!(Extent::Head { part: f64::MIN_POSITIVE }.ends(100), (0, 1));
        let refused = Slice::within("head_pct", Extent::Head { part: f64::NAN }).err().expect("it is no part");
        assert_eq!(refused.to_string(), "head_pct: NaN is no part of the rows; parts go from 0 to 1");
    }

    #[test]
    fn law_of_parts() {
        for extent in [
            Extent::Between { start: 1, stop: -2 },
            Extent::Between { start: -6, stop: 5 },
            Extent::Head { part: 0.3 },
            Extent::Tail { part: 0.3 },
            Extent::Part { start: 0.25, stop: 0.8 },
            Extent::Part { start: 0.29, stop: 1.0 / 3.0 },
        ] {
            let build = |table: &Table| attach(&Slice::within("slice", extent)?, std::slice::from_ref(table));
            check_law(&any_table(), 60, Compare::ByPosition, build, |input| match extent {
                Extent::Between { start, stop } => model::ops::between(input, start, stop),
                Extent::Head { part } => model::ops::end_part(input, part, false),
                Extent::Tail { part } => model::ops::end_part(input, part, true),
                Extent::Part { start, stop } => model::ops::part(input, start, stop),
            });
        }
    }
}
