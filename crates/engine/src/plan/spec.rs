//! The arguments of operations that have a form of their own.

use formula::Rolling;
use serde::{Deserialize, Serialize};

use super::closing::Closing;

/// One column to sort by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SortBy {
    /// Its name.
    pub column: String,
    /// Greatest first.
    pub descending: bool,
    /// Nulls at the end instead of at the start, in both directions.
    pub nulls_last: bool,
}

impl SortBy {
    /// Least first, nulls at the start.
    pub fn ascending(column: &str) -> SortBy {
        SortBy { column: column.into(), descending: false, nulls_last: false }
    }

    /// Greatest first, nulls at the start all the same.
    pub fn descending(column: &str) -> SortBy {
        SortBy { descending: true, ..SortBy::ascending(column) }
    }
}

/// What becomes of the values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Materialization {
    /// Stored, and kept true.
    #[default]
    Stored,
    /// Computed when they are read.
    Lazy,
    /// Computed when they are read, once for each distinct input.
    Memoized,
}

/// What becomes of the columns of the input where new ones are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputColumns {
    /// They stay, and the new ones replace or follow them.
    Keep,
    /// Only the new ones are in the result.
    Drop,
}

impl InputColumns {
    /// [`InputColumns::Keep`] if `keep`.
    pub fn kept(keep: bool) -> InputColumns {
        if keep { InputColumns::Keep } else { InputColumns::Drop }
    }
}

/// Which row of a key is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// The first in row order.
    First,
    /// The last in row order.
    Last,
}

/// Which rows are recent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recent {
    /// So many, the last.
    Rows(u64),
    /// Those within so long of the newest.
    Span {
        /// The column of stamps.
        stamp: String,
        /// How long, in nanoseconds.
        nanos: i64,
    },
}

/// The policy for a left row whose key has several right rows, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Matches {
    /// The table fails and names the key.
    Error,
    /// As `Error`, and also where a left row has no match: the exact join.
    One,
    /// The first right row.
    First,
    /// The last right row.
    Last,
}

/// The rows to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Member {
    /// Rows whose key is in the set.
    In,
    /// Rows whose key is not in the set.
    NotIn,
}

/// The strategy: which right row is the match of a left stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// The greatest right stamp that is not later; of equal ones the last row.
    Backward,
    /// The least right stamp that is not earlier; of equal ones the first row.
    Forward,
    /// The least right stamp that is not earlier; of equal ones the last row.
    ForwardLast,
    /// The stamp at the smaller distance, at equal distance the later; of equal ones the last row.
    Nearest,
}

/// A greatest distance, inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tolerance {
    /// Nanoseconds: a span of time.
    Span(u64),
    /// Seconds between times, units between numbers.
    Whole(u64),
    /// Seconds between times, units between numbers, with a fraction.
    Number(f64),
}

/// The options of an as-of join.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AsofOptions {
    /// Left and right stamp column.
    pub on: (String, String),
    /// Left and right key columns.
    pub by: Vec<(String, String)>,
    /// Which right row is the match.
    pub strategy: Strategy,
    /// Greatest distance, inclusive.
    pub tolerance: Option<Tolerance>,
    /// Whether equal stamps match.
    pub allow_exact_matches: bool,
    /// New and old names of right columns; all but the keys (and the stamp of equal name) without it.
    pub joins: Option<Vec<(String, String)>>,
    /// What is appended to a right name that the left table has too.
    pub suffix: Option<String>,
}

/// The arguments of a table that has a row for each value of lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExplodeOptions {
    /// The columns of lists.
    pub columns: Vec<String>,
    /// Whether an empty list gives a row, with null.
    pub empty_as_null: bool,
    /// Whether a null gives a row, with null.
    pub keep_nulls: bool,
    /// Whether lists of one row may differ in length: the shorter ones are filled up with nulls.
    pub null_fill: bool,
}

/// Rows by position, both ends of which may depend on how many there are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Extent {
    /// From one position up to another, which is not among them; from the end if negative.
    Between {
        /// The first.
        start: i64,
        /// The one after the last.
        stop: i64,
    },
    /// A part of the rows, from the first on, rounded up.
    Head {
        /// From 0 to 1.
        part: f64,
    },
    /// A part of the rows, up to the last, rounded up.
    Tail {
        /// From 0 to 1.
        part: f64,
    },
    /// From a part of the rows to another, both rounded down.
    Part {
        /// From 0 to 1.
        start: f64,
        /// From 0 to 1.
        stop: f64,
    },
}

impl Extent {
    /// The method that asks for it.
    pub fn method(&self) -> &'static str {
        match self {
            Extent::Between { .. } => "slice",
            Extent::Head { .. } => "head_pct",
            Extent::Tail { .. } => "tail_pct",
            Extent::Part { .. } => "slice_pct",
        }
    }

    /// The parts of the rows that it names.
    pub fn parts(&self) -> Vec<f64> {
        match self {
            Extent::Between { .. } => Vec::new(),
            Extent::Head { part } | Extent::Tail { part } => vec![*part],
            Extent::Part { start, stop } => vec![*start, *stop],
        }
    }

    /// The first position, and the one after the last, of so many rows.
    pub fn ends(&self, rows: u64) -> (u64, u64) {
        let at = |place: i64| match u64::try_from(place) {
            Ok(place) => place.min(rows),
            Err(_) => rows.saturating_sub(place.unsigned_abs()),
        };
        let up = |part: f64| (share(part, rows).ceil() as u64).min(rows);
        let down = |part: f64| (share(part, rows).floor() as u64).min(rows);
        match self {
            Extent::Between { start, stop } => (at(*start), at(*stop)),
            Extent::Head { part } => (0, up(*part)),
            Extent::Tail { part } => (rows - up(*part), rows),
            Extent::Part { start, stop } => (down(*start), down(*stop)),
        }
    }
}

/// A part of so many rows. The part was rounded as it was written: what is a whole number but for that is the number.
fn share(part: f64, rows: u64) -> f64 {
    /// Beside a product of two numbers that were rounded: four times what it may be off by.
    const ROUNDED: f64 = 4.0 * f64::EPSILON;
    let product = part * rows as f64;
    let whole = product.round();
    if (product - whole).abs() <= product * ROUNDED { whole } else { product }
}

/// The options of a join that answers each left row once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum NowOptions {
    /// By equal keys, as a natural join.
    Natural {
        /// Left and right key columns.
        on: Vec<(String, String)>,
        /// New and old names of right columns; all but the keys without it.
        joins: Option<Vec<(String, String)>>,
        /// What is appended to a right name that the left table has too.
        suffix: Option<String>,
        /// What a second match means.
        matches: Matches,
        /// Whether null equals null.
        nulls_equal: bool,
    },
    /// By time.
    Asof(AsofOptions),
}

/// How an end of a range belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// A row exactly there is outside.
    Open,
    /// A row exactly there is inside.
    Closed,
    /// A row exactly there is inside; where there is none, so is the nearest row beyond.
    Reaching,
}

/// An end of a range.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RangeEnd {
    /// The left column that says where it is; null is no bound.
    pub column: String,
    /// Whether rows there belong to the range.
    pub bound: Bound,
}

/// The options of `pivot`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PivotOptions {
    /// The columns that tell rows of the result apart.
    pub index: Vec<String>,
    /// The columns whose values become columns.
    pub on: Vec<String>,
    /// The names of the columns: of the first aggregate one for each value, then of the next.
    pub names: Vec<String>,
}

/// The options of a range join.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RangeOptions {
    /// Left and right key columns.
    pub by: Vec<(String, String)>,
    /// The right column whose values lie in the ranges.
    pub on: String,
    /// Where ranges begin; without it they have no lower bound.
    pub from: Option<RangeEnd>,
    /// Where ranges end; without it they have no upper bound.
    pub to: Option<RangeEnd>,
}

impl RangeOptions {
    /// The range as a reader of Python knows it: `"lo <= x < hi"`.
    pub fn text(&self) -> String {
        let (mut before, mut after) = (String::new(), String::new());
        if let Some(end) = &self.from {
            let (arrow, sign) = signs(end.bound, "<- ");
            before = format!("{arrow}{} {sign} ", end.column);
        }
        if let Some(end) = &self.to {
            let (arrow, sign) = signs(end.bound, " ->");
            after = format!(" {sign} {}{arrow}", end.column);
        }
        format!("{before}{}{after}", self.on)
    }
}

/// The options of aggregates of windows that move along with their row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RollingOptions {
    /// The columns that make groups; without any all rows are one.
    #[serde(default)]
    pub by: Vec<String>,
    /// The column of stamps, of a window between stamps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// The window.
    pub window: Rolling,
    /// The columns of the result, each with its name there; without it all of the table, and behind them the aggregates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<Vec<(String, String)>>,
}

impl RollingOptions {
    /// Keys and window as a reader of Python knows them.
    pub fn text(&self) -> String {
        let on = self.on.as_ref().map(|on| format!("{on:?}"));
        let by: String = self.by.iter().map(|key| format!("{key:?}, ")).collect();
        format!("{by}{}", self.window.text(on.as_deref()))
    }
}

/// Which pairs of rows `join_where` takes from an order: those of which one stands in the range of the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BandOptions {
    /// The keys, and the range: its bounds are columns of the side that looks.
    pub range: RangeOptions,
    /// Whether left rows look at right ones.
    pub looks_left: bool,
    /// Appended to the name of a right column that the left table has too.
    pub suffix: String,
}

fn signs(bound: Bound, arrow: &'static str) -> (&'static str, &'static str) {
    match bound {
        Bound::Open => ("", "<"),
        Bound::Closed => ("", "<="),
        Bound::Reaching => (arrow, "<="),
    }
}

/// Which rows a join has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// Pairs.
    Inner,
    /// Pairs, and the left rows that have no match, with nulls.
    Left,
    /// Pairs, and the right rows that have no match, with nulls; in the order of the right rows.
    Right,
    /// Pairs, and the rows of both sides that have no match, with nulls; the right ones last.
    Full,
    /// Every pair of a left and a right row.
    Cross,
}

impl How {
    /// The name in Python.
    pub fn name(self) -> &'static str {
        match self {
            How::Inner => "inner",
            How::Left => "left",
            How::Right => "right",
            How::Full => "full",
            How::Cross => "cross",
        }
    }
}

/// How many rows a key may have on each side, if both sides have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Validate {
    /// Any number on both sides.
    ManyToMany,
    /// One on the right.
    ManyToOne,
    /// One on the left.
    OneToMany,
    /// One on either side.
    OneToOne,
}

/// The arguments of a join.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EquiOptions {
    /// Key columns, left and right.
    pub on: Vec<(String, String)>,
    /// Which rows the result has.
    pub how: How,
    /// Appended to the name of a right column that the left table has too.
    pub suffix: String,
    /// Whether a null key matches a null key.
    pub nulls_equal: bool,
    /// How many rows a key may have.
    pub validate: Validate,
    /// Whether the key columns of one side are left out: the right ones, in a right join the left ones. In a full join a
    /// left key is the right one's where there is no left row.
    pub coalesce: bool,
}

/// Windows of time by which rows are grouped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindowOptions {
    /// The column of times.
    pub stamp: String,
    /// How far apart windows begin: a length of time as text.
    pub every: String,
    /// How long they last; until the next begins without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<String>,
    /// How long after a round time they begin.
    pub offset: String,
    /// Which ends belong to a window: "left", "right", "both" or "none".
    pub closed: String,
    /// Which end is told in the result.
    pub label: Label,
    /// Whether both ends stand in columns of their own.
    #[serde(default)]
    pub boundaries: bool,
    /// When windows close.
    #[serde(default, skip_serializing_if = "Closing::is_plain")]
    pub closing: Closing,
}

/// Sessions by which rows are grouped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionOptions {
    /// The column of instants.
    pub stamp: String,
    /// The greatest distance of neighbours in a session, in nanoseconds.
    pub gap: i64,
    /// When sessions close.
    #[serde(default, skip_serializing_if = "Closing::is_plain")]
    pub closing: Closing,
}

/// Which end of a window stands for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Label {
    /// Where it begins.
    Left,
    /// Where it ends.
    Right,
}
