//! Interrupts: how a thread that waits asks whether to go on, and what an interrupted function leaves.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use graph::UpdateGraph;

use crate::companion;
use crate::error::{Error, External};

/// Payload of the error of a user's function that was interrupted, or that asks for the end of the program. It is the
/// caller's, and fails no table: inside is what the embedding language wants back.
pub struct Interrupt(pub External);

/// Asks the embedding program whether this thread may go on waiting; the error is what interrupts it.
pub type Poll = Rc<dyn Fn() -> Result<(), Error>>;

thread_local! {
    static POLL: RefCell<Option<Poll>> = const { RefCell::new(None) };
}

/// Runs `work`; where it waits on this thread, `poll` is asked every 50 ms.
pub fn polled<R>(poll: Poll, work: impl FnOnce() -> R) -> R {
    /// Puts back what was there, also when `work` panics.
    struct Back(Option<Poll>);
    impl Drop for Back {
        fn drop(&mut self) {
            POLL.set(self.0.take());
        }
    }
    let _back = Back(POLL.replace(Some(poll)));
    work()
}

/// Whether this thread may go on waiting.
pub(crate) fn check() -> Result<(), Error> {
    let poll = POLL.with_borrow(Clone::clone);
    poll.map_or(Ok(()), |poll| poll())
}

impl Error {
    /// Whether it is an interrupt: the caller's, not the table's.
    pub fn is_interrupt(&self) -> bool {
        matches!(self, Error::External { payload: Some(payload), .. } if payload.is::<Interrupt>())
    }

    /// As the failure of a table: where nobody called, an interrupt is an error of the function.
    pub(crate) fn of_the_table(self) -> Error {
        match self {
            Error::External { message, payload: Some(payload) } => {
                let inner = payload.downcast_ref::<Interrupt>().map(|interrupt| interrupt.0.clone());
                Error::External { message, payload: Some(inner.unwrap_or(payload)) }
            }
            other => other,
        }
    }
}

/// What interrupted the running step of a graph, for whoever asked for the step.
#[derive(Default)]
struct Noted(Mutex<Option<Error>>);

/// The step that runs was interrupted; the first interrupt counts.
pub(crate) fn note(graph: &UpdateGraph, error: Error) {
    let noted = companion::of(graph, Noted::default);
    lock(&KEPT).push(noted.clone());
    lock(&noted.0).get_or_insert(error);
}

/// What interrupted the last step, once.
pub fn take(graph: &UpdateGraph) -> Option<Error> {
    if lock(&KEPT).is_empty() {
        return None;
    }
    let noted = companion::of(graph, Noted::default);
    lock(&KEPT).retain(|kept| !Arc::ptr_eq(kept, &noted));
    lock(&noted.0).take()
}

/// Those that have something to tell: a companion lives as long as somebody holds it.
static KEPT: Mutex<Vec<Arc<Noted>>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
