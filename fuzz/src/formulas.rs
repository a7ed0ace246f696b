//! Formula text: understood or refused, with a place that lies within the text.

use std::collections::HashMap;

use formula::{Formula, Names, Purpose};

use super::world::{SCHEMA, evaluate};

/// Any text, as the value of a column and as a filter.
pub fn formulas(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for purpose in [Purpose::Column, Purpose::Filter] {
        let names = Names {
            columns: Some(&SCHEMA),
            values: &HashMap::new(),
            functions: &HashMap::new(),
            sets: &HashMap::new(),
        };
        let checked = Formula::parse(&text, purpose).and_then(|formula| formula.check(&names, &SCHEMA));
        match checked {
            Ok(checked) => {
                assert!(!checked.expr().to_python().is_empty());
                evaluate(checked.bound());
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}
