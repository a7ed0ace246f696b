//! Readers and attaches against running cycles: a snapshot of two tables is never torn, and a table
//! attached while cycles run equals one made anew.
//!
//! Threads are bounded by counts: so many steps, so many reads; nothing waits for a clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use engine::ops::{Filter, Slice};
use engine::sources::{Apply, InputTable};
use engine::testing::{Cell, Plain, Watch};
use engine::{Table, attach, snapshot};
use formula::{Expr, Function};
use graph::{Settings, UpdateGraph};
use rowset::RowSet;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};

const ROWS: u64 = 64;
const STEPS: i64 = 400;
const READS: usize = 200;

fn schema() -> Arc<Schema> {
    Arc::new(Schema::new(vec![Field::new("round", DataType::Int64, true), Field::new("at", DataType::Int64, true)]))
}

fn graph() -> UpdateGraph {
    UpdateGraph::new(Settings { period: Duration::ZERO, threads: Some(2), init_threads: Some(1) })
}

/// A table of which every row holds the same number: the step that wrote it.
struct Rounds(InputTable);

impl Rounds {
    fn new(graph: &UpdateGraph) -> Rounds {
        let rounds = Rounds(InputTable::new(graph, schema()).expect("a sound schema"));
        let keys = RowSet::flat(ROWS);
        rounds.0.apply(Apply { added: Some((keys, cells(0))), ..Apply::default() }).expect("new rows");
        rounds
    }

    fn write(&self, round: i64) {
        self.0
            .apply(Apply { modified: Some((RowSet::flat(ROWS), cells(round))), ..Apply::default() })
            .expect("known rows");
    }
}

fn cells(round: i64) -> RecordBatch {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(vec![round; ROWS as usize])),
        Arc::new(Int64Array::from_iter_values(0..ROWS as i64)),
    ];
    RecordBatch::try_new(schema(), columns).expect("two columns of one length")
}

/// All cells of a static table.
fn plain(table: &Table) -> Plain {
    Watch::attach(table).expect("a table can be watched").now()
}

/// The one number that all rows of some tables hold.
fn only_round(tables: &[Table]) -> i64 {
    let mut found = None;
    for table in tables {
        for (key, row) in plain(table).rows {
            let Cell::Int(round) = row[0] else { panic!("row {key} holds {}", row[0]) };
            assert_eq!(*found.get_or_insert(round), round, "torn at row {key}");
        }
    }
    found.expect("the tables have rows")
}

/// Runs cycles on this thread while `beside` runs on another; the cycles go on until it is done.
fn while_cycles_run(graph: &UpdateGraph, mut write: impl FnMut(i64), beside: impl FnOnce() + Send) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            // Set on the way out of a failed assertion too, or the cycles would never end.
            struct Done<'a>(&'a AtomicBool);
            impl Drop for Done<'_> {
                fn drop(&mut self) {
                    self.0.store(true, Ordering::Release);
                }
            }
            let _done = Done(&done);
            beside();
        });
        let mut round = 0;
        while round < STEPS || !done.load(Ordering::Acquire) {
            round += 1;
            write(round);
            graph.step().expect("the cycle runs");
        }
        reader.join().expect("the reader found nothing wrong");
    });
}

#[test]
fn snapshots_of_two_tables_show_one_step_and_never_go_back() {
    let graph = graph();
    let (left, right) = (Rounds::new(&graph), Rounds::new(&graph));
    graph.step().expect("the cycle runs");
    let kept = attach(&Slice::head(ROWS / 2), &[right.0.table().clone()]).expect("head starts");
    let tables = [left.0.table().clone(), right.0.table().clone(), kept];
    let write = |round| {
        left.write(round);
        right.write(round);
    };
    // Two calls may fall on both sides of a step's opening; here they do not, as one thread does both.
    while_cycles_run(&graph, write, || {
        let mut last = 0;
        for _ in 0..READS {
            let copies = snapshot(&tables).expect("no table has failed");
            let round = only_round(&copies);
            assert!(round >= last, "went back from {last} to {round}");
            last = round;
        }
    });
}

#[test]
fn a_held_snapshot_stays_as_it_is() {
    let graph = graph();
    let rounds = Rounds::new(&graph);
    graph.step().expect("the cycle runs");
    let held = snapshot(&[rounds.0.table().clone()]).expect("the table lives");
    while_cycles_run(
        &graph,
        |round| rounds.write(round),
        || {
            for _ in 0..READS / 4 {
                assert_eq!(only_round(&held), 0);
            }
        },
    );
    assert_eq!(only_round(&held), 0);
    assert!(only_round(&snapshot(&[rounds.0.table().clone()]).expect("the table lives")) >= STEPS);
}

/// The rows whose `round` does not leave the rest `rest` when halved, by `at` or by the step.
fn odd(table: &Table, column: &str, rest: i64) -> Table {
    let half = Expr::call(Function::Modulo, vec![Expr::column(column), Expr::literal(2i64)]).expect("a small tree");
    let wanted = Expr::call(Function::Equal, vec![half, Expr::literal(rest)]).expect("a small tree");
    attach(&Filter::new(table, &[wanted]).expect("a Boolean"), std::slice::from_ref(table)).expect("filter starts")
}

#[test]
fn tables_attached_while_cycles_run_equal_tables_made_anew() {
    let graph = graph();
    let rounds = Rounds::new(&graph);
    graph.step().expect("the cycle runs");
    let table = rounds.0.table().clone();
    let attached = std::sync::Mutex::new(Vec::new());
    while_cycles_run(
        &graph,
        |round| rounds.write(round),
        || {
            for turn in 0..READS as i64 / 4 {
                let column = if turn % 3 == 0 { "round" } else { "at" };
                // Every request differs a little, or equal ones would share one node.
                let made = odd(&odd(&table, column, turn % 2), "at", (turn / 2) % 2);
                let watch = Watch::attach(&made).expect("a table can be watched");
                let mut attached = attached.lock().expect("one thread attaches");
                attached.push((made, watch));
                // Some are dropped again while cycles run.
                if turn % 5 == 4 {
                    attached.remove(0);
                }
            }
        },
    );
    let attached = attached.into_inner().expect("the thread has ended");
    assert!(attached.len() > 20);
    for (made, watch) in &attached {
        assert_eq!(watch.fault(), None);
        let now = plain(&snapshot(std::slice::from_ref(made)).expect("the table lives")[0]);
        assert_eq!(watch.now().first_difference(&now), None, "what the updates made, and what is there");
    }
    let source = plain(&snapshot(std::slice::from_ref(&table)).expect("the table lives")[0]);
    let parity = |cell: &Cell| if let Cell::Int(x) = cell { x.rem_euclid(2) } else { panic!("a number") };
    for rest in [0, 1] {
        let wanted: Vec<u64> =
            source.rows.iter().filter(|(_, row)| parity(&row[1]) == rest).map(|(key, _)| *key).collect();
        let found: Vec<u64> =
            plain(&odd(&table, "at", rest).snapshot().expect("it lives")).rows.iter().map(|(key, _)| *key).collect();
        assert_eq!(found, wanted);
    }
}

/// A table that fails in a step stands still, and the others move on: a snapshot shows the step before, or raises.
#[test]
fn a_table_that_fails_meanwhile_is_never_shown_beside_a_later_step() {
    const TRIES: i64 = 150;
    for _ in 0..TRIES {
        let graph = graph();
        let rounds = Rounds::new(&graph);
        graph.step().expect("a step");
        // The strict cast fails once the round does not fit a byte; until then every row passes.
        let byte = Expr::column("round").cast(DataType::Int8, true).expect("a small tree");
        let passes = Expr::call(Function::IsNotNull, vec![byte]).expect("a call");
        let source = rounds.0.table().clone();
        let filter = Filter::new(&source, &[passes]).expect("a sound filter");
        let kept = attach(&filter, std::slice::from_ref(&source)).expect("a table");
        let by =
            [Expr::aggregate(formula::Aggregate::Max, Some(Expr::column("round"))).expect("a call").alias("round")];
        let grouped = engine::ops::Aggregation::new("agg", &kept, &["at".to_owned()], &by).expect("a sound request");
        let most = attach(&grouped, std::slice::from_ref(&kept)).expect("a table");
        let most = {
            let names = ["round".to_owned(), "at".to_owned()];
            attach(&engine::ops::Project::choose(&most, &names).expect("columns"), std::slice::from_ref(&most))
                .expect("a table")
        };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in [1, 2, 3, 1_000, 1_001] {
                    rounds.write(round);
                    graph.step().expect("a step");
                }
            });
            while let Ok(both) = snapshot(&[source.clone(), most.clone()]) {
                assert!(only_round(&both) < 1_000);
            }
        });
        assert!(most.failure().is_some() && most.view().is_err() && most.rows().is_err());
    }
}
