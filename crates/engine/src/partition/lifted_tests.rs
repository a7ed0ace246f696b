//! Laws of lifted plans: a merge of them is one of constituents that stand apart.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use formula::{Aggregate, Expr, Function};
use graph::{Settings, UpdateGraph};
use model::{Compare, differences};

use super::*;
use crate::driver::attach::attach;
use crate::ops::Project;
use crate::plan::{GroupBounds, Keep, Materialization, Op, SortBy, apply};
use crate::row_errors::OnError;
use crate::testing::oracle::to_model;
use crate::testing::{Drawn, Source, Tape, Watch, explore, still_graph, table_of};

/// A function of a table.
struct Makes<F>(F);

impl<F: Fn(&Table) -> Result<Table, Error> + Send + Sync> Transformer for Makes<F> {
    fn transform(&self, tables: &[Table]) -> Result<Table, Error> {
        (self.0)(&tables[0])
    }
}

fn col(name: &str) -> Expr {
    Expr::column(name)
}

fn call(function: Function, args: Vec<Expr>) -> Expr {
    Expr::call(function, args).expect("a call")
}

fn filter(predicate: Expr) -> Op {
    Op::Filter { predicates: vec![predicate], orders: Vec::new(), on_error: OnError::Fail }
}

fn columns(columns: Vec<Expr>, keep: bool) -> Op {
    let (materialization, on_error) = (Materialization::Stored, OnError::Fail);
    Op::Columns { columns, keep, orders: Vec::new(), materialization, on_error, sequential: false }
}

fn of(aggregate: Aggregate, name: &str, becomes: &str) -> Expr {
    Expr::aggregate(aggregate, vec![col(name)]).expect("an aggregate").alias(becomes)
}

fn aggregates(keys: &[&str]) -> Op {
    let aggregates = vec![
        of(Aggregate::Sum { min_count: 0 }, "v", "v"),
        of(Aggregate::Last, "x", "x"),
        of(Aggregate::Min, "t", "t"),
        of(Aggregate::First, "h", "h"),
    ];
    let keys = keys.iter().map(|key| col(key)).collect();
    Op::Aggregate { keys, aggregates, on_error: OnError::Fail }
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Operations that keep the columns, of which every one is lifted over rows in an order of their own.
fn drawn(tape: &mut Tape) -> Op {
    match tape.below(11) {
        0 => filter(call(Function::Greater, vec![col("v"), Expr::literal(0_i64)])),
        1 => filter(call(Function::IsNotNull, vec![col("x")])),
        2 => columns(vec![call(Function::Add, vec![col("x"), Expr::literal(1.5)]).alias("x")], true),
        3 => columns(["h", "v", "x", "t"].map(col).to_vec(), false),
        4 => aggregates(&[]),
        5 => Op::Distinct { keys: names(&["h"]), keep: Keep::Last, bounds: GroupBounds::default() },
        6 => Op::Head { rows: tape.below(3) + 1 },
        7 => Op::Tail { rows: tape.below(3) + 1 },
        8 => Op::Sort { by: vec![SortBy::ascending("x"), SortBy::descending("h")] },
        9 => Op::Reverse,
        _ => Op::GroupLimit { keys: names(&["v"]), rows: 1, keep: *tape.choose(&[Keep::First, Keep::Last]) },
    }
}

fn made(table: &Table, ops: &[Op]) -> Result<Table, Error> {
    ops.iter().try_fold(table.clone(), |table, op| apply(op.clone(), "transform", &[table]))
}

/// What the operations make of a table, as a table of which no plan tells.
fn made_apart(table: &Table, ops: &[Op]) -> Result<Table, Error> {
    let made = made(table, ops)?;
    attach(&Project::all("transform", &made)?, std::slice::from_ref(&made))
}

fn with(of: &Partitioned, function: impl Fn(&Table) -> Result<Table, Error> + Send + Sync + 'static) -> Partitioned {
    of.transform(&Call::from("transform"), Arc::new(Makes(function)), &[], &[]).expect("it is made")
}

fn merged(of: &Partitioned) -> Table {
    of.merge(&Call::from("merge")).expect("all are alike")
}

fn split(table: &Table, drop_keys: bool) -> Partitioned {
    Partitioned::split(&Call::from("partition_by"), table, &names(&["k", "g"]), drop_keys).expect("they are keys")
}

#[test]
fn a_merge_of_lifted_plans_is_one_of_constituents_that_stand_apart() {
    let (many, tried) = (AtomicU32::new(0), AtomicU32::new(0));
    explore(250, |tape| {
        let text = |error: Error| error.to_string();
        let threads = Some(*tape.choose(&[1, 2]));
        let graph = UpdateGraph::new(Settings { period: Duration::ZERO, threads, init_threads: Some(1) });
        let spec = table_of("k:str g:bool h:int v:int x:float t:time").rows(20);
        let (source, mut case) = Source::draw(&graph, &spec, tape).map_err(text)?;
        let lower: Vec<Op> = (0..tape.below(3)).map(|_| drawn(tape)).collect();
        let upper: Vec<Op> = (0..tape.below(3) + 1).map(|_| drawn(tape)).collect();
        // One constituent in some of them stands apart for the key that it has.
        let some = tape.chance(80);
        let of = split(source.table(), true);
        let (mine, theirs) = ((lower.clone(), upper.clone()), (lower, upper));
        let partly = move |table: &Table| match table.rows()?.first() {
            Some(row) if some && row % 3 == 0 => made_apart(table, &mine.0),
            _ => made(table, &mine.0),
        };
        let lifted = with(&with(&of, partly), move |table| made(table, &mine.1));
        let apart =
            with(&with(&of, move |table| made_apart(table, &theirs.0)), move |table| made_apart(table, &theirs.1));
        if apart.members.lifts() {
            return Err("no plan tells what it does, and it is lifted".into());
        }
        tried.fetch_add(1, Ordering::Relaxed);
        many.fetch_add(u32::from(lifted.members.lifts()), Ordering::Relaxed);
        let order = vec![SortBy::descending("g"), SortBy::descending("k")];
        let sorted = tape.chance(100);
        let shown = |of: &Partitioned| match sorted {
            true => of.over(apply(Op::Sort { by: order.clone() }, "sort", &[of.set().clone()]).expect("it sorts")),
            false => of.clone(),
        };
        let tables = [merged(&shown(&lifted)), merged(&shown(&apart))];
        let [one, other] = [Watch::attach(&tables[0]).map_err(text)?, Watch::attach(&tables[1]).map_err(text)?];
        let mut held: Vec<(Table, Table)> = Vec::new();
        for _ in 0..12 {
            let step = case.step(tape);
            if !step.is_empty() {
                source.apply(&step, &case.mirror.schema).map_err(text)?;
            }
            graph.step().map_err(|error| error.to_string())?;
            for watch in [&one, &other] {
                if let Some(fault) = watch.fault() {
                    return Err(fault);
                }
            }
            if let Some(failure) = tables.iter().find_map(Table::failure) {
                return Err(failure.to_string());
            }
            if let Some(text) = differences(&to_model(&other.now()), &to_model(&one.now()), &Compare::ByPosition) {
                return Err(format!("merged: {text}"));
            }
            // What is asked for is a table of its own, as long as somebody holds it.
            held.retain(|_| !tape.chance(60));
            let (mine, theirs) = (lifted.tables().map_err(text)?, apart.tables().map_err(text)?);
            for (mine, theirs) in mine.into_iter().zip(theirs) {
                if tape.chance(60) {
                    held.push((mine, theirs));
                }
            }
            for (mine, theirs) in &held {
                let [mine, theirs] =
                    [mine, theirs].map(|table| Watch::attach(table).map(|watch| to_model(&watch.now())));
                // Groups stand in the order in which they came, since the table was asked for.
                let compare = Compare::by_key(&["h", "v", "x", "t"]);
                if let Some(text) = differences(&theirs.map_err(text)?, &mine.map_err(text)?, &compare) {
                    return Err(format!("held: {text}"));
                }
            }
        }
        Ok(())
    });
    // As many cases as were asked for, however many that are (`explore` says): few of them tell nothing of a share.
    let (many, tried) = (many.into_inner(), tried.into_inner());
    assert!(tried < 10 || many * 5 > tried, "{many} of {tried} were lifted");
}

#[test]
fn a_lifted_function_makes_no_node_of_a_constituent() {
    let graph = still_graph();
    let rows: Vec<String> = (0..1_000).map(|row| format!("{row} K{row} {row}")).collect();
    let drawn = Drawn::new(&graph, &rows.join(" | "));
    let of = Partitioned::split(&Call::from("partition_by"), drawn.table(), &names(&["K"]), false).expect("a key");
    let above = || filter(call(Function::Greater, vec![col("V"), Expr::literal(10_i64)]));
    let all = merged(&with(&of, move |table| made(table, &[above()])));
    assert_eq!(all.rows().expect("it lives").len(), 989);
    let nodes = graph.counters().nodes;
    // The source, the hub, the set, the set of results, the column of keys, the filter, and the merge; and the constituent
    // without rows that tells the columns, with its filter.
    assert_eq!(nodes, 9);
    drawn.apply("~ 3 . 11 | ~ 500 . 9 | + 1000 L 12");
    graph.step().expect("the cycle runs");
    assert_eq!(all.rows().expect("it lives").len(), 990);
    assert_eq!(graph.counters().nodes, nodes);
}

#[test]
fn what_may_fail_is_not_lifted() {
    let graph = still_graph();
    let drawn = Drawn::new(&graph, "0 A 1 | 1 B 2");
    let of = Partitioned::split(&Call::from("partition_by"), drawn.table(), &names(&["K"]), false).expect("a key");
    let cast = |strict: bool| Expr::Cast { input: Arc::new(col("K")), to: arrow_schema::DataType::Int64, strict };
    for (strict, lifts) in [(true, false), (false, true)] {
        let op = move || columns(vec![cast(strict).alias("n")], true);
        // No letter is a number: the strict one fails for the keys that are there.
        let one = of.transform(&Call::from("transform"), Arc::new(Makes(move |t: &Table| made(t, &[op()]))), &[], &[]);
        assert_eq!(one.expect("it is made").members.lifts(), lifts);
    }
    let second = Op::Slice { offset: 1, length: Some(1) };
    assert!(!with(&of, move |table| made(table, std::slice::from_ref(&second))).members.lifts());
    assert!(with(&of, |table| Ok(table.clone())).members.lifts());
}

/// A key that comes for which the function asks for something else.
#[test]
fn a_constituent_that_comes_may_stand_apart() {
    let graph = still_graph();
    let drawn = Drawn::new(&graph, "0 A 1");
    let of = Partitioned::split(&Call::from("partition_by"), drawn.table(), &names(&["K"]), false).expect("a key");
    let lifted = with(&of, |table| match table.rows()?.first() {
        Some(row) if row % 2 == 1 => made(table, &[Op::Tail { rows: 1 }]),
        _ => made(table, &[Op::Head { rows: 1 }]),
    });
    let all = merged(&lifted);
    drawn.apply("+ 1 B 2 | + 2 B 3 | + 3 A 4 | + 4 C 5 | + 6 C 6");
    graph.step().expect("the cycle runs");
    let rows = to_model(&Watch::attach(&all).expect("it lives").now());
    let shown: Vec<String> = rows.rows.iter().map(|(_, row)| format!("{:?}", row[1])).collect();
    assert_eq!(shown.len(), 3);
    assert!(shown[0].contains('1') && shown[1].contains('3') && shown[2].contains('5'), "{shown:?}");
}
