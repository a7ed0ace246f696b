//! Functions that are interrupted in steps by hand: the tables below keep their last state, and the next step brings them
//! up by one change that keeps the law of updates.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_schema::DataType;
use engine::interrupt::{self, Interrupt};
use engine::ops::{Filter, Select};
use engine::testing::validate::plain_of;
use engine::testing::{Watch, any_table, explore, feeds::Source};
use engine::{Error, Operation, Table, attach};
use formula::{Expr, Function, Host, HostFailure, HostId, Payload};
use graph::{Schedule, Settings, UpdateGraph};

/// Adds one to its argument; as often as was armed it is interrupted instead.
#[derive(Default)]
struct Touchy(AtomicUsize);

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
        let armed = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if armed.is_ok() && rows > 0 {
            let payload = Payload(Arc::new(Interrupt(Arc::new(()))));
            return Err(HostFailure { row: None, message: "interrupted".into(), payload });
        }
        let one_more = args[0].as_primitive::<Int64Type>().unary::<_, Int64Type>(|value| value.wrapping_add(1));
        Ok(Arc::new(one_more))
    }
}

/// Tables below `source`, with `function` for what adds one.
fn below(source: &Table, function: &HostId, native: bool) -> Result<Vec<Table>, Error> {
    let one = || match native {
        true => Expr::call(Function::Add, vec![Expr::column("v"), Expr::literal(1_i64)]),
        false => function.call(vec![Expr::column("v")]),
    };
    let over = |operation: &dyn Operation, table: &Table| attach(operation, std::slice::from_ref(table));
    let greater = |of: Expr| Expr::call(Function::Greater, vec![of, Expr::literal(3)]);
    let made = over(&Select::with(source, &[one()?.alias("w")])?, source)?;
    let kept = over(&Filter::new(source, &[greater(one()?)?])?, source)?;
    let picked = over(&Select::only(&made, &[Expr::column("w"), Expr::column("v")])?, &made)?;
    let again = over(&Filter::new(&made, &[greater(Expr::column("w"))?])?, &made)?;
    let twice = Expr::call(Function::Add, vec![Expr::column("w"), Expr::column("v")])?.alias("t");
    let twice = over(&Select::with(&again, &[twice])?, &again)?;
    Ok(vec![made, kept, again, picked, twice])
}

#[test]
fn what_is_interrupted_keeps_its_state_and_catches_up_by_one_lawful_change() {
    explore(150, |tape| {
        let text = |error: Error| error.to_string();
        let threads = 1 + tape.below(3) as usize;
        let settings = Settings { period: std::time::Duration::ZERO, threads: Some(threads), init_threads: Some(1) };
        let graph = UpdateGraph::new(settings);
        graph.set_schedule(Schedule::Eager);
        let host = Arc::new(Touchy::default());
        let function = HostId::register(host.clone());
        let (source, mut case) = Source::draw(&graph, &any_table().rows(12), tape).map_err(text)?;
        let tables = below(source.table(), &function, false).map_err(text)?;
        let watches: Vec<Watch> = tables.iter().map(Watch::attach).collect::<Result<_, _>>().map_err(text)?;
        for _ in 0..10 {
            let step = case.step(tape);
            if !step.is_empty() {
                source.apply(&step, &case.mirror.schema).map_err(text)?;
            }
            let last: Vec<_> = watches.iter().map(Watch::now).collect();
            host.0.store(tape.below(3) as usize, Ordering::SeqCst);
            graph.step().map_err(|error| error.to_string())?;
            host.0.store(0, Ordering::SeqCst);
            let interrupted = interrupt::take(&graph).is_some();
            if interrupted != tables.iter().any(Table::is_interrupted) {
                return Err("an interrupt is told, and its tables are marked".into());
            }
            let anew = match interrupted {
                true => Vec::new(),
                false => below(source.table(), &function, true).map_err(text)?,
            };
            for (at, (table, watch)) in tables.iter().zip(&watches).enumerate() {
                if let Some(fault) = table.failure().map(|failure| failure.to_string()).or_else(|| watch.fault()) {
                    return Err(format!("table {at}: {fault}"));
                }
                let wanted = match anew.get(at) {
                    Some(anew) => Watch::attach(anew).map_err(text)?.now(),
                    None if table.is_interrupted() => last[at].clone(),
                    None => continue,
                };
                let shown = plain_of(&table.view().map_err(text)?, table.schema()).map_err(text)?;
                for found in [&watch.now(), &shown] {
                    if let Some(difference) = wanted.first_difference(found) {
                        return Err(format!("table {at}, interrupted {interrupted}: {difference}"));
                    }
                }
            }
        }
        Ok(())
    });
}
