//! Plans of random chains over static tables: what runs in one pass is what runs call by call, errors too, and what the model
//! says.

use engine::plan::Plan;
use engine::sources::from_chunks;
use engine::testing::{Found, Source, Tape, Watch, explore, still_graph};
use engine::{Error, Table, snapshot};

use crate::oracle::{judge, to_model};
use crate::registry::SPECS;
use crate::stages::{Shape, Stage, Types};

/// What chains are made of.
const LINKS: [&str; 6] = ["filter", "with_columns", "select", "choose", "drop", "rename"];

/// A chain of links, and mostly groups above them.
fn draw(tape: &mut Tape, shape: &mut Shape) -> Vec<Stage> {
    let links: Vec<_> = SPECS.iter().filter(|spec| LINKS.contains(&spec.name)).collect();
    let group: Vec<_> = SPECS.iter().filter(|spec| spec.name == "group").collect();
    let mut stages: Vec<Stage> = (0..1 + tape.below(6)).map(|_| Stage::draw_of(tape, shape, &links)).collect();
    if tape.chance(170) {
        stages.push(Stage::draw_of(tape, shape, &group));
    }
    stages
}

/// A table as it stands still: of any layout of rows, or as it came.
pub(crate) fn still(tape: &mut Tape, types: Types) -> Result<Table, String> {
    let graph = still_graph();
    let told = |error: Error| error.to_string();
    let (source, mut case) = Source::draw_any(&graph, &types.specs()[0], tape).map_err(told)?;
    for _ in 0..tape.below(6) {
        let step = case.step(tape);
        if !step.is_empty() {
            source.apply(&step, &case.mirror.schema).map_err(told)?;
            graph.step().map_err(|error| error.to_string())?;
        }
    }
    Ok(snapshot(std::slice::from_ref(source.table())).map_err(told)?.remove(0))
}

/// The plan of a chain, made over no rows: nothing fails there.
fn plan_of(stages: &[Stage], table: &Table) -> Result<Plan, Error> {
    let schema = table.schema().clone();
    let none = from_chunks(schema.clone(), vec![Vec::new(); schema.fields().len()], 0)?;
    let made = stages.iter().try_fold(none.clone(), |table, stage| stage.engine(&table, &none))?;
    Ok(made.plan())
}

fn run(plan: &Plan, table: &Table, optimised: bool) -> Result<Table, Error> {
    let given: Vec<(String, Table)> = plan.nodes().given().map(|(name, _)| (name.to_owned(), table.clone())).collect();
    if optimised { plan.run("run", &given) } else { plan.run_as_written("run", &given) }
}

/// Whether two tables are one: names, types, rows and their keys, cells to the bit.
fn same(found: &Table, wanted: &Table) -> Result<(), Error> {
    let (view, other) = (found.view()?, wanted.view()?);
    assert_eq!(found.schema(), wanted.schema());
    assert_eq!(view.rows(), other.rows(), "rows in one pass, and as written");
    for (at, field) in found.schema().fields().iter().enumerate() {
        let (cells, others) = (view.read(at, view.rows())?, other.read(at, other.rows())?);
        assert_eq!(&cells, &others, "{} in one pass, and as written", field.name());
    }
    Ok(())
}

#[test]
fn a_chain_in_one_pass_makes_the_table_that_it_says() {
    explore(1_000, |tape| {
        let types = Types::draw(tape);
        let mut shape = Shape::left(types);
        let stages = draw(tape, &mut shape);
        let table = still(tape, types)?;
        let plan = plan_of(&stages, &table).map_err(|error| error.to_string())?;
        let (wanted, found) = (run(&plan, &table, false), run(&plan, &table, true));
        let judged = match (&wanted, &found) {
            (Err(wanted), Err(found)) if wanted.to_string() == found.to_string() => Ok(()),
            (Ok(wanted), Ok(found)) => {
                let kept = found.parts().attributes.hold_what(&wanted.parts().attributes);
                let kept = if kept { Ok(()) } else { Err(format!("{:?}", found.parts().attributes)) };
                kept.and_then(|()| same(found, wanted).map_err(|error| error.to_string())).and_then(|()| {
                    let rows = |table: &Table| {
                        let watch = Watch::attach(table).map_err(|error| error.to_string())?;
                        Ok::<_, String>(watch.with_now(Clone::clone))
                    };
                    let start = to_model(&rows(&table)?);
                    let model = stages.iter().try_fold(start.clone(), |table, stage| stage.model(&table, &start));
                    judge(model, &Found::Rows(&rows(found)?), &shape.compare())
                })
            }
            (wanted, found) => Err(format!("in one pass {:?}, as written {:?}", shown(found), shown(wanted))),
        };
        judged.map_err(|text| format!("{text}\n  of {}", plan.nodes()))
    });
}

pub(crate) fn shown(made: &Result<Table, Error>) -> String {
    made.as_ref().map_or_else(ToString::to_string, |table| format!("{:?}", table.schema()))
}
