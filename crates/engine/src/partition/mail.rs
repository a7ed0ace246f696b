//! What a hub leaves for its constituents.

use std::sync::Mutex;

use graph::Step;
use rowset::{Before, RowSet};

use crate::threads::lock;

/// What of a change concerns one constituent; rows that move are known from the change.
#[derive(Default)]
pub(super) struct Part {
    /// In row keys before the step.
    pub(super) removed: Before,
    pub(super) added: RowSet,
    pub(super) modified: RowSet,
}

/// Where a hub leaves the part of a step for its constituent.
#[derive(Default)]
pub(super) struct Mail(Mutex<Option<(Step, Part)>>);

impl Mail {
    pub(super) fn leave(&self, step: Step, part: Part) {
        *lock(&self.0) = Some((step, part));
    }

    pub(super) fn take(&self, step: Step) -> Option<Part> {
        lock(&self.0).take().filter(|(of, _)| *of == step).map(|(_, part)| part)
    }
}
