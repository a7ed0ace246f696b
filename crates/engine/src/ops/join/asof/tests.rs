//! Drawings of an as-of join, and its law.

use crate::plan::Tolerance;
use model::Compare;
use model::Value;
use model::ops::{Asof, Strategy as AsofStrategy, join_asof};

use super::*;
use crate::driver::attach::attach;
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

fn wanted_of(strategy: Strategy) -> AsofStrategy {
    match strategy {
        Strategy::Backward => AsofStrategy::Backward,
        Strategy::Forward => AsofStrategy::Forward,
        Strategy::ForwardLast => AsofStrategy::ForwardLast,
        Strategy::Nearest => AsofStrategy::Nearest,
    }
}

fn law_of(strategy: Strategy, tolerance: Option<u64>, exact: bool, stamp: &str, by: &[&str]) {
    let column = |other: &str| table_of(&format!("k:str t:{stamp} {other}:int"));
    let (left, right) = (column("v"), column("w"));
    let options = options(by, strategy, tolerance, exact);
    let wanted = Asof {
        strategy: wanted_of(strategy),
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
    check_law_of_two((&left, &right), 150, Compare::ByPosition, build, oracle);
}

/// A law for each type of stamps, with a key and without: each has a name of its own, under which its cases are kept.
macro_rules! laws {
    ($($law:ident: $strategy:ident, $tolerance:expr, $exact:expr;)*) => {
        $(mod $law {
            use super::{Strategy, law_of};

            laws!(Strategy::$strategy, $tolerance, $exact,
                int "int" &["k"], int_alone "int" &[], float "float" &["k"], float_alone "float" &[],
                single "f32" &["k"], single_alone "f32" &[], byte "u8" &["k"], byte_alone "u8" &[]);
        })*
    };
    ($strategy:expr, $tolerance:expr, $exact:expr, $($name:ident $stamp:literal $by:expr),*) => {
        $(#[test]
        fn $name() {
            law_of($strategy, $tolerance, $exact, $stamp, $by);
        })*
    };
}

laws! {
    law_backward: Backward, None, true;
    law_backward_inexact_within_a_tolerance: Backward, Some(3), false;
    law_forward: Forward, None, true;
    law_forward_inexact_within_a_tolerance: Forward, Some(2), false;
    law_forward_last: ForwardLast, None, true;
    law_nearest_within_a_tolerance: Nearest, Some(5), true;
}
