//! Random pipelines of two to six operations over two input tables, against the model.

use engine::Table;
use engine::testing::values::Style;
use engine::testing::{Plain, TableSpec, Tape, run_planned_law, table_of};
use model::Compare;
use model::ops::Aggregator;

use crate::oracle::{judge, to_model};
use crate::stages::{Shape, Stage, Types};

/// A pipeline, and how its result is compared.
#[derive(Clone, Debug)]
struct Pipeline {
    stages: Vec<Stage>,
    compare: Compare,
}

/// So many stages, and the tables they are over.
fn draw_pipeline(
    tape: &mut Tape,
    many: u64,
    draw: impl Fn(&mut Tape, &mut Shape) -> Stage,
) -> (Pipeline, [TableSpec; 2]) {
    let types = Types::draw(tape);
    let mut shape = Shape::left(types);
    let stages = (0..many).map(|_| draw(tape, &mut shape)).collect();
    (Pipeline { stages, compare: shape.compare() }, types.specs())
}

#[test]
fn pipelines_equal_the_model() {
    law(500, |tape| {
        let many = 2 + tape.below(5);
        let (pipeline, specs) = draw_pipeline(tape, many, Stage::draw);
        (pipeline, specs.to_vec())
    });
}

/// Few rows with few keys and stamps on both sides: most rows meet, and most steps change who meets whom.
#[test]
fn joins_of_few_rows_equal_the_model() {
    law(5_000, |tape| {
        let (pipeline, specs) = draw_pipeline(tape, 1, Stage::draw_join);
        (pipeline, specs.iter().map(|spec| few(spec, 6)).collect())
    });
}

/// Of two rows on each side both often change at once, and meet again under another key.
#[test]
fn joins_of_two_rows_equal_the_model() {
    law(12_000, |tape| {
        let (pipeline, specs) = draw_pipeline(tape, 1, Stage::draw_natural_join);
        (pipeline, specs.iter().map(|spec| few(spec, 2)).collect())
    });
}

/// At most so many rows, whose keys and stamps are few.
fn few(spec: &TableSpec, most: usize) -> TableSpec {
    ["k", "g", "t", "p"].iter().fold(spec.clone().rows(most), |spec, name| spec.styled(name, &[Style::Skewed]))
}

/// Rows that live for one step, through what passes them on.
#[test]
fn blink_tables_are_passed_on_as_the_model_says() {
    law(300, |tape| {
        let many = 1 + tape.below(4);
        let (pipeline, [left, right]) = draw_pipeline(tape, many, Stage::draw_passing);
        (pipeline, vec![left.blink(false), right])
    });
}

/// Over rows that live for one step, groups remember all that ever were.
#[test]
fn groups_of_blink_tables_accumulate_as_the_model_says() {
    law(300, |tape| {
        let (pipeline, [left, right]) = draw_pipeline(tape, 1, Stage::draw_grouped);
        (pipeline, vec![left.blink(true), right])
    });
}

/// Groups of numbers that are not numbers, infinite, huge, null and zero with a sign: what came and went leaves no trace.
#[test]
fn groups_of_odd_numbers_equal_the_model() {
    let odd = ["x", "y"]
        .into_iter()
        .fold(table_of("g:int x:float y:float"), |of, column| of.styled(column, &[Style::Pool, Style::Skewed]));
    let odd = odd.styled("g", &[Style::Skewed]);
    let aggregators = [
        Aggregator::Min,
        Aggregator::Max,
        Aggregator::NanMin,
        Aggregator::NanMax,
        Aggregator::Count,
        Aggregator::Sum(0),
        Aggregator::Sum(2),
        Aggregator::Mean,
        Aggregator::Var(1),
        Aggregator::Std(0),
        Aggregator::Cov(1),
        Aggregator::Skew(true),
        Aggregator::Kurtosis(false, false),
        Aggregator::Product,
        Aggregator::Median,
        Aggregator::NUnique,
        Aggregator::CountDistinct,
    ];
    law(300, |_| {
        let inputs = |of: &Aggregator| match of {
            Aggregator::Cov(_) => vec!["x".to_owned(), "y".to_owned()],
            _ => vec!["x".to_owned()],
        };
        let outputs = aggregators.iter().map(|of| (format!("{of:?}"), of.clone(), inputs(of))).collect();
        let by = vec!["g".to_owned()];
        let pipeline = Pipeline { stages: vec![Stage::Group(by.clone(), outputs, false)], compare: Compare::ByKey(by) };
        (pipeline, vec![odd.clone(), table_of("k:str")])
    });
}

fn law(runs: u64, draw: impl Fn(&mut Tape) -> (Pipeline, Vec<TableSpec>)) {
    run_planned_law(
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
