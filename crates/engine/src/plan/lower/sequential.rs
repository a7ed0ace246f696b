//! `update`: columns of one call that read those before them.
//!
//!   update A = X + 1, B = A * 2, A = 0      with_columns A, then B, then A again
//!
//! Columns that read none of each other are computed together. A column that reads one before it, or takes its name, begins
//! the next batch.

use std::collections::HashSet;
use std::ops::Range;

use formula::Expr;

use super::columns::columns;
use super::computed::ColumnOptions;
use crate::error::Error;
use crate::eval::call::Call;
use crate::ops::Project;
use crate::plan::spec::InputColumns;
use crate::table::handle::Table;

/// Which columns are computed together, in order.
pub(in crate::plan) fn batches(columns: &[Expr]) -> Result<Vec<Range<usize>>, Error> {
    let mut batches = Vec::new();
    let (mut first, mut made) = (0, HashSet::new());
    for (at, column) in columns.iter().enumerate() {
        let name = column.output_name()?;
        if made.contains(&name) || column.columns().into_iter().any(|read| made.contains(read)) {
            batches.push(first..at);
            first = at;
            made.clear();
        }
        made.insert(name);
    }
    batches.push(first..columns.len());
    Ok(batches)
}

/// The table of such columns. Rows that one batch passes over are told by the result.
pub(in crate::plan) fn sequential(
    call: &Call,
    table: &Table,
    expressions: &[Expr],
    how: ColumnOptions<'_>,
) -> Result<Table, Error> {
    let mut made = table.clone();
    for batch in batches(expressions)? {
        let row_errors = made.request().row_errors.clone().filter(|_| !made.same(table));
        let orders = how.orders.get(batch.clone()).unwrap_or_default();
        let how = ColumnOptions { orders, own: InputColumns::Keep, row_errors: row_errors.as_ref(), ..how };
        made = columns(call, &made, &expressions[batch], how)?;
    }
    if how.own == InputColumns::Keep {
        return Ok(made);
    }
    let names: Vec<String> = expressions.iter().map(Expr::output_name).collect::<Result<_, _>>()?;
    let project = Project::chosen(&call.method, &made, &names)?.reporting_to(made.request().row_errors.as_ref());
    call.attach(&project, std::slice::from_ref(&made))
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use formula::Function;

    use super::*;

    fn plus(name: &str, made: &str) -> Expr {
        Expr::call(Function::Add, vec![Expr::column(name), Expr::literal(1)]).expect("a call").alias(made)
    }

    #[test]
    fn a_column_that_reads_or_replaces_one_before_it_begins_a_batch() {
        let of = |columns: &[Expr]| batches(columns).expect("each has a name");
        assert_eq!(of(&[plus("x", "a"), plus("x", "b")]), vec![Range { start: 0, end: 2 }]);
        assert_eq!(
            of(&[plus("x", "a"), plus("x", "b"), plus("a", "c"), plus("b", "d"), plus("c", "e")]),
            [0..2, 2..4, 4..5]
        );
        assert_eq!(of(&[plus("x", "x"), plus("x", "y"), plus("y", "y")]), [0..1, 1..2, 2..3]);
        assert_eq!(of(&[plus("x", "a"), plus("x", "a")]), [0..1, 1..2]);
    }
}
