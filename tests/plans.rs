//! Plans of random pipelines: written and read back, run over tables again, and texts that are none.

use std::collections::HashMap;

use engine::plan::Plan;
use engine::testing::{Plain, Tape, explore, run_planned_law};
use engine::{Error, Table};

use crate::oracle::{judge, to_model};
use crate::stages::{Shape, Stage, Types};

/// The tables by the names that the plan has for them.
fn named(plan: &Plan, tables: &[Table]) -> Vec<(String, Table)> {
    let nodes = plan.nodes();
    let table = |source: Option<u128>| tables.iter().find(|table| source == Some(table.request().fingerprint)).cloned();
    nodes.given().filter_map(|(name, input)| Some((name.to_owned(), table(input.source)?))).collect()
}

fn pipeline(stages: &[Stage], tables: &[Table]) -> Result<Table, Error> {
    stages.iter().try_fold(tables[0].clone(), |table, stage| stage.engine(&table, &tables[1]))
}

fn draw(tape: &mut Tape) -> (Vec<Stage>, Shape, Types) {
    let types = Types::draw(tape);
    let mut shape = Shape::left(types);
    let stages = (0..1 + tape.below(6)).map(|_| Stage::draw(tape, &mut shape)).collect();
    (stages, shape, types)
}

/// The table that was made is gone when the plan, read back from its text, makes another.
#[test]
fn a_plan_that_was_written_makes_the_table_again() {
    run_planned_law(
        300,
        |tape| {
            let (stages, shape, types) = draw(tape);
            ((stages, shape.compare()), types.specs().to_vec())
        },
        |(stages, _), tables: &[Table]| {
            let plan = pipeline(stages, tables)?.plan();
            let text = plan.to_json();
            let read = Plan::from_json(&text, &HashMap::new())?;
            assert!(read == plan && read.to_json() == text, "{text}");
            read.run("run", &named(&plan, tables))
        },
        |(stages, compare), inputs: &[Plain], found| {
            let (start, right) = (to_model(&inputs[0]), to_model(&inputs[1]));
            let wanted = stages.iter().try_fold(start, |table, stage| stage.model(&table, &right));
            judge(wanted, found, compare).map_err(|text| format!("{text}\n  of {stages:#?}"))
        },
    );
}

/// A plan over static tables of no rows: what counts is what it asks for.
fn plan_of(tape: &mut Tape) -> Result<(Plan, Vec<Table>), Error> {
    let (stages, _, types) = draw(tape);
    without_rows(&stages, types)
}

/// The plan of a pipeline over static tables of no rows, and these.
fn without_rows(stages: &[Stage], types: Types) -> Result<(Plan, Vec<Table>), Error> {
    let tables: Vec<Table> = types
        .specs()
        .iter()
        .map(|spec| engine::sources::from_chunks(spec.schema(), vec![Vec::new(); spec.schema().fields().len()], 0))
        .collect::<Result<_, Error>>()?;
    Ok((pipeline(stages, &tables)?.plan(), tables))
}

/// A text in which bytes were changed, left out or doubled is refused in words, or is another plan that runs or is refused in
/// words.
#[test]
fn a_text_that_is_no_plan_is_refused() {
    explore(3_000, |tape| {
        let (plan, tables) = plan_of(tape).map_err(|error| error.to_string())?;
        let mut bytes = plan.to_json().into_bytes();
        for _ in 0..1 + tape.below(4) {
            let at = tape.below(bytes.len() as u64) as usize;
            match tape.below(4) {
                0 => bytes[at] = *tape.choose(b"0123456789-\"{}[],:aenrtlx\\"),
                1 => drop(bytes.remove(at)),
                2 => bytes.insert(at, *tape.choose(b"0123456789-\"{}[],:")),
                _ => {
                    // A piece of it stands somewhere else as well.
                    let from = tape.below(bytes.len() as u64) as usize;
                    let piece = bytes[from..bytes.len().min(from + 1 + tape.below(40) as usize)].to_vec();
                    bytes.splice(at..at, piece);
                }
            }
        }
        let Ok(text) = String::from_utf8(bytes) else { return Ok(()) };
        match Plan::from_json(&text, &HashMap::new()) {
            Err(Error::Data { .. }) => Ok(()),
            Err(other) => Err(format!("{other} of {text}")),
            Ok(read) => match read.run("run", &named(&plan, &tables)) {
                Err(Error::Internal { message, .. }) => Err(format!("{message} of {text}")),
                Ok(_) | Err(_) => Ok(()),
            },
        }
    });
}

/// The table of a pipeline by its plan as those rules leave it.
fn optimized(stages: &[Stage], tables: &[Table], rules: impl Fn(&str) -> bool) -> Result<Table, Error> {
    let written = pipeline(stages, tables)?;
    let plan = written.plan();
    let (better, fired) = plan.optimized_by(rules);
    let made = better.run_as_written("run", &named(&plan, tables))?;
    assert_eq!(made.schema(), written.schema(), "{fired:?} of {}", plan.nodes());
    let (has, had) = (made.parts().attributes.clone(), written.parts().attributes.clone());
    assert!(has.hold_what(&had), "{fired:?}: {has:?} for {had:?} of {}", plan.nodes());
    Ok(made)
}

/// What the optimiser makes of a plan is the table that the plan says, with the contracts that hold of it.
#[test]
fn an_optimised_plan_makes_the_same_table() {
    run_planned_law(
        400,
        |tape| {
            let (stages, shape, types) = draw(tape);
            ((stages, shape.compare()), types.specs().to_vec())
        },
        |(stages, _), tables: &[Table]| optimized(stages, tables, |_| true),
        |(stages, compare), inputs: &[Plain], found| {
            let (start, right) = (to_model(&inputs[0]), to_model(&inputs[1]));
            let wanted = stages.iter().try_fold(start, |table, stage| stage.model(&table, &right));
            judge(wanted, found, compare).map_err(|text| format!("{text}\n  of {stages:#?}"))
        },
    );
}

/// Each rule alone keeps the table too: no rule makes good what another did wrong.
#[test]
fn each_rule_alone_makes_the_same_table() {
    let rules: Vec<&str> = Plan::rules().collect();
    run_planned_law(
        400,
        |tape| {
            // Of a few pipelines the one to which the rule applies, if there is one: most rules want two stages that meet.
            let rule = *tape.choose(&rules);
            let (mut stages, mut shape, mut types) = draw(tape);
            for _ in 0..20 {
                let plan = without_rows(&stages, types).map(|(plan, _)| plan);
                if plan.is_ok_and(|plan| !plan.optimized_by(|name| name == rule).1.is_empty()) {
                    break;
                }
                (stages, shape, types) = draw(tape);
            }
            ((stages, shape.compare(), rule), types.specs().to_vec())
        },
        |(stages, _, rule), tables: &[Table]| optimized(stages, tables, |name| name == *rule),
        |(stages, compare, rule), inputs: &[Plain], found| {
            let (start, right) = (to_model(&inputs[0]), to_model(&inputs[1]));
            let wanted = stages.iter().try_fold(start, |table, stage| stage.model(&table, &right));
            judge(wanted, found, compare).map_err(|text| format!("{text}\n  by {rule:?} of {stages:#?}"))
        },
    );
}

/// The pipelines that laws draw reach every rule.
#[test]
fn every_rule_fires_on_some_pipeline() {
    let mut left: Vec<&str> = Plan::rules().collect();
    for seed in 0..20_000 {
        let Ok((plan, _)) = plan_of(&mut Tape::seeded(seed)) else { continue };
        let fired = plan.optimized().1;
        left.retain(|rule| fired.iter().all(|fired| fired.rule != *rule));
        if left.is_empty() {
            return;
        }
    }
    panic!("no pipeline was found for {left:?}");
}
