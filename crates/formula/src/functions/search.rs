//! Searching in strings: where, how often, and what a group of a pattern holds.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use regex::Regex;

use super::text::{Pattern, Strings, build};
use crate::node::Whole;

/// Counts a row at a time; null where there is no answer.
fn counted(rows: usize, count: impl FnMut(usize) -> Option<i64>) -> ArrayRef {
    Arc::new((0..rows).map(count).collect::<Int64Array>())
}

/// Bytes before the first match, null without one.
pub(crate) fn find(pattern: Pattern) -> Whole {
    Arc::new(move |args, rows| {
        let texts = Strings::of(&args[0]);
        Ok(counted(rows, |row| {
            let text = texts.get(row)?;
            let at = match &pattern {
                Pattern::Literal(pattern) => text.find(pattern.as_str()),
                Pattern::Regex(pattern) => pattern.find(text).map(|found| found.start()),
            };
            at.map(|at| at as i64)
        }))
    })
}

/// Characters before the first occurrence of the second argument, −1 without one.
pub(crate) fn index_of() -> Whole {
    Arc::new(|args, rows| {
        let (texts, parts) = (Strings::of(&args[0]), Strings::of(&args[1]));
        Ok(counted(rows, |row| {
            let (text, part) = (texts.get(row)?, parts.get(row)?);
            Some(text.find(part).map_or(-1, |at| text[..at].chars().count() as i64))
        }))
    })
}

/// How often the pattern is found, matches not overlapping.
pub(crate) fn count_matches(pattern: Pattern) -> Whole {
    Arc::new(move |args, rows| {
        let texts = Strings::of(&args[0]);
        Ok(counted(rows, |row| {
            let text = texts.get(row)?;
            let count = match &pattern {
                Pattern::Literal(pattern) => text.matches(pattern.as_str()).count(),
                Pattern::Regex(pattern) => pattern.find_iter(text).count(),
            };
            Some(count as i64)
        }))
    })
}

/// What a group of the first match holds; null without a match, and where the group takes no part in it.
pub(crate) fn extract(pattern: Regex, group: usize) -> Whole {
    Arc::new(move |args, rows| {
        let texts = Strings::of(&args[0]);
        build(rows, |row, out| {
            let found = pattern.captures(texts.get(row)?)?;
            out.push_str(found.get(group)?.as_str());
            Some(())
        })
    })
}
