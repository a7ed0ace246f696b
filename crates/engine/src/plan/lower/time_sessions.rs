//! `session(…).agg(…)`: one row for each session of each group, from its first row to its last.
//!
//!   gap 5    in   + 0 A 1    + 1 A 4    + 2 A 20    len    out   + 0 A 1 4 2    + 1 A 20 20 1
//!            in   + 3 A 9    + 4 A 14   + 5 A 17    len    out   - 1    ~ 0 A 1 20 6: what is between makes two one
//!
//! The number of its session is a column of each row ([`Sessions`]), and sessions are groups by it and the keys. Cost of an
//! update: that of both, and the rows of the smaller part where sessions merge or split.

use arrow_schema::DataType;
use formula::hidden::next_hidden;
use formula::{Aggregate, ColumnName, Expr, Function, Time};

use super::aggregate::{Which, grouped};
use super::closing::{Gate, Reported};
use super::computed::{ColumnOptions, Columns};
use super::hidden::taken;
use crate::error::Error;
use crate::eval::call::Call;
use crate::ops::watermark::Closes;
use crate::ops::{Project, Sessions};
use crate::plan::spec::SessionOptions;
use crate::row_errors::{OnError, RowErrors};
use crate::table::handle::Table;

/// What the ends of a session are called in the result.
const BOUNDS: [&str; 2] = ["session_start", "session_end"];

/// One row for each group and each session.
pub(super) fn time_sessions(
    call: &Call,
    table: &Table,
    how: &SessionOptions,
    keys: &[Expr],
    expressions: &[Expr],
    on_error: OnError,
    columns: Columns,
) -> Result<Table, Error> {
    let method = &*call.method;
    let kind = table.canonical().field(table.column_index(method, &how.stamp)?).data_type();
    if !matches!(kind, DataType::Timestamp(..)) {
        let kind = formula::type_name(kind);
        let message = format!("the column {:?} holds {kind}, and sessions are of instants; cast it first", how.stamp);
        return Err(Error::types(method, message));
    }
    if how.gap < 0 {
        return Err(Error::invalid(method, "gap must be 0 or longer"));
    }
    let mut next = next_hidden(table.schema());
    let mut hidden =
        |becomes: &str| ColumnName::hidden(taken(&mut next), Some(becomes), format!("sessions of {:?}", how.stamp));
    // The time itself, which every row must have. One without is in no session, whatever becomes of values.
    let stamp = hidden(&how.stamp);
    let args = ["1ns", "0s", "left"].map(Expr::literal);
    let args = [Expr::column(how.stamp.as_str())].into_iter().chain(args).collect();
    let of_times = if on_error == OnError::Fail { OnError::Fail } else { OnError::Drop };
    let options = ColumnOptions { on_error: of_times, ..ColumnOptions::STORED };
    let there = Expr::call(Function::Time(Time::WindowStart), args)?.alias(&stamp);
    let mut wide = columns(call, table, &[there], options)?;
    let row_errors = wide.request().row_errors.as_ref().map(RowErrors::sibling);
    let options = ColumnOptions { on_error, row_errors: row_errors.as_ref(), ..ColumnOptions::STORED };

    // Keys that are computed are columns first: sessions and groups read the same ones.
    let (mut by, mut made) = (Vec::with_capacity(keys.len()), Vec::new());
    for key in keys {
        let name = key.output_name()?;
        match key.unaliased() {
            Expr::Column(column) => by.push((column.to_string(), name)),
            other => {
                let column = hidden(&name);
                made.push(other.clone().alias(&column));
                by.push((column.as_str().to_owned(), name));
            }
        }
    }
    if !made.is_empty() {
        wide = columns(call, &wide, &made, options)?;
    }
    let number = hidden("session");
    let names: Vec<String> = by.iter().map(|(column, _)| column.clone()).collect();
    let gate = Gate::of(call, table, &how.stamp, how.closing)?;
    if let Some(gate) = &gate {
        let keys = names.iter().map(|name| wide.column_index(method, name)).collect::<Result<Vec<_>, _>>()?;
        wide = gate.open(call, &wide, stamp.as_str(), Closes::Sessions(keys, how.gap))?;
    }
    let sessions = Sessions::new(method, &wide, &names, stamp.as_str(), how.gap, &number)?;
    let wide = call.attach(&sessions, std::slice::from_ref(&wide))?;

    let mut keys: Vec<Expr> =
        by.iter().map(|(column, name)| Expr::column(column.as_str()).alias(name.as_str())).collect();
    keys.push(Expr::column(&number));
    let of_times = Some(Expr::column(&stamp));
    let ends = [Aggregate::Min, Aggregate::Max].into_iter().zip(BOUNDS);
    let mut wanted = ends
        .map(|(end, name)| Ok(Expr::aggregate(end, of_times.clone())?.alias(name)))
        .collect::<Result<Vec<Expr>, Error>>()?;
    wanted.extend_from_slice(expressions);
    let mut made = grouped(call, &[&wide], &keys, &wanted, Which::default(), options, columns)?;
    let row_errors = made.request().row_errors.clone();
    if let Some(gate) = &gate {
        let windows = Reported { table: &made, row_errors: row_errors.as_ref() };
        made = gate.sent(call, windows, BOUNDS[1], how.gap.saturating_add(1))?;
    }
    let shown = by.into_iter().map(|(_, name)| Ok(name)).chain(wanted.iter().map(Expr::output_name));
    let shown = shown.collect::<Result<Vec<String>, _>>()?;
    let project = Project::choose(&made, &shown)?.reporting_to(row_errors.as_ref());
    let made = call.attach(&project, std::slice::from_ref(&made))?;
    Ok(gate.map_or(made.clone(), |gate| gate.told(made)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Closing, Op, apply};
    use crate::testing::{Drawn, check_steps, still_graph};

    fn lengths(table: &Table, stamp: &str, gap: i64, keys: &[&str]) -> Result<Table, Error> {
        let how = SessionOptions { stamp: stamp.to_owned(), gap, closing: Closing::default() };
        let keys = keys.iter().map(|key| Expr::column(*key)).collect();
        let aggregates = vec![Expr::aggregate(Aggregate::Len, None)?.alias("n")];
        let op = Op::Session { how, keys, aggregates, on_error: OnError::Fail };
        apply(op, "session", std::slice::from_ref(table))
    }

    #[test]
    fn a_row_between_two_sessions_makes_them_one() {
        check_steps(
            |table| lengths(table, "T", 5, &["K"]),
            "T:time K:str: 0 1 A | 1 4 A | 2 20 A",
            &[
                ("+ 3 9 A", "~ 0 . . 9 3"),
                ("+ 4 14 A | + 5 16 B | + 6 17 A", "- 1 | ~ 0 . . 20 6 | + 2 B 16 16 1"),
                ("- 3", "~ 0 . 14 . 3 | + 3 A 1 4 2"),
                ("~ 0 0 .", "~ 3 . 0 . ."),
            ],
        );
    }

    #[test]
    fn what_has_no_sessions_is_told() {
        let drawn = Drawn::new(&still_graph(), "T:time V:int session_end:int: 0 11 1 2");
        let refused = |stamp: &str, gap: i64, keys: &[&str]| {
            lengths(drawn.table(), stamp, gap, keys).err().expect("refused").to_string()
        };
        assert!(refused("V", 1, &[]).contains("sessions are of instants"));
        assert!(refused("T", -1, &[]).contains("gap must be 0 or longer"));
        assert!(refused("Q", 1, &[]).contains("\"Q\""));
        assert!(refused("T", 1, &["session_end"]).contains("\"session_end\""));
    }
}
