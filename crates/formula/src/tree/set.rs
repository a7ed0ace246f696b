//! Sets that live elsewhere: the values of a table's column as they are at every step.
//!
//! This crate knows no tables. The engine says what the set is and gets it back when it plans the expression; nothing
//! else can evaluate it.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::tree::payload::Payload;

/// A set by what the engine knows it by.
#[derive(Clone, Debug)]
pub struct LiveSet {
    /// Equal for the same set.
    pub id: u128,
    /// How it is shown.
    pub text: Arc<str>,
    /// The set.
    pub payload: Payload,
}

/// A table that a name of the caller means: the set that it is, or why it is none.
pub type NamedSet = Result<LiveSet, String>;

impl PartialEq for LiveSet {
    fn eq(&self, other: &LiveSet) -> bool {
        self.id == other.id
    }
}

impl Serialize for LiveSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{:x}", self.id))
    }
}

impl<'de> Deserialize<'de> for LiveSet {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<LiveSet, D::Error> {
        Err(serde::de::Error::custom("a live set is a table of one process; an expression with it is not written down"))
    }
}
