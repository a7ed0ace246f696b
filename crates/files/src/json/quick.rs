//! Where the values of a record stand, if it is a plain one: of numbers, words, and texts without an escape. Others, and all that
//! are wrong, are for the parser, which knows what to say of them.

use std::collections::HashMap;

use arrow_schema::Fields as Columns;

use super::records::{Span, spaces};
use crate::fields::{Fields, Kind};

/// The columns by their names.
pub(super) struct Names {
    /// In quotes, as they stand in most records.
    quoted: Vec<Vec<u8>>,
    places: HashMap<Vec<u8>, usize>,
    /// Whether a field that is no column is an error.
    strict: bool,
}

impl Names {
    pub(super) fn new(columns: &Columns, strict: bool) -> Names {
        let quoted = columns.iter().map(|field| serde_json::to_vec(field.name()).unwrap_or_default()).collect();
        let places = columns.iter().enumerate().map(|(at, field)| (field.name().as_bytes().to_vec(), at)).collect();
        Names { quoted, places, strict }
    }

    /// Adds a record, if it is a plain one.
    pub(super) fn record(&self, text: &[u8], (start, end): Span, fields: &mut Fields) -> bool {
        let first = fields.many();
        fields.fill(first + fields.width, 0);
        let is_plain = self.walk(&text[..end], start, first, fields).is_some();
        if is_plain {
            fields.starts.push(start as u32);
        } else {
            fields.truncate(first);
        }
        is_plain
    }

    fn walk(&self, text: &[u8], start: usize, first: usize, fields: &mut Fields) -> Option<()> {
        let skip = |at: usize| match text.get(at) {
            Some(byte) if *byte > b' ' => at,
            _ => at + spaces(&text[at.min(text.len())..]),
        };
        let mut at = skip(start);
        if *text.get(at)? != b'{' {
            return None;
        }
        at = skip(at + 1);
        let mut expected = 0;
        let mut is_empty = *text.get(at)? == b'}';
        while !is_empty {
            // Most records have their fields in the order of the columns.
            let place = match self.quoted.get(expected).filter(|name| text[at..].starts_with(name)) {
                Some(name) => {
                    at += name.len();
                    Some(expected)
                }
                None => {
                    let end = closing(text, at)?;
                    let place = self.places.get(&text[at + 1..end]).copied();
                    at = end + 1;
                    place
                }
            };
            at = skip(at);
            if *text.get(at)? != b':' || (place.is_none() && self.strict) {
                return None;
            }
            at = skip(at + 1);
            let (start, end, kind) = match *text.get(at)? {
                b'"' => (at + 1, closing(text, at)?, Kind::Quoted),
                b'-' | b'0'..=b'9' => (at, number(text, at)?, Kind::Number),
                _ => (at, word(text, at)?, Kind::Word),
            };
            at = skip(if kind == Kind::Quoted { end + 1 } else { end });
            if let Some(place) = place {
                if !fields.is_empty_at(first + place) {
                    return None;
                }
                fields.set(first + place, start, end, kind);
                expected = place + 1;
            }
            match *text.get(at)? {
                b',' => at = skip(at + 1),
                b'}' => is_empty = true,
                _ => return None,
            }
        }
        (skip(at + 1) == text.len()).then_some(())
    }
}

const EACH: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x80 * EACH;

/// The place of the quote that closes the text which begins at this one; none if something in it is escaped.
#[inline]
fn closing(text: &[u8], at: usize) -> Option<usize> {
    if *text.get(at)? != b'"' {
        return None;
    }
    let rest = &text[at + 1..];
    let (words, tail) = rest.as_chunks::<8>();
    for (number, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let zero = |word: u64| word.wrapping_sub(EACH) & !word;
        let quote = zero(word ^ (u64::from(b'"') * EACH));
        let escape = zero(word ^ (u64::from(b'\\') * EACH));
        let control = word.wrapping_sub(u64::from(b' ') * EACH) & !word;
        // The lowest of the marks is right, whatever is carried into those above.
        let marked = (quote | escape | control) & HIGH;
        if marked != 0 {
            let found = number * 8 + marked.trailing_zeros() as usize / 8;
            return (rest[found] == b'"').then_some(at + 1 + found);
        }
    }
    let before = rest.len() - tail.len();
    let found = tail.iter().position(|byte| *byte == b'"' || *byte == b'\\' || *byte < b' ')?;
    (tail[found] == b'"').then_some(at + 1 + before + found)
}

/// The end of a number as JSON writes it.
#[inline]
fn number(text: &[u8], start: usize) -> Option<usize> {
    let digits = |from: usize| {
        let many = text[from.min(text.len())..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        (many > 0).then_some(from + many)
    };
    let at = if text[start] == b'-' { start + 1 } else { start };
    let mut end = digits(at)?;
    if text[at] == b'0' && end > at + 1 {
        return None;
    }
    if text.get(end) == Some(&b'.') {
        end = digits(end + 1)?;
    }
    if let Some(b'e' | b'E') = text.get(end) {
        let signed = matches!(text.get(end + 1), Some(b'+' | b'-'));
        end = digits(end + 1 + usize::from(signed))?;
    }
    Some(end)
}

fn word(text: &[u8], at: usize) -> Option<usize> {
    let known = [&b"true"[..], b"false", b"null"];
    known.into_iter().find(|word| text[at..].starts_with(word)).map(|word| at + word.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_end_at_their_quote() {
        for many in 0..40 {
            let text = format!("\"{}\" x", "é".repeat(many));
            assert_eq!(closing(text.as_bytes(), 0), Some(1 + 2 * many));
            for odd in ['\\', '\n', '\u{1}'] {
                let text = format!("\"{}{odd}\" x", "a".repeat(many));
                assert_eq!(closing(text.as_bytes(), 0), None, "{text:?}");
            }
            assert_eq!(
                closing("\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa".get(..=many).unwrap_or("").as_bytes(), 0),
                None
            );
        }
    }

    #[test]
    fn numbers_are_those_of_json() {
        for (text, end) in [
            ("0,", Some(1)),
            ("-12.5e+3}", Some(8)),
            ("1E9 ", Some(3)),
            ("01", None),
            ("-", None),
            ("1.", None),
            ("1e", None),
            ("1e-", None),
            ("-.5", None),
        ] {
            assert_eq!(number(text.as_bytes(), 0), end, "{text}");
        }
    }
}
