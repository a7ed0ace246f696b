//! Drawings of a sort, and its law.

use model::Compare;

use super::Sort;
use crate::ops::Slice;
use crate::plan::SortBy;
use crate::testing::draw::in_order as draw;
use crate::testing::{any_table, check_law, check_steps, table_of};
use crate::{Error, Table, attach};

fn sorted(table: &Table, by: &[SortBy]) -> Result<Table, Error> {
    attach(&Sort::new("sort", table, by)?, std::slice::from_ref(table))
}

fn check(by: &[SortBy], start: &str, steps: &[(&str, &str)]) {
    let drawn: Vec<(&str, String)> = steps.iter().map(|(given, wanted)| (*given, draw(wanted))).collect();
    let drawn: Vec<(&str, &str)> = drawn.iter().map(|(given, wanted)| (*given, wanted.as_str())).collect();
    check_steps(|table| sorted(table, by), start, &drawn);
}

#[test]
fn a_row_takes_a_free_key_between_its_neighbours() {
    let steps = [("+ 2 C 2", "+ @2 C 2"), ("- 0", "- @4"), ("+ 9 D 9", "+ @4 D 9")];
    check(&[SortBy::ascending("V")], "0 A 3 | 1 B 1", &steps);
}

#[test]
fn a_changed_row_stays_or_moves() {
    let steps = [
        ("~ 0 D .", "~ @4 D ."),
        ("~ 0 . 4", "~ @4 . 4"),
        ("~ 1 . 9", "- @0 | + @6 B 9"),
        ("~ 0 E 4", "~ @4 E 4"),
        ("~ 0 . 8 | ~ 1 . 7", "- @4 | + @8 E 8 | ~ @6 . 7"),
    ];
    check(&[SortBy::ascending("V")], "0 A 3 | 1 B 1", &steps);
}

#[test]
fn a_shift_upstream_is_silent_and_ties_keep_their_order() {
    let steps = [("> [0..2]+5", ""), ("+ 6 Z 1 | > [6..7]+1", "+ @2 Z 1"), ("~ 8 D .", "~ @8 D .")];
    check(&[SortBy::ascending("V")], "0 A 1 | 1 B 1 | 2 C 1", &steps);
}

#[test]
fn ties_keep_source_order_in_both_directions_and_nulls_stand_first() {
    let by = [SortBy::descending("V")];
    check(&by, "0 A 1 | 1 B 1 | 2 C 5", &[("+ 4 D 5", "+ @2 D 5"), ("+ 5 E 1", "+ @10 E 1")]);
    check(&by, "0 A null | 1 B 1", &[("+ 2 C null", "+ @2 C null")]);
}

#[test]
fn several_columns_and_text() {
    let by = [SortBy::ascending("K"), SortBy::descending("V")];
    check(&by, "0 A 1 | 1 B 1 | 2 A 5", &[("+ 4 A 3", "+ @2 A 3"), ("~ 1 . 2", "~ @8 . 2")]);
}

#[test]
fn law_of_the_first_rows() {
    let by = [SortBy::descending("v"), SortBy::ascending("k")];
    let model_by = [model::ops::SortBy::descending("v"), model::ops::SortBy::ascending("k")];
    check_law(
        &any_table(),
        60,
        Compare::ByPosition,
        |table| attach(&Slice::head(5), &[sorted(table, &by)?]),
        |rows| {
            let mut first = model::ops::sort(rows, &model_by);
            first.rows.truncate(5);
            first
        },
    );
}

fn law(by: &[SortBy], runs: u64) {
    let model_by: Vec<model::ops::SortBy> = by
        .iter()
        .map(|by| model::ops::SortBy {
            column: by.column.clone(),
            descending: by.descending,
            nulls_last: by.nulls_last,
        })
        .collect();
    check_law(
        &any_table(),
        runs,
        Compare::ByPosition,
        |table| sorted(table, by),
        |rows| model::ops::sort(rows, &model_by),
    );
}

#[test]
fn law_of_numbers() {
    law(&[SortBy::ascending("v")], 120);
    law(&[SortBy::descending("x")], 120);
    law(&[SortBy { nulls_last: true, ..SortBy::ascending("x") }], 120);
    law(&[SortBy { nulls_last: true, ..SortBy::descending("t") }], 60);
    law(&[SortBy::ascending("b")], 60);
}

#[test]
fn law_of_text_and_several_columns() {
    law(&[SortBy::ascending("k")], 120);
    law(&[SortBy::descending("g"), SortBy { nulls_last: true, ..SortBy::ascending("x") }], 120);
    law(&[SortBy::ascending("b"), SortBy::descending("k"), SortBy::ascending("v")], 60);
}

#[test]
fn law_of_larger_tables() {
    let spec = table_of("g:int x:float").rows(600).steps(30);
    check_law(
        &spec,
        10,
        Compare::ByPosition,
        |table| sorted(table, &[SortBy::ascending("g")]),
        |rows| model::ops::sort(rows, &[model::ops::SortBy::ascending("g")]),
    );
}

#[test]
fn a_column_that_is_not_there_is_named() {
    let graph = crate::testing::still_graph();
    let input = crate::testing::Drawn::new(&graph, "0 A 1");
    let error = Sort::new("sort", input.table(), &[SortBy::ascending("W")]).err().expect("no such column");
    assert!(error.to_string().contains('W'), "{error}");
    assert!(
        Sort::new("sort", input.table(), &[])
            .err()
            .is_some_and(|error| error.to_string().contains("at least one column"))
    );
}
