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

impl LiveSet {
    /// A set that is a place among the inputs of an operation.
    pub fn placed(at: usize) -> LiveSet {
        LiveSet { id: at as u128, text: format!("input {at}").into(), payload: Payload(Arc::new(())) }
    }
}

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

/// What is read has no set behind it. Whoever reads an expression says what its sets are, or refuses it.
impl<'de> Deserialize<'de> for LiveSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LiveSet, D::Error> {
        let text = String::deserialize(deserializer)?;
        let id = u128::from_str_radix(&text, 16).map_err(serde::de::Error::custom)?;
        Ok(LiveSet { id, text: format!("input {id}").into(), payload: Payload(Arc::new(())) })
    }
}
