//! Drawings of a join, and its laws.

use model::Compare;
use model::ops::{How as WantedHow, Join as Wanted, join};

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
fn a_right_row_without_a_match_stands_in_its_place() {
    check_drawn(
        &options(&["k"], How::Right),
        ("k:str l:int: 0 A 1 | 1 A 2", "k:str r:int: 0 B 10 | 1 A 11"),
        &[
            (("+ 2 B 3", ""), "- @0 | + @2 3 B 10"),
            (("~ 0 . 7", "~ 0 . 12"), "~ @2 3 . 12 | ~ @4 7 . 11"),
            (("- [0..1]", ""), "- @4 | - @8 | + @4 null A 11"),
            (("", "+ 0 A 9 | > [0..1]+1"), "+ @0 null A 9"),
        ],
    );
}

#[test]
fn rows_of_both_sides_stand_alone() {
    check_drawn(
        &options(&["k"], How::Full),
        ("k:str l:int: 0 A 1 | 1 B 2", "k:str r:int: 0 C 10 | 1 A 11 | 2 null 12"),
        &[
            (("", "~ 0 . 13"), "~ @8 . . 13"),
            (("+ 2 C 3", ""), "- @8 | + @8 C 3 13"),
            (("- 0", ""), "- @0 | + @10 A null 11"),
            (("", "> [0..2]+4"), ""),
            (("", "- 4"), "- @8 | + @7 C 3 null"),
            (("~ 2 A .", ""), "- @7 | - @10 | + @8 A 3 11"),
        ],
    );
}

#[test]
fn all_pairs_of_rows() {
    check_drawn(
        &options(&[], How::Cross),
        ("l:int: 0 1 | 1 2", "r:int: 0 10"),
        &[
            (("", "+ 1 11"), "+ @2 1 11 | + @6 2 11"),
            (("~ 1 3", ""), "~ @4 3 . | ~ @6 3 ."),
            (("- 0", "- 0"), "- @0 | - @2 | - @4"),
            (("- 1", ""), "- @6"),
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

fn how_of(how: How) -> WantedHow {
    match how {
        How::Inner => WantedHow::Inner,
        How::Left => WantedHow::Left,
        How::Right => WantedHow::Right,
        How::Full => WantedHow::Full,
        How::Cross => WantedHow::Cross,
    }
}

fn wanted(options: &EquiOptions) -> Wanted {
    let one = |side| [side, Validate::OneToOne].contains(&options.validate);
    Wanted {
        on: options.on.clone(),
        how: how_of(options.how),
        nulls_equal: options.nulls_equal,
        one_left: one(Validate::OneToMany),
        one_right: one(Validate::ManyToOne),
        coalesce: options.coalesce,
        suffix: options.suffix.clone(),
    }
}

fn law(left: &TableSpec, right: &TableSpec, runs: u64, options: &EquiOptions) {
    let wanted = wanted(options);
    let build = |left: &Table, right: &Table| joined(left, right, options.clone());
    check_law_of_two((left, right), runs, Compare::ByPosition, build, |left, right| join(left, right, &wanted));
}

/// A law for each way to join: each has a name of its own, under which its cases are kept.
macro_rules! laws {
    ($($law:ident: $how:ident;)*) => {
        $(mod $law {
            use super::{How, law_of_counted_keys, law_of_itself, law_of_one_key, law_of_two_keys};

            #[test]
            fn one_key() {
                law_of_one_key(How::$how);
            }

            #[test]
            fn two_keys_with_nulls() {
                law_of_two_keys(How::$how);
            }

            #[test]
            fn counted_keys() {
                law_of_counted_keys(How::$how);
            }

            #[test]
            fn itself() {
                law_of_itself(How::$how);
            }
        })*
    };
}

laws! {
    inner: Inner;
    left: Left;
    right: Right;
    full: Full;
}

fn law_of_one_key(how: How) {
    let (left, right) = (table_of("k:str v:int"), table_of("k:str w:int").rows(6));
    law(&left, &right, 200, &options(&["k"], how));
    law(&left, &right, 100, &EquiOptions { coalesce: false, ..options(&["k"], how) });
}

fn law_of_two_keys(how: How) {
    let (left, right) = (table_of("g:int x:float v:int"), table_of("g:int x:float w:str"));
    law(&left, &right, 100, &EquiOptions { nulls_equal: true, ..options(&["g", "x"], how) });
    law(&left, &right, 100, &options(&["g", "x"], how));
}

fn law_of_counted_keys(how: How) {
    let (left, right) = (table_of("g:int v:int").rows(5), table_of("g:int w:int").rows(5));
    for validate in [Validate::ManyToOne, Validate::OneToMany, Validate::OneToOne] {
        law(&left, &right, 80, &EquiOptions { validate, ..options(&["g"], how) });
    }
}

/// A table joined with itself changes on both sides at once.
fn law_of_itself(how: How) {
    let (both, other) = (table_of("k:str g:int v:int"), table_of("k:str"));
    let options = options(&["k"], how);
    let wanted = wanted(&options);
    let build = |table: &Table, _: &Table| joined(table, table, options.clone());
    check_law_of_two((&both, &other), 150, Compare::ByPosition, build, |table, _| join(table, table, &wanted));
}

#[test]
fn law_of_all_pairs() {
    let (left, right) = (table_of("k:str v:int").rows(8), table_of("k:str w:int").rows(6));
    law(&left, &right, 200, &options(&[], How::Cross));
    let itself = |table: &Table, _: &Table| joined(table, table, options(&[], How::Cross));
    let wanted = wanted(&options(&[], How::Cross));
    check_law_of_two((&left, &right), 100, Compare::ByPosition, itself, |table, _| join(table, table, &wanted));
}

/// A table joined with a part of itself: one change comes along two ways.
#[test]
fn law_of_a_table_with_its_own_descendant() {
    let (both, other) = (table_of("k:str g:int v:int"), table_of("k:str"));
    for how in [How::Inner, How::Full] {
        let options = options(&["k"], how);
        let wanted = wanted(&options);
        let build = |table: &Table, _: &Table| {
            let first = attach(&crate::ops::Slice::head(4), std::slice::from_ref(table))?;
            joined(table, &first, options.clone())
        };
        check_law_of_two((&both, &other), 150, Compare::ByPosition, build, |table, _| {
            join(table, &model::ops::head(table, 4), &wanted)
        });
    }
}
