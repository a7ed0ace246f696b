//! What was asked for, as the table that was made of it knows it.

use std::cell::RefCell;
use std::sync::Arc;

use crate::error::Location;
use crate::row_errors::{Faults, OnError};

/// What an operation computes of a row.
pub trait Explain: Send + Sync + std::fmt::Debug {
    /// For each expression that is more than a column: how it is computed, and what makes it be computed again.
    fn explain(&self) -> Vec<String>;
}

/// What was asked for: the label of errors and timings, the memo key, and the node of a plan.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The method the user called, e.g. `with_columns`.
    pub name: String,
    /// Its arguments, as a plan: operation and arguments make one node serialisable.
    pub arguments: serde_json::Value,
    /// The user's own text (expression or formula), for errors.
    pub text: Option<String>,
    /// Where the user's code created it.
    pub location: Option<Location>,
    /// Whether two equal requests on the same live inputs may be one node.
    pub shareable: bool,
    /// Where it notes rows that it passes over, if it was told to.
    pub faults: Option<Faults>,
    /// Whether it runs in every step, whatever its inputs do: it hangs on the clock.
    pub timed: bool,
    /// What it computes, for whoever asks how.
    pub computed: Option<Arc<dyn Explain>>,
    /// Equal for equal plans: the operation, its arguments and those of its inputs. A source has its own.
    pub fingerprint: u128,
}

impl Request {
    /// A request that may be shared by equal requests.
    pub fn new(name: &str, arguments: serde_json::Value) -> Request {
        let location = LOCATION.with_borrow(Clone::clone);
        Request {
            name: name.into(),
            arguments,
            text: None,
            location,
            shareable: true,
            faults: None,
            timed: false,
            computed: None,
            fingerprint: next_fingerprint(),
        }
    }

    /// With the user's own text.
    pub fn with_text(mut self, text: impl Into<String>) -> Request {
        self.text = Some(text.into());
        self
    }

    /// With a place for the rows that it is told to pass over; part of what makes requests equal.
    pub fn with_on_error(mut self, on_error: OnError, faults: &Faults) -> Request {
        self.arguments = serde_json::json!([self.arguments, on_error.name()]);
        self.faults = Some(faults.clone());
        self
    }

    /// Over inputs with these prints.
    pub(crate) fn over(&self, inputs: impl Iterator<Item = u128>) -> Request {
        let inputs: Vec<u128> = inputs.collect();
        use std::hash::{Hash, Hasher};
        let half = |salt: u64| {
            let mut hasher = std::hash::DefaultHasher::new();
            (salt, &self.name, self.arguments.to_string()).hash(&mut hasher);
            inputs.iter().for_each(|input| input.hash(&mut hasher));
            u128::from(hasher.finish())
        };
        Request { fingerprint: half(0) << 64 | half(1), ..self.clone() }
    }

    /// `name(arguments)`: how errors and timings call this node.
    pub fn label(&self) -> String {
        match &self.text {
            Some(text) => format!("{}({text})", self.name),
            None => self.name.clone(),
        }
    }

    pub(crate) fn memo_key(&self) -> Option<String> {
        self.shareable.then(|| format!("{}{}", self.name, self.arguments))
    }
}

/// A number that no other source has.
fn next_fingerprint() -> u128 {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    u128::from(NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
}

thread_local! {
    static LOCATION: RefCell<Option<Location>> = const { RefCell::new(None) };
}

/// Says where the user's code stands, for the requests this thread makes from here on.
pub fn set_location(location: Option<Location>) {
    LOCATION.set(location);
}
