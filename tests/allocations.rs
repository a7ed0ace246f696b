//! What a step allocates: as much over many rows as over few, once storage has grown.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use engine::plan::{Materialization, Op, apply};
use engine::sources::{Apply, InputTable};
use engine::{OnError, Table};
use formula::{Aggregate, Expr, Function};
use graph::{Settings, UpdateGraph};
use rowset::RowSet;

/// Debug builds check every row of tables up to 65,536 rows, and of larger ones what changed: both sizes lie above.
const FEW: u64 = 100_000;
const MANY: u64 = 1_000_000;
const GROUPS: i64 = 50;
/// Each lies in a block of its own in the smaller table too: what a step writes is as much.
const CHANGED: u64 = 20;

fn schema() -> Arc<Schema> {
    let field = |name: &str, data_type| Field::new(name, data_type, true);
    Arc::new(Schema::new(vec![field("g", DataType::Int64), field("v", DataType::Float64)]))
}

fn rows(keys: impl Iterator<Item = u64> + Clone) -> RecordBatch {
    let g = Int64Array::from_iter_values(keys.clone().map(|key| key as i64 % GROUPS));
    let v = Float64Array::from_iter_values(keys.map(|key| (key % 100) as f64));
    RecordBatch::try_new(schema(), vec![Arc::new(g) as ArrayRef, Arc::new(v)]).expect("two columns of the schema")
}

/// `filter` → `with_columns` → `group_by`.
fn derived(table: &Table) -> Table {
    let call = |function, column, value: f64| {
        Expr::call(function, vec![Expr::column(column), Expr::literal(value)]).expect("a call of numbers")
    };
    let kept =
        Op::Filter { predicates: vec![call(Function::Less, "v", 50.0)], orders: vec![], on_error: OnError::Fail };
    let kept = apply(kept, "filter", std::slice::from_ref(table)).expect("a filter");
    let doubled = Op::Columns {
        columns: vec![call(Function::Multiply, "v", 2.0).alias("x")],
        keep: true,
        orders: vec![],
        materialization: Materialization::Stored,
        on_error: OnError::Fail,
        sequential: false,
    };
    let doubled = apply(doubled, "with_columns", &[kept]).expect("a column");
    let sum = Expr::aggregate(Aggregate::Sum { min_count: 0 }, Some(Expr::column("x"))).expect("a sum").alias("s");
    let sums = Op::Aggregate { keys: vec![Expr::column("g")], aggregates: vec![sum], on_error: OnError::Fail };
    apply(sums, "agg", &[doubled]).expect("sums")
}

/// Allocations of a step, and their bytes: the mean of twenty that each modify rows that lie anywhere.
fn of_a_step(size: u64) -> (u64, u64) {
    const WARM: u64 = 20;
    const STEPS: u64 = 20;
    let settings = Settings { period: Duration::ZERO, threads: Some(1), init_threads: Some(1) };
    let graph = UpdateGraph::new(settings);
    let source = InputTable::new(&graph, schema()).expect("a sound schema");
    let all = Apply { added: Some((RowSet::flat(size), rows(0..size))), ..Apply::default() };
    source.apply(all).expect("a lawful change");
    graph.step().expect("a step");
    let table = derived(source.table());
    let mut found = (0, 0);
    for step in 0..WARM + STEPS {
        // Each step another value of the same rows, of which some pass the filter and some do not.
        let keys = (0..CHANGED).map(|at| at * (size / CHANGED));
        let changed = rows(keys.clone().map(|key| key + step * 7)).project(&[1]).expect("a column");
        let modified = (RowSet::from_keys(keys.collect()), changed);
        source.apply(Apply { modified: Some(modified), ..Apply::default() }).expect("a lawful change");
        let counted = allocation_counter::measure(|| graph.step().map(drop).expect("a step"));
        if step >= WARM {
            found = (found.0 + counted.count_total, found.1 + counted.bytes_total);
        }
    }
    assert_eq!(table.size().items, GROUPS as u64);
    (found.0 / STEPS, found.1 / STEPS)
}

#[test]
fn a_step_allocates_by_what_changed() {
    let (few, many) = (of_a_step(FEW), of_a_step(MANY));
    assert!(few.0 > 0, "nothing was counted: does the step run on another thread?");
    assert!(many.0 <= few.0 + few.0 / 10, "{many:?} allocations and bytes over {MANY} rows, {few:?} over {FEW}");
    assert!(many.1 <= few.1 + few.1 / 10, "{many:?} allocations and bytes over {MANY} rows, {few:?} over {FEW}");
}
