//! Waiting for the next change of a table.

use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use engine::{Delivered, Failure, Listener};
use graph::{Step, UpdateGraph};

use super::POLL;
use crate::graph::lock;

/// A listener that hears one word.
#[derive(Default)]
struct Once {
    heard: Mutex<Option<Result<u64, Arc<Failure>>>>,
    told: Condvar,
}

impl Listener for Once {
    fn on_update(&self, delivered: Arc<Delivered>) {
        lock(&self.heard).get_or_insert(Ok(delivered.step()));
        self.told.notify_all();
    }

    fn on_failure(&self, failure: Arc<Failure>) {
        lock(&self.heard).get_or_insert(Err(failure));
        self.told.notify_all();
    }
}

/// Waits until the table changes or fails.
pub fn next_change(
    table: &engine::Table,
    graph: &UpdateGraph,
    timeout: Option<Duration>,
    poll: &mut dyn FnMut() -> bool,
) -> Result<u64, engine::Error> {
    let once = Arc::new(Once::default());
    let listener: Arc<dyn Listener> = once.clone();
    let following = table.subscribe(listener, false)?;
    let begun = Instant::now();
    let outcome = loop {
        let heard = lock(&once.heard);
        if let Some(heard) = heard.clone() {
            break heard.map_err(engine::Error::TableFailed);
        }
        let waited = begun.elapsed();
        if timeout.is_some_and(|timeout| timeout <= waited) {
            break Err(engine::Error::Graph(out_of_time(graph, waited)));
        }
        let nap = timeout.map_or(POLL, |timeout| POLL.min(timeout - waited));
        drop(once.told.wait_timeout(heard, nap));
        if !poll() {
            let step = Step::new(graph.settled().number() + 1);
            break Err(engine::Error::Graph(graph::GraphError::Interrupted { step }));
        }
    };
    following.cancel();
    outcome
}

fn out_of_time(graph: &UpdateGraph, waited: Duration) -> graph::GraphError {
    let settled = graph.settled();
    let step = Step::new(settled.number() + 1);
    match graph.is_started() {
        true => graph::GraphError::Timeout { step, settled, waited },
        false => graph::GraphError::Stopped { step, settled, waited },
    }
}
