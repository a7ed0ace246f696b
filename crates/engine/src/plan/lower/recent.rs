//! Filters that compare a column of instants with the clock: `T > now() - SECOND * 60`, `T + SECOND * 60 > now()`,
//! `T.is_between(now() - SECOND * 60, now())`, in `and`, `or` and `not`. Each comparison is a column of [`TimeWindow`], which runs when a row changes sides, and not in every step over every row.

use arrow_schema::{DataType, TimeUnit};
use formula::functions::Closed;
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
        Expr::Call { function: function @ (Function::And | Function::Or | Function::Not), args } => {
            let args = args.iter().map(|term| replaced(call, term, wide, next)).collect::<Result<_, Error>>()?;
            Ok(Expr::Call { function: *function, args })
        }
        other => match comparisons(other, wide) {
            Some(both) => replaced(call, &both?, wide, next),
            None => Ok(other.clone()),
        },
    }
}

/// The two comparisons of `t.is_between(now() - span, now())`, if both of its bounds are of the clock.
fn comparisons(predicate: &Expr, table: &Table) -> Option<Result<Expr, Error>> {
    let Expr::Call { function: Function::IsBetween { closed }, args } = predicate else { return None };
    let [stamp, lower, upper] = args.as_slice() else { return None };
    let (with_lower, with_upper) = match closed {
        Closed::Both => (true, true),
        Closed::Left => (true, false),
        Closed::Right => (false, true),
        Closed::None => (false, false),
    };
    let compared = |bound: &Expr, reaching: bool, strict: Function, loose: Function| -> Result<Expr, Error> {
        Ok(Expr::call(if reaching { loose } else { strict }, vec![stamp.clone(), bound.clone()])?)
    };
    let both = compared(lower, with_lower, Function::Greater, Function::GreaterEqual)
        .and_then(|from| Ok((from, compared(upper, with_upper, Function::Less, Function::LessEqual)?)));
    let (from, to) = match both {
        Ok(both) => both,
        Err(error) => return Some(Err(error)),
    };
    let of_the_clock = recent(&from, table).is_some() && recent(&to, table).is_some();
    of_the_clock.then(|| Ok(Expr::call(Function::And, vec![from, to])?))
}

/// The comparison of a column of instants with the clock.
fn recent<'a>(predicate: &'a Expr, table: &Table) -> Option<Recent<'a>> {
    let Expr::Call { function, args } = predicate else { return None };
    let [left, right] = args.as_slice() else { return None };
    let (later, equal) = match function {
        Function::Greater => (true, false),
        Function::GreaterEqual => (true, true),
        Function::Less => (false, false),
        Function::LessEqual => (false, true),
        _ => return None,
    };
    // `now() - span < t` is `t > now() - span`.
    let ((stamp, ahead), from_now, later) = match (shifted(left), shifted(right)) {
        (Some(stamp), _) => (stamp, from_now(right)?, later),
        (_, Some(stamp)) => (stamp, from_now(left)?, !later),
        _ => return None,
    };
    let place = table.canonical().index_of(stamp.as_str()).ok()?;
    if !matches!(table.canonical().field(place).data_type(), DataType::Timestamp(TimeUnit::Nanosecond, Some(_))) {
        return None;
    }
    // `t + span > now()` is `t > now() - span`.
    let from_now = from_now.checked_sub(ahead)?;
    // Later than a bound is from the next nanosecond on; what is not later is outside.
    let begins = if later == equal { from_now } else { from_now.checked_add(1)? };
    Some(Recent { stamp, span: begins.checked_neg()?, outside: !later })
}

/// A column, and how many nanoseconds are added to it.
fn shifted(expression: &Expr) -> Option<(&ColumnName, i64)> {
    match expression {
        Expr::Column(column) => Some((column, 0)),
        Expr::Call { function, args } => {
            let [left, right] = args.as_slice() else { return None };
            let (left, right) =
                if *function == Function::Add && shifted(left).is_none() { (right, left) } else { (left, right) };
            let (column, ahead) = shifted(left)?;
            match function {
                Function::Add => Some((column, ahead.checked_add(nanoseconds(right)?)?)),
                Function::Subtract => Some((column, ahead.checked_sub(nanoseconds(right)?)?)),
                _ => None,
            }
        }
        _ => None,
    }
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
