//! Opaque payloads that this crate passes through unchanged: an exception of the host, a live set of the engine.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// Something the host wants back unchanged.
#[derive(Clone)]
pub struct Payload(pub Arc<dyn Any + Send + Sync>);

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Payload")
    }
}
