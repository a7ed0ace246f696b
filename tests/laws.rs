//! Random pipelines of two to six operations over two input tables, against the model.
//!
//! A stage is drawn only where its result is defined: what goes by row order is not put above a
//! grouped result (whose order depends on history), and no float sum (exact only within bounds) is
//! compared, sorted by or grouped by.

use std::collections::BTreeSet;

use engine::ops::{
    Aggregation, AsofJoin, AsofOptions, Concat, Filter, Keep, Matches, NaturalJoin, Project, Select, Slice, Sort,
    SortBy, Strategy, distinct,
};
use engine::testing::{Plain, Tape, any_table, run_drawn_law, table_of};
use engine::{Error, Table, attach};
use formula::{Aggregate, Expr};
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
    /// Key columns; name, function and column of each output.
    Group(Vec<String>, Vec<(String, ops::Aggregator, String)>),
    /// All distinct rows.
    Unique,
    /// The first row, or the last, of each key.
    Pick(Vec<String>, Keep),
    /// Columns, each with whether it descends and whether its nulls come last.
    Sort(Vec<(String, bool, bool)>),
    /// Key columns of both sides, the name of what the right's `w` becomes, and what a second match means.
    Natural(Vec<(String, String)>, String, Matches),
    /// Key columns of both sides, the left stamp, the name of what the right's `w` becomes.
    Asof(Vec<(String, String)>, String, String, Strategy, bool, Option<u64>),
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
        let kind = tape.below(15);
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
        8 | 9 => draw_group(tape, shape),
        10 if shape.inexact.is_empty() => {
            shape.unordered_by = Some(shape.columns.iter().map(|column| column.0.clone()).collect());
            Some(Stage::Unique)
        }
        11 if ordered => {
            let by = some_columns(tape, &shape.exact(), 1);
            if by.is_empty() {
                return None;
            }
            shape.unordered_by = Some(by.clone());
            Some(Stage::Pick(by, *tape.choose(&[Keep::First, Keep::Last])))
        }
        12 => {
            let on = keys_of_join(tape, shape);
            let matches = *tape.choose(&[Matches::First, Matches::Last, Matches::Error]);
            if on.is_empty() {
                return None;
            }
            Some(Stage::Natural(on, add_joined(shape), matches))
        }
        13 => {
            let stamps: Vec<String> =
                shape.exact().into_iter().filter(|column| column.1 == Kind::Time).map(|column| column.0).collect();
            let stamp = stamps.first()?.clone();
            let by = keys_of_join(tape, shape);
            let strategy =
                *tape.choose(&[Strategy::Backward, Strategy::Forward, Strategy::ForwardLast, Strategy::Nearest]);
            let tolerance = if tape.chance(100) { Some(tape.below(4) * 1_000_000_000) } else { None };
            Some(Stage::Asof(by, stamp, add_joined(shape), strategy, tape.chance(200), tolerance))
        }
        14 => {
            let mut by = some_columns(tape, &shape.exact(), 1);
            // A table without an order of its own gets one only from columns that tell its rows apart.
            let rest = shape.unordered_by.iter().flatten().filter(|name| !by.contains(name)).cloned();
            by.extend(rest.collect::<Vec<_>>());
            if by.is_empty() {
                return None;
            }
            shape.unordered_by = None;
            Some(Stage::Sort(by.into_iter().map(|name| (name, tape.chance(100), tape.chance(100))).collect()))
        }
        _ => None,
    }
}

/// At least so many of these columns, if there are.
fn some_columns(tape: &mut Tape, columns: &[(String, Kind)], least: usize) -> Vec<String> {
    let first = if columns.is_empty() { 0 } else { tape.below(columns.len() as u64) as usize };
    let chosen = columns.iter().enumerate().filter(|(at, _)| (*at == first && least > 0) || tape.chance(40));
    chosen.map(|(_, column)| column.0.clone()).take(3).collect()
}

/// The pairs of columns in which the left meets the right's `k` and `g`.
fn keys_of_join(tape: &mut Tape, shape: &Shape) -> Vec<(String, String)> {
    let mut on = Vec::new();
    for (kind, right) in [(Kind::Str, "k"), (Kind::Int, "g")] {
        let known: Vec<String> =
            shape.exact().into_iter().filter(|column| column.1 == kind).map(|column| column.0).collect();
        if !known.is_empty() && tape.chance(150) {
            on.push((tape.choose(&known).clone(), right.to_owned()));
        }
    }
    on
}

fn add_joined(shape: &mut Shape) -> String {
    let name = shape.fresh();
    shape.columns.push((name.clone(), Kind::Float));
    name
}

fn draw_group(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    use ops::Aggregator::{Count, First, Last, Len, Max, Mean, Min, Std, Sum, Var};
    let ordered = shape.unordered_by.is_none();
    let exact = shape.exact();
    if exact.is_empty() {
        return None;
    }
    let by = some_columns(tape, &exact, 0);
    let mut columns: Vec<(String, Kind)> = exact.iter().filter(|column| by.contains(&column.0)).cloned().collect();
    let mut outputs = Vec::new();
    let mut inexact = BTreeSet::new();
    for _ in 0..1 + tape.below(3) {
        let (input, kind) = tape.choose(&exact).clone();
        let number = matches!(kind, Kind::Int | Kind::Float);
        let aggregator = match tape.below(9) {
            0 if number => Sum(tape.below(3)),
            1 if number => Mean,
            2 if number => Std(1),
            3 if number => Var(tape.below(2)),
            4 => Min,
            5 => Max,
            6 if ordered => First,
            7 if ordered => Last,
            8 => Count,
            _ => Len,
        };
        let output = shape.fresh();
        let result = match aggregator {
            Len | Count => Kind::Int,
            Mean | Std(_) | Var(_) => Kind::Float,
            _ => kind,
        };
        if result == Kind::Float && matches!(aggregator, Sum(_) | Mean | Std(_) | Var(_)) {
            inexact.insert(output.clone());
        }
        columns.push((output.clone(), result));
        outputs.push((output, aggregator, input));
    }
    // The key columns come first, in the order in which they were named.
    columns.sort_by_key(|column| by.iter().position(|name| *name == column.0).unwrap_or(usize::MAX));
    shape.columns = columns;
    shape.inexact = inexact;
    shape.unordered_by = Some(by.clone());
    Some(Stage::Group(by, outputs))
}

/// The engine's name of an aggregator.
fn aggregate_of(aggregator: &ops::Aggregator) -> Aggregate {
    match aggregator {
        ops::Aggregator::Len => Aggregate::Len,
        ops::Aggregator::Count => Aggregate::Count,
        ops::Aggregator::Sum(min_count) => Aggregate::Sum { min_count: *min_count },
        ops::Aggregator::Mean => Aggregate::Mean,
        ops::Aggregator::Min => Aggregate::Min,
        ops::Aggregator::Max => Aggregate::Max,
        ops::Aggregator::Var(ddof) => Aggregate::Var { ddof: *ddof as u8 },
        ops::Aggregator::Std(ddof) => Aggregate::Std { ddof: *ddof as u8 },
        ops::Aggregator::First => Aggregate::First,
        ops::Aggregator::Last => Aggregate::Last,
    }
}

fn second_of(matches: Matches) -> ops::SecondMatch {
    match matches {
        Matches::Error => ops::SecondMatch::Error,
        Matches::First => ops::SecondMatch::First,
        Matches::Last => ops::SecondMatch::Last,
    }
}

fn strategy_of(strategy: Strategy) -> ops::Strategy {
    match strategy {
        Strategy::Backward => ops::Strategy::Backward,
        Strategy::Forward => ops::Strategy::Forward,
        Strategy::ForwardLast => ops::Strategy::ForwardLast,
        Strategy::Nearest => ops::Strategy::Nearest,
    }
}

impl Stage {
    fn engine(&self, table: &Table, right: &Table) -> Result<Table, Error> {
        let two = [table.clone(), right.clone()];
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
            Stage::Group(by, outputs) => {
                let made = outputs.iter().map(|(output, aggregator, input)| {
                    let of = (*aggregator != ops::Aggregator::Len).then(|| Expr::column(input.as_str()));
                    Ok(Expr::aggregate(aggregate_of(aggregator), of)?.alias(output.as_str()))
                });
                let made: Result<Vec<Expr>, Error> = made.collect();
                attach(&Aggregation::new("agg", table, by, &made?)?, one)
            }
            Stage::Unique => distinct("unique", table, &[], Keep::First),
            Stage::Pick(by, keep) => distinct("unique", table, by, *keep),
            Stage::Sort(by) => {
                let by = by.iter().map(|(column, descending, nulls_last)| SortBy {
                    column: column.clone(),
                    descending: *descending,
                    nulls_last: *nulls_last,
                });
                attach(&Sort::new(table, &by.collect::<Vec<_>>())?, one)
            }
            Stage::Natural(on, name, matches) => {
                let joins = [(name.clone(), "w".to_owned())];
                attach(&NaturalJoin::new("natural_join", table, right, on, Some(&joins), None, *matches, false)?, &two)
            }
            Stage::Asof(by, stamp, name, strategy, exact, tolerance) => {
                let options = AsofOptions {
                    on: (stamp.clone(), "t".to_owned()),
                    by: by.clone(),
                    strategy: *strategy,
                    tolerance: *tolerance,
                    allow_exact_matches: *exact,
                    joins: Some(vec![(name.clone(), "w".to_owned())]),
                    suffix: None,
                };
                attach(&AsofJoin::new("join_asof", table, right, &options)?, &two)
            }
        }
    }

    fn model(&self, table: &model::Table, right: &model::Table) -> Result<model::Table, Fault> {
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
            Stage::Group(by, outputs) => {
                let by: Vec<&str> = by.iter().map(String::as_str).collect();
                let made = outputs
                    .iter()
                    .map(|(output, aggregator, input)| ops::Aggregate::new(output, aggregator.clone(), input));
                ops::aggregate(table, &by, &made.collect::<Vec<_>>())?
            }
            Stage::Unique => ops::unique(table),
            Stage::Pick(by, keep) => {
                let by: Vec<&str> = by.iter().map(String::as_str).collect();
                if *keep == Keep::First { ops::first_by(table, &by) } else { ops::last_by(table, &by) }
            }
            Stage::Sort(by) => {
                let by = by.iter().map(|(column, descending, nulls_last)| ops::SortBy {
                    column: column.clone(),
                    descending: *descending,
                    nulls_last: *nulls_last,
                });
                ops::sort(table, &by.collect::<Vec<_>>())
            }
            Stage::Natural(on, name, matches) => {
                let joins = vec![("w".to_owned(), name.clone())];
                let second = second_of(*matches);
                let join = ops::NaturalJoin { on: on.clone(), joins, second, exactly_one: false, nulls_equal: false };
                ops::natural_join(table, right, &join)?
            }
            Stage::Asof(by, stamp, name, strategy, exact, tolerance) => {
                let join = ops::Asof {
                    left_on: stamp.clone(),
                    right_on: "t".to_owned(),
                    by: by.clone(),
                    joins: vec![("w".to_owned(), name.clone())],
                    strategy: strategy_of(*strategy),
                    tolerance: tolerance.map(|most| model::Value::Duration(most as i64)),
                    allow_exact_matches: *exact,
                    nulls_equal: false,
                };
                ops::join_asof(table, right, &join)
            }
        })
    }
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
