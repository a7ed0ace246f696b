//! Windows over a watermark beside a model that keeps every row.

use formula::{Aggregate, Expr};
use graph::UpdateGraph;
use model::ops::{self, Timely};
use model::{Compare, Value, differences};

use crate::error::Error;
use crate::plan::{Closing, Emit, Label, Late, Op, SessionOptions, WindowOptions, apply};
use crate::row_errors::OnError;
use crate::table::handle::Table;
use crate::testing::oracle::to_model;
use crate::testing::{Source, Tape, Watch, explore, still_graph, table_of};

const SECOND: i64 = 1_000_000_000;

/// What is asked for of a table with a watermark.
#[derive(Clone, Debug)]
struct Asked {
    delay: i64,
    closing: Closing,
    /// Windows that begin so far apart and last so long, or sessions with this gap.
    windows: Result<(i64, i64), i64>,
    closed: (bool, bool),
}

impl Asked {
    fn draw(tape: &mut Tape, emits: &[Emit], lates: &[Late]) -> Asked {
        let emit = *tape.choose(emits);
        let late = *tape.choose(lates);
        let allowed = *tape.choose(&[0, SECOND, 4 * SECOND]);
        let closing = Closing {
            emit,
            late,
            allowed_lateness: if late == Late::Drop { 0 } else { allowed },
            forget_results: emit == Emit::Update && tape.chance(60),
            max_rows: None,
        };
        let every = *tape.choose(&[SECOND, 3 * SECOND, 10 * SECOND]);
        let period = every * *tape.choose(&[1, 1, 3]);
        let windows = if tape.chance(100) { Err(*tape.choose(&[0, SECOND, 3 * SECOND])) } else { Ok((every, period)) };
        let closed = *tape.choose(&[(true, false), (false, true), (true, true), (false, false)]);
        Asked { delay: *tape.choose(&[0, 2 * SECOND, 20 * SECOND]), closing, windows, closed }
    }

    fn op(&self) -> Result<Op, Error> {
        let sum = Expr::aggregate(Aggregate::Sum { min_count: 0 }, Some(Expr::column("v")))?.alias("s");
        let aggregates = vec![sum, Expr::aggregate(Aggregate::Len, None)?.alias("n")];
        let (keys, on_error, closing) = (vec![Expr::column("k")], OnError::Drop, self.closing);
        Ok(match self.windows {
            Err(gap) => {
                let how = SessionOptions { stamp: "t".into(), gap, closing };
                Op::Session { how, keys, aggregates, on_error }
            }
            Ok((every, period)) => {
                let closed = match self.closed {
                    (true, false) => "left",
                    (false, true) => "right",
                    (true, true) => "both",
                    (false, false) => "none",
                };
                let how = WindowOptions {
                    stamp: "t".into(),
                    every: format!("{every}ns"),
                    period: Some(format!("{period}ns")),
                    offset: "0s".into(),
                    closed: closed.into(),
                    label: Label::Left,
                    boundaries: false,
                    closing,
                };
                Op::Windows { how, keys, aggregates, on_error }
            }
        })
    }

    fn made(&self, table: &Table) -> Result<Table, Error> {
        let mark = Op::Watermark { stamp: "t".into(), delay: self.delay, idle_after: None };
        let marked = apply(mark, "watermark", std::slice::from_ref(table))?;
        apply(self.op()?, "windows", std::slice::from_ref(&marked))
    }

    /// All windows of all rows that were not late.
    fn wanted(&self, timely: &Timely) -> model::Table {
        let sum = ops::Aggregate::new("s", ops::Aggregator::Sum(0), "v");
        let (by, aggregates) = (vec!["k".to_owned()], vec![sum, ops::Aggregate::len("n")]);
        let made = match self.windows {
            Err(gap) => ops::time_sessions(&timely.table(), "t", gap, &by, &aggregates),
            Ok((every, period)) => {
                let (stamp, closed) = ("t".to_owned(), self.closed);
                ops::time_windows(
                    &timely.table(),
                    &ops::TimeWindows { stamp, every, period, offset: 0, closed, by, aggregates },
                )
            }
        };
        made.expect("sums of integers")
    }

    /// The rows of windows that have ended by an instant, or of those that have not.
    fn ended(&self, mut windows: model::Table, by: i64, ended: bool) -> model::Table {
        let (column, after) = match self.windows {
            Err(gap) => ("session_end", gap + 1),
            Ok((_, period)) => ("t", period + i64::from(self.closed.1)),
        };
        let at = windows.index_of(column);
        windows.rows.retain(|(_, row)| match row[at] {
            Value::Timestamp(time) => (time.saturating_add(after) <= by) == ended,
            _ => false,
        });
        windows
    }

    fn keys(&self) -> Compare {
        Compare::by_key(&["k", if self.windows.is_ok() { "t" } else { "session_start" }])
    }
}

fn rows_of(table: &model::Table) -> Vec<model::Row> {
    table.rows.iter().map(|(_, row)| row.clone()).collect()
}

/// Rows that come late, are corrected and go, in any order, beside steps in which nothing happens.
#[test]
fn law() {
    equal_to_the_model(400, &[Emit::Update, Emit::Final], &[Late::Drop, Late::Keep, Late::Table]);
}

/// As many random histories, with one of these drawn for each.
pub(super) fn equal_to_the_model(runs: u64, emits: &[Emit], lates: &[Late]) {
    explore(runs, |tape| {
        let text = |error: Error| error.to_string();
        let graph: UpdateGraph = still_graph();
        let spec = table_of("k:str t:time v:int").tame("t");
        let blinks = tape.chance(60);
        let spec = if blinks { spec.blink(false) } else { spec };
        let (source, mut case) = Source::draw(&graph, &spec, tape).map_err(text)?;
        let asked = Asked::draw(tape, emits, lates);
        let mut made: Option<(Watch, Table)> = None;
        let names = to_model(&case.plain()).names;
        let mut timely = Timely::new(&names, "t", asked.delay, asked.closing.allowed_lateness);
        let mut before: Vec<model::Row> = Vec::new();
        for round in 0..14 {
            case.open_cycle();
            for _ in 0..tape.below(3) {
                let step = case.step(tape);
                if !step.is_empty() {
                    source.apply(&step, &case.mirror.schema).map_err(text)?;
                }
            }
            graph.step().map_err(|error| error.to_string())?;
            let now = rows_of(&to_model(&case.plain()));
            let limit = timely.limit();
            if round == 2 {
                let table = asked.made(source.table()).map_err(text)?;
                made = Some((Watch::attach(&table).map_err(text)?, table));
            }
            let Some((watch, table)) = &made else { continue };
            timely.step(&before, &now);
            before = if blinks { Vec::new() } else { now };
            if let Some(fault) = watch.fault() {
                return Err(fault);
            }
            let windows = asked.wanted(&timely);
            let found = watch.with_now(to_model);
            let (wanted, found) = match asked.closing {
                Closing { emit: Emit::Final, .. } => (asked.ended(windows, timely.limit(), true), found),
                // What has closed goes as soon as something comes.
                Closing { forget_results: true, .. } => {
                    (asked.ended(windows, limit, false), asked.ended(found, limit, false))
                }
                Closing { .. } => (windows, found),
            };
            if let Some(difference) = differences(&wanted, &found, &asked.keys()) {
                return Err(format!("{difference}\nin round {round} of {asked:?}"));
            }
            if (asked.closing.late == Late::Table) != table.late().is_some() {
                return Err("a table of late rows, or none".into());
            }
            if let Some(late) = table.late() {
                let view = late.view().map_err(text)?;
                let late = to_model(&crate::testing::validate::plain_of(&view, late.schema()).map_err(text)?);
                let what = late.column("_change");
                let of = |change: &str| what.iter().filter(|what| what.to_string().contains(change)).count() as i64;
                let [came, gone] = timely.late.map(|late| late as i64);
                // A row that is replaced by an equal one has come and gone.
                if of("added") - of("removed") != came - gone {
                    return Err(format!(
                        "{late}\nfor {came} late and {gone} late removals in round {round} of {asked:?}"
                    ));
                }
            }
        }
        Ok(())
    });
}
