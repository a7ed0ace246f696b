//! Tests: a bulk load gives, bit for bit, the results of the same rows added batch by batch.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch, StringViewArray,
    UInt64Array,
};
use fastrand::Rng;
use formula::{Aggregate, Expr, Function};

use super::Aggregation;
use crate::driver::attach::attach;
use crate::ops::Filter;
use crate::plan::passes;
use crate::plan::{Op, Plan};
use crate::row_errors::OnError;
use crate::sources::{AppendTable, from_chunks};
use crate::table::handle::Table;
use crate::testing::plain::cells_of;
use crate::testing::still_graph;

const EVERY: &[Aggregate] = &[
    Aggregate::Count,
    Aggregate::Sum { min_count: 0 },
    Aggregate::Mean,
    Aggregate::Min,
    Aggregate::Max,
    Aggregate::NanMin,
    Aggregate::NanMax,
    Aggregate::Std { ddof: 1 },
];

fn float(dice: &mut Rng, odd: bool) -> f64 {
    let plain = dice.f64() - 0.5;
    match dice.u64(..40) {
        0 if odd => [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, 5e-324][dice.usize(..6)],
        1 => [0.0, -0.0, 1.0, -1.0][dice.usize(..4)],
        2 => plain * 2f64.powi(dice.i32(-300..300)),
        _ => plain,
    }
}

fn integer(dice: &mut Rng) -> i64 {
    match dice.u64(..20) {
        0 => [i64::MIN, i64::MAX, 0, -1][dice.usize(..4)],
        _ => dice.i64(-1000..1000),
    }
}

/// Rows of `groups` groups; some hold nothing but nulls, NaN, or the ends of their type.
fn rows(count: usize, groups: u64, nulls: bool, odd: bool) -> RecordBatch {
    let mut dice = Rng::with_seed(groups + count as u64);
    let keys: Vec<i64> = (0..count).map(|_| dice.u64(..groups) as i64).collect();
    let none = |dice: &mut Rng, key: i64| nulls && (key % 11 == 3 || dice.u64(..6) == 0);
    let mut floats = |key: &i64| {
        let value = if key % 13 == 5 && odd { f64::NAN } else { float(&mut dice, odd) };
        (!none(&mut dice, *key)).then_some(value)
    };
    let (f, g): (Vec<_>, Vec<_>) = keys.iter().map(|key| (floats(key), floats(key))).unzip();
    // Of one size: such are added as whole numbers of a unit.
    let mut even = |key: &i64| {
        let value = dice.f64() * 100.0 - 30.0;
        (!none(&mut dice, *key)).then_some(value)
    };
    let h: Vec<Option<f64>> = keys.iter().map(&mut even).collect();
    let mut texts = |key: &i64| {
        let head = ["", "a", "ab", "abcd", "abcde", "abcdefgh, and more than a view holds ", "zz", "\u{7f}é"];
        let text = format!("{}{}", head[dice.usize(..head.len())], ["", "\0", "b", "0123456789"][dice.usize(..4)]);
        (!none(&mut dice, *key)).then_some(text)
    };
    let s: Vec<Option<String>> = keys.iter().map(&mut texts).collect();
    let mut integers = |key: &i64| {
        let value = [i64::MIN, i64::MAX, integer(&mut dice)][if key % 7 < 2 { (key % 7) as usize } else { 2 }];
        (!none(&mut dice, *key)).then_some(value)
    };
    let i: Vec<Option<i64>> = keys.iter().map(&mut integers).collect();
    let u: Vec<Option<i64>> = keys.iter().map(&mut integers).collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("f", Arc::new(Float64Array::from(f))),
        ("g", Arc::new(Float32Array::from_iter(g.into_iter().map(|cell| cell.map(|cell| cell as f32))))),
        ("h", Arc::new(Float64Array::from(h))),
        ("i", Arc::new(Int64Array::from(i.clone()))),
        ("n", Arc::new(Int32Array::from_iter(i.iter().map(|cell| cell.map(|cell| cell as i32))))),
        ("u", Arc::new(UInt64Array::from_iter(u.into_iter().map(|cell| cell.map(|cell| cell as u64))))),
        ("b", Arc::new(BooleanArray::from_iter(i.into_iter().map(|cell| cell.map(|cell| cell > 0))))),
        ("s", Arc::new(StringViewArray::from_iter(s))),
        ("k", Arc::new(Int64Array::from(keys))),
        ("p", Arc::new(Int64Array::from_iter_values((0..count).map(|_| dice.i64(0..100))))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, cells)| (name, cells, true)))
        .expect("columns of one length")
}

fn aggregates_of(table: &Table, keys: &[String], kinds: &[Aggregate]) -> Vec<Expr> {
    let mut aggregates = vec![Expr::aggregate(Aggregate::Len, None).expect("a count").alias("rows")];
    for name in ["f", "g", "h", "i", "n", "u", "b", "s"] {
        for kind in kinds {
            let Ok(aggregate) = Expr::aggregate(kind.clone(), Some(Expr::column(name))) else { continue };
            let aggregate = aggregate.alias(format!("{name} {}", aggregates.len()));
            // Not every kind is there for every type.
            if Aggregation::new("group_by", table, keys, std::slice::from_ref(&aggregate)).is_ok() {
                aggregates.push(aggregate);
            }
        }
    }
    assert!(aggregates.len() > 35 * kinds.len() / EVERY.len(), "{} aggregates", aggregates.len());
    aggregates
}

fn grouped(table: &Table, keys: &[String]) -> Table {
    grouped_by(table, keys, EVERY)
}

fn grouped_by(table: &Table, keys: &[String], kinds: &[Aggregate]) -> Table {
    let aggregates = aggregates_of(table, keys, kinds);
    let operation = Aggregation::new("group_by", table, keys, &aggregates).expect("known columns");
    attach(&operation, std::slice::from_ref(table)).expect("no row is wrong")
}

/// Every cell as text, which tells the zeros apart.
fn texts(table: &Table) -> Vec<String> {
    let view = table.view().expect("the table lives");
    let column = |at: usize| {
        let cells = cells_of(&view.read(at, view.rows()).expect("rows of the table"));
        format!("{} {cells:?}", table.schema().field(at).name())
    };
    (0..table.width()).map(column).collect()
}

/// True for so many rows in a hundred.
fn below(share: i64) -> Expr {
    Expr::call(Function::Less, vec![Expr::column("p"), Expr::literal(share)]).expect("a call")
}

/// The groups of the rows that a filter leaves, both in one pass of a plan where there are rows enough.
fn in_one_pass(table: &Table, keys: &[String], kinds: &[Aggregate], share: i64) -> Table {
    let filter = Op::Filter { predicates: vec![below(share)], orders: Vec::new(), on_error: OnError::Fail };
    let group = Op::Aggregate {
        keys: keys.iter().map(|key| Expr::column(key.as_str())).collect(),
        aggregates: aggregates_of(table, keys, kinds),
        on_error: OnError::Fail,
    };
    let plan = [filter, group].into_iter().fold(table.plan(), |plan, op| {
        let method = op.method();
        Plan::new(op, method.into(), vec![plan])
    });
    let given: Vec<_> = plan.nodes().given().map(|(name, _)| (name.to_owned(), table.clone())).collect();
    plan.run("run", &given).expect("no row is wrong")
}

fn agrees(batch: &RecordBatch, keys: &[String], step: usize) {
    let columns = batch.columns().iter().map(|column| vec![column.clone()]).collect();
    let still = from_chunks(batch.schema(), columns, batch.num_rows() as u64).expect("a table");
    let graph = still_graph();
    let source = AppendTable::new(&graph, batch.schema()).expect("a table");
    let live = grouped(source.table(), keys);
    for from in (0..batch.num_rows()).step_by(step) {
        source.append(&batch.slice(from, step.min(batch.num_rows() - from))).expect("rows that fit");
        graph.step().expect("no table fails");
    }
    for (at_once, one_by_one) in texts(&grouped(&still, keys)).into_iter().zip(texts(&live)) {
        assert_eq!(at_once, one_by_one);
    }
    // And loaded from the live table, whose cells lie in blocks.
    assert_eq!(texts(&grouped(source.table(), keys)), texts(&live));
}

#[test]
fn loaded_at_once_is_as_entered_one_by_one() {
    for groups in [1, 40, 900] {
        for (nulls, odd) in [(false, false), (true, false), (true, true), (false, true)] {
            agrees(&rows(3000, groups, nulls, odd), &["k".into()], 97);
        }
    }
}

#[test]
fn without_a_key_as_well() {
    agrees(&rows(3000, 5, true, false), &[], 111);
    agrees(&rows(700, 5, true, true), &[], 111);
}

#[test]
fn shares_of_several_threads_are_one() {
    agrees(&rows((1 << 18) + 5000, 3000, true, false), &["k".into()], 30_011);
}

#[test]
fn rows_that_a_filter_leaves_are_entered_under_a_mask() {
    let before = passes();
    // Sizes are drawn: where groups are known before a block begins, and how many rows a block has.
    for seed in 0..60 {
        let groups = [1, 2, 5, 40][seed as usize % 4];
        let share = [50, 97, 20, 3, 70][seed as usize % 5];
        let batch = rows(1500, groups, seed % 3 == 0, seed % 2 == 0);
        let keys = if seed % 7 < 4 { Vec::new() } else { vec!["k".into()] };
        let columns = batch.columns().iter().map(|column| vec![column.clone()]).collect();
        let still = from_chunks(batch.schema(), columns, batch.num_rows() as u64).expect("a table");
        let filter = Filter::named("filter", &still, &[below(share)]).expect("a column of numbers");
        let left = attach(&filter, std::slice::from_ref(&still)).expect("no row is wrong");
        // One state that is not loaded on the board would send all of them another way.
        let kinds = [&EVERY[..3], &EVERY[..5], EVERY][seed as usize % 3];
        let wanted = texts(&grouped_by(&left, &keys, kinds));
        limits::Scope::drawn(seed).enter(|| {
            for (found, wanted) in texts(&in_one_pass(&still, &keys, kinds, share)).into_iter().zip(wanted) {
                assert_eq!(found, wanted, "seed {seed}");
            }
        });
    }
    assert!(passes() > before + 20, "most of them ran in one pass");
}
