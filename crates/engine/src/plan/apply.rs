//! From an operation of a plan to a table: what each [`Op`] attaches to the tables it stands on.

use std::sync::Arc;

use formula::Expr;
use formula::values::LiveSet;

use super::lower::{
    self, ColumnOptions, add_only_to_blink, aggregate, blink_to_append_only, distinct, filtered, held_rows, in_order,
    join, join_where, merge_sorted, multi_join, natural_join, pivot, range_join, rolling, sort, standing, sync_filter,
    sync_leader, time_sessions, time_windows, top_k,
};
use super::node::{DEEPEST, Plan};
use super::op::Op;
use super::watermarks::{passed_on, watermark};
use crate::error::Error;
use crate::eval::call::Call;
use crate::ops::{
    AsofJoin, Concat, Explode, Flatten, GroupLimit, MostRecent, NaturalJoin, NowJoin, Project, Reverse, Ring, Slice,
    SnapshotWhen, TimeWindow, WhereIn,
};
use crate::plan::spec::InputColumns;
use crate::table::handle::Table;

/// The table that an operation makes of others, with the plan by which it was made.
pub fn apply(op: Op, call: impl Into<Call>, inputs: &[Table]) -> Result<Table, Error> {
    let (op, call) = (plain(op)?, call.into());
    let made = table_of(&op, &call, inputs)?;
    let mark = passed_on(&op, &call, inputs, &made)?;
    let mut below: Vec<Plan> = inputs.iter().map(Table::plan).collect();
    // What is held of the inputs is held for what was asked for.
    let held = inputs.iter().zip(&below).filter(|(_, plan)| matches!(plan.op(), Op::HeldRows(_)));
    let tallies = held.flat_map(|(input, _)| input.tallies().iter().cloned()).collect();
    let made = made.marked(mark).with_tallies(tallies);
    let reads_tables = op.expressions().any(Expr::reads_tables);
    let place = &mut |expression: &Expr| with_places(expression, &mut below);
    let op = if reads_tables { op.map_expressions(place) } else { op };
    let plan = Plan::new(op, call.method, below);
    // Only a static table can be made of another without end.
    Ok(if made.is_live() || plan.depth() <= DEEPEST { made.with_plan(plan) } else { made.without_plan() })
}

/// The operation as it is compared: columns that may read those before them, and do not, are columns of the input.
fn plain(mut op: Op) -> Result<Op, Error> {
    if let Op::Columns { columns, sequential, .. } = &mut op {
        *sequential = *sequential && lower::batches(columns)?.len() > 1;
    }
    Ok(op)
}

fn table_of(op: &Op, call: &Call, inputs: &[Table]) -> Result<Table, Error> {
    let method = &*call.method;
    if op.arity().is_some_and(|arity| arity != inputs.len()) {
        let wanted = op.arity().unwrap_or_default();
        return Err(Error::schema(method, format!("it stands on {wanted} tables, not {}", inputs.len())));
    }
    match op {
        Op::Input(_) => Err(Error::schema(method, "an input is given, not made")),
        Op::Filter { predicates, orders, on_error } => filtered(call, &inputs[0], predicates, orders, *on_error),
        Op::Columns { columns, keep, orders, materialization, on_error, sequential } => {
            let how = ColumnOptions {
                orders,
                kept: *materialization,
                own: InputColumns::kept(*keep),
                on_error: *on_error,
                row_errors: None,
            };
            match sequential {
                true => lower::sequential(call, &inputs[0], columns, how),
                false => lower::columns(call, &inputs[0], columns, how),
            }
        }
        Op::Choose { names } => call.attach(&Project::choose(&inputs[0], names)?, inputs),
        Op::Drop { names } => call.attach(&Project::drop(&inputs[0], names)?, inputs),
        Op::Rename { names } => call.attach(&Project::rename(&inputs[0], names)?, inputs),
        Op::Head { rows } => call.attach(&Slice::head(*rows), inputs),
        Op::Tail { rows } => call.attach(&Slice::tail(*rows), inputs),
        Op::Slice { offset, length } => call.attach(&Slice::new(*offset, *length), inputs),
        Op::Extent(extent) => call.attach(&Slice::within(method, *extent)?, inputs),
        Op::Sort { by } => sort(call, &inputs[0], by),
        Op::InOrder { by, checked } => in_order(call, &inputs[0], by, *checked),
        Op::MergeSorted { by } => merge_sorted(call, inputs, by),
        Op::TopK { by, rows } => top_k(call, &inputs[0], by, *rows),
        Op::Reverse => call.attach(&Reverse::default(), inputs),
        Op::Flatten => call.attach(&Flatten::default(), inputs),
        Op::Explode(how) => call.attach(&Explode::new(method, &inputs[0], how)?, inputs),
        Op::SnapshotWhen { stamps, initial, incremental, history } => {
            let [base, trigger] = inputs else { unreachable!("two, as its arity says") };
            call.attach(&SnapshotWhen::new(base, trigger, stamps, *initial, *incremental, *history)?, inputs)
        }
        Op::TimeWindow { stamp, span, flag } => {
            if *span < 0 {
                return Err(Error::invalid(method, "the window must not be negative"));
            }
            call.attach(&TimeWindow::new(method, &inputs[0], stamp, *span, &flag.as_str().into())?, inputs)
        }
        Op::Watermark { stamp, delay, idle_after } => watermark(call, &inputs[0], stamp, *delay, *idle_after),
        Op::Ring { rows } => call.attach(&Ring::new(*rows), inputs),
        Op::MostRecent { by, recent } => call.attach(&MostRecent::new(method, &inputs[0], by, recent)?, inputs),
        Op::BlinkToAppendOnly => blink_to_append_only(call, &inputs[0]),
        Op::AddOnlyToBlink => add_only_to_blink(call, &inputs[0]),
        Op::RemoveBlink => call.attach(&Project::without_blink(&inputs[0])?, inputs),
        Op::Concat => call.attach(&Concat::new(method, inputs)?, inputs),
        Op::Aggregate { keys, aggregates, on_error } => aggregate(call, &inputs[0], keys, aggregates, *on_error),
        Op::StandingGroups(how) => standing(call, inputs, how),
        Op::Windows { how, keys, aggregates, on_error } => {
            time_windows(call, &inputs[0], how, keys, aggregates, *on_error)
        }
        Op::Session { how, keys, aggregates, on_error } => {
            time_sessions(call, &inputs[0], how, keys, aggregates, *on_error)
        }
        Op::Distinct { keys, keep, bounds } => distinct(call, &inputs[0], keys, *keep, *bounds),
        Op::HeldRows(bounds) => held_rows(call, &inputs[0], *bounds),
        Op::GroupLimit { keys, rows, keep } => {
            call.attach(&GroupLimit::new(method, &inputs[0], keys, *rows, *keep)?, inputs)
        }
        Op::UpdateBy { by, inputs: of, operators, resets, bounds, on_error } => {
            lower::update_by(call, &inputs[0], by, of, operators, *resets, *bounds, *on_error)
        }
        Op::NaturalJoin { on, joins, suffix, matches, nulls_equal, on_error } => {
            let [left, right] = inputs else { unreachable!("two, as its arity says") };
            let (joins, suffix) = (joins.as_deref(), suffix.as_deref());
            let join = NaturalJoin::new(method, left, right, on, joins, suffix, *matches, *nulls_equal)?;
            natural_join(call, join, left, right, on, *on_error)
        }
        Op::Join(options) => join(call, &inputs[0], &inputs[1], options.clone()),
        Op::WhereIn { on, member, nulls_equal } => {
            call.attach(&WhereIn::new(method, &inputs[0], &inputs[1], on, *member, *nulls_equal)?, inputs)
        }
        Op::JoinNow(how) => call.attach(&NowJoin::new(method, &inputs[0], &inputs[1], how)?, inputs),
        Op::RangeJoin { how, aggregates, on_error } => {
            range_join(call, &inputs[0], &inputs[1], how, aggregates, *on_error)
        }
        Op::Rolling { how, aggregates, on_error } => rolling(call, &inputs[0], how, aggregates, *on_error),
        Op::Pivot { how, values, aggregates, on_error } => pivot(call, &inputs[0], values, how, aggregates, *on_error),
        Op::JoinWhere { predicates, suffix, on_error } => {
            join_where(call, &inputs[0], &inputs[1], predicates, suffix, *on_error)
        }
        Op::MultiJoin { on, nulls_equal, suffix } => multi_join(call, inputs, on, *nulls_equal, suffix.as_deref()),
        Op::SyncFilter { keys, ids, which } => sync_filter(call, inputs, keys, ids, *which),
        Op::SyncLeader { keys, ids, which } => sync_leader(call, inputs, keys, ids, *which),
        Op::AsofJoin(how) => call.attach(&AsofJoin::new(method, &inputs[0], &inputs[1], how)?, inputs),
    }
}

/// The expression with the places of its live sets among the inputs, to which their tables' plans are added.
fn with_places(expression: &Expr, inputs: &mut Vec<Plan>) -> Expr {
    match expression {
        Expr::InSet { input, set, nulls_equal } => {
            let input = Arc::new(with_places(input, inputs));
            let Some(table) = lower::table_of(set) else { return expression.clone() };
            let plan = table.plan();
            let at = inputs.iter().position(|known| known.is(&plan)).unwrap_or_else(|| {
                inputs.push(plan);
                inputs.len() - 1
            });
            Expr::InSet { input, set: LiveSet::placed(at), nulls_equal: *nulls_equal }
        }
        other if other.reads_tables() => other.map_children(&mut |child| with_places(child, inputs)),
        other => other.clone(),
    }
}
