//! What messages, metrics and the memo know of the request of which a table was made.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::BufWriter;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

use crate::row_errors::{OnError, RowErrors};

/// What an operation computes of a row.
pub trait Explain: Send + Sync + std::fmt::Debug {
    /// For each expression that is more than a column: how it is computed, and what makes it be computed again.
    fn explain(&self) -> Vec<String>;
}

/// A request: it labels errors and timings, and tells what is asked for from anything else.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method the user called, e.g. `with_columns`.
    pub name: String,
    /// The user's own text (expression or formula), for errors.
    pub text: Option<String>,
    /// Whether two equal requests on the same live inputs may be one node.
    pub shareable: bool,
    /// The recorder of skipped rows, if the request has `on_error`.
    pub row_errors: Option<RowErrors>,
    /// Whether the operation depends on the clock, and so runs in every step.
    pub timed: bool,
    /// What it computes, for whoever asks how.
    pub computed: Option<Arc<dyn Explain>>,
    /// A 128-bit number of the method and what is asked for; with inputs, of those too. Every source has a unique one.
    pub fingerprint: u128,
}

impl Request {
    /// A request of this method for what `asked` says. It may be shared by equal requests.
    pub fn new(name: &str, asked: &impl Serialize) -> Request {
        Request { shareable: true, fingerprint: fingerprint(&(name, asked)), ..Request::unique(name) }
    }

    /// A request that no other is equal to: of a source, or of what is made in one place.
    pub fn unique(name: &str) -> Request {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Request {
            name: name.into(),
            text: None,
            shareable: false,
            row_errors: None,
            timed: false,
            computed: None,
            fingerprint: u128::from(NEXT.fetch_add(1, Ordering::Relaxed)),
        }
    }

    /// With the user's own text.
    pub fn with_text(mut self, text: impl Into<String>) -> Request {
        self.text = Some(text.into());
        self
    }

    /// Sets `on_error` and the recorder of skipped rows. A request with another policy is another request.
    pub fn with_on_error(mut self, on_error: OnError, row_errors: &RowErrors) -> Request {
        self.fingerprint = fingerprint(&(self.fingerprint, on_error));
        self.row_errors = Some(row_errors.clone());
        self
    }

    /// As one that no other is equal to.
    pub(crate) fn alone(&self) -> Request {
        let Request { shareable, fingerprint, .. } = Request::unique(&self.name);
        Request { shareable, fingerprint, ..self.clone() }
    }

    /// Over inputs with these prints.
    pub(crate) fn over(&self, inputs: impl Iterator<Item = u128>) -> Request {
        let inputs: Vec<u128> = inputs.collect();
        Request { fingerprint: fingerprint(&(self.fingerprint, inputs)), ..self.clone() }
    }

    /// `name(arguments)`: the node's label in errors and timings.
    pub fn label(&self) -> String {
        match &self.text {
            Some(text) => format!("{}({text})", self.name),
            None => self.name.clone(),
        }
    }
}

/// Bytes that are hashed at once.
const BUFFERED: usize = 512;

/// A 128-bit number of a value: equal for equal values, and for no others that anybody meets.
fn fingerprint(value: &impl Serialize) -> u128 {
    /// Hashes what is written to it.
    #[derive(Debug)]
    struct Writer([DefaultHasher; 2]);
    impl std::io::Write for Writer {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.iter_mut().for_each(|half| half.write(bytes));
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let writer = Writer([0_u64, 1].map(|salt| {
        let mut hasher = DefaultHasher::new();
        salt.hash(&mut hasher);
        hasher
    }));
    // It is written in pieces of a few bytes, which cost a hasher as much as many.
    let mut buffered = BufWriter::with_capacity(BUFFERED, writer);
    serde_json::to_writer(&mut buffered, value).expect("what is asked for is written");
    let writer = buffered.into_inner().expect("a hasher takes all");
    let [one, other] = writer.0.map(|half| u128::from(half.finish()));
    one << 64 | other
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_by_one_method_of_the_same_inputs_is_one() {
        let print = |name: &str, asked: &[i64], inputs: &[u128]| {
            Request::new(name, &asked).over(inputs.iter().copied()).fingerprint
        };
        assert_eq!(print("head", &[1], &[7, 8]), print("head", &[1], &[7, 8]));
        let others =
            [("tail", &[1][..], &[7, 8][..]), ("head", &[2], &[7, 8]), ("head", &[1], &[8, 7]), ("head", &[1], &[7])];
        for (name, asked, inputs) in others {
            assert_ne!(print("head", &[1], &[7, 8]), print(name, asked, inputs));
        }
        let with = |on_error| Request::new("filter", &1).with_on_error(on_error, &RowErrors::of("filter")).fingerprint;
        assert_ne!(with(OnError::Null), with(OnError::Drop));
        assert_ne!(Request::unique("table").fingerprint, Request::unique("table").fingerprint);
    }
}
