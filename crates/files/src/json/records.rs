//! Where the records of JSON text begin and end: lines, or the elements of one array.

use memchr::memchr;

use crate::error::Error;

/// A record: its first byte, and the one after its last.
pub(super) type Span = (usize, usize);

/// The lines of a text that hold something.
pub(super) fn lines(text: &[u8], from: usize, until: usize) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut at = from;
    while at < until {
        let end = memchr(b'\n', &text[at..]).map_or(text.len(), |end| at + end);
        if !text[at..end].trim_ascii().is_empty() {
            spans.push((at, end));
        }
        at = end + 1;
    }
    spans
}

/// The elements of the array that a text is.
pub(super) fn elements(path: &str, text: &[u8], from: usize) -> Result<Vec<Span>, Error> {
    let line = |at: usize| 1 + memchr::memchr_iter(b'\n', &text[..at.min(text.len())]).count() as u64;
    let wrong = |at: usize, message: &str| {
        Err(Error::Record { path: path.to_owned(), line: line(at), name: None, message: message.to_owned() })
    };
    let mut spans = Vec::new();
    let mut at = from + 1;
    loop {
        at += spaces(&text[at.min(text.len())..]);
        match text.get(at) {
            None => return wrong(at, "the array is not closed"),
            Some(b']') if spans.is_empty() => break,
            Some(_) => {}
        }
        let start = at;
        let (mut depth, mut inside) = (0_usize, false);
        let end = loop {
            match text.get(at) {
                None => return wrong(start, "the array ends within this element"),
                Some(b'\\') if inside => at += 1,
                Some(b'"') => inside = !inside,
                Some(_) if inside => {}
                Some(b'{' | b'[') => depth += 1,
                Some(b',' | b']') if depth == 0 => break at,
                Some(b'}' | b']') => depth = depth.saturating_sub(1),
                Some(_) => {}
            }
            at += 1;
        };
        if text[start..end].trim_ascii().is_empty() {
            return wrong(start, "an element of the array is missing");
        }
        spans.push((start, end));
        at = end + 1;
        if text[end] == b']' {
            at = end;
            break;
        }
    }
    let rest = &text[at + 1..];
    match spaces(rest) {
        all if all == rest.len() => Ok(spans),
        before => wrong(at + 1 + before, "text after the end of the array"),
    }
}

pub(super) fn spaces(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<&str> {
        let spans = elements("a.json", text.as_bytes(), 0).expect("an array");
        spans.into_iter().map(|(from, to)| text[from..to].trim()).collect()
    }

    #[test]
    fn elements_of_an_array() {
        assert_eq!(split("[]"), [""; 0]);
        assert_eq!(split(" [ ]  \n".trim_start()), [""; 0]);
        assert_eq!(
            split(r#"[{"a": 1}, {"a": "x, ]}\"[", "b": [1, [2]]}]"#),
            [r#"{"a": 1}"#, r#"{"a": "x, ]}\"[", "b": [1, [2]]}"#]
        );
        for (text, said) in [
            ("[1, 2", "line 1: the array ends within this element"),
            ("[1,", "line 1: the array is not closed"),
            ("[1,,2]", "an element of the array is missing"),
            ("[1]\n\nx", "line 3: text after the end"),
        ] {
            let error = elements("a.json", text.as_bytes(), 0).expect_err("it is wrong").to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
