//! What an operation may hold of an input that never ends: how long, how much, and what becomes of the rest.

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// What becomes of what is too much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhenFull {
    /// What was touched longest ago is let go.
    #[default]
    Evict,
    /// The table fails.
    Error,
}

/// Which groups an operation holds state for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GroupBounds {
    /// How long after its last row a group is held, in nanoseconds: of the watermark, where the input has one, else of the
    /// clock.
    pub state_ttl: Option<i64>,
    /// How many groups are held.
    pub max_groups: Option<u64>,
    /// What becomes of more.
    pub when_full: WhenFull,
    /// Whether the rows of groups that are let go stay in the result.
    pub keep_results: bool,
}

/// Which rows an operation holds state for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RowBounds {
    /// How long a row is held, in nanoseconds: after its time, until the watermark, where the input has one, else after it
    /// came, by the clock.
    pub state_ttl: Option<i64>,
    /// How many rows are held.
    pub max_rows: Option<u64>,
    /// What becomes of more.
    pub when_full: WhenFull,
}

impl GroupBounds {
    /// Whether nothing was said.
    pub(crate) fn is_plain(&self) -> bool {
        *self == GroupBounds::default()
    }

    pub(super) fn check(&self, method: &str) -> Result<(), Error> {
        check(method, self.state_ttl, self.max_groups, "max_groups")?;
        if self.state_ttl.is_none() && self.max_groups.is_none() {
            let message = "when_full and keep_results are of bounds, and there is none: say state_ttl= or max_groups=";
            return Err(Error::invalid(method, message));
        }
        Ok(())
    }

    /// The arguments as a reader of Python knows them.
    pub(super) fn text(&self) -> String {
        let ttl = self.state_ttl.map(|ttl| format!(", state_ttl {ttl} ns"));
        let most = self.max_groups.map(|most| format!(", max_groups {most}"));
        [ttl, most].into_iter().flatten().collect()
    }
}

impl RowBounds {
    pub(super) fn check(&self, method: &str) -> Result<(), Error> {
        check(method, self.state_ttl, self.max_rows, "max_rows")
    }

    /// The arguments as a reader of Python knows them.
    pub(super) fn text(&self) -> String {
        let ttl = self.state_ttl.map(|ttl| format!("state_ttl {ttl} ns"));
        let most = self.max_rows.map(|most| format!("max_rows {most}"));
        [ttl, most].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

fn check(method: &str, ttl: Option<i64>, most: Option<u64>, what: &str) -> Result<(), Error> {
    if ttl.is_some_and(|ttl| ttl < 0) {
        return Err(Error::invalid(method, "state_ttl must be 0 or longer"));
    }
    if most == Some(0) {
        return Err(Error::invalid(method, format!("{what} must be 1 or more")));
    }
    Ok(())
}
