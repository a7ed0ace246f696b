//! Strings filled up, turned round, and in title case.

use std::sync::Arc;

use super::text::{Integers, Strings, build};
use crate::eval::node::Whole;

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
