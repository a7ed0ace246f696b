//! Drawings and laws of windows that move along with their rows.

use formula::functions::Closed;
use formula::{Aggregate, Expr, Frame as Wanted, Reach, Rolling as Moving};
use model::Compare;
use model::ops::{self, Aggregator};

use super::*;
use crate::driver::attach::attach;
use crate::testing::random::KINDS;
use crate::testing::values::Style;
use crate::testing::{any_table, check_law, check_steps, still_graph, table_of};

fn rows(by: &[&str], back: i64, ahead: i64, least: u64) -> RollingOptions {
    let by = by.iter().map(|key| (*key).to_owned()).collect();
    RollingOptions { by, on: None, window: Moving { frame: Wanted::Rows { back, ahead }, least }, chosen: None }
}

fn range(by: &[&str], on: &str, back: i64, ahead: i64, ordered: bool) -> RollingOptions {
    let by = by.iter().map(|key| (*key).to_owned()).collect();
    let (back, ahead) = (Reach::Whole(back), Reach::Whole(ahead));
    let frame = Wanted::Range { back, ahead, closed: Closed::Both, ordered };
    RollingOptions { by, on: Some(on.to_owned()), window: Moving { frame, least: 0 }, chosen: None }
}

fn aggregate(kind: Aggregate, of: &str, name: &str) -> Expr {
    let of = (kind.declaration().arity > 0).then(|| Expr::column(of));
    Expr::aggregate(kind, of).expect("an aggregate").alias(name)
}

fn rolled(table: &Table, options: &RollingOptions, aggregates: &[Expr]) -> Result<Table, Error> {
    attach(&Rolling::new("rolling", table, options, aggregates)?, std::slice::from_ref(table))
}

fn sum(of: &str) -> Expr {
    aggregate(Aggregate::Sum { min_count: 0 }, of, "s")
}

#[test]
fn windows_that_see_a_change_are_told_and_no_others() {
    check_steps(
        |table| rolled(table, &rows(&["K"], 1, 0, 0), &[sum("V")]),
        "0 A 1 | 1 B 2 | 2 A 3 | 5 A 4 | 6 B 5",
        &[
            ("~ 0 . 7", "~ 0 . 7 7 | ~ 2 . 3 10"),
            ("+ 3 A 9", "+ 3 A 9 12 | ~ 5 . . 13"),
            ("- 1", "- 1 | ~ 6 . . 5"),
            ("> [5..6]+4", "> [5..6]+4"),
            ("~ 2 B .", "~ 2 B . 3 | ~ 3 A . 16 | ~ 10 B . 8"),
            ("- 0 | + 1 A 9", "- 0 | + 1 A 9 9 | ~ 3 . . 18"),
            ("~ 3 A .", "~ 3 A . ."),
            ("+ 4 null 1 | + 7 null 2", "+ 4 null 1 1 | + 7 null 2 3"),
            ("- 1 | - 3 | - 9", "- 1 | - 3 | - 9"),
        ],
    );
}

#[test]
fn windows_may_look_ahead_and_lie_beside_their_row() {
    check_steps(
        |table| rolled(table, &rows(&[], -1, 2, 0), &[sum("V")]),
        "0 A 1 | 1 B 2 | 2 A 3",
        &[
            ("+ 3 A 4", "+ 3 A 4 0 | ~ 1 . . 7 | ~ 2 . . 4"),
            ("~ 0 . 9", "~ 0 . 9 ."),
            ("- 2", "- 2 | ~ 0 . . 6 | ~ 1 . . 4"),
        ],
    );
}

#[test]
fn windows_of_stamps_see_equal_ones() {
    check_steps(
        |table| rolled(table, &range(&["k"], "t", 2, 0, false), &[sum("v")]),
        "k:str t:int v:int: 0 A 10 1 | 1 A 12 2 | 2 B 11 4",
        &[
            ("+ 3 A 12 8", "+ 3 A 12 8 11 | ~ 1 . . . 11"),
            ("+ 4 A 9 16", "+ 4 A 9 16 16 | ~ 0 . . . 17"),
            ("~ 4 . null .", "~ 4 . null . null | ~ 0 . 10 . 1"),
            ("~ 4 . 11 .", "~ 4 . 11 . 17 | ~ 1 . 12 . 27 | ~ 3 . 12 . 27"),
            ("> [3..4]+7", "> [3..4]+7"),
            ("~ 2 . . 5", "~ 2 . . 5 5"),
            ("- 0", "- 0 | ~ 1 . . . 26 | ~ 10 . . . 26 | ~ 11 . . . 16"),
            ("+ 0 C null 1", "+ 0 C null 1 null"),
            ("~ 0 . . 2", "~ 0 . . 2 ."),
            ("- 0", "- 0"),
        ],
    );
}

#[test]
fn fewer_values_than_wanted_are_no_value() {
    check_steps(
        |table| rolled(table, &rows(&["K"], 2, 0, 2), &[sum("V"), aggregate(Aggregate::Max, "V", "m")]),
        "0 A 1 | 1 A null",
        &[("+ 2 A 3", "+ 2 A 3 4 3"), ("~ 1 . 5", "~ 1 . 5 6 5 | ~ 2 . 3 9 5")],
    );
}

#[test]
fn a_stamp_that_goes_back_is_named() {
    let graph = still_graph();
    let drawn = crate::testing::Drawn::new(&graph, "k:str t:int v:int: 0 A 10 1 | 1 B 5 2 | 2 A 8 3");
    let options = range(&["k"], "t", 2, 0, true);
    let error = rolled(drawn.table(), &options, &[sum("v")]).err().expect("8 comes after 10").to_string();
    assert!(error.contains("the stamps in \"t\" must not go back within its group: at row key 2 stands 8"), "{error}");
    check_steps(
        |table| rolled(table, &options, &[sum("v")]),
        "k:str t:int v:int: 0 A 10 1 | 1 B 5 2",
        &[
            ("+ 2 A 10 3", "+ 2 A 10 3 4 | ~ 0 . . . 4"),
            ("> [1..2]+3", "> [1..2]+3"),
            (
                "+ 7 A 9 1",
                "! rolling: the stamps in \"t\" must not go back within its group: at row key 7 stands 9, after a greater \
                 one; sort the table by \"t\", or use rolling(…), which takes rows in any order",
            ),
        ],
    );
}

fn kinds() -> Vec<(Aggregate, Aggregator, &'static str, &'static str)> {
    let ddof = 1;
    vec![
        (Aggregate::Implode, Aggregator::Implode, "v", "all"),
        (Aggregate::Len, Aggregator::Len, "v", "n"),
        (Aggregate::Count, Aggregator::Count, "x", "count"),
        (Aggregate::Sum { min_count: 0 }, Aggregator::Sum(0), "v", "s"),
        (Aggregate::Sum { min_count: 1 }, Aggregator::Sum(1), "x", "sx"),
        (Aggregate::First, Aggregator::First, "x", "first"),
        (Aggregate::Last, Aggregator::Last, "v", "last"),
        (Aggregate::Min, Aggregator::Min, "x", "least"),
        (Aggregate::Max, Aggregator::Max, "k", "most"),
        (Aggregate::Mean, Aggregator::Mean, "x", "mean"),
        (Aggregate::Mean, Aggregator::Mean, "v", "mean_v"),
        (Aggregate::Std { ddof }, Aggregator::Std(1), "x", "std"),
        (Aggregate::Var { ddof: 0 }, Aggregator::Var(0), "v", "var"),
        (Aggregate::Skew { bias: false }, Aggregator::Skew(false), "x", "skew"),
        (Aggregate::Kurtosis { fisher: true, bias: true }, Aggregator::Kurtosis(true, true), "v", "kurtosis"),
        (Aggregate::Product, Aggregator::Product, "v", "product"),
        (Aggregate::Median, Aggregator::Median, "x", "median"),
        (Aggregate::NUnique, Aggregator::NUnique, "k", "unique"),
    ]
}

fn law_of(options: &RollingOptions, window: ops::Window, spec: &crate::testing::TableSpec, runs: u64) {
    let aggregates: Vec<Expr> = kinds().iter().map(|(kind, _, of, name)| aggregate(kind.clone(), of, name)).collect();
    let wanted = ops::Rolling {
        by: options.by.clone(),
        window,
        least: options.window.least,
        aggregates: kinds().into_iter().map(|(_, kind, of, name)| ops::Aggregate::new(name, kind, of)).collect(),
    };
    check_law(
        spec,
        runs,
        Compare::ByPosition,
        |table| rolled(table, options, &aggregates),
        |input| ops::rolling(input, &wanted).expect("sums of integers wrap"),
    );
}

/// Windows of every width, also beside their row, with keys and without, steps of every kind.
#[test]
fn law_of_rows() {
    for by in [&["k"][..], &[], &["g", "b"]] {
        for (back, ahead, least) in
            [(0, 0, 0), (1, 0, 0), (3, 0, 2), (2, 2, 0), (-1, 3, 1), (4, -2, 0), (0, i64::MAX, 0), (i64::MAX, -1, 0)]
        {
            law_of(&rows(by, back, ahead, least), ops::Window::Rows(back, ahead), &any_table(), 25);
        }
    }
}

/// Stamps that crowd and lie far apart, in any order, some missing.
#[test]
fn law_of_stamps() {
    let spec = table_of("k:str g:int x:float v:int").styled("g", &[Style::Skewed, Style::Pool]);
    for by in [&["k"][..], &[]] {
        for (back, ahead) in [(0, 0), (1, 0), (2, 3), (-1, 4), (5, -2), (i64::MAX, 0), (0, i64::MAX)] {
            law_of(&range(by, "g", back, ahead, false), ops::Window::Range("g".to_owned(), back, ahead), &spec, 30);
        }
    }
}

#[test]
fn law_of_other_stamps() {
    let by = &["k"][..];
    // How far in what an argument is of, and how many of the stamps' units that are.
    for (kind, back, ahead, unit) in
        [("date", 2 * 86_400, 86_400, 86_400), ("time", 1, 1, 1), ("u8", 3, 0, 1), ("uint", 3, 2, 1)]
    {
        let spec = table_of(&format!("k:str t:{kind} x:float v:int")).styled("t", &[Style::Skewed, Style::Pool]);
        let in_stamps = |far: i64| if kind == "time" { far * 1_000_000_000 } else { far / unit };
        let window = ops::Window::Range("t".to_owned(), in_stamps(back), in_stamps(ahead));
        law_of(&range(by, "t", back, ahead, false), window, &spec, 15);
    }
}

/// Cells of every type that aggregates take.
#[test]
fn law_of_types() {
    let made = |kind: &str| {
        let input = table_of(&format!("k:str p:{kind} v:int"));
        let any = [
            (Aggregate::Count, Aggregator::Count, "count"),
            (Aggregate::First, Aggregator::First, "first"),
            (Aggregate::Last, Aggregator::Last, "last"),
            (Aggregate::Implode, Aggregator::Implode, "all"),
        ];
        let ordered = [(Aggregate::Min, Aggregator::Min, "least"), (Aggregate::Max, Aggregator::Max, "most")];
        let keyed = [(Aggregate::NUnique, Aggregator::NUnique, "unique")];
        let compared = !matches!(kind, "list" | "struct" | "dict");
        let equated = !matches!(kind, "list" | "struct");
        let kinds: Vec<_> = any
            .into_iter()
            .chain(ordered.into_iter().filter(|_| compared))
            .chain(keyed.into_iter().filter(|_| equated))
            .collect();
        let aggregates: Vec<Expr> = kinds.iter().map(|(of, _, name)| aggregate(of.clone(), "p", name)).collect();
        let wanted = ops::Rolling {
            by: vec!["k".to_owned()],
            window: ops::Window::Rows(2, 0),
            least: 0,
            aggregates: kinds.into_iter().map(|(_, of, name)| ops::Aggregate::new(name, of, "p")).collect(),
        };
        check_law(
            &input,
            30,
            Compare::ByPosition,
            |table| rolled(table, &rows(&["k"], 2, 0, 0), &aggregates),
            |input| ops::rolling(input, &wanted).expect("each has a value"),
        );
    };
    KINDS.iter().for_each(|kind| made(kind));
}

#[test]
fn what_has_no_meaning_is_told() {
    let graph = still_graph();
    let drawn = crate::testing::Drawn::new(&graph, "K:str T:str V:int: 0 A B 1");
    let told = |options: &RollingOptions| {
        rolled(drawn.table(), options, &[sum("V")]).err().expect("it has no meaning").to_string()
    };
    let text = told(&rows(&["K"], 2, -3, 0));
    assert!(text.contains("a window from 2 rows before the row to -3 after it has no row in it"), "{text}");
    let text = told(&rows(&["K"], 1, 0, 3));
    assert!(text.contains("min_samples is 3, and the window has 2 rows at most"), "{text}");
    let text = told(&range(&["K"], "T", 1, 0, false));
    assert!(text.contains("\"T\" holds String, and a window in time is of times, dates or whole numbers"), "{text}");
    let text = told(&range(&["K"], "V", 1, -2, false));
    assert!(text.contains("the window ends before it begins"), "{text}");
    let text = told(&rows(&["Q"], 1, 0, 0));
    assert!(text.contains("\"Q\""), "{text}");
    let text = told(&RollingOptions { on: Some("V".to_owned()), ..rows(&[], 1, 0, 0) });
    assert!(text.contains("has no column of stamps"), "{text}");
    let text = told(&RollingOptions { on: None, ..range(&[], "V", 1, 0, false) });
    assert!(text.contains("names their column"), "{text}");
    let twice = aggregate(Aggregate::Max, "V", "V");
    let text = rolled(drawn.table(), &rows(&[], 1, 0, 0), &[twice]).err().expect("V is taken").to_string();
    assert!(text.contains("\"V\""), "{text}");
}

#[test]
fn deviation_of_equal_values_is_nought_whatever_was_before() {
    let graph = still_graph();
    let text: String = [1e300, -7.5, 0.1, 0.1, 0.1].iter().zip(0..).map(|(x, at)| format!("{at} {x:?} | ")).collect();
    let drawn = crate::testing::Drawn::new(&graph, &format!("x:float: {}", text.trim_end_matches(" | ")));
    let std = aggregate(Aggregate::Std { ddof: 1 }, "x", "d");
    let made = rolled(drawn.table(), &rows(&[], 1, 0, 0), &[std]).expect("it is made");
    let cells = made.view().expect("alive").read(1, &made.rows().expect("alive")).expect("cells");
    let cells = crate::ops::agg::floats(&cells);
    assert_eq!((cells.value(3), cells.value(4)), (0.0, 0.0));
}
