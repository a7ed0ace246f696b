//! Random pipelines of two to six operations over two input tables, against the model.

use engine::Table;
use engine::testing::values::Style;
use engine::testing::{Plain, TableSpec, Tape, any_table, run_drawn_law, table_of};
use model::Compare;
use model::ops::Aggregator;

use crate::oracle::{judge, to_model};
use crate::stages::{Shape, Stage};

/// A pipeline, and how its result is compared.
#[derive(Clone, Debug)]
struct Pipeline {
    stages: Vec<Stage>,
    compare: Compare,
}

fn draw_pipeline(tape: &mut Tape) -> Pipeline {
    let mut shape = Shape::new();
    let many = 2 + tape.below(5);
    let stages = (0..many).map(|_| Stage::draw(tape, &mut shape)).collect();
    Pipeline { stages, compare: shape.compare() }
}

#[test]
fn pipelines_equal_the_model() {
    law(&[any_table(), table_of("k:str g:int t:time w:float u:int")], 500, draw_pipeline);
}

/// Few rows with few keys and stamps on both sides: most rows meet, and most steps change who meets whom.
#[test]
fn joins_of_few_rows_equal_the_model() {
    let few = |columns: &str| {
        let spec = table_of(columns).rows(6);
        ["k", "g", "t"].iter().fold(spec, |spec, name| spec.styled(name, &[Style::Skewed]))
    };
    let specs = [few("k:str g:int v:int x:float t:time b:bool"), few("k:str g:int t:time w:float u:int")];
    law(&specs, 4_000, |tape| {
        let mut shape = Shape::new();
        let stages = vec![Stage::draw_join(tape, &mut shape)];
        Pipeline { stages, compare: shape.compare() }
    });
}

/// Rows that live for one step, through what passes them on.
#[test]
fn blink_tables_are_passed_on_as_the_model_says() {
    let right = table_of("k:str g:int t:time w:float u:int");
    law(&[any_table().blink(false), right], 300, |tape| {
        let mut shape = Shape::new();
        let many = 1 + tape.below(4);
        let stages = (0..many).map(|_| Stage::draw_passing(tape, &mut shape)).collect();
        Pipeline { stages, compare: shape.compare() }
    });
}

/// Over rows that live for one step, groups remember all that ever were.
#[test]
fn groups_of_blink_tables_accumulate_as_the_model_says() {
    let right = table_of("k:str");
    law(&[any_table().blink(true), right], 300, |tape| {
        let mut shape = Shape::new();
        let stages = vec![Stage::draw_grouped(tape, &mut shape)];
        Pipeline { stages, compare: shape.compare() }
    });
}

/// Groups of numbers that are not numbers, infinite, null and zero with a sign.
#[test]
fn extremes_of_odd_numbers_equal_the_model() {
    let odd = table_of("g:int x:float").styled("g", &[Style::Skewed]).styled("x", &[Style::Pool, Style::Skewed]);
    let aggregators = [Aggregator::Min, Aggregator::Max, Aggregator::NanMin, Aggregator::NanMax, Aggregator::Count];
    law(&[odd, table_of("k:str")], 300, |_| {
        let outputs = aggregators.iter().map(|of| (format!("{of:?}"), of.clone(), "x".to_owned())).collect();
        let by = vec!["g".to_owned()];
        Pipeline { stages: vec![Stage::Group(by.clone(), outputs)], compare: Compare::ByKey(by) }
    });
}

fn law(specs: &[TableSpec], runs: u64, draw: impl Fn(&mut Tape) -> Pipeline) {
    run_drawn_law(
        specs,
        runs,
        draw,
        |pipeline: &Pipeline, tables: &[Table]| {
            pipeline.stages.iter().try_fold(tables[0].clone(), |table, stage| stage.engine(&table, &tables[1]))
        },
        |pipeline, inputs: &[Plain], found| {
            let (start, right) = (to_model(&inputs[0]), to_model(&inputs[1]));
            let wanted = pipeline.stages.iter().try_fold(start, |table, stage| stage.model(&table, &right));
            judge(wanted, found, &pipeline.compare).map_err(|text| format!("{text}\n  of {:#?}", pipeline.stages))
        },
    );
}
