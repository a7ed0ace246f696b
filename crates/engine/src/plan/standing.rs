//! What is asked for of groups that may be there without rows.

use formula::Expr;
use serde::{Deserialize, Serialize};

use super::bounds::GroupBounds;
use crate::row_errors::OnError;

/// Which groups there are besides those that have rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Standing {
    /// All rows are one group, which is there without rows too.
    pub(crate) whole: bool,
    /// A group that emptied stays.
    pub(crate) preserve: bool,
    /// A second input names groups, and their order.
    pub(crate) named: bool,
}

impl Standing {
    /// Whether a group may be there without rows.
    pub(crate) fn lasting(self) -> bool {
        self.whole || self.preserve
    }
}

/// One row a group, where groups may be there without rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StandingGroups {
    /// The keys.
    pub keys: Vec<Expr>,
    /// Expressions over aggregates.
    pub aggregates: Vec<Expr>,
    /// Whether a group that emptied stays.
    pub preserve_empty: bool,
    /// Whether a second input names groups, in their order.
    pub named: bool,
    /// What becomes of rows that cannot be computed.
    #[serde(default, skip_serializing_if = "fails")]
    pub on_error: OnError,
    /// Which groups are held.
    #[serde(default, skip_serializing_if = "GroupBounds::is_plain")]
    pub bounds: GroupBounds,
}

impl StandingGroups {
    /// How many tables it stands on.
    pub(super) fn arity(&self) -> usize {
        if self.named { 2 } else { 1 }
    }

    /// The arguments as a reader of Python knows them.
    pub(super) fn text(&self) -> String {
        let python = |all: &[Expr]| all.iter().map(Expr::to_python).collect::<Vec<_>>().join(", ");
        let flags = [(self.preserve_empty, ", preserve_empty=True"), (self.named, ", initial_groups")];
        let flags: String = flags.iter().filter(|(set, _)| *set).map(|(_, text)| *text).collect();
        format!("[{}]: {}{flags}{}", python(&self.keys), python(&self.aggregates), self.bounds.text())
    }
}

fn fails(on_error: &OnError) -> bool {
    *on_error == OnError::Fail
}
