//! Errors of an expression, and of one row of its evaluation.

use thiserror::Error;

use crate::missing::NoColumn;
use crate::tree::payload::Payload;

/// An expression that cannot be bound to a table's columns.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Error {
    /// A name that is no column.
    #[error("{0}")]
    UnknownColumn(NoColumn),
    /// A function that does not take these types.
    #[error("{function} does not take {}: {advice}", .types.join(" and "))]
    Type {
        /// The function or operator, as the user wrote it.
        function: String,
        /// The types it was given.
        types: Vec<String>,
        /// What to do about it.
        advice: String,
    },
    /// A function called with the wrong number of arguments.
    #[error("{function} takes {takes}, not {given}")]
    Arguments {
        /// The function or operator, as the user wrote it.
        function: String,
        /// How many it takes, in words.
        takes: &'static str,
        /// How many it was given.
        given: usize,
    },
    /// A parameter that is not acceptable: a pattern, a duration, a zone.
    #[error("{function}: {message}")]
    Parameter {
        /// The function, as the user wrote it.
        function: String,
        /// What is wrong with the parameter.
        message: String,
    },
    /// A constant part of the expression that has no value.
    #[error("in {expression}: {message}")]
    Constant {
        /// The constant part.
        expression: String,
        /// Why it has no value.
        message: String,
    },
    /// A constant part of the expression for which there is no memory.
    #[error("{}{message}", if .expression.is_empty() { String::new() } else { format!("in {expression}: ") })]
    Exhausted {
        /// The constant part.
        expression: String,
        /// Limit and need.
        message: String,
    },
    /// An aggregate where a value of each row is wanted.
    #[error(
        "{name}() aggregates many rows and has no value in one: use it in agg_by or group_by(...).agg, or over(...)"
    )]
    UnexpectedAggregate {
        /// The aggregate.
        name: &'static str,
    },
    /// A mistake in the text of a formula.
    #[error("{message}")]
    Formula {
        /// What is wrong.
        message: String,
    },
    /// What an expression can say and no operation evaluates.
    #[error("{what} is not evaluated here: {advice}")]
    Unsupported {
        /// The part of the expression.
        what: String,
        /// What to do instead.
        advice: &'static str,
    },
    /// Values are compared that are categories with an order of their own.
    #[error(
        "{function} compares {values}, whose categories have an order of their own (Enum, ordered Categorical) that no \
         operation goes by; take a column of their places instead (polars .to_physical(), pandas .cat.codes), or compare \
         them as texts, by their letters: .cast(String)"
    )]
    OwnOrder {
        /// What compares, as the user wrote it.
        function: String,
        /// What is compared, as an expression.
        values: String,
    },
    /// A conditional without a branch.
    #[error("when needs at least one condition with its then")]
    NoBranch,
    /// Nesting beyond the limit.
    #[error("the expression is nested more than {limit} deep: name parts of it with with_columns first")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// Size beyond the limit.
    #[error("the expression has more than {limit} parts: name parts of it with with_columns first")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
}

/// A row in which an expression has no value: a failed strict cast, an overflow of time or decimals.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("{message} ({}in {expression})", if .value.is_empty() { String::new() } else { format!("value {}, ", .value) })]
pub struct RowError {
    /// The row within the chunk.
    pub row: usize,
    /// The offending value as text.
    pub value: String,
    /// What is wrong with it.
    pub message: String,
    /// The part of the expression that failed.
    pub expression: String,
    /// What a function of the host wants back: its own exception.
    pub payload: Option<Payload>,
}
