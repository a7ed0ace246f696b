//! `update_by`: the columns of a call by the node that makes them, and behind one another in the order in which they were asked
//! for.
//!
//!   update_by(a = cum_sum(x), b = y - y.shift(1), c = ema_tick(y), by K)
//!     one `Running` of a and c, the columns of b over K, and a `Project`
//!
//! Values that begin anew in some rows run within groups of these and of the number of such rows so far. One node a call and kind. A column of a name that the table has stands in its place.

use formula::hidden::next_hidden;
use formula::{ColumnName, Expr, Function, Runs, RunsOf, Window};

use super::columns::columns;
use super::computed::ColumnOptions;
use super::held::Held;
use super::hidden::taken;
use super::over::Hidden;
use crate::error::Error;
use crate::eval::call::Call;
use crate::ops::{Project, Running};
use crate::plan::bounds::GroupBounds;
use crate::plan::update_by::{Operator, OperatorKind, RunningKind};
use crate::row_errors::{OnError, RowErrors};
use crate::table::handle::Table;

/// The table with the columns that these operators make of these inputs.
pub(in crate::plan) fn update_by(
    call: &Call,
    table: &Table,
    by: &[String],
    inputs: &[Expr],
    operators: &[Operator],
    resets: bool,
    bounds: GroupBounds,
    on_error: OnError,
) -> Result<Table, Error> {
    let (reset, inputs) = match inputs.split_last() {
        Some((reset, inputs)) if resets => (Some(reset), inputs),
        _ => (None, inputs),
    };
    check(call, table, by, inputs, operators)?;
    let held = held(call, table, by, operators, bounds)?;
    if held.is_some() && reset.is_some() {
        let message = "reset counts runs in each group for as long as the table lives, so no group can be let go; leave out reset, or \
                       state_ttl and max_groups";
        return Err(Error::invalid(&call.method, message));
    }
    let mut next = next_hidden(table.schema());
    // A column that replaces one is not seen by the others.
    let names: Vec<ColumnName> = operators
        .iter()
        .zip(inputs)
        .map(|(operator, input)| match table.schema().index_of(&operator.output) {
            Ok(_) => ColumnName::hidden(taken(&mut next), Some(&operator.output), operator.text(input)),
            Err(_) => operator.output.as_str().into(),
        })
        .collect();
    let mut runs = by.to_vec();
    let mut wide = table.clone();
    let (mut staged, mut staged_reset) = (inputs.to_vec(), reset.cloned());
    if on_error != OnError::Fail {
        let mut hidden = Hidden::new(&mut next);
        for (operator, input) in operators.iter().zip(&mut staged) {
            *input = match operator.kind {
                OperatorKind::Running(_) => own_column(input, &mut hidden),
                OperatorKind::Value => computed_first(input, &mut hidden),
            };
        }
        staged_reset = staged_reset.map(|reset| computed_first(&reset, &mut hidden));
        wide = hidden.columns_as(call, table, ColumnOptions { on_error, ..ColumnOptions::STORED }, columns)?;
    }
    let faults_of = |wide: &Table| {
        wide.request().row_errors.as_ref().filter(|_| wide.width() > table.width()).map(RowErrors::sibling)
    };
    if let Some(reset) = staged_reset.as_mut().filter(|_| on_error != OnError::Fail) {
        // Where it cannot be computed is known before rows are counted.
        let (name, row_errors) = (reset.hidden(taken(&mut next)), faults_of(&wide));
        let how = ColumnOptions { on_error, row_errors: row_errors.as_ref(), ..ColumnOptions::STORED };
        wide = columns(call, &wide, &[over(reset, by)?.alias(&name)], how)?;
        *reset = Expr::column(name.as_str());
    }
    let row_errors = faults_of(&wide);
    let last = ColumnOptions { on_error, row_errors: row_errors.as_ref(), ..ColumnOptions::STORED };
    let (inputs, reset) = (&staged[..], staged_reset.as_ref());
    if let Some(reset) = reset {
        let name = reset.hidden(taken(&mut next));
        wide = columns(call, &wide, &[numbered(reset, by)?.alias(&name)], ColumnOptions::STORED)?;
        runs.push(name.to_string());
    }
    let by = &runs[..];
    let mut hidden = Hidden::new(&mut next);
    let mut running: Vec<(String, RunningKind, ColumnName)> = Vec::new();
    let mut values: Vec<Expr> = Vec::new();
    for ((operator, input), name) in operators.iter().zip(inputs).zip(&names) {
        match &operator.kind {
            OperatorKind::Running(kind) => running.push((hidden.name(input), kind.clone(), name.clone())),
            OperatorKind::Value => values.push(over(input, by)?.alias(name)),
        }
    }
    let mut made = hidden.columns(call, &wide, columns)?;
    if !running.is_empty() {
        let how = held.as_ref().map(|held| held.how(call, &made)).transpose()?;
        let run = Running::new(&call.method, &made, by, &running)?.holding(how);
        let inputs: Vec<Table> = std::iter::once(&made).chain(held.as_ref().and_then(Held::clock)).cloned().collect();
        made = call.attach(&run, &inputs)?;
    }
    if !values.is_empty() {
        made = columns(call, &made, &values, last)?;
    }
    Ok(Held::told(held.as_ref(), in_order(call, table, &made, operators, &names, row_errors.as_ref())?))
}

/// Which groups are held; of those whose rows come at the end alone.
fn held(
    call: &Call,
    table: &Table,
    by: &[String],
    operators: &[Operator],
    bounds: GroupBounds,
) -> Result<Option<Held>, Error> {
    let Some(held) = Held::of(call, table, bounds, !by.is_empty())? else { return Ok(None) };
    let refused = |message: &str| Err(Error::invalid(&call.method, message));
    if bounds.keep_results {
        return refused("keep_results is of groups whose rows are results; rows of the table stay as they are");
    }
    if !table.attributes().blink && !table.attributes().append_only {
        return refused(
            "state_ttl and max_groups are of tables whose rows come at their end alone; this one gains rows in between",
        );
    }
    if operators.iter().any(|operator| matches!(operator.kind, OperatorKind::Value)) {
        return refused(
            "state_ttl and max_groups are of values that run on; windows, shifts and other expressions read the rows of their \
             table, and are held with these: keep fewer of them, by time_window or ring_table",
        );
    }
    Ok(Some(held))
}

/// The expression as a column.
fn own_column(expression: &Expr, hidden: &mut Hidden<'_>) -> Expr {
    Expr::column(hidden.name(expression).as_str())
}

/// The expression over columns of what it reads of other rows, each computed for its own row before.
fn computed_first(expression: &Expr, hidden: &mut Hidden<'_>) -> Expr {
    let is_value = |of: &Expr| matches!(of.unaliased(), Expr::Column(_) | Expr::Literal(_));
    let mut first = |of: &Expr| if is_value(of) { of.clone() } else { own_column(of, hidden) };
    match expression {
        Expr::Aggregate { .. } | Expr::Call { function: Function::Shift { .. }, .. } => {
            expression.map_children(&mut first)
        }
        Expr::Over { window, .. } if window.runs.is_some() => expression.map_children(&mut first),
        other => other.map_children(&mut |inner: &Expr| computed_first(inner, hidden)),
    }
}

/// In how many rows of the group so far the condition was true: rows of one number run together.
fn numbered(reset: &Expr, by: &[String]) -> Result<Expr, Error> {
    let condition = over(reset, by)?;
    let one = Expr::when(vec![(condition, Expr::literal(1_i64))], Some(Expr::literal(0_i64)))?;
    let counted = one.running(Runs { of: RunsOf::Sum, backward: false }, None)?;
    over(&counted, by)
}

/// The input over the groups, if it reads other rows.
fn over(input: &Expr, by: &[String]) -> Result<Expr, Error> {
    let input = input.unaliased();
    let own = matches!(input, Expr::Over { window, .. } if !window.moves() || !window.by.is_empty());
    if by.is_empty() || own || !(input.is_aggregate() || input.reads_neighbours() || input.rolls()) {
        return Ok(input.clone());
    }
    let by = by.iter().map(|name| Expr::column(name.as_str())).collect();
    Ok(input.clone().over(Window { by, ..Window::default() })?)
}

fn check(call: &Call, table: &Table, by: &[String], inputs: &[Expr], operators: &[Operator]) -> Result<(), Error> {
    let method = &*call.method;
    if inputs.len() != operators.len() {
        return Err(Error::schema(method, format!("{} inputs for {} columns", inputs.len(), operators.len())));
    }
    if operators.is_empty() {
        return Err(Error::schema(method, "at least one operator is needed, such as tf.update_by.cum_sum(\"x\")"));
    }
    for key in by {
        table.column_index(method, key)?;
    }
    let mut seen = std::collections::HashSet::new();
    for operator in operators {
        let name = &operator.output;
        if by.contains(name) {
            let message = format!("the new column {name:?} would replace a column by which rows are grouped");
            return Err(Error::invalid(method, message));
        }
        if !seen.insert(name) {
            return Err(Error::Duplicate { operation: method.into(), name: name.clone() });
        }
    }
    Ok(())
}

/// The columns of the table, each in its place or replaced there, and the further ones; none in between.
fn in_order(
    call: &Call,
    table: &Table,
    made: &Table,
    operators: &[Operator],
    names: &[ColumnName],
    row_errors: Option<&RowErrors>,
) -> Result<Table, Error> {
    let own = table.schema().fields().iter().map(|field| field.name().clone());
    let behind = operators.iter().map(|operator| operator.output.clone());
    let behind = behind.filter(|name| table.schema().index_of(name).is_err());
    let wanted: Vec<String> = own.chain(behind).collect();
    if made.schema().fields().iter().map(|field| field.name()).eq(&wanted) {
        return Ok(made.clone());
    }
    let place = |name: &String| {
        let replaced = operators.iter().position(|operator| operator.output == *name);
        let held = replaced.map_or(name.as_str(), |at| names[at].as_str());
        Ok((made.column_index(&call.method, held)?, name.clone()))
    };
    let chosen = wanted.iter().map(place).collect::<Result<Vec<_>, Error>>()?;
    let project = Project::of(&call.method, chosen)?.reporting_to(made.request().row_errors.as_ref().or(row_errors));
    call.attach(&project, std::slice::from_ref(made))
}
