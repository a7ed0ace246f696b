//! Windows that move along with their row: which rows of its group a row is aggregated over, where these are not all.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use crate::tree::function::Closed;

/// The rows of its group that a row is aggregated over, and of how few values there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rolling {
    /// Which rows.
    pub frame: Frame,
    /// Of fewer values the result is null.
    #[serde(default, skip_serializing_if = "is_nought")]
    pub least: u64,
}

fn is_nought(least: &u64) -> bool {
    *least == 0
}

/// Which rows, as they stand to the row itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Frame {
    /// Those from so many before the row to so many after it; a negative distance moves that end to the other side.
    Rows {
        /// How many before.
        back: i64,
        /// How many after.
        ahead: i64,
    },
    /// Those whose stamp lies from so far before the row's to so far after it; negative as with `Rows`.
    Range {
        /// How far before.
        back: Reach,
        /// How far after.
        ahead: Reach,
        /// Which ends belong to it.
        closed: Closed,
        /// Whether a stamp that goes back, within a group in the order of rows, is an error.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ordered: bool,
    },
}

/// How far a window reaches from the stamp of its row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// Nanoseconds.
    Span(i64),
    /// What the stamps count: of times seconds.
    Whole(i64),
    /// As `Whole`.
    Number(f64),
}

impl std::fmt::Display for Reach {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const UNITS: [(&str, i64); 6] = [
            ("d", 86_400_000_000_000),
            ("h", 3_600_000_000_000),
            ("m", 60_000_000_000),
            ("s", 1_000_000_000),
            ("ms", 1_000_000),
            ("us", 1_000),
        ];
        match self {
            Reach::Span(nanos) => {
                let unit = UNITS.iter().find(|(_, each)| *nanos != 0 && nanos % each == 0);
                let (unit, each) = unit.copied().unwrap_or(("ns", 1));
                write!(out, "\"{}{unit}\"", nanos / each)
            }
            Reach::Whole(number) => write!(out, "{number}"),
            Reach::Number(number) => write!(out, "{number:?}"),
        }
    }
}

impl Rolling {
    /// The arguments of a method `rolling_…`, and whether it is one `by` stamps, whose column is called so.
    pub fn text(&self, by: Option<&str>) -> String {
        let mut text = String::new();
        // Writing to a text cannot fail.
        let _ = match self.frame {
            Frame::Rows { back, ahead: 0 } => write!(text, "{}", i128::from(back) + 1),
            Frame::Rows { back, ahead } => write!(text, "before={back}, after={ahead}"),
            Frame::Range { back, ahead, closed, .. } => {
                let (by, closed) = (by.unwrap_or_default(), closed.name());
                write!(text, "{by}, before={back}, after={ahead}, closed=\"{closed}\"")
            }
        };
        let _ = write!(text, ", min_samples={}", self.least);
        text
    }
}
