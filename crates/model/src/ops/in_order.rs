//! `assert_sorted`, `merge_sorted`: tables whose rows are in order. By position.

use std::cmp::Ordering;

use super::concat::concat;
use super::sort::{SortBy, compare_rows};
use crate::table::{Fault, Table};

/// The table as it is, if each row comes after the one before it or is equal to it.
pub fn assert_sorted(input: &Table, by: &[SortBy]) -> Result<Table, Fault> {
    let columns: Vec<usize> = by.iter().map(|key| input.index_of(&key.column)).collect();
    for pair in input.rows.windows(2) {
        if compare_rows(&pair[0].1, &pair[1].1, by, &columns) == Ordering::Greater {
            return Err(Fault(format!("out of order at row key {}", pair[1].0)));
        }
    }
    Ok(input.clone())
}

/// The least row of all that are next in their table, again and again; of equal ones that of the first table.
pub fn merge_sorted(inputs: &[&Table], by: &[SortBy]) -> Result<Table, Fault> {
    let names = inputs[0].names.clone();
    let columns: Vec<usize> = by.iter().map(|key| inputs[0].index_of(&key.column)).collect();
    inputs.iter().try_for_each(|input| assert_sorted(input, by).map(|_| ()))?;
    let mut rest: Vec<Vec<_>> = inputs.iter().map(|input| concat(&[inputs[0], input]).cells()).collect();
    for (rest, input) in rest.iter_mut().zip(inputs) {
        *rest = rest.split_off(rest.len() - input.len());
        rest.reverse();
    }
    let mut rows = Vec::new();
    loop {
        let mut least: Option<usize> = None;
        for (at, input) in rest.iter().enumerate() {
            let Some(next) = input.last() else { continue };
            let before = least.and_then(|least| rest[least].last());
            if before.is_none_or(|before| compare_rows(next, before, by, &columns) == Ordering::Less) {
                least = Some(at);
            }
        }
        match least.and_then(|least| rest[least].pop()) {
            Some(row) => rows.push(row),
            None => return Ok(Table::flat(names, rows)),
        }
    }
}
