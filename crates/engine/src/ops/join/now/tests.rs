//! Drawings and laws of joins that answer each left row once.

use std::cell::RefCell;

use model::ops::{self, SecondMatch};
use model::{Compare, Value};

use super::*;
use crate::driver::attach::attach;
use crate::plan::spec::{AsofOptions, Strategy};
use crate::testing::check::{check_steps_of_two, run_law};
use crate::testing::oracle::{judge, to_model};
use crate::testing::table_of;
use crate::testing::values::Style;

fn same(name: &str) -> (String, String) {
    (name.to_owned(), name.to_owned())
}

fn natural(matches: Matches) -> NowOptions {
    NowOptions::Natural { on: vec![same("k")], joins: None, suffix: None, matches, nulls_equal: false }
}

fn asof(strategy: Strategy) -> NowOptions {
    NowOptions::Asof(AsofOptions {
        on: same("t"),
        by: vec![same("k")],
        strategy,
        tolerance: None,
        allow_exact_matches: true,
        joins: None,
        suffix: None,
    })
}

fn joined(left: &Table, right: &Table, options: &NowOptions) -> Result<Table, Error> {
    attach(&NowJoin::new("join_now", left, right, options)?, &[left.clone(), right.clone()])
}

#[test]
fn what_was_answered_stays() {
    check_steps_of_two(
        |left, right| joined(left, right, &natural(Matches::Error)),
        ("k:str l:int: 0 A 1", "k:str r:int: 0 A 10"),
        &[
            (("", "~ 0 . 11 | + 1 B 20"), ""),
            (("+ 1 A 2 | + 2 B 3", ""), "+ 1 A 2 11 | + 2 B 3 20"),
            (("+ 3 C 4", "+ 5 C 30"), "+ 3 C 4 30"),
            (("~ 0 . 9", "- 0"), "~ 0 . 9 ."),
            (("~ 0 B .", ""), "~ 0 B . 20"),
            (("~ 1 D 2 | ~ 2 B 4", "~ 1 . 22"), "~ 1 D 2 null | ~ 2 B 4 20"),
            (("> [3..3]+4", "> [5..5]+1 | + 9 B 21"), "> [3..3]+4"),
            (("- 7", ""), "- 7"),
            (("+ 4 B 5", ""), "! the key (B) has several rows in the right table; join_now takes at most one"),
        ],
    );
}

#[test]
fn by_time_as_it_was() {
    check_steps_of_two(
        |left, right| joined(left, right, &asof(Strategy::Backward)),
        ("k:str t:int: 0 A 5", "k:str t:int r:int: 0 A 3 1"),
        &[
            (("", "+ 1 A 4 2"), ""),
            (("+ 1 A 5", ""), "+ 1 A 5 2"),
            (("+ 2 A 9 | ~ 0 . 4", "- 1 | + 2 A 8 3"), "~ 0 . 4 . | + 2 A 9 3"),
            (("~ 0 . 8", ""), "~ 0 . 8 3"),
            (("", "- 0 | - 2"), ""),
            (("+ 3 A 9", ""), "+ 3 A 9 null"),
        ],
    );
}

/// Rows that only come, over a right side to which everything happens: each has what the model said as it came.
fn law_of(options: &NowOptions, wanted: impl Fn(&model::Table, &model::Table) -> model::Table) {
    let crowded = &[Style::Skewed, Style::Pool][..];
    // Without a column that could be the key of a keyed table, of which rows go.
    let left = table_of("k:i32 t:time").append_only().styled("k", crowded).styled("t", crowded);
    let right = table_of("k:i32 t:time w:float").styled("k", crowded).styled("t", crowded).rows(8);
    let answered: RefCell<Vec<Vec<Value>>> = RefCell::default();
    run_law(
        &[left, right],
        200,
        |tables| {
            answered.borrow_mut().clear();
            joined(&tables[0], &tables[1], options)
        },
        |inputs, found| {
            let now = wanted(&to_model(&inputs[0]), &to_model(&inputs[1]));
            let mut answered = answered.borrow_mut();
            let known = answered.len();
            answered.extend(now.rows.iter().skip(known).map(|(_, row)| row.clone()));
            let told = model::Table::flat(now.names.clone(), answered.clone());
            judge(Ok(told), found, &Compare::ByPosition)
        },
    );
}

#[test]
fn law() {
    for (matches, second) in [(Matches::First, SecondMatch::First), (Matches::Last, SecondMatch::Last)] {
        let options = NowOptions::Natural {
            on: vec![same("k")],
            joins: Some(vec![same("w")]),
            suffix: None,
            matches,
            nulls_equal: false,
        };
        law_of(&options, |left, right| {
            let join = ops::NaturalJoin { second, ..ops::NaturalJoin::new(&["k"], &["w"]) };
            ops::natural_join(left, right, &join).expect("no second match is an error")
        });
    }
}

#[test]
fn law_by_time() {
    for (strategy, in_model) in
        [(Strategy::Backward, ops::Strategy::Backward), (Strategy::Forward, ops::Strategy::Forward)]
    {
        law_of(&asof(strategy), |left, right| {
            let join = ops::Asof { strategy: in_model, ..ops::Asof::new("t", "t", &["k"], &["w"]) };
            ops::join_asof(left, right, &join)
        });
    }
}

/// Over a right side that stands still it is the join that follows it, whatever happens to left rows.
#[test]
fn law_over_a_right_side_that_stands_still() {
    let names = table_of("k:str t:int").styled("k", &[Style::Skewed, Style::Pool]);
    let graph = crate::testing::still_graph();
    let right = crate::testing::Drawn::new(&graph, "k:str r:int: 0 w0000 1 | 1 w0001 2 | 2 null 3");
    let right = right.table().snapshot().expect("it is settled");
    let fixed = model::Table::flat(
        vec!["k".to_owned(), "r".to_owned()],
        vec![vec!["w0000".into(), 1i64.into()], vec!["w0001".into(), 2i64.into()], vec![Value::Null, 3i64.into()]],
    );
    run_law(
        &[names],
        300,
        |tables| joined(&tables[0], &right, &natural(Matches::Error)),
        |inputs, found| {
            let join = ops::NaturalJoin::new(&["k"], &["r"]);
            judge(ops::natural_join(&to_model(&inputs[0]), &fixed, &join), found, &Compare::ByPosition)
        },
    );
}
