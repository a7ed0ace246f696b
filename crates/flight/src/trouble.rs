//! What is nobody's fault but ours: the client gets a number, and the log what happened.

use std::fmt::Display;

use bytes::Bytes;
use engine::observe::events::{Level, note};
use tonic::Status;

/// Random bytes of the system, as hexadecimal digits.
pub(crate) fn random<const BYTES: usize>() -> Result<String, getrandom::Error> {
    let mut bytes = [0_u8; BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A text for a client: of the files that it names the last part alone. If there is more, the log has it, under a number.
pub(crate) fn shown(text: String) -> String {
    let cut = without_paths(&text);
    if cut == text {
        return text;
    }
    let id = random::<6>().unwrap_or_default();
    note(Level::Error, format!("server: error {id}: {text}"));
    format!("{cut} (error {id}; the server's log says more)")
}

/// What stands before a path, and is no part of it.
fn opens(character: char) -> bool {
    character.is_whitespace() || "\"'`([{<=,;".contains(character)
}

/// Each path that begins at the root, or at a drive, as its last part.
fn without_paths(text: &str) -> String {
    let mut made = String::with_capacity(text.len());
    let (mut rest, mut before) = (text, ' ');
    while let Some(first) = rest.chars().next() {
        let scheme = rest.strip_prefix("file:").map_or(0, |_| "file:".len());
        let path = &rest[scheme..];
        let drive = path.len() > 2 && path.as_bytes()[0].is_ascii_alphabetic() && path[1..].starts_with(":\\");
        if opens(before) && (path.starts_with('/') || drive || path.starts_with("\\\\")) {
            let ends = |of: char| match before {
                '"' | '\'' | '`' => of == before || of == '\n',
                _ => of.is_whitespace() || "\"'`)]}>,;".contains(of),
            };
            let whole = &path[..path.find(ends).unwrap_or(path.len())];
            let parts: Vec<&str> = whole.split(['/', '\\']).filter(|part| !part.is_empty()).collect();
            if let [.., _, last] = parts[..] {
                made.push_str(last);
                rest = &path[whole.len()..];
                before = ' ';
                continue;
            }
        }
        made.push(first);
        before = first;
        rest = &rest[first.len_utf8()..];
    }
    made
}

/// Bytes of a status's text, as headers have them: clients take no more than a few thousand.
const TEXT: usize = 6000;

/// A status whose text has room in a header, whatever it repeats.
pub(crate) fn fitting(status: Status) -> Status {
    let text = status.message();
    // What is no letter may stand as three bytes.
    let bytes = |of: char| if of.is_ascii_alphanumeric() { 1 } else { 3 * of.len_utf8() };
    let mut left = TEXT;
    let cut = text.char_indices().find(|(_, of)| {
        let fits = left >= bytes(*of);
        left = left.saturating_sub(bytes(*of));
        !fits
    });
    match cut {
        None => status,
        Some((at, _)) => {
            let details = Bytes::copy_from_slice(status.details());
            Status::with_details(status.code(), format!("{} \u{2026}", &text[..at]), details)
        }
    }
}

/// An error whose cause the log tells under the number that the client is given.
pub(crate) fn internal(cause: impl Display) -> Status {
    let id = random::<6>().unwrap_or_default();
    note(Level::Error, format!("server: internal error {id}: {cause}"));
    Status::internal(format!("internal error {id}; the server's log says more"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_paths_the_last_part_is_shown() {
        let cases = [
            ("read_csv: /srv/data/a.csv: row 3 is short", "read_csv: a.csv: row 3 is short"),
            ("No such file: '/srv/my data/a b.csv' (2)", "No such file: 'a b.csv' (2)"),
            ("(/a/b/c.py, line 3)", "(c.py, line 3)"),
            ("at C:\\Users\\me\\x.txt.", "at x.txt."),
            ("file:///srv/data/a.parquet is torn", "a.parquet is torn"),
            ("path=/srv/data/a", "path=a"),
            ("/one/two", "two"),
        ];
        for (given, wanted) in cases {
            assert_eq!(without_paths(given), wanted);
        }
    }

    #[test]
    fn what_is_no_path_stays() {
        for text in
            ["x / y / z", "a/b/c", "px > 1/2", "s3://bucket/key/a.csv", "50 %/s", "/", "/x", "", "é / ü", "s/trades"]
        {
            assert_eq!(without_paths(text), text);
            assert_eq!(shown(text.to_owned()), text);
        }
    }

    #[test]
    fn a_text_has_room_in_a_header() {
        let short = "a short one: \u{e9}".to_owned();
        assert_eq!(fitting(Status::not_found(short.clone())).message(), short);
        for of in ["a", "\u{e9}", "\n", " ", "\u{1f4c8}"] {
            let status = fitting(Status::not_found(of.repeat(20_000)));
            let mut headers = http::HeaderMap::new();
            status.add_header(&mut headers).expect("it is a header");
            assert!(headers["grpc-message"].len() <= TEXT + 20, "{}", headers["grpc-message"].len());
            assert!(headers["grpc-message"].len() > TEXT / 3 && status.message().ends_with(" \u{2026}"));
            assert_eq!(status.code(), tonic::Code::NotFound);
        }
    }

    #[test]
    fn what_was_cut_has_a_number() {
        let text = shown("torn: /srv/data/a.log".to_owned());
        assert!(text.starts_with("torn: a.log (error ") && text.ends_with("; the server's log says more)"), "{text}");
    }
}
