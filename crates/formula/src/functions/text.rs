//! Strings. Lengths, offsets and widths count characters unless a name says bytes.

use std::sync::Arc;

use arrow_array::builder::StringViewBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, StringViewArray, types::Int64Type};
use arrow_buffer::BooleanBuffer;
use regex::Regex;

use super::order::{array, failure};
use crate::node::{Argument, Failure, Whole};

/// One string after another.
pub(crate) fn concat() -> Whole {
    Arc::new(|args, rows| {
        let (a, b) = (Strings::of(&args[0]), Strings::of(&args[1]));
        build(rows, |row, joined| {
            joined.push_str(a.get(row)?);
            joined.push_str(b.get(row)?);
            Some(())
        })
    })
}

/// The number of bytes of each string, which its view holds.
pub(crate) fn len_bytes() -> Whole {
    Arc::new(|args, _| {
        let strings = args[0].array().as_string_view();
        let lengths: Vec<i64> = strings.views().iter().map(|view| i64::from(*view as u32)).collect();
        Ok(Arc::new(Int64Array::new(lengths.into(), strings.nulls().cloned())))
    })
}

/// The number of characters of each string.
pub(crate) fn len_chars() -> Whole {
    Arc::new(|args, _| {
        let strings = args[0].array().as_string_view();
        let count = |row| if strings.is_valid(row) { strings.value(row).chars().count() as i64 } else { 0 };
        let lengths: Vec<i64> = (0..strings.len()).map(count).collect();
        Ok(Arc::new(Int64Array::new(lengths.into(), strings.nulls().cloned())))
    })
}

pub(crate) fn lowercase() -> Whole {
    mapped(|text, out| {
        if text.is_ascii() {
            out.push_str(text);
            out.make_ascii_lowercase();
        } else {
            out.push_str(&text.to_lowercase());
        }
    })
}

pub(crate) fn uppercase() -> Whole {
    mapped(|text, out| {
        if text.is_ascii() {
            out.push_str(text);
            out.make_ascii_uppercase();
        } else {
            out.push_str(&text.to_uppercase());
        }
    })
}

pub(crate) fn contains_literal() -> Whole {
    Arc::new(|args, _| array(arrow_string::like::contains(&*args[0].datum(), &*args[1].datum())))
}

pub(crate) fn starts_with() -> Whole {
    Arc::new(|args, _| array(arrow_string::like::starts_with(&*args[0].datum(), &*args[1].datum())))
}

pub(crate) fn ends_with() -> Whole {
    Arc::new(|args, _| array(arrow_string::like::ends_with(&*args[0].datum(), &*args[1].datum())))
}

/// Whether the pattern is found, in time linear in the text.
pub(crate) fn matches(pattern: Regex) -> Whole {
    Arc::new(move |args, _| {
        let strings = args[0].array().as_string_view();
        let found = BooleanBuffer::collect_bool(strings.len(), |row| {
            strings.is_valid(row) && pattern.is_match(strings.value(row))
        });
        Ok(Arc::new(BooleanArray::new(found, strings.nulls().cloned())))
    })
}

/// What a replacement looks for.
pub(crate) enum Pattern {
    Literal(String),
    Regex(Regex),
}

/// The first or every occurrence of the pattern by the second argument, in which a regular
/// expression's groups are `$1` or `${name}`.
pub(crate) fn replace(pattern: Pattern, all: bool) -> Whole {
    Arc::new(move |args, rows| {
        let (texts, values) = (Strings::of(&args[0]), Strings::of(&args[1]));
        build(rows, |row, out| {
            let (text, value) = (texts.get(row)?, values.get(row)?);
            match &pattern {
                Pattern::Literal(pattern) if all => out.push_str(&text.replace(pattern, value)),
                Pattern::Literal(pattern) => out.push_str(&text.replacen(pattern, value, 1)),
                Pattern::Regex(pattern) if all => out.push_str(&pattern.replace_all(text, value)),
                Pattern::Regex(pattern) => out.push_str(&pattern.replace(text, value)),
            }
            Some(())
        })
    })
}

/// Part of a string: text, offset from the start or (negative) the end, length or to the end.
pub(crate) fn slice() -> Whole {
    part(|text, args, row| {
        let (offset, length) = (args[0].get(row)?, args.get(1).map(|length| length.get(row)));
        let length = match length {
            Some(length) => length?.max(0),
            None => i64::MAX,
        };
        let start = if offset < 0 { offset.saturating_add(text.chars().count() as i64) } else { offset };
        Some(characters(text, start.max(0), start.saturating_add(length).max(0)))
    })
}

/// The first n characters, or all but the last −n.
pub(crate) fn head() -> Whole {
    part(|text, args, row| {
        let count = args[0].get(row)?;
        let end = if count < 0 { count.saturating_add(text.chars().count() as i64).max(0) } else { count };
        Some(characters(text, 0, end))
    })
}

/// The last n characters, or all but the first −n.
pub(crate) fn tail() -> Whole {
    part(|text, args, row| {
        let count = args[0].get(row)?;
        let start =
            if count < 0 { count.saturating_neg() } else { (text.chars().count() as i64).saturating_sub(count).max(0) };
        Some(characters(text, start, i64::MAX))
    })
}

fn characters(text: &str, start: i64, end: i64) -> &str {
    let at = |count: i64| {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if text.is_ascii() {
            count.min(text.len())
        } else {
            text.char_indices().nth(count).map_or(text.len(), |(index, _)| index)
        }
    };
    &text[at(start)..at(end).max(at(start))]
}

/// Which ends are stripped.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ends {
    Both,
    Start,
    End,
}

/// White space, or any of the characters of the second argument, taken off the ends.
pub(crate) fn strip(ends: Ends) -> Whole {
    fn trim(ends: Ends, text: &str, is: impl Fn(char) -> bool) -> &str {
        match ends {
            Ends::Both => text.trim_matches(is),
            Ends::Start => text.trim_start_matches(is),
            Ends::End => text.trim_end_matches(is),
        }
    }
    Arc::new(move |args, rows| {
        let texts = Strings::of(&args[0]);
        let sets = args.get(1).map(Strings::of);
        build(rows, |row, out| {
            let text = texts.get(row)?;
            out.push_str(match &sets {
                Some(sets) => {
                    let set = sets.get(row)?;
                    trim(ends, text, |character| set.contains(character))
                }
                None => trim(ends, text, char::is_whitespace),
            });
            Some(())
        })
    })
}

/// The second argument taken off once, if the text begins (or ends) with it.
pub(crate) fn strip_affix(prefix: bool) -> Whole {
    Arc::new(move |args, rows| {
        let (texts, affixes) = (Strings::of(&args[0]), Strings::of(&args[1]));
        build(rows, |row, out| {
            let (text, affix) = (texts.get(row)?, affixes.get(row)?);
            let stripped = if prefix { text.strip_prefix(affix) } else { text.strip_suffix(affix) };
            out.push_str(stripped.unwrap_or(text));
            Some(())
        })
    })
}

/// Zeros before the digits, after a sign, up to a width.
pub(crate) fn zfill() -> Whole {
    Arc::new(|args, rows| {
        let (texts, widths) = (Strings::of(&args[0]), Integers::of(&args[1]));
        build(rows, |row, out| {
            let (text, width) = (texts.get(row)?, widths.get(row)?);
            let missing = width.saturating_sub(text.chars().count() as i64).clamp(0, 1 << 20);
            let (sign, digits) = text.split_at(usize::from(text.starts_with(['+', '-'])));
            out.push_str(sign);
            out.extend(std::iter::repeat_n('0', missing as usize));
            out.push_str(digits);
            Some(())
        })
    })
}

fn mapped(map: fn(&str, &mut String)) -> Whole {
    Arc::new(move |args, rows| {
        let texts = Strings::of(&args[0]);
        build(rows, |row, out| {
            map(texts.get(row)?, out);
            Some(())
        })
    })
}

fn part(take: for<'a> fn(&'a str, &[Integers<'_>], usize) -> Option<&'a str>) -> Whole {
    Arc::new(move |args, rows| {
        let texts = Strings::of(&args[0]);
        let numbers: Vec<Integers<'_>> = args[1..].iter().map(Integers::of).collect();
        let mut built = StringViewBuilder::with_capacity(rows);
        for row in 0..rows {
            built.append_option(texts.get(row).and_then(|text| take(text, &numbers, row)));
        }
        Ok(Arc::new(built.finish()))
    })
}

/// Builds strings row by row; `None` is null.
fn build(rows: usize, mut write: impl FnMut(usize, &mut String) -> Option<()>) -> Result<ArrayRef, Failure> {
    let mut built = StringViewBuilder::with_capacity(rows);
    let mut text = String::new();
    for row in 0..rows {
        text.clear();
        match write(row, &mut text) {
            Some(()) => built.try_append_value(&text).map_err(failure)?,
            None => built.append_null(),
        }
    }
    Ok(Arc::new(built.finish()))
}

/// Strings of an argument by row.
pub(crate) struct Strings<'a> {
    array: &'a StringViewArray,
    one: bool,
}

impl<'a> Strings<'a> {
    pub(crate) fn of(argument: &'a Argument) -> Strings<'a> {
        Strings { array: argument.array().as_string_view(), one: matches!(argument, Argument::One(_)) }
    }

    pub(crate) fn get(&self, row: usize) -> Option<&'a str> {
        let row = if self.one { 0 } else { row };
        self.array.is_valid(row).then(|| self.array.value(row))
    }
}

/// Int64 values of an argument by row.
pub(crate) struct Integers<'a> {
    array: &'a Int64Array,
    one: bool,
}

impl<'a> Integers<'a> {
    pub(crate) fn of(argument: &'a Argument) -> Integers<'a> {
        Integers { array: argument.array().as_primitive::<Int64Type>(), one: matches!(argument, Argument::One(_)) }
    }

    pub(crate) fn get(&self, row: usize) -> Option<i64> {
        let row = if self.one { 0 } else { row };
        self.array.is_valid(row).then(|| self.array.value(row))
    }
}
