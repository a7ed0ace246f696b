//! Waiting for the next change of a table.

use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use graph::{Step, UpdateGraph};

use crate::error::{Error, Failure};
use crate::follow::listener::{Listener, UpdateEvent};
use crate::table::handle::Table;
use crate::threads::lock;

type Answer = Option<Result<u64, Error>>;

/// A listener that waits for one event.
#[derive(Default)]
struct Once {
    heard: Mutex<Answer>,
    told: Condvar,
}

impl Once {
    fn lock(&self) -> MutexGuard<'_, Answer> {
        lock(&self.heard)
    }
}

impl Listener for Once {
    fn on_update(&self, delivered: Arc<UpdateEvent>) {
        self.lock().get_or_insert(Ok(delivered.step()));
        self.told.notify_all();
    }

    fn on_failure(&self, failure: Arc<Failure>) {
        self.lock().get_or_insert(Err(Error::TableFailed(failure)));
        self.told.notify_all();
    }

    fn on_end(&self) {
        self.lock().get_or_insert_with(|| Err(Error::invalid("wait", "the table was closed; it will never change")));
        self.told.notify_all();
    }
}

/// Waits until the table changes, and returns the step. Fails if the table fails. `poll` is called at intervals; its
/// error ends the wait.
pub fn next_change(
    table: &Table,
    graph: &UpdateGraph,
    timeout: Option<Duration>,
    every: Duration,
    poll: &mut dyn FnMut() -> bool,
) -> Result<u64, Error> {
    let once = Arc::new(Once::default());
    let listener: Arc<dyn Listener> = once.clone();
    let following = table.subscribe(listener, false)?;
    let begun = Instant::now();
    let outcome = loop {
        let heard = once.lock();
        if let Some(heard) = heard.clone() {
            break heard;
        }
        let waited = begun.elapsed();
        if timeout.is_some_and(|timeout| timeout <= waited) {
            break Err(Error::Graph(out_of_time(graph, waited)));
        }
        let nap = timeout.map_or(every, |timeout| every.min(timeout - waited));
        drop(once.told.wait_timeout(heard, nap));
        if !poll() {
            let step = Step::new(graph.settled().number() + 1);
            break Err(Error::Graph(graph::GraphError::Interrupted { step }));
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
