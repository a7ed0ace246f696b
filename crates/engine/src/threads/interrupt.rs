//! Interrupts: how a thread that waits asks whether to go on, and what an interrupted function leaves.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Mutex;

use formula::HostFailure;
use graph::UpdateGraph;

use crate::error::{Error, External};
use crate::threads::lock;

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

/// So often a function that is interrupted is called again, where its operation cannot be run again later.
const AGAIN: usize = 2;

/// The graph of whose step this thread does a part that must come to its end.
#[derive(Clone, Default)]
pub(crate) struct Uninterrupted(Option<UpdateGraph>);

thread_local! {
    static UNINTERRUPTED: RefCell<Uninterrupted> = RefCell::default();
}

impl Uninterrupted {
    /// In a step of `graph`.
    pub(crate) fn of(graph: &UpdateGraph) -> Uninterrupted {
        Uninterrupted(Some(graph.clone()))
    }

    /// What is in force on this thread.
    pub(crate) fn current() -> Uninterrupted {
        UNINTERRUPTED.with_borrow(Clone::clone)
    }

    /// Runs `work`, in which functions that are interrupted are called again.
    pub(crate) fn enter<R>(&self, work: impl FnOnce() -> R) -> R {
        /// Puts back what was there, also when `work` panics.
        struct Back(Uninterrupted);
        impl Drop for Back {
            fn drop(&mut self) {
                UNINTERRUPTED.set(std::mem::take(&mut self.0));
            }
        }
        let _back = Back(UNINTERRUPTED.replace(self.clone()));
        work()
    }
}

/// Whether what this thread does must come to its end, though it is interrupted.
pub fn is_uninterrupted() -> bool {
    UNINTERRUPTED.with_borrow(|uninterrupted| uninterrupted.0.is_some())
}

/// Calls a function of the user. Where its operation has begun to change what it keeps, or reads rows that are gone with
/// the step, an interrupt is told to whoever asked for the step, and the function is called again, so that the operation
/// comes to its end; one that is interrupted a third time fails it.
pub fn call<R>(mut function: impl FnMut() -> Result<R, HostFailure>) -> Result<R, HostFailure> {
    let mut outcome = function();
    for _ in 0..AGAIN {
        let Err(failure) = &outcome else { break };
        let Uninterrupted(Some(graph)) = Uninterrupted::current() else { break };
        if !failure.payload.0.is::<Interrupt>() {
            break;
        }
        let payload = Some(failure.payload.0.clone());
        note(&graph, Error::External { message: failure.message.clone(), payload });
        outcome = function();
    }
    outcome
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
    lock(&graph.extension(Noted::default).0).get_or_insert(error);
}

/// What interrupted the last step, once.
pub fn take(graph: &UpdateGraph) -> Option<Error> {
    lock(&graph.extension(Noted::default).0).take()
}
