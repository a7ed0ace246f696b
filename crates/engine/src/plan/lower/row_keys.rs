//! Aggregates of row keys: what is aggregated of them is a column like any other, which changes as its row shifts.
//!
//!   first(k) by G     keys of rows, told  →  first(#) by G

use formula::hidden::next_hidden;
use formula::{ColumnName, Expr, Function};

use super::hidden::taken;
use crate::error::Error;
use crate::eval::call::Call;
use crate::ops::RowKeys;
use crate::table::handle::Table;

/// The table with a column of its row keys, and the expressions over it; none where no aggregate reads row keys.
pub(super) fn with_row_keys(
    call: &Call,
    table: &Table,
    expressions: &[Expr],
) -> Result<Option<(Table, Vec<Expr>)>, Error> {
    if !expressions.iter().any(reads_keys) {
        return Ok(None);
    }
    let named = expressions.iter().filter_map(|one| one.output_column().ok()?.number());
    let mut next = named.map(|number| number + 1).chain([next_hidden(table.schema())]).max().unwrap_or_default();
    let name = ColumnName::hidden(taken(&mut next), None, "formula(\"k\")".to_owned());
    let wide = call.attach(&RowKeys::told(&call.method, &name), std::slice::from_ref(table))?;
    let of_column = |one: &Expr| {
        let made = replaced(one, &name, false);
        // What is named after the row keys keeps that name.
        match one {
            Expr::Alias(..) => Ok(made),
            _ => Ok(made.alias(one.output_name()?)),
        }
    };
    Ok(Some((wide, expressions.iter().map(of_column).collect::<Result<_, Error>>()?)))
}

fn is_key(expression: &Expr) -> bool {
    matches!(expression, Expr::Call { function: Function::RowKey, .. })
}

/// Whether row keys stand within an aggregate.
fn reads_keys(expression: &Expr) -> bool {
    fn reads(expression: &Expr) -> bool {
        is_key(expression) || expression.children().any(reads)
    }
    match expression {
        Expr::Aggregate { inputs, .. } => inputs.iter().any(reads),
        other => other.children().any(reads_keys),
    }
}

fn replaced(expression: &Expr, name: &ColumnName, within: bool) -> Expr {
    if within && is_key(expression) {
        return Expr::column(name);
    }
    let within = within || matches!(expression, Expr::Aggregate { .. });
    expression.map_children(&mut |child| replaced(child, name, within))
}

#[cfg(test)]
mod tests {
    use formula::{Aggregate, Window};
    use model::ops::{Aggregate as Wanted, Aggregator};
    use model::{Compare, Value};

    use crate::plan::{ColumnOptions, aggregate, columns};
    use crate::row_errors::OnError;
    use crate::testing::{any_table, check_law, check_steps};

    use super::*;

    fn of_keys(kind: Aggregate, name: &str) -> Expr {
        let key = Expr::call(Function::RowKey, Vec::new()).expect("a call");
        Expr::aggregate(kind, Some(key)).expect("an aggregate").alias(name)
    }

    fn both() -> [Expr; 2] {
        [of_keys(Aggregate::First, "first"), of_keys(Aggregate::Last, "last")]
    }

    #[test]
    fn rows_that_shift_change_the_keys_of_their_groups() {
        check_steps(
            |table| aggregate("agg_by", table, &[Expr::column("K")], &both(), OnError::Fail),
            "2 A 3 | 4 B 1 | 6 A 1",
            &[
                ("+ 8 B 2", "~ 1 . . 8"),
                ("> [2..2]-1", "~ 0 . 1 ."),
                ("~ 4 . 9", ""),
                ("- 6 | > [8..8]+2", "~ 0 . . 1 | ~ 1 . . 10"),
            ],
        );
    }

    /// The input with a column of its row keys.
    fn keyed(input: &model::Table) -> model::Table {
        let mut keyed = input.clone();
        keyed.names.push("key".to_owned());
        keyed.rows.iter_mut().for_each(|(key, row)| row.push(Value::Int(*key as i64)));
        keyed
    }

    #[test]
    fn law() {
        let keys = [Expr::column("k")];
        let most = of_keys(Aggregate::Max, "most");
        let made: Vec<Expr> = both().into_iter().chain([most]).collect();
        let wanted = [
            Wanted::new("first", Aggregator::First, "key"),
            Wanted::new("last", Aggregator::Last, "key"),
            Wanted::new("most", Aggregator::Max, "key"),
        ];
        check_law(
            &any_table().keys_are_values(),
            300,
            Compare::ByKey(vec!["k".to_owned()]),
            |table| aggregate("agg_by", table, &keys, &made, OnError::Fail),
            |input| model::ops::aggregate(&keyed(input), &["k"], &wanted),
        );
    }

    #[test]
    fn law_beside_the_rows() {
        let window = Window { by: vec![Expr::column("k")], ..Window::default() };
        let [first, _] = both();
        let first = first.unaliased().clone().over(window).expect("over groups").alias("first");
        check_law(
            &any_table().keys_are_values(),
            200,
            Compare::ByPosition,
            |table| columns("with_columns", table, std::slice::from_ref(&first), ColumnOptions::STORED),
            |input| {
                let wanted = [(vec!["k".to_owned()], vec![Wanted::new("first", Aggregator::First, "key")])];
                Ok(model::ops::drop(&model::ops::over(&keyed(input), &wanted)?, &["key"]))
            },
        );
    }
}
