//! Random pipelines of two to six operations over two input tables, against the model.

use engine::Table;
use engine::testing::{Plain, Tape, any_table, run_drawn_law, table_of};
use model::Compare;

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
    let right = table_of("k:str g:int t:time w:float u:int");
    run_drawn_law(
        &[any_table(), right],
        500,
        draw_pipeline,
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
