//! Strings without what stands at their ends.

use std::sync::Arc;

use arrow_schema::DataType;

use super::declared::{FunctionSpec, Takes, method, named};
use super::text::{Strings, build};
use crate::eval::node::Whole;
use crate::tree::family::Family;
use crate::tree::function::{Function, Text};

const STRIPPED: Takes = (1, 2, "a string and the characters to strip");
const TWO_STRINGS: Takes = (2, 2, "two strings");

pub(crate) const FUNCTIONS: &[FunctionSpec] = &[
    method(Function::Text(Text::StripChars), "str.strip_chars", STRIPPED, |b, c| {
        b.of_given_strings(c, strip(Ends::Both), DataType::Utf8View)
    })
    .always(Family::Text)
    .shown_by(r#"col("s").str.strip_chars("Las2")"#)
    .in_formulas(&[named("trim", "trim(`  a `)", "without white space, or the characters given, at both ends")]),
    method(Function::Text(Text::StripCharsStart), "str.strip_chars_start", STRIPPED, |b, c| {
        b.of_given_strings(c, strip(Ends::Start), DataType::Utf8View)
    })
    .always(Family::Text)
    .shown_by(r#"col("s").str.strip_chars_start("La")"#),
    method(Function::Text(Text::StripCharsEnd), "str.strip_chars_end", STRIPPED, |b, c| {
        b.of_given_strings(c, strip(Ends::End), DataType::Utf8View)
    })
    .always(Family::Text)
    .shown_by(r#"col("s").str.strip_chars_end("s2")"#),
    method(Function::Text(Text::StripPrefix), "str.strip_prefix", TWO_STRINGS, |b, c| {
        b.of_strings(c, strip_affix(true), DataType::Utf8View)
    })
    .always(Family::Text)
    .shown_by(r#"col("s").str.strip_prefix("Live ")"#),
    method(Function::Text(Text::StripSuffix), "str.strip_suffix", TWO_STRINGS, |b, c| {
        b.of_strings(c, strip_affix(false), DataType::Utf8View)
    })
    .always(Family::Text)
    .shown_by(r#"col("s").str.strip_suffix("22")"#),
];

/// Which ends are stripped.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ends {
    Both,
    Start,
    End,
}

/// White space, or any of the characters of the second argument, taken off the ends.
pub(crate) fn strip(ends: Ends) -> Whole {
    fn trim(ends: Ends, text: &str, is: impl Fn(char) -> bool) -> &str {
        match ends {
            Ends::Both => text.trim_matches(is),
            Ends::Start => text.trim_start_matches(is),
            Ends::End => text.trim_end_matches(is),
        }
    }
    Arc::new(move |args, rows| {
        let texts = Strings::of(&args[0]);
        let sets = args.get(1).map(Strings::of);
        build(rows, |row, out| {
            let text = texts.get(row)?;
            out.push_str(match &sets {
                Some(sets) => {
                    let set = sets.get(row)?;
                    trim(ends, text, |character| set.contains(character))
                }
                None => trim(ends, text, char::is_whitespace),
            });
            Some(())
        })
    })
}

/// The second argument taken off once, if the text begins (or ends) with it.
pub(crate) fn strip_affix(prefix: bool) -> Whole {
    Arc::new(move |args, rows| {
        let (texts, affixes) = (Strings::of(&args[0]), Strings::of(&args[1]));
        build(rows, |row, out| {
            let (text, affix) = (texts.get(row)?, affixes.get(row)?);
            let stripped = if prefix { text.strip_prefix(affix) } else { text.strip_suffix(affix) };
            out.push_str(stripped.unwrap_or(text));
            Some(())
        })
    })
}
