//! The check of how many rows a key has on each side of a `join`.

use crate::error::Error;
use crate::keys::rows::KeyRows;
use crate::ops::join::on::Side;
use crate::ops::join::side::JoinKeys;
use crate::plan::spec::Validate;

/// Checks how many rows each of these keys has on either side.
pub(super) fn check(keys: &JoinKeys, slots: &[u32], validate: Validate, operation: &str) -> Result<(), Error> {
    let (Some(left), Some(right)) = (keys.side(Side::Left), keys.side(Side::Right)) else { return Ok(()) };
    let (one_left, one_right, word) = match validate {
        Validate::ManyToMany => return Ok(()),
        Validate::ManyToOne => (false, true, "m:1"),
        Validate::OneToMany => (true, false, "1:m"),
        Validate::OneToOne => (true, true, "1:1"),
    };
    for slot in slots {
        let several = |one: bool, rows: &KeyRows| one && rows.is_several(*slot);
        let side = if several(one_right, right) && !left.is_empty(*slot) {
            "right"
        } else if several(one_left, left) && !right.is_empty(*slot) {
            "left"
        } else {
            continue;
        };
        let key = keys.text(*slot);
        let message =
            format!("the key ({key}) has several rows in the {side} table; validate=\"{word}\" takes at most one");
        return Err(Error::Match { operation: operation.to_owned(), message });
    }
    Ok(())
}
