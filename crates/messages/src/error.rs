//! Why a message is refused.

/// Why a message is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// It is not what the format wants.
    #[error("{0}")]
    Malformed(String),
    /// It holds more than may be held.
    #[error(transparent)]
    Exhausted(#[from] limits::Exhausted),
}

/// A message that is not what the format wants.
pub(crate) fn malformed<T>(why: impl ToString) -> Result<T, Fault> {
    Err(Fault::Malformed(why.to_string()))
}
