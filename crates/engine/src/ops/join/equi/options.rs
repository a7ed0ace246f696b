//! The arguments of `join`, and the check of how many rows a key has.

use crate::error::Error;
use crate::keys::rows::KeyRows;
use crate::ops::join::on::Side;
use crate::ops::join::side::JoinKeys;

/// Which rows a join has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum How {
    /// Pairs.
    Inner,
    /// Pairs, and the left rows that have no match, with nulls.
    Left,
}

/// How many rows a key may have on each side, if both sides have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum Validate {
    /// Any number on both sides.
    ManyToMany,
    /// One on the right.
    ManyToOne,
    /// One on the left.
    OneToMany,
    /// One on either side.
    OneToOne,
}

/// The arguments of a join.
#[derive(Clone, Debug, serde::Serialize)]
pub struct EquiOptions {
    /// Key columns, left and right.
    pub on: Vec<(String, String)>,
    /// Which rows the result has.
    pub how: How,
    /// Appended to the name of a right column that the left table has too.
    pub suffix: String,
    /// Whether a null key matches a null key.
    pub nulls_equal: bool,
    /// How many rows a key may have.
    pub validate: Validate,
    /// Whether the right key columns are left out.
    pub coalesce: bool,
}

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
