//! `group_by_dynamic(…).agg(…)`: one row for each group and each window of time that holds a row of it.
//!
//!   in    + 0 10:20 A 1    + 1 10:50 A 2    every 1h, sum(V)         out   + 0 10:00 A 3
//!   in    + 2 11:10 A 4                     every 1h                 out   + 1 11:00 A 4
//!   in    ~ 1 11:50 A 2                     every 1h                 out   ~ 0 10:00 A 1    ~ 1 11:00 A 6
//!   in    + 0 10:20 A 1                     every 1h, period 2h      out   + 0 09:00 A 1    + 1 10:00 A 1
//!
//! Where a window begins is a column, and windows are groups by it and the keys. Windows that overlap are a list for each
//! row, which is taken apart. Cost of an update: that of the aggregation, for each window of the changed rows.

use arrow_schema::DataType;
use formula::functions::Closed;
use formula::hidden::next_hidden;
use formula::{ColumnName, Expr, Function, Time};

use super::aggregate::{Which, grouped};
use super::closing::{Gate, Reported};
use super::computed::{ColumnOptions, Columns};
use super::hidden::taken;
use crate::error::Error;
use crate::eval::call::Call;
use crate::ops::Explode;
use crate::ops::watermark::Closes;
use crate::plan::spec::{ExplodeOptions, InputColumns, Label, WindowOptions};
use crate::row_errors::OnError;
use crate::table::handle::Table;

/// One row for each group and each window.
pub(super) fn time_windows(
    call: &Call,
    table: &Table,
    how: &WindowOptions,
    keys: &[Expr],
    expressions: &[Expr],
    on_error: OnError,
    columns: Columns,
) -> Result<Table, Error> {
    refuse(call, table, how, keys)?;
    let stamp = how.stamp.as_str();
    let gate = Gate::of(call, table, stamp, how.closing)?;
    let mut next = next_hidden(table.schema());
    let mut hidden = |what: &str| ColumnName::hidden(taken(&mut next), Some(stamp), format!("{what} of {stamp:?}"));
    let name = hidden("windows");
    // A row without a time is in no window, whatever becomes of values that cannot be computed.
    let of_times = if on_error == OnError::Fail { OnError::Fail } else { OnError::Drop };
    let options = ColumnOptions { on_error: of_times, ..ColumnOptions::STORED };
    let mut wide = columns(call, table, &[how.starts()?.alias(&name)], options)?;
    let row_errors = wide.request().row_errors.as_ref().map(crate::row_errors::RowErrors::sibling);
    if let Some(gate) = &gate {
        let last = hidden("the last window");
        let options = ColumnOptions { on_error: of_times, row_errors: row_errors.as_ref(), ..ColumnOptions::STORED };
        wide = columns(call, &wide, &[how.end(how.last_start()?)?.alias(&last)], options)?;
        let closes = Closes::Column(wide.column_index(&call.method, last.as_str())?, how.after_its_end());
        wide = gate.open(call, &wide, stamp, closes)?;
    }
    if !how.is_tumbling() {
        let options = ExplodeOptions {
            columns: vec![name.as_str().to_owned()],
            empty_as_null: false,
            keep_nulls: false,
            null_fill: false,
        };
        wide = call.attach(&Explode::new(&call.method, &wide, &options)?, std::slice::from_ref(&wide))?;
    }
    let by: Vec<Expr> = keys.iter().cloned().chain([Expr::column(&name).alias(stamp)]).collect();
    let options = ColumnOptions { on_error, row_errors: row_errors.as_ref(), ..ColumnOptions::STORED };
    let mut made = grouped(call, &[&wide], &by, expressions, Which::default(), options, columns)?;
    if let Some(gate) = &gate {
        let end = ColumnName::hidden(taken(&mut next_hidden(made.schema())), None, format!("the end of {stamp:?}"));
        let ends = columns(call, &made, &[how.end(Expr::column(stamp))?.alias(&end)], ColumnOptions::STORED)?;
        let windows = Reported { row_errors: made.request().row_errors.as_ref(), table: &ends };
        made = gate.sent(call, windows, end.as_str(), how.after_its_end())?;
    } else if how.label == Label::Left && !how.boundaries {
        return Ok(made);
    }
    let mut shown: Vec<Expr> =
        keys.iter().map(|key| Ok(Expr::column(key.output_name()?.as_str()))).collect::<Result<_, Error>>()?;
    let end = how.end(Expr::column(stamp))?;
    if how.boundaries {
        shown.extend([Expr::column(stamp).alias("_lower_boundary"), end.clone().alias("_upper_boundary")]);
    }
    shown.push(if how.label == Label::Left { Expr::column(stamp) } else { end.alias(stamp) });
    for expression in expressions {
        shown.push(Expr::column(expression.output_name()?.as_str()));
    }
    let made = columns(call, &made, &shown, ColumnOptions { own: InputColumns::Drop, ..options })?;
    Ok(gate.map_or(made.clone(), |gate| gate.told(made)))
}

/// What has no windows: another column than one of times, and names that stand for a window already.
fn refuse(call: &Call, table: &Table, how: &WindowOptions, keys: &[Expr]) -> Result<(), Error> {
    let kind = table.canonical().field(table.column_index(&call.method, &how.stamp)?).data_type();
    if !matches!(kind, DataType::Timestamp(..) | DataType::Date32) {
        let message = format!(
            "the column {:?} holds {}, and windows of time are of instants or dates; cast it first",
            how.stamp,
            formula::type_name(kind)
        );
        return Err(Error::types(&call.method, message));
    }
    for key in keys {
        let name = key.output_name()?;
        if name == how.stamp || how.boundaries && ["_lower_boundary", "_upper_boundary"].contains(&name.as_str()) {
            return Err(Error::Duplicate { operation: call.method.to_string(), name });
        }
    }
    Ok(())
}

impl WindowOptions {
    /// Whether a row is in one window at most, which its time alone tells.
    fn is_tumbling(&self) -> bool {
        let one = [Closed::Left, Closed::Right].into_iter().any(|closed| closed.name() == self.closed);
        one && self.own_period().is_none()
    }

    /// The period, if it is not the distance of windows.
    fn own_period(&self) -> Option<&str> {
        self.period.as_deref().filter(|period| *period != self.every)
    }

    /// Where the window begins that holds a row, or all that do.
    fn starts(&self) -> Result<Expr, Error> {
        let text = |text: &str| Expr::literal(text);
        let (stamp, every, offset) = (Expr::column(self.stamp.as_str()), text(&self.every), text(&self.offset));
        let closed = text(&self.closed);
        Ok(match self.is_tumbling() {
            true => Expr::call(Function::Time(Time::WindowStart), vec![stamp, every, offset, closed])?,
            false => {
                let period = text(self.own_period().unwrap_or_default());
                Expr::call(Function::Time(Time::WindowStarts), vec![stamp, every, period, offset, closed])?
            }
        })
    }

    /// Where the last window begins that may hold a row.
    fn last_start(&self) -> Result<Expr, Error> {
        let closed = if self.closed == "right" || self.closed == "none" { "right" } else { "left" };
        let text = |text: &str| Expr::literal(text);
        let args = vec![Expr::column(self.stamp.as_str()), text(&self.every), text(&self.offset), text(closed)];
        Ok(Expr::call(Function::Time(Time::WindowStart), args)?)
    }

    /// How many nanoseconds after its end a window holds no row that is not late.
    fn after_its_end(&self) -> i64 {
        i64::from(self.closed == "right" || self.closed == "both")
    }

    /// Where the window ends that begins there.
    fn end(&self, start: Expr) -> Result<Expr, Error> {
        let text = |text: &str| Expr::literal(text);
        let period = text(self.own_period().unwrap_or_default());
        let args = vec![start, text(&self.every), period, text(&self.offset)];
        Ok(Expr::call(Function::Time(Time::WindowEnd), args)?)
    }
}

#[cfg(test)]
mod tests {
    use formula::Aggregate;

    use super::*;
    use crate::plan::{Op, apply};
    use crate::testing::{Drawn, check_steps, still_graph};

    fn windows(every: &str, period: Option<&str>, closed: &str) -> WindowOptions {
        WindowOptions {
            stamp: "T".to_owned(),
            every: every.to_owned(),
            period: period.map(str::to_owned),
            offset: "0s".to_owned(),
            closed: closed.to_owned(),
            label: Label::Left,
            boundaries: false,
            closing: crate::plan::Closing::default(),
        }
    }

    fn sums(table: &Table, how: WindowOptions, keys: &[&str]) -> Result<Table, Error> {
        let sum = Expr::aggregate(Aggregate::Sum { min_count: 0 }, Some(Expr::column("V")))?.alias("s");
        let keys = keys.iter().map(|key| Expr::column(*key)).collect();
        let op = Op::Windows { how, keys, aggregates: vec![sum], on_error: OnError::Fail };
        apply(op, "group_by_dynamic", std::slice::from_ref(table))
    }

    #[test]
    fn windows_side_by_side_are_groups() {
        check_steps(
            |table| sums(table, windows("10ns", None, "left"), &["K"]),
            "T:time K:str V:int: 0 11 A 1 | 1 19 A 2 | 2 19 B 5",
            &[
                ("+ 3 5 A 4", "+ 2 A 0 4"),
                ("~ 1 20 . .", "~ 0 . . 1 | + 3 A 20 2"),
                ("- 0", "- 0"),
                ("+ 4 10 A 7", "+ 4 A 10 7"),
            ],
        );
    }

    #[test]
    fn a_row_is_in_each_window_that_holds_its_time() {
        check_steps(
            |table| sums(table, windows("10ns", Some("20ns"), "left"), &[]),
            "T:time V:int: 0 11 1",
            &[
                ("+ 1 25 2", "~ 1 . 3 | + 2 20 2"),
                ("~ 0 . 5", "~ 0 . 5 | ~ 1 . 7"),
                ("~ 0 29 .", "- 0 | ~ 2 . 7"),
                ("- 1", "~ 1 . 5 | ~ 2 . 5"),
            ],
        );
    }

    #[test]
    fn gaps_between_windows_hold_no_row() {
        check_steps(
            |table| sums(table, windows("10ns", Some("5ns"), "right"), &[]),
            "T:time V:int: 0 11 1",
            &[("+ 1 16 2", ""), ("+ 2 15 4", "~ 0 . 5"), ("+ 3 20 8", ""), ("~ 3 21 .", "+ 1 20 8")],
        );
    }

    #[test]
    fn what_has_no_windows_is_told() {
        let drawn = Drawn::new(&still_graph(), "T:time V:int: 0 11 1");
        let refused =
            |how: WindowOptions, keys: &[&str]| sums(drawn.table(), how, keys).err().expect("refused").to_string();
        let of = |every: &str, period: Option<&str>| refused(windows(every, period, "left"), &[]);
        assert!(of("0s", None).contains("every must be positive"), "{}", of("0s", None));
        assert!(of("-1h", None).contains("every must be positive"));
        assert!(of("1mo1d", None).contains("months or in shorter units but not both"));
        assert!(of("1h", Some("-1h")).contains("period must be positive"));
        assert!(of("1ns", Some("1d")).contains("around each row"));
        assert!(of("soon", None).contains("\"soon\" is no length of time"));
        assert!(refused(windows("1h", None, "left"), &["T"]).contains("\"T\""));
        assert!(refused(windows("1h", None, "open"), &[]).contains("closed must be"));
        let other = WindowOptions { stamp: "V".to_owned(), ..windows("1h", None, "left") };
        assert!(refused(other, &[]).contains("windows of time are of instants or dates"));
    }
}
