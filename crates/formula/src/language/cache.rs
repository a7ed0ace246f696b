//! The cache of parsed formulas: a text is parsed once, however often it is used. The caller's variables are inserted
//! when the formula is lowered.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::eval::counters::count_read;
use crate::language::parse::{Parsed, Purpose};

/// So many texts are known; with one more all are forgotten.
const MOST_TEXTS: usize = 512;
/// A longer one is read again each time.
const LONGEST_TEXT: usize = 4 << 10;

type Texts = HashMap<Box<str>, Arc<Parsed>>;

/// Texts of columns and texts of filters: `X = 1` means another thing in each.
static TEXTS: Mutex<Option<[Texts; 2]>> = Mutex::new(None);

/// What a text means, which `read` finds out if it is not known yet. Mistakes are not kept.
pub(crate) fn text<E>(
    text: &str,
    purpose: Purpose,
    read: impl FnOnce() -> Result<Parsed, E>,
) -> Result<Arc<Parsed>, E> {
    let at = usize::from(matches!(purpose, Purpose::Filter));
    let texts = || TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = texts().as_ref().and_then(|texts| texts[at].get(text)) {
        return Ok(Arc::clone(known));
    }
    count_read();
    let parsed = Arc::new(read()?);
    if text.len() <= LONGEST_TEXT {
        let mut texts = texts();
        let known = &mut texts.get_or_insert_default()[at];
        if known.len() >= MOST_TEXTS {
            known.clear();
        }
        known.insert(text.into(), Arc::clone(&parsed));
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_once_for_each_purpose_and_mistakes_each_time() {
        let mut reads = 0;
        for purpose in [Purpose::Column, Purpose::Filter, Purpose::Column, Purpose::Filter] {
            let read = || {
                reads += 1;
                crate::language::parse::parse("some_name_of_this_test = 1", purpose)
            };
            assert!(text("some_name_of_this_test = 1", purpose, read).is_ok());
        }
        assert_eq!(reads, 2);
        for _ in 0..2 {
            assert_eq!(text("no formula of this test (", Purpose::Column, || Err(7)).err(), Some(7));
        }
    }
}
