//! Filters that compare a column of instants with the clock: `T > now() - SECOND * 60`. Each comparison is a column of
//! [`TimeWindow`], which runs when a row changes sides, and not in every step over every row.

use arrow_schema::{DataType, TimeUnit};
use formula::hidden::next_hidden;
use formula::{ColumnName, Expr, Function, Literal};

use super::hidden::taken;
use crate::error::Error;
use crate::eval::call::Call;
use crate::ops::TimeWindow;
use crate::table::handle::Table;

/// A comparison as a window: the column of stamps, how long ago the window begins, and whether rows outside pass.
struct Recent<'a> {
    stamp: &'a ColumnName,
    span: i64,
    outside: bool,
}

/// The table with a hidden flag for each comparison with the clock, and the predicates over it; none without one.
pub(super) fn windowed(call: &Call, table: &Table, predicates: &[Expr]) -> Result<Option<(Table, Vec<Expr>)>, Error> {
    let mut wide = table.clone();
    let mut next = next_hidden(table.schema());
    let read: Vec<Expr> = predicates
        .iter()
        .map(|predicate| replaced(call, predicate, &mut wide, &mut next))
        .collect::<Result<_, Error>>()?;
    Ok((!wide.same(table)).then_some((wide, read)))
}

/// The predicate, in whose terms flags stand for comparisons.
fn replaced(call: &Call, predicate: &Expr, wide: &mut Table, next: &mut usize) -> Result<Expr, Error> {
    if let Some(Recent { stamp, span, outside }) = recent(predicate, wide) {
        let flag = ColumnName::hidden(taken(next), None, predicate.to_python());
        let window = TimeWindow::new(&call.method, wide, stamp.as_str(), span, &flag)?;
        *wide = call.attach(&window, std::slice::from_ref(wide))?;
        let flag = Expr::column(&flag);
        return Ok(if outside { Expr::call(Function::Not, vec![flag])? } else { flag });
    }
    match predicate {
        Expr::Call { function: Function::And, args } => {
            let args = args.iter().map(|term| replaced(call, term, wide, next)).collect::<Result<_, Error>>()?;
            Ok(Expr::Call { function: Function::And, args })
        }
        other => Ok(other.clone()),
    }
}

/// The comparison of a column of instants with the clock.
fn recent<'a>(predicate: &'a Expr, table: &Table) -> Option<Recent<'a>> {
    let Expr::Call { function, args } = predicate else { return None };
    let [left, right] = args.as_slice() else { return None };
    let (stamp, from_now, later, equal) = match (left, right, function) {
        (Expr::Column(stamp), bound, Function::Greater) => (stamp, from_now(bound)?, true, false),
        (Expr::Column(stamp), bound, Function::GreaterEqual) => (stamp, from_now(bound)?, true, true),
        (Expr::Column(stamp), bound, Function::Less) => (stamp, from_now(bound)?, false, false),
        (Expr::Column(stamp), bound, Function::LessEqual) => (stamp, from_now(bound)?, false, true),
        (bound, Expr::Column(stamp), Function::Less) => (stamp, from_now(bound)?, true, false),
        (bound, Expr::Column(stamp), Function::LessEqual) => (stamp, from_now(bound)?, true, true),
        (bound, Expr::Column(stamp), Function::Greater) => (stamp, from_now(bound)?, false, false),
        (bound, Expr::Column(stamp), Function::GreaterEqual) => (stamp, from_now(bound)?, false, true),
        _ => return None,
    };
    let place = table.canonical().index_of(stamp.as_str()).ok()?;
    if !matches!(table.canonical().field(place).data_type(), DataType::Timestamp(TimeUnit::Nanosecond, Some(_))) {
        return None;
    }
    // Later than a bound is from the next nanosecond on; what is not later is outside.
    let begins = if later == equal { from_now } else { from_now.checked_add(1)? };
    Some(Recent { stamp, span: begins.checked_neg()?, outside: !later })
}

/// An instant of the clock: `now()`, so many nanoseconds later, or earlier if negative.
fn from_now(bound: &Expr) -> Option<i64> {
    let Expr::Call { function, args } = bound else { return None };
    match (function, args.as_slice()) {
        (Function::Now, []) => Some(0),
        (Function::Subtract, [now, span]) => from_now(now)?.checked_sub(nanoseconds(span)?),
        (Function::Add, [now, span]) => from_now(now)?.checked_add(nanoseconds(span)?),
        _ => None,
    }
}

/// A span of time that is written out.
fn nanoseconds(span: &Expr) -> Option<i64> {
    match span {
        Expr::Literal(Literal::Duration(ns) | Literal::Int(ns)) => Some(*ns),
        Expr::Literal(Literal::Str(text)) => i64::try_from(formula::types::span_of_time(text)?).ok(),
        Expr::Cast { input, to: DataType::Duration(TimeUnit::Nanosecond), .. } => nanoseconds(input),
        Expr::Call { function: Function::Multiply, args } => {
            args.iter().try_fold(1_i64, |product, factor| product.checked_mul(nanoseconds(factor)?))
        }
        _ => None,
    }
}
