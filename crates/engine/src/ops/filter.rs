//! `filter`: keep the rows for which every predicate is true.
//!
//!   in   + 0 A 1    + 1 B 2    + 2 A 3          filter K = A
//!   out  + 0 A 1               + 2 A 3          columns shared, rows own
//!
//! Null counts as false. Cost of an update: added rows are tested, and modified ones if a column of
//! the predicate changed; nothing is stored but the row set.

use std::sync::Arc;

use formula::{Expr, Function};
use graph::{Moment, Step};
use rowset::{Before, RowSet, Shifts};

use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::eval::call::Call;
use crate::eval::conjunction::Conjunction;
use crate::eval::evaluator::Evaluator;
use crate::eval::schedule::ExecutionOrder;
use crate::eval::selection;
use crate::eval::zones::Bounds;
use crate::ops::asked::{Asked, Expressions};
use crate::row_errors::{OnError, RowErrors};
use crate::sizes::{BLOCK_ROWS, SLICE_ROWS};
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::Attributes;
use crate::table::parts::Parts;
use crate::table::request::Request;
use crate::table::rows::LiveRows;
use crate::table::update::TableUpdate;
use crate::table::view::View;

/// Keep the rows that match every predicate.
pub struct Filter {
    request: Request,
    predicates: Arc<[Evaluator]>,
    bounds: Bounds,
}

impl Filter {
    /// Checks that every predicate is Boolean and names columns of the table. Conjunctions are
    /// taken apart, so that a later predicate sees only what passed the earlier ones.
    pub fn new(table: &Table, predicates: &[Expr]) -> Result<Filter, Error> {
        Filter::named("filter", table, predicates)
    }

    /// As [`Filter::new`], with the name of the method that the user called, for error messages.
    pub fn named(operation: &str, table: &Table, predicates: &[Expr]) -> Result<Filter, Error> {
        Filter::ordered(&operation.into(), table, predicates, &[])
    }

    /// As [`Filter::named`], with the execution order for each predicate. A predicate sees only the rows that
    /// passed the earlier ones. Cheap predicates run before user functions, but no predicate is moved across a barrier; those that
    /// cannot fail change places as they are measured.
    pub(crate) fn ordered(
        call: &Call,
        table: &Table,
        predicates: &[Expr],
        orders: &[ExecutionOrder],
    ) -> Result<Filter, Error> {
        let (mut bound, mut told) = (Vec::with_capacity(predicates.len()), Vec::with_capacity(predicates.len()));
        for (at, predicate) in predicates.iter().enumerate() {
            let order = orders.get(at).cloned().unwrap_or_default();
            // Bound as a whole first, so that an error shows the user's text and not a part of it.
            let whole = Evaluator::predicate(call, predicate, table)?;
            told.push(whole.told().to_owned());
            match terms(predicate, table).as_slice() {
                [_] => bound.push(whole.with_order(order)),
                parts => {
                    for part in parts {
                        bound.push(Evaluator::predicate(call, part, table)?.with_order(order.clone()));
                    }
                }
            }
        }
        let bound = cheapest_first(bound);
        Ok(Filter {
            request: request(&call.method, predicates, orders).with_text(told.join(", ")),
            predicates: bound.into(),
            bounds: Bounds::of(table, if orders.is_empty() { predicates } else { &[] }),
        })
    }

    /// The attributes of a table of which rows are left out.
    pub(crate) fn attributes(table: &Table) -> Attributes {
        Attributes { flat: false, ..table.attributes().clone() }
    }

    /// The rows of a view that are looked at: of the others the statistics of their file say that they do not pass.
    pub(crate) fn within(&self, view: &View) -> Result<RowSet, Error> {
        self.bounds.within(&Call::from(self.request.name.as_str()), view, view.rows())
    }

    /// Sets `on_error`: rows whose predicate cannot be computed do not pass, and are reported.
    pub fn with_on_error(mut self, on_error: OnError) -> Filter {
        if on_error == OnError::Fail {
            return self;
        }
        let row_errors = RowErrors::of(&self.request.name);
        for predicate in Arc::get_mut(&mut self.predicates).into_iter().flatten() {
            predicate.with_on_error(&row_errors);
        }
        self.request = self.request.with_on_error(on_error, &row_errors);
        self
    }

    /// A filter that keeps the rows for which every expression can be computed; the others are reported.
    pub(crate) fn computable(
        call: &Call,
        table: &Table,
        expressions: &[Expr],
        row_errors: &RowErrors,
    ) -> Result<Filter, Error> {
        let computable = |expression| {
            let mut predicate = Evaluator::computable(call, expression, table)?;
            predicate.with_on_error(row_errors);
            Ok(predicate)
        };
        let predicates = expressions.iter().map(computable).collect::<Result<_, Error>>()?;
        let request = request(&call.method, expressions, &[]).with_on_error(OnError::Drop, row_errors);
        Ok(Filter { request, predicates, bounds: Bounds::of(table, &[]) })
    }
}

/// The terms of a conjunction. Neighbours that read the same numbers or times, and cannot fail, stay together: they are one
/// pass.
fn terms(predicate: &Expr, table: &Table) -> Vec<Expr> {
    let is_cheap = |term: &Expr| {
        let is_plain = |name: &str| {
            let field = table.canonical().field_with_name(name);
            field.is_ok_and(|field| field.data_type().is_primitive())
        };
        term.columns().into_iter().all(is_plain) && term.is_total(table.canonical())
    };
    let mut terms: Vec<Expr> = Vec::new();
    for term in formula::split_conjunction(predicate) {
        let last = terms.pop_if(|last| last.columns() == term.columns() && is_cheap(last) && is_cheap(term));
        let both = last.clone().and_then(|last| Expr::call(Function::And, vec![last, term.clone()]).ok());
        terms.extend(both.map_or_else(|| last.into_iter().chain([term.clone()]).collect(), |both| vec![both]));
    }
    terms
}

fn request(operation: &str, expressions: &[Expr], orders: &[ExecutionOrder]) -> Request {
    let text = expressions.iter().map(Expr::to_python).collect::<Vec<_>>().join(", ");
    Request::new(operation, &Asked::Filter { predicates: Expressions(expressions), orders }).with_text(text)
}

impl Operation for Filter {
    fn request(&self) -> &Request {
        &self.request
    }

    fn expressions(&self) -> Option<Arc<[Evaluator]>> {
        Some(self.predicates.clone())
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let Input { table, view } = &inputs[0];
        crate::eval::evaluator::own_row_only(&self.request.name, &self.predicates)?;
        let predicates = Conjunction::new(self.predicates.clone());
        let kept = matching(&predicates, view, &self.within(view)?)?;
        let rows = Arc::new(LiveRows::new(kept, at));
        let parts = Parts {
            rows: rows.clone(),
            columns: table.parts().columns.clone(),
            schema: table.schema().clone(),
            attributes: Filter::attributes(table),
        };
        let live = FilterLive { predicates, rows: rows.clone() };
        Ok(Start { parts, live: Box::new(live), owned: vec![rows] })
    }
}

struct FilterLive {
    predicates: Conjunction,
    rows: Arc<LiveRows>,
}

impl Live for FilterLive {
    // All predicates are evaluated before a row is added or removed.
    fn resumes(&self) -> bool {
        true
    }

    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        self.rows.edit(step, |kept| self.change(&inputs[0], kept))
    }
}

impl FilterLive {
    /// The change of the rows that are kept.
    fn change(&self, input: &Change, kept: &RowSet) -> Result<TableUpdate, Error> {
        let (update, now) = (input.update(), input.now());
        let arriving = matching(&self.predicates, now, &update.added)?;
        if update.is_add_only() {
            return Ok(TableUpdate::of_added(arriving));
        }
        let gone = kept & &update.removed.0;
        let (removed, entered, modified, shifts) = if update.shifts.is_empty() {
            // Without shifts only the changed rows are tested; modified rows kept their keys.
            let (left, entered, modified) = self.judge(update, now, kept)?;
            (Before(&gone | &left), entered, modified, Shifts::none())
        } else {
            let before = Before(kept - &gone);
            let (left, entered, modified) = self.judge(update, now, &update.shifts.forward(&before))?;
            let left = update.shifts.back(&left);
            let shifts = update.shifts.restrict(&(&before - &left));
            (Before(&gone | &left.0), entered, modified, shifts)
        };
        let added = &arriving | &entered;
        Ok(TableUpdate { columns: update.columns.unless_empty(&modified), added, removed, modified, shifts })
    }

    /// Splits the modified rows into those that fail now, those that pass now and did not before, and those that pass
    /// as before.
    fn judge(&self, update: &TableUpdate, now: &View, survivors: &RowSet) -> Result<(RowSet, RowSet, RowSet), Error> {
        let inside = &update.modified & survivors;
        if !self.predicates.iter().any(|predicate| update.columns.contains_any(predicate.inputs())) {
            return Ok((RowSet::new(), RowSet::new(), inside));
        }
        let passing = matching(&self.predicates, now, &update.modified)?;
        let stay = &inside & &passing;
        Ok((&inside - &stay, &passing - &stay, stay))
    }
}

/// Sorts native predicates before stateless user functions. An ordered predicate (serial, stateful or behind a barrier)
/// keeps its place, and no predicate is moved across it.
fn cheapest_first(predicates: Vec<Evaluator>) -> Vec<Evaluator> {
    let held =
        |one: &Evaluator| one.is_ordered() || !one.order().declares.is_empty() || !one.order().respects.is_empty();
    let mut sorted: Vec<Evaluator> = Vec::with_capacity(predicates.len());
    let mut run: Vec<Evaluator> = Vec::new();
    for predicate in predicates {
        if held(&predicate) {
            run.sort_by_key(Evaluator::calls_host);
            sorted.append(&mut run);
            sorted.push(predicate);
        } else {
            run.push(predicate);
        }
    }
    run.sort_by_key(Evaluator::calls_host);
    sorted.append(&mut run);
    sorted
}

/// The rows that pass all predicates. Each predicate is evaluated only for the rows that passed the earlier ones.
fn matching(predicates: &Conjunction, view: &View, rows: &RowSet) -> Result<RowSet, Error> {
    // A block tells what predicates cost, before they see the others.
    let many = if predicates.has_choice() { BLOCK_ROWS.rows() } else { SLICE_ROWS.rows() };
    if predicates.len() > 1 && rows.len() > many && predicates.iter().all(Evaluator::is_by_batch) {
        // What fails here may be another row than the one that fails first, predicate after predicate.
        if let Ok(rows) = selection::matching(predicates, view, rows) {
            return Ok(rows);
        }
        return predicates.iter().try_fold(rows.clone(), |rows, predicate| predicate.matching(view, &rows));
    }
    let mut passing = rows.clone();
    predicates.narrow(&mut passing, RowSet::len, |rows, predicate| {
        *rows = predicate.matching(view, rows)?;
        Ok(())
    })?;
    Ok(passing)
}

#[cfg(test)]
mod tests {
    use model::ops::filter;
    use model::{Compare, Comparison, ModelExpr};

    use super::*;
    use crate::driver::attach::attach;
    use crate::testing::{any_table, check_law, check_steps};

    fn over(table: &Table, column: &str, limit: i64) -> Result<Table, Error> {
        let predicate = Expr::call(Function::Greater, vec![Expr::column(column), Expr::literal(limit)])?;
        attach(&Filter::new(table, &[predicate])?, std::slice::from_ref(table))
    }

    #[test]
    fn a_modified_row_may_come_leave_or_stay() {
        check_steps(
            |table| over(table, "V", 1),
            "0 A 1 | 1 B 2 | 2 C 3",
            &[
                ("~ 1 . 0", "- 1"),
                ("~ 0 . 5", "+ 0 A 5"),
                ("~ 2 . 4", "~ 2 . 4"),
                ("~ 1 Z .", ""),
                ("> [2..2]+5", "> [2..2]+5"),
                ("- 0 | + 3 D 9", "- 0 | + 3 D 9"),
            ],
        );
    }

    #[test]
    fn law() {
        let limit = |limit: i64| {
            let (column, literal) = (ModelExpr::column("v"), ModelExpr::literal(limit));
            ModelExpr::Compare(Comparison::Greater, Box::new(column), Box::new(literal))
        };
        check_law(
            &any_table(),
            300,
            Compare::ByPosition,
            |table| over(table, "v", 3),
            |input| filter(input, &[limit(3)]),
        );
    }

    #[test]
    fn law_of_several_predicates() {
        let predicates = || {
            let greater = Expr::call(Function::Greater, vec![Expr::column("v"), Expr::literal(0)])?;
            let flag = Expr::call(
                Function::Or,
                vec![Expr::column("b"), Expr::call(Function::IsNull, vec![Expr::column("k")])?],
            )?;
            Ok::<_, Error>(vec![greater, flag])
        };
        let model = || {
            let zero = Box::new(ModelExpr::literal(0));
            let greater = ModelExpr::Compare(Comparison::Greater, Box::new(ModelExpr::column("v")), zero);
            let flag = ModelExpr::Or(
                Box::new(ModelExpr::column("b")),
                Box::new(ModelExpr::IsNull(Box::new(ModelExpr::column("k")))),
            );
            [greater, flag]
        };
        let build = |table: &Table| attach(&Filter::new(table, &predicates()?)?, std::slice::from_ref(table));
        check_law(&any_table(), 300, Compare::ByPosition, build, |input| filter(input, &model()));
    }

    #[test]
    fn a_filter_must_be_boolean() {
        let table = crate::testing::Drawn::new(&crate::testing::still_graph(), "0 A 1").table().clone();
        let error = Filter::new(&table, &[Expr::column("V")]).err().expect("an integer is no filter");
        assert!(error.to_string().contains("must be Boolean"), "{error}");
    }
}
