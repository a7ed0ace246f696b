//! The request of which a table was made.

use std::cell::RefCell;
use std::sync::Arc;

use crate::error::Location;
use crate::row_errors::{Faults, OnError};

/// What an operation computes of a row.
pub trait Explain: Send + Sync + std::fmt::Debug {
    /// For each expression that is more than a column: how it is computed, and what makes it be computed again.
    fn explain(&self) -> Vec<String>;
}

/// A request: the operation and its arguments. It labels errors and timings, is the memo key, and is a node of the
/// plan.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The method the user called, e.g. `with_columns`.
    pub name: String,
    /// The arguments in serialisable form.
    pub arguments: serde_json::Value,
    /// The user's own text (expression or formula), for errors.
    pub text: Option<String>,
    /// Where the user's code created it.
    pub location: Option<Location>,
    /// Whether two equal requests on the same live inputs may be one node.
    pub shareable: bool,
    /// The recorder of skipped rows, if the request has `on_error`.
    pub faults: Option<Faults>,
    /// Whether the operation depends on the clock, and so runs in every step.
    pub timed: bool,
    /// What it computes, for whoever asks how.
    pub computed: Option<Arc<dyn Explain>>,
    /// A 128-bit fingerprint of the plan: operation, arguments, inputs. Every source has a unique one.
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

    /// Sets `on_error` and the recorder of skipped rows. The policy is part of the memo key.
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

    /// `name(arguments)`: the node's label in errors and timings.
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

/// Sets the user's code location for the requests that this thread makes from here on.
pub fn set_location(location: Option<Location>) {
    LOCATION.set(location);
}
