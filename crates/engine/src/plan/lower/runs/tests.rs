//! What runs on in an order of its own, beside the model.

use formula::Ewm;
use formula::EwmOf;
use model::Compare;
use model::ops::{self, Aggregator};

use super::*;
use crate::plan::ColumnOptions;
use crate::plan::columns;
use crate::testing::{any_table, check_law, check_steps};

fn runs(column: &str, of: RunsOf, backward: bool) -> Expr {
    Expr::column(column).running(Runs { of, backward }, None).expect("it runs")
}

fn over(expression: Expr, by: &[&str], order: &[&str]) -> Expr {
    let of = |names: &[&str]| names.iter().map(|name| Expr::column(*name)).collect();
    expression.over(Window { by: of(by), order: of(order), ..Window::default() }).expect("over groups")
}

fn with(table: &Table, expressions: &[Expr]) -> Result<Table, Error> {
    columns("with_columns", table, expressions, ColumnOptions::STORED)
}

#[test]
fn values_come_home_from_another_order() {
    let sum = over(runs("V", RunsOf::Sum, false), &["K"], &["V"]).alias("s");
    check_steps(
        |table| with(table, std::slice::from_ref(&sum)),
        "0 A 3 | 1 B 1 | 2 A 1",
        &[
            ("+ 3 A 2", "+ 3 A 2 3 | ~ 0 . . 6"),
            ("~ 1 . 7", "~ 1 . 7 7"),
            ("- 2", "- 2 | ~ 0 . . 5 | ~ 3 . . 2"),
            ("> [3..3]+4", "> [3..3]+4"),
            ("~ 7 B .", "~ 7 B . 2 | ~ 0 A . 3 | ~ 1 B . 9"),
        ],
    );
}

#[test]
fn a_value_that_runs_backward() {
    let fill = over(runs("V", RunsOf::Fill { limit: None }, true), &["K"], &[]).alias("f");
    check_steps(
        |table| with(table, std::slice::from_ref(&fill)),
        "0 A null | 1 B null | 2 A 1",
        &[("+ 3 B 2", "+ 3 B 2 2 | ~ 1 . . 2"), ("~ 2 . 4", "~ 2 . 4 4 | ~ 0 . null 4"), ("- 2", "- 2 | ~ 0 . . null")],
    );
}

#[test]
fn law() {
    let fill = RunsOf::Fill { limit: Some(2) };
    let ewm = Ewm { of: EwmOf::Mean, alpha: 0.5, adjust: false, ignore_nulls: false, min_samples: 1, bias: false };
    let model_ewm =
        ops::Ewm { of: ops::EwmOf::Mean, alpha: 0.5, adjust: false, ignore_nulls: false, min_samples: 1, bias: false };
    let kinds = [
        ("v", RunsOf::Sum, ops::Running::Cumulative(Aggregator::Sum(1), true)),
        ("x", RunsOf::Max, ops::Running::Cumulative(Aggregator::Max, true)),
        ("k", RunsOf::Count, ops::Running::Cumulative(Aggregator::Count, false)),
        ("v", fill, ops::Running::Fill(2)),
        ("x", RunsOf::Ewm(ewm), ops::Running::Ewm(model_ewm)),
    ];
    for (by, order, backward) in [
        (&["k"][..], &["v"][..], false),
        (&["k"], &["x", "g"], true),
        (&["k"], &[], true),
        (&[], &["g"], false),
        (&[], &[], true),
    ] {
        let made: Vec<Expr> = kinds
            .iter()
            .enumerate()
            .map(|(at, (of, what, _))| over(runs(of, *what, backward), by, order).alias(format!("y{at}").as_str()))
            .collect();
        let keys: Vec<String> = by.iter().map(|key| (*key).to_owned()).collect();
        let sorted: Vec<ops::SortBy> = order.iter().map(|name| ops::SortBy::ascending(name)).collect();
        check_law(
            &any_table(),
            60,
            Compare::ByPosition,
            |table| with(table, &made),
            |input| {
                ops::in_another_order(input, &sorted, backward, |turned| {
                    kinds.iter().enumerate().try_fold(turned.clone(), |table, (at, (of, _, what))| {
                        ops::running(&table, &keys, of, what, &format!("y{at}"))
                    })
                })
            },
        );
    }
}

/// Shift in another order than that of the rows.
#[test]
fn law_of_neighbours_in_an_order() {
    let before = Expr::call(Function::Shift { by: 1 }, vec![Expr::column("v")]).expect("a shift");
    let before = over(before, &["k"], &["x"]).alias("y");
    check_law(
        &any_table(),
        100,
        Compare::ByPosition,
        |table| with(table, std::slice::from_ref(&before)),
        |input| {
            ops::in_another_order(input, &[ops::SortBy::ascending("x")], false, |turned| {
                Ok(ops::shift_over(turned, &["k".to_owned()], "v", 1, "y"))
            })
        },
    );
}
