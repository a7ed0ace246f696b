//! The rows of keys beside plain sets.

use std::collections::BTreeSet;

use proptest::prelude::*;
use rowset::Shift;

use super::*;

fn rows_of(rows: &KeyRows, slot: u32) -> Vec<u64> {
    let mut found = Vec::new();
    rows.for_each(slot, |row| found.push(row));
    found
}

fn agrees(rows: &KeyRows, model: &[BTreeSet<u64>]) -> Result<(), TestCaseError> {
    for (slot, wanted) in model.iter().enumerate() {
        let slot = slot as u32;
        prop_assert_eq!(rows_of(rows, slot), wanted.iter().copied().collect::<Vec<_>>());
        prop_assert_eq!(rows.first(slot), wanted.first().copied().unwrap_or(NO_ROW));
        prop_assert_eq!(rows.last(slot), wanted.last().copied().unwrap_or(NO_ROW));
        prop_assert_eq!((rows.is_empty(slot), rows.is_several(slot)), (wanted.is_empty(), wanted.len() > 1));
    }
    Ok(())
}

proptest! {
    #[test]
    fn agrees_with_sets(steps in proptest::collection::vec((0u8..8, 0u64..400, 1u64..150, any::<u64>()), 1..60)) {
        let mut rows = KeyRows::new(true);
        rows.grow(3);
        let mut model = vec![BTreeSet::new(); 3];
        for (what, from, len, seed) in steps {
            let slot_of = |row: u64| (row.wrapping_mul(seed | 1) >> 7) % 3;
            match what {
                0..=3 => {
                    let new: Vec<u64> = (from..from + len).filter(|row| !model.iter().any(|has: &BTreeSet<u64>| has.contains(row))).collect();
                    let slots: Vec<u32> = new.iter().map(|row| slot_of(*row) as u32).collect();
                    rows.enter(&slots, &RowSet::from_sorted_keys(&new));
                    new.iter().zip(&slots).for_each(|(row, slot)| { model[*slot as usize].insert(*row); });
                }
                4 | 5 => {
                    let of = |row: &u64| model.iter().position(|has| has.contains(row)).map(|slot| (*row, slot as u32));
                    let (gone, slots): (Vec<u64>, Vec<u32>) = (from..from + len).filter_map(|row| of(&row)).unzip();
                    rows.leave(&slots, &RowSet::from_sorted_keys(&gone));
                    model.iter_mut().for_each(|has| has.retain(|row| !gone.contains(row)));
                }
                6 => {
                    let all: RowSet = model.iter().flatten().copied().collect::<BTreeSet<u64>>().into_iter().collect();
                    let Some(last) = all.last() else { continue };
                    let first = from.min(last);
                    let shift = Shift { first, last, delta: len as i64 };
                    let Ok(shifts) = Shifts::new(vec![shift], &Before(all)) else { continue };
                    rows.shift(vec![2, 0, 1, 2], &shifts);
                    model.iter_mut().for_each(|has| *has = has.iter().map(|row| shifts.forward_key(*row)).collect());
                }
                _ => {
                    let slot = from % 3;
                    rows.reset(slot as u32);
                    model[slot as usize].clear();
                }
            }
            agrees(&rows, &model)?;
        }
        let mut merged = KeyRows::new(true);
        merged.grow(1);
        (0..3).for_each(|slot| merged.enter_all(0, &rows, slot));
        agrees(&merged, &[model.into_iter().flatten().collect()])?;
    }
}

#[test]
fn where_rows_never_leave_only_the_ends_are_kept() {
    let mut rows = KeyRows::new(false);
    rows.grow(2);
    rows.enter(&[1; 500], &RowSet::range(3, 502));
    assert_eq!((rows.first(1), rows.last(1), rows.is_empty(0)), (3, 502, true));
    assert!(rows.lists.iter().all(|lists| lists.cells.is_empty()) && rows.many.is_empty());
}

#[test]
fn lists_are_used_again() {
    let mut rows = KeyRows::new(true);
    rows.grow(1);
    for round in 0..1000 {
        let some = RowSet::range(round, round + 40);
        rows.enter(&[0; 41], &some);
        rows.leave(&[0; 41], &some);
    }
    assert!(rows.lists.iter().enumerate().all(|(size, lists)| lists.cells.len() <= 2 * capacity(size)));
}
