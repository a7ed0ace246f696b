//! Expressions over aggregates: `col("x").sum() / len()` is the aggregation of its parts, and the
//! expression over the result.

use formula::hidden::next_hidden;
use formula::{ColumnName, Expr};

use super::beside::{StagedExpr, stage_inputs, stage_inputs_from};
use super::computed::{ColumnOptions, Columns};
use super::held::Held;
use super::hidden::taken;
use crate::error::Error;
use crate::eval::call::Call;
use crate::ops::Aggregation;
use crate::plan::spec::InputColumns;
use crate::plan::standing::Standing;
use crate::row_errors::OnError;
use crate::table::handle::Table;

/// One row a group: keys, then each expression over aggregates. A second table names groups.
pub(super) fn composed(
    call: &Call,
    tables: &[&Table],
    keys: &[Expr],
    expressions: &[Expr],
    on_error: OnError,
    which: Which<'_>,
    columns: Columns,
) -> Result<Table, Error> {
    let how = ColumnOptions { on_error, ..ColumnOptions::STORED };
    grouped(call, tables, keys, expressions, which, how, columns)
}

/// Which groups there are: without rows, and of an input that never ends.
#[derive(Clone, Copy, Default)]
pub(super) struct Which<'a> {
    pub(super) standing: Standing,
    pub(super) held: Option<&'a Held>,
}

/// As [`composed`], of a table that is itself a step on the way: `how` says what becomes of rows that cannot be computed, and
/// whose they are.
pub(super) fn grouped(
    call: &Call,
    tables: &[&Table],
    keys: &[Expr],
    expressions: &[Expr],
    which: Which<'_>,
    how: ColumnOptions<'_>,
    columns: Columns,
) -> Result<Table, Error> {
    let (on_error, Which { standing, held }) = (how.on_error, which);
    let (table, initial) = (tables[0], tables.get(1).copied());
    let names = keys.iter().map(Expr::output_name).collect::<Result<Vec<String>, _>>()?;
    let Parts { mut parts, over, .. } = Parts::of(call, table, &names, expressions)?;
    let is_column = |expression: &Expr| matches!(expression.unaliased(), Expr::Column(_));
    let of_key = |(key, name): (&Expr, &String)| StagedExpr {
        becomes: Some(name.clone()),
        expression: key.unaliased().clone(),
        stored: !is_column(key),
    };
    let of_input = |(name, input): (&ColumnName, &Expr)| {
        let read_elsewhere = input.needs_context() || input.reads_tables();
        let stored = read_elsewhere || on_error != OnError::Fail && !is_column(input);
        let becomes = name.becomes().map(str::to_owned);
        StagedExpr { becomes, expression: input.clone(), stored }
    };
    let inputs = parts.iter().flat_map(|(name, part)| part.children().map(move |input| (name, input)));
    let mut read: Vec<StagedExpr> = Vec::with_capacity(names.len() + parts.len());
    read.extend(keys.iter().zip(&names).map(of_key).chain(inputs.map(of_input)));
    let stored = read.iter().any(|one| one.stored);
    let (wide, read) = stage_inputs(call, table, &read, how, columns)?;
    let row_errors = wide.request().row_errors.as_ref().filter(|_| stored).or(how.row_errors);
    let mut read = read.into_iter();
    let mut columns_of_keys = Vec::with_capacity(names.len());
    for (name, key) in names.into_iter().zip(&mut read) {
        columns_of_keys.push((key.output_name()?, name));
    }
    let keys = columns_of_keys;
    for (_, part) in &mut parts {
        if let Expr::Aggregate { inputs, .. } = part {
            inputs.iter_mut().zip(&mut read).for_each(|(input, read)| *input = read);
        }
    }
    let named: Vec<Expr> = parts.into_iter().map(|(name, part)| part.alias(name)).collect();
    let grouped = Aggregation::named(&call.method, &wide, &keys, &named, standing, initial)?.reporting_to(row_errors);
    let grouped = grouped.holding(held.map(|held| held.how(call, &wide)).transpose()?);
    let clock = held.and_then(Held::clock);
    let inputs: Vec<Table> = std::iter::once(&wide).chain(initial).chain(clock).cloned().collect();
    let grouped = call.attach(&grouped, &inputs)?;
    if over.is_empty() {
        return Ok(grouped);
    }
    let over: Vec<Expr> = keys.into_iter().map(|(_, name)| Expr::column(name.as_str())).chain(over).collect();
    columns(
        call,
        &grouped,
        &over,
        ColumnOptions { own: InputColumns::Drop, on_error, row_errors, ..ColumnOptions::STORED },
    )
}

/// Aggregates, and what is made of them.
pub(super) struct Parts {
    /// Aggregates and the columns they are.
    pub(super) parts: Vec<(ColumnName, Expr)>,
    /// Expressions over those columns and the keys; none if the aggregates are all that is asked for.
    pub(super) over: Vec<Expr>,
    /// The first hidden name that is free beside those of the table and of the parts.
    next: usize,
}

impl Parts {
    pub(super) fn of(call: &Call, table: &Table, keys: &[String], expressions: &[Expr]) -> Result<Parts, Error> {
        let mut parts = Vec::new();
        let mut next = next_hidden(table.schema());
        if expressions.iter().all(|expression| matches!(expression.unaliased(), Expr::Aggregate { .. })) {
            for expression in expressions {
                parts.push((expression.output_column()?, expression.unaliased().clone()));
            }
            return Ok(Parts { parts, over: Vec::new(), next });
        }
        let mut over = Vec::new();
        for expression in expressions {
            let name = expression.output_name()?;
            let made = taken_apart(expression.unaliased(), &name, &mut parts, &mut next);
            if !expression.is_aggregate() || made.reads_tables() {
                let text = expression.to_python();
                let message = format!("{text} has one value a row, not one a group; aggregate it (sum, mean, first …)");
                return Err(Error::invalid(&call.method, message));
            }
            let known =
                |column: &str| keys.iter().any(|key| key == column) || parts.iter().any(|(part, _)| **part == *column);
            if let Some(loose) = made.columns().into_iter().find(|column| !known(column)) {
                let message = format!(
                    "{} reads {loose:?} outside an aggregate; it has one value a row, not one a group",
                    expression.to_python()
                );
                return Err(Error::invalid(&call.method, message));
            }
            over.push(made.alias(name));
        }
        Ok(Parts { parts, over, next })
    }

    /// The table with a column for each input of an aggregate that is none, the aggregates of columns, each named, and the
    /// expressions over these.
    pub(super) fn staged(
        self,
        call: &Call,
        table: &Table,
        on_error: OnError,
        columns: Columns,
    ) -> Result<(Table, Vec<Expr>, Vec<Expr>), Error> {
        let Parts { mut parts, over, next } = self;
        let staged: Vec<StagedExpr> = parts
            .iter()
            .flat_map(|(name, part)| part.children().map(move |input| (name, input)))
            .map(|(name, input)| StagedExpr {
                becomes: name.becomes().map(str::to_owned),
                expression: input.clone(),
                stored: !matches!(input.unaliased(), Expr::Column(_)),
            })
            .collect();
        let how = ColumnOptions { on_error, ..ColumnOptions::STORED };
        let (wide, read) = stage_inputs_from(next, call, table, &staged, how, columns)?;
        let mut read = read.into_iter();
        for (_, part) in &mut parts {
            if let Expr::Aggregate { inputs, .. } = part {
                inputs.iter_mut().zip(&mut read).for_each(|(input, read)| *input = read);
            }
        }
        Ok((wide, parts.into_iter().map(|(name, part)| part.alias(name)).collect(), over))
    }
}

/// The expression with a column in place of each aggregate; equal aggregates are one part.
fn taken_apart(expression: &Expr, becomes: &str, parts: &mut Vec<(ColumnName, Expr)>, next: &mut usize) -> Expr {
    match expression {
        Expr::Aggregate { .. } => {
            let at = parts.iter().position(|(_, part)| part == expression).unwrap_or_else(|| {
                let name = ColumnName::hidden(taken(next), Some(becomes), expression.to_python());
                parts.push((name, expression.clone()));
                parts.len() - 1
            });
            Expr::column(&parts[at].0)
        }
        Expr::Alias(input, _) => taken_apart(input, becomes, parts, next),
        other => other.map_children(&mut |inner: &Expr| taken_apart(inner, becomes, parts, next)),
    }
}

#[cfg(test)]
mod tests {
    use formula::{Aggregate, Function};

    use super::*;
    use crate::plan::aggregate;
    use crate::testing::check_steps;

    fn sum(name: &str) -> Expr {
        Expr::aggregate(Aggregate::Sum { min_count: 0 }, Some(Expr::column(name))).expect("an aggregate")
    }

    #[test]
    fn a_ratio_of_aggregates_follows_both() {
        let ratio = || {
            let count = Expr::aggregate(Aggregate::Len, None)?;
            Ok::<_, Error>(Expr::call(Function::Divide, vec![sum("V"), count])?.alias("r"))
        };
        check_steps(
            |table| aggregate("group_by", table, &[Expr::column("K")], &[ratio()?, sum("V").alias("s")], OnError::Fail),
            "0 A 1 | 1 B 2 | 2 A 2",
            &[("+ 3 A 3", "~ 0 . 2.0 6"), ("+ 4 B 2", "~ 1 . 2.0 4")],
        );
    }

    #[test]
    fn a_column_outside_an_aggregate_is_refused() {
        let drawn = crate::testing::Drawn::new(&crate::testing::still_graph(), "0 A 1");
        let mixed = Expr::call(Function::Add, vec![sum("V"), Expr::column("V")]).expect("a call");
        let error = aggregate("group_by", drawn.table(), &[Expr::column("K")], &[mixed], OnError::Fail);
        let error = error.err().expect("V has one value a row");
        assert!(error.to_string().contains("outside an aggregate"), "{error}");
    }
}
