//! `shift(n).over(k)`: the value of the row `n` before in the row's group, in row order; null where there is none.
//!
//!   in   + 0 A 1    + 1 B 2    + 2 A 3    with_columns y = V.shift(1).over(K)
//!   out  + 0 A 1 .  + 1 B 2 .  + 2 A 3 1
//!   in   + 3 A 4    out   + 3 A 4 3
//!   in   - 0        out   - 0    ~ 2 A 3 .    the neighbour of row 2 is another
//!   in   ~ 1 A .    out   ~ 1 A 2 .    ~ 2 A 3 2    row 1 has come to another group
//!
//! Stored. Cost of an update: a probe and a search for each row that comes, goes, moves or changes, and at most `n` cells
//! around each; cells that come out as they were are not told.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use column::types::can_be_key;
use column::{Chunk, ColumnSource, FlatColumn, NO_ROW};
use formula::hidden::shown;
use formula::{ColumnName, Expr};
use graph::{Moment, Step};
use rowset::RowSet;

use super::beside_rows::{outputs, widened};
use super::neighbours::{differing, told};
use super::select::Output;
use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::eval::evaluator::Evaluator;
use crate::keys::frame::{Frame, affected};
use crate::keys::group_order::GroupOrder;
use crate::keys::grouped::GroupedRows;
use crate::keys::in_groups::InGroups;
use crate::ops::asked::Asked;
use crate::sizes::GROUP_PART_ROWS;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::Parts;
use crate::table::request::Request;
use crate::table::store::{Columns, Writes};
use crate::table::update::TableUpdate;
use crate::table::view::View;
use crate::threads::parallel;

/// The columns of a table, then shifted ones.
pub struct GroupedShift {
    request: Request,
    keys: Vec<usize>,
    shifted: Arc<[Shifted]>,
}

/// One shifted column.
struct Shifted {
    column: usize,
    by: i64,
    name: ColumnName,
    data_type: DataType,
}

impl Shifted {
    /// The cells of these rows of the column; null for `NO_ROW`.
    fn cells(&self, view: &View, rows: &[u64]) -> Result<Chunk, Error> {
        let cells = view.column(self.column)?.take(rows)?;
        // Codes of a dictionary are a matter of storage: as of any expression the result is values.
        Ok(if *cells.data_type() == self.data_type { cells } else { column::types::cast(&cells, &self.data_type)? })
    }

    fn frame(&self) -> Frame {
        Frame::Rows { back: self.by, ahead: self.by.saturating_neg() }
    }
}

impl GroupedShift {
    /// `keys`: the columns that make groups; `shifted`: column, distance and name of each new column.
    pub fn new(
        operation: &str,
        table: &Table,
        keys: &[String],
        shifted: &[(String, i64, ColumnName)],
    ) -> Result<GroupedShift, Error> {
        let columns = keys.iter().map(|key| table.column_index(operation, key)).collect::<Result<Vec<_>, _>>()?;
        if let Some((key, column)) = keys.iter().zip(&columns).find(|(_, at)| !can_be_key(table.column_type(**at))) {
            return Err(Error::unkeyable(operation, shown(table.schema(), key), table.column_type(*column)));
        }
        let new = |(column, by, name): &(String, i64, ColumnName)| {
            let data_type =
                Evaluator::new(&operation.into(), &Expr::column(column.as_str()), table)?.data_type().clone();
            Ok(Shifted { column: table.column_index(operation, column)?, by: *by, name: name.clone(), data_type })
        };
        let text: Vec<&str> = shifted.iter().map(|(_, _, name)| name.shown()).collect();
        let request = Request::new(operation, &Asked::GroupedShift { keys, shifted }).with_text(text.join(", "));
        Ok(GroupedShift { request, keys: columns, shifted: shifted.iter().map(new).collect::<Result<_, Error>>()? })
    }

    fn parts(&self, table: &Table, sources: Vec<Arc<dyn ColumnSource>>) -> Parts {
        let ahead = self.shifted.iter().any(|of| of.by < 0);
        widened(table, self.shifted.iter().map(|of| (&of.name, &of.data_type)), ahead, sources)
    }
}

impl Operation for GroupedShift {
    fn request(&self) -> &Request {
        &self.request
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let Input { table, view } = &inputs[0];
        let rows = view.rows();
        // Its key, its slot and its place in the group, and for each column the key of its neighbour.
        limits::ask_rows(rows.len(), 28 + 8 * self.shifted.len() as u64)?;
        let (groups, slots) = GroupedRows::filled(table, &self.keys, view, table.is_live())?;
        let parts = parallel::parts(rows, GROUP_PART_ROWS.rows());
        let (keys, ordered) = (rows.to_vec(), InGroups::new(&slots, groups.slots()));
        let mut cells: Vec<Vec<(RowSet, Chunk)>> = Vec::with_capacity(self.shifted.len());
        for of in self.shifted.iter() {
            let neighbours = neighbours_of(&keys, &ordered, of.by);
            let piece = |at: usize, part: &RowSet| {
                let from = at * GROUP_PART_ROWS.get();
                Ok::<_, Error>((part.clone(), of.cells(view, &neighbours[from..from + part.len() as usize])?))
            };
            cells.push(parallel::try_map(parts.len() > 1, &parts, piece)?);
        }
        let column = |cells: Vec<(RowSet, Chunk)>| {
            Ok(Arc::new(FlatColumn::new(cells.into_iter().map(|(_, cells)| cells).collect())?) as Arc<dyn ColumnSource>)
        };
        let canonical = self.shifted.iter().map(|of| Field::new(of.name.as_str(), of.data_type.clone(), true));
        let canonical = Schema::new(canonical.collect::<Vec<_>>());
        let counters = table.graph().map(crate::observe::storage).unwrap_or_default();
        let (sources, columns) = if !table.is_live() && rows.is_flat() && !rows.is_empty() {
            let sources = cells.into_iter().map(column).collect::<Result<_, Error>>()?;
            (sources, Columns::new(&canonical, at, &counters))
        } else {
            let columns = Columns::filled(&canonical, at, &counters, &cells)?;
            (columns.sources(), columns)
        };
        let outputs = outputs(table, self.shifted.len());
        let owned = columns.owned();
        let live = GroupedShiftLive { shifted: self.shifted.clone(), outputs, groups, columns };
        Ok(Start { parts: self.parts(table, sources), live: Box::new(live), owned })
    }
}

/// For each row, in row order, the one so many places before it in its group.
fn neighbours_of(keys: &[u64], ordered: &InGroups, by: i64) -> Vec<u64> {
    let mut neighbours = vec![NO_ROW; keys.len()];
    let far = usize::try_from(by.unsigned_abs()).unwrap_or(usize::MAX);
    for group in ordered.groups() {
        let (Some(later), Some(earlier)) = (group.get(far..), group.len().checked_sub(far)) else { continue };
        for (later, earlier) in later.iter().zip(&group[..earlier]) {
            let (row, neighbour) = if by > 0 { (*later, *earlier) } else { (*earlier, *later) };
            neighbours[row] = keys[neighbour];
        }
    }
    neighbours
}

struct GroupedShiftLive {
    shifted: Arc<[Shifted]>,
    outputs: Vec<Output>,
    groups: GroupedRows,
    columns: Columns,
}

impl Live for GroupedShiftLive {
    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let change = &inputs[0];
        let (update, now) = (change.update(), change.now());
        let followed = self.groups.follow(change)?;
        let reads = |of: &Shifted| update.columns.contains(of.column);
        let changed = if !followed.rekeyed && self.shifted.iter().any(reads) {
            self.groups.changed(now, &update.modified)?
        } else {
            Vec::new()
        };
        let mut writes = Writes { removed: update.removed.clone(), shifts: update.shifts.clone(), ..Writes::default() };
        let mut added = Vec::new();
        for (at, of) in self.shifted.iter().enumerate() {
            let touched = followed.touched.iter().chain(changed.iter().filter(|_| reads(of)));
            let (fresh, (rows, neighbours)) =
                self.neighbours(of, affected(of.frame(), self.groups.rows(), touched), update);
            added.push(of.cells(now, &fresh)?);
            let rows = RowSet::from_sorted_keys(&rows);
            let differs = match rows.is_empty() {
                true => None,
                false => differing(&self.columns, at, &rows, of.cells(now, &neighbours)?, change, step)?,
            };
            writes.modified.push(differs);
        }
        if !update.added.is_empty() {
            writes.added.push((update.added.clone(), added));
        }
        self.columns.write(step, || change.before().rows().clone(), now.rows().clone(), &writes)?;
        Ok(told(&self.outputs, update, |place| writes.modified[place].as_ref().map(|(rows, _)| rows)))
    }

    fn entries(&self) -> u64 {
        self.groups.len() as u64
    }
}

impl GroupedShiftLive {
    /// The neighbours of added rows, and those rows that stay with theirs; all in row order.
    fn neighbours(
        &self,
        of: &Shifted,
        spans: Vec<(u32, std::ops::Range<u64>)>,
        update: &TableUpdate,
    ) -> (Vec<u64>, (Vec<u64>, Vec<u64>)) {
        let rows = self.groups.rows();
        let mut found: Vec<(u64, u64)> = Vec::with_capacity(spans.len());
        for (slot, span) in spans {
            let neighbour = |at| rows.neighbour(slot, at, of.by.saturating_neg()).unwrap_or(NO_ROW);
            found.extend(span.filter_map(|at| Some((rows.get(slot, at)?, neighbour(at)))));
        }
        if !found.is_sorted() {
            found.sort_unstable();
        }
        let mut added = update.added.iter().peekable();
        let (mut fresh, mut stayed) = (Vec::new(), (Vec::new(), Vec::new()));
        for (row, neighbour) in found {
            match added.next_if_eq(&row) {
                Some(_) => fresh.push(neighbour),
                None => {
                    stayed.0.push(row);
                    stayed.1.push(neighbour);
                }
            }
        }
        (fresh, stayed)
    }
}

#[cfg(test)]
mod tests {
    use formula::{Function, Window};
    use model::Compare;
    use model::ops::shift_over;

    use super::*;
    use crate::driver::attach::attach;
    use crate::plan::{ColumnOptions, InputColumns, columns};
    use crate::testing::random::KINDS;
    use crate::testing::{any_table, check_law, check_steps, still_graph, table_of};

    fn by_k(table: &Table, shifts: &[i64]) -> Result<Table, Error> {
        let shifted: Vec<_> = shifts.iter().map(|by| ("V".to_owned(), *by, format!("y{by}").into())).collect();
        attach(&GroupedShift::new("with_columns", table, &["K".to_owned()], &shifted)?, std::slice::from_ref(table))
    }

    #[test]
    fn neighbours_of_what_comes_goes_and_changes_are_told_and_no_others() {
        check_steps(
            |table| by_k(table, &[1]),
            "0 A 1 | 1 B 2 | 2 A 3 | 5 A 4 | 6 B 5",
            &[
                ("~ 0 . 7", "~ 0 . 7 null | ~ 2 . 3 7"),
                ("+ 3 A 9", "+ 3 A 9 3 | ~ 5 . . 9"),
                ("- 1", "- 1 | ~ 6 . . null"),
                ("> [5..6]+4", "> [5..6]+4"),
                ("~ 2 B .", "~ 2 B . null | ~ 3 A . 7 | ~ 10 B . 3"),
                ("- 0 | + 1 A 8", "- 0 | + 1 A 8 null | ~ 3 . . 8"),
                ("~ 3 A .", "~ 3 A . ."),
                ("+ 4 null 1 | + 7 null 2", "+ 4 null 1 null | + 7 null 2 1"),
                ("- 1 | - 3 | - 9", "- 1 | - 3 | - 9"),
            ],
        );
    }

    #[test]
    fn it_looks_ahead_and_far() {
        check_steps(
            |table| by_k(table, &[-1, 2]),
            "0 A 1 | 1 B 2 | 2 A 3",
            &[
                ("+ 3 A 4", "+ 3 A 4 null 1 | ~ 2 . . 4 ."),
                ("+ 4 B 5", "+ 4 B 5 null null | ~ 1 . . 5 ."),
                ("~ 0 . 9", "~ 0 . 9 . null | ~ 3 . 4 . 9"),
                ("- 2", "- 2 | ~ 0 . . 4 null | ~ 3 . . null null"),
            ],
        );
    }

    /// Keys, values and distances of every kind, steps of every kind.
    #[test]
    fn law() {
        let made =
            [(&["k"][..], "v", 1), (&["k", "b"], "x", -1), (&["g"], "k", 2), (&["b"], "t", -3), (&["k"], "x", 40)];
        for (keys, column, by) in made {
            let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
            let shifted = [(column.to_owned(), by, "y".into()), (column.to_owned(), -by, "z".into())];
            check_law(
                &any_table(),
                120,
                Compare::ByPosition,
                |table| {
                    let shift = GroupedShift::new("with_columns", table, &keys, &shifted)?;
                    attach(&shift, std::slice::from_ref(table))
                },
                |input| {
                    let first = shift_over(input, &keys, column, by, "y");
                    shift_over(&first, &keys, column, -by, "z")
                },
            );
        }
    }

    #[test]
    fn law_of_types() {
        for kind in KINDS {
            let keys = ["k".to_owned()];
            let shifted = [("p".to_owned(), 1, "y".into())];
            check_law(
                &table_of(&format!("k:str v:int p:{kind}")),
                20,
                Compare::ByPosition,
                |table| {
                    let shift = GroupedShift::new("with_columns", table, &keys, &shifted)?;
                    attach(&shift, std::slice::from_ref(table))
                },
                |input| shift_over(input, &keys, "p", 1, "y"),
            );
        }
    }

    fn shift(of: Expr, by: i64) -> Expr {
        Expr::call(Function::Shift { by }, vec![of]).expect("a call")
    }

    fn over(of: Expr, by: &[Expr]) -> Expr {
        of.over(Window { by: by.to_vec(), ..Window::default() }).expect("over groups")
    }

    /// What is planned: arithmetic beside, shifts of shifts and of aggregates, aggregates of shifts, computed keys.
    #[test]
    fn expressions_over_groups_read_shifted_columns() {
        let col = Expr::column;
        let call = |function, args| Expr::call(function, args).expect("a call");
        let sum = |of| Expr::aggregate(formula::Aggregate::Sum { min_count: 0 }, Some(of)).expect("an aggregate");
        let k = [col("K")];
        let delta = call(Function::Subtract, vec![col("V"), shift(col("V"), 1)]);
        let twice = call(Function::Multiply, vec![col("V"), Expr::literal(2_i64)]);
        let parity = [call(Function::Modulo, vec![col("V"), Expr::literal(2_i64)])];
        let made = [
            over(delta.clone(), &k).alias("delta"),
            over(shift(shift(col("V"), 1), 1), &k).alias("twice"),
            over(sum(delta), &k).alias("sum"),
            over(shift(sum(col("V")), 1), &k).alias("of_sum"),
            over(shift(twice, 1), &parity).alias("parity"),
            over(shift(col("V"), 0), &k).alias("same"),
        ];
        check_steps(
            |table| columns("select", table, &made, ColumnOptions { own: InputColumns::Drop, ..ColumnOptions::STORED }),
            "0 A 1 | 1 B 2 | 2 A 4 | 3 A 8",
            &[
                ("+ 4 A 9", "+ 4 1 4 8 22 2 9 | ~ 0 . . 8 null . . | ~ 2 . . 8 22 . . | ~ 3 . . 8 22 . ."),
                ("~ 0 . 3", "~ 0 null null 6 null null 3 | ~ 2 1 null 6 24 4 4 | ~ 3 4 3 6 24 8 8 | ~ 4 1 4 6 24 6 9"),
            ],
        );
    }

    #[test]
    fn what_cannot_be_is_told() {
        let graph = still_graph();
        let drawn = crate::testing::Drawn::new(&graph, "0 A 1");
        let refused = |expression: Expr| {
            let made = columns("with_columns", drawn.table(), &[expression.alias("y")], ColumnOptions::STORED);
            made.err().expect("refused").to_string()
        };
        let text = refused(over(shift(Expr::column("Q"), 1), &[Expr::column("K")]));
        assert!(text.contains("\"Q\"") && !text.contains('\0'), "{text}");
        let text = refused(over(shift(Expr::column("V"), 1), &[Expr::column("Q")]));
        assert!(text.contains("\"Q\"") && !text.contains('\0'), "{text}");
    }
}
