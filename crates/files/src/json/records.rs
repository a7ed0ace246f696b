//! Where the records of JSON text begin and end: lines, or the elements of one array.

use memchr::{memchr, memchr2};

/// A record: its first byte, and the one after its last.
pub(super) type Span = (usize, usize);

/// The lines of a text that hold something.
pub(super) fn lines(text: &[u8], from: usize, until: usize) -> impl Iterator<Item = Span> {
    let mut at = from;
    std::iter::from_fn(move || {
        while at < until {
            let start = at;
            let end = memchr(b'\n', &text[start..until]).map_or(until, |end| start + end);
            at = end + 1;
            if text[start..end].iter().any(|byte| !byte.is_ascii_whitespace()) {
                return Some((start, end));
            }
        }
        None
    })
}

/// The elements of one array, whose text comes in blocks. The bracket that opens it is not part of the first.
#[derive(Clone, Copy, Default)]
pub(super) struct Elements {
    any: bool,
    closed: bool,
}

impl Elements {
    /// The elements that are there as a whole, where the next one begins, and what is wrong there.
    pub(super) fn next(&mut self, text: &[u8], whole: bool) -> (Vec<Span>, usize, Option<&'static str>) {
        let mut spans = Vec::new();
        let mut at = 0;
        loop {
            let start = at + spaces(&text[at..]);
            match text.get(start) {
                Some(_) if self.closed => return (spans, start, Some("text after the end of the array")),
                None => return (spans, start, (whole && !self.closed).then_some("the array is not closed")),
                Some(b']') if !self.any => {
                    (at, self.closed) = (start + 1, true);
                    continue;
                }
                Some(_) => {}
            }
            let Some(end) = element(text, start) else {
                return (spans, start, whole.then_some("the array ends within this element"));
            };
            if end == start {
                return (spans, start, Some("an element of the array is missing"));
            }
            spans.push((start, end));
            (at, self.any, self.closed) = (end + 1, true, text[end] == b']');
        }
    }
}

/// Where an element ends: at the comma after it, or the bracket that closes the array.
fn element(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    let mut depth = 0_usize;
    loop {
        match text.get(at)? {
            b'"' => at = quoted(text, at)?,
            b'{' | b'[' => depth += 1,
            b',' | b']' if depth == 0 => return Some(at),
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
}

/// The quote that closes a text.
fn quoted(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at += memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

pub(super) fn spaces(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<&str> {
        let (spans, end, broken) = Elements::default().next(text.as_bytes(), true);
        assert_eq!((end, broken), (text.len(), None));
        spans.into_iter().map(|(from, to)| text[from..to].trim()).collect()
    }

    #[test]
    fn elements_of_an_array() {
        assert_eq!(split("]"), [""; 0]);
        assert_eq!(split(" ]  \n"), [""; 0]);
        assert_eq!(
            split(r#"{"a": 1}, {"a": "x, ]}\"[", "b": [1, [2]]}]"#),
            [r#"{"a": 1}"#, r#"{"a": "x, ]}\"[", "b": [1, [2]]}"#]
        );
        for (text, at, said) in [
            ("1, 2", 3, "the array ends within this element"),
            ("1,", 2, "the array is not closed"),
            ("1,,2]", 2, "an element of the array is missing"),
            ("1]\n\nx", 4, "text after the end of the array"),
        ] {
            assert_eq!(Elements::default().next(text.as_bytes(), true), (vec![(0, 1)], at, Some(said)), "{text}");
        }
    }

    #[test]
    fn an_array_may_come_in_pieces() {
        let text = r#" {"a": "\\\"]"}, [1, "],"], 7 ]  "#;
        let whole = split(text);
        for cut in 0..text.len() {
            let mut elements = Elements::default();
            let (first, end, no) = elements.next(&text.as_bytes()[..cut], false);
            let (second, last, nothing) = elements.next(&text.as_bytes()[end..], true);
            assert_eq!((no, nothing), (None, None));
            let shown = |spans: &[Span], from: usize| {
                spans.iter().map(|(start, to)| text[from + start..from + to].trim().to_owned()).collect::<Vec<_>>()
            };
            assert_eq!([shown(&first, 0), shown(&second, end)].concat(), whole, "{cut}");
            assert_eq!(end + last, text.len());
        }
    }
}
