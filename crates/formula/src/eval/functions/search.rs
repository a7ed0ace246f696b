//! Searching in strings: where, how often, and what a group of a pattern holds.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, Int64Array};
use arrow_schema::{DataType, Field};
use limits::Exhausted;
use regex::Regex;

use super::built::{LONGEST, SMALL};
use super::declared::{FunctionSpec, method, named};
use super::text::{Pattern, Strings, build};
use crate::eval::node::{Failure, Whole};
use crate::tree::family::Family;
use crate::tree::function::{Function, Text};
use crate::tree::payload::Payload;

pub(crate) const FUNCTIONS: &[FunctionSpec] = &[
    method(Function::Text(Text::Find { literal: false }), "str.find", (2, 2, "a string and a pattern"), |b, c| {
        b.of_pattern(c, find, DataType::Int64)
    })
    .always(Family::Integer)
    .shown_by(r#"col("s").str.find("[0-9]")"#),
    method(Function::Text(Text::IndexOf), "str.index_of", (2, 2, "two strings"), |b, c| {
        b.of_strings(c, index_of(), DataType::Int64)
    })
    .always(Family::Integer)
    .shown_by(r#"col("s").str.index_of("b")"#)
    .in_formulas(&[named(
        "indexOf",
        "indexOf(s, `tables`)",
        "position of the first occurrence, -1 if there is none",
    )]),
    method(
        Function::Text(Text::CountMatches { literal: false }),
        "str.count_matches",
        (2, 2, "a string and a pattern"),
        |b, c| b.of_pattern(c, count_matches, DataType::Int64),
    )
    .always(Family::Integer)
    .shown_by(r#"col("s").str.count_matches("[0-9]")"#),
    method(Function::Text(Text::Split), "str.split", (2, 2, "two strings"), |b, c| {
        b.of_strings(c, split(), list_of_text())
    })
    .always(Family::List)
    .shown_by(r#"col("s").str.split(" ")"#)
    .in_formulas(&[named("split", "split(s, ` `)", "the parts between a text, as a list")]),
    method(Function::Text(Text::ExtractAll), "str.extract_all", (2, 2, "a string and a pattern"), |b, c| {
        b.of_regex(c, |regex, _| Ok(extract_all(regex)), list_of_text())
    })
    .always(Family::List)
    .shown_by(r#"col("s").str.extract_all("[0-9]+")"#),
    method(Function::Text(Text::Extract { group: 1 }), "str.extract", (2, 2, "a string and a pattern"), |b, c| {
        b.of_regex(c, |regex, pattern| group(regex, pattern, c.number("group_index")), DataType::Utf8View)
    })
    .always(Family::Text)
    .shown_by(r#"col("s").str.extract("([0-9]+)")"#),
];

/// What a group holds, of which the pattern must have so many.
fn group(regex: Regex, pattern: &str, group: u32) -> Result<Whole, String> {
    let groups = regex.captures_len() - 1;
    match group as usize {
        group if group > groups => Err(format!("the pattern {pattern:?} has {groups} groups, and no group {group}")),
        group => Ok(extract(regex, group)),
    }
}

/// Counts a row at a time; null where there is no answer.
fn counted(rows: usize, count: impl FnMut(usize) -> Option<i64>) -> ArrayRef {
    Arc::new((0..rows).map(count).collect::<Int64Array>())
}

/// The type of a list of strings that a function makes.
pub(crate) fn list_of_text() -> DataType {
    DataType::List(Arc::new(Field::new_list_field(DataType::Utf8, true)))
}

/// Lists of texts, as far as there is memory for them.
#[derive(Default)]
struct Lists {
    lists: ListBuilder<StringBuilder>,
    /// Bytes of the texts, and of their places.
    bytes: usize,
    /// So many bytes there is room for.
    room: usize,
}

/// Bytes of a place in a list, or of texts.
const PLACE: usize = size_of::<i32>();

impl Lists {
    /// The list of a row; null without one.
    fn push<'a>(&mut self, row: usize, parts: Option<impl Iterator<Item = &'a str>>) -> Result<(), Failure> {
        let there = parts.is_some();
        for part in parts.into_iter().flatten() {
            self.bytes += part.len() + PLACE;
            if self.bytes > self.room {
                self.grow(row)?;
            }
            self.lists.values().append_value(part);
        }
        self.lists.append(there);
        Ok(())
    }

    /// Room for as much again.
    #[cold]
    fn grow(&mut self, row: usize) -> Result<(), Failure> {
        let refused = |why: Exhausted, message: String| Failure { row, message, payload: Some(Payload(Arc::new(why))) };
        if self.bytes > LONGEST {
            let why =
                Exhausted { need: self.bytes as u64, held: 0, limit: LONGEST as u64, whose: limits::Whose::Process };
            return Err(refused(why, "lists of texts have at most 2 GiB in one piece".to_owned()));
        }
        self.room = self.bytes.saturating_mul(2).max(SMALL);
        if self.room > SMALL {
            limits::ask(self.room as u64).map_err(|why| refused(why, why.to_string()))?;
        }
        self.room = self.room.min(LONGEST);
        Ok(())
    }

    fn finish(mut self) -> ArrayRef {
        Arc::new(self.lists.finish())
    }
}

/// The parts between occurrences of the second argument; an empty one splits into characters.
pub(crate) fn split() -> Whole {
    Arc::new(|args, rows| {
        let (texts, separators) = (Strings::of(&args[0]), Strings::of(&args[1]));
        let mut lists = Lists::default();
        for row in 0..rows {
            match (texts.get(row), separators.get(row)) {
                (Some(text), Some("")) => {
                    let parts = text.char_indices().map(|(at, one)| &text[at..at + one.len_utf8()]);
                    lists.push(row, Some(parts))?;
                }
                (Some(text), Some(by)) => lists.push(row, Some(text.split(by)))?,
                _ => lists.push(row, None::<std::iter::Empty<&str>>)?,
            }
        }
        Ok(lists.finish())
    })
}

/// All matches, not overlapping.
pub(crate) fn extract_all(pattern: Regex) -> Whole {
    Arc::new(move |args, rows| {
        let texts = Strings::of(&args[0]);
        let mut lists = Lists::default();
        for row in 0..rows {
            lists.push(row, texts.get(row).map(|text| pattern.find_iter(text).map(|found| found.as_str())))?;
        }
        Ok(lists.finish())
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
