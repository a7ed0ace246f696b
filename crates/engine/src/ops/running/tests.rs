//! Running columns beside the model, and what they tell.

use formula::{ColumnName, Ewm, EwmOf};
use model::Compare;
use model::ops::{self, Aggregator, Bad, Fades};

use super::*;
use crate::driver::attach::attach;
use crate::plan::update_by::{BadData, Clock, Control, Cumulative, Decay, RunningKind};
use crate::testing::oracle::{judge, to_model};
use crate::testing::random::KINDS;
use crate::testing::{Found, any_table, check_law, check_steps, run_law, table_of};

/// Input, what is asked of it, and of the model; none where there is no such column.
type Pair = (&'static str, RunningKind, ops::Running);

fn cumulative(column: &'static str, of: Cumulative, model: Aggregator, null_at_null: bool) -> Pair {
    let model = ops::Running::Cumulative(model, null_at_null);
    (column, RunningKind::Cumulative { of, null_at_null }, model)
}

fn bad_of(bad: BadData) -> Bad {
    match bad {
        BadData::Skip => Bad::Skip,
        BadData::Reset => Bad::Reset,
        BadData::Throw => Bad::Throw,
        BadData::Poison => Bad::Poison,
        BadData::Null => Bad::Null,
    }
}

fn decay(column: &'static str, of: Decay, clock: Clock, on_null: BadData, on_nan: BadData) -> Pair {
    let by = match &clock {
        Clock::Ticks(ticks) => Ok(*ticks),
        Clock::Time { stamp, nanos, .. } => Err((stamp.clone(), *nanos)),
    };
    let model_of = match of {
        Decay::Mean => ops::Decay::Mean,
        Decay::Sum => ops::Decay::Sum,
        Decay::Min => ops::Decay::Min,
        Decay::Max => ops::Decay::Max,
        Decay::Std => ops::Decay::Std,
    };
    let fades = Fades { of: model_of, by, on_null: bad_of(on_null), on_nan: bad_of(on_nan) };
    (column, RunningKind::Decay { of, clock, control: Control { on_null, on_nan } }, ops::Running::Decay(fades))
}

fn made(table: &Table, keys: &[&str], pairs: &[Pair]) -> Result<Table, Error> {
    let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
    let name = |at: usize| ColumnName::from(format!("y{at}").as_str());
    let made: Vec<_> =
        pairs.iter().enumerate().map(|(at, (of, kind, _))| ((*of).to_owned(), kind.clone(), name(at))).collect();
    attach(&Running::new("update_by", table, &keys, &made)?, std::slice::from_ref(table))
}

fn wanted(input: &model::Table, keys: &[&str], pairs: &[Pair]) -> Result<model::Table, model::Fault> {
    let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
    let mut table = input.clone();
    for (at, (of, _, what)) in pairs.iter().enumerate() {
        table = ops::running(&table, &keys, of, what, &format!("y{at}"))?;
    }
    Ok(table)
}

/// Every kind of column that all tables of a law have.
fn all() -> Vec<Pair> {
    use Aggregator::{Count, Max, Mean, Min, Product, Sum};
    let skip = BadData::Skip;
    vec![
        cumulative("v", Cumulative::Sum, Sum(1), false),
        cumulative("v", Cumulative::Sum, Sum(1), true),
        cumulative("x", Cumulative::Sum, Sum(1), false),
        cumulative("v", Cumulative::Product, Product, false),
        cumulative("x", Cumulative::Min, Min, false),
        cumulative("x", Cumulative::Max, Max, true),
        cumulative("k", Cumulative::Min, Min, false),
        cumulative("v", Cumulative::Mean, Mean, false),
        cumulative("x", Cumulative::Mean, Mean, true),
        cumulative("x", Cumulative::Count, Count, false),
        ("b", RunningKind::Cumulative { of: Cumulative::CountTrue, null_at_null: false }, ops::Running::CountTrue),
        ("k", RunningKind::ForwardFill, ops::Running::ForwardFill),
        ("v", RunningKind::ForwardFill, ops::Running::ForwardFill),
        decay("x", Decay::Mean, Clock::Ticks(2.5), skip, skip),
        decay("v", Decay::Sum, Clock::Ticks(0.5), BadData::Reset, skip),
        decay("x", Decay::Min, Clock::Ticks(3.0), skip, BadData::Poison),
        decay("x", Decay::Max, Clock::Ticks(1.0), BadData::Poison, BadData::Reset),
        decay("x", Decay::Std, Clock::Ticks(4.0), skip, skip),
        decay("x", Decay::Mean, Clock::Ticks(2.0), BadData::Null, BadData::Poison),
        ("k", RunningKind::Fill { limit: 1 }, ops::Running::Fill(1)),
        ("v", RunningKind::Fill { limit: 3 }, ops::Running::Fill(3)),
        ("x", RunningKind::Since, ops::Running::Since),
        ewm("x", EwmOf::Mean, [false, false, false], 1),
        ewm("v", EwmOf::Mean, [true, true, false], 2),
        ewm("v", EwmOf::Var, [true, true, false], 1),
        ewm("v", EwmOf::Std, [false, false, true], 1),
        ewm("x", EwmOf::Sum, [true, false, false], 1),
        ewm("v", EwmOf::Sum, [true, true, false], 2),
    ]
}

/// Whether weights are adjusted, nulls passed over, and the variance biased.
fn ewm(column: &'static str, of: EwmOf, [adjust, ignore_nulls, bias]: [bool; 3], min_samples: u64) -> Pair {
    let alpha = 0.5;
    let model_of = match of {
        EwmOf::Mean => ops::EwmOf::Mean,
        EwmOf::Var => ops::EwmOf::Var,
        EwmOf::Std => ops::EwmOf::Std,
        EwmOf::Sum => ops::EwmOf::Sum,
    };
    let model = ops::Ewm { of: model_of, alpha, adjust, ignore_nulls, bias, min_samples };
    let engine = Ewm { of, alpha, adjust, ignore_nulls, bias, min_samples };
    (column, RunningKind::Ewm(engine), ops::Running::Ewm(model))
}

#[test]
fn what_a_row_leaves_behind_is_told_and_no_more() {
    let sum = cumulative("V", Cumulative::Sum, Aggregator::Sum(1), false);
    check_steps(
        |table| made(table, &["K"], std::slice::from_ref(&sum)),
        "0 A 1 | 1 B 2 | 2 A 3",
        &[
            ("+ 3 A 4", "+ 3 A 4 8"),
            ("- 0", "- 0 | ~ 2 . . 3 | ~ 3 . . 7"),
            ("~ 3 . 5", "~ 3 . 5 8"),
            ("~ 1 A .", "~ 1 A . 2 | ~ 2 A . 5 | ~ 3 A . 10"),
            ("> [2..3]+4", "> [2..3]+4"),
            ("+ 4 A 1 | ~ 6 . 2", "+ 4 A 1 3 | ~ 6 . 2 ."),
            ("~ 1 B .", "~ 1 B . 2 | ~ 4 A . 1 | ~ 6 A . 3 | ~ 7 A . 8"),
            ("- 4 | - 6 | - 7", "- 4 | - 6 | - 7"),
            ("+ 9 A 4", "+ 9 A 4 4"),
        ],
    );
}

#[test]
fn a_value_that_is_again_what_it_was_ends_the_work() {
    let (most, last) = (
        cumulative("V", Cumulative::Max, Aggregator::Max, false),
        ("V", RunningKind::ForwardFill, ops::Running::ForwardFill),
    );
    check_steps(
        |table| made(table, &[], &[most.clone(), last.clone()]),
        "0 A 1 | 1 B null | 2 A 3 | 3 A 2",
        &[("~ 0 . 2", "~ 0 . 2 2 2 | ~ 1 . null 2 2"), ("~ 2 . 2", "~ 2 . 2 2 2 | ~ 3 . 2 2 2")],
    );
}

#[test]
fn law() {
    for keys in [&["k"][..], &["k", "b"], &["g"], &[]] {
        check_law(
            &any_table(),
            60,
            Compare::ByPosition,
            |table| made(table, keys, &all()),
            |input| wanted(input, keys, &all()),
        );
    }
}

/// Stamps mostly ascend.
#[test]
fn law_of_time() {
    let skip = BadData::Skip;
    let clock = |nanos: f64| Clock::Time { stamp: "t".into(), nanos, counted: false };
    let pairs = [
        decay("x", Decay::Mean, clock(1e9), skip, skip),
        decay("v", Decay::Sum, clock(1e12), BadData::Reset, skip),
        decay("x", Decay::Std, clock(3e9), skip, BadData::Poison),
    ];
    for keys in [&["k"][..], &[]] {
        let table = any_table().styled("t", &[crate::testing::values::Style::Sorted]);
        check_law(
            &table,
            80,
            Compare::ByPosition,
            |table| made(table, keys, &pairs),
            |input| wanted(input, keys, &pairs),
        );
    }
}

/// Stamps that are whole numbers, which mostly ascend.
#[test]
fn law_of_counted_time() {
    let clock = Clock::Time { stamp: "v".into(), nanos: 2e9, counted: true };
    let pairs = [decay("x", Decay::Mean, clock, BadData::Skip, BadData::Skip)];
    check_law(
        &any_table().styled("v", &[crate::testing::values::Style::Sorted]),
        80,
        Compare::ByPosition,
        |table| made(table, &["k"], &pairs),
        |input| wanted(input, &["k"], &pairs),
    );
}

#[test]
fn law_of_types() {
    for kind in KINDS {
        let compared = !matches!(kind, "list" | "struct");
        let mut pairs = vec![
            ("p", RunningKind::ForwardFill, ops::Running::ForwardFill),
            cumulative("p", Cumulative::Count, Aggregator::Count, false),
        ];
        if compared {
            pairs.push(cumulative("p", Cumulative::Min, Aggregator::Min, false));
            pairs.push(cumulative("p", Cumulative::Max, Aggregator::Max, true));
        }
        let whole = ["i8", "i16", "i32", "int", "u8", "u16", "u32", "uint"].contains(&kind);
        if whole || ["f32", "float", "decimal", "duration"].contains(&kind) {
            pairs.push(cumulative("p", Cumulative::Sum, Aggregator::Sum(1), false));
        }
        if whole || ["f32", "float"].contains(&kind) {
            pairs.push(cumulative("p", Cumulative::Mean, Aggregator::Mean, false));
            pairs.push(decay("p", Decay::Mean, Clock::Ticks(2.0), BadData::Skip, BadData::Skip));
        }
        check_law(
            &table_of(&format!("k:str v:int p:{kind}")),
            15,
            Compare::ByPosition,
            |table| made(table, &["k"], &pairs),
            |input| wanted(input, &["k"], &pairs),
        );
    }
}

std::thread_local! {
    static READ: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Cells of a column were read.
pub(super) fn note_read(cells: usize) {
    READ.set(READ.get() + cells);
}

/// A group of twenty thousand rows: what comes at its end reads itself, what changes in it reads from the mark before it to
/// where it is no longer felt.
#[test]
fn a_step_reads_what_it_changes() {
    const ROWS: usize = 20_000;
    let graph = crate::testing::still_graph();
    let start: Vec<String> = (0..ROWS).map(|row| format!("{row} A {}", row % 7)).collect();
    let drawn = crate::testing::Drawn::new(&graph, &start.join(" | "));
    let pairs = [
        cumulative("V", Cumulative::Sum, Aggregator::Sum(1), false),
        cumulative("V", Cumulative::Max, Aggregator::Max, false),
        ("V", RunningKind::ForwardFill, ops::Running::ForwardFill),
    ];
    for keys in [&["K"][..], &[]] {
        let table = made(drawn.table(), keys, &pairs).expect("a table");
        let read = |drawing: String| {
            READ.set(0);
            drawn.apply(&drawing);
            graph.step().expect("a step");
            assert!(table.failure().is_none());
            READ.get()
        };
        let more: Vec<String> = (ROWS..ROWS + 10).map(|row| format!("+ {row} A 1")).collect();
        assert!(read(more.join(" | ")) <= 30);
        let gone: Vec<String> = (ROWS..ROWS + 10).map(|row| format!("- {row}")).collect();
        assert!(read(gone.join(" | ")) <= 3 * 600);
        // The sum is felt to the end; the others are not.
        let (mark, ahead) = (512, 64);
        assert!(read(format!("~ {} . 3", ROWS - 1_000)) <= 1_000 + 3 * (mark + ahead));
        read(format!("~ {} . {}", ROWS - 1_000, (ROWS - 1_000) % 7));
    }
}

/// Rows live for a step; what is known of a group does not go with them.
#[test]
fn law_over_blink_tables() {
    for keys in [&["k"][..], &[]] {
        run_law(
            &[any_table().blink(true)],
            60,
            |tables| made(&tables[0], keys, &all()),
            |inputs, found| {
                let ever = to_model(&inputs[0]);
                let wanted = wanted(&ever, keys, &all()).map(|all| match found {
                    Found::Rows(rows) => ops::tail(&all, rows.rows.len() as u64),
                    Found::Failed(_) => all,
                });
                judge(wanted, found, &Compare::ByPosition)
            },
        );
    }
}
