//! The check of how many rows a key has on each side of a `join`.

use column::keys::NO_SLOT;

use crate::error::Error;
use crate::keys::rows::KeyRows;
use crate::ops::join::on::Side;
use crate::ops::join::side::JoinKeys;
use crate::plan::spec::Validate;

/// Checks how many rows each of these keys has on either side.
pub(super) fn check(keys: &JoinKeys, slots: &[u32], validate: Validate, operation: &str) -> Result<(), Error> {
    let (Some(left), Some(right)) = (keys.side(Side::Left), keys.side(Side::Right)) else { return Ok(()) };
    let many = |rows: &KeyRows, slot| if rows.is_empty(slot) { 0 } else { 1 + u8::from(rows.is_several(slot)) };
    judge(keys, slots.iter().map(|slot| (*slot, many(left, *slot), many(right, *slot))), validate, operation)
}

/// How many rows each slot has on either side: none, one, or two for several.
pub(super) struct Counts {
    left: Vec<u8>,
    right: Vec<u8>,
}

impl Counts {
    /// Of rows with these slots, all of which are below `many`.
    pub(super) fn of(left: &[u32], right: &[u32], many: usize) -> Counts {
        let counts = |slots: &[u32]| {
            let mut counts = vec![0_u8; many];
            for slot in slots.iter().filter(|slot| **slot != NO_SLOT) {
                let count = &mut counts[*slot as usize];
                *count = (*count + 1).min(2);
            }
            counts
        };
        Counts { left: counts(left), right: counts(right) }
    }
}

/// Checks how many rows each key has on either side.
pub(super) fn check_counts(keys: &JoinKeys, counts: &Counts, validate: Validate, operation: &str) -> Result<(), Error> {
    let each = counts.left.iter().zip(&counts.right).enumerate();
    judge(keys, each.map(|(slot, (left, right))| (slot as u32, *left, *right)), validate, operation)
}

/// Checks slots with how many rows they have on either side: none, one, or two for several.
fn judge(
    keys: &JoinKeys,
    mut slots: impl Iterator<Item = (u32, u8, u8)>,
    validate: Validate,
    operation: &str,
) -> Result<(), Error> {
    let (one_left, one_right, word) = match validate {
        Validate::ManyToMany => return Ok(()),
        Validate::ManyToOne => (false, true, "m:1"),
        Validate::OneToMany => (true, false, "1:m"),
        Validate::OneToOne => (true, true, "1:1"),
    };
    let found = slots.find_map(|(slot, left, right)| {
        let is_met = left > 0 && right > 0;
        if is_met && one_right && right > 1 {
            Some((slot, "right"))
        } else if is_met && one_left && left > 1 {
            Some((slot, "left"))
        } else {
            None
        }
    });
    let Some((slot, side)) = found else { return Ok(()) };
    let key = keys.text(slot);
    let message =
        format!("the key ({key}) has several rows in the {side} table; validate=\"{word}\" takes at most one");
    Err(Error::Match { operation: operation.to_owned(), message })
}
