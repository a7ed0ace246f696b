//! The journal that a durable source tells what it stored.

use std::sync::Arc;
use std::time::Duration;

use engine::sources::{Follower, Journal, Stored};
use graph::Step;

use crate::writer::Shared;

/// The log of a graph, as its sources see it.
pub(crate) struct Keeps(pub(crate) Arc<Shared>);

impl Follower for Keeps {
    fn stored(&self, stored: Stored) {
        self.0.stored(stored);
    }
}

impl Journal for Keeps {
    fn admit(&self, operation: &str) -> Result<(), engine::Error> {
        self.0.admit(operation)
    }

    fn wait(&self, step: Step, timeout: Option<Duration>, poll: &mut dyn FnMut() -> bool) -> Result<(), engine::Error> {
        self.0.wait(step.number(), timeout, poll)
    }
}
