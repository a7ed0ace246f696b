//! `assert_sorted`, `with_order_for_column`: the same rows, known to be in order; the first looks at each change.
//!
//!   in   0 A 1    1 B 3      in order of V      out   0 A 1    1 B 3
//!   in   + 4 C 5                                out   + 4 C 5
//!   in   ~ 4 C 2                                fails: at row key 4 stands 2, after 3 at row key 1
//!
//! Rows and columns shared. Cost of an update: each row that came or that has another sort key is compared with its
//! neighbours.

use std::sync::Arc;

use column::kernels::order_words;
use graph::{Moment, Step};
use rowset::RowSet;

use super::by::{Bytes, SortKey, Sorting};
use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::ops::asked::Asked;
use crate::plan::spec::SortBy;
use crate::sizes::SLICE_ROWS;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::{Attributes, Parts};
use crate::table::request::Request;
use crate::table::update::TableUpdate;
use crate::table::view::View;
use crate::threads::parallel;

/// A table whose rows are in order.
pub struct InOrder {
    request: Request,
    order: Arc<Asserted>,
    checked: bool,
}

/// What is asserted.
struct Asserted {
    operation: String,
    sorting: Sorting,
    /// Which rows, as the message calls them.
    called: String,
}

impl InOrder {
    /// By one column or several. Unless it is checked, it is believed.
    pub fn new(operation: &str, table: &Table, by: &[SortBy], checked: bool) -> Result<InOrder, Error> {
        InOrder::of(operation, table, by, checked, "the rows")
    }

    /// As [`new`](InOrder::new); the message calls the rows so.
    pub(crate) fn of(
        operation: &str,
        table: &Table,
        by: &[SortBy],
        checked: bool,
        called: &str,
    ) -> Result<InOrder, Error> {
        let sorting = Sorting::of(operation, table, by)?;
        let request = Request::new(operation, &Asked::InOrder { by, checked, called }).with_text(sorting.text.clone());
        let order = Arc::new(Asserted { operation: operation.to_owned(), sorting, called: called.to_owned() });
        Ok(InOrder { request, order, checked })
    }
}

impl Operation for InOrder {
    fn request(&self) -> &Request {
        &self.request
    }

    fn init(&self, inputs: &[Input], _: Moment) -> Result<Start, Error> {
        let Input { table, view } = &inputs[0];
        if self.checked {
            self.order.check(view, view.rows())?;
        }
        let old = table.attributes();
        let held = self.order.sorting.attributes(table, false).sorted_by;
        let sorted_by = if old.sorted_by.starts_with(&held) { old.sorted_by.clone() } else { held };
        let attributes = Attributes { sorted_by, ..old.clone() };
        let of_table = table.parts();
        let parts = Parts { attributes, ..of_table.clone() };
        let live = InOrderLive { checked: self.checked.then(|| self.order.clone()) };
        Ok(Start { parts, live: Box::new(live), owned: Vec::new() })
    }
}

struct InOrderLive {
    checked: Option<Arc<Asserted>>,
}

impl Live for InOrderLive {
    fn update(&mut self, inputs: &[Change], _: Step) -> Result<TableUpdate, Error> {
        let update = inputs[0].update();
        if let Some(order) = &self.checked {
            let mut touched = update.added.clone();
            if update.columns.contains_any(&order.sorting.columns) {
                touched |= &update.modified;
            }
            if !touched.is_empty() {
                let now = inputs[0].now();
                order.check(now, &(&touched | &neighbours(now.rows(), &touched)))?;
            }
        }
        Ok(update.clone())
    }
}

/// The rows before and after each of these.
fn neighbours(rows: &RowSet, touched: &RowSet) -> RowSet {
    let mut beside = Vec::new();
    for span in touched.spans() {
        beside.extend(span.first.checked_sub(1).and_then(|key| rows.last_at_or_before(key)));
        beside.extend(span.last.checked_add(1).and_then(|key| rows.first_at_or_after(key)));
    }
    RowSet::from_keys(beside)
}

impl Asserted {
    /// Fails at the first of these rows that comes before the one before it.
    fn check(&self, view: &View, rows: &RowSet) -> Result<(), Error> {
        let cells = view.read_columns(&self.sorting.columns, &RowSet::new())?;
        let found = match cells.as_slice() {
            [one] if order_words(one, false).is_some() => self.first_disorder::<u64>(view, rows)?,
            _ => self.first_disorder::<Bytes>(view, rows)?,
        };
        found.map_or(Ok(()), |(before, row)| Err(self.told(view, before, row)))
    }

    /// The row, and the one before it.
    fn first_disorder<K: SortKey>(&self, view: &View, rows: &RowSet) -> Result<Option<(u64, u64)>, Error> {
        let parts = parallel::parts(rows, SLICE_ROWS.rows());
        let found = parallel::try_map(parts.len() > 1, &parts, |_, part| {
            let before = part.first().and_then(|first| first.checked_sub(1));
            let before = before.and_then(|key| rows.last_at_or_before(key));
            let with = before.map_or_else(|| part.clone(), |key| part | &RowSet::key(key));
            let entries = self.sorting.entries::<K>(view, &with)?;
            let pair = entries.windows(2).find(|pair| pair[0] > pair[1]);
            Ok::<_, Error>(pair.map(|pair| (pair[0].source(), pair[1].source())))
        })?;
        Ok(found.into_iter().flatten().next())
    }

    fn told(&self, view: &View, before: u64, row: u64) -> Error {
        let cell = |key| {
            let cells = match view.read_columns(&self.sorting.columns, &RowSet::key(key)) {
                Ok(cells) => cells,
                Err(error) => return Err(error),
            };
            let text = |cell: &column::Chunk| match cell.is_null(0) {
                true => "null".to_owned(),
                false => arrow_cast::display::array_value_to_string(cell, 0).unwrap_or_default(),
            };
            Ok(cells.iter().map(text).collect::<Vec<_>>().join(", "))
        };
        match (cell(before), cell(row)) {
            (Ok(other), Ok(this)) => Error::data(
                &self.operation,
                format!(
                    "{} are not in order of {}: at row key {row} stands {this}, after {other} at row key {before}",
                    self.called, self.sorting.text
                ),
            ),
            (Err(error), _) | (_, Err(error)) => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use model::Compare;

    use super::*;
    use crate::attach;
    use crate::testing::{any_table, check_law, check_steps};

    fn asserted(table: &Table, by: &[SortBy]) -> Result<Table, Error> {
        attach(&InOrder::new("assert_sorted", table, by, true)?, std::slice::from_ref(table))
    }

    #[test]
    fn a_row_out_of_order_fails_the_table() {
        let steps = [
            ("+ 4 C 5", "+ 4 C 5"),
            ("~ 1 Z .", "~ 1 Z ."),
            ("> [1..4]+3", "> [1..4]+3"),
            (
                "~ 4 . null",
                "! assert_sorted: the rows are not in order of V: at row key 4 stands null, after 1 at row key 0",
            ),
        ];
        check_steps(|table| asserted(table, &[SortBy::ascending("V")]), "0 A 1 | 1 B 3", &steps);
        let between = [("+ 3 C 4", "! at row key 5 stands 3, after 4 at row key 3")];
        check_steps(|table| asserted(table, &[SortBy::ascending("V")]), "0 A 1 | 5 B 3", &between);
    }

    #[test]
    fn a_table_out_of_order_is_refused() {
        let graph = crate::testing::still_graph();
        let input = crate::testing::Drawn::new(&graph, "0 A 1 | 1 B 3 | 7 B 2");
        let by = [SortBy::ascending("K"), SortBy::ascending("V")];
        let error = asserted(input.table(), &by).err().expect("it is not in order");
        let wanted =
            "assert_sorted: the rows are not in order of K, V: at row key 7 stands B, 2, after B, 3 at row key 1";
        assert_eq!(error.to_string(), wanted);
        let believed = attach(
            &InOrder::new("with_order_for_column", input.table(), &by, false).expect("it has these columns"),
            std::slice::from_ref(input.table()),
        );
        let held = believed.expect("it is believed").attributes().sorted_by.clone();
        assert_eq!(held, [("K".to_owned(), false), ("V".to_owned(), false)]);
    }

    #[test]
    fn law() {
        for by in [vec!["b"], vec!["g", "x"], vec!["k"]] {
            let sort_by: Vec<SortBy> = by.iter().map(|name| SortBy::descending(name)).collect();
            let model_by: Vec<_> = by.iter().map(|name| model::ops::SortBy::descending(name)).collect();
            for rows in [2, 5] {
                check_law(
                    &any_table().rows(rows),
                    100,
                    Compare::ByPosition,
                    |table| asserted(table, &sort_by),
                    |table| model::ops::assert_sorted(table, &model_by),
                );
            }
        }
    }
}
