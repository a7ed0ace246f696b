//! Operations of requests as those of the engine. What the clients expect otherwise is said as a parameter: null keys
//! match, descending order has nulls last.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, StringArray};
use arrow_schema::{DataType, Field, Schema};
use engine::plan::{
    AsofOptions, Bound, EquiOptions, ExplodeOptions, Extent, GroupBounds, How, Keep, Matches, Materialization, Member,
    Op, RangeEnd, RangeOptions, SortBy, StandingGroups, Strategy, Validate, apply,
};
use engine::{Call, OnError, Table};
use formula::{Aggregate as Kind, Expr, Function, Literal};
use tonic::Status;

use super::formulas::{Formulas, lowered, pair, pairs, refused, rows, unknown};
use super::messages::{Join, MultiJoin, OfTexts, Operation, Ordered, RangeJoin, Sort, Time};
use super::{aggregations, combos, conditions, statistics, update_by};
use crate::catalog::Catalog;
use crate::columns;
use crate::context::engine_error;
use crate::trouble::internal;

fn one(op: Op, method: &str, inputs: &[Table]) -> Result<Table, Status> {
    apply(op, method, inputs).map_err(engine_error)
}

/// The table that an operation makes of its sources.
pub(super) fn made(catalog: &Catalog, operation: &Operation, inputs: &[Table]) -> Result<Table, Status> {
    match operation {
        Operation::Empty(of) => engine::sources::empty(rows("empty_table", of.size)?).map_err(engine_error),
        Operation::Time(of) => time_table(catalog, of),
        Operation::Drop(of) => one(Op::Drop { names: of.texts.clone() }, "drop_columns", inputs),
        Operation::Update(of) => columns("update", of, true, Materialization::Stored, inputs),
        Operation::LazyUpdate(of) => columns("lazy_update", of, true, Materialization::Memoized, inputs),
        Operation::View(of) => columns("view", of, false, Materialization::Lazy, inputs),
        Operation::UpdateView(of) => columns("update_view", of, true, Materialization::Lazy, inputs),
        Operation::Select(of) => columns("select", of, false, Materialization::Stored, inputs),
        Operation::SelectDistinct(of) => {
            let seen = columns("select_distinct", of, false, Materialization::Lazy, inputs)?;
            one(
                Op::Distinct { keys: Vec::new(), keep: Keep::First, bounds: GroupBounds::default() },
                "select_distinct",
                &[seen],
            )
        }
        Operation::Filter(of) => {
            let schema = inputs[0].schema();
            let each: Result<Vec<Expr>, Status> =
                of.filters.iter().map(|filter| conditions::meaning(filter, schema)).collect();
            filtered(each?, "filter".into(), inputs)
        }
        Operation::Where(of) => {
            let mut formulas = Formulas::new("where", &inputs[0]);
            let each: Result<Vec<Expr>, Status> = of.texts.iter().map(|text| formulas.filter(text)).collect();
            filtered(each?, formulas.call(), inputs)
        }
        Operation::Sort(of) => sort(of, inputs),
        Operation::Head(of) => one(Op::Head { rows: rows("head", of.rows)? }, "head", inputs),
        Operation::Tail(of) => one(Op::Tail { rows: rows("tail", of.rows)? }, "tail", inputs),
        Operation::HeadBy(of) => {
            let rows = rows("head_by", of.rows)?;
            one(Op::GroupLimit { keys: of.by.clone(), rows, keep: Keep::First }, "head_by", inputs)
        }
        Operation::TailBy(of) => {
            let rows = rows("tail_by", of.rows)?;
            one(Op::GroupLimit { keys: of.by.clone(), rows, keep: Keep::Last }, "tail_by", inputs)
        }
        Operation::Ungroup(of) => {
            let is_list = |field: &&Arc<Field>| {
                matches!(field.data_type(), DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..))
            };
            let columns = if of.columns.is_empty() {
                inputs[0].schema().fields().iter().filter(is_list).map(|field| field.name().clone()).collect()
            } else {
                of.columns.clone()
            };
            if columns.is_empty() {
                return Ok(inputs[0].clone());
            }
            let how = ExplodeOptions { columns, empty_as_null: false, keep_nulls: false, null_fill: of.null_fill };
            one(Op::Explode(how), "ungroup", inputs)
        }
        Operation::Merge(_) if inputs.is_empty() => Err(refused("merge", "there are no tables")),
        Operation::Merge(of) => {
            let merged = one(Op::Concat, "merge", inputs)?;
            if of.key.is_empty() {
                return Ok(merged);
            }
            one(Op::Sort { by: vec![SortBy::ascending(&of.key)] }, "merge_sorted", &[merged])
        }
        Operation::Flatten(_) => one(Op::Flatten, "flatten", inputs),
        Operation::CrossJoin(of) => cross_join(of, inputs),
        Operation::NaturalJoin(of) => {
            let matches = match of.kind {
                0 | 1 => Matches::Error,
                2 => Matches::First,
                3 => Matches::Last,
                4 => Matches::One,
                other => return Err(refused("natural_join", format!("there is no kind {other} of it"))),
            };
            natural_join("natural_join", of, matches, inputs)
        }
        Operation::ExactJoin(of) => natural_join("exact_join", of, Matches::One, inputs),
        Operation::AsOfJoin(of) => as_of_join(of, inputs),
        Operation::Aj(of) => ordered("aj", of, Strategy::Backward, [">=", ">"], inputs),
        Operation::Raj(of) => ordered("raj", of, Strategy::ForwardLast, ["<=", "<"], inputs),
        Operation::RangeJoin(of) => range_join(of, inputs),
        Operation::MultiJoin(of) => multi_join(of, inputs),
        Operation::WhereIn(of) => {
            let (method, member) = if of.inverted { ("where_not_in", Member::NotIn) } else { ("where_in", Member::In) };
            one(Op::WhereIn { on: pairs(method, &of.on)?, member, nulls_equal: true }, method, inputs)
        }
        Operation::UpdateBy(of) => {
            let formulas = Formulas::new("update_by", &inputs[0]);
            let op = update_by::operation(of, &formulas, inputs[0].canonical())?;
            one(op, "update_by", inputs)
        }
        Operation::AggregateAll(of) => {
            let formulas = Formulas::new("agg_all_by", &inputs[0]);
            let schema = inputs[0].canonical();
            let aggregates = aggregations::of_all(of.spec.as_ref(), &of.by, &formulas, schema)?;
            aggregate(&of.by, aggregates, false, inputs)
        }
        Operation::Aggregate(of) => {
            if of.aggregations.is_empty() {
                return Err(refused("agg_by", "there is no aggregation"));
            }
            let formulas = Formulas::new("agg_by", &inputs[0]);
            let aggregates = aggregations::expressions(&of.aggregations, &formulas)?;
            aggregate(&of.by, aggregates, of.preserve_empty, inputs)
        }
        Operation::Snapshot(_) => inputs[0].snapshot().map_err(engine_error),
        Operation::SnapshotWhen(of) if of.history && (of.initial || of.incremental) => {
            Err(unknown("snapshot_when", "history goes neither with initial nor with incremental"))
        }
        Operation::SnapshotWhen(of) => {
            let all = || inputs[1].schema().fields().iter().map(|field| field.name().clone()).collect();
            let named = pairs("snapshot_when", &of.stamps)?;
            let mut inputs = inputs.to_vec();
            if named.iter().any(|(new, old)| new != old) {
                inputs[1] = renamed("snapshot_when", named.iter().cloned(), &inputs[1])?;
            }
            let inputs = &inputs[..];
            let stamps = if named.is_empty() { all() } else { named.into_iter().map(|(new, _)| new).collect() };
            let (initial, incremental, history) = (of.initial, of.incremental, of.history);
            one(Op::SnapshotWhen { stamps, initial, incremental, history }, "snapshot_when", inputs)
        }
        Operation::Meta(_) => meta_table(&inputs[0]),
        Operation::Slice(of) if of.from < 0 && of.to == 0 => {
            one(Op::Tail { rows: of.from.unsigned_abs() }, "slice", inputs)
        }
        Operation::Slice(of) if (of.from < 0) == (of.to < 0) && of.from > of.to => {
            Err(refused("slice", format!("it begins at {}, behind its end at {}", of.from, of.to)))
        }
        Operation::Slice(of) => one(Op::Extent(Extent::Between { start: of.from, stop: of.to }), "slice", inputs),
        Operation::LeftJoin(of) => left_join(of, inputs),
        Operation::ComboAggregate(of) => {
            let formulas = Formulas::new(combos::METHOD, &inputs[0]);
            let aggregates = combos::aggregates(of, &formulas, inputs[0].canonical())?;
            aggregate(&of.by, aggregates, false, inputs)
        }
        Operation::Downsample(_) => Err(unknown("downsample", "it is not here yet")),
        Operation::Statistics(of) => statistics::of(of, &inputs[0]),
        Operation::Fetch(_) | Operation::Preview(_) | Operation::InputTable(_) => {
            Err(internal("an operation without a form of its own"))
        }
    }
}

/// When a time table begins, in nanoseconds, and how far its rows are apart.
fn time_table(catalog: &Catalog, of: &Time) -> Result<Table, Status> {
    const WHAT: &str = "time_table";
    let start = match of.start.as_str() {
        "" => of.start_nanos,
        text if text.contains('\'') => return Err(refused(WHAT, format!("{text:?} is no time"))),
        text => instant(text).ok_or_else(|| refused(WHAT, format!("{text:?} is no time")))?,
    };
    let period = match of.period.as_str() {
        "" => Some(of.period_nanos),
        text => {
            let span = update_by::clock_span(text).or_else(|| formula::types::span_of_time(text));
            let wrong = || refused(WHAT, format!("{text:?} is no length of time, such as PT1S or PT00:00:00.5"));
            i64::try_from(span.ok_or_else(wrong)?).ok()
        }
    };
    let period = period.and_then(|period| u64::try_from(period).ok()).filter(|period| *period > 0);
    let period = period.ok_or_else(|| refused(WHAT, "the period must be positive"))?;
    let graph = catalog.graph()?;
    let period = std::time::Duration::from_nanos(period);
    engine::sources::TimeTable::new(&graph, period, (start > 0).then_some(start), of.blink).map_err(engine_error)
}

/// The instant that a text means in formulas.
fn instant(text: &str) -> Option<i64> {
    match lowered(&format!("'{text}'")).ok()? {
        Expr::Literal(Literal::Timestamp { ns, zone: Some(_) }) => Some(ns),
        _ => None,
    }
}

fn columns(
    method: &str,
    of: &OfTexts,
    keep: bool,
    materialization: Materialization,
    inputs: &[Table],
) -> Result<Table, Status> {
    if of.texts.is_empty() {
        return Ok(inputs[0].clone());
    }
    let mut formulas = Formulas::new(method, &inputs[0]);
    let columns: Result<Vec<Expr>, Status> = of.texts.iter().map(|text| formulas.column(text)).collect();
    let (orders, on_error, sequential) = (Vec::new(), OnError::default(), true);
    let op = Op::Columns { columns: columns?, keep, orders, materialization, on_error, sequential };
    apply(op, formulas.call(), inputs).map_err(engine_error)
}

fn filtered(predicates: Vec<Expr>, call: Call, inputs: &[Table]) -> Result<Table, Status> {
    if predicates.is_empty() {
        return Ok(inputs[0].clone());
    }
    let op = Op::Filter { predicates, orders: Vec::new(), on_error: OnError::default() };
    apply(op, call, inputs).map_err(engine_error)
}

fn sort(of: &Sort, inputs: &[Table]) -> Result<Table, Status> {
    const REVERSE: i32 = 2;
    if of.sorts.is_empty() {
        return Ok(inputs[0].clone());
    }
    if of.sorts.iter().any(|by| by.direction == REVERSE) {
        if of.sorts.len() > 1 {
            return Err(refused("sort", "the opposite order stands alone"));
        }
        return one(Op::Reverse, "reverse", inputs);
    }
    let mut by = Vec::new();
    // Numbers without their signs are columns of their own until the rows are sorted.
    let mut unsigned: Vec<Expr> = Vec::new();
    for each in &of.sorts {
        columns::asked("sort", inputs[0].schema(), &each.column)?;
        let descending = each.direction < 0;
        let mut column = each.column.clone();
        if each.absolute {
            column = free_name(&format!("abs {}", each.column), inputs[0].schema());
            let size = Expr::call(Function::Abs, vec![Expr::column(each.column.as_str())]);
            unsigned.push(size.map_err(|error| refused("sort", error))?.alias(column.as_str()));
        }
        by.push(SortBy { column, descending, nulls_last: descending });
    }
    if unsigned.is_empty() {
        return one(Op::Sort { by }, "sort", inputs);
    }
    let names: Vec<(String, String)> =
        inputs[0].schema().fields().iter().map(|field| (field.name().clone(), field.name().clone())).collect();
    let wide = one(made_columns(unsigned, true), "sort", inputs)?;
    let sorted = one(Op::Sort { by }, "sort", &[wide])?;
    renamed("sort", names.into_iter(), &sorted)
}

/// Right columns, `"C"` or `"New = Old"`; all of them without any.
fn added(method: &str, texts: &[String]) -> Result<Option<Vec<(String, String)>>, Status> {
    if texts.is_empty() { Ok(None) } else { pairs(method, texts).map(Some) }
}

/// Columns that are computed as they are read.
pub(crate) fn made_columns(columns: Vec<Expr>, keep: bool) -> Op {
    let (orders, on_error, sequential) = (Vec::new(), OnError::default(), false);
    Op::Columns { columns, keep, orders, materialization: Materialization::Lazy, on_error, sequential }
}

/// A name that no column has.
fn free_name(like: &str, schema: &Schema) -> String {
    let taken = |name: &str| schema.field_with_name(name).is_ok();
    let mut name = like.to_owned();
    while taken(&name) {
        name.push('_');
    }
    name
}

/// Columns of a table, each by its new name and its old one.
fn renamed(method: &str, pairs: impl Iterator<Item = (String, String)>, of: &Table) -> Result<Table, Status> {
    let columns = pairs.map(|(new, old)| Expr::column(old).alias(new)).collect();
    one(made_columns(columns, false), method, std::slice::from_ref(of))
}

fn natural_join(method: &str, of: &Join, matches: Matches, inputs: &[Table]) -> Result<Table, Status> {
    let op = Op::NaturalJoin {
        on: pairs(method, &of.on)?,
        joins: added(method, &of.add)?,
        suffix: None,
        matches,
        nulls_equal: true,
        on_error: OnError::default(),
    };
    one(op, method, inputs)
}

/// The rows of the left table, each with lists of the cells of the right rows that match; null where none does.
fn left_join(of: &Join, inputs: &[Table]) -> Result<Table, Status> {
    const METHOD: &str = "left_join";
    let on = pairs(METHOD, &of.on)?;
    let right = &inputs[1];
    let is_key = |name: &str| on.iter().any(|(_, key)| key == name);
    let others = right.schema().fields().iter().map(|field| field.name().clone()).filter(|name| !is_key(name));
    let add = added(METHOD, &of.add)?.unwrap_or_else(|| others.map(|name| (name.clone(), name)).collect());
    let keys: Vec<String> = on.iter().map(|(_, key)| key.clone()).collect();
    let lists = add.iter().map(|(_, old)| Expr::aggregate(Kind::Implode, [Expr::column(old.as_str())]));
    let lists = lists.zip(&add).map(|(list, (new, _))| list.map(|list| list.alias(new.as_str())));
    let lists: Vec<Expr> = lists.collect::<Result<_, _>>().map_err(|error| refused(METHOD, error))?;
    if keys.is_empty() {
        return Err(refused(METHOD, "there are no columns to match"));
    }
    let grouped = aggregate(&keys, lists, false, std::slice::from_ref(right))?;
    let add = add.into_iter().map(|(new, _)| (new.clone(), new)).collect();
    let joined = Op::NaturalJoin {
        on,
        joins: Some(add),
        suffix: None,
        matches: Matches::First,
        nulls_equal: true,
        on_error: OnError::default(),
    };
    one(joined, METHOD, &[inputs[0].clone(), grouped])
}

fn cross_join(of: &Join, inputs: &[Table]) -> Result<Table, Status> {
    const METHOD: &str = "join";
    let on = pairs(METHOD, &of.on)?;
    let right = match added(METHOD, &of.add)? {
        None => inputs[1].clone(),
        Some(add) => {
            if let Some((_, key)) = on.iter().find(|(_, key)| add.iter().any(|(new, _)| new == key)) {
                return Err(refused(METHOD, format!("{key:?} is a key of the right table and an added column")));
            }
            let keys = on.iter().map(|(_, key)| (key.clone(), key.clone()));
            renamed(METHOD, keys.chain(add), &inputs[1])?
        }
    };
    let left = &inputs[0];
    let is_key = |name: &str| on.iter().any(|(_, key)| key == name);
    let names = right.schema().fields().iter().map(|field| field.name().as_str());
    if let Some(twice) = names.filter(|name| !is_key(name)).find(|name| left.schema().field_with_name(name).is_ok()) {
        return Err(refused(
            METHOD,
            format!("both tables have a column {twice:?}; give it another name: New = {twice}"),
        ));
    }
    let how = if on.is_empty() { How::Cross } else { How::Inner };
    let options = EquiOptions {
        on,
        how,
        suffix: "_right".to_owned(),
        nulls_equal: how == How::Inner,
        validate: Validate::ManyToMany,
        coalesce: true,
    };
    one(Op::Join(options), METHOD, &[left.clone(), right])
}

fn as_of(
    method: &str,
    on: (String, String),
    by: Vec<(String, String)>,
    strategy: Strategy,
    exact: bool,
    joins: Option<Vec<(String, String)>>,
    inputs: &[Table],
) -> Result<Table, Status> {
    let options = AsofOptions { on, by, strategy, tolerance: None, allow_exact_matches: exact, joins, suffix: None };
    one(Op::AsofJoin(options), method, inputs)
}

fn as_of_join(of: &Join, inputs: &[Table]) -> Result<Table, Status> {
    let (strategy, exact) = match of.rule {
        0 => (Strategy::Backward, true),
        1 => (Strategy::Backward, false),
        2 => (Strategy::ForwardLast, true),
        3 => (Strategy::ForwardLast, false),
        other => return Err(refused("as_of_join", format!("there is no rule {other}"))),
    };
    let mut by = pairs("as_of_join", &of.on)?;
    let on = by.pop().ok_or_else(|| refused("as_of_join", "the last of the columns is the ordered one"))?;
    as_of("as_of_join", on, by, strategy, exact, added("as_of_join", &of.add)?, inputs)
}

/// `"T"`, `"T >= U"` or `"T > U"`; `signs`: those that stand between, the first of which takes equal ones.
fn ordered(
    method: &str,
    of: &Ordered,
    strategy: Strategy,
    signs: [&str; 2],
    inputs: &[Table],
) -> Result<Table, Status> {
    let split = signs.iter().enumerate().find_map(|(at, sign)| Some((at, of.as_of.split_once(sign)?)));
    let (on, exact) = match split {
        Some((at, (left, right))) => ((left.trim().to_owned(), right.trim().to_owned()), at == 0),
        None => (pair(method, &of.as_of)?, true),
    };
    if on.0.is_empty() || on.1.is_empty() || [&on.0, &on.1].iter().any(|name| name.contains(['<', '>', '='])) {
        let [equal, beyond] = signs;
        let why = format!("the ordered column is \"T\", \"T {equal} U\" or \"T {beyond} U\", not {:?}", of.as_of);
        return Err(refused(method, why));
    }
    as_of(method, on, pairs(method, &of.on)?, strategy, exact, added(method, &of.add)?, inputs)
}

fn range_join(of: &RangeJoin, inputs: &[Table]) -> Result<Table, Status> {
    const METHOD: &str = "range_join";
    if !of.range.is_empty() {
        return Err(unknown(METHOD, "the range is given by its columns and rules, not as a text"));
    }
    let end = |column: &str, rule: i32| {
        let bound = match rule {
            1 => Bound::Open,
            2 => Bound::Closed,
            3 => Bound::Reaching,
            other => return Err(refused(METHOD, format!("there is no rule {other} for an end of a range"))),
        };
        Ok(RangeEnd { column: column.to_owned(), bound })
    };
    let how = RangeOptions {
        by: pairs(METHOD, &of.on)?,
        on: of.at.clone(),
        from: Some(end(&of.start, of.start_rule)?),
        to: Some(end(&of.end, of.end_rule)?),
    };
    let formulas = Formulas::new(METHOD, &inputs[1]);
    let aggregates = aggregations::expressions(&of.aggregations, &formulas)?;
    one(Op::RangeJoin { how, aggregates, on_error: OnError::default() }, METHOD, inputs)
}

fn multi_join(of: &MultiJoin, inputs: &[Table]) -> Result<Table, Status> {
    const METHOD: &str = "multi_join";
    let mut on: Vec<String> = Vec::new();
    let mut tables = Vec::new();
    for (input, table) in of.inputs.iter().zip(inputs) {
        let keys = pairs(METHOD, &input.on)?;
        let names: Vec<String> = keys.iter().map(|(new, _)| new.clone()).collect();
        if tables.is_empty() {
            on = names;
        } else if on != names {
            return Err(refused(METHOD, format!("all tables have the same keys: {on:?}, not {names:?}")));
        }
        let is_key = |name: &str| keys.iter().any(|(_, key)| key == name);
        let rest = table.schema().fields().iter().map(|field| field.name().clone());
        let rest = rest.filter(|name| !is_key(name)).map(|name| (name.clone(), name)).collect();
        let add = added(METHOD, &input.add)?.unwrap_or(rest);
        tables.push(renamed(METHOD, keys.into_iter().chain(add), table)?);
    }
    if tables.is_empty() {
        return Err(refused(METHOD, "there are no tables"));
    }
    one(Op::MultiJoin { on, nulls_equal: true, suffix: None }, METHOD, &tables)
}

/// Groups; without keys one row, whatever the table has.
fn aggregate(by: &[String], aggregates: Vec<Expr>, preserve: bool, inputs: &[Table]) -> Result<Table, Status> {
    let keys = by.iter().map(|name| Expr::column(name.as_str())).collect::<Vec<Expr>>();
    let on_error = OnError::default();
    let named = inputs.len() > 1;
    if preserve || named {
        let bounds = GroupBounds::default();
        let groups = StandingGroups { keys, aggregates, preserve_empty: preserve, named, on_error, bounds };
        return one(Op::StandingGroups(groups), "agg_by", inputs);
    }
    one(Op::Aggregate { keys, aggregates, on_error }, "agg_by", inputs)
}

/// Names and types, a row for each column.
fn meta_table(of: &Table) -> Result<Table, Status> {
    let shown = barrage::original(of.schema());
    let texts = |of: &dyn Fn(&Field) -> String| -> ArrayRef {
        Arc::new(shown.fields().iter().map(|field| Some(of(field))).collect::<StringArray>())
    };
    let kind = |field: &Field| field.metadata().get("deephaven:type").cloned().unwrap_or_default();
    let rows = shown.fields().len();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("Name", texts(&|field| field.name().clone())),
        ("DataType", texts(&kind)),
        ("ColumnType", texts(&|_| "Normal".to_owned())),
        ("IsPartitioning", Arc::new(BooleanArray::from(vec![false; rows]))),
    ];
    let fields: Vec<Field> =
        columns.iter().map(|(name, cells)| Field::new(*name, cells.data_type().clone(), true)).collect();
    let cells = columns.into_iter().map(|(_, cells)| vec![cells]).collect();
    engine::sources::from_chunks(Arc::new(Schema::new(fields)), cells, rows as u64).map_err(engine_error)
}
