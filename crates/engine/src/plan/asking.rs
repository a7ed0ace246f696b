//! Requests as tests and benchmarks make them, with arguments in place of an [`Op`](super::Op).

use formula::Expr;

use super::bounds::GroupBounds;
use super::lower::{self, ColumnOptions};
use super::spec::Keep;
use crate::driver::operation::Operation;
use crate::error::Error;
use crate::eval::call::Call;
use crate::eval::schedule::ExecutionOrder;
use crate::ops::NaturalJoin;
use crate::row_errors::OnError;
use crate::table::handle::Table;

/// New columns.
pub fn columns(method: &str, table: &Table, expressions: &[Expr], how: ColumnOptions<'_>) -> Result<Table, Error> {
    lower::columns(&method.into(), table, expressions, how)
}

/// The rows for which every predicate is true.
pub fn filtered(
    method: &str,
    table: &Table,
    predicates: &[Expr],
    orders: &[ExecutionOrder],
    on_error: OnError,
) -> Result<Table, Error> {
    lower::filtered(&method.into(), table, predicates, orders, on_error)
}

/// One row a group.
pub fn aggregate(
    method: &str,
    table: &Table,
    keys: &[Expr],
    expressions: &[Expr],
    on_error: OnError,
) -> Result<Table, Error> {
    lower::aggregate(&method.into(), table, keys, expressions, on_error)
}

/// One row for each tuple of keys.
pub fn distinct(method: &str, table: &Table, keys: &[String], keep: Keep) -> Result<Table, Error> {
    lower::distinct(&method.into(), table, keys, keep, GroupBounds::default())
}

/// Left rows with their one match.
pub fn natural_join(
    join: NaturalJoin,
    left: &Table,
    right: &Table,
    on: &[(String, String)],
    on_error: OnError,
) -> Result<Table, Error> {
    let call = Call::from(join.request().name.as_str());
    lower::natural_join(&call, join, left, right, on, on_error)
}
