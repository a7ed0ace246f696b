//! Leak tests: pipelines, rows and failed starts leave nothing behind.

use std::time::Duration;

use engine::failpoints::{Fail, arm_start};
use engine::observe::storage;
use engine::ops::NaturalJoin;
use engine::plan::Matches;
use engine::plan::{ColumnOptions, natural_join};
use engine::sources::{Apply, InputTable};
use engine::testing::{Tape, Watch, explore};
use engine::{OnError, Table};
use formula::Expr;
use graph::{Settings, UpdateGraph};

use crate::registry::{SPECS, draw_one};
use crate::stages::{Stage, Types};

/// Pipelines made and dropped of each operation; `TICKFRAME_LEAKS` asks for more.
const ROUNDS: u64 = 1_000;

fn rounds() -> u64 {
    std::env::var("TICKFRAME_LEAKS").map_or(ROUNDS, |text| text.parse().expect("a number of rounds"))
}

fn graph() -> UpdateGraph {
    UpdateGraph::new(Settings { period: Duration::ZERO, threads: Some(1), init_threads: Some(1) })
}

/// All that a graph counts of what is there now.
fn counts(graph: &UpdateGraph) -> [u64; 6] {
    let (nodes, storage) = (graph.counters(), storage(graph));
    [
        nodes.nodes as u64,
        nodes.failed_nodes as u64,
        nodes.pending as u64,
        nodes.timers as u64,
        storage.bytes_held(),
        storage.undo_bytes(),
    ]
}

/// Two input tables with a few rows of each kind of cell.
struct Bed {
    graph: UpdateGraph,
    inputs: [InputTable; 2],
    cases: [engine::testing::Case; 2],
}

impl Bed {
    fn new(tape: &mut Tape) -> Bed {
        let graph = graph();
        let specs = Types::PLAIN.specs();
        let cases = specs.map(|spec| engine::testing::Case::new(&spec.rows(30), tape));
        let schema = |at: usize| cases[at].mirror.schema.clone();
        let input = |at: usize| InputTable::new(&graph, schema(at)).expect("a sound schema");
        let inputs = [input(0), input(1)];
        let mut bed = Bed { graph, inputs, cases };
        (0..6).for_each(|_| bed.step(tape));
        bed
    }

    fn step(&mut self, tape: &mut Tape) {
        for (input, case) in self.inputs.iter().zip(&mut self.cases) {
            let step = case.step(tape);
            if !step.is_empty() {
                let schema = case.mirror.schema.clone();
                input.apply(engine::testing::feeds::apply_of(&step, &schema)).expect("a lawful step");
            }
        }
        self.graph.step().expect("the cycle runs");
    }

    fn clear(&self) {
        for input in &self.inputs {
            let removed = input.table().rows().expect("it lives");
            if !removed.is_empty() {
                input.apply(Apply { removed, ..Apply::default() }).expect("all rows are there");
            }
        }
        self.graph.step().expect("the cycle runs");
    }

    fn tables(&self) -> [&Table; 2] {
        [self.inputs[0].table(), self.inputs[1].table()]
    }
}

/// A pipeline of up to ten operations that begins with this one.
fn pipeline(tape: &mut Tape, spec: &crate::registry::OpSpec) -> Vec<Stage> {
    let (first, mut shape) = draw_one(tape, spec, Types::PLAIN);
    let mut stages = vec![first];
    // A natural join that objects to second matches would fail now and then.
    while stages.len() < 10 {
        stages.push(Stage::draw(tape, &mut shape));
    }
    stages
}

#[test]
fn pipelines_that_come_and_go_leave_every_counter_where_it_was() {
    for spec in SPECS {
        let mut tape = Tape::seeded(11);
        let mut bed = Bed::new(&mut tape);
        let before = counts(&bed.graph);
        let mut made = 0;
        for round in 0..rounds() {
            let stages = pipeline(&mut tape, spec);
            let [left, right] = bed.tables();
            let built = stages.iter().try_fold(left.clone(), |table, stage| stage.engine(&table, right));
            made += u64::from(built.is_ok());
            if round % 50 == 0 {
                bed.step(&mut tape);
            }
            drop(built);
            if round % 50 == 0 {
                bed.graph.step().expect("the cycle runs");
                let now = counts(&bed.graph);
                assert_eq!(now[..4], before[..4], "{} after {round} rounds", spec.name);
            }
        }
        bed.clear();
        bed.graph.step().expect("the cycle runs");
        assert!(made > rounds() / 2, "{}: most pipelines start", spec.name);
        let now = counts(&bed.graph);
        assert_eq!(now[..4], before[..4], "{}", spec.name);
        assert_eq!(now[5], 0, "{}: no before-value is kept", spec.name);
        assert!(now[4] <= before[4], "{}: {} bytes held, {} before", spec.name, now[4], before[4]);
    }
}

/// Groups, keys of joins, places in an order: none is left when the rows are gone.
#[test]
fn an_operation_whose_inputs_emptied_keeps_no_state() {
    explore(400, |tape| {
        let spec = &SPECS[tape.below(SPECS.len() as u64) as usize];
        let (stage, _) = draw_one(tape, spec, Types::PLAIN);
        let mut bed = Bed::new(tape);
        let made = {
            let [left, right] = bed.tables();
            stage.engine(left, right)
        };
        // A join may object to what is there.
        let Ok(table) = made else { return Ok(()) };
        (0..3).for_each(|_| bed.step(tape));
        bed.clear();
        if table.failure().is_some() {
            return Ok(());
        }
        let size = table.size();
        let keyless = matches!(&stage, Stage::Group(by, ..) | Stage::Pivot(by, ..) if by.is_empty());
        if size.entries > 0 || (size.items > 0 && !keyless) {
            return Err(format!("{} entries and {} rows are left of {stage:?}", size.entries, size.items));
        }
        Ok(())
    });
}

#[test]
fn a_start_that_fails_leaves_nothing_behind() {
    for spec in SPECS {
        let mut tape = Tape::seeded(5);
        let bed = Bed::new(&mut tape);
        let before = counts(&bed.graph);
        for fail in [Fail::Error, Fail::Panic] {
            let (stage, _) = draw_one(&mut tape, spec, Types::PLAIN);
            let [left, right] = bed.tables();
            arm_start(fail);
            let text = stage.engine(left, right).err().expect("it was struck").to_string();
            assert!(text.contains(engine::failpoints::TEXT), "{text}");
            assert_eq!(counts(&bed.graph), before, "{}", spec.name);
            // Nothing is stuck: the next one starts.
            let made = stage.engine(left, right).and_then(|table| Watch::attach(&table));
            assert!(made.is_ok() || matches!(stage, Stage::Natural(..) | Stage::Join(..)), "{}", spec.name);
        }
    }
}

/// Tables told to pass over errors are freed like others, with the table of their errors.
#[test]
fn tables_of_errors_come_and_go() {
    let mut tape = Tape::seeded(3);
    let mut bed = Bed::new(&mut tape);
    let before = counts(&bed.graph);
    for round in 0..rounds() {
        let narrow = Expr::column("v").cast(arrow_schema::DataType::Int8, true).expect("a small tree").alias("n");
        let on_error = if round % 2 == 0 { OnError::Null } else { OnError::Drop };
        let [left, right] = bed.tables();
        let made = match round / 2 % 3 {
            0 => engine::plan::columns(
                "with_columns",
                left,
                &[narrow],
                ColumnOptions { on_error, ..ColumnOptions::STORED },
            ),
            1 => {
                let most =
                    Expr::aggregate(formula::Aggregate::Max, Some(Expr::column("v"))).expect("no aggregate within");
                let most = most.cast(arrow_schema::DataType::Int8, true).expect("a small tree").alias("most");
                engine::plan::aggregate("group_by", left, &[narrow], &[most], on_error)
            }
            _ => {
                let on = [("k".to_owned(), "k".to_owned())];
                let joins = [("added".to_owned(), "w".to_owned())];
                NaturalJoin::new("natural_join", left, right, &on, Some(&joins), None, Matches::Error, false)
                    .and_then(|join| natural_join(join, left, right, &on, on_error))
            }
        };
        let made = made.expect("it starts");
        let told = made.errors().expect("there are errors");
        if round % 50 == 0 {
            bed.step(&mut tape);
        }
        drop((made, told));
    }
    bed.graph.step().expect("the cycle runs");
    assert_eq!(counts(&bed.graph)[..4], before[..4]);
}
