//! Each operation beside itself made anew: one step of 10,000 modified rows of a million, and the
//! whole operation over the million. The ratio is what being incremental is worth.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use engine::ops::{
    Aggregation, AsofJoin, Concat, EquiJoin, Explode, Filter, Flatten, NaturalJoin, Project, Reverse, Running, Select,
    Slice, Sort, TopK, WhereIn,
};
use engine::plan::{AsofOptions, EquiOptions, ExplodeOptions, How, Matches, Member, SortBy, Strategy, Validate};
use engine::plan::{
    Bound, Closing, ColumnOptions, InputColumns, Keep, Label, Op, PivotOptions, RangeEnd, RangeOptions, RowBounds,
    SessionOptions, WindowOptions, apply, columns, distinct,
};
use engine::plan::{Clock, Control, Cumulative, Decay, RunningKind};
use engine::sources::{Apply, InputTable};
use engine::{Error, OnError, Table, attach};
use fastrand::Rng;
use formula::functions::Text;
use formula::values::Values;
use formula::{Aggregate, Expr, Function, Window};
use graph::{Settings, UpdateGraph};
use rowset::RowSet;

const ROWS: u64 = 1_000_000;
const CHANGED: u64 = 10_000;
const GROUPS: i32 = 1_000;

/// A table joined with the last row of each group.
fn all_pairs(t: &Table, how: How) -> Result<Table, Error> {
    let right = distinct("last_by", t, &["g".into()], Keep::Last)?;
    let options = EquiOptions {
        on: vec![("g".to_owned(), "g".to_owned())],
        how,
        suffix: "_right".to_owned(),
        nulls_equal: false,
        validate: Validate::ManyToMany,
        coalesce: true,
    };
    attach(&EquiJoin::new("join", t, &right, options)?, &[t.clone(), right])
}

/// The last row of each group, with a range of stamps that ends at its own.
fn ranges(t: &Table) -> Result<Table, Error> {
    let last = distinct("last_by", t, &["g".into()], Keep::Last)?;
    let begin = Expr::call(Function::Subtract, vec![Expr::column("t"), Expr::literal(100_000)])?.alias("begin");
    let own = [Expr::column("g"), begin, Expr::column("t").alias("end")];
    columns("select", &last, &own, ColumnOptions { own: InputColumns::Drop, ..ColumnOptions::STORED })
}

/// The table with instants within about a quarter of an hour, by which rows have windows and sessions; counts of these.
fn in_time(t: &Table, op: impl Fn(Vec<Expr>, Vec<Expr>) -> Op) -> Result<Table, Error> {
    let nanos =
        Expr::call(Function::Multiply, vec![Expr::column("v"), Expr::literal(1e12)])?.cast(DataType::Int64, true)?;
    let stamp = nanos.cast(DataType::Timestamp(TimeUnit::Nanosecond, None), true)?.alias("s");
    let stamped = columns("with_columns", t, &[stamp], ColumnOptions::STORED)?;
    let len = Expr::aggregate(Aggregate::Len, None)?.alias("n");
    apply(op(vec![Expr::column("g")], vec![len]), "group_by", &[stamped])
}

fn schema() -> Arc<Schema> {
    let field = |name: &str, data_type| Field::new(name, data_type, true);
    Arc::new(Schema::new(vec![field("g", DataType::Int32), field("t", DataType::Int64), field("v", DataType::Float64)]))
}

fn rows(numbers: &mut Rng, first: u64, count: u64) -> RecordBatch {
    let g: Int32Array = (0..count).map(|_| Some((numbers.u64(..GROUPS as u64)) as i32)).collect();
    let t = Int64Array::from_iter_values((first..first + count).map(|key| key as i64));
    let v: Float64Array = (0..count).map(|_| Some(numbers.f64())).collect();
    let columns: Vec<ArrayRef> = vec![Arc::new(g), Arc::new(t), Arc::new(v)];
    RecordBatch::try_new(schema(), columns).expect("three columns of the schema")
}

/// New values of `v` for some rows.
fn change(numbers: &mut Rng) -> Apply {
    let keys = RowSet::from_keys((0..CHANGED).map(|_| numbers.u64(..ROWS)).collect());
    let v: Float64Array = (0..keys.len()).map(|_| Some(numbers.f64())).collect();
    let schema = Arc::new(Schema::new(vec![Field::new("v", DataType::Float64, true)]));
    let batch = RecordBatch::try_new(schema, vec![Arc::new(v)]).expect("one column");
    Apply { modified: Some((keys, batch)), ..Apply::default() }
}

fn greater(column: &str, limit: f64) -> Expr {
    Expr::call(Function::Greater, vec![Expr::column(column), Expr::literal(limit)]).expect("a comparison")
}

/// A regular expression over the digits of a number.
fn ends_in_seven() -> Result<Expr, Error> {
    let digits = Expr::column("g").cast(DataType::Utf8, false)?;
    Ok(Expr::call(Function::Text(Text::Contains { literal: false }), vec![digits, Expr::literal("[0-9]*7$")])?)
}

fn operations() -> Vec<(&'static str, Box<dyn Fn(&Table) -> Result<Table, Error>>)> {
    fn one(operation: &dyn engine::Operation, table: &Table) -> Result<Table, Error> {
        attach(operation, std::slice::from_ref(table))
    }
    let key = || vec!["g".to_owned()];
    vec![
        ("filter", Box::new(|t| one(&Filter::new(t, &[greater("v", 0.5)])?, t))),
        ("filter_text_then_number", Box::new(|t| one(&Filter::new(t, &[ends_in_seven()?, greater("v", 0.9)])?, t))),
        ("filter_number_then_text", Box::new(|t| one(&Filter::new(t, &[greater("v", 0.9), ends_in_seven()?])?, t))),
        (
            "with_columns",
            Box::new(|t| {
                let doubled = Expr::call(Function::Multiply, vec![Expr::column("v"), Expr::literal(2.0)])?.alias("x");
                one(&Select::with(t, &[doubled])?, t)
            }),
        ),
        ("drop", Box::new(|t| one(&Project::drop(t, &["t".into()])?, t))),
        ("head", Box::new(|t| one(&Slice::head(1_000), t))),
        (
            "group_by",
            Box::new(move |t| {
                let sum = Expr::aggregate(Aggregate::Sum { min_count: 0 }, Some(Expr::column("v")))?.alias("s");
                let std = Expr::aggregate(Aggregate::Std { ddof: 1 }, Some(Expr::column("v")))?.alias("d");
                let least = Expr::aggregate(Aggregate::Min, Some(Expr::column("v")))?.alias("m");
                one(&Aggregation::new("group_by", t, &key(), &[sum, std, least])?, t)
            }),
        ),
        ("last_by", Box::new(move |t| distinct("last_by", t, &["g".into()], Keep::Last))),
        (
            "sort",
            Box::new(|t| {
                let by = SortBy { column: "v".into(), descending: false, nulls_last: false };
                one(&Sort::new("sort", t, &[by])?, t)
            }),
        ),
        (
            "top_k",
            Box::new(|t| {
                let by = SortBy { column: "v".into(), descending: true, nulls_last: true };
                one(&TopK::new("top_k", t, &[by], 100)?, t)
            }),
        ),
        ("concat", Box::new(|t| attach(&Concat::new("concat", &[t.clone(), t.clone()])?, &[t.clone(), t.clone()]))),
        (
            "natural_join",
            Box::new(|t| {
                let right = distinct("last_by", t, &["g".into()], Keep::Last)?;
                let on = [("g".to_owned(), "g".to_owned())];
                let join =
                    NaturalJoin::new("natural_join", t, &right, &on, None, Some("_right"), Matches::Error, false)?;
                attach(&join, &[t.clone(), right])
            }),
        ),
        ("join", Box::new(|t| all_pairs(t, How::Inner))),
        ("join_full", Box::new(|t| all_pairs(t, How::Full))),
        (
            "group_by_dynamic",
            Box::new(|t| {
                in_time(t, |keys, aggregates| {
                    let how = WindowOptions {
                        stamp: "s".to_owned(),
                        every: "10s".to_owned(),
                        period: Some("30s".to_owned()),
                        offset: "0s".to_owned(),
                        closed: "left".to_owned(),
                        label: Label::Left,
                        boundaries: false,
                        closing: Closing::default(),
                    };
                    Op::Windows { how, keys, aggregates, on_error: OnError::Fail }
                })
            }),
        ),
        (
            "session",
            Box::new(|t| {
                in_time(t, |keys, aggregates| {
                    let how = SessionOptions { stamp: "s".to_owned(), gap: 2_000_000_000, closing: Closing::default() };
                    Op::Session { how, keys, aggregates, on_error: OnError::Fail }
                })
            }),
        ),
        ("reverse", Box::new(|t| one(&Reverse::default(), t))),
        (
            "explode",
            Box::new(move |t| {
                let text = Expr::column("g").cast(DataType::Utf8, true)?;
                let digits = Expr::call(Function::Text(Text::Split), vec![text, Expr::literal("")])?.alias("l");
                let lists = columns("with_columns", t, &[digits], ColumnOptions::STORED)?;
                let options = ExplodeOptions {
                    columns: vec!["l".to_owned()],
                    empty_as_null: false,
                    keep_nulls: true,
                    null_fill: false,
                };
                one(&Explode::new("explode", &lists, &options)?, &lists)
            }),
        ),
        (
            "flatten",
            Box::new(move |t| {
                let kept = one(&Filter::new(t, &[greater("v", 0.5)])?, t)?;
                one(&Flatten::default(), &kept)
            }),
        ),
        (
            "where_in",
            Box::new(|t| {
                let set = distinct("last_by", t, &["g".into()], Keep::Last)?;
                let on = [("g".to_owned(), "g".to_owned())];
                attach(&WhereIn::new("where_in", t, &set, &on, Member::In, false)?, &[t.clone(), set])
            }),
        ),
        (
            "over",
            Box::new(move |t| {
                let sum = Expr::aggregate(Aggregate::Sum { min_count: 0 }, Some(Expr::column("v")))?;
                let by = vec![Expr::column("g")];
                let share = Expr::call(
                    Function::Divide,
                    vec![Expr::column("v"), sum.over(Window { by, ..Window::default() })?],
                )?;
                columns("with_columns", t, &[share.alias("share")], ColumnOptions::STORED)
            }),
        ),
        (
            "neighbours",
            Box::new(|t| {
                let before = Expr::call(Function::Shift { by: 1 }, vec![Expr::column("v")])?;
                columns("with_columns", t, &[before.alias("before")], ColumnOptions::STORED)
            }),
        ),
        (
            "update_by",
            Box::new(|t| {
                let sum = RunningKind::Cumulative { of: Cumulative::Sum, null_at_null: false };
                let fading =
                    RunningKind::Decay { of: Decay::Mean, clock: Clock::Ticks(20.0), control: Control::default() };
                let made = [("v".to_owned(), sum, "sum".into()), ("v".to_owned(), fading, "mean".into())];
                one(&Running::new("update_by", t, &["g".to_owned()], &made)?, t)
            }),
        ),
        (
            "shift_over",
            Box::new(move |t| {
                let before = Expr::call(Function::Shift { by: 1 }, vec![Expr::column("v")])?;
                let by = vec![Expr::column("g")];
                let before = before.over(Window { by, ..Window::default() })?;
                columns("with_columns", t, &[before.alias("before")], ColumnOptions::STORED)
            }),
        ),
        (
            "range_join",
            Box::new(|t| {
                let end = |column: &str, bound| Some(RangeEnd { column: column.to_owned(), bound });
                let how = RangeOptions {
                    by: vec![("g".to_owned(), "g".to_owned())],
                    on: "t".to_owned(),
                    from: end("begin", Bound::Closed),
                    to: end("end", Bound::Open),
                };
                let sum = Expr::aggregate(Aggregate::Sum { min_count: 0 }, Some(Expr::column("v")))?.alias("s");
                let op = Op::RangeJoin { how, aggregates: vec![sum], on_error: OnError::Fail };
                apply(op, "range_join", &[ranges(t)?, t.clone()])
            }),
        ),
        (
            "join_where",
            Box::new(|t| {
                let call = |function, one: &str, other: &str| {
                    Expr::call(function, vec![Expr::column(one), Expr::column(other)])
                };
                let predicates = vec![
                    call(Function::Equal, "g", "g_right")?,
                    call(Function::LessEqual, "begin", "t")?,
                    call(Function::Less, "t", "end")?,
                ];
                let op = Op::JoinWhere { predicates, suffix: "_right".to_owned(), on_error: OnError::Fail };
                apply(op, "join_where", &[ranges(t)?, t.clone()])
            }),
        ),
        (
            "held_rows",
            Box::new(|t| {
                let bounds = RowBounds { max_rows: Some(ROWS / 2), ..RowBounds::default() };
                apply(Op::HeldRows(bounds), "join", std::slice::from_ref(t))
            }),
        ),
        (
            "pivot",
            Box::new(|t| {
                let names = (0..50).map(|value| format!("v{value}")).collect();
                let how = PivotOptions { index: vec!["half".to_owned()], on: vec!["g".to_owned()], names };
                let values = vec![Values::integers((0..50).collect())];
                let half = Expr::call(Function::Modulo, vec![Expr::column("t"), Expr::literal(500)])?.alias("half");
                let wide = columns("with_columns", t, &[half], ColumnOptions::STORED)?;
                let sum = Expr::aggregate(Aggregate::Sum { min_count: 0 }, Some(Expr::column("v")))?.alias("s");
                let op = Op::Pivot { how, values, aggregates: vec![sum], on_error: OnError::Fail };
                apply(op, "pivot", &[wide])
            }),
        ),
        (
            "join_asof",
            Box::new(|t| {
                let options = AsofOptions {
                    on: ("t".into(), "t".into()),
                    by: vec![("g".into(), "g".into())],
                    strategy: Strategy::Backward,
                    tolerance: None,
                    allow_exact_matches: false,
                    joins: None,
                    suffix: Some("_before".into()),
                };
                attach(&AsofJoin::new("join_asof", t, t, &options)?, &[t.clone(), t.clone()])
            }),
        ),
    ]
}

fn bench(criterion: &mut Criterion) {
    let mut numbers = Rng::with_seed(88_172_645_463_325_252);
    let settings = Settings { period: Duration::ZERO, threads: Some(2), init_threads: Some(2) };
    let mut group = criterion.benchmark_group("ops");
    group.sample_size(10).warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(2));
    for (name, build) in operations() {
        let graph = UpdateGraph::new(settings.clone());
        let source = InputTable::new(&graph, schema()).expect("a sound schema");
        let all = Apply { added: Some((RowSet::flat(ROWS), rows(&mut numbers, 0, ROWS))), ..Apply::default() };
        source.apply(all).expect("a lawful change");
        graph.step().expect("a step");
        let table = build(source.table()).expect("the operation starts");
        group.bench_function(BenchmarkId::new("step", name), |bencher| {
            bencher.iter_batched(
                || change(&mut numbers),
                |change| {
                    source.apply(change).expect("a lawful change");
                    black_box(graph.step().expect("a step"))
                },
                criterion::BatchSize::PerIteration,
            );
        });
        drop(table);
        group.bench_function(BenchmarkId::new("anew", name), |bencher| {
            bencher.iter(|| black_box(build(source.table()).expect("the operation starts")));
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
