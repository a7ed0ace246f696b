//! Where a value stands: the position of the next row that has it, from a row on, around the end.

use engine::plan::{Op, apply};
use engine::{OnError, Table};
use tonic::Status;

use super::conditions::{Compare, Condition, Named, OfText, Test, Value, ValueOf, meaning};
use super::conditions::{Constant, Written};
use super::formulas::refused;
use super::messages::{Found, Seek};
use crate::columns;
use crate::context::{Context, blocking, engine_error};
use crate::frames::Answers;
use crate::tickets::of_ticket;

const METHOD: &str = "seek_row";
const EQUAL: i32 = 4;
/// What is said where no row has the value.
const NOWHERE: i64 = -1;

fn condition(of: &Seek) -> Result<Condition, Status> {
    let value = of.value.clone().ok_or_else(|| refused(METHOD, "there is no value to look for"))?;
    let column = Named { column: of.column.clone() };
    let ignore_case = i32::from(of.ignore_case);
    let test = match value.value.as_ref().filter(|_| of.contains) {
        Some(Constant::Text(text)) => {
            let text = text.clone();
            Test::Contains(OfText { reference: Some(column), text, ignore_case, inverted: 0 })
        }
        Some(_) => return Err(refused(METHOD, "a text alone is contained in another")),
        None => {
            // Texts alone have a case.
            let is_text = matches!(value.value, Some(Constant::Text(_)));
            let side = |of: ValueOf| Some(Value { of: Some(of) });
            let ignore_case = if is_text { ignore_case } else { 0 };
            let (left, right) = (side(ValueOf::Column(column)), side(ValueOf::Literal(folded(value, ignore_case))));
            Test::Compare(Compare { operation: EQUAL, ignore_case, left, right })
        }
    };
    Ok(Condition { test: Some(test) })
}

fn folded(of: Written, ignore_case: i32) -> Written {
    match of.value {
        Some(Constant::Text(text)) if ignore_case != 0 => Written { value: Some(Constant::Text(text.to_lowercase())) },
        value => Written { value },
    }
}

/// The row at or behind `from`, or at or before it, around the end; none if there is none.
fn found(of: &Seek, table: &Table) -> Result<i64, Status> {
    columns::asked(METHOD, table.schema(), &of.column)?;
    let still = table.snapshot().map_err(engine_error)?;
    let predicates = vec![meaning(&condition(of)?, still.schema())?];
    let op = Op::Filter { predicates, orders: Vec::new(), on_error: OnError::default() };
    let kept = apply(op, METHOD, std::slice::from_ref(&still)).map_err(engine_error)?;
    let (all, kept) = (still.rows().map_err(engine_error)?, kept.rows().map_err(engine_error)?);
    let at = all.positions_of(&kept).0;
    let from = of.from.max(0) as u64;
    let end = u64::MAX >> 1;
    let row = if of.backward {
        (&at & &rowset::RowSet::flat(from + 1)).last().or_else(|| at.last())
    } else {
        (&at & &rowset::RowSet::range(from, end)).first().or_else(|| at.first())
    };
    Ok(row.map_or(NOWHERE, |row| row as i64))
}

/// Answers where a value stands.
pub(crate) async fn seek(context: &Context, of: Seek) -> Result<Answers, Status> {
    let ticket = of.source.clone().unwrap_or_default().ticket;
    let table = context.table("sourceId", of_ticket("sourceId", &ticket)?).await?;
    let row = blocking(move || found(&of, &table)).await?;
    Ok(Answers::once(&Found { row }))
}
