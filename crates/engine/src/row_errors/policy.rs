//! The policy for rows that cannot be computed: `on_error`.

/// The policy for a row that an operation cannot compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// The table fails.
    #[default]
    Fail,
    /// The cell is null; in a filter the row does not pass.
    Null,
    /// The row is left out, until a change makes it computable.
    Drop,
}

impl OnError {
    /// The name in requests and memo keys.
    pub fn name(self) -> &'static str {
        match self {
            OnError::Fail => "fail",
            OnError::Null => "null",
            OnError::Drop => "drop",
        }
    }
}
