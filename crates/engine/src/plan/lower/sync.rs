//! `sync_filter`: of each key the rows of one sequence id, in several tables at once.
//!
//!   a   0 k 1    1 k 2      b   0 k 1                 out of a   0 k 1      of b   0 k 1
//!   b   + 1 k 2                                       out of a   - 0  + 1   of b   - 0  + 1
//!
//! The id of a key is the newest that all tables have for it. Under a leader, a table that lists the id wanted of each of the
//! others, it is the last row of the leader all of whose ids are there.
//!
//! Each result is a filter by the wanted ids, which all of them share: what is wanted changes in all tables in one step. Cost of
//! an update: a probe a changed row and table, and the rows of the ids that come and go.

use arrow_schema::DataType;
use formula::{Aggregate, Expr, Function, type_name};

use super::columns::{aggregate, filtered};
use crate::error::Error;
use crate::eval::call::Call;
use crate::ops::{GroupLimit, WhereIn};
use crate::plan::spec::{Keep, Member};
use crate::row_errors::OnError;
use crate::table::handle::Table;

/// The rows of input `which` that have the newest id that all inputs have for their key. `ids`: a column of each input.
pub(in crate::plan) fn sync_filter(
    call: &Call,
    inputs: &[Table],
    keys: &[String],
    ids: &[String],
    which: usize,
) -> Result<Table, Error> {
    let method = &*call.method;
    if inputs.is_empty() || ids.len() != inputs.len() {
        let message = format!("a column of ids is needed for each table: {} for {} tables", ids.len(), inputs.len());
        return Err(Error::schema(method, message));
    }
    let pairs: Vec<(usize, &str)> = ids.iter().map(String::as_str).enumerate().collect();
    check(method, inputs, keys, which, &pairs)?;
    let mut all = without_nulls(call, &inputs[0], &ids[..1])?;
    for (other, id) in inputs[1..].iter().zip(&ids[1..]) {
        all = met(call, &all, other, keys, &ids[0], id)?;
    }
    let newest = Expr::aggregate(Aggregate::Max, [Expr::column(ids[0].as_str())])?.alias(ids[0].as_str());
    let by: Vec<Expr> = keys.iter().map(|key| Expr::column(key.as_str())).collect();
    let wanted = aggregate(call, &all, &by, &[newest], OnError::Fail)?;
    met(call, &inputs[which], &wanted, keys, &ids[which], &ids[0])
}

/// The last rows of the leader, the first input, all of whose ids the others have, or the rows that they want of another.
/// `ids`: the column of the leader and that of the other, one pair for each other input.
pub(in crate::plan) fn sync_leader(
    call: &Call,
    inputs: &[Table],
    keys: &[String],
    ids: &[(String, String)],
    which: usize,
) -> Result<Table, Error> {
    let method = &*call.method;
    if inputs.len() < 2 || ids.len() != inputs.len() - 1 {
        let followers = inputs.len().saturating_sub(1);
        let message = format!("a column of ids is needed for each follower: {} for {followers} followers", ids.len());
        return Err(Error::schema(method, message));
    }
    let led = ids.iter().map(|(own, _)| (0, own.as_str()));
    let others = ids.iter().enumerate().map(|(at, (_, other))| (at + 1, other.as_str()));
    check(method, inputs, keys, which, &led.chain(others).collect::<Vec<_>>())?;
    let own: Vec<String> = ids.iter().map(|(own, _)| own.clone()).collect();
    let mut active = without_nulls(call, &inputs[0], &own)?;
    for (follower, (own, other)) in inputs[1..].iter().zip(ids) {
        active = met(call, &active, follower, keys, own, other)?;
    }
    let limit = GroupLimit::new(method, &active, keys, 1, Keep::Last)?;
    let wanted = call.attach(&limit, std::slice::from_ref(&active))?;
    match which.checked_sub(1) {
        None => Ok(wanted),
        Some(follower) => met(call, &inputs[which], &wanted, keys, &ids[follower].1, &ids[follower].0),
    }
}

fn check(method: &str, inputs: &[Table], keys: &[String], which: usize, ids: &[(usize, &str)]) -> Result<(), Error> {
    if which >= inputs.len() {
        return Err(Error::schema(method, format!("there is no table {which} among {}", inputs.len())));
    }
    if keys.is_empty() {
        return Err(Error::schema(method, "at least one key column is needed (by=)"));
    }
    if let Some(blink) = inputs.iter().position(|input| input.attributes().blink) {
        let message = format!(
            "table {blink} is a blink table, whose rows live for one step and would not wait for those of the others; \
             keep them in a table first"
        );
        return Err(Error::invalid(method, message));
    }
    for (at, id) in ids {
        let column = inputs[*at].column_index(method, id)?;
        let holds = inputs[*at].column_type(column);
        let is_id =
            holds.is_integer() || matches!(holds, DataType::Timestamp(..) | DataType::Date32 | DataType::Duration(_));
        if !is_id {
            let holds = type_name(holds);
            let message = format!("the column {id:?} of table {at} holds {holds}; ids are whole numbers or instants");
            return Err(Error::types(method, message));
        }
        if keys.iter().any(|key| key == id) {
            return Err(Error::schema(method, format!("the column {id:?} is a key and an id; it is one of them")));
        }
    }
    Ok(())
}

fn without_nulls(call: &Call, table: &Table, ids: &[String]) -> Result<Table, Error> {
    let there = |id: &String| Expr::call(Function::IsNotNull, vec![Expr::column(id.as_str())]);
    let there = ids.iter().map(there).collect::<Result<Vec<_>, _>>()?;
    filtered(call, table, &there, &[], OnError::Fail)
}

/// The rows whose key and id are among those of another table.
fn met(call: &Call, rows: &Table, set: &Table, keys: &[String], own: &str, other: &str) -> Result<Table, Error> {
    let keys = keys.iter().map(|key| (key.clone(), key.clone()));
    let on: Vec<(String, String)> = keys.chain([(own.to_owned(), other.to_owned())]).collect();
    let both = [rows.clone(), set.clone()];
    call.attach(&WhereIn::new(&call.method, rows, set, &on, Member::In, true)?, &both)
}

#[cfg(test)]
mod tests {
    use model::Compare;

    use super::*;
    use crate::testing::check::check_steps_of_two;
    use crate::testing::{check_law_of_two, table_of};

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn synced(one: &Table, other: &Table, which: usize) -> Result<Table, Error> {
        sync_filter(&"sync_filter".into(), &[one.clone(), other.clone()], &names(&["k"]), &names(&["i", "j"]), which)
    }

    fn led(one: &Table, other: &Table, which: usize) -> Result<Table, Error> {
        let ids = [("i".to_owned(), "j".to_owned())];
        sync_leader(&"sync_to_leader".into(), &[one.clone(), other.clone()], &names(&["k"]), &ids, which)
    }

    #[test]
    fn the_rows_of_an_id_come_when_the_last_table_has_it() {
        let start = ("k:str i:int: 0 A 1 | 1 A 1 | 2 A 2", "k:str j:int: 0 A 1");
        let steps: &[((&str, &str), &str)] = &[
            (("", "+ 1 A 2 | + 2 A 3"), "- [0..1] | + 2 A 2"),
            (("+ 3 A 2", ""), "+ 3 A 2"),
            (("+ 4 null 5 | + 5 B 1", "+ 3 null 5"), "+ 4 null 5"),
            (("+ 6 B null", "+ 4 B null"), ""),
            (("+ 7 A 3", "- 1"), "- [2..3] | + 7 A 3"),
            (("- 7", ""), "- 7 | + 0 A 1 | + 1 A 1"),
        ];
        check_steps_of_two(|one, other| synced(one, other, 0), start, steps);
        let of_the_other: &[((&str, &str), &str)] = &[
            (("", "+ 1 A 2 | + 2 A 3"), "- 0 | + 1 A 2"),
            (("+ 3 A 3", ""), "- 1 | + 2 A 3"),
            (("> [0..3]+10", ""), ""),
        ];
        check_steps_of_two(|one, other| synced(one, other, 1), start, of_the_other);
    }

    #[test]
    fn the_leader_says_what_is_wanted() {
        let start = ("k:str i:int: 0 A 1 | 1 A 2", "k:str j:int: 0 A 1");
        let follower: &[((&str, &str), &str)] = &[
            (("", "+ 1 A 3 | + 2 A 2 | + 3 A 2"), "- 0 | + 2 A 2 | + 3 A 2"),
            (("+ 2 A 1", ""), "+ 0 A 1 | - [2..3]"),
            (("+ 3 A null", ""), ""),
            (("- 2", "- 2"), "- 0 | + 3 A 2"),
        ];
        check_steps_of_two(|one, other| led(one, other, 1), start, follower);
    }

    #[test]
    fn law() {
        let (one, other) = (table_of("k:str i:int v:float").rows(12), table_of("k:str j:int w:int").rows(12));
        for which in [0, 1] {
            check_law_of_two(
                (&one, &other),
                150,
                Compare::ByPosition,
                |one, other| synced(one, other, which),
                |one, other| Ok(model::ops::sync_filter(&[one, other], &["k"], &["i", "j"], which)),
            );
            let how = if which == 0 { Compare::by_key(&["k"]) } else { Compare::ByPosition };
            check_law_of_two(
                (&one, &other),
                150,
                how,
                |one, other| led(one, other, which),
                |one, other| Ok(model::ops::sync_leader(&[one, other], &["k"], &[("i", "j")], which)),
            );
        }
    }
}
