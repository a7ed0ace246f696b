//! Whether strings hold another: short ones are looked at in their views, long ones many at a time.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, BooleanArray, Datum, StringViewArray};
use arrow_buffer::BooleanBuffer;
use arrow_schema::ArrowError;
use arrow_schema::DataType;
use memchr::memmem::Finder;
use regex::Regex;

use super::declared::{FunctionSpec, method, named};
use super::text::INLINE;
use crate::eval::node::{Argument, Whole, array};
use crate::tree::family::Family;
use crate::tree::function::{Function, Text};

pub(crate) const FUNCTIONS: &[FunctionSpec] = &[
    method(
        Function::Text(Text::Contains { literal: false }),
        "str.contains",
        (2, 2, "a string and a pattern"),
        |b, c| b.contained(c, literal(), matches),
    )
    .always(Family::Other)
    .shown_by(r#"col("s").str.contains("[0-9]")"#)
    .in_formulas(&[named(
        "contains",
        "contains(s, `tab`)",
        "whether the text is in it; of a list, whether the value is",
    )
    .meaning(Function::Text(Text::Contains { literal: true }))]),
    method(Function::Text(Text::StartsWith), "str.starts_with", (2, 2, "two strings"), |b, c| {
        b.of_strings(c, starts_with(), DataType::Boolean)
    })
    .always(Family::Other)
    .shown_by(r#"col("s").str.starts_with("Live")"#)
    .in_formulas(&[named("startsWith", "startsWith(s, `Live`)", "whether it begins so")]),
];

/// The lowest bit of each byte, and all others but the highest.
const LOW: u128 = u128::MAX / 255;
const REST: u128 = LOW * 0x7f;

/// Whether the second argument stands somewhere in the first.
pub(crate) fn literal() -> Whole {
    of_each(holding, arrow_string::like::contains)
}

/// Whether the first argument begins with the second.
pub(crate) fn starts_with() -> Whole {
    of_each(beginning, arrow_string::like::starts_with)
}

/// A test of each string of a column for one part, which is `one`'s; of anything else it is arrow's.
fn of_each(
    one: fn(&StringViewArray, &str) -> BooleanBuffer,
    any: fn(&dyn Datum, &dyn Datum) -> Result<BooleanArray, ArrowError>,
) -> Whole {
    Arc::new(move |args, _| match (&args[0], &args[1]) {
        (Argument::Many(texts), Argument::One(part)) if part.is_valid(0) => {
            let (texts, part) = (texts.as_string_view(), part.as_string_view().value(0));
            Ok(Arc::new(BooleanArray::new(one(texts, part), texts.nulls().cloned())))
        }
        (texts, parts) => array(any(&*texts.datum(), &*parts.datum())),
    })
}

/// Whether the pattern is found, in time linear in the text.
pub(crate) fn matches(pattern: Regex) -> Whole {
    Arc::new(move |args, _| {
        let strings = args[0].array().as_string_view();
        // A pattern lends its memory to one thread without asking, to others in turn: each chunk has its own.
        let pattern = pattern.clone();
        let found = BooleanBuffer::collect_bool(strings.len(), |row| {
            strings.is_valid(row) && pattern.is_match(strings.value(row))
        });
        Ok(Arc::new(BooleanArray::new(found, strings.nulls().cloned())))
    })
}

/// The rows whose string holds `part`; what stands in null rows is anything.
fn holding(texts: &StringViewArray, part: &str) -> BooleanBuffer {
    if part.is_empty() {
        return BooleanBuffer::new_set(texts.len());
    }
    let (views, buffers) = (texts.views(), texts.data_buffers());
    let short = Short::new(part.as_bytes());
    let mut long = Long::new(part.as_bytes());
    BooleanBuffer::collect_bool(texts.len(), |row| {
        let view = views[row];
        let len = view as u32 as usize;
        if len <= INLINE as usize {
            return short.is_in(view >> 32, len);
        }
        let (buffer, from) = place(view);
        long.is_in(buffer, &buffers[buffer], from, len)
    })
}

/// The buffer in which a long string lies, and where.
#[inline]
fn place(view: u128) -> (usize, usize) {
    ((view >> 64) as u32 as usize, (view >> 96) as u32 as usize)
}

/// The rows whose string begins with `part`: mostly their views tell.
fn beginning(texts: &StringViewArray, part: &str) -> BooleanBuffer {
    let (views, buffers, len) = (texts.views(), texts.data_buffers(), part.len());
    let bytes = part.as_bytes();
    // A long string's view has its first four bytes.
    let ((word, short), (_, long)) = (word_of(bytes), word_of(&bytes[..len.min(4)]));
    BooleanBuffer::collect_bool(texts.len(), |row| {
        let view = views[row];
        let own = view as u32;
        let seen = if own <= INLINE { short } else { long };
        if (own as usize) < len || ((view >> 32) ^ word) & seen != 0 {
            return false;
        }
        own <= INLINE || len <= 4 || {
            let (buffer, from) = place(view);
            buffers[buffer][from..].starts_with(bytes)
        }
    })
}

/// The first sixteen bytes as a word, and the bits that they take.
fn word_of(bytes: &[u8]) -> (u128, u128) {
    let mut word = [0; 16];
    let len = bytes.len().min(16);
    word[..len].copy_from_slice(&bytes[..len]);
    (u128::from_le_bytes(word), u128::MAX.checked_shr(128 - 8 * len as u32).unwrap_or(0))
}

/// A part that is looked for in the twelve bytes of a view.
struct Short {
    len: usize,
    /// The part as a word, and the bits that it takes.
    word: u128,
    mask: u128,
    /// Its first byte, and its second one, in every byte.
    first: u128,
    second: Option<u128>,
}

impl Short {
    fn new(part: &[u8]) -> Short {
        let everywhere = |byte: &u8| LOW * u128::from(*byte);
        let (word, mask) = word_of(part);
        Short {
            len: part.len(),
            word,
            mask,
            first: part.first().map_or(0, everywhere),
            second: part.get(1).map(everywhere),
        }
    }

    /// Whether it stands in a string of `len` bytes, the first the lowest; what lies behind them is zero.
    #[inline(always)]
    fn is_in(&self, text: u128, len: usize) -> bool {
        if len < self.len {
            return false;
        }
        let mut places = equal_bytes(text ^ self.first);
        if let Some(second) = self.second {
            places &= equal_bytes(text ^ second) >> 8;
        }
        while places != 0 {
            let place = places.trailing_zeros() as usize / 8;
            // A part may hold zeros itself: it must not reach beyond the text.
            if (text >> (8 * place)) & self.mask == self.word && place + self.len <= len {
                return true;
            }
            places &= places - 1;
        }
        false
    }
}

/// The highest bit of each byte that is zero.
#[inline(always)]
fn equal_bytes(difference: u128) -> u128 {
    !(((difference & REST) + REST) | difference | REST)
}

/// A part that is looked for in strings of a buffer. Strings mostly lie one behind the other: as long as they do, ever
/// more of the buffer is searched at once.
struct Long<'a> {
    part: Finder<'a>,
    buffer: usize,
    /// What was searched.
    from: usize,
    to: usize,
    /// Where the part first stands in it.
    next: Option<usize>,
    window: usize,
}

impl<'a> Long<'a> {
    const LARGEST: usize = 1 << 16;

    fn new(part: &'a [u8]) -> Long<'a> {
        Long { part: Finder::new(part), buffer: 0, from: 0, to: 0, next: None, window: 0 }
    }

    #[inline]
    fn is_in(&mut self, buffer: usize, bytes: &[u8], from: usize, len: usize) -> bool {
        let end = from + len;
        if buffer != self.buffer || from < self.from || end > self.to {
            let follows = buffer == self.buffer && from >= self.from && from <= self.to;
            self.window = if follows { (2 * self.window).clamp(len, Self::LARGEST.max(len)) } else { len };
            (self.buffer, self.to) = (buffer, (from + self.window).min(bytes.len()));
            self.search(bytes, from);
        } else if self.next.is_some_and(|next| next < from) {
            self.search(bytes, from);
        }
        self.next.is_some_and(|next| next + self.part.needle().len() <= end)
    }

    fn search(&mut self, bytes: &[u8], from: usize) {
        self.from = from;
        self.next = self.part.find(&bytes[from..self.to]).map(|at| from + at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(texts: &StringViewArray, parts: &[&str]) {
        for part in parts {
            let (found, first) = (holding(texts, part), beginning(texts, part));
            for (row, text) in texts.iter().enumerate() {
                let Some(text) = text else { continue };
                assert_eq!(found.value(row), text.contains(part), "{part:?} in {text:?}, row {row}");
                assert_eq!(first.value(row), text.starts_with(part), "{text:?} begins with {part:?}, row {row}");
            }
        }
    }

    const PARTS: &[&str] = &[
        "",
        "a",
        "b",
        "ab",
        "ba",
        "aab",
        "abc",
        "é",
        "\u{e9}a",
        "e\u{301}",
        "\u{10348}",
        "\0",
        "a\0",
        "\u{1}",
        "abcabcabcab",
        "abcabcabcabc",
        "abcabcabcabca",
        "abcabcabcabcabcab",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaab",
        "bc by",
        "c",
    ];

    #[test]
    fn parts_are_found_where_they_stand_and_nowhere_else() {
        let pieces = [
            "",
            "a",
            "b",
            "c",
            "ab",
            "\u{e9}",
            "e\u{301}",
            "\u{10348}",
            "\0",
            "\u{1}",
            "abcabcabcabc",
            "aaaaaa",
            " by ",
        ];
        let mut state = 7_u64;
        let mut random = |most: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % most
        };
        let mut text = || (0..random(7)).map(|_| pieces[random(pieces.len())]).collect::<String>();
        let texts: Vec<Option<String>> = (0..3_000).map(|row| (row % 11 != 0).then(&mut text)).collect();
        let views = StringViewArray::from_iter(texts.iter());
        check(&views, PARTS);
        // Views of one buffer in which all strings lie, the short ones too.
        check(&StringViewArray::from(&arrow_array::StringArray::from_iter(texts)), PARTS);
        // The same in another order, and of a part.
        let back: arrow_array::UInt32Array = (0..3_000).rev().collect();
        let taken = arrow_select::take::take(&views, &back, None).expect("rows of the array");
        check(taken.as_string_view(), PARTS);
        check(&views.slice(777, 1_000), PARTS);
    }

    #[test]
    fn rows_in_any_order_cost_no_more_than_their_own_bytes() {
        let text = "x".repeat(1 << 16);
        let mut long = Long::new(b"yy");
        for row in (0..4_000).rev() {
            assert!(!long.is_in(0, text.as_bytes(), 16 * row, 16));
            assert_eq!(long.to - long.from, 16, "what lies behind belongs to rows that were asked before");
        }
    }
}
