//! Groups that are there without rows: as rows come to one, or the last one leaves, it turns.

use std::collections::HashSet;

use super::groups::Groups;
use crate::plan::standing::Standing;

/// Which of the groups that are there have no rows.
#[derive(Default)]
pub(super) struct Vacant(HashSet<u32>);

impl Vacant {
    pub(super) fn new(groups: &Groups, standing: Standing) -> Vacant {
        match standing.lasting() {
            true => Vacant(groups.present().filter(|slot| !groups.has_rows(*slot)).collect()),
            false => Vacant::default(),
        }
    }

    /// Notes whether a group has rows now; whether that is new.
    pub(super) fn turned(&mut self, slot: u32, has_rows: bool) -> bool {
        if has_rows { !self.0.is_empty() && self.0.remove(&slot) } else { self.0.insert(slot) }
    }
}
