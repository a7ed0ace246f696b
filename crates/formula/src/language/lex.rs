//! Words of a formula: names, numbers, strings, signs, each with its place in the text.

use std::sync::Arc;

use arrow_schema::DataType;

use crate::tree::literal::Literal;

/// A place in the text, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Span {
    pub(crate) fn to(self, other: Span) -> Span {
        Span { start: self.start, end: other.end }
    }
}

/// What stands at one place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    /// A name or a word of the language.
    Name,
    /// A number, and the type its suffix gives it.
    Number(Literal, Option<DataType>),
    /// A string in back-ticks.
    Text(Arc<str>),
    /// What stands between single quotes: a character, a time, a duration, a zone.
    Quoted(Arc<str>),
    /// A sign.
    Sign(&'static str),
    /// The end of the text.
    End,
}

/// A mistake at a place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mistake {
    pub(crate) span: Span,
    pub(crate) message: String,
}

impl Mistake {
    pub(crate) fn new(span: Span, message: impl Into<String>) -> Mistake {
        Mistake { span, message: message.into() }
    }
}

/// Longer signs before their beginnings.
const SIGNS: &[&str] = &[
    "**", "//", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+", "-", "*", "/", "%", "<", ">", "=", "!", "&", "|",
    "^", "~", "?", ":", "(", ")", "[", "]", ",", ".",
];

/// Cuts a text into words; the last one is [`Token::End`].
pub(crate) fn words(text: &str) -> Result<Vec<(Token, Span)>, Mistake> {
    let mut words = Vec::with_capacity(text.len() / 3 + 2);
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let (token, length) = word(text, at, first)?;
        words.push((token, Span { start: at, end: at + length }));
        at += length;
    }
    words.push((Token::End, Span { start: text.len(), end: text.len() }));
    Ok(words)
}

fn word(text: &str, at: usize, first: char) -> Result<(Token, usize), Mistake> {
    let rest = &text[at..];
    let here = Span { start: at, end: at + first.len_utf8() };
    if is_name_start(first) {
        let length = rest.find(|character| !is_name_part(character)).unwrap_or(rest.len());
        return Ok((Token::Name, length));
    }
    if first.is_ascii_digit() || first == '.' && rest[1..].starts_with(|next: char| next.is_ascii_digit()) {
        return number(rest, at);
    }
    match first {
        '`' => return string(rest, at),
        '\'' => {
            return match rest[1..].find('\'') {
                Some(length) => Ok((Token::Quoted(rest[1..1 + length].into()), length + 2)),
                None => Err(Mistake::new(here, "this single quote is never closed")),
            };
        }
        '"' => return Err(Mistake::new(here, "strings stand in back-ticks here: `text`")),
        _ => {}
    }
    match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
        Some(sign) => Ok((Token::Sign(sign), sign.len())),
        None => Err(Mistake::new(here, format!("{first:?} means nothing in a formula"))),
    }
}

fn is_name_start(character: char) -> bool {
    character.is_alphabetic() || matches!(character, '_' | '$')
}

fn is_name_part(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '$')
}

/// A string in back-ticks. A backslash writes what cannot be written otherwise.
fn string(rest: &str, at: usize) -> Result<(Token, usize), Mistake> {
    let mut value = String::new();
    let mut characters = rest.char_indices().skip(1);
    while let Some((index, character)) = characters.next() {
        match character {
            '`' => return Ok((Token::Text(value.into()), index + 1)),
            '\\' => {
                let span = |length: usize| Span { start: at + index, end: at + index + length };
                match characters.next().map(|(_, escaped)| escaped) {
                    Some('n') => value.push('\n'),
                    Some('t') => value.push('\t'),
                    Some('r') => value.push('\r'),
                    Some('0') => value.push('\0'),
                    Some(same @ ('\\' | '`' | '\'' | '"')) => value.push(same),
                    Some('u') => {
                        let digits: String = characters.by_ref().take(4).map(|(_, digit)| digit).collect();
                        let code = (digits.len() == 4).then(|| u32::from_str_radix(&digits, 16).ok()).flatten();
                        match code.and_then(char::from_u32) {
                            Some(character) => value.push(character),
                            None => {
                                return Err(Mistake::new(span(2), "\\u takes four hexadecimal digits of a character"));
                            }
                        }
                    }
                    Some(other) => {
                        let message = format!("there is no \\{other}; a backslash itself is \\\\");
                        return Err(Mistake::new(span(1 + other.len_utf8()), message));
                    }
                    None => break,
                }
            }
            other => value.push(other),
        }
    }
    Err(Mistake::new(Span { start: at, end: at + 1 }, "this back-tick is never closed"))
}

fn number(rest: &str, at: usize) -> Result<(Token, usize), Mistake> {
    let bytes = rest.as_bytes();
    for (prefix, radix) in [("0x", 16), ("0X", 16), ("0b", 2), ("0B", 2)] {
        if let Some(digits) = rest.strip_prefix(prefix) {
            let length = digits.find(|digit: char| !digit.is_alphanumeric() && digit != '_').unwrap_or(digits.len());
            return integer(&digits[..length], radix, 2 + length, at);
        }
    }
    let mut end = digits_from(bytes, 0);
    let mut float = false;
    if bytes.get(end) == Some(&b'.') && bytes.get(end + 1).is_some_and(u8::is_ascii_digit) {
        float = true;
        end = digits_from(bytes, end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if bytes.get(end + 1 + sign).is_some_and(u8::is_ascii_digit) {
            float = true;
            end = digits_from(bytes, end + 1 + sign);
        }
    }
    let suffix = rest[end..].find(|letter| !is_name_part(letter)).unwrap_or(rest.len() - end);
    let (digits, suffix) = (&rest[..end], &rest[end..end + suffix]);
    if !float && matches!(suffix, "" | "L" | "l") {
        return integer(&rest[..end + suffix.len()], 10, end + suffix.len(), at);
    }
    let span = Span { start: at, end: at + end + suffix.len() };
    let data_type = match suffix {
        "" => None,
        "f" | "F" => Some(DataType::Float32),
        "d" | "D" => Some(DataType::Float64),
        _ => {
            let message = format!("a number cannot end in \"{suffix}\"; suffixes are L, f and d");
            return Err(Mistake::new(Span { start: at + end, ..span }, message));
        }
    };
    let value: f64 = plain(digits).parse().map_err(|_| Mistake::new(span, "this is no number"))?;
    if value.is_infinite() {
        return Err(Mistake::new(span, "this number is beyond Float64; infinity is POS_INFINITY_DOUBLE"));
    }
    Ok((Token::Number(Literal::Float(value), data_type), end + suffix.len()))
}

fn digits_from(bytes: &[u8], from: usize) -> usize {
    from + bytes[from..].iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'_').count()
}

fn plain(digits: &str) -> String {
    digits.chars().filter(|digit| *digit != '_').collect()
}

fn integer(digits: &str, radix: u32, length: usize, at: usize) -> Result<(Token, usize), Mistake> {
    let span = Span { start: at, end: at + length };
    let (digits, data_type) = match digits.strip_suffix(['L', 'l']) {
        Some(digits) => (digits, Some(DataType::Int64)),
        None => (digits, None),
    };
    let digits = plain(digits);
    if radix == 10 && digits.len() > 1 && digits.starts_with('0') {
        return Err(Mistake::new(span, "a whole number has no leading 0; octal numbers do not exist here"));
    }
    let value = u128::from_str_radix(&digits, radix);
    let value = value.map_err(|error| match error.kind() {
        std::num::IntErrorKind::PosOverflow => Mistake::new(span, "this number is beyond 64 bits"),
        _ => Mistake::new(span, "this is no whole number"),
    })?;
    let literal = match (i64::try_from(value), u64::try_from(value)) {
        (Ok(value), _) => Literal::Int(value),
        // The minus before it makes it the least Int64.
        (_, Ok(value)) if data_type.is_none() || value == 1 << 63 => Literal::UInt(value),
        _ => return Err(Mistake::new(span, "this number is beyond 64 bits")),
    };
    Ok((Token::Number(literal, data_type), length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token> {
        let mut words: Vec<Token> = words(text).unwrap().into_iter().map(|(token, _)| token).collect();
        assert_eq!(words.pop(), Some(Token::End));
        words
    }

    fn message(text: &str) -> String {
        words(text).unwrap_err().message
    }

    #[test]
    fn numbers() {
        let int = |value| Token::Number(Literal::Int(value), None);
        let float = |value| Token::Number(Literal::Float(value), None);
        assert_eq!(tokens("0 5 1_000 0xAB 0b10"), [int(0), int(5), int(1000), int(171), int(2)]);
        assert_eq!(tokens("5L"), [Token::Number(Literal::Int(5), Some(DataType::Int64))]);
        assert_eq!(tokens("2.25 1e-3 .5 2E2"), [float(2.25), float(1e-3), float(0.5), float(200.0)]);
        assert_eq!(tokens("3f"), [Token::Number(Literal::Float(3.0), Some(DataType::Float32))]);
        assert_eq!(tokens("18446744073709551615"), [Token::Number(Literal::UInt(u64::MAX), None)]);
        assert_eq!(tokens("1.abs"), [int(1), Token::Sign("."), Token::Name]);
        assert!(message("007").contains("leading 0"));
        assert!(message("99999999999999999999").contains("64 bits"));
        assert!(message("9999999999999999999L").contains("64 bits"));
        assert!(message("0x").contains("no whole number"));
        assert!(message("5q").contains("suffixes"));
        assert!(message("1e999").contains("POS_INFINITY"));
    }

    #[test]
    fn strings_and_quotes() {
        assert_eq!(tokens("`it's` ``"), [Token::Text("it's".into()), Token::Text("".into())]);
        assert_eq!(tokens(r"`a\n\`\\\u00e9`"), [Token::Text("a\n`\\é".into())]);
        assert_eq!(tokens("'2025-01-01'"), [Token::Quoted("2025-01-01".into())]);
        for wrong in ["`open", "'open", "\"double\"", "#", r"`\q`", r"`\u12`", r"`\u{1}`", "`\\"] {
            assert!(words(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn signs_take_the_longest() {
        let signs = |text: &str| -> Vec<&'static str> {
            tokens(text).into_iter().map(|token| if let Token::Sign(sign) = token { sign } else { "?" }).collect()
        };
        assert_eq!(signs("**//<<=&&&"), ["**", "//", "<<", "=", "&&", "&"]);
        assert_eq!(tokens("größe_1 $x"), [Token::Name, Token::Name]);
    }
}
