//! Templates: `"{} costs {:.2f}"`, whose places are written as Python's are.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, Float64Array};

use super::declared::{ANY, FunctionSpec, free, named};
use super::text::{Out, Strings, build};
use crate::eval::node::{Argument, Whole};
use crate::tree::family::Family;
use crate::tree::function::{Function, Text};

pub(crate) const FUNCTIONS: &[FunctionSpec] =
    &[free(Function::Text(Text::Format), "format", (1, ANY, "a template and its values"), |b, c| b.format(c))
        .always(Family::Text)
        .shown_by(r#"tf.format("{} of {}", col("n"), col("k"))"#)
        .in_formulas(&[named(
            "format",
            "format(`{:.2f} and {}`, x, n)",
            "values in a text, with Python's format words",
        )])];

/// The widest place: a width is no way to fill memory.
const WIDEST: usize = 4_096;

/// A piece of a template.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Piece {
    Text(String),
    Place(Spec),
}

/// How one value is written: `[[fill]align][sign][0][width][,][.precision][kind]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Spec {
    fill: Option<char>,
    align: Option<char>,
    plus: bool,
    width: usize,
    commas: bool,
    precision: Option<usize>,
    /// `s`, `d`, `f`, `e`, `%`, or nothing.
    kind: Option<char>,
}

/// What a value is taken as, to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// As its text.
    Text,
    /// As the text of a whole number.
    Whole,
    /// As a Float64.
    Float,
}

/// The pieces of a template; `{{` and `}}` are brackets.
pub(crate) fn pieces(template: &str) -> Result<Vec<Piece>, String> {
    let (mut pieces, mut text) = (Vec::new(), String::new());
    let mut rest = template.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '{' | '}' if rest.peek() == Some(&character) => {
                rest.next();
                text.push(character);
            }
            '{' => {
                let mut place = String::new();
                loop {
                    match rest.next() {
                        Some('}') => break,
                        Some(next) => place.push(next),
                        None => return Err(format!("{template:?} has a {{ without its }}; a bracket itself is {{{{")),
                    }
                }
                if !text.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                }
                pieces.push(Piece::Place(Spec::parse(&place)?));
            }
            '}' => return Err(format!("{template:?} has a }} without its {{; a bracket itself is }}}}")),
            other => text.push(other),
        }
    }
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    Ok(pieces)
}

impl Spec {
    fn parse(place: &str) -> Result<Spec, String> {
        let wrong = || {
            format!(
                "{{{place}}} is no place of a template; write {{}}, or a form such as {{:.2f}}, {{:>8}}, {{:05d}}, \
                 {{:,}} or {{:.1%}}; values go to the places in their order"
            )
        };
        if place.is_empty() {
            return Ok(Spec::default());
        }
        let given: Vec<char> = place.strip_prefix(':').ok_or_else(wrong)?.chars().collect();
        let mut spec = Spec::default();
        let is_align = |character: Option<&char>| matches!(character, Some('<' | '>' | '^'));
        let mut at = 0;
        if is_align(given.get(1)) {
            (spec.fill, spec.align, at) = (Some(given[0]), Some(given[1]), 2);
        } else if is_align(given.first()) {
            (spec.align, at) = (Some(given[0]), 1);
        }
        if given.get(at) == Some(&'+') {
            (spec.plus, at) = (true, at + 1);
        }
        if given.get(at) == Some(&'0') {
            // Zeros stand behind the sign, unless another place was asked for.
            spec.fill = spec.fill.or(Some('0'));
            spec.align = spec.align.or(Some('='));
            at += 1;
        }
        let number = |from: usize| {
            let digits: String =
                given[from.min(given.len())..].iter().take_while(|digit| digit.is_ascii_digit()).collect();
            (digits.parse::<usize>().ok().filter(|number| *number <= WIDEST), digits.len())
        };
        let (width, digits) = number(at);
        if digits > 0 {
            (spec.width, at) = (width.ok_or_else(wrong)?, at + digits);
        }
        if given.get(at) == Some(&',') {
            (spec.commas, at) = (true, at + 1);
        }
        if given.get(at) == Some(&'.') {
            let (precision, digits) = number(at + 1);
            (spec.precision, at) = (Some(precision.ok_or_else(wrong)?), at + 1 + digits);
        }
        if let Some(kind @ ('s' | 'd' | 'f' | 'e' | '%')) = given.get(at) {
            (spec.kind, at) = (Some(*kind), at + 1);
        }
        if at == given.len() { Ok(spec) } else { Err(wrong()) }
    }

    /// What a value is taken as; `number`: it is one, `whole`: without a fraction. None if it cannot be written so.
    pub(crate) fn takes(&self, number: bool, whole: bool) -> Option<Taken> {
        let counted = self.plus || self.commas || self.align == Some('=');
        match self.kind {
            Some('s') => (!counted).then_some(Taken::Text),
            Some('d') => (whole && self.precision.is_none()).then_some(Taken::Whole),
            Some(_) => number.then_some(Taken::Float),
            None if number && self.precision.is_some() => Some(Taken::Float),
            None if whole => Some(Taken::Whole),
            None if counted && number => Some(Taken::Float),
            None => (!counted).then_some(Taken::Text),
        }
    }

    fn write(&self, value: &Value<'_>, number: bool, row: usize, out: &mut Out) -> Option<()> {
        let text = match value {
            Value::Text(texts) | Value::Whole(texts) => texts.get(row)?.to_owned(),
            Value::Float(floats, one) => {
                let row = if *one { 0 } else { row };
                self.float(floats.is_valid(row).then(|| floats.value(row))?)
            }
        };
        let counts = !matches!(value, Value::Text(_));
        let (sign, digits) = match text.strip_prefix('-').filter(|_| counts) {
            Some(digits) => ("-", digits.to_owned()),
            None if self.plus => ("+", text),
            None => ("", text),
        };
        let digits = if self.commas { grouped(&digits) } else { digits };
        let digits = match (self.precision, counts) {
            (Some(most), false) => digits.chars().take(most).collect(),
            _ => digits,
        };
        let missing = self.width.saturating_sub(sign.len() + digits.chars().count());
        let fill = |count: usize| std::iter::repeat_n(self.fill.unwrap_or(' '), count);
        let align = self.align.unwrap_or(if counts || number { '>' } else { '<' });
        let before = match align {
            '>' => missing,
            '^' => missing / 2,
            _ => 0,
        };
        out.extend(fill(before));
        out.push_str(sign);
        out.extend(fill(if align == '=' { missing } else { 0 }));
        out.push_str(&digits);
        out.extend(fill(if align == '=' { 0 } else { missing - before }));
        Some(())
    }

    fn float(&self, value: f64) -> String {
        let places = self.precision.unwrap_or(6);
        match self.kind {
            _ if !value.is_finite() => format!("{value}"),
            Some('e') => {
                let text = format!("{value:.places$e}");
                let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
                let (sign, size) = exponent.strip_prefix('-').map_or(('+', exponent), |size| ('-', size));
                format!("{digits}e{sign}{size:0>2}")
            }
            Some('%') => format!("{:.places$}%", value * 100.0),
            None if self.precision.is_none() => format!("{value:?}"),
            _ => format!("{value:.places$}"),
        }
    }
}

/// Commas between the thousands of the digits before the point.
fn grouped(digits: &str) -> String {
    let end = digits.find(|character: char| !character.is_ascii_digit()).unwrap_or(digits.len());
    let (whole, rest) = digits.split_at(end);
    let mut text = String::with_capacity(digits.len() + whole.len() / 3);
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text + rest
}

/// The values of one place.
enum Value<'a> {
    Text(Strings<'a>),
    Whole(Strings<'a>),
    Float(&'a Float64Array, bool),
}

impl<'a> Value<'a> {
    fn of(argument: &'a Argument, taken: Taken) -> Value<'a> {
        match taken {
            Taken::Text => Value::Text(Strings::of(argument)),
            Taken::Whole => Value::Whole(Strings::of(argument)),
            Taken::Float => {
                let one = matches!(argument, Argument::One(_));
                Value::Float(argument.array().as_primitive::<Float64Type>(), one)
            }
        }
    }
}

/// The template with one argument for each place, taken as said; null where one of them is. `numbers`: which arguments
/// stand on the right of their place.
pub(crate) fn format(pieces: Vec<Piece>, taken: Vec<Taken>, numbers: Vec<bool>) -> Whole {
    Arc::new(move |args, rows| {
        let values: Vec<Value<'_>> = args.iter().zip(&taken).map(|(arg, taken)| Value::of(arg, *taken)).collect();
        build(rows, |row, out| {
            let mut place = 0;
            for piece in &pieces {
                match piece {
                    Piece::Text(text) => out.push_str(text),
                    Piece::Place(spec) => {
                        spec.write(&values[place], numbers[place], row, out)?;
                        place += 1;
                    }
                }
            }
            Some(())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_as_python_reads_them() {
        let place = |text: &str| match pieces(text).unwrap().remove(0) {
            Piece::Place(spec) => spec,
            piece => panic!("{piece:?}"),
        };
        assert_eq!(place("{}"), Spec::default());
        assert_eq!(place("{:.2f}"), Spec { precision: Some(2), kind: Some('f'), ..Spec::default() });
        assert_eq!(place("{:*^9}"), Spec { fill: Some('*'), align: Some('^'), width: 9, ..Spec::default() });
        let zeros = Spec { fill: Some('0'), align: Some('='), width: 5, kind: Some('d'), ..Spec::default() };
        assert_eq!(place("{:05d}"), zeros);
        assert_eq!(pieces("a{{b}}").unwrap(), [Piece::Text("a{b}".into())]);
        for wrong in ["{", "}", "{0}", "{name}", "{:q}", "{:.f}", "{:99999}", "{:x}"] {
            assert!(pieces(wrong).is_err(), "{wrong}");
        }
        assert_eq!(grouped("1234567.891"), "1,234,567.891");
        assert_eq!(grouped("123"), "123");
    }
}
