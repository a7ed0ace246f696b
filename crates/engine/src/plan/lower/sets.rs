//! `is_in` of a set that lives: `col("k").is_in(watched)`, where `watched` is a table of one column.
//!
//! A filter by such a test of a column, or by its opposite, is `where_in`. Anywhere else the test is a column first: the
//! distinct values of the set, joined on the tested value.

use std::sync::Arc;

use formula::values::{LiveSet, Payload};
use formula::{ColumnName, Expr, Function};

use super::aggregate::{Which, composed};
use super::computed::{ColumnOptions, Columns};
use super::hidden::taken;
use crate::error::Error;
use crate::eval::call::Call;
use crate::ops::{NaturalJoin, WhereIn};
use crate::plan::spec::{Matches, Materialization, Member};
use crate::row_errors::{OnError, RowErrors};
use crate::table::handle::Table;

/// What stands behind a [`LiveSet`]: a table and its column.
struct SetColumn(Table, String);

/// The values of a table's only column, as they are at every step.
pub fn live_set(operation: &str, table: &Table) -> Result<LiveSet, Error> {
    let [field] = table.schema().fields().as_ref() else {
        let names: Vec<&str> = table.schema().fields().iter().map(|field| field.name().as_str()).collect();
        let message = format!(
            "a table as a set has one column, not {}: choose one of {} with select, or use where_in for several",
            names.len(),
            names.join(", ")
        );
        return Err(Error::invalid(operation, message));
    };
    let name = field.name().clone();
    Ok(LiveSet {
        id: table.request().fingerprint,
        text: format!("table[{name:?}]").into(),
        payload: Payload(Arc::new(SetColumn(table.clone(), name))),
    })
}

/// The table behind a live set; none of one that is a place in a plan.
pub(in crate::plan) fn table_of(set: &LiveSet) -> Option<&Table> {
    set.payload.0.downcast_ref().map(|SetColumn(table, _)| table)
}

fn column_of<'a>(call: &Call, set: &'a LiveSet) -> Result<&'a SetColumn, Error> {
    set.payload.0.downcast_ref().ok_or_else(|| Error::internal(&call.method, "a live set that is no table's column"))
}

/// A test for membership that is a whole filter: its column, its set, and what it keeps.
struct Membership {
    column: String,
    set: LiveSet,
    nulls_equal: bool,
    member: Member,
    text: String,
}

/// The rows that pass all tests for membership among these predicates, which are taken out of them. What is left of each
/// predicate stands in its place; one of which nothing is left is true.
pub(super) fn members(
    call: &Call,
    predicates: &[Expr],
    filtered: impl FnOnce(&[Expr]) -> Result<Table, Error>,
) -> Result<Option<Table>, Error> {
    let mut found: Vec<Membership> = Vec::new();
    let mut rest: Vec<Expr> = Vec::new();
    for predicate in predicates {
        let mut terms: Vec<Expr> = Vec::new();
        for term in formula::split_conjunction(predicate) {
            match membership(term) {
                Some((member, also)) => {
                    found.push(member);
                    terms.extend(also);
                }
                None => terms.push(term.clone()),
            }
        }
        rest.push(match terms.len() {
            0 => Expr::literal(true),
            1 => terms.remove(0),
            _ => Expr::call(Function::And, terms)?,
        });
    }
    if found.is_empty() {
        return Ok(None);
    }
    let mut kept = filtered(&rest)?;
    let row_errors: Option<RowErrors> = kept.request().row_errors.clone();
    for Membership { column, set, nulls_equal, member, text } in found {
        let SetColumn(table, name) = column_of(call, &set)?;
        let both = [kept, table.clone()];
        let on = [(column, name.clone())];
        let request = WhereIn::new(&call.method, &both[0], &both[1], &on, member, nulls_equal)?;
        kept = call.attach(&request.written(text).reporting_to(row_errors.clone()), &both)?;
    }
    Ok(Some(kept))
}

/// A term that is a test for membership of a column; with what must hold beside it: null is neither in a set nor not.
fn membership(term: &Expr) -> Option<(Membership, Option<Expr>)> {
    let text = term.to_python();
    match term.unaliased() {
        Expr::InSet { input, set, nulls_equal } => {
            let Expr::Column(column) = input.unaliased() else { return None };
            let (column, set, nulls_equal) = (column.to_string(), set.clone(), *nulls_equal);
            Some((Membership { column, set, nulls_equal, member: Member::In, text }, None))
        }
        Expr::Call { function: Function::Not, args } => {
            let (inner, _) = membership(args.first()?).filter(|(inner, _)| inner.member == Member::In)?;
            let there = Expr::Call { function: Function::IsNotNull, args: vec![Expr::column(inner.column.as_str())] };
            let also = (!inner.nulls_equal).then_some(there);
            Some((Membership { member: Member::NotIn, text, ..inner }, also))
        }
        _ => None,
    }
}

/// The table with a hidden column for the test, and the test over it.
pub(super) fn tested(
    call: &Call,
    table: &Table,
    input: &Expr,
    set: &LiveSet,
    nulls_equal: bool,
    name: &ColumnName,
    next: &mut usize,
    columns: Columns,
) -> Result<Table, Error> {
    let SetColumn(of, column) = column_of(call, set)?;
    if of.attributes().blink {
        return Err(Error::invalid(
            &call.method,
            "is_in of a blink table beside other expressions: its rows live for one step; filter by where_in, or keep \
             them in a table first",
        ));
    }
    let mut wide = table.clone();
    let key = match input.unaliased() {
        Expr::Column(name) => name.to_string(),
        other => {
            let hidden = other.hidden(taken(next));
            let made = [other.clone().alias(&hidden)];
            wide = columns(call, &wide, &made, ColumnOptions::STORED)?;
            hidden.to_string()
        }
    };
    let distinct =
        composed(call, &[of], &[Expr::column(column.as_str())], &[], OnError::Fail, Which::default(), columns)?;
    let there = [Expr::literal(true).alias(name)];
    let distinct =
        columns(call, &distinct, &there, ColumnOptions { kept: Materialization::Lazy, ..ColumnOptions::STORED })?;
    let both = [wide, distinct];
    let (on, joins) = ([(key, column.clone())], [(name.to_string(), name.to_string())]);
    let join =
        NaturalJoin::new(&call.method, &both[0], &both[1], &on, Some(&joins), None, Matches::First, nulls_equal)?;
    call.attach(&join, &both)
}

/// What the test is, given its hidden column: null for null, unless null equals null.
pub(super) fn answer(input: &Expr, nulls_equal: bool, name: &ColumnName) -> Expr {
    let call = |function, of: Expr| Expr::Call { function, args: vec![of] };
    let there = call(Function::IsNotNull, Expr::column(name));
    if nulls_equal {
        return there;
    }
    let unknown = Expr::Literal(formula::Literal::TypedNull(arrow_schema::DataType::Boolean));
    Expr::When {
        branches: vec![(call(Function::IsNull, input.unaliased().clone()), unknown)],
        otherwise: Some(Arc::new(there)),
    }
}

#[cfg(test)]
mod tests {
    use model::Compare;
    use model::ops::where_in;

    use super::*;
    use crate::driver::attach::attach;
    use crate::ops::Project;
    use crate::plan::filtered;
    use crate::row_errors::OnError;
    use crate::testing::{check_law_of_two, table_of};

    fn in_set(input: Expr, set: &Table) -> Result<Expr, Error> {
        let only = attach(&Project::choose(set, &["k".to_owned()])?, std::slice::from_ref(set))?;
        Ok(Expr::InSet { input: Arc::new(input), set: live_set("filter", &only)?, nulls_equal: false })
    }

    fn call(function: Function, args: Vec<Expr>) -> Expr {
        Expr::call(function, args).expect("a call")
    }

    fn kept(rows: &Table, predicate: Expr) -> Result<Table, Error> {
        filtered("filter", rows, &[predicate], &[], OnError::Fail)
    }

    #[test]
    fn law_of_a_filter_is_where_in() {
        let (rows, set) = (table_of("k:str v:int"), table_of("k:str w:int").rows(6));
        let build = |rows: &Table, set: &Table| kept(rows, in_set(Expr::column("k"), set)?);
        check_law_of_two((&rows, &set), 200, Compare::ByPosition, build, |rows, set| {
            Ok(where_in(rows, set, &[("k".into(), "k".into())], false, false))
        });
    }

    /// Null is neither in a set nor not in it.
    #[test]
    fn law_of_its_opposite() {
        let (rows, set) = (table_of("k:str v:int"), table_of("k:str w:int").rows(6));
        let build = |rows: &Table, set: &Table| kept(rows, call(Function::Not, vec![in_set(Expr::column("k"), set)?]));
        check_law_of_two((&rows, &set), 200, Compare::ByPosition, build, |rows, set| {
            let outside = where_in(rows, set, &[("k".into(), "k".into())], true, false);
            let there =
                model::ModelExpr::Not(Box::new(model::ModelExpr::IsNull(Box::new(model::ModelExpr::column("k")))));
            Ok(model::ops::filter(&outside, &[there]))
        });
    }

    /// Inside another expression it is a column: what is in neither way is kept by neither.
    #[test]
    fn law_inside_an_expression() {
        let (rows, set) = (table_of("k:str v:int"), table_of("k:str w:int").rows(6));
        let build = |rows: &Table, set: &Table| {
            let known = in_set(Expr::column("k"), set)?;
            kept(rows, call(Function::Or, vec![known, call(Function::IsNull, vec![Expr::column("k")])]))
        };
        check_law_of_two((&rows, &set), 200, Compare::ByPosition, build, |rows, set| {
            let inside = where_in(rows, set, &[("k".into(), "k".into())], false, false);
            let at = rows.index_of("k");
            let kept = rows
                .rows
                .iter()
                .filter(|(key, row)| row[at].is_null() || inside.rows.iter().any(|(known, _)| known == key));
            Ok(model::Table { names: rows.names.clone(), rows: kept.cloned().collect() })
        });
    }
}
