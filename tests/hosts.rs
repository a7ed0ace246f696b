//! Functions of the user in drawn expressions: what is stateless is called for slices, by any thread and in any order;
//! what keeps state sees its rows in order, one call after the other.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array};
use arrow_schema::DataType;
use engine::plan::{ColumnOptions, columns, filtered};
use engine::testing::{Plain, Source, Tape, Watch, any_table, count_step, explore, run_planned_law};
use engine::{Error, OnError, Table};
use formula::{Expr, Function, Host, HostFailure, HostId};
use graph::{Settings, UpdateGraph};

use crate::expressions::Both;
use crate::oracle::{judge, to_model};
use crate::registry::spec;
use crate::stages::{Shape, Stage, Types};

/// What an operator of the engine does, as a function of the user that keeps no state.
struct Operator {
    function: Function,
    integers: fn(i64, i64) -> i64,
    floats: fn(f64, f64) -> f64,
}

impl Host for Operator {
    fn name(&self) -> &str {
        "operator"
    }

    fn returns(&self, args: &[DataType]) -> Result<DataType, String> {
        let (kind, known) = (&args[0], [DataType::Int64, DataType::Float64]);
        match known.contains(kind) && args.iter().all(|other| other == kind) {
            true => Ok(kind.clone()),
            false => Err(format!("it takes numbers of one type, not {args:?}")),
        }
    }

    fn is_ordered(&self) -> Option<bool> {
        Some(false)
    }

    fn call(&self, args: &[ArrayRef], rows: usize) -> Result<ArrayRef, HostFailure> {
        assert!(args.iter().all(|arg| arg.len() == rows), "an argument has a cell for each row");
        let two = |one: ArrayRef, other: &ArrayRef| -> ArrayRef {
            if *other.data_type() == DataType::Int64 {
                let cells = one.as_primitive::<Int64Type>().iter().zip(other.as_primitive::<Int64Type>());
                return Arc::new(cells.map(|(a, b)| Some((self.integers)(a?, b?))).collect::<Int64Array>());
            }
            let cells = one.as_primitive::<Float64Type>().iter().zip(other.as_primitive::<Float64Type>());
            Arc::new(cells.map(|(a, b)| Some((self.floats)(a?, b?))).collect::<Float64Array>())
        };
        Ok(args[1..].iter().fold(args[0].clone(), two))
    }
}

static OPERATORS: LazyLock<[(Function, HostId); 3]> = LazyLock::new(|| {
    let operators = [
        Operator { function: Function::Add, integers: i64::wrapping_add, floats: |a, b| a + b },
        Operator { function: Function::Subtract, integers: i64::wrapping_sub, floats: |a, b| a - b },
        Operator { function: Function::Multiply, integers: i64::wrapping_mul, floats: |a, b| a * b },
    ];
    operators.map(|operator| (operator.function, HostId::register(Arc::new(operator))))
});

/// Replaces some operators of an expression, drawn from the tape, by user functions that compute the same.
fn with_functions(tape: &mut Tape, expr: &Expr) -> Expr {
    match expr {
        Expr::Call { function, args } => {
            let args: Vec<Expr> = args.iter().map(|arg| with_functions(tape, arg)).collect();
            match OPERATORS.iter().find(|(known, _)| known == function) {
                Some((_, operator)) if tape.chance(200) => operator.call(args),
                _ => Expr::call(*function, args),
            }
        }
        Expr::When { branches, otherwise } => {
            let branch = |(condition, value): &(Expr, Expr)| {
                let condition = with_functions(tape, condition);
                (condition, with_functions(tape, value))
            };
            let branches = branches.iter().map(branch).collect();
            Expr::when(branches, otherwise.as_ref().map(|otherwise| with_functions(tape, otherwise)))
        }
        other => Ok(other.clone()),
    }
    .expect("no deeper than it was")
}

fn drawn(tape: &mut Tape, shape: &mut Shape) -> Stage {
    let computing = ["filter", "with_columns", "neighbours", "update_view", "lazy_update", "select", "concat"];
    let mut stage = Stage::draw_of(tape, shape, &computing.map(spec));
    let mut change = |made: &mut Both| made.engine = with_functions(tape, &made.engine);
    match &mut stage {
        Stage::Filter(made) | Stage::WithColumns(_, made) | Stage::Neighbours(_, made) | Stage::Concat(made) => {
            change(made);
        }
        Stage::View(_, made, _) => change(made),
        Stage::Select(made) => made.iter_mut().for_each(|(_, made)| change(made)),
        other => panic!("{other:?} computes nothing"),
    }
    stage
}

#[test]
fn functions_without_state_equal_the_operators_they_stand_for() {
    run_planned_law(
        400,
        |tape| {
            let types = Types::draw(tape);
            let mut shape = Shape::left(types);
            let stages: Vec<Stage> = (0..1 + tape.below(3)).map(|_| drawn(tape, &mut shape)).collect();
            ((stages, shape.compare()), vec![types.specs()[0].clone()])
        },
        |(stages, _), tables| stages.iter().try_fold(tables[0].clone(), |table, stage| stage.engine(&table, &table)),
        |(stages, compare), inputs: &[Plain], found| {
            let start = to_model(&inputs[0]);
            let wanted = stages.iter().try_fold(start, |table, stage| stage.model(&table, &table));
            judge(wanted, found, compare).map_err(|text| format!("{text}\n  of {stages:#?}"))
        },
    );
}

/// A running sum of what it is asked for, in which each term counts by its place.
#[derive(Default)]
struct Running {
    sum: Mutex<i64>,
    busy: AtomicBool,
}

impl Host for Running {
    fn name(&self) -> &str {
        "running"
    }

    fn returns(&self, _: &[DataType]) -> Result<DataType, String> {
        Ok(DataType::Int64)
    }

    fn is_ordered(&self) -> Option<bool> {
        Some(true)
    }

    fn call(&self, args: &[ArrayRef], _: usize) -> Result<ArrayRef, HostFailure> {
        assert!(!self.busy.swap(true, Ordering::AcqRel), "two calls at once of a function that keeps state");
        let mut sum = self.sum.lock().unwrap_or_else(PoisonError::into_inner);
        let term = |cell: Option<i64>| {
            *sum = sum.wrapping_mul(31).wrapping_add(cell.unwrap_or(7));
            *sum
        };
        let made: Int64Array = args[0].as_primitive::<Int64Type>().iter().map(term).collect();
        self.busy.store(false, Ordering::Release);
        Ok(Arc::new(made))
    }
}

/// What two columns and a filter with one function that keeps state say, step by step, on so many threads.
fn told(tape: &mut Tape, threads: usize) -> Result<Vec<String>, String> {
    let text = |error: Error| error.to_string();
    let settings = Settings { period: Duration::ZERO, threads: Some(threads), init_threads: Some(threads) };
    let graph = UpdateGraph::new(settings);
    let (source, mut case) = Source::draw_any(&graph, &any_table(), tape).map_err(text)?;
    let mut feed = |tape: &mut Tape| {
        let step = case.step(tape);
        if !step.is_empty() {
            count_step();
            source.apply(&step, &case.mirror.schema).map_err(text)?;
        }
        graph.step().map(|_| ()).map_err(|error| error.to_string())
    };
    (0..tape.below(3)).try_for_each(|_| feed(tape))?;
    let call = |host: &HostId, column: &str| host.call(vec![Expr::column(column)]);
    let made = |table: &Table| {
        let host = HostId::register(Arc::new(Running::default()));
        let two = [call(&host, "v")?.alias("p"), call(&host, "g")?.alias("q")];
        columns("with_columns", table, &two, ColumnOptions::STORED)
    };
    let kept = |table: &Table| {
        let host = HostId::register(Arc::new(Running::default()));
        let even = Expr::call(Function::Greater, vec![call(&host, "v")?, Expr::literal(0_i64)])?;
        filtered("filter", table, &[even], &[], OnError::Fail)
    };
    let tables = [made(source.table()).map_err(text)?, kept(source.table()).map_err(text)?];
    let watches = tables.map(|table| Watch::attach(&table).map_err(text));
    let watches = watches.into_iter().collect::<Result<Vec<Watch>, String>>()?;
    let mut told = Vec::new();
    for _ in 0..8 {
        feed(tape)?;
        for watch in &watches {
            if let Some(fault) = watch.fault().or(watch.failure().map(|failure| failure.cause.to_string())) {
                return Err(fault);
            }
            told.push(watch.now().to_string());
        }
    }
    Ok(told)
}

#[test]
fn functions_that_keep_state_see_their_rows_in_order() {
    explore(150, |tape| {
        let threads = *tape.choose(&[2, 4]);
        let start = tape.clone();
        let wanted = limits::Scope::default().enter(|| told(tape, 1))?;
        *tape = start;
        let found = told(tape, threads)?;
        let differing = wanted.iter().zip(&found).find(|(wanted, found)| wanted != found);
        differing.map_or(Ok(()), |(wanted, found)| Err(format!("serially {wanted}\n  found    {found}")))
    });
}
