//! Drawings and laws of range joins.

use formula::{Aggregate, Expr};
use model::Compare;
use model::ops::{self, Aggregator};

use super::*;
use crate::driver::attach::attach;
use crate::plan::spec::{Bound, RangeEnd};
use crate::testing::check::check_steps_of_two;
use crate::testing::values::Style;
use crate::testing::{check_law_of_two, table_of};

fn options(by: &[&str], on: &str, from: Option<(&str, Bound)>, to: Option<(&str, Bound)>) -> RangeOptions {
    let end = |(column, bound): (&str, Bound)| RangeEnd { column: column.to_owned(), bound };
    let by = by.iter().map(|name| ((*name).to_owned(), (*name).to_owned())).collect();
    RangeOptions { by, on: on.to_owned(), from: from.map(end), to: to.map(end) }
}

fn aggregate(kind: Aggregate, of: &str, name: &str) -> Expr {
    let of = (kind.declaration().arity > 0).then(|| Expr::column(of));
    Expr::aggregate(kind, of).expect("an aggregate").alias(name)
}

fn ranged(left: &Table, right: &Table, options: &RangeOptions, aggregates: &[Expr]) -> Result<Table, Error> {
    attach(&RangeJoin::new("range_join", left, right, options, aggregates)?, &[left.clone(), right.clone()])
}

fn summed(left: &Table, right: &Table, opens: Bound, closes: Bound) -> Result<Table, Error> {
    let sum = aggregate(Aggregate::Sum { min_count: 0 }, "v", "s");
    ranged(left, right, &options(&["k"], "x", Some(("lo", opens)), Some(("hi", closes))), &[sum])
}

#[test]
fn rows_of_both_sides_come_change_and_go() {
    check_steps_of_two(
        |left, right| summed(left, right, Bound::Closed, Bound::Closed),
        ("k:str lo:int hi:int: 0 A 10 20 | 1 A 15 30 | 2 B 0 99", "k:str x:int v:int: 0 A 10 1 | 1 A 20 2 | 2 A 30 4"),
        &[
            (("", "+ 3 A 12 8"), "~ 0 . . . 11"),
            (("", "~ 1 . . 3"), "~ 0 . . . 12 | ~ 1 . . . 7"),
            (("", "~ 3 . 16 ."), "~ 1 . . . 15"),
            (("", "- 3"), "~ 0 . . . 4 | ~ 1 . . . 7"),
            (("~ 0 . 30 .", ""), "~ 0 . 30 . null"),
            (("~ 0 . . 30", ""), "~ 0 . . 30 4"),
            (("+ 9 A null 10", ""), "+ 9 A null 10 1"),
            (("", "+ 5 null 10 5 | + 6 B null 5"), ""),
            (("", "~ 6 . 99 ."), "~ 2 . . . 5"),
            (("> [9..9]+3", "> [5..6]+8"), "> [9..9]+3"),
            (("", "~ 0 . . 2"), "~ 12 . . . 2"),
            (("~ 12 null . .", "- 0"), "~ 12 null . . 0"),
        ],
    );
}

#[test]
fn ends_that_reach_take_the_nearest_row_beyond() {
    check_steps_of_two(
        |left, right| summed(left, right, Bound::Reaching, Bound::Reaching),
        ("k:str lo:int hi:int: 0 A 20 30", "k:str x:int v:int: 0 A 10 1 | 1 A 50 2"),
        &[
            (("", "+ 2 A 15 4"), "~ 0 . . . 6"),
            (("", "+ 3 A 40 8"), "~ 0 . . . 12"),
            (("", "+ 4 A 5 16 | + 5 A 60 16"), ""),
            (("", "+ 6 A 20 32"), "~ 0 . . . 40"),
            (("", "+ 7 A 30 64"), "~ 0 . . . 96"),
            (("", "- 2 | - 3"), ""),
            (("", "- 6 | - 7"), "~ 0 . . . 3"),
            (("", "- 0 | - 1"), "~ 0 . . . 32"),
        ],
    );
}

#[test]
fn an_end_of_a_range_may_be_outside() {
    check_steps_of_two(
        |left, right| summed(left, right, Bound::Open, Bound::Closed),
        ("k:str lo:int hi:int: 0 A 10 20 | 1 A 10 10", "k:str x:int v:int: 0 A 10 1 | 1 A 20 2"),
        &[(("", "~ 0 . 11 ."), "~ 0 . . . 3"), (("", "~ 1 . 21 ."), "~ 0 . . . 1")],
    );
}

const BOUNDS: [(Bound, ops::Bound); 3] =
    [(Bound::Open, ops::Bound::Open), (Bound::Closed, ops::Bound::Closed), (Bound::Reaching, ops::Bound::Reaching)];

/// Ranges of each kind, keys or not, over stamps of this kind.
fn law_over(kind: &str, runs: u64) {
    let crowded = &[Style::Skewed, Style::Pool][..];
    let left = table_of(&format!("k:str a:{kind} b:{kind}")).styled("a", crowded).styled("b", crowded).rows(8);
    let right = table_of(&format!("k:str x:{kind} v:int f:float")).styled("x", crowded).rows(12);
    let kinds = [
        (Aggregate::Implode, Aggregator::Implode, "v", "all"),
        (Aggregate::Len, Aggregator::Len, "v", "n"),
        (Aggregate::Sum { min_count: 0 }, Aggregator::Sum(0), "v", "s"),
        (Aggregate::First, Aggregator::First, "f", "first"),
        (Aggregate::Last, Aggregator::Last, "v", "last"),
        (Aggregate::Max, Aggregator::Max, "f", "most"),
        (Aggregate::Mean, Aggregator::Mean, "f", "mean"),
        (Aggregate::Median, Aggregator::Median, "v", "median"),
    ];
    for (at, (opens, opens_in)) in BOUNDS.into_iter().enumerate() {
        for (closes, closes_in) in BOUNDS {
            for by in [&["k"][..], &[]] {
                // One end is left out now and then.
                let both = at < 2 || closes != Bound::Open;
                let from = Some(("a", opens));
                let asked = options(by, "x", from, both.then_some(("b", closes)));
                let aggregates: Vec<Expr> =
                    kinds.iter().map(|(kind, _, of, name)| aggregate(kind.clone(), of, name)).collect();
                let wanted = ops::RangeJoin {
                    by: asked.by.clone(),
                    on: "x".to_owned(),
                    from: Some(("a".to_owned(), opens_in)),
                    to: both.then(|| ("b".to_owned(), closes_in)),
                    aggregates: kinds
                        .iter()
                        .map(|(_, kind, of, name)| ops::Aggregate::new(name, kind.clone(), of))
                        .collect(),
                };
                check_law_of_two(
                    (&left, &right),
                    runs,
                    Compare::ByPosition,
                    |left, right| ranged(left, right, &asked, &aggregates),
                    |left, right| ops::range_join(left, right, &wanted),
                );
            }
        }
    }
}

#[test]
fn law() {
    law_over("int", 30);
}

#[test]
fn law_over_other_stamps() {
    for kind in ["float", "time", "date"] {
        law_over(kind, 8);
    }
}

#[test]
fn bounds_that_do_not_compare_are_refused() {
    let (graph, far) = (crate::testing::still_graph(), options(&[], "s", Some(("lo", Bound::Closed)), None));
    let left = crate::testing::Drawn::new(&graph, "lo:int s:str: 0 1 A");
    let error = ranged(left.table(), left.table(), &far, &[]).err().expect("a text is no stamp");
    assert!(error.to_string().contains("do not compare as times or numbers"), "{error}");
    let without = options(&[], "lo", None, None);
    let error = ranged(left.table(), left.table(), &without, &[]).err().expect("no bound");
    assert!(error.to_string().contains("a bound at one end, at least"), "{error}");
}
