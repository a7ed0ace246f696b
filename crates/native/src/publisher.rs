//! Publishers in Python: a function that is called as each step opens, and a note when nothing is taken in any more.

use std::sync::{Arc, Mutex};

use engine::follow::{Follower, Message};
use engine::observe::events::{self, Level};
use engine::sources::Publisher;
use graph::{lock, signals};
use pyo3::prelude::*;

use crate::ending::{self, Inside};
use crate::gil::interrupts_others;

/// The functions of a publisher, as `tickframe.publisher` hands them over.
pub struct PythonPublisher {
    name: String,
    /// Gives None, False when there is nobody to call any more, or what the log should tell.
    flush: Mutex<Option<Py<PyAny>>>,
    /// Who hears of the end, on the thread of the graph's listeners.
    end: Arc<Follower>,
}

impl PythonPublisher {
    pub fn new(name: String, flush: Option<Py<PyAny>>, end: Arc<Follower>) -> PythonPublisher {
        PythonPublisher { name, flush: Mutex::new(flush), end }
    }

    fn forget(&self) {
        let gone = lock(&self.flush).take();
        drop(gone);
    }

    fn call(&self, py: Python<'_>) {
        let Some(flush) = lock(&self.flush).as_ref().map(|flush| flush.clone_ref(py)) else { return };
        let said = ending::Function::runs(py, &self.name).and_then(|_function| flush.call0(py));
        match said {
            Ok(said) if said.extract::<bool>(py).is_ok_and(|goes_on| !goes_on) => self.forget(),
            // The log is written by a thread of its own: a handler may wait for whom the step keeps waiting.
            Ok(said) => said.extract::<String>(py).into_iter().for_each(|text| events::note(Level::Error, text)),
            // Ctrl-C during a step by hand is its caller's; the publisher keeps what it holds for the next step.
            Err(raised) if signals::poll().is_some() => interrupts_others(py, raised),
            Err(raised) => {
                events::note(Level::Error, format!("on_flush {} raised {raised}, and is called no more", self.name));
                self.forget();
            }
        }
    }
}

impl Publisher for PythonPublisher {
    fn flush(&self) {
        if lock(&self.flush).is_none() {
            return;
        }
        let _inside = Inside::enter();
        Python::try_attach(|py| self.call(py));
    }

    fn shut_down(&self) {
        self.end.note(Message::Ended);
    }
}
