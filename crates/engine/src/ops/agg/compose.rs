//! Expressions over aggregates: `col("x").sum() / len()` is the aggregation of its parts, and the
//! expression over the result.

use std::sync::Arc;

use formula::Expr;

use super::Aggregation;
use crate::attach::attach;
use crate::error::Error;
use crate::faults::OnError;
use crate::ops::Select;
use crate::table::Table;

/// One row a group: keys, then each expression over aggregates.
pub fn aggregate(operation: &str, table: &Table, keys: &[String], expressions: &[Expr]) -> Result<Table, Error> {
    if let Some((wide, expressions)) = with_windows(operation, table, expressions)? {
        return aggregate(operation, &wide, keys, &expressions);
    }
    if let Some((wide, expressions)) = with_beside(operation, table, expressions)? {
        return aggregate(operation, &wide, keys, &expressions);
    }
    let input = std::slice::from_ref(table);
    if expressions.iter().all(|expression| matches!(expression.unaliased(), Expr::Aggregate { .. })) {
        return attach(&Aggregation::new(operation, table, keys, expressions)?, input);
    }
    let mut parts: Vec<Expr> = Vec::new();
    let mut outer: Vec<Expr> = keys.iter().map(|key| Expr::column(key.as_str())).collect();
    for expression in expressions {
        let name = expression.output_name()?;
        if !expression.is_aggregate() {
            let text = expression.to_python();
            let message = format!("{text} has one value a row, not one a group; aggregate it (sum, mean, first …)");
            return Err(Error::invalid(operation, message));
        }
        let over = taken_apart(expression.unaliased(), &mut parts);
        if let Some(loose) =
            over.columns().into_iter().find(|name| !name.starts_with('\0') && !keys.iter().any(|key| key == name))
        {
            let message = format!(
                "{} reads {loose:?} outside an aggregate; it has one value a row, not one a group",
                expression.to_python()
            );
            return Err(Error::invalid(operation, message));
        }
        outer.push(over.alias(name));
    }
    let named = parts.into_iter().enumerate().map(|(at, part)| {
        let name = part.hidden_name(at);
        part.alias(name)
    });
    let named: Vec<Expr> = named.collect();
    let grouped = attach(&Aggregation::new(operation, table, keys, &named)?, input)?;
    attach(&Select::named(operation, &grouped, &outer)?, std::slice::from_ref(&grouped))
}

/// What is aggregated over groups of its own is a column first.
fn with_windows(operation: &str, table: &Table, expressions: &[Expr]) -> Result<Option<(Table, Vec<Expr>)>, Error> {
    let mut parts = Vec::new();
    let mut over: Vec<Expr> = Vec::new();
    for expression in expressions {
        over.push(taken_apart(expression.unaliased(), &mut parts).alias(expression.output_name()?));
    }
    if let Some(loose) = over.iter().zip(expressions).find(|(over, _)| over.reads_tables()) {
        let message =
            format!("{} has one value a row, not one a group; aggregate it (sum, mean, first …)", loose.1.to_python());
        return Err(Error::invalid(operation, message));
    }
    let inputs: Vec<Expr> = parts.iter().filter(|part| part.reads_tables()).map(input_of).collect();
    let Some((wide, columns)) = crate::ops::over::planned(operation, table, &inputs, OnError::Fail)? else {
        return Ok(None);
    };
    let mut columns = columns.into_iter();
    for part in parts.iter_mut().filter(|part| part.reads_tables()) {
        if let Expr::Aggregate { input, .. } = part {
            *input = columns.next().map(Arc::new);
        }
    }
    Ok(Some((wide, over.iter().map(|expression| put_back(expression, &parts)).collect())))
}

fn input_of(part: &Expr) -> Expr {
    match part {
        Expr::Aggregate { input: Some(input), .. } => input.as_ref().clone(),
        other => other.clone(),
    }
}

/// What is aggregated and reads beside its row is a column first.
fn with_beside(operation: &str, table: &Table, expressions: &[Expr]) -> Result<Option<(Table, Vec<Expr>)>, Error> {
    if !expressions.iter().any(Expr::reads_beside) {
        return Ok(None);
    }
    let mut parts = Vec::new();
    let mut over: Vec<Expr> = Vec::new();
    for expression in expressions {
        over.push(taken_apart(expression.unaliased(), &mut parts).alias(expression.output_name()?));
    }
    let inputs: Vec<Expr> = parts.iter().filter(|part| part.reads_beside()).map(input_of).collect();
    if inputs.is_empty() {
        return Ok(None);
    }
    let (wide, columns) = crate::ops::columns::beside(operation, table, &inputs, OnError::Fail)?;
    let mut columns = columns.into_iter();
    for part in parts.iter_mut().filter(|part| part.reads_beside()) {
        if let Expr::Aggregate { input, .. } = part {
            *input = columns.next().map(Arc::new);
        }
    }
    Ok(Some((wide, over.iter().map(|expression| put_back(expression, &parts)).collect())))
}

/// The expression with the aggregates in place of their columns.
fn put_back(expression: &Expr, parts: &[Expr]) -> Expr {
    match expression {
        Expr::Column(name) => {
            let at = name.strip_prefix('\0').and_then(|rest| rest.split_once('\0'));
            let part = at.and_then(|(at, _)| parts.get(at.parse::<usize>().ok()?));
            part.unwrap_or(expression).clone()
        }
        other => other.map_children(&mut |child| put_back(child, parts)),
    }
}

/// The expression with a column in place of each aggregate; equal aggregates are one part.
fn taken_apart(expression: &Expr, parts: &mut Vec<Expr>) -> Expr {
    let mut each = |inner: &Expr| taken_apart(inner, parts);
    match expression {
        Expr::Aggregate { .. } => {
            let at = parts.iter().position(|part| part == expression).unwrap_or_else(|| {
                parts.push(expression.clone());
                parts.len() - 1
            });
            Expr::column(expression.hidden_name(at))
        }
        Expr::Alias(input, _) => each(input),
        other => other.map_children(&mut each),
    }
}

#[cfg(test)]
mod tests {
    use formula::{Aggregate, Function};

    use super::*;
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
            |table| aggregate("group_by", table, &["K".into()], &[ratio()?, sum("V").alias("s")]),
            "0 A 1 | 1 B 2 | 2 A 2",
            &[("+ 3 A 3", "~ 0 . 2.0 6"), ("+ 4 B 2", "~ 1 . 2.0 4")],
        );
    }

    #[test]
    fn a_column_outside_an_aggregate_is_refused() {
        let drawn = crate::testing::Drawn::new(&crate::testing::still_graph(), "0 A 1");
        let mixed = Expr::call(Function::Add, vec![sum("V"), Expr::column("V")]).expect("a call");
        let error = aggregate("group_by", drawn.table(), &["K".into()], &[mixed]).err().expect("V has one value a row");
        assert!(error.to_string().contains("outside an aggregate"), "{error}");
    }
}
