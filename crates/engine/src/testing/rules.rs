//! The rules of updates that speak of keys alone: U1 to U4, U6 and U7.

use crate::table::parts::Attributes;
use crate::table::update::TableUpdate;

/// U1–U4 and U6; the survivors' keys after and before, ascending.
pub fn check_keys(before: &[u64], now: &[u64], update: &TableUpdate, width: usize) -> Result<Vec<(u64, u64)>, String> {
    if update.is_empty() {
        return Err("U6: an empty update was sent".into());
    }
    if let Some(key) = update.removed.0.iter().find(|key| before.binary_search(key).is_err()) {
        return Err(format!("U1: the removed row {key} was not there"));
    }
    let survivors: Vec<u64> = before.iter().copied().filter(|key| !update.removed.0.contains(*key)).collect();
    let goals = check_shifts(&survivors, update)?;
    let survives = |key: u64| goals.binary_search_by_key(&key, |(after, _)| *after).is_ok();
    if let Some(key) = update.added.iter().find(|key| survives(*key)) {
        return Err(format!("U3: the added row {key} lands on a survivor"));
    }
    let mut arrived: Vec<u64> = goals.iter().map(|(after, _)| *after).chain(update.added.iter()).collect();
    arrived.sort_unstable();
    if arrived != now {
        return Err("U3: rows now are not the survivors and the added".into());
    }
    if let Some(key) = update.modified.iter().find(|key| !survives(*key)) {
        return Err(format!("U4: the modified row {key} is no survivor"));
    }
    if update.modified.is_empty() != update.columns.is_empty() {
        return Err("U4: modified rows and columns must be empty together".into());
    }
    if let Some(column) = update.columns.iter().find(|column| *column >= width) {
        return Err(format!("U4: the modified column {column} is not in the schema"));
    }
    Ok(goals)
}

/// U2; the keys after of all survivors, with their keys before, ascending.
fn check_shifts(survivors: &[u64], update: &TableUpdate) -> Result<Vec<(u64, u64)>, String> {
    const LAST_KEY: u64 = super::keys::LAST_KEY;
    let mut previous: Option<(u64, u64)> = None;
    for shift in update.shifts.iter() {
        let text = format!("[{}..{}]{:+}", shift.first, shift.last, shift.delta);
        let goal = |key: u64| key.checked_add_signed(shift.delta).filter(|key| *key <= LAST_KEY);
        let (Some(low), Some(high)) = (goal(shift.first), goal(shift.last)) else {
            return Err(format!("U2: the shift {text} leaves the key space"));
        };
        if shift.delta == 0 || shift.first > shift.last {
            return Err(format!("U2: the shift {text} moves nothing"));
        }
        if survivors.binary_search(&shift.first).is_err() || survivors.binary_search(&shift.last).is_err() {
            return Err(format!("U2: the shift {text} is wider than the survivors it moves"));
        }
        if previous.is_some_and(|(origin, goal)| origin >= shift.first || goal >= low) {
            return Err(format!("U2: the shift {text} overlaps the one before it, or is out of order"));
        }
        previous = Some((shift.last, high));
    }
    let mut goals = Vec::with_capacity(survivors.len());
    let mut last = None;
    for key in survivors {
        let shift = update.shifts.iter().find(|shift| (shift.first..=shift.last).contains(key));
        let goal = shift.map_or(*key, |shift| key.wrapping_add_signed(shift.delta));
        if last >= Some(goal) {
            return Err(format!("U2: the row {key} lands on or overtakes a survivor"));
        }
        last = Some(goal);
        goals.push((goal, *key));
    }
    Ok(goals)
}

/// U7.
pub fn check_attributes(
    attributes: &Attributes,
    before: &[u64],
    now: &[u64],
    update: &TableUpdate,
) -> Result<(), String> {
    let adds_only = update.removed.0.is_empty() && update.modified.is_empty() && update.shifts.is_empty();
    if (attributes.append_only || attributes.add_only) && !adds_only {
        return Err("U7: a table that only adds did something else".into());
    }
    let last = before.last().copied();
    if attributes.append_only && update.added.first() <= last && !update.added.is_empty() && last.is_some() {
        return Err("U7: an append-only table added a row below its last".into());
    }
    let blinks = update.modified.is_empty()
        && update.shifts.is_empty()
        && update.added.to_vec() == now
        && update.removed.0.to_vec() == before;
    if attributes.blink && !blinks {
        return Err("U7: a blink table kept or changed a row".into());
    }
    if attributes.flat && !now.iter().copied().eq(0..now.len() as u64) {
        return Err("U7: a flat table has a gap".into());
    }
    Ok(())
}
