//! Searching in strings: where, how often, and what a group of a pattern holds.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, Int64Array};
use arrow_schema::{DataType, Field};
use regex::Regex;

use super::text::{Pattern, Strings, build};
use crate::node::Whole;

/// Counts a row at a time; null where there is no answer.
fn counted(rows: usize, count: impl FnMut(usize) -> Option<i64>) -> ArrayRef {
    Arc::new((0..rows).map(count).collect::<Int64Array>())
}

/// The type of a list of strings that a function makes.
pub(crate) fn list_of_text() -> DataType {
    DataType::List(Arc::new(Field::new_list_field(DataType::Utf8, true)))
}

/// The parts between occurrences of the second argument; an empty one splits into characters.
pub(crate) fn split() -> Whole {
    Arc::new(|args, rows| {
        let (texts, separators) = (Strings::of(&args[0]), Strings::of(&args[1]));
        let mut lists = ListBuilder::new(StringBuilder::new());
        for row in 0..rows {
            match (texts.get(row), separators.get(row)) {
                (Some(text), Some("")) => {
                    text.char_indices()
                        .for_each(|(at, one)| lists.values().append_value(&text[at..at + one.len_utf8()]));
                    lists.append(true);
                }
                (Some(text), Some(by)) => {
                    text.split(by).for_each(|part| lists.values().append_value(part));
                    lists.append(true);
                }
                _ => lists.append(false),
            }
        }
        Ok(Arc::new(lists.finish()))
    })
}

/// All matches, not overlapping.
pub(crate) fn extract_all(pattern: Regex) -> Whole {
    Arc::new(move |args, rows| {
        let texts = Strings::of(&args[0]);
        let mut lists = ListBuilder::new(StringBuilder::new());
        for row in 0..rows {
            if let Some(text) = texts.get(row) {
                pattern.find_iter(text).for_each(|found| lists.values().append_value(found.as_str()));
            }
            lists.append(texts.get(row).is_some());
        }
        Ok(Arc::new(lists.finish()))
    })
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
