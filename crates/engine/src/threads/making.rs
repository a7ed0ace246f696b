//! What a function of the user makes while it works for a partitioned table: in which step, and of what.

use std::any::Any;
use std::cell::RefCell;
use std::collections::HashSet;

use graph::{Step, UpdateGraph};

use crate::error::Error;

/// What a function that runs on this thread makes tables of. A table is known by a number that no other has.
struct Making {
    /// The graph and its running step, as of whose end it makes them; none if no step runs for it.
    step: Option<(u64, Step)>,
    /// Tables that it read and did not make.
    read: Vec<Box<dyn Any>>,
    /// What it made, and was given.
    own: HashSet<usize>,
}

thread_local! {
    static MAKING: RefCell<Option<Making>> = const { RefCell::new(None) };
}

/// Runs a function of the user that is given tables and makes others of them, in a step or outside of one; what it makes,
/// and which others it read for that.
pub(crate) fn making<R>(
    step: Option<(&UpdateGraph, Step)>,
    given: impl Iterator<Item = usize>,
    function: impl FnOnce() -> Result<R, Error>,
) -> Result<(R, Vec<Box<dyn Any>>), Error> {
    /// Puts back what was there, also when the function panics.
    struct Back(Option<Making>);
    impl Drop for Back {
        fn drop(&mut self) {
            MAKING.set(self.0.take());
        }
    }
    let step = step.map(|(graph, step)| (graph.id(), step));
    let _back = Back(MAKING.replace(Some(Making { step, read: Vec::new(), own: given.collect() })));
    let made = function()?;
    let read = MAKING.take().map(|making| making.read);
    Ok((made, read.unwrap_or_default()))
}

/// The running step of this graph for which this thread makes tables.
pub(crate) fn running(graph: &UpdateGraph) -> Option<Step> {
    MAKING.with_borrow(|making| making.as_ref()?.step.filter(|(id, _)| *id == graph.id()).map(|(_, step)| step))
}

/// Notes that a table was made of these.
pub(crate) fn note<'a, T: Clone + 'static>(inputs: impl Iterator<Item = (usize, &'a T)>, made: usize) {
    MAKING.with_borrow_mut(|making| {
        let Some(Making { read, own, .. }) = making else { return };
        for (number, input) in inputs {
            if own.insert(number) {
                read.push(Box::new(input.clone()));
            }
        }
        own.insert(made);
    });
}
