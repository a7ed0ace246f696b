//! Building a stage in the engine and in the model.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, StringViewArray};
use engine::plan::{
    AsofOptions, Bound, Closing, EquiOptions, ExplodeOptions, Extent, GroupBounds, How, Keep, Label, Matches,
    Materialization, Member, Op, Operator, OperatorKind, PivotOptions, RangeEnd, RangeOptions, RollingOptions,
    RunningKind, SessionOptions, SortBy, StandingGroups, Strategy, Tolerance, Validate, WindowOptions, apply,
};
use engine::{Error, OnError, Table};
use formula::aggregates::{Given, SettingKind};
use formula::functions::Closed;
use formula::values::Values;
use formula::{Aggregate, Expr, Frame, Function, Reach, Rolling, Runs, Window};
use model::{Fault, Value, ops};

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
            SettingKind::Flag => Given::Flag(text == "True"),
        };
        kind.set(setting, value).expect("what the model takes is taken");
    }
    kind
}

fn second_of(matches: Matches) -> ops::SecondMatch {
    match matches {
        Matches::Error | Matches::One => ops::SecondMatch::Error,
        Matches::First => ops::SecondMatch::First,
        Matches::Last => ops::SecondMatch::Last,
    }
}

fn how_of(how: How) -> ops::How {
    match how {
        How::Inner => ops::How::Inner,
        How::Left => ops::How::Left,
        How::Right => ops::How::Right,
        How::Full => ops::How::Full,
        How::Cross => ops::How::Cross,
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

fn bound_of(bound: Bound) -> ops::Bound {
    match bound {
        Bound::Open => ops::Bound::Open,
        Bound::Closed => ops::Bound::Closed,
        Bound::Reaching => ops::Bound::Reaching,
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

/// The table of an operation, as a user asks for it.
fn ask(op: Op, inputs: &[Table]) -> Result<Table, Error> {
    let method = op.method();
    apply(op, method, inputs)
}

fn filter(predicate: &Expr) -> Op {
    Op::Filter { predicates: vec![predicate.clone()], orders: Vec::new(), on_error: OnError::Fail }
}

/// New columns after those of the table if `keep`.
fn columns(columns: Vec<Expr>, keep: bool, materialization: Materialization) -> Op {
    Op::Columns { columns, keep, orders: Vec::new(), materialization, on_error: OnError::Fail, sequential: false }
}

/// More groups than a drawn table has: they are counted, queued and looked at, and none is let go. Which are let go depends on what
/// came when; `ops/held` has laws of that.
fn bounds_of(table: &Table, bounded: bool) -> GroupBounds {
    let attributes = table.attributes();
    let grows = attributes.blink || attributes.add_only || attributes.append_only;
    GroupBounds { max_groups: (bounded && grows).then_some(1_000_000), ..GroupBounds::default() }
}

/// What a join takes of the right table: its keys and `w`.
fn joined_names(on: &[(String, String)]) -> Vec<String> {
    on.iter().map(|(_, right)| right.clone()).chain(["w".to_owned()]).collect()
}

/// The values of a list, of integers or texts.
fn listed_values<'a>(values: impl Iterator<Item = &'a Value> + Clone) -> Values {
    let text = |value: &Value| if let Value::Str(text) = value { Some(text.clone()) } else { None };
    let int = |value: &Value| if let Value::Int(int) = value { Some(*int) } else { None };
    let cells: ArrayRef = match values.clone().any(|value| matches!(value, Value::Str(_))) {
        true => Arc::new(values.map(text).collect::<StringViewArray>()),
        false => Arc::new(values.map(int).collect::<Int64Array>()),
    };
    Values::new(&cells).expect("integers and texts are cast").expect("there are literals of them")
}

impl Stage {
    /// The engine's table over this one; joins meet `right`.
    pub fn engine(&self, table: &Table, right: &Table) -> Result<Table, Error> {
        let two = [table.clone(), right.clone()];
        let one = std::slice::from_ref(table);
        let named = |name: &str, made: &Expr| vec![made.clone().alias(name)];
        match self {
            Stage::Filter(predicate) => ask(filter(&predicate.engine), one),
            Stage::WithColumns(name, made) | Stage::Neighbours(name, made) => {
                ask(columns(named(name, &made.engine), true, Materialization::Stored), one)
            }
            Stage::View(name, made, once) => {
                let kept = if *once { Materialization::Memoized } else { Materialization::Lazy };
                ask(columns(named(name, &made.engine), true, kept), one)
            }
            Stage::Select(made) => {
                let named = made.iter().map(|(name, made)| made.engine.clone().alias(name.as_str()));
                ask(columns(named.collect(), false, Materialization::Stored), one)
            }
            Stage::Plain(op, _) => ask(op.clone(), one),
            Stage::Choose(names) => ask(Op::Choose { names: names.clone() }, one),
            Stage::Drop(name) => ask(Op::Drop { names: vec![name.clone()] }, one),
            Stage::Rename(old, new) => ask(Op::Rename { names: vec![(old.clone(), new.clone())] }, one),
            Stage::Head(rows) => ask(Op::Head { rows: *rows }, one),
            Stage::Tail(rows) => ask(Op::Tail { rows: *rows }, one),
            Stage::Slice(offset, length) => ask(Op::Slice { offset: *offset, length: *length }, one),
            Stage::Extent(extent) => ask(Op::Extent(*extent), one),
            Stage::Concat(predicate) => {
                let part = ask(filter(&predicate.engine), one)?;
                ask(Op::Concat, &[table.clone(), part])
            }
            Stage::Stack => ask(Op::Concat, &two),
            Stage::Group(by, outputs, bounded) => {
                let keys = by.iter().map(|key| Expr::column(key.as_str())).collect();
                let aggregates = outputs.iter().map(aggregated).collect::<Result<_, Error>>()?;
                let on_error = OnError::Fail;
                let (bounds, preserve_empty, named) = (bounds_of(table, *bounded), false, false);
                if bounds == GroupBounds::default() {
                    return ask(Op::Aggregate { keys, aggregates, on_error }, one);
                }
                let how = StandingGroups { keys, aggregates, preserve_empty, named, on_error, bounds };
                ask(Op::StandingGroups(how), one)
            }
            Stage::Pivot(index, on, listed, of) => {
                let names = listed.iter().map(|(_, name)| name.clone()).collect();
                let how = PivotOptions { index: index.clone(), on: vec![on.clone()], names };
                let aggregates = vec![aggregated(of)?];
                let values = vec![listed_values(listed.iter().map(|(value, _)| value))];
                ask(Op::Pivot { how, values, aggregates, on_error: OnError::Fail }, one)
            }
            Stage::Windows(windows, outputs) => {
                let keys = windows.by.iter().map(|key| Expr::column(key.as_str())).collect();
                let aggregates = outputs.iter().map(aggregated).collect::<Result<_, Error>>()?;
                let ns = |length: i64| format!("{length}ns");
                let closed = match windows.closed {
                    (true, true) => "both",
                    (true, false) => "left",
                    (false, true) => "right",
                    (false, false) => "none",
                };
                let how = WindowOptions {
                    stamp: windows.stamp.clone(),
                    every: ns(windows.every),
                    period: Some(ns(windows.period)),
                    offset: ns(windows.offset),
                    closed: closed.to_owned(),
                    label: Label::Left,
                    boundaries: false,
                    closing: Closing::default(),
                };
                // Rows without a time are left out, and those before all windows.
                ask(Op::Windows { how, keys, aggregates, on_error: OnError::Drop }, one)
            }
            Stage::Session(stamp, gap, by, outputs) => {
                let keys = by.iter().map(|key| Expr::column(key.as_str())).collect();
                let aggregates = outputs.iter().map(aggregated).collect::<Result<_, Error>>()?;
                let how = SessionOptions { stamp: stamp.clone(), gap: *gap, closing: Closing::default() };
                ask(Op::Session { how, keys, aggregates, on_error: OnError::Drop }, one)
            }
            Stage::Over(by, outputs) => {
                let over = |output: &Aggregated| {
                    let by = by.iter().map(|key| Expr::column(key.as_str())).collect();
                    let aggregate = aggregated(output)?.unaliased().clone();
                    Ok(aggregate.over(Window { by, ..Window::default() })?.alias(output.0.as_str()))
                };
                let made = outputs.iter().map(over).collect::<Result<_, Error>>()?;
                ask(columns(made, true, Materialization::Stored), one)
            }
            Stage::UpdateBy(by, made, bounded) => {
                let inputs = made.iter().map(|(of, ..)| Expr::column(of.as_str())).collect();
                let operator = |(_, kind, _, name): &(String, RunningKind, ops::Running, String)| Operator {
                    output: name.clone(),
                    kind: OperatorKind::Running(kind.clone()),
                };
                let operators = made.iter().map(operator).collect();
                let at_the_end = table.attributes().blink || table.attributes().append_only;
                let bounds = bounds_of(table, *bounded && at_the_end);
                ask(
                    Op::UpdateBy { by: by.clone(), inputs, operators, resets: false, bounds, on_error: OnError::Fail },
                    one,
                )
            }
            Stage::Runs(by, order, backward, column, of, _, name) => {
                let names = |names: Vec<&String>| names.into_iter().map(|name| Expr::column(name.as_str())).collect();
                let (descending, nulls_last) =
                    order.first().map_or((false, false), |first| (first.descending, first.nulls_last));
                let order = names(order.iter().map(|by| &by.column).collect());
                let window =
                    Window { by: names(by.iter().collect()), order, descending, nulls_last, ..Window::default() };
                let runs = Expr::column(column.as_str()).running(Runs { of: *of, backward: *backward }, None)?;
                let made = runs.over(window)?.alias(name.as_str());
                ask(columns(vec![made], true, Materialization::Stored), one)
            }
            Stage::ShiftOver(by, column, n, name) => {
                let by = by.iter().map(|key| Expr::column(key.as_str())).collect();
                let shifted = Expr::call(Function::Shift { by: *n }, vec![Expr::column(column.as_str())])?;
                let made = shifted.over(Window { by, ..Window::default() })?.alias(name.as_str());
                ask(columns(vec![made], true, Materialization::Stored), one)
            }
            Stage::Rolling(by, on, reach, least, outputs) => {
                let [back, ahead] = *reach;
                let frame = match on {
                    None => Frame::Rows { back, ahead },
                    Some(_) => {
                        let [back, ahead] = reach.map(Reach::Whole);
                        Frame::Range { back, ahead, closed: Closed::Both, ordered: false }
                    }
                };
                let window = Rolling { frame, least: *least };
                // One output is an expression, several are one operation.
                if let [output] = &outputs[..] {
                    let column = |name: &String| Expr::column(name.as_str());
                    let (by, order) = (by.iter().map(column).collect(), on.iter().map(column).collect());
                    let moving = Window { by, order, rolling: Some(window), ..Window::default() };
                    let made = aggregated(output)?.unaliased().clone().over(moving)?.alias(output.0.as_str());
                    return ask(columns(vec![made], true, Materialization::Stored), one);
                }
                let how = RollingOptions { by: by.clone(), on: on.clone(), window, chosen: None };
                ask(
                    Op::Rolling {
                        how,
                        aggregates: outputs.iter().map(aggregated).collect::<Result<_, Error>>()?,
                        on_error: OnError::Fail,
                    },
                    one,
                )
            }
            Stage::Unique => ask(Op::Distinct { keys: Vec::new(), keep: Keep::First, bounds: Default::default() }, one),
            Stage::Pick(by, keep, bounded) => {
                ask(Op::Distinct { keys: by.clone(), keep: *keep, bounds: bounds_of(table, *bounded) }, one)
            }
            Stage::GroupLimit(keys, rows, keep) => {
                ask(Op::GroupLimit { keys: keys.clone(), rows: *rows, keep: *keep }, one)
            }
            Stage::Explode(columns, empty_as_null, keep_nulls, null_fill) => {
                let (empty_as_null, keep_nulls, null_fill) = (*empty_as_null, *keep_nulls, *null_fill);
                ask(Op::Explode(ExplodeOptions { columns: columns.clone(), empty_as_null, keep_nulls, null_fill }), one)
            }
            Stage::Sort(by) => ask(Op::Sort { by: sorted_by(by) }, one),
            Stage::InOrder(by) => {
                let sorted = ask(Op::Sort { by: sorted_by(by) }, one)?;
                ask(Op::InOrder { by: sorted_by(by), checked: true }, &[sorted])
            }
            Stage::MergeSorted(by, predicate) => {
                let sorted = ask(Op::Sort { by: sorted_by(by) }, one)?;
                let part = ask(filter(&predicate.engine), std::slice::from_ref(&sorted))?;
                ask(Op::MergeSorted { by: sorted_by(by) }, &[sorted, part])
            }
            Stage::TopK(by, rows) => ask(Op::TopK { by: sorted_by(by), rows: *rows }, one),
            Stage::Natural(on, name, matches) => {
                let joins = Some(vec![(name.clone(), "w".to_owned())]);
                let (on, matches, on_error) = (on.clone(), *matches, OnError::Fail);
                ask(Op::NaturalJoin { on, joins, suffix: None, matches, nulls_equal: false, on_error }, &two)
            }
            Stage::Join(on, name, how, nulls_equal, validate) => {
                let options = EquiOptions {
                    on: on.clone(),
                    how: *how,
                    suffix: "_right".to_owned(),
                    nulls_equal: *nulls_equal,
                    validate: *validate,
                    coalesce: true,
                };
                let right = ask(Op::Choose { names: joined_names(on) }, &two[1..])?;
                let right = ask(Op::Rename { names: vec![("w".to_owned(), name.clone())] }, &[right])?;
                ask(Op::Join(options), &[table.clone(), right])
            }
            Stage::Range(by, on, ends, outputs) => {
                let end = |end: &Option<(String, Bound)>| {
                    end.as_ref().map(|(column, bound)| RangeEnd { column: column.clone(), bound: *bound })
                };
                let how = RangeOptions { by: by.clone(), on: on.clone(), from: end(&ends[0]), to: end(&ends[1]) };
                let aggregates = outputs.iter().map(aggregated).collect::<Result<_, Error>>()?;
                ask(Op::RangeJoin { how, aggregates, on_error: OnError::Fail }, &two)
            }
            Stage::JoinWhere([w, g], predicates) => {
                let right = ask(Op::Choose { names: vec!["g".to_owned(), "w".to_owned()] }, &two[1..])?;
                let names = vec![("w".to_owned(), w.clone()), ("g".to_owned(), g.clone())];
                let right = ask(Op::Rename { names }, &[right])?;
                let predicates = predicates.iter().map(|one| one.engine.clone()).collect();
                ask(
                    Op::JoinWhere { predicates, suffix: "_right".to_owned(), on_error: OnError::Fail },
                    &[table.clone(), right],
                )
            }
            Stage::Multi(on, name, nulls_equal) => {
                let keys: Vec<_> = on.iter().map(|key| (key.clone(), key.clone())).collect();
                let first = |table: &Table| {
                    ask(
                        Op::Distinct { keys: on.clone(), keep: Keep::First, bounds: Default::default() },
                        std::slice::from_ref(table),
                    )
                };
                let right = ask(Op::Choose { names: joined_names(&keys) }, &[first(right)?])?;
                let right = ask(Op::Rename { names: vec![("w".to_owned(), name.clone())] }, &[right])?;
                ask(Op::MultiJoin { on: on.clone(), nulls_equal: *nulls_equal, suffix: None }, &[first(table)?, right])
            }
            Stage::Sync(keys, [left, right], false, which) => {
                ask(Op::SyncFilter { keys: keys.clone(), ids: vec![left.clone(), right.clone()], which: *which }, &two)
            }
            Stage::Sync(keys, [left, right], true, which) => {
                let ids = vec![(left.clone(), right.clone())];
                ask(Op::SyncLeader { keys: keys.clone(), ids, which: *which }, &two)
            }
            Stage::WhereIn(on, not, nulls_equal) => {
                let member = if *not { Member::NotIn } else { Member::In };
                ask(Op::WhereIn { on: on.clone(), member, nulls_equal: *nulls_equal }, &two)
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
                ask(Op::AsofJoin(options), &two)
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
            Stage::Plain(_, wanted) => wanted(table),
            Stage::Choose(names) => {
                ops::select(table, &names.iter().map(|name| ops::Derived::column(name)).collect::<Vec<_>>())
            }
            Stage::Drop(name) => ops::drop(table, &[name]),
            Stage::Rename(old, new) => ops::rename(table, &[(old, new)]),
            Stage::Head(n) => ops::head(table, *n),
            Stage::Tail(n) => ops::tail(table, *n),
            Stage::Slice(offset, length) => ops::slice(table, *offset, *length),
            Stage::Extent(extent) => match *extent {
                Extent::Between { start, stop } => ops::between(table, start, stop),
                Extent::Head { part } => ops::end_part(table, part, false),
                Extent::Tail { part } => ops::end_part(table, part, true),
                Extent::Part { start, stop } => ops::part(table, start, stop),
            },
            Stage::Concat(predicate) => {
                ops::concat(&[table, &ops::filter(table, std::slice::from_ref(&predicate.model))])
            }
            Stage::Stack => ops::concat(&[table, right]),
            Stage::Group(by, outputs, _) => {
                let by: Vec<&str> = by.iter().map(String::as_str).collect();
                ops::aggregate(table, &by, &wanted(outputs))?
            }
            Stage::Pivot(index, on, listed, of) => {
                ops::pivot(table, index, on, listed, &wanted(std::slice::from_ref(of))[0])?
            }
            Stage::Windows(windows, outputs) => {
                ops::time_windows(table, &ops::TimeWindows { aggregates: wanted(outputs), ..windows.clone() })?
            }
            Stage::Session(stamp, gap, by, outputs) => ops::time_sessions(table, stamp, *gap, by, &wanted(outputs))?,
            Stage::Over(by, outputs) => ops::over(table, &[(by.clone(), wanted(outputs))])?,
            Stage::ShiftOver(by, column, n, name) => ops::shift_over(table, by, column, *n, name),
            Stage::UpdateBy(by, made, _) => {
                let first = table.clone();
                made.iter().try_fold(first, |table, (of, _, what, name)| ops::running(&table, by, of, what, name))?
            }
            Stage::Runs(by, order, backward, column, _, what, name) => {
                ops::in_another_order(table, order, *backward, |turned| ops::running(turned, by, column, what, name))?
            }
            Stage::Rolling(by, on, [back, ahead], least, outputs) => {
                let window = match on {
                    None => ops::Window::Rows(*back, *ahead),
                    Some(on) => ops::Window::Range(on.clone(), *back, *ahead),
                };
                let (by, aggregates) = (by.clone(), wanted(outputs));
                ops::rolling(table, &ops::Rolling { by, window, least: *least, aggregates })?
            }
            Stage::Unique => ops::unique(table),
            Stage::Pick(by, keep, _) => {
                let by: Vec<&str> = by.iter().map(String::as_str).collect();
                if *keep == Keep::First { ops::first_by(table, &by) } else { ops::last_by(table, &by) }
            }
            Stage::GroupLimit(by, n, Keep::First) => ops::head_by(table, *n, by),
            Stage::GroupLimit(by, n, Keep::Last) => ops::tail_by(table, *n, by),
            Stage::Explode(columns, empty_as_null, keep_nulls, fill) => {
                let (empty_as_null, keep_nulls, fill) = (*empty_as_null, *keep_nulls, *fill);
                ops::explode(table, &ops::Explode { columns: columns.clone(), empty_as_null, keep_nulls, fill })?
            }
            Stage::Sort(by) => ops::sort(table, &model_by(by)),
            Stage::InOrder(by) => ops::assert_sorted(&ops::sort(table, &model_by(by)), &model_by(by))?,
            Stage::MergeSorted(by, predicate) => {
                let by = model_by(by);
                let sorted = ops::sort(table, &by);
                let part = ops::filter(&sorted, std::slice::from_ref(&predicate.model));
                ops::merge_sorted(&[&sorted, &part], &by)?
            }
            Stage::TopK(by, rows) => ops::head(&ops::sort(table, &model_by(by)), *rows),
            Stage::Natural(on, name, matches) => {
                let joins = vec![("w".to_owned(), name.clone())];
                let second = second_of(*matches);
                let join = ops::NaturalJoin {
                    on: on.clone(),
                    joins,
                    second,
                    exactly_one: *matches == Matches::One,
                    nulls_equal: false,
                };
                ops::natural_join(table, right, &join)?
            }
            Stage::Join(on, name, how, nulls_equal, validate) => {
                let one = |side| [side, Validate::OneToOne].contains(validate);
                let join = ops::Join {
                    how: how_of(*how),
                    nulls_equal: *nulls_equal,
                    one_left: one(Validate::OneToMany),
                    one_right: one(Validate::ManyToOne),
                    on: on.clone(),
                    ..ops::Join::new(&[])
                };
                let taken: Vec<_> = joined_names(on).iter().map(|name| ops::Derived::column(name)).collect();
                let right = ops::rename(&ops::select(right, &taken), &[("w", name.as_str())]);
                ops::join(table, &right, &join)?
            }
            Stage::Range(by, on, [from, to], outputs) => {
                let end = |end: &Option<(String, Bound)>| {
                    end.as_ref().map(|(column, bound)| (column.clone(), bound_of(*bound)))
                };
                let join = ops::RangeJoin {
                    by: by.clone(),
                    on: on.clone(),
                    from: end(from),
                    to: end(to),
                    aggregates: wanted(outputs),
                };
                ops::range_join(table, right, &join)?
            }
            Stage::JoinWhere([w, g], predicates) => {
                let right = ops::select(right, &["g", "w"].map(ops::Derived::column));
                let right = ops::rename(&right, &[("w", w.as_str()), ("g", g.as_str())]);
                let pairs = ops::join(table, &right, &ops::Join { how: ops::How::Cross, ..ops::Join::new(&[]) })?;
                ops::filter(&pairs, &predicates.iter().map(|one| one.model.clone()).collect::<Vec<_>>())
            }
            Stage::Multi(on, name, nulls_equal) => {
                let keys: Vec<&str> = on.iter().map(String::as_str).collect();
                let taken: Vec<_> = keys.iter().chain(&["w"]).map(|name| ops::Derived::column(name)).collect();
                let right = ops::select(&ops::first_by(right, &keys), &taken);
                let right = ops::rename(&right, &[("w", name.as_str())]);
                ops::multi_join(&[&ops::first_by(table, &keys), &right], &keys, *nulls_equal)?
            }
            Stage::Sync(keys, [left, own], leads, which) => {
                let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
                match leads {
                    false => ops::sync_filter(&[table, right], &keys, &[left, own], *which),
                    true => ops::sync_leader(&[table, right], &keys, &[(left, own)], *which),
                }
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

fn sorted_by(by: &[(String, bool, bool)]) -> Vec<SortBy> {
    let one = |(column, descending, nulls_last): &(String, bool, bool)| SortBy {
        column: column.clone(),
        descending: *descending,
        nulls_last: *nulls_last,
    };
    by.iter().map(one).collect()
}

fn model_by(by: &[(String, bool, bool)]) -> Vec<ops::SortBy> {
    let one = |(column, descending, nulls_last): &(String, bool, bool)| ops::SortBy {
        column: column.clone(),
        descending: *descending,
        nulls_last: *nulls_last,
    };
    by.iter().map(one).collect()
}
