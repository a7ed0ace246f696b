//! Operations that find the world changed when they have started: cycles run between what they read and their joining.
//!
//! In a graph that runs by itself that is a matter of luck. Here it is made to happen, and comes again with its tape.

use std::cell::RefCell;

use engine::{Change, Error, Table, TableUpdate, attach};
use engine::{Input, Live, Operation, Request, Start};
use graph::{Moment, Step};

type Happening = Box<dyn FnMut()>;

thread_local! {
    static HAPPENING: RefCell<Option<Happening>> = const { RefCell::new(None) };
}

/// Lets `happening` happen whenever an operation attached by `body` has read its inputs, and has not joined yet.
pub fn amid<R>(happening: impl FnMut() + 'static, body: impl FnOnce() -> R) -> R {
    /// Takes it away, also when `body` panics.
    struct Over;
    impl Drop for Over {
        fn drop(&mut self) {
            HAPPENING.take();
        }
    }
    let _over = Over;
    HAPPENING.set(Some(Box::new(happening)));
    body()
}

/// Not while it happens already: the cycles it runs are those of other nodes.
fn happen() {
    if let Some(mut happening) = HAPPENING.take() {
        happening();
        HAPPENING.set(Some(happening));
    }
}

/// As the engine's own `attach`, amid what happens.
pub fn start(operation: &dyn Operation, inputs: &[Table]) -> Result<Table, Error> {
    if HAPPENING.with_borrow(Option::is_none) {
        return attach(operation, inputs);
    }
    attach(&Disturbed(operation), inputs)
}

struct Disturbed<'a>(&'a dyn Operation);

impl Operation for Disturbed<'_> {
    fn request(&self) -> &Request {
        self.0.request()
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let Start { parts, live, owned } = self.0.init(inputs, at)?;
        happen();
        Ok(Start { parts, live: Box::new(DisturbedLive(live)), owned })
    }
}

struct DisturbedLive(Box<dyn Live>);

impl Live for DisturbedLive {
    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let update = self.0.update(inputs, step);
        // Only while it catches up: a node that has joined runs where nothing happens.
        happen();
        update
    }
}
