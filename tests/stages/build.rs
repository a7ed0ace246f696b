//! Building a stage in the engine and in the model.

use engine::ops::{
    Aggregation, AsofJoin, AsofOptions, ComputedView, Concat, Filter, LazyUpdate, Matches, Member, NaturalJoin,
    Neighbours, Project, Select, Slice, Sort, SortBy, Strategy, Tolerance, WhereIn,
};
use engine::plan::{ColumnOptions, Keep, columns, distinct};
use engine::{Error, Table};
use formula::{Aggregate, Expr, Given, SettingKind, Window};
use model::{Fault, ops};

use super::amid::start;
use super::{Aggregated, Stage};

/// The engine's aggregate of that name, with those options.
fn aggregate_of(aggregator: &ops::Aggregator) -> Aggregate {
    let (name, options) = aggregator.call();
    let mut kind = Aggregate::named(name).expect("what the model has is declared");
    for (setting, text) in kind.declaration().settings.iter().zip(options) {
        let value = match setting.kind {
            SettingKind::Whole(_) => Given::Whole(text.parse().expect("a whole number")),
            SettingKind::Part => Given::Number(text.parse().expect("a number")),
            SettingKind::Word(_) => Given::Word(text),
        };
        kind.set(setting, value).expect("what the model takes is taken");
    }
    kind
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

/// The engine's expression of an output.
fn aggregated((output, aggregator, inputs): &Aggregated) -> Result<Expr, Error> {
    let of = inputs.iter().map(|input| Expr::column(input.as_str()));
    Ok(Expr::aggregate(aggregate_of(aggregator), of)?.alias(output.as_str()))
}

/// The model's.
fn wanted(outputs: &[Aggregated]) -> Vec<ops::Aggregate> {
    let wanted = |(output, aggregator, inputs): &Aggregated| {
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        ops::Aggregate::of(output, aggregator.clone(), &inputs)
    };
    outputs.iter().map(wanted).collect()
}

impl Stage {
    /// The engine's table over this one; joins meet `right`.
    pub fn engine(&self, table: &Table, right: &Table) -> Result<Table, Error> {
        let two = [table.clone(), right.clone()];
        let one = std::slice::from_ref(table);
        match self {
            Stage::Filter(predicate) => start(&Filter::new(table, std::slice::from_ref(&predicate.engine))?, one),
            Stage::WithColumns(name, made) => {
                start(&Select::with(table, &[made.engine.clone().alias(name.as_str())])?, one)
            }
            Stage::Neighbours(name, made) => {
                let columns = [made.engine.clone().alias(name.as_str())];
                start(&Neighbours::new("with_columns", table, &columns, &[], true)?, one)
            }
            Stage::View(name, made, false) => {
                let columns = [made.engine.clone().alias(name.as_str())];
                start(&ComputedView::new("update_view", table, &columns, &[], true)?, one)
            }
            Stage::View(name, made, true) => {
                let columns = [made.engine.clone().alias(name.as_str())];
                start(&LazyUpdate::new("lazy_update", table, &columns)?, one)
            }
            Stage::Select(columns) => {
                let named = columns.iter().map(|(name, made)| made.engine.clone().alias(name.as_str()));
                start(&Select::only(table, &named.collect::<Vec<_>>())?, one)
            }
            Stage::Choose(names) => start(&Project::choose(table, names)?, one),
            Stage::Drop(name) => start(&Project::drop(table, std::slice::from_ref(name))?, one),
            Stage::Rename(old, new) => start(&Project::rename(table, &[(old.clone(), new.clone())])?, one),
            Stage::Head(n) => start(&Slice::head(*n), one),
            Stage::Tail(n) => start(&Slice::tail(*n), one),
            Stage::Slice(offset, length) => start(&Slice::new(*offset, *length), one),
            Stage::Concat(predicate) => {
                let part = start(&Filter::new(table, std::slice::from_ref(&predicate.engine))?, one)?;
                let two = [table.clone(), part];
                start(&Concat::new(&two)?, &two)
            }
            Stage::Stack => start(&Concat::new(&two)?, &two),
            Stage::Group(by, outputs) => {
                let made: Result<Vec<Expr>, Error> = outputs.iter().map(aggregated).collect();
                start(&Aggregation::new("agg", table, by, &made?)?, one)
            }
            Stage::Over(by, outputs) => {
                let over = |output: &Aggregated| {
                    let by = by.iter().map(|key| Expr::column(key.as_str())).collect();
                    let aggregate = aggregated(output)?.unaliased().clone();
                    Ok(aggregate.over(Window { by, ..Window::default() })?.alias(output.0.as_str()))
                };
                let made: Result<Vec<Expr>, Error> = outputs.iter().map(over).collect();
                columns("with_columns", table, &made?, ColumnOptions::STORED)
            }
            Stage::Unique => distinct("unique", table, &[], Keep::First),
            Stage::Pick(by, keep) => distinct("unique", table, by, *keep),
            Stage::Sort(by) => {
                let by = by.iter().map(|(column, descending, nulls_last)| SortBy {
                    column: column.clone(),
                    descending: *descending,
                    nulls_last: *nulls_last,
                });
                start(&Sort::new(table, &by.collect::<Vec<_>>())?, one)
            }
            Stage::Natural(on, name, matches) => {
                let joins = [(name.clone(), "w".to_owned())];
                start(&NaturalJoin::new("natural_join", table, right, on, Some(&joins), None, *matches, false)?, &two)
            }
            Stage::WhereIn(on, not, nulls_equal) => {
                let member = if *not { Member::NotIn } else { Member::In };
                start(&WhereIn::new("where_in", table, right, on, member, *nulls_equal)?, &two)
            }
            Stage::Asof(by, stamp, name, strategy, exact, tolerance) => {
                let options = AsofOptions {
                    on: (stamp.clone(), "t".to_owned()),
                    by: by.clone(),
                    strategy: *strategy,
                    tolerance: tolerance.map(Tolerance::Span),
                    allow_exact_matches: *exact,
                    joins: Some(vec![(name.clone(), "w".to_owned())]),
                    suffix: None,
                };
                start(&AsofJoin::new("join_asof", table, right, &options)?, &two)
            }
        }
    }

    /// The model's.
    pub fn model(&self, table: &model::Table, right: &model::Table) -> Result<model::Table, Fault> {
        Ok(match self {
            Stage::Filter(predicate) => ops::filter(table, std::slice::from_ref(&predicate.model)),
            Stage::WithColumns(name, made) | Stage::Neighbours(name, made) | Stage::View(name, made, _) => {
                ops::with_columns(table, &[ops::Derived::expr(name, made.model.clone())])
            }
            Stage::Select(columns) => {
                let named = columns.iter().map(|(name, made)| ops::Derived::expr(name, made.model.clone()));
                ops::select(table, &named.collect::<Vec<_>>())
            }
            Stage::Choose(names) => {
                ops::select(table, &names.iter().map(|name| ops::Derived::column(name)).collect::<Vec<_>>())
            }
            Stage::Drop(name) => ops::drop(table, &[name]),
            Stage::Rename(old, new) => ops::rename(table, &[(old, new)]),
            Stage::Head(n) => ops::head(table, *n),
            Stage::Tail(n) => ops::tail(table, *n),
            Stage::Slice(offset, length) => ops::slice(table, *offset, *length),
            Stage::Concat(predicate) => {
                ops::concat(&[table, &ops::filter(table, std::slice::from_ref(&predicate.model))])
            }
            Stage::Stack => ops::concat(&[table, right]),
            Stage::Group(by, outputs) => {
                let by: Vec<&str> = by.iter().map(String::as_str).collect();
                ops::aggregate(table, &by, &wanted(outputs))?
            }
            Stage::Over(by, outputs) => ops::over(table, &[(by.clone(), wanted(outputs))])?,
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
            Stage::WhereIn(on, not, nulls_equal) => ops::where_in(table, right, on, *not, *nulls_equal),
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
