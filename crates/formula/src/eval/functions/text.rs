//! Strings. Lengths, offsets and widths count characters unless a name says bytes.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, Int64Array, StringViewArray, types::Int64Type};
use arrow_schema::DataType;
use regex::Regex;

use super::built::{Built, SMALL};
pub(crate) use super::built::{Out, build};
use super::declared::{FunctionSpec, Takes, method, named};
use crate::eval::node::{Argument, Whole, array};
use crate::tree::family::Family;
use crate::tree::function::{Function, Text};

const STRING: Takes = (1, 1, "a string");
const TWO_STRINGS: Takes = (2, 2, "two strings");
const LENGTH: Takes = (2, 2, "a string and a number of characters");
const REPLACED: Takes = (3, 3, "a string, a pattern and what replaces it");

pub(crate) const FUNCTIONS: &[FunctionSpec] = &[
    method(Function::Text(Text::LenChars), "str.len_chars", STRING, |b, c| {
        b.of_strings(c, len_chars(), DataType::Int64)
    })
    .always(Family::Integer)
    .in_formulas(&[
        named("length", "length(s)", "characters; of a list its elements"),
        named("len", "len(s)", "the same"),
    ]),
    method(Function::Text(Text::LenBytes), "str.len_bytes", STRING, |b, c| {
        b.of_strings(c, len_bytes(), DataType::Int64)
    })
    .always(Family::Integer),
    method(Function::Text(Text::ToLowercase), "str.to_lowercase", STRING, |b, c| {
        b.of_strings(c, lowercase(), DataType::Utf8View)
    })
    .always(Family::Text)
    .in_formulas(&[named("lower", "lower(s)", "small letters"), named("toLowerCase", "toLowerCase(s)", "the same")]),
    method(Function::Text(Text::ToUppercase), "str.to_uppercase", STRING, |b, c| {
        b.of_strings(c, uppercase(), DataType::Utf8View)
    })
    .always(Family::Text)
    .in_formulas(&[named("upper", "upper(s)", "capital letters"), named("toUpperCase", "toUpperCase(s)", "the same")]),
    method(Function::Text(Text::EndsWith), "str.ends_with", TWO_STRINGS, |b, c| {
        b.of_strings(c, ends_with(), DataType::Boolean)
    })
    .always(Family::Other)
    .shown_by(r#"col("s").str.ends_with("s")"#)
    .in_formulas(&[named("endsWith", "endsWith(s, `s`)", "whether it ends so")]),
    method(Function::Text(Text::Slice), "str.slice", (2, 3, "a string, an offset and a length"), |b, c| {
        b.of_string_and_integers(c, slice())
    })
    .always(Family::Text)
    .shown_by(r#"col("s").str.slice(0, 4)"#),
    method(Function::Text(Text::Head), "str.head", LENGTH, |b, c| b.of_string_and_integers(c, head()))
        .always(Family::Text)
        .shown_by(r#"col("s").str.head(2)"#),
    method(Function::Text(Text::Tail), "str.tail", LENGTH, |b, c| b.of_string_and_integers(c, tail()))
        .always(Family::Text)
        .shown_by(r#"col("s").str.tail(2)"#),
    method(Function::Text(Text::Replace { literal: false }), "str.replace", REPLACED, |b, c| {
        b.replaced(c, |pattern| replace(pattern, false))
    })
    .always(Family::Text)
    .shown_by(r#"col("s").str.replace("[ab]", "_")"#)
    .in_formulas(&[named("replaceFirst", "replaceFirst(s, `[aeiou]`, `_`)", "the first match")]),
    method(Function::Text(Text::ReplaceAll { literal: false }), "str.replace_all", REPLACED, |b, c| {
        b.replaced(c, |pattern| replace(pattern, true))
    })
    .always(Family::Text)
    .shown_by(r#"col("s").str.replace_all("[ab]", "_")"#)
    .in_formulas(&[
        named("replace", "replace(s, `a`, `A`)", "every occurrence of a text")
            .meaning(Function::Text(Text::ReplaceAll { literal: true })),
        named("replaceAll", "replaceAll(s, `[aeiou]`, `_`)", "every match"),
    ]),
    method(Function::Text(Text::Zfill), "str.zfill", LENGTH, |b, c| b.of_string_and_integers(c, zfill()))
        .always(Family::Text)
        .shown_by(r#"tf.lit("7").str.zfill(3)"#),
];

/// The longest string that lies in its view.
pub(crate) const INLINE: u32 = 12;

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

/// The number of characters of each string: its bytes without those that continue a character.
pub(crate) fn len_chars() -> Whole {
    /// The lowest bit of each byte, and the highest.
    const LOW: u128 = u128::MAX / 255;
    const HIGH: u128 = LOW << 7;
    Arc::new(|args, _| {
        let strings = args[0].array().as_string_view();
        let buffers = strings.data_buffers();
        let count = |view: &u128| {
            let length = *view as u32;
            let continued = if length <= INLINE {
                // Bytes 10xxxxxx continue a character; what lies behind the string is zero.
                let bytes = view >> 32;
                if bytes & HIGH == 0 { 0 } else { ((bytes >> 7) & !(bytes >> 6) & LOW).count_ones() }
            } else {
                continuing(&buffers[(view >> 64) as u32 as usize][(view >> 96) as u32 as usize..][..length as usize])
            };
            i64::from(length) - i64::from(continued)
        };
        let lengths: Vec<i64> = strings.views().iter().map(count).collect();
        Ok(Arc::new(Int64Array::new(lengths.into(), strings.nulls().cloned())))
    })
}

/// How many bytes continue a character, eight at a time.
#[inline]
fn continuing(bytes: &[u8]) -> u32 {
    const LOW: u64 = u64::MAX / 255;
    let of = |word: u64| ((word >> 7) & !(word >> 6) & LOW).count_ones();
    let (words, rest) = bytes.as_chunks::<8>();
    let last = rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
    words.iter().map(|word| of(u64::from_le_bytes(*word))).sum::<u32>() + of(last)
}

pub(crate) fn lowercase() -> Whole {
    recased(str::make_ascii_lowercase, |text| text.to_lowercase())
}

pub(crate) fn uppercase() -> Whole {
    recased(str::make_ascii_uppercase, |text| text.to_uppercase())
}

/// ASCII is changed for all rows at once, in place; one other character anywhere, and each string goes alone.
fn recased(all: fn(&mut str), each: fn(&str) -> String) -> Whole {
    Arc::new(move |args, rows| {
        let texts = Strings::of(&args[0]);
        let mut built = Built::new(rows);
        built.text.room(texts.array.views().iter().map(|view| *view as u32 as usize).sum());
        for row in 0..rows {
            built.row(row, |out| {
                out.push_str(texts.get(row)?);
                Some(())
            })?;
        }
        if built.parts.is_empty() && built.text.text.is_ascii() {
            return built.finish(all);
        }
        build(rows, |row, out| {
            let (text, start) = (texts.get(row)?, out.len());
            if text.is_ascii() {
                out.push_str(text);
                all(&mut out.text[start..]);
            } else {
                out.push_str(&each(text));
            }
            Some(())
        })
    })
}

pub(crate) fn ends_with() -> Whole {
    Arc::new(|args, _| array(arrow_string::like::ends_with(&*args[0].datum(), &*args[1].datum())))
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
            if all && text.len().saturating_mul(value.len()) > SMALL {
                out.room(replaced_bytes(&pattern, text, value));
                out.exhausted.is_none().then_some(())?;
            }
            match &pattern {
                Pattern::Literal(pattern) => {
                    let most = if all { usize::MAX } else { 1 };
                    match <[u8; 1]>::try_from(pattern.as_bytes()) {
                        // One byte is found faster as a character than as a string.
                        Ok([byte]) => replaced(text, text.match_indices(char::from(byte)).take(most), value, out),
                        Err(_) => replaced(text, text.match_indices(pattern.as_str()).take(most), value, out),
                    }
                }
                Pattern::Regex(pattern) if all => out.push_str(&pattern.replace_all(text, value)),
                Pattern::Regex(pattern) => out.push_str(&pattern.replace(text, value)),
            }
            Some(())
        })
    })
}

/// How long a text with all its matches replaced may be, at most.
fn replaced_bytes(pattern: &Pattern, text: &str, value: &str) -> usize {
    let grown: usize = match pattern {
        Pattern::Literal(pattern) => text.matches(pattern.as_str()).count().saturating_mul(value.len()),
        Pattern::Regex(pattern) => {
            // A group lies in its match.
            let groups = value.matches('$').count();
            let each = |found: regex::Match<'_>| value.len().saturating_add(groups.saturating_mul(found.len()));
            pattern.find_iter(text).map(each).fold(0, usize::saturating_add)
        }
    };
    grown.saturating_add(text.len()).min(isize::MAX as usize)
}

/// The text with its matches replaced.
fn replaced<'a>(text: &'a str, matches: impl Iterator<Item = (usize, &'a str)>, value: &str, out: &mut Out) {
    let mut end = 0;
    for (start, found) in matches {
        out.push_str(&text[end..start]);
        out.push_str(value);
        end = start + found.len();
    }
    out.push_str(&text[end..]);
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

/// Zeros before the digits, after a sign, up to a width.
pub(crate) fn zfill() -> Whole {
    Arc::new(|args, rows| {
        let (texts, widths) = (Strings::of(&args[0]), Integers::of(&args[1]));
        build(rows, |row, out| {
            let (text, width) = (texts.get(row)?, widths.get(row)?);
            let missing = width.saturating_sub(text.chars().count() as i64).max(0);
            let (sign, digits) = text.split_at(usize::from(text.starts_with(['+', '-'])));
            out.push_str(sign);
            out.fill('0', missing as u64);
            out.push_str(digits);
            Some(())
        })
    })
}

fn part(take: for<'a> fn(&'a str, &[Integers<'_>], usize) -> Option<&'a str>) -> Whole {
    Arc::new(move |args, rows| {
        let texts = Strings::of(&args[0]);
        let numbers: Vec<Integers<'_>> = args[1..].iter().map(Integers::of).collect();
        build(rows, |row, out| {
            out.push_str(take(texts.get(row)?, &numbers, row)?);
            Some(())
        })
    })
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
