//! Functions that are interrupted in steps by hand. Tables that compute or filter by them keep their last state, as do
//! those below, and the next step brings them up by one change that keeps the law of updates. Tables that read a view,
//! or rows that are gone with their step, come to their end. None fails, and whoever asked for the step is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_schema::DataType;
use engine::interrupt::{self, Interrupt};
use engine::ops::{Aggregation, ComputedView, Filter, Select, Sort, WhereIn};
use engine::plan::{InputColumns, Member, SortBy};
use engine::sources::BlinkTable;
use engine::testing::validate::plain_of;
use engine::testing::{Tape, Watch, any_table, explore, feeds::Source};
use engine::{Error, Operation, Table, attach};
use formula::values::Payload;
use formula::{Aggregate, Expr, Function, Host, HostFailure, HostId};
use graph::{Schedule, Settings, UpdateGraph};

/// Adds one to its argument; as often as was armed it is interrupted instead.
#[derive(Default)]
struct Touchy {
    armed: AtomicUsize,
    interrupts: AtomicUsize,
}

impl Touchy {
    fn once(&self, args: &[ArrayRef], rows: usize) -> Result<ArrayRef, HostFailure> {
        let armed = || self.armed.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if rows > 0 && armed().is_ok() {
            self.interrupts.fetch_add(1, Ordering::SeqCst);
            let payload = Payload(Arc::new(Interrupt(Arc::new(()))));
            return Err(HostFailure { row: None, message: "interrupted".into(), payload });
        }
        let one_more = args[0].as_primitive::<Int64Type>().unary::<_, Int64Type>(|value| value.wrapping_add(1));
        Ok(Arc::new(one_more))
    }

    /// A step in which so many calls are interrupted; whether any was, which whoever asks for the step is told.
    fn step(&self, graph: &UpdateGraph, armed: usize) -> Result<bool, String> {
        self.armed.store(armed, Ordering::SeqCst);
        graph.step().map_err(|error| error.to_string())?;
        self.armed.store(0, Ordering::SeqCst);
        let (told, were) = (interrupt::take(graph).is_some(), self.interrupts.swap(0, Ordering::SeqCst) > 0);
        if told == were { Ok(told) } else { Err(format!("interrupted: {were}, told: {told}")) }
    }
}

impl Host for Touchy {
    fn name(&self) -> &str {
        "touchy"
    }

    fn returns(&self, _: &[DataType]) -> Result<DataType, String> {
        Ok(DataType::Int64)
    }

    fn is_ordered(&self) -> Option<bool> {
        Some(false)
    }

    fn call(&self, args: &[ArrayRef], rows: usize) -> Result<ArrayRef, HostFailure> {
        interrupt::call(|| self.once(args, rows))
    }
}

/// The value of `v` and one, by `function` or without it.
fn one_more(function: &HostId, native: bool) -> Result<Expr, Error> {
    Ok(match native {
        true => Expr::call(Function::Add, vec![Expr::column("v"), Expr::literal(1_i64)])?,
        false => function.call(vec![Expr::column("v")])?,
    })
}

fn over(operation: &dyn Operation, table: &Table) -> Result<Table, Error> {
    attach(operation, std::slice::from_ref(table))
}

fn pair(left: &str, right: &str) -> [(String, String); 1] {
    [(left.into(), right.into())]
}

/// Tables that read `function` through a view; their rows are told apart by their order.
fn through_a_view(source: &Table, function: &HostId, native: bool) -> Result<Vec<Table>, Error> {
    let of = [one_more(function, native)?.alias("y")];
    let view = over(&ComputedView::new(&"update_view".into(), source, &of, &[], InputColumns::Keep)?, source)?;
    let only = |table: &Table| over(&Select::only(table, &[Expr::column("v"), Expr::column("k")])?, table);
    let sorted = over(&Sort::new("sort", &view, &[SortBy::ascending("y")])?, &view)?;
    let sum = Expr::aggregate(Aggregate::Sum { min_count: 0 }, Some(Expr::column("y")))?.alias("s");
    let summed = over(&Aggregation::new("group_by", &view, &["g".into()], &[sum])?, &view)?;
    let summed = over(&Sort::new("sort", &summed, &[SortBy::ascending("g")])?, &summed)?;
    let twice = Expr::call(Function::Add, vec![Expr::column("y"), Expr::column("v")])?.alias("t");
    let twice = over(&Select::only(&view, &[twice])?, &view)?;
    let known = WhereIn::new("where_in", source, &view, &pair("v", "y"), Member::In, false)?;
    let known = attach(&known, &[source.clone(), view.clone()])?;
    let new = WhereIn::new("where_not_in", &view, source, &pair("y", "v"), Member::NotIn, false)?;
    let new = only(&attach(&new, &[view.clone(), source.clone()])?)?;
    Ok(vec![only(&sorted)?, summed, twice, known, new])
}

/// Tables below `source`, with `function` for what adds one.
fn below(source: &Table, function: &HostId, native: bool) -> Result<Vec<Table>, Error> {
    let one = || one_more(function, native);
    let greater = |of: Expr| Expr::call(Function::Greater, vec![of, Expr::literal(3)]);
    let made = over(&Select::with(source, &[one()?.alias("w")])?, source)?;
    let kept = over(&Filter::new(source, &[greater(one()?)?])?, source)?;
    let picked = over(&Select::only(&made, &[Expr::column("w"), Expr::column("v")])?, &made)?;
    let again = over(&Filter::new(&made, &[greater(Expr::column("w"))?])?, &made)?;
    let twice = Expr::call(Function::Add, vec![Expr::column("w"), Expr::column("v")])?.alias("t");
    let twice = over(&Select::with(&again, &[twice])?, &again)?;
    let mut tables = vec![made, kept, again, picked, twice];
    tables.extend(through_a_view(source, function, native)?);
    Ok(tables)
}

/// So many of the tables have rows by key; others are told apart by their order.
const BY_KEY: usize = 5;

fn still() -> UpdateGraph {
    UpdateGraph::new(Settings { period: std::time::Duration::ZERO, threads: Some(1), init_threads: Some(1) })
}

/// A graph of one to three threads, and a function of its host that may be interrupted.
fn drawn(tape: &mut Tape) -> (UpdateGraph, Arc<Touchy>, HostId) {
    let threads = Some(1 + tape.below(3) as usize);
    let graph = UpdateGraph::new(Settings { period: std::time::Duration::ZERO, threads, init_threads: Some(1) });
    graph.set_schedule(Schedule::Eager);
    let host = Arc::new(Touchy::default());
    let function = HostId::register(host.clone());
    (graph, host, function)
}

#[test]
fn what_is_interrupted_keeps_its_state_and_catches_up_by_one_lawful_change() {
    explore(150, |tape| {
        let text = |error: Error| error.to_string();
        let (graph, host, function) = drawn(tape);
        let (source, mut case) = Source::draw(&graph, &any_table().rows(12), tape).map_err(text)?;
        let tables = below(source.table(), &function, false).map_err(text)?;
        let watches: Vec<Watch> = tables.iter().map(Watch::attach).collect::<Result<_, _>>().map_err(text)?;
        for _ in 0..10 {
            let step = case.step(tape);
            if !step.is_empty() {
                source.apply(&step, &case.mirror.schema).map_err(text)?;
            }
            let last: Vec<_> = watches.iter().map(Watch::now).collect();
            let interrupted = host.step(&graph, tape.below(3) as usize)?;
            if tables.iter().any(Table::is_interrupted) && !interrupted {
                return Err("a table is marked, and nothing was interrupted".into());
            }
            let anew = below(source.table(), &function, true).map_err(text)?;
            for (at, (table, watch)) in tables.iter().zip(&watches).enumerate() {
                if let Some(fault) = table.failure().map(|failure| failure.to_string()).or_else(|| watch.fault()) {
                    return Err(format!("table {at}: {fault}"));
                }
                let wanted = match table.is_interrupted() {
                    true => last[at].clone(),
                    false => Watch::attach(&anew[at]).map_err(text)?.now(),
                };
                let shown = plain_of(&table.view().map_err(text)?, table.schema()).map_err(text)?;
                for found in [&watch.now(), &shown] {
                    let difference = match at < BY_KEY {
                        true => wanted.first_difference(found),
                        false => wanted.first_difference_in_order(found),
                    };
                    if let Some(difference) = difference {
                        return Err(format!("table {at}, interrupted {interrupted}: {difference}"));
                    }
                }
            }
        }
        Ok(())
    });
}

/// Over rows that live for one step nothing can wait, nor can what meets them.
#[test]
fn over_blink_rows_every_step_comes_to_its_end() {
    explore(100, |tape| {
        let text = |error: Error| error.to_string();
        let (graph, host, function) = drawn(tape);
        let (blink, mut rows) = Source::draw(&graph, &any_table().rows(12).blink(false), tape).map_err(text)?;
        let (other, mut others) = Source::draw(&graph, &any_table().rows(12), tape).map_err(text)?;
        let tables = |native: bool| -> Result<Vec<Table>, Error> {
            let mut tables = below(blink.table(), &function, native)?;
            let set = over(&Select::with(other.table(), &[one_more(&function, native)?.alias("w")])?, other.table())?;
            let met = WhereIn::new("where_in", blink.table(), &set, &pair("v", "w"), Member::In, false)?;
            tables.push(attach(&met, &[blink.table().clone(), set.clone()])?);
            tables.push(set);
            Ok(tables)
        };
        let (touched, native) = (tables(false).map_err(text)?, tables(true).map_err(text)?);
        let watched = |tables: &[Table]| tables.iter().map(Watch::attach).collect::<Result<Vec<_>, _>>().map_err(text);
        let (watches, wanted) = (watched(&touched)?, watched(&native)?);
        for _ in 0..10 {
            for (source, case) in [(&blink, &mut rows), (&other, &mut others)] {
                let step = case.step(tape);
                if !step.is_empty() {
                    source.apply(&step, &case.mirror.schema).map_err(text)?;
                }
            }
            host.step(&graph, tape.below(3) as usize)?;
            for (at, (table, (watch, wanted))) in touched.iter().zip(watches.iter().zip(&wanted)).enumerate() {
                if let Some(fault) = table.failure().map(|failure| failure.to_string()).or_else(|| watch.fault()) {
                    return Err(format!("table {at}: {fault}"));
                }
                if table.is_interrupted() {
                    return Err(format!("table {at} waits, and its rows are gone"));
                }
                if let Some(difference) = wanted.now().first_difference(&watch.now()) {
                    return Err(format!("table {at}: {difference}"));
                }
            }
        }
        Ok(())
    });
}

/// Who interrupts it a third time wants it ended.
#[test]
fn a_function_that_is_interrupted_again_and_again_fails_a_table_that_cannot_wait() {
    let graph = still();
    let host = Arc::new(Touchy::default());
    let function = HostId::register(host.clone());
    let batch = |rows: i64| -> RecordBatch {
        RecordBatch::try_from_iter([("v", Arc::new(Int64Array::from_iter_values(0..rows)) as ArrayRef)])
            .expect("a column")
    };
    let blink = BlinkTable::new(&graph, batch(0).schema()).expect("a source");
    let made =
        Select::with(blink.table(), &[one_more(&function, false).expect("it is one").alias("w")]).expect("it fits");
    let made = over(&made, blink.table()).expect("it starts");
    for armed in [2, 3] {
        blink.append(&batch(3)).expect("it fits");
        assert!(host.step(&graph, armed).expect("a step"), "it is told");
        assert_eq!(made.failure().is_some(), armed == 3);
    }
}
