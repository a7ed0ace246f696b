//! Strings.

use std::sync::Arc;

use arrow_array::builder::StringViewBuilder;
use arrow_array::cast::AsArray;
use arrow_array::Array;

use crate::node::{Argument, Whole};

/// One string after another.
pub(crate) fn concat() -> Whole {
    Arc::new(|args, rows| {
        let (a, b) = (Strings::of(&args[0]), Strings::of(&args[1]));
        let mut built = StringViewBuilder::with_capacity(rows);
        let mut joined = String::new();
        for row in 0..rows {
            match (a.get(row), b.get(row)) {
                (Some(a), Some(b)) => {
                    joined.clear();
                    joined.push_str(a);
                    joined.push_str(b);
                    built.append_value(&joined);
                }
                _ => built.append_null(),
            }
        }
        Ok(Arc::new(built.finish()))
    })
}

pub(crate) struct Strings<'a> {
    array: &'a arrow_array::StringViewArray,
    one: bool,
}

impl<'a> Strings<'a> {
    pub(crate) fn of(argument: &'a Argument) -> Strings<'a> {
        Strings { array: argument.array().as_string_view(), one: matches!(argument, Argument::One(_)) }
    }

    pub(crate) fn get(&self, row: usize) -> Option<&'a str> {
        let row = if self.one { 0 } else { row };
        self.array.is_valid(row).then(|| self.array.value(row))
    }
}
