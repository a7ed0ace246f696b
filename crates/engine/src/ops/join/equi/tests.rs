//! Drawings of a join, and its laws.

use model::Compare;
use model::ops::{Join as Wanted, join};

use super::*;
use crate::driver::attach::attach;
use crate::testing::check::check_steps_of_two;
use crate::testing::draw::in_order;
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

/// Drawings of both tables, and of the result, whose keys are written `@n`.
fn check_drawn(options: &EquiOptions, starts: (&str, &str), steps: &[((&str, &str), &str)]) {
    let drawn: Vec<String> = steps.iter().map(|(_, wanted)| in_order(wanted)).collect();
    let steps: Vec<_> = steps.iter().zip(&drawn).map(|((given, _), wanted)| (*given, wanted.as_str())).collect();
    check_steps_of_two(|left, right| joined(left, right, options.clone()), starts, &steps);
}

#[test]
fn pairs_come_change_and_go() {
    check_drawn(
        &options(&["k"], How::Inner),
        ("k:str l:int: 0 A 1 | 1 B 2 | 2 A 3 | 3 null 4", "k:str r:int: 0 A 10"),
        &[
            (("", "+ 1 B 20"), "+ @2 B 2 20"),
            (("", "+ 2 A 11 | + 3 null 5"), "+ @1 A 1 11 | + @6 A 3 11"),
            (("~ 0 . 7", ""), "~ @0 . 7 . | ~ @1 . 7 ."),
            (("", "~ 0 . 12"), "~ @0 . . 12 | ~ @4 . . 12"),
            (("~ 0 B .", ""), "- @0 | - @1 | + @0 B 7 20"),
            (("> [0..3]+5", "> [0..3]+5"), ""),
            (("- 6", "+ 9 B 30"), "- @2 | + @2 B 7 30"),
            (("", "+ 20 Z 1"), ""),
        ],
    );
}

#[test]
fn a_left_row_without_a_match_stands_alone() {
    check_drawn(
        &options(&["k"], How::Left),
        ("k:str l:int: 0 A 1 | 1 B 2", "k:str r:int: 0 A 10"),
        &[
            (("", "+ 1 B 20"), "- @4 | + @2 B 2 20"),
            (("", "- 0"), "- @0 | + @0 A 1 null"),
            (("~ 0 . 5", ""), "~ @0 . 5 ."),
            (("~ 0 C .", ""), "- @0 | + @0 C 5 null"),
            (("> [0..1]+3", "- 1"), "- @2 | + @2 B 2 null"),
            (("> [3..4]+3", ""), ""),
        ],
    );
}

#[test]
fn a_key_with_too_many_rows_fails_the_table() {
    let once = |validate| EquiOptions { validate, ..options(&["k"], How::Inner) };
    let starts = ("k:str l:int: 0 A 1", "k:str r:int: 0 A 10 | 1 B 11 | 2 B 12");
    check_drawn(
        &once(Validate::ManyToOne),
        starts,
        &[
            (("", "- 0 | + 5 A 13"), "- @0 | + @0 A 1 13"),
            (("", "+ 6 A 14"), "! the key (A) has several rows in the right table; validate=\"m:1\" takes at most one"),
        ],
    );
    check_drawn(
        &once(Validate::OneToMany),
        starts,
        &[(("+ 1 A 2", ""), "! the key (A) has several rows in the left table; validate=\"1:m\" takes at most one")],
    );
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
