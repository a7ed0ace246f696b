//! Drawings of a join, and its laws.

use model::Compare;
use model::ops::{Join as Wanted, join};

use super::*;
use crate::driver::attach::attach;
use crate::testing::{TableSpec, check_law_of_two, table_of};

fn options(keys: &[&str], how: How) -> EquiOptions {
    EquiOptions {
        on: keys.iter().map(|key| ((*key).to_owned(), (*key).to_owned())).collect(),
        how,
        suffix: "_right".to_owned(),
        nulls_equal: false,
        validate: Validate::ManyToMany,
        coalesce: true,
    }
}

fn joined(left: &Table, right: &Table, options: EquiOptions) -> Result<Table, Error> {
    attach(&EquiJoin::new("join", left, right, options)?, &[left.clone(), right.clone()])
}

fn law(left: &TableSpec, right: &TableSpec, runs: u64, options: &EquiOptions) {
    let one = |side| [side, Validate::OneToOne].contains(&options.validate);
    let wanted = Wanted {
        on: options.on.clone(),
        outer: options.how == How::Left,
        nulls_equal: options.nulls_equal,
        one_left: one(Validate::OneToMany),
        one_right: one(Validate::ManyToOne),
        coalesce: options.coalesce,
        suffix: options.suffix.clone(),
    };
    let build = |left: &Table, right: &Table| joined(left, right, options.clone());
    check_law_of_two((left, right), runs, Compare::ByPosition, build, |left, right| join(left, right, &wanted));
}

#[test]
fn law_of_pairs() {
    let (left, right) = (table_of("k:str v:int"), table_of("k:str w:int"));
    law(&left, &right, 300, &options(&["k"], How::Inner));
}

#[test]
fn law_with_left_rows_that_have_no_match() {
    let (left, right) = (table_of("k:str v:int"), table_of("k:str w:int").rows(6));
    law(&left, &right, 300, &options(&["k"], How::Left));
}

#[test]
fn law_of_two_keys_with_nulls() {
    let (left, right) = (table_of("g:int x:float v:int"), table_of("g:int x:float w:str"));
    for how in [How::Inner, How::Left] {
        law(&left, &right, 150, &EquiOptions { nulls_equal: true, coalesce: false, ..options(&["g", "x"], how) });
    }
}

#[test]
fn law_of_one_row_a_key() {
    let (left, right) = (table_of("g:int v:int").rows(5), table_of("g:int w:int").rows(5));
    for validate in [Validate::ManyToOne, Validate::OneToMany, Validate::OneToOne] {
        law(&left, &right, 100, &EquiOptions { validate, ..options(&["g"], How::Inner) });
    }
}

/// A table joined with itself changes on both sides at once.
#[test]
fn law_of_a_table_with_itself() {
    let (both, other) = (table_of("k:str g:int v:int"), table_of("k:str"));
    for how in [How::Inner, How::Left] {
        let options = EquiOptions { on: vec![("k".to_owned(), "k".to_owned())], ..options(&[], how) };
        let wanted = Wanted { outer: how == How::Left, ..Wanted::new(&["k"]) };
        let build = |table: &Table, _: &Table| joined(table, table, options.clone());
        check_law_of_two((&both, &other), 150, Compare::ByPosition, build, |table, _| join(table, table, &wanted));
    }
}
