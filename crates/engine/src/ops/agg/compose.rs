//! Expressions over aggregates: `col("x").sum() / len()` is the aggregation of its parts, and the
//! expression over the result.

use std::sync::Arc;

use formula::Expr;

use super::Aggregation;
use crate::attach::attach;
use crate::error::Error;
use crate::ops::Select;
use crate::table::Table;

/// What the parts are called between the two tables; no user's column begins so.
const PART: &str = "\u{0}part";

/// One row a group: keys, then each expression over aggregates.
pub fn aggregate(operation: &str, table: &Table, keys: &[String], expressions: &[Expr]) -> Result<Table, Error> {
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
            over.columns().into_iter().find(|name| !name.starts_with(PART) && !keys.iter().any(|key| key == name))
        {
            let message = format!(
                "{} reads {loose:?} outside an aggregate; it has one value a row, not one a group",
                expression.to_python()
            );
            return Err(Error::invalid(operation, message));
        }
        outer.push(over.alias(name));
    }
    let named: Vec<Expr> = parts.into_iter().enumerate().map(|(at, part)| part.alias(format!("{PART}{at}"))).collect();
    let grouped = attach(&Aggregation::new(operation, table, keys, &named)?, input)?;
    attach(&Select::named(operation, &grouped, &outer)?, std::slice::from_ref(&grouped))
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
            Expr::column(format!("{PART}{at}"))
        }
        Expr::Column(_) | Expr::Literal(_) => expression.clone(),
        Expr::Alias(input, _) => each(input),
        Expr::Call { function, args } => Expr::Call { function: *function, args: args.iter().map(each).collect() },
        Expr::Cast { input, to, strict } => {
            Expr::Cast { input: Arc::new(each(input)), to: to.clone(), strict: *strict }
        }
        Expr::When { branches, otherwise } => {
            let branches = branches.iter().map(|(condition, value)| (each(condition), each(value))).collect();
            Expr::When { branches, otherwise: otherwise.as_ref().map(|value| Arc::new(each(value))) }
        }
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
