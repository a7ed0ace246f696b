//! What runs in one pass, what does not, and that nobody can tell by the table or by the error.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, StringViewArray};
use arrow_schema::{DataType, Field, Schema};
use formula::{Aggregate, Expr, Function};

use super::passes;
use crate::error::Error;
use crate::plan::{Materialization, Op, Plan, apply};
use crate::row_errors::OnError;
use crate::sources::from_chunks;
use crate::table::handle::Table;

const ROWS: usize = 50_000;

fn col(name: &str) -> Expr {
    Expr::column(name)
}

fn call(function: Function, args: Vec<Expr>) -> Expr {
    Expr::call(function, args).expect("a call")
}

fn below(name: &str, value: i64) -> Expr {
    call(Function::Less, vec![col(name), Expr::literal(value)])
}

fn filter(predicates: Vec<Expr>) -> Op {
    Op::Filter { predicates, orders: Vec::new(), on_error: OnError::Fail }
}

fn kept(columns: Vec<Expr>, materialization: Materialization) -> Op {
    Op::Columns { columns, keep: true, orders: Vec::new(), materialization, on_error: OnError::Fail, sequential: false }
}

fn columns(columns: Vec<Expr>) -> Op {
    kept(columns, Materialization::Stored)
}

fn of(kind: Aggregate, input: Expr, name: &str) -> Expr {
    Expr::aggregate(kind, Some(input)).expect("an aggregate").alias(name)
}

fn sum(input: Expr) -> Expr {
    of(Aggregate::Sum { min_count: 0 }, input, "s")
}

fn group(keys: Vec<Expr>, aggregates: Vec<Expr>) -> Op {
    Op::Aggregate { keys, aggregates, on_error: OnError::Fail }
}

/// `k`: texts, some null; `n`: numbers as texts but for one; `v`: the number of the row, some null; `x`: floats of any kind.
fn table() -> Table {
    let texts = (0..ROWS).map(|row| ["A", "N", "a text too long for its view", ""].get(row * 7 % 5).copied());
    let numbers = (0..ROWS).map(|row| if row == 30_001 { "odd".to_owned() } else { (row % 100).to_string() });
    let odd = |row: usize| [f64::NAN, -0.0, 0.0, f64::INFINITY][row / 1_000 % 4];
    let floats = (0..ROWS).map(|row| if row % 1_000 == 0 { odd(row) } else { row as f64 / 7.0 });
    let cells: Vec<ArrayRef> = vec![
        Arc::new(texts.collect::<StringViewArray>()),
        Arc::new(numbers.map(Some).collect::<StringViewArray>()),
        Arc::new((0..ROWS as i64).map(|row| (row % 11 != 3).then_some(row)).collect::<Int64Array>()),
        Arc::new(floats.map(Some).collect::<Float64Array>()),
    ];
    let types =
        [("k", DataType::Utf8View), ("n", DataType::Utf8View), ("v", DataType::Int64), ("x", DataType::Float64)];
    let schema = Schema::new(types.map(|(name, kind)| Field::new(name, kind, true)).to_vec());
    from_chunks(Arc::new(schema), cells.into_iter().map(|cells| vec![cells]).collect(), ROWS as u64).expect("a table")
}

fn plan(table: &Table, ops: Vec<Op>) -> Plan {
    ops.into_iter().fold(table.plan(), |plan, op| {
        let method = op.method();
        Plan::new(op, method.into(), vec![plan])
    })
}

fn given(plan: &Plan, table: &Table) -> Vec<(String, Table)> {
    plan.nodes().given().map(|(name, _)| (name.to_owned(), table.clone())).collect()
}

fn cells(table: &Table) -> Result<(rowset::RowSet, Vec<ArrayRef>), Error> {
    let view = table.view()?;
    let cells = (0..view.width()).map(|at| view.read(at, view.rows())).collect::<Result<_, Error>>()?;
    Ok((view.rows().clone(), cells))
}

/// How many passes a plan of these makes; its table, or its error, is that of the plan as it is written.
fn passes_of(table: &Table, ops: Vec<Op>) -> u64 {
    let plan = plan(table, ops);
    let before = passes();
    let found = plan.run("run", &given(&plan, table));
    let made = passes() - before;
    let wanted = plan.run_as_written("run", &given(&plan, table));
    match (found, wanted) {
        (Ok(found), Ok(wanted)) => {
            assert_eq!(cells(&found).expect("its cells"), cells(&wanted).expect("its cells"), "{}", plan.nodes());
            assert_eq!(found.schema(), wanted.schema());
            assert_eq!(found.attributes(), wanted.attributes());
            assert_eq!(found.request().name, wanted.request().name);
            assert!(found.plan() == plan, "a table remembers what was asked for");
        }
        (found, wanted) => {
            let text = |of: Result<Table, Error>| of.err().map(|error| error.to_string());
            assert_eq!(text(found), text(wanted), "{}", plan.nodes());
        }
    }
    made
}

fn doubled() -> Expr {
    call(Function::Multiply, vec![col("v"), Expr::literal(2_i64)]).alias("w")
}

#[test]
fn filters_columns_and_groups_are_one_pass() {
    let table = table();
    let aggregates = || {
        let kinds = [Aggregate::Mean, Aggregate::Count, Aggregate::Max, Aggregate::First, Aggregate::NUnique];
        let more = kinds.into_iter().enumerate().map(|(at, kind)| of(kind, col("x"), &format!("a{at}")));
        let sums = [sum(col("x")), of(Aggregate::Std { ddof: 1 }, col("w"), "d")];
        sums.into_iter().chain(more).collect::<Vec<Expr>>()
    };
    let chains = [
        vec![filter(vec![below("v", 40_000)]), columns(vec![doubled()]), group(vec![col("k")], aggregates())],
        vec![
            columns(vec![doubled()]),
            filter(vec![below("w", 700), below("v", 340)]),
            group(vec![col("k")], aggregates()),
        ],
        vec![columns(vec![doubled()]), filter(vec![below("w", -1)]), group(vec![col("k")], aggregates())],
        vec![
            columns(vec![doubled()]),
            group(vec![call(Function::Modulo, vec![col("w"), Expr::literal(5_i64)]).alias("m")], aggregates()),
        ],
        vec![columns(vec![doubled()]), filter(vec![below("w", 70_000)])],
        vec![filter(vec![below("v", 100)]), columns(vec![doubled()]), Op::Drop { names: vec!["v".into()] }],
        vec![filter(vec![below("v", 50_000_000), call(Function::IsNotNull, vec![col("n")])]), columns(vec![doubled()])],
    ];
    for chain in chains {
        assert_eq!(passes_of(&table, chain.clone()), 1, "{chain:?}");
    }
    // One row of all, of no row too.
    for limit in [40_000, -1] {
        let whole = Op::Columns {
            columns: vec![sum(col("x")), of(Aggregate::Count, col("v"), "c")],
            keep: false,
            orders: Vec::new(),
            materialization: Materialization::Stored,
            on_error: OnError::Fail,
            sequential: false,
        };
        let kept = || filter(vec![below("v", limit)]);
        assert_eq!(passes_of(&table, vec![columns(vec![doubled()]), kept(), whole.clone()]), 1);
        assert_eq!(passes_of(&table, vec![kept(), whole]), 1);
    }
}

/// Shares of the rows that pass: few of them are picked, most are masked; all pass in some blocks and none in others.
#[test]
fn one_row_of_what_is_left_has_the_sums_of_any_other_way() {
    let (table, mut dice) = (table(), fastrand::Rng::with_seed(8));
    let kinds = [
        Aggregate::Sum { min_count: 0 },
        Aggregate::Mean,
        Aggregate::Min,
        Aggregate::Max,
        Aggregate::NanMin,
        Aggregate::Count,
    ];
    // Numbers that are all there, beside those of which some are null.
    let there = |name: &str| call(Function::FillNull, vec![col(name), Expr::literal(7_i64)]);
    for round in 0..24 {
        let share = [1, 30, 50, 70, 99, 100][round % 6];
        let (by, of) = (dice.i64(1..1 << 20) | 1, 1_i64 << 20);
        let spread = call(Function::Multiply, vec![there("v"), Expr::literal(by)]);
        let spread = call(Function::Modulo, vec![spread, Expr::literal(of)]);
        let passes = call(Function::Less, vec![spread, Expr::literal(of * share / 100)]);
        let late = call(Function::Less, vec![Expr::literal(dice.i64(0..30_000)), there("v")]);
        // The floats of `x` are not all numbers, and a sum of them is NaN whatever else is in it.
        let parts = call(Function::Multiply, vec![there("v"), Expr::literal(0.37)]);
        let inputs = [col("x"), col("k"), there("v"), col("v"), parts];
        let aggregate = |(at, kind): (usize, &Aggregate)| {
            let input = inputs[(at + round) % inputs.len()].clone();
            Expr::aggregate(kind.clone(), Some(input)).expect("an aggregate").alias(format!("a{at}"))
        };
        let named = |name: &str| matches!(name, "k");
        let aggregates: Vec<Expr> = (kinds.iter().enumerate())
            .filter(|(at, kind)| {
                let text = inputs[(at + round) % inputs.len()].columns().into_iter().any(named);
                !text || matches!(kind, Aggregate::Min | Aggregate::Max | Aggregate::Count)
            })
            .map(aggregate)
            .collect();
        let predicates = if round % 2 == 0 { vec![passes] } else { vec![passes, late] };
        assert_eq!(passes_of(&table, vec![filter(predicates), group(Vec::new(), aggregates)]), 1);
    }
}

#[test]
fn what_fails_is_told_as_it_is_written() {
    let table = table();
    let number = || col("n").cast(DataType::Int64, true).expect("a cast").alias("number");
    let far = |name: &str| below(name, 10);
    // The odd text is in row 30,001: met or not, before a filter or behind it.
    assert_eq!(passes_of(&table, vec![columns(vec![number()]), filter(vec![far("number")])]), 0);
    assert_eq!(passes_of(&table, vec![columns(vec![number()]), filter(vec![far("v")])]), 0);
    assert_eq!(passes_of(&table, vec![filter(vec![far("v")]), columns(vec![number()])]), 1);
    let is_low = || call(Function::Less, vec![number().unaliased().clone(), Expr::literal(5_i64)]);
    assert_eq!(passes_of(&table, vec![filter(vec![below("v", 20_000), is_low()]), columns(vec![doubled()])]), 1);
    assert_eq!(passes_of(&table, vec![filter(vec![is_low(), below("v", 20_000)]), columns(vec![doubled()])]), 0);
    let sums = || group(vec![col("k")], vec![sum(number().unaliased().clone())]);
    assert_eq!(passes_of(&table, vec![filter(vec![below("v", 20_000)]), sums()]), 1);
    assert_eq!(passes_of(&table, vec![filter(vec![below("v", 40_000)]), sums()]), 0);
}

#[test]
fn what_must_not_is_no_pass() {
    let table = table();
    let before = call(Function::Shift { by: 1 }, vec![col("v")]).alias("before");
    let lazy = kept(vec![doubled()], Materialization::Lazy);
    let chains = [
        vec![filter(vec![below("v", 9)])],
        vec![columns(vec![doubled()])],
        vec![group(vec![col("k")], vec![sum(col("x"))])],
        vec![filter(vec![below("v", 9)]), columns(vec![before])],
        vec![filter(vec![below("v", 9)]), lazy],
        vec![Op::Head { rows: 20_000 }, group(vec![col("k")], vec![sum(col("x"))])],
    ];
    for chain in chains {
        assert_eq!(passes_of(&table, chain.clone()), 0, "{chain:?}");
    }
    // A few rows are not worth it.
    let few = apply(Op::Head { rows: 100 }, "head", std::slice::from_ref(&table)).expect("it is made");
    let chain = || vec![filter(vec![below("v", 9)]), group(vec![col("k")], vec![sum(col("x"))])];
    assert_eq!(passes_of(&few.without_plan(), chain()), 0);
    // What another node stands on is there for both.
    let shared = plan(&table, vec![filter(vec![below("v", 9_000)])]);
    let grouped = Plan::new(group(vec![col("k")], vec![sum(col("x"))]), "agg".into(), vec![shared.clone()]);
    let names = Op::Choose { names: vec!["k".into()] };
    let both =
        [Plan::new(names.clone(), "select".into(), vec![shared]), Plan::new(names, "select".into(), vec![grouped])];
    let both = Plan::new(Op::Concat, "concat".into(), both.to_vec());
    let before = passes();
    both.run("run", &given(&both, &table)).expect("it runs");
    assert_eq!(passes(), before);
}
