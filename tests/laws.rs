//! Random pipelines of two to six operations over two input tables, against the model.
//!
//! A stage is drawn only where its result is defined: what goes by row order is not put above a
//! grouped result (whose order depends on history), and no float sum (exact only within bounds) is
//! compared, sorted by or grouped by.

use std::collections::BTreeSet;

use engine::ops::{Concat, Filter, Project, Select, Slice};
use engine::testing::{Plain, Tape, any_table, run_drawn_law, table_of};
use engine::{Error, Table, attach};
use model::{Compare, Fault, ops};

use crate::expressions::{Both, Expressions, Kind};
use crate::oracle::{judge, to_model};

/// One operation with its parameters.
#[derive(Clone, Debug)]
enum Stage {
    Filter(Both),
    WithColumns(String, Both),
    Choose(Vec<String>),
    Drop(String),
    Rename(String, String),
    Head(u64),
    Tail(u64),
    /// The table, then what of it passes.
    Concat(Both),
}

/// A pipeline, and how its result is compared.
#[derive(Clone, Debug)]
struct Pipeline {
    stages: Vec<Stage>,
    compare: Compare,
}

/// What is known of the table while a pipeline is drawn.
struct Shape {
    columns: Vec<(String, Kind)>,
    /// Columns that are known only within bounds.
    inexact: BTreeSet<String>,
    /// The columns that tell rows apart, if their order depends on history.
    unordered_by: Option<Vec<String>>,
    names: u32,
}

impl Shape {
    fn new() -> Shape {
        let named = [
            ("k", Kind::Str),
            ("g", Kind::Int),
            ("v", Kind::Int),
            ("x", Kind::Float),
            ("t", Kind::Time),
            ("b", Kind::Bool),
        ];
        Shape {
            columns: named.map(|(name, kind)| (name.to_owned(), kind)).to_vec(),
            inexact: BTreeSet::new(),
            unordered_by: None,
            names: 0,
        }
    }

    fn fresh(&mut self) -> String {
        self.names += 1;
        format!("c{}", self.names)
    }

    fn exact(&self) -> Vec<(String, Kind)> {
        self.columns.iter().filter(|column| !self.inexact.contains(&column.0)).cloned().collect()
    }

    fn is_key(&self, name: &str) -> bool {
        self.unordered_by.as_ref().is_some_and(|key| key.iter().any(|known| known == name))
    }

    fn expression(&self, tape: &mut Tape, kind: Kind) -> Both {
        Expressions { columns: &self.exact() }.draw(tape, kind, 2)
    }

    /// A column that is no part of the key of an unordered table.
    fn free_column(&self, tape: &mut Tape) -> Option<String> {
        let free: Vec<&String> =
            self.columns.iter().map(|column| &column.0).filter(|name| !self.is_key(name)).collect();
        (free.len() > 1).then(|| (*tape.choose(&free)).clone())
    }
}

fn draw_pipeline(tape: &mut Tape) -> Pipeline {
    let mut shape = Shape::new();
    let many = 2 + tape.below(5);
    let stages = (0..many).map(|_| draw_stage(tape, &mut shape)).collect();
    let compare = shape.unordered_by.map_or(Compare::ByPosition, Compare::ByKey);
    Pipeline { stages, compare }
}

fn draw_stage(tape: &mut Tape, shape: &mut Shape) -> Stage {
    loop {
        let kind = tape.below(8);
        if let Some(stage) = try_stage(tape, shape, kind) {
            return stage;
        }
        // At the end of a tape the same choice would come for ever.
        if kind == 0 {
            return Stage::Filter(shape.expression(tape, Kind::Bool));
        }
    }
}

fn try_stage(tape: &mut Tape, shape: &mut Shape, kind: u64) -> Option<Stage> {
    let ordered = shape.unordered_by.is_none();
    match kind {
        0 => Some(Stage::Filter(shape.expression(tape, Kind::Bool))),
        1 => {
            let kind = *tape.choose(&[Kind::Int, Kind::Float, Kind::Bool, Kind::Str]);
            let expression = shape.expression(tape, kind);
            let replaced = if tape.chance(80) { shape.free_column(tape) } else { None };
            let name = replaced.unwrap_or_else(|| shape.fresh());
            shape.inexact.remove(&name);
            match shape.columns.iter_mut().find(|column| column.0 == name) {
                Some(column) => column.1 = kind,
                None => shape.columns.push((name.clone(), kind)),
            }
            Some(Stage::WithColumns(name, expression))
        }
        2 => {
            let mut kept = Vec::new();
            for column in shape.columns.clone() {
                if shape.is_key(&column.0) || tape.chance(170) {
                    kept.push(column);
                }
            }
            if kept.is_empty() {
                return None;
            }
            shape.columns = kept;
            Some(Stage::Choose(shape.columns.iter().map(|column| column.0.clone()).collect()))
        }
        3 => {
            let gone = shape.free_column(tape)?;
            shape.columns.retain(|column| column.0 != gone);
            Some(Stage::Drop(gone))
        }
        4 => {
            let (old, new) = (shape.free_column(tape)?, shape.fresh());
            let column = shape.columns.iter_mut().find(|column| column.0 == old)?;
            column.0 = new.clone();
            if shape.inexact.remove(&old) {
                shape.inexact.insert(new.clone());
            }
            Some(Stage::Rename(old, new))
        }
        5 if ordered => Some(Stage::Head(tape.below(20))),
        6 if ordered => Some(Stage::Tail(tape.below(20))),
        7 if ordered => Some(Stage::Concat(shape.expression(tape, Kind::Bool))),
        _ => None,
    }
}

impl Stage {
    fn engine(&self, table: &Table) -> Result<Table, Error> {
        let one = std::slice::from_ref(table);
        match self {
            Stage::Filter(predicate) => attach(&Filter::new(table, std::slice::from_ref(&predicate.engine))?, one),
            Stage::WithColumns(name, made) => {
                attach(&Select::with(table, &[made.engine.clone().alias(name.as_str())])?, one)
            }
            Stage::Choose(names) => attach(&Project::choose(table, names)?, one),
            Stage::Drop(name) => attach(&Project::drop(table, std::slice::from_ref(name))?, one),
            Stage::Rename(old, new) => attach(&Project::rename(table, &[(old.clone(), new.clone())])?, one),
            Stage::Head(n) => attach(&Slice::head(*n), one),
            Stage::Tail(n) => attach(&Slice::tail(*n), one),
            Stage::Concat(predicate) => {
                let part = attach(&Filter::new(table, std::slice::from_ref(&predicate.engine))?, one)?;
                let two = [table.clone(), part];
                attach(&Concat::new(&two)?, &two)
            }
        }
    }

    fn model(&self, table: &model::Table) -> Result<model::Table, Fault> {
        Ok(match self {
            Stage::Filter(predicate) => ops::filter(table, std::slice::from_ref(&predicate.model)),
            Stage::WithColumns(name, made) => ops::with_columns(table, &[ops::Derived::expr(name, made.model.clone())]),
            Stage::Choose(names) => {
                ops::select(table, &names.iter().map(|name| ops::Derived::column(name)).collect::<Vec<_>>())
            }
            Stage::Drop(name) => ops::drop(table, &[name]),
            Stage::Rename(old, new) => ops::rename(table, &[(old, new)]),
            Stage::Head(n) => ops::head(table, *n),
            Stage::Tail(n) => ops::tail(table, *n),
            Stage::Concat(predicate) => {
                ops::concat(&[table, &ops::filter(table, std::slice::from_ref(&predicate.model))])
            }
        })
    }
}

#[test]
fn pipelines_equal_the_model() {
    let right = table_of("k:str g:int t:time w:float u:int");
    run_drawn_law(
        &[any_table(), right],
        300,
        draw_pipeline,
        |pipeline: &Pipeline, tables: &[Table]| {
            pipeline.stages.iter().try_fold(tables[0].clone(), |table, stage| stage.engine(&table))
        },
        |pipeline, inputs: &[Plain], found| {
            let start = to_model(&inputs[0]);
            let wanted = pipeline.stages.iter().try_fold(start, |table, stage| stage.model(&table));
            judge(wanted, found, &pipeline.compare).map_err(|text| format!("{text}\n  of {:#?}", pipeline.stages))
        },
    );
}
