//! Functions of strings, and what reads values from them.

use arrow_schema::DataType;

use super::Make::Write;
use super::{ANY, Entry, call, cast, entry, int, one, same, take, two, with};
use crate::tree::expr::Expr;
use crate::tree::function::{Function, Text};
use crate::tree::literal::Literal;
use crate::tree::types::{DURATION, TIME};

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
    entry(
        "substring",
        2,
        3,
        Write(substring),
        "substring(s, 5, 8)",
        "from one position to before another, or to the end",
    ),
    entry("matches", 2, 2, Write(whole_match), "matches(s, `[A-Za-z ]+`)", "whether the whole text matches"),
    entry(
        "concat",
        2,
        ANY,
        Write(|args| Ok(Expr::joined(Function::Add, args))),
        "concat(s, `!`)",
        "one after the other",
    ),
    entry(
        "charAt",
        2,
        2,
        Write(|args| with(args, |[text, at]| call(Function::Text(Text::Slice), vec![text, at, int(1)]))),
        "charAt(s, 0)",
        "the character at a position",
    ),
    entry(
        "isEmpty",
        1,
        1,
        Write(|args| with(args, |[text]| two(Function::Equal, one(Function::Text(Text::LenBytes), text), int(0)))),
        "isEmpty(s)",
        "whether nothing is in it; of a list as well",
    ),
    same("equals", 2, Function::Equal, "equals(s, `live tables`)", "as `==`"),
    entry(
        "equalsIgnoreCase",
        2,
        2,
        Write(|args| with(args, |[a, b]| two(Function::Equal, lower_case(a), lower_case(b)))),
        "equalsIgnoreCase(s, `live tables`)",
        "equal but for capital letters",
    ),
    entry("parseInt", 1, 1, Write(|args| with(args, |[text]| cast(text, DataType::Int32))), "parseInt(`42`)", "Int32"),
    entry(
        "parseLong",
        1,
        1,
        Write(|args| with(args, |[text]| cast(text, DataType::Int64))),
        "parseLong(`42`)",
        "Int64",
    ),
    entry(
        "parseDouble",
        1,
        1,
        Write(|args| with(args, |[text]| cast(text, DataType::Float64))),
        "parseDouble(`4.5`)",
        "Float64",
    ),
    entry(
        "parseFloat",
        1,
        1,
        Write(|args| with(args, |[text]| cast(text, DataType::Float32))),
        "parseFloat(`4.5`)",
        "Float32",
    ),
    entry(
        "parseBoolean",
        1,
        1,
        Write(|args| with(args, |[text]| cast(text, DataType::Boolean))),
        "parseBoolean(`true`)",
        "Boolean",
    ),
    entry(
        "parseDuration",
        1,
        1,
        Write(|args| with(args, |[text]| cast(text, DURATION))),
        "parseDuration(`PT1H30M`)",
        "a duration",
    ),
    entry(
        "parseLocalTime",
        1,
        1,
        Write(|args| with(args, |[text]| cast(text, TIME))),
        "parseLocalTime(`13:45:30`)",
        "a time of day",
    ),
];
