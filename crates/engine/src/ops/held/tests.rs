//! What is held beside a model that keeps every row, by the clock and by a watermark.

use std::sync::Arc;
use std::time::Duration;

use formula::{Aggregate, Expr};
use graph::env::{ManualTime, TimeSource};
use graph::{Settings, UpdateGraph};
use model::{Compare, Row, Value, differences, ops};

use crate::error::Error;
use crate::plan::{
    Cumulative, GroupBounds, Keep, Op, Operator, OperatorKind, RowBounds, RunningKind, StandingGroups, WhenFull, apply,
};
use crate::row_errors::OnError;
use crate::table::handle::Table;
use crate::testing::mirror::goal_of;
use crate::testing::oracle::to_model;
use crate::testing::{Drawn, Source, Tape, Watch, check_steps, explore, still_graph, table_of};

const SECOND: i64 = 1_000_000_000;

/// By what time is told, and where it stands.
struct Told {
    clock: Arc<ManualTime>,
    by_watermark: bool,
    delay: i64,
    mark: Option<i64>,
}

impl Told {
    fn draw(tape: &mut Tape) -> (UpdateGraph, Told) {
        let clock = ManualTime::starting_at(tape.below(12) as i64 * SECOND);
        let settings = Settings { period: Duration::ZERO, threads: Some(1), init_threads: Some(1) };
        let graph = UpdateGraph::with_time(settings, TimeSource::Manual(clock.clone()));
        let (by_watermark, delay) = (tape.chance(128), *tape.choose(&[0, 2 * SECOND, 20 * SECOND]));
        (graph, Told { clock, by_watermark, delay, mark: None })
    }

    fn table(&self, table: &Table) -> Result<Table, Error> {
        if !self.by_watermark {
            return Ok(table.clone());
        }
        let mark = Op::Watermark { stamp: "t".into(), delay: self.delay, idle_after: None };
        apply(mark, "watermark", std::slice::from_ref(table))
    }

    fn see(&mut self, stamps: impl Iterator<Item = Value>) {
        for stamp in stamps {
            if let Value::Timestamp(stamp) = stamp {
                self.mark = self.mark.max(Some(stamp.saturating_sub(self.delay)));
            }
        }
    }

    fn now(&self) -> i64 {
        if self.by_watermark { self.mark.unwrap_or(i64::MIN) } else { self.clock.epoch_nanos() }
    }

    fn time_of(&self, row: &Row, stamp: usize, now: i64) -> i64 {
        match row[stamp] {
            Value::Timestamp(stamp) if self.by_watermark => stamp,
            _ => now,
        }
    }

    fn timed(&self, rows: &[Row], stamp: usize, now: i64) -> Vec<(i64, Row)> {
        rows.iter().map(|row| (self.time_of(row, stamp, now), row.clone())).collect()
    }
}

fn limits(tape: &mut Tape) -> ops::Limits {
    let ttl = *tape.choose(&[Some(3 * SECOND), Some(0), None, Some(20 * SECOND), Some(i64::MAX)]);
    let most = *tape.choose(&[Some(3), None, Some(1), Some(8)]);
    if ttl.is_none() && most.is_none() { ops::Limits { ttl, most: Some(2) } } else { ops::Limits { ttl, most } }
}

fn bounds(limits: ops::Limits, keep_results: bool) -> GroupBounds {
    let max_groups = limits.most.map(|most| most as u64);
    GroupBounds { state_ttl: limits.ttl, max_groups, when_full: WhenFull::Evict, keep_results }
}

fn grouped(bounds: GroupBounds) -> Result<Op, Error> {
    let sum = Expr::aggregate(Aggregate::Sum { min_count: 0 }, Some(Expr::column("v")))?.alias("s");
    let last = Expr::aggregate(Aggregate::Last, Some(Expr::column("v")))?.alias("l");
    let aggregates = vec![sum, Expr::aggregate(Aggregate::Len, None)?.alias("n"), last];
    let keys = vec![Expr::column("k")];
    let (preserve_empty, named, on_error) = (false, false, OnError::Fail);
    Ok(Op::StandingGroups(StandingGroups { keys, aggregates, preserve_empty, named, on_error, bounds }))
}

fn rows_of(table: &model::Table) -> Vec<Row> {
    table.rows.iter().map(|(_, row)| row.clone()).collect()
}

/// What is made of the groups that are held.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Made {
    Sums,
    First,
    Last,
    Running,
}

impl Made {
    fn op(self, bounds: GroupBounds) -> Result<Op, Error> {
        let keys = vec!["k".to_owned()];
        Ok(match self {
            Made::Sums => grouped(bounds)?,
            Made::First => Op::Distinct { keys, keep: Keep::First, bounds },
            Made::Last => Op::Distinct { keys, keep: Keep::Last, bounds },
            Made::Running => {
                let kind = RunningKind::Cumulative { of: Cumulative::Sum, null_at_null: false };
                let operators = vec![Operator { output: "c".into(), kind: OperatorKind::Running(kind) }];
                Op::UpdateBy {
                    by: keys,
                    inputs: vec![Expr::column("v")],
                    operators,
                    resets: false,
                    bounds,
                    on_error: OnError::Fail,
                }
            }
        })
    }

    fn wanted(self, groups: &ops::HeldGroups, keep_results: bool) -> model::Table {
        let of = |table: model::Table| match self {
            Made::First => ops::first_by(&table, &["k"]),
            Made::Last => ops::last_by(&table, &["k"]),
            _ => {
                let aggregates = [
                    ops::Aggregate::new("s", ops::Aggregator::Sum(0), "v"),
                    ops::Aggregate::len("n"),
                    ops::Aggregate::new("l", ops::Aggregator::Last, "v"),
                ];
                ops::aggregate(&table, &["k"], &aggregates).expect("sums of integers")
            }
        };
        let mut all = of(model::Table::flat(vec!["k".into(), "t".into(), "v".into()], Vec::new()));
        let rows = groups.tables(keep_results).into_iter().flat_map(|table| rows_of(&of(table)));
        all.rows = (0..).zip(rows).collect();
        all
    }
}

/// The sums so far of each row, behind its cells; those without a value before them have none.
fn summed(rows: &[Row], so_far: &[Vec<Row>]) -> Vec<Row> {
    let sum = |rows: &Vec<Row>| {
        let values = rows.iter().filter_map(|row| if let Value::Int(value) = row[2] { Some(value) } else { None });
        values.reduce(i64::wrapping_add).map_or(Value::Null, Value::Int)
    };
    let with = |(row, so_far): (&Row, &Vec<Row>)| row.iter().cloned().chain([sum(so_far)]).collect();
    rows.iter().zip(so_far).map(with).collect()
}

/// Rows that come in any number, over blink tables and over those that keep them.
#[test]
fn law_of_groups() {
    explore(500, |tape| {
        let text = |error: Error| error.to_string();
        let (graph, mut told) = Told::draw(tape);
        let spec = table_of("k:str t:time v:int").tame("t").blink(false);
        let (source, mut case) = Source::draw(&graph, &spec, tape).map_err(text)?;
        let keeps = tape.chance(90);
        let input = match keeps {
            true => apply(Op::BlinkToAppendOnly, "blink_to_append_only", &[source.table().clone()]).map_err(text)?,
            false => source.table().clone(),
        };
        let limits = limits(tape);
        let what = *tape.choose(&[Made::Sums, Made::First, Made::Last, Made::Running]);
        let keep_results = what != Made::Running && tape.chance(80);
        let names = to_model(&case.plain()).names;
        let mut groups = ops::HeldGroups::new(&names, &["k"], limits);
        let mut made: Option<(Watch, Table)> = None;
        // All rows that came, and the sums of those that came since the table was made.
        let (mut came, mut sums): (Vec<Row>, Vec<Row>) = Default::default();
        for round in 0..14 {
            told.clock.advance(Duration::from_nanos(*tape.choose(&[0, 1, 1_000_000_000, 7_000_000_000])));
            case.open_cycle();
            for _ in 0..tape.below(3) {
                let step = case.step(tape);
                if !step.is_empty() {
                    source.apply(&step, &case.mirror.schema).map_err(text)?;
                }
            }
            graph.step().map_err(|error| error.to_string())?;
            let now = rows_of(&to_model(&case.plain()));
            came.extend(now.iter().cloned());
            if round == 2 {
                let table = told.table(&input).map_err(text)?;
                let table =
                    apply(what.op(bounds(limits, keep_results)).map_err(text)?, "held", &[table]).map_err(text)?;
                made = Some((Watch::attach(&table).map_err(text)?, table));
            }
            let Some((watch, table)) = &made else { continue };
            let mut rows = now;
            if round == 2 {
                rows = if keeps { came.clone() } else { rows };
                told.see(rows.iter().map(|row| row[1].clone()));
            }
            let at = told.now();
            let so_far = groups.step(at, &told.timed(&rows, 1, at));
            told.see(rows.iter().map(|row| row[1].clone()));
            if let Some(fault) = watch.fault() {
                return Err(fault);
            }
            let found = watch.with_now(to_model);
            let wanted = if what == Made::Running {
                let new = summed(&rows, &so_far);
                sums = if keeps { std::mem::take(&mut sums).into_iter().chain(new).collect() } else { new };
                let names = names.iter().cloned().chain(["c".to_owned()]).collect();
                model::Table::flat(names, sums.clone())
            } else {
                what.wanted(&groups, keep_results)
            };
            let said = || format!("in round {round} of {what:?} by {limits:?}, keep {keep_results}, all {keeps}");
            if let Some(difference) = differences(&wanted, &found, &Compare::ByPosition) {
                return Err(format!("{difference}\n{}", said()));
            }
            let counted = vec![("held_groups", groups.held() as u64), ("evicted_groups", groups.let_go() as u64)];
            if table.counted() != counted {
                return Err(format!("{:?} counted, not {counted:?}, {}", table.counted(), said()));
            }
        }
        Ok(())
    });
}

/// Rows that come, change, move and go, in any table.
pub(super) fn rows_equal_the_model(runs: u64) {
    explore(runs, |tape| {
        let text = |error: Error| error.to_string();
        let (graph, mut told) = Told::draw(tape);
        let spec = table_of("k:str t:time v:int").tame("t");
        let blinks = tape.chance(60);
        let spec = if blinks { spec.blink(false) } else { spec };
        let (source, mut case) = Source::draw(&graph, &spec, tape).map_err(text)?;
        let limits = limits(tape);
        let max_rows = limits.most.map(|most| most as u64);
        let bounds = RowBounds { state_ttl: limits.ttl, max_rows, when_full: WhenFull::Evict };
        let mut held = ops::HeldRows::new(&to_model(&case.plain()).names, limits);
        let mut made: Option<(Watch, Table)> = None;
        for round in 0..14 {
            told.clock.advance(Duration::from_nanos(*tape.choose(&[0, 1, 1_000_000_000, 7_000_000_000])));
            case.open_cycle();
            let step = case.step(tape);
            if !step.is_empty() {
                source.apply(&step, &case.mirror.schema).map_err(text)?;
            }
            graph.step().map_err(|error| error.to_string())?;
            let all = to_model(&case.plain());
            let rows: Vec<(u64, Row)> = all.rows.clone();
            if round == 2 {
                told.see(rows.iter().map(|(_, row)| row[1].clone()));
                let table = told.table(source.table()).map_err(text)?;
                let table = apply(Op::HeldRows(bounds), "held", &[table]).map_err(text)?;
                made = Some((Watch::attach(&table).map_err(text)?, table));
            }
            let Some((watch, table)) = &made else { continue };
            let at = told.now();
            let place = |key: u64, row: &Row| ((!blinks).then_some(key), told.time_of(row, 1, at), row.clone());
            let fresh: Vec<(Option<u64>, i64, Row)> = match round {
                2 => rows.iter().map(|(key, row)| place(*key, row)).collect(),
                _ => {
                    if !blinks {
                        held.go(&step.removed.to_vec());
                        held.rekey(|key| goal_of(&step.shifts, key));
                    }
                    for (key, row) in rows.iter().filter(|(key, _)| step.modified.0.contains(*key)) {
                        let time = match row[1] {
                            Value::Timestamp(stamp) if told.by_watermark => Some(stamp),
                            _ => None,
                        };
                        held.change(*key, time, row.clone());
                    }
                    let added = rows.iter().filter(|(key, _)| step.added.0.contains(*key));
                    added.map(|(key, row)| place(*key, row)).collect()
                }
            };
            held.come(at, &fresh);
            told.see(rows.iter().map(|(_, row)| row[1].clone()));
            if let Some(fault) = watch.fault() {
                return Err(fault);
            }
            let said = || format!("in round {round} by {bounds:?}, watermark {}", told.by_watermark);
            if let Some(difference) = differences(&held.table(), &watch.with_now(to_model), &Compare::ByPosition) {
                return Err(format!("{difference}\n{}", said()));
            }
            let count = |name: &str| table.counted().iter().find(|(known, _)| *known == name).map_or(0, |(_, n)| *n);
            let (late, rows, evicted) = (count("late"), count("held_rows"), count("evicted_rows"));
            let there = held.table().len() as u64;
            // As it begins, what is too old was never held.
            if rows != there || late + evicted > held.refused as u64 {
                return Err(format!("{rows} rows held of {there}, {late} late and {evicted} let go, {}", said()));
            }
        }
        Ok(())
    });
}

#[test]
fn rows_that_are_too_many_leave_by_age() {
    let held = |table: &Table| {
        let bounds = RowBounds { max_rows: Some(2), ..RowBounds::default() };
        apply(Op::HeldRows(bounds), "join", std::slice::from_ref(table))
    };
    check_steps(
        held,
        "0 A 1 | 1 B 2 | 2 C 3",
        &[
            ("~ 0 . 5", ""),
            ("~ 1 . 6", "~ 0 . 6"),
            ("+ 3 D 4", "- 0 | + 2 D 4"),
            ("- 1 2", "- 1"),
            ("+ 9 A 1", "+ 3 A 1"),
        ],
    );
}

#[test]
fn what_cannot_be_bounded_is_told() {
    let drawn = Drawn::new(&still_graph(), "0 A 1");
    let table = drawn.table();
    let refused = |op: Op| apply(op, "group_by", std::slice::from_ref(table)).err().expect("refused").to_string();
    let of = |bounds: GroupBounds| Op::Distinct { keys: vec!["K".into()], keep: Keep::First, bounds };
    let some = GroupBounds { max_groups: Some(1), ..GroupBounds::default() };
    assert!(refused(of(some)).contains("tables that only gain rows"), "{}", refused(of(some)));
    assert!(refused(of(GroupBounds { max_groups: Some(0), ..some })).contains("max_groups must be 1 or more"));
    assert!(refused(of(GroupBounds { state_ttl: Some(-1), ..some })).contains("state_ttl must be 0 or longer"));
    assert!(refused(of(GroupBounds { max_groups: None, keep_results: true, ..some })).contains("there is none"));
    let rows = RowBounds { max_rows: Some(0), ..RowBounds::default() };
    assert!(refused(Op::HeldRows(rows)).contains("max_rows must be 1 or more"));
}
