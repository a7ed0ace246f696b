//! Tables made while a step runs, by an operation, over inputs that have settled in it.

use std::sync::{Arc, Mutex};

use engine::ops::Filter;
use engine::testing::{Watch, any_table, explore, feeds::Source};
use engine::{Change, Error, Table, TableUpdate, attach, attach_in_step};
use engine::{Input, Live, Operation, Parts, Request, Start};
use formula::{Expr, Function};
use graph::{Moment, Settings, Step, UpdateGraph};

fn above(table: &Table, limit: i64) -> Result<Filter, Error> {
    Filter::new(table, &[Expr::call(Function::Greater, vec![Expr::column("v"), Expr::literal(limit)])?])
}

/// Makes a filter of its input, and one above that, whenever it runs: as a transform of a partitioned table makes a new
/// constituent.
struct Maker {
    request: Request,
    made: Arc<Mutex<Vec<(i64, Table)>>>,
}

impl Operation for Maker {
    fn request(&self) -> &Request {
        &self.request
    }

    fn init(&self, inputs: &[Input], _: Moment) -> Result<Start, Error> {
        let table = &inputs[0].table;
        let parts: Parts = table.parts().clone();
        let live = MakerLive { input: table.clone(), made: self.made.clone() };
        Ok(Start { parts, live: Box::new(live), owned: Vec::new() })
    }
}

struct MakerLive {
    input: Table,
    made: Arc<Mutex<Vec<(i64, Table)>>>,
}

impl Live for MakerLive {
    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let mut made = self.made.lock().expect("one step at a time");
        let limit = made.len() as i64 % 5;
        let lower = attach_in_step(&above(&self.input, limit)?, std::slice::from_ref(&self.input), step)?;
        let upper = attach_in_step(&above(&lower, limit + 1)?, std::slice::from_ref(&lower), step)?;
        made.extend([(limit, lower), (limit + 1, upper)]);
        Ok(inputs[0].update().clone())
    }
}

/// Each is as if it had been made after the step, follows from the next one on, and keeps the law of updates.
#[test]
fn tables_made_inside_a_step_equal_tables_made_after_it() {
    explore(150, |tape| {
        let settings = Settings { period: std::time::Duration::ZERO, threads: Some(2), init_threads: Some(1) };
        let graph = UpdateGraph::new(settings);
        let text = |error: Error| error.to_string();
        let (source, mut case) = Source::draw(&graph, &any_table().rows(12), tape).map_err(text)?;
        let made = Arc::new(Mutex::new(Vec::new()));
        let maker = Maker { request: Request::unique("maker"), made: made.clone() };
        let _kept = attach(&maker, std::slice::from_ref(source.table())).map_err(text)?;
        let mut watched: Vec<(i64, Table, Watch)> = Vec::new();
        for _ in 0..8 {
            let step = case.step(tape);
            if !step.is_empty() {
                source.apply(&step, &case.mirror.schema).map_err(text)?;
            }
            graph.step().map_err(|error| error.to_string())?;
            for (limit, table) in made.lock().expect("no step runs").drain(..) {
                let watch = Watch::attach(&table).map_err(text)?;
                watched.push((limit, table, watch));
            }
            for (limit, table, watch) in &watched {
                if let Some(failure) = table.failure() {
                    return Err(failure.to_string());
                }
                if let Some(fault) = watch.fault() {
                    return Err(fault);
                }
                let anew = above(source.table(), *limit).map_err(text)?;
                let anew = attach(&anew, std::slice::from_ref(source.table())).map_err(text)?;
                let wanted = Watch::attach(&anew).map_err(text)?.now();
                if let Some(difference) = watch.with_now(|now| wanted.first_difference(now)) {
                    return Err(format!("above {limit}: {difference}"));
                }
            }
            watched.truncate(6);
        }
        Ok(())
    });
}

/// Outside of a step there is no step to join.
#[test]
fn outside_a_step_it_is_refused() {
    let graph = engine::testing::still_graph();
    let table = engine::testing::Drawn::new(&graph, "0 A 1").table().clone();
    let filter = Filter::new(&table, &[Expr::column("V").cast(arrow_schema::DataType::Boolean, false).expect("small")]);
    let refused =
        attach_in_step(&filter.expect("Boolean"), std::slice::from_ref(&table), Step::ending(graph.settled()));
    assert!(refused.err().expect("no step runs").to_string().contains("not running"));
}
