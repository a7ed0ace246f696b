//! Strings filled up, turned round, and in title case.

use arrow_schema::DataType;
use std::sync::Arc;

use super::declared::{FunctionSpec, Takes, method, named};
use super::text::{Integers, Strings, build};
use crate::eval::node::Whole;
use crate::tree::family::Family;
use crate::tree::function::{Function, Text};

const PADDED: Takes = (2, 3, "a string, a length and a character");

pub(crate) const FUNCTIONS: &[FunctionSpec] = &[
    method(Function::Text(Text::PadStart), "str.pad_start", PADDED, |b, c| b.padded(c, pad(true)))
        .always(Family::Text)
        .shown_by(r#"col("k").str.pad_start(3, "*")"#)
        .in_formulas(&[named("padStart", "padStart(`7`, 3, `0`)", "filled up to a length at the start")]),
    method(Function::Text(Text::PadEnd), "str.pad_end", PADDED, |b, c| b.padded(c, pad(false)))
        .always(Family::Text)
        .shown_by(r#"col("k").str.pad_end(3, "*")"#)
        .in_formulas(&[
            named("padEnd", "padEnd(`7`, 3, `0`)", "filled up to a length at the end"),
            named("pad", "pad(`7`, 3, `0`)", "as `padEnd`"),
        ]),
    method(Function::Text(Text::Reverse), "str.reverse", (1, 1, "a string"), |b, c| {
        b.of_strings(c, reverse(), DataType::Utf8View)
    })
    .always(Family::Text)
    .in_formulas(&[named("reverse", "reverse(s)", "the other way round; of a list its elements")]),
    method(Function::Text(Text::ToTitlecase), "str.to_titlecase", (1, 1, "a string"), |b, c| {
        b.of_strings(c, titlecase(), DataType::Utf8View)
    })
    .always(Family::Text),
];

/// To a length in characters (second argument) by one character (third, a blank without it), at the start or the end.
pub(crate) fn pad(start: bool) -> Whole {
    Arc::new(move |args, rows| {
        let (texts, widths) = (Strings::of(&args[0]), Integers::of(&args[1]));
        let fills = args.get(2).map(Strings::of);
        build(rows, |row, out| {
            let (text, width) = (texts.get(row)?, widths.get(row)?);
            let fill = match &fills {
                Some(fills) => fills.get(row)?.chars().next().unwrap_or(' '),
                None => ' ',
            };
            let missing = width.saturating_sub(text.chars().count() as i64).max(0) as u64;
            if start {
                out.fill(fill, missing);
                out.push_str(text);
            } else {
                out.push_str(text);
                out.fill(fill, missing);
            }
            Some(())
        })
    })
}

/// The characters in the opposite order.
pub(crate) fn reverse() -> Whole {
    Arc::new(|args, rows| {
        let texts = Strings::of(&args[0]);
        build(rows, |row, out| {
            out.extend(texts.get(row)?.chars().rev());
            Some(())
        })
    })
}

/// Each word begins with a capital letter, the rest of it is in small letters. Words are runs of letters and digits.
pub(crate) fn titlecase() -> Whole {
    Arc::new(|args, rows| {
        let texts = Strings::of(&args[0]);
        build(rows, |row, out| {
            let mut inside = false;
            for character in texts.get(row)?.chars() {
                if inside {
                    out.extend(character.to_lowercase());
                } else {
                    out.extend(character.to_uppercase());
                }
                inside = character.is_alphanumeric();
            }
            Some(())
        })
    })
}
