//! Aggregates beside the rows they are of: `col("x").sum().over("k")`, `col("x") - col("x").mean()`; and
//! neighbours within groups, `col("x").shift(1).over("k")`.
//!
//!   in    + 0 A 1    + 1 B 2    + 2 A 3       with_columns s = V.sum().over(K)
//!   out   + 0 A 1 4  + 1 B 2 2  + 2 A 3 4
//!   in    + 3 B 5    out   + 3 B 5 7    ~ 1 B 2 7    K {s}
//!
//! Each set of groups is one aggregation by its keys, joined back on them (null is a group), and the expression reads
//! the joined columns. Without keys all rows are one group. Cost of an update: one probe a changed row in both, and the
//! rows of the groups whose value changed. Neighbours are columns of [`GroupedShift`].

use std::sync::Arc;

use arrow_schema::Schema;
use formula::hidden::next_hidden;
use formula::{Aggregate, ColumnName, Expr, Function, Runs, RunsOf, Window};

use super::aggregate::{Which, composed};
use super::computed::{ColumnOptions, Columns};
use super::hidden::taken;
use super::rolling;
use super::runs::{self, Order};
use super::sets::{answer, tested};
use crate::error::Error;
use crate::eval::call::Call;
use crate::ops::{GroupedShift, NaturalJoin, Project, Sort};
use crate::plan::spec::{Matches, Materialization, SortBy};
use crate::row_errors::{OnError, RowErrors};
use crate::table::handle::Table;

/// Aggregates of the same groups.
struct Groups {
    window: Window,
    /// Each with the name of the hidden column that stands for it.
    parts: Vec<Expr>,
}

/// Neighbours within the same groups: what is shifted, by how many rows, and the name of the column that stands for it.
struct Neighbours {
    /// Groups and order alone.
    window: Window,
    parts: Vec<(Expr, i64, ColumnName)>,
}

/// Values that run on within the same groups, in one order: what they are of, what they are, and the name of the column.
struct Running {
    window: Window,
    parts: Vec<(Expr, Runs, ColumnName)>,
}

/// What is to be joined to a table before its expressions can be computed.
struct SubqueryPlan {
    /// The columns of the table.
    columns: Arc<Schema>,
    groups: Vec<Groups>,
    neighbours: Vec<Neighbours>,
    running: Vec<Running>,
    /// Tests for membership, each with the name of the column that stands for it.
    sets: Vec<(Expr, ColumnName)>,
    /// Why an expression cannot be taken apart.
    refused: Option<formula::Error>,
    /// The number of the next hidden column.
    next: usize,
}

/// The table with a hidden column for each aggregate over groups, or over all rows, and for each test for membership in
/// a live set, and the expressions over it; none if nothing of the kind is asked.
pub(super) fn planned(
    call: &Call,
    table: &Table,
    expressions: &[Expr],
    on_error: OnError,
    columns: Columns,
) -> Result<Option<(Table, Vec<Expr>)>, Error> {
    if !expressions.iter().any(Expr::reads_groups) {
        return Ok(None);
    }
    refuse(call, table, expressions, on_error)?;
    let mut wide = table.clone();
    let mut over: Vec<Expr> = expressions.iter().map(|one| one.unaliased().clone()).collect();
    let named = expressions.iter().filter_map(|one| one.output_column().ok()?.number());
    let next = named.map(|number| number + 1).chain([next_hidden(table.schema())]).max().unwrap_or_default();
    let mut subquery = SubqueryPlan {
        columns: table.canonical().clone(),
        groups: Vec::new(),
        neighbours: Vec::new(),
        running: Vec::new(),
        sets: Vec::new(),
        refused: None,
        next,
    };
    // The innermost first: what stands inside an aggregate must be a column before.
    while over.iter().any(Expr::reads_groups) {
        over = over.iter().map(|one| lifted(one, &mut subquery)).collect();
        if let Some(error) = subquery.refused.take() {
            return Err(Error::Formula { operation: (&*call.method).into(), error });
        }
        for group in std::mem::take(&mut subquery.groups) {
            wide = joined(call, &wide, &group, &mut subquery.next, columns)?;
        }
        for group in std::mem::take(&mut subquery.neighbours) {
            wide = shifted(call, &wide, &group, &mut subquery.next, columns)?;
        }
        for group in std::mem::take(&mut subquery.running) {
            wide = ran(call, &wide, &group, &mut subquery.next, columns)?;
        }
        for (test, name) in std::mem::take(&mut subquery.sets) {
            if let Expr::InSet { input, set, nulls_equal } = &test {
                wide = tested(call, &wide, input, set, *nulls_equal, &name, &mut subquery.next, columns)?;
            }
        }
        subquery.columns = wide.canonical().clone();
    }
    let named = over.into_iter().zip(expressions).map(|(over, given)| Ok(over.alias(given.output_column()?)));
    Ok(Some((wide, named.collect::<Result<_, Error>>()?)))
}

/// Only what the table had and the new columns, without those in between.
pub(super) fn without_hidden(
    call: &Call,
    table: &Table,
    made: &Table,
    expressions: &[Expr],
    row_errors: Option<&RowErrors>,
) -> Result<Table, Error> {
    let mut names: Vec<String> = table.schema().fields().iter().map(|field| field.name().clone()).collect();
    for expression in expressions {
        let name = expression.output_name()?;
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let row_errors = made.request().row_errors.as_ref().or(row_errors);
    let project = Project::choose(made, &names)?.reporting_to(row_errors);
    call.attach(&project, std::slice::from_ref(made))
}

/// Whether every expression is one value of all rows: `select` of them has one row.
pub(super) fn one_row(expressions: &[Expr]) -> bool {
    fn loose(expression: &Expr) -> bool {
        match expression {
            Expr::Aggregate { .. } => false,
            Expr::Column(_) | Expr::Over { .. } => true,
            other => other.children().any(loose),
        }
    }
    !expressions.is_empty() && expressions.iter().all(|one| one.is_aggregate() && !loose(one))
}

fn refuse(call: &Call, table: &Table, expressions: &[Expr], on_error: OnError) -> Result<(), Error> {
    let aggregates = |expression: &Expr| matches!(expression, Expr::Aggregate { .. });
    if table.attributes().blink && expressions.iter().any(|one| any(one, &aggregates)) {
        return Err(Error::invalid(
            &call.method,
            "aggregates beside the rows of a blink table: its rows live for one step and an aggregation accumulates; \
             aggregate it with agg_by, and natural_join the result",
        ));
    }
    let shifts_more = |expression: &Expr| match expression {
        Expr::Call { function: Function::Shift { .. }, args } => {
            args.iter().any(|of| !is_column(of) && !matches!(of, Expr::Literal(_)))
        }
        _ => false,
    };
    let fails = |expression: &Expr| match expression {
        Expr::Aggregate { inputs, .. } => inputs.iter().any(|input| !is_column(input)),
        Expr::Over { input, window } => {
            let of_more = window.runs.is_some() && !is_column(input);
            of_more || window.by.iter().chain(&window.order).any(|one| !is_column(one)) || any(input, &shifts_more)
        }
        _ => false,
    };
    if on_error != OnError::Fail && expressions.iter().any(|one| any(one, &fails)) {
        return Err(Error::invalid(
            &call.method,
            "on_error with an aggregate of an expression, or a shift of one over groups: a row without a value would \
             be missing in its group; make the expression a column first, with its own on_error, and aggregate that",
        ));
    }
    Ok(())
}

fn any(expression: &Expr, is: &impl Fn(&Expr) -> bool) -> bool {
    is(expression) || expression.children().any(|child| any(child, is))
}

fn is_column(expression: &Expr) -> bool {
    matches!(expression.unaliased(), Expr::Column(_))
}

/// The expression with a column in place of each aggregate whose groups are columns already, and of each test for
/// membership of what is one.
fn lifted(expression: &Expr, subquery: &mut SubqueryPlan) -> Expr {
    let waits = expression.children().any(Expr::reads_tables);
    match expression {
        // A rank is in the order of the values: what these are made of is in the order of the rows.
        Expr::Over { input, window } if !waits && ranks(window) && input.reads_neighbours() => {
            let rows = Arc::new(Window { by: window.by.clone(), ..Window::default() });
            Expr::Over { input: neighbours_lifted(input, &rows, subquery).into(), window: window.clone() }
        }
        Expr::Over { input, window }
            if !waits && (!window.by.is_empty() || window.is_ordered()) && input.reads_neighbours() =>
        {
            Expr::Over { input: neighbours_lifted(input, window, subquery).into(), window: window.clone() }
        }
        Expr::Over { input, window } if !waits && window.runs.is_some() => {
            runs_lifted(expression, input, window, subquery)
        }
        Expr::Over { input, window } if !waits => aggregated(input, window, subquery),
        Expr::Aggregate { .. } if !waits => aggregated(expression, &Window::default(), subquery),
        Expr::InSet { input, nulls_equal, .. } if !input.reads_groups() => {
            let name = expression.hidden(taken(&mut subquery.next));
            let answer = answer(input, *nulls_equal, &name);
            subquery.sets.push((expression.clone(), name));
            answer
        }
        // What is over groups, or aggregates over groups, waits for what it reads.
        Expr::Over { .. } | Expr::Aggregate { .. } => tables_lifted(expression, subquery),
        other => other.map_children(&mut |child| lifted(child, subquery)),
    }
}

fn ranks(window: &Window) -> bool {
    window.order.is_empty() && window.runs.is_some_and(|runs| matches!(runs.of, RunsOf::Rank { .. }))
}

/// As [`lifted`], except that an aggregate without `.over()` stays: it belongs to the groups of the enclosing window.
fn tables_lifted(expression: &Expr, subquery: &mut SubqueryPlan) -> Expr {
    expression.map_children(&mut |child| match child {
        Expr::Over { .. } | Expr::InSet { .. } => lifted(child, subquery),
        other if other.reads_tables() => tables_lifted(other, subquery),
        other => other.clone(),
    })
}

/// The expression with a column in place of each `shift` within these groups, and of what is shifted if that is more than
/// the row has: the innermost first, an aggregate of shifted values thereafter.
fn neighbours_lifted(expression: &Expr, window: &Arc<Window>, subquery: &mut SubqueryPlan) -> Expr {
    let Expr::Call { function: Function::Shift { by }, args } = expression else {
        return expression.map_children(&mut |child| neighbours_lifted(child, window, subquery));
    };
    match args.first() {
        Some(of) if of.reads_neighbours() => {
            expression.map_children(&mut |child| neighbours_lifted(child, window, subquery))
        }
        Some(of) if of.is_aggregate() => expression.map_children(&mut |child| aggregated(child, window, subquery)),
        Some(of) if *by == 0 => of.clone(),
        Some(of) => neighbour(expression, of, *by, window, subquery),
        None => expression.clone(),
    }
}

/// A column in place of what runs on within these groups, or what is made of several of them.
fn runs_lifted(expression: &Expr, input: &Expr, window: &Window, subquery: &mut SubqueryPlan) -> Expr {
    let Some(runs) = window.runs else { return expression.clone() };
    match runs::composed(input, window, &subquery.columns) {
        Ok(Some(made)) => return made,
        Ok(None) => {}
        Err(error) => {
            subquery.refused = Some(error);
            return Expr::literal(formula::Literal::Null);
        }
    }
    let in_one = |known: &Running| {
        let with = Window { runs: known.window.runs, ..window.clone() };
        known.window == with && known.window.runs.is_some_and(|own| own.backward == runs.backward)
    };
    let place = subquery.running.iter().position(in_one).unwrap_or_else(|| {
        subquery.running.push(Running { window: window.clone(), parts: Vec::new() });
        subquery.running.len() - 1
    });
    let parts = &mut subquery.running[place].parts;
    if let Some((.., name)) = parts.iter().find(|(known, of, _)| known == input && *of == runs) {
        return Expr::column(name);
    }
    let name = expression.hidden(taken(&mut subquery.next));
    parts.push((input.clone(), runs, name.clone()));
    Expr::column(name)
}

/// The table with what runs on within these groups beside its rows.
fn ran(call: &Call, table: &Table, group: &Running, next: &mut usize, columns: Columns) -> Result<Table, Error> {
    let mut hidden = Hidden::new(next);
    let keys = hidden.keys(&group.window.by);
    let order = hidden.keys(&group.window.order);
    let part = |(input, runs, name): &(Expr, Runs, ColumnName)| runs::Part {
        input: hidden.name(input),
        runs: *runs,
        name: name.clone(),
    };
    let parts: Vec<runs::Part> = group.parts.iter().map(part).collect();
    let wide = hidden.columns(call, table, columns)?;
    runs::ran(call, &wide, &keys, &Order::of(&group.window, order), &parts, next)
}

/// A column in place of a neighbour within these groups; equal ones are one column.
fn neighbour(expression: &Expr, of: &Expr, by: i64, window: &Arc<Window>, subquery: &mut SubqueryPlan) -> Expr {
    let order = if window.is_ordered() { window.order.clone() } else { Vec::new() };
    let own = Window { by: window.by.clone(), order, ..Window::default() };
    let own = match own.order.is_empty() {
        true => own,
        false => Window { descending: window.descending, nulls_last: window.nulls_last, ..own },
    };
    let place = subquery.neighbours.iter().position(|known| known.window == own).unwrap_or_else(|| {
        subquery.neighbours.push(Neighbours { window: own, parts: Vec::new() });
        subquery.neighbours.len() - 1
    });
    let parts = &mut subquery.neighbours[place].parts;
    if let Some((_, _, name)) = parts.iter().find(|(known, known_by, _)| (known, *known_by) == (of, by)) {
        return Expr::column(name);
    }
    let shown = Expr::Over { input: expression.clone().into(), window: window.clone() };
    let name = shown.hidden(taken(&mut subquery.next));
    parts.push((of.clone(), by, name.clone()));
    Expr::column(name)
}

/// The table with the neighbours within these groups beside its rows.
fn shifted(call: &Call, table: &Table, group: &Neighbours, next: &mut usize, columns: Columns) -> Result<Table, Error> {
    let mut hidden = Hidden::new(next);
    let keys = hidden.keys(&group.window.by);
    let order = hidden.keys(&group.window.order);
    let parts: Vec<(String, i64, ColumnName)> =
        group.parts.iter().map(|(of, by, name)| (hidden.name(of), *by, name.clone())).collect();
    let made: Vec<ColumnName> = group.parts.iter().map(|(.., name)| name.clone()).collect();
    let wide = hidden.columns(call, table, columns)?;
    runs::in_order(call, &wide, &Order::of(&group.window, order), &made, next, |turned| {
        call.attach(&GroupedShift::new(&call.method, turned, &keys, &parts)?, std::slice::from_ref(turned))
    })
}

/// Expressions that must be columns before an operation can read them by name.
pub(super) struct Hidden<'a> {
    next: &'a mut usize,
    expressions: Vec<Expr>,
}

impl Hidden<'_> {
    pub(super) fn new(next: &mut usize) -> Hidden<'_> {
        Hidden { next, expressions: Vec::new() }
    }

    /// The name of an expression: its own if it is a column.
    pub(super) fn name(&mut self, expression: &Expr) -> String {
        match expression.unaliased() {
            Expr::Column(name) => name.to_string(),
            other => {
                let name = other.hidden(taken(self.next));
                self.expressions.push(other.clone().alias(&name));
                name.to_string()
            }
        }
    }

    /// The names of keys, each once.
    fn keys(&mut self, by: &[Expr]) -> Vec<String> {
        let mut keys: Vec<String> = Vec::new();
        for by in by {
            let key = self.name(by);
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        keys
    }

    /// The table with a column for each expression that is none.
    pub(super) fn columns(self, call: &Call, table: &Table, columns: Columns) -> Result<Table, Error> {
        self.columns_as(call, table, ColumnOptions::STORED, columns)
    }

    /// As [`Hidden::columns`], with what becomes of rows that cannot be computed.
    pub(super) fn columns_as(
        self,
        call: &Call,
        table: &Table,
        how: ColumnOptions<'_>,
        columns: Columns,
    ) -> Result<Table, Error> {
        if self.expressions.is_empty() {
            return Ok(table.clone());
        }
        columns(call, table, &self.expressions, how)
    }
}

/// The expression with a column in place of each aggregate of these groups; equal ones are one column.
fn aggregated(expression: &Expr, window: &Window, subquery: &mut SubqueryPlan) -> Expr {
    let Expr::Aggregate { kind, .. } = expression else {
        return expression.map_children(&mut |child| aggregated(child, window, subquery));
    };
    // Only some ask which row comes before which.
    let asks =
        matches!(kind, Aggregate::First | Aggregate::Last | Aggregate::Implode | Aggregate::ArgMin | Aggregate::ArgMax);
    let ordered = asks && !window.order.is_empty();
    let window = if ordered || window.rolling.is_some() {
        window.clone()
    } else {
        Window { by: window.by.clone(), ..Window::default() }
    };
    let place = subquery.groups.iter().position(|known| known.window == window).unwrap_or_else(|| {
        subquery.groups.push(Groups { window: window.clone(), parts: Vec::new() });
        subquery.groups.len() - 1
    });
    let parts = &mut subquery.groups[place].parts;
    if let Some(Expr::Alias(_, name)) = parts.iter().find(|part| part.unaliased() == expression) {
        return Expr::column(name);
    }
    let shown = match window == Window::default() {
        true => expression.clone(),
        false => Expr::Over { input: expression.clone().into(), window: window.into() },
    };
    let name = shown.hidden(taken(&mut subquery.next));
    parts.push(expression.clone().alias(&name));
    Expr::column(name)
}

/// The table with the aggregates of these groups beside its rows.
fn joined(call: &Call, table: &Table, groups: &Groups, next: &mut usize, columns: Columns) -> Result<Table, Error> {
    let Groups { window, parts } = groups;
    let mut hidden = Hidden::new(next);
    let mut keys = hidden.keys(&window.by);
    let order: Vec<String> = window.order.iter().map(|by| hidden.name(by)).collect();
    if window.rolling.is_some() {
        let read = |part: &Expr| match part {
            Expr::Alias(of, name) => of.map_children(&mut |input| Expr::column(hidden.name(input))).alias(name.clone()),
            other => other.clone(),
        };
        let parts: Vec<Expr> = parts.iter().map(read).collect();
        let wide = hidden.columns(call, table, columns)?;
        if !window.is_ordered() {
            return rolling::beside(call, &wide, window, keys, order, &parts);
        }
        let made = parts.iter().map(Expr::output_column).collect::<Result<Vec<_>, _>>()?;
        return runs::in_order(call, &wide, &Order::of(window, order), &made, next, |turned| {
            rolling::beside(call, turned, window, keys, Vec::new(), &parts)
        });
    }
    let mut wide = hidden.columns(call, table, columns)?;
    if keys.is_empty() {
        let one = Expr::literal(true);
        let name = one.hidden(taken(next));
        keys.push(name.to_string());
        let all = one.alias(name);
        wide = columns(call, &wide, &[all], ColumnOptions { kept: Materialization::Lazy, ..ColumnOptions::STORED })?;
    }
    let sorted = if order.is_empty() {
        wide.clone()
    } else {
        let (descending, nulls_last) = (window.descending, window.nulls_last);
        let by: Vec<SortBy> = order.into_iter().map(|column| SortBy { column, descending, nulls_last }).collect();
        call.attach(&Sort::new("sort", &wide, &by)?, std::slice::from_ref(&wide))?
    };
    let by: Vec<Expr> = keys.iter().map(|key| Expr::column(key.as_str())).collect();
    let grouped = composed(call, &[&sorted], &by, parts, OnError::Fail, Which::default(), columns)?;
    let on: Vec<(String, String)> = keys.into_iter().map(|key| (key.clone(), key)).collect();
    let joins: Vec<(String, String)> = parts
        .iter()
        .map(|part| Ok(part.output_name().map(|name| (name.clone(), name))?))
        .collect::<Result<_, Error>>()?;
    let both = [wide, grouped];
    call.attach(
        &NaturalJoin::new(&call.method, &both[0], &both[1], &on, Some(&joins), None, Matches::First, true)?,
        &both,
    )
}

#[cfg(test)]
mod tests {
    use formula::Function;
    use model::Compare;
    use model::ops::{Aggregate as Wanted, Aggregator, over};

    use super::*;
    use crate::plan::{InputColumns, columns, filtered};
    use crate::testing::{any_table, check_law, check_steps, still_graph, table_of};

    fn of(kind: Aggregate, name: &str) -> Expr {
        let input = (!name.is_empty()).then(|| Expr::column(name));
        Expr::aggregate(kind, input).expect("an aggregate")
    }

    fn sum(name: &str) -> Expr {
        of(Aggregate::Sum { min_count: 0 }, name)
    }

    fn by(expression: Expr, keys: &[&str]) -> Expr {
        let by = keys.iter().map(|key| Expr::column(*key)).collect();
        expression.over(Window { by, ..Window::default() }).expect("over groups")
    }

    fn call(function: Function, args: Vec<Expr>) -> Expr {
        Expr::call(function, args).expect("a call")
    }

    fn with(table: &Table, expressions: &[Expr]) -> Result<Table, Error> {
        columns("with_columns", table, expressions, ColumnOptions::STORED)
    }

    #[test]
    fn rows_of_a_changed_group_are_told_and_no_others() {
        check_steps(
            |table| with(table, &[by(sum("V"), &["K"]).alias("s")]),
            "0 A 1 | 1 B 2 | 2 A 3",
            &[
                ("+ 3 B 5", "+ 3 B 5 7 | ~ 1 . . 7"),
                ("~ 0 . 2", "~ 0 . 2 5 | ~ 2 . 3 5"),
                ("~ 2 B .", "~ 2 B . 10 | ~ 0 A . 2 | ~ 1 B . 10 | ~ 3 B . 10"),
                ("- 1", "- 1 | ~ 2 . . 8 | ~ 3 . . 8"),
                ("- 0", "- 0"),
                ("+ 9 null 4", "+ 9 null 4 4"),
                ("+ 8 null 1", "+ 8 null 1 5 | ~ 9 . . 5"),
            ],
        );
    }

    #[test]
    fn without_groups_all_rows_are_one() {
        let share = call(Function::Subtract, vec![Expr::column("V"), of(Aggregate::Max, "V")]);
        check_steps(
            |table| with(table, &[share.clone().alias("d")]),
            "0 A 1 | 1 B 2",
            &[("+ 3 A 5", "+ 3 A 5 0 | ~ 0 . . -4 | ~ 1 . . -3"), ("+ 4 A 4", "+ 4 A 4 -1")],
        );
        check_steps(
            |table| {
                columns(
                    "select",
                    table,
                    &[sum("V").alias("s")],
                    ColumnOptions { own: InputColumns::Drop, ..ColumnOptions::STORED },
                )
            },
            "0 A 1 | 1 B 2",
            &[("+ 3 A 5", "~ 0 8")],
        );
    }

    #[test]
    fn a_group_of_a_group() {
        // The greatest sum of a K among all rows: what is inside is a column first.
        let most = of(Aggregate::Max, "V");
        let Expr::Aggregate { kind, .. } = most else { unreachable!("it is an aggregate") };
        let most = Expr::aggregate(kind, Some(by(sum("V"), &["K"]))).expect("an aggregate");
        check_steps(
            |table| with(table, &[most.clone().alias("m")]),
            "0 A 1 | 1 B 2 | 2 A 3",
            &[("~ 1 . 9", "~ 1 . 9 9 | ~ 0 . 1 9 | ~ 2 . 3 9")],
        );
    }

    #[test]
    fn law() {
        let made = [
            by(sum("v"), &["k"]).alias("sum"),
            by(of(Aggregate::Max, "x"), &["k"]).alias("max"),
            by(of(Aggregate::Len, ""), &["g", "b"]).alias("len"),
            by(of(Aggregate::First, "v"), &["g"]).alias("first"),
            of(Aggregate::Count, "v").alias("all"),
        ];
        let wanted = |keys: &[&str], output: &str, kind: Aggregator, input: &str| {
            (keys.iter().map(|key| (*key).to_owned()).collect(), vec![Wanted::new(output, kind, input)])
        };
        check_law(
            &any_table(),
            300,
            Compare::ByPosition,
            |table| with(table, &made),
            |input| {
                over(
                    input,
                    &[
                        wanted(&["k"], "sum", Aggregator::Sum(0), "v"),
                        wanted(&["k"], "max", Aggregator::Max, "x"),
                        wanted(&["g", "b"], "len", Aggregator::Len, ""),
                        wanted(&["g"], "first", Aggregator::First, "v"),
                        wanted(&[], "all", Aggregator::Count, "v"),
                    ],
                )
                .expect("sums of integers wrap")
            },
        );
    }

    /// The first of a group in another order than the table's; rows that compare equal keep theirs.
    #[test]
    fn law_of_first_in_an_order() {
        let window = Window {
            by: vec![Expr::column("k")],
            order: vec![Expr::column("g")],
            descending: true,
            nulls_last: true,
            ..Window::default()
        };
        let first = of(Aggregate::First, "v").over(window).expect("over groups").alias("first");
        check_law(
            &table_of("k:str g:int v:int"),
            300,
            Compare::ByPosition,
            |table| with(table, std::slice::from_ref(&first)),
            |input| {
                let by = model::ops::SortBy { column: "g".into(), descending: true, nulls_last: true };
                let sorted = model::ops::sort(input, &[by]);
                let wanted = [(vec!["k".to_owned()], vec![Wanted::new("first", Aggregator::First, "v")])];
                model::ops::over_sorted(input, &sorted, &wanted).expect("first has a value")
            },
        );
    }

    #[test]
    fn law_of_a_filter() {
        let above = call(Function::Greater, vec![Expr::column("v"), by(of(Aggregate::Min, "v"), &["k"])]);
        let build = |table: &Table| filtered("filter", table, std::slice::from_ref(&above), &[], OnError::Fail);
        check_law(&any_table(), 300, Compare::ByPosition, build, |input| {
            let least = [(vec!["k".to_owned()], vec![Wanted::new("least", Aggregator::Min, "v")])];
            let wide = over(input, &least).expect("min has a value");
            let column = |name: &str| Box::new(model::ModelExpr::column(name));
            let above = model::ModelExpr::Compare(model::Comparison::Greater, column("v"), column("least"));
            model::ops::drop(&model::ops::filter(&wide, &[above]), &["least"])
        });
    }

    #[test]
    fn what_cannot_be_is_told() {
        let graph = still_graph();
        let drawn = crate::testing::Drawn::new(&graph, "0 A 1");
        let refused = |expressions: &[Expr]| with(drawn.table(), expressions).err().expect("refused").to_string();
        let wrong = call(Function::Add, vec![Expr::column("K"), by(sum("V"), &["K"])]);
        let text = refused(&[wrong.alias("w")]);
        assert!(text.contains("String and Int64") && !text.contains('\0'), "{text}");
        let text = refused(&[call(Function::Add, vec![Expr::column("W"), by(sum("V"), &["K"])]).alias("w")]);
        assert!(text.contains("\"W\"") && !text.contains('\0'), "{text}");
        let text = refused(&[by(sum("V"), &["Q"])]);
        assert!(text.contains("\"Q\"") && !text.contains('\0'), "{text}");
        let cast = sum("V").cast(arrow_schema::DataType::Int8, true).expect("a cast");
        let inside = Expr::aggregate(Aggregate::Max, Some(cast)).expect("an aggregate");
        let text = refused(&[inside]);
        assert!(text.contains("sum() aggregates many rows"), "{text}");
        let how = ColumnOptions { on_error: OnError::Null, ..ColumnOptions::STORED };
        let twice = call(Function::Multiply, vec![Expr::column("V"), Expr::literal(2_i64)]);
        let of_twice = Expr::aggregate(Aggregate::Max, Some(twice)).expect("an aggregate").alias("m");
        let text = columns("with_columns", drawn.table(), &[of_twice], how).err().expect("refused").to_string();
        assert!(text.contains("make the expression a column first"), "{text}");
    }
}
