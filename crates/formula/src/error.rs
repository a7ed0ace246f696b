//! Errors of an expression, and of one row of its evaluation.

use thiserror::Error;

use crate::tree::payload::Payload;

/// An expression that cannot be bound to a table's columns.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum Error {
    /// A name that is no column.
    #[error("no column \"{name}\"{}; valid columns: {}", suggestion(.nearest), listed(.valid))]
    UnknownColumn {
        /// The name asked for.
        name: String,
        /// The columns there are, nearest name first.
        valid: Vec<String>,
        /// The name that was probably meant.
        nearest: Option<String>,
    },
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

fn suggestion(nearest: &Option<String>) -> String {
    nearest.as_ref().map_or_else(String::new, |name| format!(", did you mean \"{name}\"?"))
}

fn listed(names: &[String]) -> String {
    const SHOWN: usize = 20;
    let mut text = names.iter().take(SHOWN).map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    if names.is_empty() {
        text.push_str("none");
    }
    text
}

/// The error of a name that is none of `valid`, which it lists nearest first.
pub(crate) fn unknown_column<'a>(name: &str, valid: impl Iterator<Item = &'a str>) -> Error {
    // A name beyond any that was meant is not compared: it costs time and has no neighbour.
    let distance = |other: &str| if name.len().max(other.len()) > 256 { usize::MAX } else { edits(name, other) };
    // Columns that an operation made for itself are nobody's to name.
    let valid = valid.filter(|other| !crate::tree::name::is_hidden(other));
    let mut ranked: Vec<(usize, &str)> = valid.map(|other| (distance(other), other)).collect();
    ranked.sort_by_key(|(distance, _)| *distance);
    let close = tolerated(name);
    let nearest = ranked.first().filter(|(distance, _)| *distance <= close).map(|(_, other)| (*other).to_owned());
    Error::UnknownColumn {
        name: name.to_owned(),
        valid: ranked.iter().map(|(_, other)| (*other).to_owned()).collect(),
        nearest,
    }
}

/// The one of `valid` that was probably meant.
pub(crate) fn nearest<'a>(name: &str, valid: impl Iterator<Item = &'a str>) -> Option<String> {
    const LONGEST: usize = 64;
    if name.len() > LONGEST {
        return None;
    }
    let ranked = valid.filter(|other| other.len() <= LONGEST).map(|other| (edits(name, other), other));
    let (distance, other) = ranked.min_by_key(|(distance, other)| (*distance, *other))?;
    (distance <= tolerated(name)).then(|| other.to_owned())
}

/// How many edits away a name may be and still be meant.
fn tolerated(name: &str) -> usize {
    let length = name.chars().count();
    (length / 3).max(1).min(length.saturating_sub(1))
}

/// Edits from one name to another (Damerau: two swapped letters are one edit); case does not count.
fn edits(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) =
        (from.to_lowercase().chars().collect(), to.to_lowercase().chars().collect());
    let mut older: Vec<usize> = Vec::new();
    let mut old: Vec<usize> = (0..=to.len()).collect();
    for i in 0..from.len() {
        let mut row = vec![i + 1];
        for j in 0..to.len() {
            let replaced = old[j] + usize::from(from[i] != to[j]);
            let mut least = replaced.min(old[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && from[i] == to[j - 1] && from[i - 1] == to[j] {
                least = least.min(older[j - 1] + 1);
            }
            row.push(least);
        }
        older = std::mem::replace(&mut old, row);
    }
    old[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_comes_first_and_is_suggested() {
        let error = unknown_column("pirce", ["size", "price", "Sym"].into_iter());
        assert_eq!(
            error.to_string(),
            "no column \"pirce\", did you mean \"price\"?; valid columns: \"price\", \"size\", \"Sym\""
        );
        let error = unknown_column("prices", ["size", "Price", "Sym"].into_iter());
        assert_eq!(
            error.to_string(),
            "no column \"prices\", did you mean \"Price\"?; valid columns: \"Price\", \"size\", \"Sym\""
        );
        let error = unknown_column("x", std::iter::empty());
        assert_eq!(error.to_string(), "no column \"x\"; valid columns: none");
    }
}
