//! The sources as their users meet them: what a call does, what it refuses, what a step shows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use graph::UpdateGraph;
use rowset::RowSet;

use super::{AppendTable, Apply, BlinkTable, InputTable, KeyedTable, TimeTable, Transaction};
use crate::error::Error;
use crate::table::handle::Table;
use crate::testing::validate::plain_of;
use crate::testing::{Cell, Plain, Watch, count_step, explore, still_graph};

mod full;
mod long_texts;
mod together;

fn schema() -> Arc<Schema> {
    Arc::new(Schema::new(vec![Field::new("k", DataType::Utf8, true), Field::new("v", DataType::Int64, true)]))
}

fn batch(rows: &[(&str, i64)]) -> RecordBatch {
    let keys: ArrayRef = Arc::new(StringArray::from_iter_values(rows.iter().map(|(key, _)| *key)));
    let values: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|(_, value)| *value)));
    RecordBatch::try_new(schema(), vec![keys, values]).unwrap()
}

fn keys(names: &[&str]) -> RecordBatch {
    let schema = Arc::new(Schema::new(vec![Field::new("k", DataType::Utf8, true)]));
    RecordBatch::try_new(schema, vec![Arc::new(StringArray::from_iter_values(names))]).unwrap()
}

fn now(table: &Table) -> Vec<(String, i64)> {
    let plain: Plain = plain_of(&table.view().unwrap(), table.schema()).unwrap();
    let pair = |row: &Vec<Cell>| match row.as_slice() {
        [Cell::Str(key), Cell::Int(value)] => (key.clone(), *value),
        other => panic!("unexpected cells {other:?}"),
    };
    plain.rows.iter().map(|(_, row)| pair(row)).collect()
}

fn pairs(rows: &[(&str, i64)]) -> Vec<(String, i64)> {
    rows.iter().map(|(key, value)| ((*key).to_owned(), *value)).collect()
}

fn step(graph: &UpdateGraph) {
    graph.step().unwrap();
}

#[test]
fn appended_rows_become_visible_together_in_their_step() {
    let graph = still_graph();
    let source = AppendTable::new(&graph, schema()).unwrap();
    let watch = Watch::attach(source.table()).unwrap();
    let first = source.append(&batch(&[("a", 1), ("b", 2)])).unwrap();
    let second = source.append(&batch(&[("c", 3)])).unwrap();
    assert!(now(source.table()).is_empty() && first.landed().is_none());
    step(&graph);
    assert_eq!(now(source.table()), pairs(&[("a", 1), ("b", 2), ("c", 3)]));
    assert_eq!((first.landed().unwrap().unwrap(), second.landed().unwrap().unwrap()), (1, 1));
    assert_eq!(watch.take_drawings(), ["+ 0 a 1 | + 1 b 2 | + 2 c 3"]);
    step(&graph);
    assert!(watch.take_drawings().is_empty() && watch.fault().is_none());
}

#[test]
fn data_that_does_not_fit_is_refused_whole() {
    let graph = still_graph();
    let source = AppendTable::new(&graph, schema()).unwrap();
    let wrong: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
    let text: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
    let columns = |columns: Vec<(&str, ArrayRef)>| RecordBatch::try_from_iter(columns).unwrap();
    let refused = |batch: &RecordBatch| source.append(batch).err().unwrap();
    let error = refused(&columns(vec![("k", text.clone()), ("v", wrong)]));
    assert!(matches!(error, Error::TypeMismatch { .. }));
    assert!(error.to_string().contains("column \"v\" is Int64, but the data holds String"), "{error}");
    let error = refused(&columns(vec![("k", text.clone())]));
    assert!(error.to_string().contains("missing column \"v\"; the columns are [\"k\", \"v\"]"), "{error}");
    let one: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let error = refused(&columns(vec![("k", text), ("v", one.clone()), ("w", one)]));
    assert!(error.to_string().contains("extra column \"w\""), "{error}");
    step(&graph);
    assert!(now(source.table()).is_empty());
}

#[test]
fn a_blink_row_lives_for_one_step() {
    let graph = still_graph();
    let source = BlinkTable::new(&graph, schema()).unwrap();
    let watch = Watch::attach(source.table()).unwrap();
    source.append(&batch(&[("a", 1), ("b", 2)])).unwrap();
    step(&graph);
    source.append(&batch(&[("c", 3)])).unwrap();
    step(&graph);
    assert_eq!(now(source.table()), pairs(&[("c", 3)]));
    step(&graph);
    assert!(now(source.table()).is_empty());
    assert_eq!(watch.take_drawings(), ["+ 0 a 1 | + 1 b 2", "- [0..1] | + 2 c 3", "- 2"]);
    assert!(watch.fault().is_none());
}

#[test]
fn upserts_add_modify_and_do_nothing() {
    let graph = still_graph();
    let source = KeyedTable::new(&graph, schema(), &["k".into()]).unwrap();
    let watch = Watch::attach(source.table()).unwrap();
    let drawn = |rows: &[(&str, i64)]| {
        source.upsert(&batch(rows)).unwrap();
        step(&graph);
        watch.take_drawings().pop().unwrap_or_default()
    };
    assert_eq!(drawn(&[("a", 1), ("b", 2)]), "+ 0 a 1 | + 1 b 2");
    assert_eq!(drawn(&[("b", 3), ("c", 4)]), "+ 2 c 4 | ~ 1 . 3");
    assert_eq!(drawn(&[("b", 3)]), "");
    assert_eq!(drawn(&[("d", 1), ("d", 2)]), "+ 3 d 2");
    source.delete(&keys(&["a", "nobody"])).unwrap();
    source.upsert(&batch(&[("a", 9)])).unwrap();
    step(&graph);
    assert_eq!(watch.take_drawings(), ["~ 0 . 9"]);
    source.replace(&batch(&[("c", 5), ("e", 6)])).unwrap();
    step(&graph);
    assert_eq!(now(source.table()), pairs(&[("c", 5), ("e", 6)]));
    assert!(watch.fault().is_none());
}

/// Random upserts, deletes and replacements, several a step, against a plain map.
#[test]
fn law_of_keyed_tables() {
    explore(60, |tape| {
        let graph = still_graph();
        let source = KeyedTable::new(&graph, schema(), &["k".into()]).unwrap();
        let watch = Watch::attach(source.table()).unwrap();
        let mut model: BTreeMap<String, i64> = BTreeMap::new();
        for _ in 0..30 {
            for _ in 0..tape.below(4) {
                let rows: Vec<(String, i64)> =
                    (0..tape.below(6)).map(|_| (format!("k{}", tape.below(12)), tape.below(3) as i64)).collect();
                let given: Vec<(&str, i64)> = rows.iter().map(|(key, value)| (key.as_str(), *value)).collect();
                match tape.below(8) {
                    0 => {
                        source.replace(&batch(&given)).unwrap();
                        model = rows.into_iter().collect();
                    }
                    1 | 2 => {
                        source.delete(&keys(&given.iter().map(|(key, _)| *key).collect::<Vec<_>>())).unwrap();
                        for (key, _) in &given {
                            model.remove(*key);
                        }
                    }
                    _ => {
                        source.upsert(&batch(&given)).unwrap();
                        model.extend(rows);
                    }
                }
            }
            step(&graph);
            count_step();
            assert!(watch.fault().is_none(), "{:?}", watch.fault());
            let found: BTreeMap<String, i64> = now(source.table()).into_iter().collect();
            assert_eq!(found, model);
            assert_eq!(source.table().rows().unwrap().len(), model.len() as u64, "a key stands twice");
        }
        Ok(())
    });
}

#[test]
fn a_transaction_lands_in_one_step_or_not_at_all() {
    let graph = still_graph();
    let (a, b) = (AppendTable::new(&graph, schema()).unwrap(), AppendTable::new(&graph, schema()).unwrap());
    let open = Transaction::begin(&graph);
    let token = open.collect(|| a.append(&batch(&[("a", 1)]))).unwrap();
    drop(open);
    assert!(matches!(token.landed(), Some(Err(Error::Cancelled(_)))));
    let open = Transaction::begin(&graph);
    let token = open.collect(|| a.append(&batch(&[("a", 1)]))).unwrap();
    let other = b.append(&batch(&[("b", 2)])).unwrap();
    open.collect(|| b.append(&batch(&[("b", 3)]))).unwrap();
    step(&graph);
    assert_eq!((now(a.table()).len(), now(b.table()).len()), (0, 1), "outside of it a call is nobody's");
    assert_eq!((token.landed().is_none(), other.landed().unwrap().unwrap()), (true, 1));
    open.commit().unwrap();
    assert!(!open.is_open() && open.collect(|| a.append(&batch(&[("late", 1)]))).is_err());
    step(&graph);
    assert_eq!((now(a.table()).len(), now(b.table())), (1, pairs(&[("b", 2), ("b", 3)])));
    assert_eq!(token.landed().unwrap().unwrap(), 2);
}

#[test]
fn a_rolled_back_apply_leaves_no_trace_on_later_ones() {
    let graph = still_graph();
    let source = InputTable::new(&graph, schema()).unwrap();
    let added = |key: u64| super::Apply { added: Some((RowSet::key(key), batch(&[("a", 1)]))), ..Default::default() };
    let open = Transaction::begin(&graph);
    open.collect(|| source.apply(added(0))).unwrap();
    assert!(open.collect(|| source.apply(added(0))).is_err(), "a transaction sees its own calls");
    open.rollback();
    source.apply(added(0)).unwrap();
    let open = Transaction::begin(&graph);
    let removed = super::Apply { removed: RowSet::key(0), ..Default::default() };
    open.collect(|| source.apply(removed).and_then(|_| source.apply(added(0)))).unwrap();
    open.commit().unwrap();
    step(&graph);
    assert_eq!(now(source.table()), pairs(&[("a", 1)]));
}

#[test]
fn what_waits_is_counted_until_it_is_taken_or_lost() {
    let graph = still_graph();
    let (a, b) = (AppendTable::new(&graph, schema()).unwrap(), InputTable::new(&graph, schema()).unwrap());
    let waiting = || super::waiting_bytes(&graph);
    let added = |key: u64| super::Apply { added: Some((RowSet::key(key), batch(&[("a", 1)]))), ..Default::default() };
    assert_eq!(waiting(), 0);
    a.append(&batch(&[("a", 1)])).unwrap();
    let one = waiting();
    b.apply(added(0)).unwrap();
    let two = waiting();
    assert!(b.apply(added(0)).is_err() && 0 < one && one < two && two == waiting());
    let open = Transaction::begin(&graph);
    open.collect(|| a.append(&batch(&[("a", 1)]))).unwrap();
    assert_eq!(waiting(), two + one);
    step(&graph);
    assert_eq!(waiting(), one);
    drop(open);
    assert_eq!(waiting(), 0);
    a.append(&batch(&[("a", 1)])).unwrap();
    drop(a);
    assert_eq!(waiting(), 0);
}

/// What the failure of a table says to who waits for its rows.
fn lost(token: &super::Token) -> String {
    match token.landed() {
        Some(Err(Error::TableFailed(failure))) => failure.cause.to_string(),
        Some(Err(other)) => format!("another error: {other}"),
        Some(Ok(step)) => format!("landed in {step}"),
        None => "still waiting".into(),
    }
}

/// Every kind of source, failed at each point of its step, by an error and by a panic: no token lands, neither of
/// what the step took nor of what came behind it, and later calls are refused.
#[test]
fn a_token_lands_only_when_its_rows_are_in() {
    use crate::driver::failpoints::{Fail, Point, TEXT, arm};
    let makers: [fn(&UpdateGraph) -> (Table, Box<dyn Fn() -> Result<super::Token, Error>>); 4] = [
        |graph| {
            let source = AppendTable::new(graph, schema()).unwrap();
            (source.table().clone(), Box::new(move || source.append(&batch(&[("a", 1)]))))
        },
        |graph| {
            let source = BlinkTable::new(graph, schema()).unwrap();
            (source.table().clone(), Box::new(move || source.append(&batch(&[("a", 1)]))))
        },
        |graph| {
            let source = KeyedTable::new(graph, schema(), &["k".into()]).unwrap();
            (source.table().clone(), Box::new(move || source.upsert(&batch(&[("a", 1)]))))
        },
        |graph| {
            let source = InputTable::new(graph, schema()).unwrap();
            let table = source.table().clone();
            let next = std::cell::Cell::new(0);
            let apply = move || {
                let added = Some((RowSet::key(next.replace(next.get() + 1)), batch(&[("a", 1)])));
                source.apply(super::Apply { added, ..Default::default() })
            };
            (table, Box::new(apply))
        },
    ];
    for make in makers {
        for (point, fail) in [
            (Point::BeforeUpdate, Fail::Error),
            (Point::BeforeUpdate, Fail::Panic),
            (Point::AfterUpdate, Fail::Error),
            (Point::AfterUpdate, Fail::Panic),
        ] {
            let graph = still_graph();
            let (table, write) = make(&graph);
            let first = write().unwrap();
            step(&graph);
            assert_eq!(first.landed().unwrap().unwrap(), 1);
            let taken = [write().unwrap(), write().unwrap()];
            let open = Transaction::begin(&graph);
            let drafted = open.collect(&write).unwrap();
            arm(&table, point, fail);
            step(&graph);
            assert!(taken.iter().all(|token| lost(token).contains(TEXT)), "{point:?}: {}", lost(&taken[0]));
            assert!(matches!(open.commit(), Err(Error::TableFailed(_))));
            assert!(matches!(drafted.landed(), Some(Err(Error::Cancelled(_)))));
            assert!(matches!(write(), Err(Error::TableFailed(_))));
        }
    }
}

#[test]
fn a_failed_source_fails_what_hangs_on_it_and_nothing_else() {
    let graph = still_graph();
    let (a, b) = (AppendTable::new(&graph, schema()).unwrap(), AppendTable::new(&graph, schema()).unwrap());
    let head = crate::driver::attach::attach(&crate::ops::Slice::head(1), std::slice::from_ref(a.table())).unwrap();
    a.fail(Error::External { message: "the feed broke".into(), payload: None });
    b.append(&batch(&[("b", 2)])).unwrap();
    step(&graph);
    let text = head.alive().err().unwrap().to_string();
    assert!(text.contains("append_table") && text.contains("the feed broke"), "{text}");
    assert!(a.append(&batch(&[("a", 1)])).is_err());
    assert_eq!(now(b.table()).len(), 1);
}

#[test]
fn what_breaks_the_update_law_is_refused_at_the_call() {
    let graph = still_graph();
    let source = InputTable::new(&graph, schema()).unwrap();
    let added =
        |keys: RowSet, rows: &[(&str, i64)]| super::Apply { added: Some((keys, batch(rows))), ..Default::default() };
    source.apply(added(RowSet::range(0, 1), &[("a", 1), ("b", 2)])).unwrap();
    let text = |result: Result<_, Error>| result.err().unwrap().to_string();
    let error = text(source.apply(added(RowSet::key(1), &[("c", 3)])));
    assert!(error.contains("added rows that are there already"), "{error}");
    let removed = super::Apply { removed: RowSet::key(7), ..Default::default() };
    assert!(text(source.apply(removed)).contains("removed rows that are not there: {[7..7]}"));
    let shifted = super::Apply { shifted: vec![rowset::Shift { first: 0, last: 0, delta: 1 }], ..Default::default() };
    assert!(text(source.apply(shifted)).contains("nothing was applied"));
    let error = text(source.apply(added(RowSet::range(5, 6), &[("c", 3)])));
    assert!(error.contains("2 keys, but 1 rows of data"), "{error}");
    step(&graph);
    assert_eq!(now(source.table()), pairs(&[("a", 1), ("b", 2)]));
}

#[test]
fn a_time_table_adds_what_is_due() {
    let time = graph::env::ManualTime::starting_at(10_500_000_000);
    let settings = graph::Settings { period: Duration::ZERO, threads: Some(1), init_threads: Some(1) };
    let graph = UpdateGraph::with_time(settings, graph::env::TimeSource::Manual(time.clone()));
    let table = TimeTable::new(&graph, Duration::from_secs(1), None, false).unwrap();
    let blink = TimeTable::new(&graph, Duration::from_secs(1), Some(8_000_000_000), true).unwrap();
    let sizes = || (table.rows().unwrap().len(), blink.rows().unwrap().len());
    step(&graph);
    assert_eq!(sizes(), (1, 3));
    time.advance(Duration::from_secs(2));
    step(&graph);
    assert_eq!(sizes(), (3, 2));
    step(&graph);
    assert_eq!(sizes(), (3, 0));
}

#[test]
fn an_aggregation_over_a_blink_table_accumulates() {
    use formula::{Aggregate, Expr};
    let graph = still_graph();
    let source = BlinkTable::new(&graph, schema()).unwrap();
    let of = |kind, name: &str| Expr::aggregate(kind, Some(Expr::column("v"))).unwrap().alias(name);
    let list = [
        of(Aggregate::Sum { min_count: 0 }, "s"),
        of(Aggregate::First, "f"),
        of(Aggregate::Last, "l"),
        of(Aggregate::Max, "m"),
    ];
    let totals =
        crate::plan::aggregate("group_by", source.table(), &[Expr::column("k")], &list, crate::OnError::Fail).unwrap();
    let watch = Watch::attach(&totals).unwrap();
    let drawn = |rows: &[(&str, i64)]| {
        source.append(&batch(rows)).unwrap();
        step(&graph);
        watch.take_drawings().pop().unwrap_or_default()
    };
    assert_eq!(drawn(&[("a", 1), ("b", 2), ("a", 5)]), "+ 0 a 6 1 5 5 | + 1 b 2 2 2 2");
    assert_eq!(drawn(&[("a", 3)]), "~ 0 . 9 . 3 .");
    assert_eq!(drawn(&[("b", 9), ("c", 1)]), "+ 2 c 1 1 1 1 | ~ 1 . 11 . 9 9");
    step(&graph);
    assert!(watch.take_drawings().is_empty() && watch.fault().is_none());
}

/// A chain of operations over one source, and a thousand cycles that nobody looks at.
#[test]
fn without_readers_no_block_is_ever_copied() {
    use formula::{Expr, Function};
    let graph = still_graph();
    let source = KeyedTable::new(&graph, schema(), &["k".into()]).unwrap();
    let names: Vec<String> = (0..20_000).map(|key| format!("key {key}")).collect();
    let all: Vec<(&str, i64)> = names.iter().map(|name| (name.as_str(), 1)).collect();
    source.upsert(&batch(&all)).unwrap();
    step(&graph);
    let doubled = Expr::call(Function::Multiply, vec![Expr::column("v"), Expr::literal(2)]).unwrap().alias("w");
    let table = source.table();
    let wide = crate::driver::attach::attach(
        &crate::ops::Select::with(table, &[doubled]).unwrap(),
        std::slice::from_ref(table),
    )
    .unwrap();
    let sum = Expr::aggregate(formula::Aggregate::Sum { min_count: 0 }, Some(Expr::column("w"))).unwrap();
    let totals = crate::plan::aggregate("group_by", &wide, &[Expr::column("v")], &[sum], crate::OnError::Fail).unwrap();
    let counters = crate::observe::storage(&graph);
    for round in 0..1_000usize {
        let some: Vec<(&str, i64)> =
            (0..20).map(|at| (names[(round * 7919 + at * 997) % 20_000].as_str(), round as i64)).collect();
        source.upsert(&batch(&some)).unwrap();
        step(&graph);
        assert_eq!((counters.blocks_copied(), counters.undo_bytes()), (0, 0), "cycle {round}");
    }
    // One held snapshot: each block that is touched is copied once, however often it is touched.
    let held = table.snapshot().unwrap();
    for _ in 0..3 {
        source.upsert(&batch(&[(names[0].as_str(), -1)])).unwrap();
        step(&graph);
        source.upsert(&batch(&[(names[0].as_str(), -2)])).unwrap();
        step(&graph);
    }
    assert_eq!(counters.blocks_copied(), 1);
    drop((held, totals));
}
