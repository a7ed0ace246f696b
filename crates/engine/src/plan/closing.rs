//! When windows of time close, what of them is sent, and what becomes of rows that come too late.

use serde::{Deserialize, Serialize};

/// When windows close, and what is sent then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Closing {
    /// What is sent.
    pub emit: Emit,
    /// What becomes of late rows.
    pub late: Late,
    /// How much later than the watermark rows may come, in nanoseconds.
    pub allowed_lateness: i64,
    /// Whether rows of closed windows leave the result.
    pub forget_results: bool,
    /// How many rows of open windows are held, at most; with more the table fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rows: Option<u64>,
}

/// What is sent of windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Emit {
    /// Every change.
    #[default]
    Update,
    /// Each window once, when it has closed.
    Final,
}

/// What becomes of rows that come too late.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Late {
    /// They are counted.
    #[default]
    Drop,
    /// They are applied, within the lateness that is allowed.
    Keep,
    /// They are rows of a table of their own.
    Table,
}

impl Closing {
    /// Whether nothing was said.
    pub(crate) fn is_plain(&self) -> bool {
        *self == Closing::default()
    }
}
