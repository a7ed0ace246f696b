//! Drawings of an as-of join, and its law.

use model::Compare;
use model::Value;
use model::ops::{Asof, Strategy as AsofStrategy, join_asof};

use super::*;
use crate::attach::attach;
use crate::testing::check::check_steps_of_two;
use crate::testing::{check_law_of_two, table_of};

fn options(by: &[&str], strategy: Strategy, tolerance: Option<u64>, exact: bool) -> AsofOptions {
    let pair = |name: &str| (name.to_owned(), name.to_owned());
    AsofOptions {
        on: pair("t"),
        by: by.iter().map(|name| pair(name)).collect(),
        strategy,
        tolerance: tolerance.map(Tolerance::Whole),
        allow_exact_matches: exact,
        joins: None,
        suffix: None,
    }
}

fn joined(left: &Table, right: &Table, options: &AsofOptions) -> Result<Table, Error> {
    attach(&AsofJoin::new("join_asof", left, right, options)?, &[left.clone(), right.clone()])
}

#[test]
fn a_right_row_in_between_takes_the_left_rows_up_to_the_next() {
    check_steps_of_two(
        |left, right| joined(left, right, &options(&["k"], Strategy::Backward, None, true)),
        ("k:str t:int: 0 A 3 | 1 A 7 | 2 B 5", "k:str t:int w:int: 0 A 1 10 | 1 A 6 11"),
        &[
            (("", "+ 2 A 2 12"), "~ 0 . . 12"),
            (("", "~ 1 . . 99"), "~ 1 . . 99"),
            (("", "+ 3 B 5 13"), "~ 2 . . 13"),
            (("", "+ 4 B 5 14"), "~ 2 . . 14"),
            (("", "- 2"), "~ 0 . . 10"),
            (("~ 1 . 5", ""), "~ 1 . 5 10"),
            (("+ 3 C 1", ""), "+ 3 C 1 null"),
            (("", "> [3..4]+3"), ""),
        ],
    );
}

fn law_of(strategy: Strategy, wanted: AsofStrategy, tolerance: Option<u64>, exact: bool) {
    for stamp in ["int", "float", "f32", "u8"] {
        law_of_stamps(stamp, strategy, wanted, tolerance, exact);
    }
}

fn law_of_stamps(stamp: &str, strategy: Strategy, wanted: AsofStrategy, tolerance: Option<u64>, exact: bool) {
    let column = |other: &str| table_of(&format!("k:str t:{stamp} {other}:int"));
    let (left, right) = (column("v"), column("w"));
    for by in [&["k"][..], &[]] {
        let options = options(by, strategy, tolerance, exact);
        let wanted = Asof {
            strategy: wanted,
            tolerance: tolerance.map(|tolerance| Value::Int(tolerance as i64)),
            allow_exact_matches: exact,
            ..Asof::new("t", "t", by, if by.is_empty() { &["k", "w"] } else { &["w"] })
        };
        let renamed = |right: &Table| {
            attach(&crate::ops::Project::rename(right, &[("k".into(), "k".into())])?, std::slice::from_ref(right))
        };
        let build = |left: &Table, right: &Table| {
            let left = if by.is_empty() {
                attach(&crate::ops::Project::drop(left, &["k".into()])?, std::slice::from_ref(left))?
            } else {
                left.clone()
            };
            joined(&left, &renamed(right)?, &options)
        };
        let oracle = |left: &model::Table, right: &model::Table| {
            let left = if by.is_empty() { model::ops::drop(left, &["k"]) } else { left.clone() };
            join_asof(&left, right, &wanted)
        };
        check_law_of_two((&left, &right), 60, Compare::ByPosition, build, oracle);
    }
}

#[test]
fn law() {
    law_of(Strategy::Backward, AsofStrategy::Backward, None, true);
}

#[test]
fn law_backward_inexact_within_a_tolerance() {
    law_of(Strategy::Backward, AsofStrategy::Backward, Some(3), false);
}

#[test]
fn law_forward() {
    law_of(Strategy::Forward, AsofStrategy::Forward, None, true);
    law_of(Strategy::Forward, AsofStrategy::Forward, Some(2), false);
}

#[test]
fn law_forward_last_and_nearest() {
    law_of(Strategy::ForwardLast, AsofStrategy::ForwardLast, None, true);
    law_of(Strategy::Nearest, AsofStrategy::Nearest, Some(5), true);
}
