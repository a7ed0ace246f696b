//! Interrupts of waiting threads and of user functions, by a signal such as Ctrl-C.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Mutex;

use formula::HostFailure;
use graph::UpdateGraph;

use crate::error::{Error, External};
use crate::threads::lock;

/// The error payload of a user function that was interrupted, or that asks for the end of the program. It is returned
/// to the caller of the step and fails no table. It holds the embedding language's own exception.
pub struct Interrupt(pub External);

/// The embedding program's check for signals; an error interrupts the waiting thread.
pub type Poll = Rc<dyn Fn() -> Result<(), Error>>;

thread_local! {
    static POLL: RefCell<Option<Poll>> = const { RefCell::new(None) };
}

/// Runs `work`; `poll` is called every 50 ms while this thread waits.
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

/// Polls for signals; an error interrupts this thread.
pub fn check() -> Result<(), Error> {
    let poll = POLL.with_borrow(Clone::clone);
    poll.map_or(Ok(()), |poll| poll())
}

/// How often an interrupted user function is called again if its operation cannot be resumed later.
const AGAIN: usize = 2;

/// The graph for whose step this thread does work that must run to its end.
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

    /// The value in force on this thread.
    pub(crate) fn current() -> Uninterrupted {
        UNINTERRUPTED.with_borrow(Clone::clone)
    }

    /// Runs `work`; user functions that are interrupted in it are called again.
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

/// Whether this thread's work must run to its end, even if it is interrupted.
pub fn is_uninterrupted() -> bool {
    UNINTERRUPTED.with_borrow(|uninterrupted| uninterrupted.0.is_some())
}

/// Calls a user function. If its operation has begun to change its state, or reads rows that are gone after the step,
/// an interrupt is reported to the caller of the step and the function is called again, so that the operation runs to
/// its end. A third interrupt fails the operation.
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
    /// Whether the error is an interrupt, which belongs to the caller and not to the table.
    pub fn is_interrupt(&self) -> bool {
        matches!(self, Error::External { payload: Some(payload), .. } if payload.is::<Interrupt>())
    }

    /// The error as the failure of a table: without a caller, an interrupt is an error of the function.
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

/// The interrupt of a graph's running step, kept for the caller of the step.
#[derive(Default)]
struct Noted(Mutex<Option<Error>>);

/// Notes an interrupt of the running step; only the first one is kept.
pub(crate) fn note(graph: &UpdateGraph, error: Error) {
    lock(&graph.extension(Noted::default).0).get_or_insert(error);
}

/// Takes the interrupt of the last step, if there was one.
pub fn take(graph: &UpdateGraph) -> Option<Error> {
    lock(&graph.extension(Noted::default).0).take()
}
