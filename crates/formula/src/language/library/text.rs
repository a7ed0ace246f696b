//! Functions of strings, and what reads values from them.

use arrow_schema::DataType;

use super::Make::{Call, Write};
use super::{Entry, MANY, call, cast, entry, int, one, same, take, two, with};
use crate::tree::expr::Expr;
use crate::tree::function::{Function, Text};
use crate::tree::literal::Literal;
use crate::tree::types::{DURATION, TIME};

const fn text(name: &'static str, count: usize, function: Text) -> Entry {
    same(name, count, Function::Text(function))
}

/// A regular expression that must match the whole text.
fn whole_match(args: Vec<Expr>) -> Result<Expr, String> {
    let [text, pattern] = take(args);
    match pattern {
        Expr::Literal(Literal::Str(pattern)) => {
            let pattern = Expr::literal(&*format!("^(?:{pattern})$"));
            Ok(two(Function::Text(Text::Contains { literal: false }), text, pattern))
        }
        _ => Err("matches takes a pattern that is a string, not a column".to_owned()),
    }
}

/// From one position to before another, which may be left out.
fn substring(args: Vec<Expr>) -> Result<Expr, String> {
    let slice = Function::Text(Text::Slice);
    if args.len() == 2 {
        return Ok(call(slice, args));
    }
    let [text, from, to] = take(args);
    let length = match (&from, &to) {
        (Expr::Literal(Literal::Int(from)), Expr::Literal(Literal::Int(to))) => int(to.saturating_sub(*from)),
        _ => two(Function::Subtract, to, from.clone()),
    };
    Ok(call(slice, vec![text, from, length]))
}

fn lower_case(text: Expr) -> Expr {
    one(Function::Text(Text::ToLowercase), text)
}

pub(super) const ENTRIES: &[Entry] = &[
    entry("format", 1, MANY, Call(Function::Text(Text::Format))),
    text("length", 1, Text::LenChars),
    text("len", 1, Text::LenChars),
    text("upper", 1, Text::ToUppercase),
    text("toUpperCase", 1, Text::ToUppercase),
    text("lower", 1, Text::ToLowercase),
    text("toLowerCase", 1, Text::ToLowercase),
    entry("trim", 1, 2, Call(Function::Text(Text::StripChars))),
    entry("substring", 2, 3, Write(substring)),
    text("startsWith", 2, Text::StartsWith),
    text("endsWith", 2, Text::EndsWith),
    text("contains", 2, Text::Contains { literal: true }),
    entry("matches", 2, 2, Write(whole_match)),
    text("replace", 3, Text::ReplaceAll { literal: true }),
    text("replaceAll", 3, Text::ReplaceAll { literal: false }),
    text("replaceFirst", 3, Text::Replace { literal: false }),
    entry("concat", 2, MANY, Write(|args| Ok(Expr::joined(Function::Add, args)))),
    entry("padStart", 2, 3, Call(Function::Text(Text::PadStart))),
    entry("padEnd", 2, 3, Call(Function::Text(Text::PadEnd))),
    entry("pad", 2, 3, Call(Function::Text(Text::PadEnd))),
    text("indexOf", 2, Text::IndexOf),
    text("split", 2, Text::Split),
    text("reverse", 1, Text::Reverse),
    entry(
        "charAt",
        2,
        2,
        Write(|args| with(args, |[text, at]| call(Function::Text(Text::Slice), vec![text, at, int(1)]))),
    ),
    entry(
        "isEmpty",
        1,
        1,
        Write(|args| with(args, |[text]| two(Function::Equal, one(Function::Text(Text::LenBytes), text), int(0)))),
    ),
    same("equals", 2, Function::Equal),
    entry(
        "equalsIgnoreCase",
        2,
        2,
        Write(|args| with(args, |[a, b]| two(Function::Equal, lower_case(a), lower_case(b)))),
    ),
    entry("parseInt", 1, 1, Write(|args| with(args, |[text]| cast(text, DataType::Int32)))),
    entry("parseLong", 1, 1, Write(|args| with(args, |[text]| cast(text, DataType::Int64)))),
    entry("parseDouble", 1, 1, Write(|args| with(args, |[text]| cast(text, DataType::Float64)))),
    entry("parseFloat", 1, 1, Write(|args| with(args, |[text]| cast(text, DataType::Float32)))),
    entry("parseBoolean", 1, 1, Write(|args| with(args, |[text]| cast(text, DataType::Boolean)))),
    entry("parseDuration", 1, 1, Write(|args| with(args, |[text]| cast(text, DURATION)))),
    entry("parseLocalTime", 1, 1, Write(|args| with(args, |[text]| cast(text, TIME)))),
    entry("parseInstant", 1, 2, Call(Function::Text(Text::ToDatetime { strict: true }))),
    entry("parseLocalDate", 1, 2, Call(Function::Text(Text::ToDate { strict: true }))),
];
