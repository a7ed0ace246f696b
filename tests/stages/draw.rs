//! Drawing the next stage and its parameters.

use std::collections::BTreeSet;

use engine::plan::{
    BadData, Bound, Clock, Control, Cumulative, Decay, Extent, How, Keep, Matches, RunningKind, Strategy, Validate,
};
use engine::testing::Tape;
use formula::RunsOf;
use model::ops;

use super::{Aggregated, Shape, Stage};
use crate::expressions::{Both, Kind};
use crate::registry::{OpSpec, OverBlink, SPECS, spec};

impl Stage {
    /// Any stage that is defined over this shape, which becomes that of the result.
    pub fn draw(tape: &mut Tape, shape: &mut Shape) -> Stage {
        Stage::draw_of(tape, shape, &SPECS.iter().collect::<Vec<_>>())
    }

    /// A join, if one is defined over this shape.
    pub fn draw_join(tape: &mut Tape, shape: &mut Shape) -> Stage {
        let joins =
            ["filter", "natural_join", "natural_join", "join", "where_in", "range_join", "join_asof", "multi_join"];
        Stage::draw_of(tape, shape, &joins.map(spec))
    }

    /// A natural join.
    pub fn draw_natural_join(tape: &mut Tape, shape: &mut Shape) -> Stage {
        Stage::draw_of(tape, shape, &[spec("natural_join")])
    }

    /// What passes rows on, each by itself or in another order.
    pub fn draw_passing(tape: &mut Tape, shape: &mut Shape) -> Stage {
        let passing: Vec<&OpSpec> = SPECS.iter().filter(|spec| spec.over_blink == OverBlink::Passes).collect();
        Stage::draw_of(tape, shape, &passing)
    }

    /// One row a group, or one of each.
    pub fn draw_grouped(tape: &mut Tape, shape: &mut Shape) -> Stage {
        let grouping: Vec<&OpSpec> = SPECS.iter().filter(|spec| spec.over_blink == OverBlink::Accumulates).collect();
        loop {
            if let Some(stage) = (tape.choose(&grouping).draw)(tape, shape) {
                return stage;
            }
        }
    }

    /// A stage of one of these; the first must always be defined.
    pub fn draw_of(tape: &mut Tape, shape: &mut Shape, specs: &[&OpSpec]) -> Stage {
        loop {
            let at = tape.below(specs.len() as u64) as usize;
            if let Some(stage) = (specs[at].draw)(tape, shape) {
                return stage;
            }
            // At the end of a tape the same choice would come for ever.
            if at == 0 {
                return Stage::Filter(shape.expression(tape, Kind::Bool));
            }
        }
    }
}

/// Parameters of one operation, if it is defined over this shape.
pub type Draw = fn(&mut Tape, &mut Shape) -> Option<Stage>;

pub fn filter(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    Some(Stage::Filter(shape.expression(tape, Kind::Bool)))
}

fn that_can_be_keys(columns: &[(String, Kind)]) -> Vec<(String, Kind)> {
    columns.iter().filter(|(_, kind)| !matches!(kind, Kind::Of("list" | "struct"))).cloned().collect()
}

fn any_kind(tape: &mut Tape) -> Kind {
    *tape.choose(&[Kind::Int, Kind::Float, Kind::Bool, Kind::Str])
}

pub fn with_columns(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    let kind = any_kind(tape);
    let expression = shape.expression(tape, kind);
    Some(Stage::WithColumns(named(tape, shape, kind), expression))
}

pub fn neighbours(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    if shape.unordered_by.is_some() {
        return None;
    }
    let kind = any_kind(tape);
    let expression = shape.far_expression(tape, kind);
    Some(Stage::Neighbours(named(tape, shape, kind), expression))
}

pub fn update_view(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    let kind = any_kind(tape);
    let expression = shape.expression(tape, kind);
    Some(Stage::View(named(tape, shape, kind), expression, false))
}

pub fn lazy_update(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    let kind = any_kind(tape);
    let expression = shape.expression(tape, kind);
    Some(Stage::View(named(tape, shape, kind), expression, true))
}

/// The name of a computed column, new or that of one that it replaces; the shape has it from here on.
fn named(tape: &mut Tape, shape: &mut Shape, kind: Kind) -> String {
    let replaced = if tape.chance(80) { shape.free_column(tape) } else { None };
    let name = replaced.unwrap_or_else(|| shape.fresh());
    shape.inexact.remove(&name);
    match shape.columns.iter_mut().find(|column| column.0 == name) {
        Some(column) => column.1 = kind,
        None => shape.columns.push((name.clone(), kind)),
    }
    name
}

/// Some columns as they are, some computed; the key of an unordered table stays.
pub fn select(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    let mut columns: Vec<(String, Kind, Both)> = Vec::new();
    for (name, kind) in shape.columns.clone() {
        if shape.is_key(&name) || (!shape.inexact.contains(&name) && tape.chance(120)) {
            columns.push((name.clone(), kind, Both::column(&name)));
        }
    }
    for _ in 0..1 + tape.below(2) {
        let kind = any_kind(tape);
        let made = shape.expression(tape, kind);
        columns.push((shape.fresh(), kind, made));
    }
    if columns.iter().any(|(name, ..)| shape.inexact.contains(name)) {
        return None;
    }
    shape.inexact.clear();
    shape.columns = columns.iter().map(|(name, kind, _)| (name.clone(), *kind)).collect();
    Some(Stage::Select(columns.into_iter().map(|(name, _, made)| (name, made)).collect()))
}

pub fn choose(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
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

pub fn drop(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    let gone = shape.free_column(tape)?;
    shape.columns.retain(|column| column.0 != gone);
    Some(Stage::Drop(gone))
}

pub fn rename(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    let (old, new) = (shape.free_column(tape)?, shape.fresh());
    let column = shape.columns.iter_mut().find(|column| column.0 == old)?;
    column.0 = new.clone();
    if shape.inexact.remove(&old) {
        shape.inexact.insert(new.clone());
    }
    Some(Stage::Rename(old, new))
}

fn in_order(shape: &Shape) -> Option<()> {
    shape.unordered_by.is_none().then_some(())
}

pub fn head(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    in_order(shape)?;
    Some(Stage::Head(tape.below(20)))
}

pub fn tail(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    in_order(shape)?;
    Some(Stage::Tail(tape.below(20)))
}

pub fn slice(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    in_order(shape)?;
    if tape.chance(100) {
        return Some(Stage::Extent(extent(tape)));
    }
    let offset = tape.below(12) as i64;
    let offset = if tape.chance(128) { -offset } else { offset };
    Some(Stage::Slice(offset, if tape.chance(190) { Some(tape.below(12)) } else { None }))
}

fn extent(tape: &mut Tape) -> Extent {
    let place = |tape: &mut Tape| tape.below(21) as i64 - 10;
    let part = |tape: &mut Tape| tape.below(101) as f64 / 100.0;
    match tape.below(4) {
        0 => Extent::Between { start: place(tape), stop: place(tape) },
        1 => Extent::Head { part: part(tape) },
        2 => Extent::Tail { part: part(tape) },
        _ => Extent::Part { start: part(tape), stop: part(tape) },
    }
}

pub fn concat(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    in_order(shape)?;
    Some(Stage::Concat(shape.expression(tape, Kind::Bool)))
}

pub fn unique(_: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    if !shape.inexact.is_empty() {
        return None;
    }
    shape.unordered_by = Some(shape.columns.iter().map(|column| column.0.clone()).collect());
    Some(Stage::Unique)
}

pub fn pick(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    in_order(shape)?;
    let by = some_columns(tape, &shape.exact(), 1);
    if by.is_empty() {
        return None;
    }
    shape.unordered_by = Some(by.clone());
    let keep = *tape.choose(&[Keep::First, Keep::Last]);
    Some(Stage::Pick(by, keep, tape.chance(64)))
}

pub fn group_limit(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    let Stage::Pick(by, keep, _) = pick(tape, shape)? else { return None };
    Some(Stage::GroupLimit(by, tape.below(5), keep))
}

pub fn sort(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
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

pub fn assert_sorted(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    let Stage::Sort(by) = sort(tape, shape)? else { return None };
    Some(Stage::InOrder(by))
}

pub fn merge_sorted(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    in_order(shape)?;
    let Stage::Sort(by) = sort(tape, shape)? else { return None };
    Some(Stage::MergeSorted(by, shape.expression(tape, Kind::Bool)))
}

pub fn top_k(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    let Stage::Sort(by) = sort(tape, shape)? else { return None };
    Some(Stage::TopK(by, tape.below(9)))
}

/// One column of lists or several; the rows of a list must not be told apart by a key.
pub fn explode(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    in_order(shape)?;
    let lists: Vec<(String, Kind)> = shape.exact().into_iter().filter(|(_, kind)| *kind == Kind::Of("list")).collect();
    let by = some_columns(tape, &lists, 1);
    if by.is_empty() {
        return None;
    }
    for column in shape.columns.iter_mut().filter(|column| by.contains(&column.0)) {
        column.1 = Kind::Int;
    }
    Some(Stage::Explode(by, tape.chance(100), tape.chance(160), tape.chance(220)))
}

pub fn natural_join(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    let on = keys_of_join(tape, shape);
    let matches = *tape.choose(&[Matches::First, Matches::Last, Matches::Error]);
    if on.is_empty() {
        return None;
    }
    Some(Stage::Natural(on, add_joined(shape), matches))
}

/// Over a table whose order is its own: the pairs of a row stand together, so they must not be told apart by a key. Without
/// keys every pair of rows.
pub fn join(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    let on = keys_of_join(tape, shape);
    if shape.unordered_by.is_some() || shape.paired {
        return None;
    }
    shape.paired = true;
    if on.is_empty() {
        let cross = tape.chance(128);
        return cross.then(|| Stage::Join(on, add_joined(shape), How::Cross, false, Validate::ManyToMany));
    }
    let validate = *tape.choose(&[
        Validate::ManyToMany,
        Validate::ManyToMany,
        Validate::ManyToMany,
        Validate::ManyToOne,
        Validate::OneToMany,
        Validate::OneToOne,
    ]);
    let how = match *tape.choose(&[How::Inner, How::Left, How::Right, How::Full]) {
        // One left column cannot stand for two right ones.
        How::Full if on.iter().enumerate().any(|(at, (left, _))| on[..at].iter().any(|(known, _)| known == left)) => {
            How::Left
        }
        how => how,
    };
    if how == How::Right {
        keys_of_the_right(shape, &on);
    }
    Some(Stage::Join(on, add_joined(shape), how, tape.chance(100), validate))
}

/// A right join has the right keys, in place of the left ones.
fn keys_of_the_right(shape: &mut Shape, on: &[(String, String)]) {
    let kinds: Vec<Kind> = on
        .iter()
        .map(|(left, _)| shape.columns.iter().find(|column| column.0 == *left).expect("a key is a column").1)
        .collect();
    shape.columns.retain(|column| on.iter().all(|(left, _)| *left != column.0));
    for ((_, right), kind) in on.iter().zip(kinds) {
        let taken = shape.columns.iter().any(|column| column.0 == *right);
        shape.columns.push((if taken { format!("{right}_right") } else { right.clone() }, kind));
    }
}

/// Over a table that has the right's names as keys. The keys come first, then what both sides bring.
pub fn multi_join(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    let known = |name: &str, kind: Kind| shape.exact().iter().any(|column| column.0 == name && column.1 == kind);
    let there = [("k", Kind::Str), ("g", Kind::Int), ("p", Kind::named(shape.right.p))];
    let on: Vec<String> = there
        .into_iter()
        .filter(|(name, kind)| known(name, *kind) && tape.chance(150))
        .map(|(name, _)| name.to_owned())
        .collect();
    // Which row of a key is the first depends on history where the order does.
    if on.is_empty() || shape.unordered_by.is_some() {
        return None;
    }
    let (keys, others): (Vec<_>, Vec<_>) =
        std::mem::take(&mut shape.columns).into_iter().partition(|column| on.contains(&column.0));
    let place = |column: &(String, Kind)| on.iter().position(|name| *name == column.0);
    let mut columns = keys;
    columns.sort_by_key(place);
    columns.extend(others);
    shape.columns = columns;
    shape.unordered_by = Some(on.clone());
    Some(Stage::Multi(on, add_joined(shape), tape.chance(100)))
}

/// Both tables, or those that a leader wants; the result is of the left table or of the right one.
pub fn sync_filter(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    let ids: Vec<String> =
        shape.exact().into_iter().filter(|column| column.1 == Kind::Int).map(|column| column.0).collect();
    let known = |name: &str, kind: Kind| shape.exact().iter().any(|column| column.0 == name && column.1 == kind);
    // Which row of the leader is the last depends on history where the order does.
    if ids.is_empty() || !known("k", Kind::Str) || shape.unordered_by.is_some() {
        return None;
    }
    let right = (*tape.choose(&["g", "u"])).to_owned();
    let (left, keys) = (tape.choose(&ids).clone(), vec!["k".to_owned()]);
    let (leads, which) = (tape.chance(100), usize::from(tape.chance(128)));
    if which == 1 {
        *shape = Shape { names: shape.names, ..Shape::right(shape.right) };
    } else if leads {
        shape.unordered_by = Some(keys.clone());
    }
    Some(Stage::Sync(keys, [left, right], leads, which))
}

pub fn where_in(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    let on = keys_of_join(tape, shape);
    (!on.is_empty()).then(|| Stage::WhereIn(on, tape.chance(100), tape.chance(100)))
}

pub fn join_asof(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    let stamps: Vec<String> =
        shape.exact().into_iter().filter(|column| column.1 == Kind::Time).map(|column| column.0).collect();
    let stamp = stamps.first()?.clone();
    let by = keys_of_join(tape, shape);
    let strategy = *tape.choose(&[Strategy::Backward, Strategy::Forward, Strategy::ForwardLast, Strategy::Nearest]);
    let tolerance = if tape.chance(100) { Some(tape.below(4) * 1_000_000_000) } else { None };
    Some(Stage::Asof(by, stamp, add_joined(shape), strategy, tape.chance(200), tolerance))
}

/// Ranges between columns that are like a right one.
pub fn range_join(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    // Every table that a join may meet has these columns.
    let mut right = Shape::right(shape.right).columns;
    right.retain(|column| column.0 != "u");
    let (on, kind) = tape.choose(&[("t", Kind::Time), ("g", Kind::Int)]).to_owned();
    let bounds: Vec<String> =
        shape.exact().into_iter().filter(|column| column.1 == kind).map(|column| column.0).collect();
    if bounds.is_empty() {
        return None;
    }
    let by = if tape.chance(200) { keys_of_join(tape, shape) } else { Vec::new() };
    let end = |tape: &mut Tape| {
        let bound = *tape.choose(&[Bound::Open, Bound::Closed, Bound::Reaching]);
        (tape.choose(&bounds).clone(), bound)
    };
    let ends = match tape.below(6) {
        0 => [Some(end(tape)), None],
        1 => [None, Some(end(tape))],
        _ => [Some(end(tape)), Some(end(tape))],
    };
    let mut outputs = Vec::new();
    for _ in 0..1 + tape.below(3) {
        let (made, kind, is_inexact) = aggregated(tape, shape, &right);
        shape.columns.push((made.0.clone(), kind));
        shape.inexact.extend(is_inexact.then(|| made.0.clone()));
        outputs.push(made);
    }
    Some(Stage::Range(by, on.to_owned(), ends, outputs))
}

/// Over a table whose order is its own, as `join`. Mostly a left column equals the right's `g`, and often some lie before or behind it.
pub fn join_where(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    if shape.unordered_by.is_some() || shape.paired {
        return None;
    }
    let left: Vec<String> =
        shape.exact().into_iter().filter(|column| column.1 == Kind::Int).map(|column| column.0).collect();
    shape.paired = true;
    let g = shape.fresh();
    shape.columns.push((g.clone(), Kind::Int));
    let w = add_joined(shape);
    let mut predicates = Vec::new();
    if !left.is_empty() && tape.chance(180) {
        let mut sides = [Both::column(&tape.choose(&left).clone()), Both::column(&g)];
        if tape.chance(128) {
            sides.swap(0, 1);
        }
        predicates.push(Both::equal(sides));
    }
    while !left.is_empty() && predicates.len() < 3 && tape.chance(110) {
        let mut sides = [Both::column(&tape.choose(&left).clone()), Both::column(&g)];
        if tape.chance(128) {
            sides.swap(0, 1);
        }
        predicates.push(Both::ordered(sides, tape.chance(128)));
    }
    if predicates.is_empty() || tape.chance(170) {
        predicates.push(shape.expression(tape, Kind::Bool));
    }
    if let [one, other] = &predicates[..]
        && tape.chance(128)
    {
        predicates = vec![Both::and([one.clone(), other.clone()])];
    }
    Some(Stage::JoinWhere([w, g], predicates))
}

/// At least so many of these columns, if there are.
fn some_columns(tape: &mut Tape, columns: &[(String, Kind)], least: usize) -> Vec<String> {
    let first = if columns.is_empty() { 0 } else { tape.below(columns.len() as u64) as usize };
    let chosen = columns.iter().enumerate().filter(|(at, _)| (*at == first && least > 0) || tape.chance(40));
    chosen.map(|(_, column)| column.0.clone()).take(3).collect()
}

/// The pairs of columns in which the left meets the right's `k`, `g` and `p`.
fn keys_of_join(tape: &mut Tape, shape: &Shape) -> Vec<(String, String)> {
    let mut on = Vec::new();
    for (kind, right) in [(Kind::Str, "k"), (Kind::Int, "g"), (Kind::named(shape.right.p), "p")] {
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
    shape.columns.push((name.clone(), Kind::named(shape.right.w)));
    name
}

pub fn group(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    let exact = shape.exact();
    if exact.is_empty() {
        return None;
    }
    let by = some_columns(tape, &exact, 0);
    let mut columns: Vec<(String, Kind)> = exact.iter().filter(|column| by.contains(&column.0)).cloned().collect();
    // The key columns come first, in the order in which they were named.
    columns.sort_by_key(|column| by.iter().position(|name| *name == column.0).unwrap_or(usize::MAX));
    let (mut outputs, mut inexact) = (Vec::new(), BTreeSet::new());
    for _ in 0..1 + tape.below(3) {
        let (made, kind, is_inexact) = aggregated(tape, shape, &exact);
        columns.push((made.0.clone(), kind));
        inexact.extend(is_inexact.then(|| made.0.clone()));
        outputs.push(made);
    }
    shape.columns = columns;
    shape.inexact = inexact;
    shape.unordered_by = Some(by.clone());
    let bounded = !by.is_empty() && tape.chance(64);
    Some(Stage::Group(by, outputs, bounded))
}

/// A row for each key, with a column for some of the values that the drawn tables have.
pub fn pivot(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    let exact = shape.exact();
    let turned: Vec<(String, Kind)> =
        exact.iter().filter(|(_, kind)| matches!(kind, Kind::Int | Kind::Str)).cloned().collect();
    if turned.is_empty() {
        return None;
    }
    let (on, kind) = tape.choose(&turned).clone();
    let index = some_columns(tape, &exact, 0);
    let words = ["w0000", "w0001 is a longer word than fits", "w0002", "a", "never"];
    let value = |n: i64| if kind == Kind::Int { model::Value::Int(n) } else { words[n as usize].into() };
    let mut listed: Vec<model::Value> = (0..5).filter(|_| tape.chance(150)).map(value).collect();
    if listed.is_empty() || tape.chance(60) {
        listed.push(model::Value::Null);
    }
    let (made, kind, is_inexact) = aggregated(tape, shape, &exact);
    let listed: Vec<_> = listed.into_iter().map(|value| (value, shape.fresh())).collect();
    let mut columns: Vec<(String, Kind)> = exact.iter().filter(|column| index.contains(&column.0)).cloned().collect();
    columns.sort_by_key(|column| index.iter().position(|name| *name == column.0).unwrap_or(usize::MAX));
    let names: Vec<String> = listed.iter().map(|(_, name)| name.clone()).collect();
    columns.extend(names.iter().map(|name| (name.clone(), kind)));
    shape.columns = columns;
    shape.inexact = names.into_iter().filter(|_| is_inexact).collect();
    shape.unordered_by = Some(index.clone());
    Some(Stage::Pivot(index, on, listed, made))
}

const SECOND: i64 = 1_000_000_000;

/// Windows that lie side by side, overlap or leave gaps, of groups or of all rows.
pub fn time_windows(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    let (stamp, by) = times_and_keys(tape, shape)?;
    let every = *tape.choose(&[3 * SECOND, SECOND, 7 * SECOND + 1]);
    let period = *tape.choose(&[every, every, 2 * every, every / 2, 10 * SECOND]);
    let offset = *tape.choose(&[0, 0, SECOND / 2]);
    let outputs = grouped_in_time(tape, shape, &by, &[&stamp]);
    shape.unordered_by = Some(by.iter().cloned().chain([stamp.clone()]).collect());
    let closed = *tape.choose(&[(true, false), (false, true), (true, true), (false, false)]);
    let aggregates = Vec::new();
    let windows = ops::TimeWindows { stamp, every, period, offset, closed, by, aggregates };
    Some(Stage::Windows(windows, outputs))
}

/// Sessions of groups or of all rows.
pub fn session(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    let (stamp, by) = times_and_keys(tape, shape)?;
    if by.iter().any(|key| key.starts_with("session_")) {
        return None;
    }
    let gap = *tape.choose(&[SECOND, 0, 2 * SECOND, 20 * SECOND, i64::MAX]);
    let outputs = grouped_in_time(tape, shape, &by, &["session_start", "session_end"]);
    shape.unordered_by = Some(by.iter().cloned().chain(["session_start".to_owned()]).collect());
    Some(Stage::Session(stamp, gap, by, outputs))
}

/// A column of times, and keys beside it.
fn times_and_keys(tape: &mut Tape, shape: &Shape) -> Option<(String, Vec<String>)> {
    let exact = shape.exact();
    let times: Vec<&String> = exact.iter().filter(|column| column.1 == Kind::Time).map(|column| &column.0).collect();
    if times.is_empty() {
        return None;
    }
    let stamp = (*tape.choose(&times)).clone();
    let others: Vec<(String, Kind)> = exact.iter().filter(|column| column.0 != stamp).cloned().collect();
    let by = if others.is_empty() { Vec::new() } else { some_columns(tape, &others, 0) };
    Some((stamp, by))
}

/// Outputs of groups by some keys, which become the columns of the shape with the times that stand for a group.
fn grouped_in_time(tape: &mut Tape, shape: &mut Shape, by: &[String], times: &[&str]) -> Vec<Aggregated> {
    let exact = shape.exact();
    let mut columns: Vec<(String, Kind)> = exact.iter().filter(|column| by.contains(&column.0)).cloned().collect();
    columns.sort_by_key(|column| by.iter().position(|name| *name == column.0).unwrap_or(usize::MAX));
    columns.extend(times.iter().map(|name| ((*name).to_owned(), Kind::Time)));
    let (mut outputs, mut inexact) = (Vec::new(), BTreeSet::new());
    for _ in 0..1 + tape.below(2) {
        let (made, kind, is_inexact) = aggregated(tape, shape, &exact);
        columns.push((made.0.clone(), kind));
        inexact.extend(is_inexact.then(|| made.0.clone()));
        outputs.push(made);
    }
    shape.columns = columns;
    shape.inexact = inexact;
    outputs
}

/// Aggregates beside the rows they are of; without keys those of all rows.
pub fn over(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    let exact = shape.exact();
    if exact.is_empty() {
        return None;
    }
    let by = some_columns(tape, &exact, 0);
    let mut outputs = Vec::new();
    for _ in 0..1 + tape.below(2) {
        let (made, kind, inexact) = aggregated(tape, shape, &exact);
        shape.inexact.extend(inexact.then(|| made.0.clone()));
        shape.columns.push((made.0.clone(), kind));
        outputs.push(made);
    }
    Some(Stage::Over(by, outputs))
}

/// The value of another row of the group, near or far, before or after.
pub fn shift_over(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    in_order(shape)?;
    let exact = shape.exact();
    let keys = that_can_be_keys(&exact);
    let by = some_columns(tape, &keys, 1);
    if by.is_empty() {
        return None;
    }
    let (column, kind) = tape.choose(&exact).clone();
    let far = 1 + tape.below(4) as i64;
    let name = shape.fresh();
    // Codes of a dictionary become values.
    shape.columns.push((name.clone(), if kind == Kind::Of("dict") { Kind::Of("other") } else { kind }));
    Some(Stage::ShiftOver(by, column, if tape.chance(90) { -far } else { far }, name))
}

/// Columns that run over the rows of groups, or over all.
pub fn update_by(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    use ops::{Aggregator, Bad, Fades, Running};
    in_order(shape)?;
    let exact = shape.exact();
    if exact.is_empty() {
        return None;
    }
    let keys = that_can_be_keys(&exact);
    let by = some_columns(tape, &keys, 0);
    let mut made = Vec::new();
    for _ in 0..1 + tape.below(3) {
        let (column, kind) = tape.choose(&exact).clone();
        let number = matches!(kind, Kind::Int | Kind::Float);
        let compared = !matches!(kind, Kind::Of(_));
        let null_at_null = tape.chance(100);
        let cumulative = |of, model: Aggregator| {
            (RunningKind::Cumulative { of, null_at_null }, Running::Cumulative(model, null_at_null))
        };
        let inexact = kind == Kind::Float;
        let ((engine, model), result, inexact) = match tape.below(8) {
            0 if number => (cumulative(Cumulative::Sum, Aggregator::Sum(1)), kind, inexact),
            1 if number => (cumulative(Cumulative::Mean, Aggregator::Mean), Kind::Float, true),
            2 if compared => (cumulative(Cumulative::Min, Aggregator::Min), kind, false),
            3 if compared => (cumulative(Cumulative::Max, Aggregator::Max), kind, false),
            4 if number => {
                let ticks = *tape.choose(&[0.5, 1.0, 7.0]);
                let (of, model_of) = *tape.choose(&[(Decay::Mean, ops::Decay::Mean), (Decay::Std, ops::Decay::Std)]);
                let (bad, on_null) = *tape.choose(&[(BadData::Skip, Bad::Skip), (BadData::Reset, Bad::Reset)]);
                let control = Control { on_null: bad, on_nan: BadData::Skip };
                let fades = Fades { of: model_of, by: Ok(ticks), on_null, on_nan: Bad::Skip };
                let engine = RunningKind::Decay { of, clock: Clock::Ticks(ticks), control };
                ((engine, Running::Decay(fades)), Kind::Float, true)
            }
            5 => (cumulative(Cumulative::Count, Aggregator::Count), Kind::Int, false),
            _ => {
                // Codes of a dictionary become values.
                let kind = if kind == Kind::Of("dict") { Kind::Of("other") } else { kind };
                ((RunningKind::ForwardFill, Running::ForwardFill), kind, false)
            }
        };
        let name = shape.fresh();
        shape.inexact.extend(inexact.then(|| name.clone()));
        shape.columns.push((name.clone(), result));
        made.push((column, engine, model, name));
    }
    let bounded = !by.is_empty() && tape.chance(64);
    Some(Stage::UpdateBy(by, made, bounded))
}

/// A value that runs on, in another order of the rows than their own.
pub fn runs(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    use ops::{Aggregator, Running};
    in_order(shape)?;
    let exact = shape.exact();
    if exact.is_empty() {
        return None;
    }
    let keys = that_can_be_keys(&exact);
    let by = some_columns(tape, &keys, 0);
    let compared: Vec<(String, Kind)> =
        exact.iter().filter(|(_, kind)| !matches!(kind, Kind::Of(_))).cloned().collect();
    let (descending, nulls_last) = (tape.chance(80), tape.chance(80));
    let order = match compared.is_empty() || tape.chance(60) {
        true => Vec::new(),
        false => some_columns(tape, &compared, 1),
    };
    let order: Vec<ops::SortBy> =
        order.into_iter().map(|column| ops::SortBy { column, descending, nulls_last }).collect();
    let (column, kind) = tape.choose(&exact).clone();
    let number = matches!(kind, Kind::Int | Kind::Float);
    let cumulative = |model| Running::Cumulative(model, true);
    let inexact = kind == Kind::Float;
    let limit = tape.below(4);
    let (of, model, result, inexact) = match tape.below(6) {
        0 if number => (RunsOf::Sum, cumulative(Aggregator::Sum(1)), kind, inexact),
        1 if compared.iter().any(|(name, _)| *name == column) => {
            (RunsOf::Max, cumulative(Aggregator::Max), kind, false)
        }
        2 => (RunsOf::Count, Running::Cumulative(Aggregator::Count, false), Kind::Int, false),
        3 => (RunsOf::Since, Running::Since, Kind::Int, false),
        _ => {
            // Codes of a dictionary become values.
            let kind = if kind == Kind::Of("dict") { Kind::Of("other") } else { kind };
            (RunsOf::Fill { limit: Some(limit) }, Running::Fill(limit), kind, false)
        }
    };
    let name = shape.fresh();
    shape.inexact.extend(inexact.then(|| name.clone()));
    shape.columns.push((name.clone(), result));
    // In the order of rows it is what `update_by` has.
    let backward = tape.chance(100) || order.is_empty();
    Some(Stage::Runs(by, order, backward, column, of, model, name))
}

/// Windows of rows, or between stamps; some lie beside their row.
pub fn rolling(tape: &mut Tape, shape: &mut Shape) -> Option<Stage> {
    in_order(shape)?;
    let exact = shape.exact();
    if exact.is_empty() {
        return None;
    }
    let keys = that_can_be_keys(&exact);
    let by = some_columns(tape, &keys, 0);
    let stamps: Vec<&String> = exact.iter().filter(|(_, kind)| *kind == Kind::Int).map(|(name, _)| name).collect();
    let on = (!stamps.is_empty() && tape.chance(110)).then(|| (*tape.choose(&stamps)).clone());
    let back = tape.below(7) as i64 - 1;
    let ahead = tape.below(4) as i64 - back.min(1);
    let most = if on.is_some() { 3 } else { (back + ahead + 1) as u64 };
    let least = if tape.chance(90) { tape.below(most + 1) } else { 0 };
    let mut outputs = Vec::new();
    for _ in 0..1 + tape.below(3) {
        let (made, kind, is_inexact) = aggregated(tape, shape, &exact);
        shape.columns.push((made.0.clone(), kind));
        shape.inexact.extend(is_inexact.then(|| made.0.clone()));
        outputs.push(made);
    }
    Some(Stage::Rolling(by, on, [back, ahead], least, outputs))
}

/// An output, the kind of its values, and whether they are known only within bounds.
fn aggregated(tape: &mut Tape, shape: &mut Shape, exact: &[(String, Kind)]) -> (Aggregated, Kind, bool) {
    use ops::Aggregator::{
        Count, CountDistinct, Cov, First, Last, Len, Max, Mean, Median, Min, NUnique, NanMax, NanMin, Product,
        Quantile, Std, Sum, Var,
    };
    use ops::Between::{Higher, Linear, Lower, Midpoint, Nearest};
    let ordered = shape.unordered_by.is_none();
    let (input, kind) = tape.choose(exact).clone();
    let whole = ["i8", "i16", "i32", "u8", "u16", "u32", "uint"].map(Kind::Of).contains(&kind);
    let number = whole || matches!(kind, Kind::Int | Kind::Float | Kind::Of("f32"));
    let compared = !matches!(kind, Kind::Of("list" | "struct"));
    let summed = number || matches!(kind, Kind::Of("decimal" | "duration"));
    let is_number = |kind: &Kind| matches!(kind, Kind::Int | Kind::Float);
    let numbers: Vec<&String> = exact.iter().filter(|(_, kind)| is_number(kind)).map(|(name, _)| name).collect();
    let aggregator = match tape.below(17) {
        0 if summed => Sum(tape.below(3)),
        1 if number => Mean,
        2 if number => Std(1),
        3 if number => Var(tape.below(2)),
        4 if compared => Min,
        5 if compared => Max,
        6 if ordered => First,
        7 if ordered => Last,
        8 => Count,
        9 if number => NanMin,
        10 if number => NanMax,
        11 => NUnique,
        12 => CountDistinct,
        13 if number || !matches!(kind, Kind::Of(_)) => Median,
        14 if compared => {
            let part = *tape.choose(&[0.0, 0.1, 0.25, 0.5, 0.9, 1.0]);
            let between = *tape.choose(&[Nearest, Lower, Higher, Midpoint, Linear]);
            let all = number || matches!(between, Nearest | Lower | Higher);
            Quantile(part, if all { between } else { Nearest })
        }
        15 if number => Product,
        16 if number && !numbers.is_empty() => Cov(tape.below(2)),
        _ => Len,
    };
    let output = shape.fresh();
    let ranked = (number || kind == Kind::Of("decimal")) && matches!(aggregator, Median | Quantile(..));
    let result = match (&aggregator, kind) {
        (Len | Count | NUnique | CountDistinct, _) => Kind::Int,
        (Mean | Std(_) | Var(_) | Cov(_), _) => Kind::Float,
        _ if ranked => Kind::Float,
        (Sum(_) | Product, Kind::Of("i8" | "i16" | "i32")) => Kind::Int,
        (Sum(_) | Product, Kind::Of("u8" | "u16" | "u32")) => Kind::Of("uint"),
        // Of other types than what they are made of.
        (Sum(_), Kind::Of("decimal")) | (_, Kind::Of("dict")) => Kind::Of("other"),
        _ => kind,
    };
    let computed = ranked || matches!(aggregator, Sum(_) | Mean | Std(_) | Var(_) | Cov(_) | Product);
    let inexact = matches!(result, Kind::Float | Kind::Of("f32")) && computed;
    let inputs = match aggregator {
        Len => Vec::new(),
        Cov(_) => vec![input, (*tape.choose(&numbers)).clone()],
        _ => vec![input],
    };
    ((output, aggregator, inputs), result, inexact)
}
