//! `natural_join` that passes over left rows that meet several right rows: `on_error`.
//!
//!   left  0 A    1 B    right  0 A 1    1 B 2    2 B 3        out, null   0 A 1    1 B –
//!                                                             out, drop   0 A 1
//!   right - 2                                                 out, drop   + 1 B 2
//!
//! With `null` such a row has no match. To leave it out, too, the rows of each key are counted: what has several is
//! filtered. Cost: that of the join, and for `drop` of an aggregation by the keys and a join with it.

use formula::hidden::next_hidden;
use formula::{Aggregate, Expr, Function};

use crate::error::Error;
use crate::eval::call::Call;
use crate::ops::{Aggregation, Filter, NaturalJoin, Project};
use crate::plan::spec::Matches;
use crate::row_errors::{OnError, RowErrors};
use crate::table::handle::Table;

/// The table of a join; `on` as it was made with.
pub(in crate::plan) fn natural_join(
    call: &Call,
    join: NaturalJoin,
    left: &Table,
    right: &Table,
    on: &[(String, String)],
    on_error: OnError,
) -> Result<Table, Error> {
    let both = [left.clone(), right.clone()];
    if on_error == OnError::Fail || !join.asks_for_one() {
        return call.attach(&join, &both);
    }
    if on_error == OnError::Drop && right.attributes().blink {
        let message =
            "on_error=\"drop\" with a blink table on the right, whose rows of a key cannot be counted; use \"null\"";
        return Err(Error::invalid(&call.method, message));
    }
    let nulls_equal = join.nulls_equal();
    let joined = call.attach(&join.with_on_error(on_error, &RowErrors::of(&call.method)), &both)?;
    if on_error == OnError::Null {
        return Ok(joined);
    }
    let mut keys: Vec<String> = Vec::new();
    for (_, key) in on {
        if !keys.contains(key) {
            keys.push(key.clone());
        }
    }
    let len = Expr::aggregate(Aggregate::Len, None)?;
    let many = len.hidden(next_hidden(joined.schema()));
    let len = len.alias(&many);
    let counts = call.attach(&Aggregation::new(&call.method, right, &keys, &[len])?, std::slice::from_ref(right))?;
    let added = [(many.to_string(), many.to_string())];
    let counted =
        NaturalJoin::new(&call.method, &joined, &counts, on, Some(&added), None, Matches::First, nulls_equal)?;
    let counted = call.attach(&counted, &[joined.clone(), counts])?;
    let none = Expr::call(Function::IsNull, vec![Expr::column(&many)])?;
    let one = Expr::call(Function::Equal, vec![Expr::column(&many), Expr::literal(1)])?;
    let few = Filter::named(&call.method, &counted, &[Expr::call(Function::Or, vec![none, one])?])?;
    let kept = call.attach(&few, std::slice::from_ref(&counted))?;
    let names: Vec<String> = joined.schema().fields().iter().map(|field| field.name().clone()).collect();
    let project = Project::choose(&kept, &names)?.reporting_to(joined.request().row_errors.as_ref());
    call.attach(&project, std::slice::from_ref(&kept))
}
