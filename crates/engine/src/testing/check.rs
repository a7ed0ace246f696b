//! The law of every operation: what it keeps by updates equals what it would be made of anew.
//!
//! A run draws tables, steps, threads and schedule from one tape. After each step every update has
//! been held to U1–U8, the inputs equal their mirrors, and the judge has compared the result with
//! its oracle. `explore.rs` runs it over many tapes.

use std::sync::Arc;
use std::time::Duration;

use arrow_schema::Schema;
use graph::{Schedule, Settings, UpdateGraph};

use super::draw;
use super::explore::{count_step, explore_and_replay, sizes_of};
use super::feeds::{Source, apply_of};
use super::mirror::{Mirror, RawStep};
use super::plain::Plain;
use super::random::{Case, TableSpec};
use super::story;
use super::tape::{Tape, to_hex};
use super::validate::Watch;
use crate::error::{Error, Failure};
use crate::sources::InputTable;
use crate::table::handle::Table;

/// What an operation's table is after a step.
pub enum Found<'a> {
    /// Its rows.
    Rows(&'a Plain),
    /// It could not be made, or has failed, for this reason.
    Failed(&'a str),
}

/// Runs a law over random tables. `build` makes the table under test from the inputs; `judge`
/// says what is wrong with it, given the inputs as they stand and what was found.
pub fn run_law(
    specs: &[TableSpec],
    runs: u64,
    build: impl Fn(&[Table]) -> Result<Table, Error>,
    judge: impl Fn(&[Plain], &Found<'_>) -> Result<(), String>,
) {
    let judge = |(): &(), inputs: &[Plain], found: &Found<'_>| judge(inputs, found);
    run_drawn_law(specs, runs, |_| (), |(), tables| build(tables), judge);
}

/// Runs the law of an operation whose parameters are drawn from the tape as well.
pub fn run_drawn_law<P>(
    specs: &[TableSpec],
    runs: u64,
    draw: impl Fn(&mut Tape) -> P,
    build: impl Fn(&P, &[Table]) -> Result<Table, Error>,
    judge: impl Fn(&P, &[Plain], &Found<'_>) -> Result<(), String>,
) {
    run_planned_law(runs, |tape| (draw(tape), specs.to_vec()), build, judge);
}

/// Runs the law of an operation whose drawn parameters also determine the number and kinds of its inputs.
pub fn run_planned_law<P>(
    runs: u64,
    draw: impl Fn(&mut Tape) -> (P, Vec<TableSpec>),
    build: impl Fn(&P, &[Table]) -> Result<Table, Error>,
    judge: impl Fn(&P, &[Plain], &Found<'_>) -> Result<(), String>,
) {
    let run = |tape: &mut Tape| {
        let from = tape.used().len();
        let (plan, specs) = draw(tape);
        story::tell(|| format!("plan {}", to_hex(tape.used().get(from..).unwrap_or_default())));
        let build = |tables: &[Table]| build(&plan, tables);
        let judge = |inputs: &[Plain], found: &Found<'_>| judge(&plan, inputs, found);
        run_once(&specs, tape, &build, &judge)
    };
    let replay = |lines: &[String]| {
        let told = |mark: &str| lines.iter().find_map(|line| line.strip_prefix(mark)).unwrap_or_default();
        let (plan, specs) = draw(&mut Tape::from_hex(told("plan")).expect("a plan is a row of digits"));
        let inputs = lines.iter().filter_map(|line| line.strip_prefix("input ")).map(Case::read);
        let same = inputs.zip(&specs).all(|(case, spec)| case.mirror.schema == spec.schema());
        assert!(same, "its plan is drawn otherwise now: draw one that does the same, or take the case out");
        let build = |tables: &[Table]| build(&plan, tables);
        let judge = |inputs: &[Plain], found: &Found<'_>| judge(&plan, inputs, found);
        sizes_of(told("sizes ").parse().unwrap_or(0))
            .enter(|| run_told(lines, specs.iter().any(TableSpec::moves_change_values), &build, &judge))
    };
    explore_and_replay(runs, run, replay);
}

/// One input: the table, its source, its mirror and a watch over its own updates.
struct Feed {
    source: Source,
    case: Case,
    watch: Watch,
}

impl Feed {
    /// The next step, which is queued; whether it does nothing but move rows.
    fn step(&mut self, at: usize, tape: &mut Tape) -> Result<bool, String> {
        let step = self.case.step(tape);
        if step.is_empty() {
            return Ok(true);
        }
        count_step();
        story::tell(|| format!("step {at} {}", draw::draw_step(&step, &self.case.mirror.schema)));
        self.apply(&step)
    }

    fn apply(&self, step: &RawStep) -> Result<bool, String> {
        let applied = self.source.apply(step, &self.case.mirror.schema);
        applied.map_err(|error| {
            let drawing = draw::draw_step(step, &self.case.mirror.schema);
            format!("a lawful step was refused: {error}: {drawing}")
        })?;
        Ok(step.removed.is_empty() && step.added.0.is_empty() && step.modified.0.is_empty())
    }

    fn check(&self) -> Result<(), String> {
        if let Some(fault) = self.watch.fault() {
            return Err(format!("the input table broke a rule: {fault}"));
        }
        let difference = self.watch.with_now(|now| self.case.first_difference(now));
        difference.map_or(Ok(()), |text| Err(format!("the input table, wanted against found: {text}")))
    }
}

fn run_once(
    specs: &[TableSpec],
    tape: &mut Tape,
    build: &impl Fn(&[Table]) -> Result<Table, Error>,
    judge: &impl Fn(&[Plain], &Found<'_>) -> Result<(), String>,
) -> Result<(), String> {
    let graph = random_graph(tape);
    let text = |error: Error| format!("the harness itself: {error}");
    let mut feeds = Vec::new();
    for spec in specs {
        let (source, case) = Source::draw_any(&graph, spec, tape).map_err(text)?;
        story::tell(|| format!("input {}", case.told()));
        let watch = Watch::attach(source.table()).map_err(text)?;
        feeds.push(Feed { source, case, watch });
    }
    let tables: Vec<Table> = feeds.iter().map(|feed| feed.source.table().clone()).collect();
    // Some tables have rows before the operation starts, some after.
    for _ in 0..tape.below(3) {
        feed_some(&mut feeds, tape)?;
        settle(&graph)?;
    }
    let most = specs.iter().map(TableSpec::most_steps).max().unwrap_or(0);
    let moves_change_values = specs.iter().any(TableSpec::moves_change_values);
    feeds.iter_mut().for_each(|feed| feed.case.forget());
    let mut subject = Subject::new(&tables, build);
    judge_now(&feeds, &subject, judge)?;
    for _ in 0..most {
        if subject.is_failed() || !tape.chance(235) {
            break;
        }
        if tape.chance(24) {
            // A table made anew over what is there now must be the same; the old one goes first,
            // as equal requests would share it.
            drop(std::mem::replace(&mut subject, Subject::none()));
            feeds.iter_mut().for_each(|feed| feed.case.forget());
            subject = Subject::new(&tables, build);
            judge_now(&feeds, &subject, judge)?;
        }
        let told = subject.told_modified();
        let only_moved = feed_some(&mut feeds, tape)?;
        settle(&graph)?;
        feeds.iter().try_for_each(Feed::check)?;
        if only_moved && !moves_change_values && subject.told_modified() > told {
            return Err("rows above only moved, and some below were called modified".into());
        }
        judge_now(&feeds, &subject, judge)?;
    }
    Ok(())
}

/// One to three steps of each input, or none, queued for one cycle; whether they do nothing but move rows.
fn feed_some(feeds: &mut [Feed], tape: &mut Tape) -> Result<bool, String> {
    let mut only_moved = true;
    for (at, feed) in feeds.iter_mut().enumerate() {
        only_moved &= !feed.case.open_cycle();
        let steps = *tape.choose(&[1, 1, 1, 0, 2, 3]);
        for _ in 0..steps {
            only_moved &= feed.step(at, tape)?;
        }
    }
    Ok(only_moved)
}

fn settle(graph: &UpdateGraph) -> Result<(), String> {
    story::tell(|| "cycle".into());
    graph.step().map(|_| ()).map_err(|error| format!("the cycle itself: {error}"))
}

fn random_graph(tape: &mut Tape) -> UpdateGraph {
    let (threads, init_threads) = (*tape.choose(&[1, 1, 2, 4]), *tape.choose(&[1, 1, 2, 4]));
    let inline = (!tape.chance(40)).then(|| u64::from(tape.byte()));
    story::tell(|| {
        let schedule = inline.map_or("pool".into(), |seed| format!("inline {seed}"));
        format!("graph {threads} {init_threads} {schedule}")
    });
    graph_of(threads, init_threads, inline)
}

fn graph_of(threads: usize, init_threads: usize, inline: Option<u64>) -> UpdateGraph {
    let settings = Settings { period: Duration::ZERO, threads: Some(threads), init_threads: Some(init_threads) };
    let graph = UpdateGraph::new(settings);
    if let Some(seed) = inline {
        graph.set_schedule(Schedule::Inline { seed });
    }
    graph
}

/// A case as it was told.
fn run_told(
    lines: &[String],
    moves_change_values: bool,
    build: &impl Fn(&[Table]) -> Result<Table, Error>,
    judge: &impl Fn(&[Plain], &Found<'_>) -> Result<(), String>,
) -> Result<(), String> {
    let text = |error: Error| format!("the harness itself: {error}");
    let mut graph = still_graph();
    let (mut feeds, mut waiting): (Vec<Feed>, Vec<(usize, &str)>) = (Vec::new(), Vec::new());
    let mut subject = None;
    for line in lines {
        let (mark, rest) = line.split_once(' ').unwrap_or((line, ""));
        match mark {
            "graph" => {
                let numbers: Vec<u64> = rest.split(' ').filter_map(|word| word.parse().ok()).collect();
                graph = graph_of(numbers[0] as usize, numbers[1] as usize, numbers.get(2).copied());
            }
            "input" => {
                let case = Case::read(rest);
                let source = Source::of(&graph, &case).map_err(text)?;
                let watch = Watch::attach(source.table()).map_err(text)?;
                feeds.push(Feed { source, case, watch });
            }
            "step" => {
                let (at, drawing) = rest.split_once(' ').unwrap_or((rest, ""));
                waiting.push((at.parse().expect("the number of an input"), drawing));
            }
            "cycle" => {
                let told = subject.as_ref().map_or(0, Subject::told_modified);
                let mut only_moved = !feeds.iter_mut().fold(false, |gone, feed| feed.case.open_cycle() | gone);
                for (at, drawing) in waiting.drain(..) {
                    let feed = &mut feeds[at];
                    let step = draw::step(drawing, &feed.case.mirror.schema);
                    let step = feed.case.take(step);
                    only_moved &= feed.apply(&step)?;
                }
                settle(&graph)?;
                feeds.iter().try_for_each(Feed::check)?;
                if let Some(subject) = &subject {
                    if only_moved && !moves_change_values && subject.told_modified() > told {
                        return Err("rows above only moved, and some below were called modified".into());
                    }
                    judge_now(&feeds, subject, judge)?;
                }
            }
            "build" => {
                drop(subject.take());
                feeds.iter_mut().for_each(|feed| feed.case.forget());
                let tables: Vec<Table> = feeds.iter().map(|feed| feed.source.table().clone()).collect();
                judge_now(&feeds, subject.insert(Subject::new(&tables, build)), judge)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// The table under test, or why there is none.
enum Subject {
    Live(Table, Watch),
    Refused(String),
}

impl Subject {
    fn none() -> Subject {
        Subject::Refused(String::new())
    }

    fn new(tables: &[Table], build: &impl Fn(&[Table]) -> Result<Table, Error>) -> Subject {
        story::tell(|| "build".into());
        let made = build(tables).and_then(|table| Ok((Watch::attach(&table)?, table)));
        match made {
            Ok((watch, table)) => Subject::Live(table, watch),
            Err(error) => Subject::Refused(error.to_string()),
        }
    }

    /// Rows it has called modified, so far.
    fn told_modified(&self) -> u64 {
        match self {
            Subject::Live(_, watch) => watch.modified(),
            Subject::Refused(_) => 0,
        }
    }

    fn is_failed(&self) -> bool {
        match self {
            Subject::Live(table, _) => table.failure().is_some(),
            Subject::Refused(_) => true,
        }
    }
}

fn judge_now(
    feeds: &[Feed],
    subject: &Subject,
    judge: &impl Fn(&[Plain], &Found<'_>) -> Result<(), String>,
) -> Result<(), String> {
    let inputs: Vec<Plain> = feeds.iter().map(|feed| feed.case.plain()).collect();
    let verdict = match subject {
        Subject::Refused(text) => judge(&inputs, &Found::Failed(text)),
        Subject::Live(table, watch) => match (table.failure(), watch.fault()) {
            (Some(failure), _) => judge(&inputs, &Found::Failed(&why(&failure))),
            (None, Some(fault)) => Err(fault),
            (None, None) => watch.with_now(|now| judge(&inputs, &Found::Rows(now))),
        },
    };
    verdict.map_err(|text| {
        let inputs: Vec<String> = inputs.iter().map(|input| format!("\n  input {input}")).collect();
        let last = match subject {
            Subject::Live(_, watch) => format!("\n  last update {:?}", watch.take_drawings().pop().unwrap_or_default()),
            Subject::Refused(_) => String::new(),
        };
        format!("{text}{last}{}", inputs.join(""))
    })
}

fn why(failure: &Failure) -> String {
    format!("{}: {}", failure.culprit, failure.cause)
}

/// An input table that is fed by drawings.
pub struct Drawn {
    source: InputTable,
    schema: Arc<Schema>,
}

impl Drawn {
    /// The drawn table, settled in its graph.
    pub fn new(graph: &UpdateGraph, drawing: &str) -> Drawn {
        let mirror = draw::table(drawing);
        let source = InputTable::new(graph, mirror.schema.clone()).expect("a drawn schema is sound");
        let drawn = Drawn { source, schema: mirror.schema.clone() };
        if !mirror.rows.is_empty() {
            drawn.push(&added_rows(&mirror));
            graph.step().expect("the cycle runs");
        }
        drawn
    }

    /// The live table.
    pub fn table(&self) -> &Table {
        self.source.table()
    }

    /// Queues a drawn step; the empty drawing is none.
    pub fn apply(&self, drawing: &str) {
        let step = draw::step(drawing, &self.schema);
        if !step.is_empty() {
            self.push(&step);
        }
    }

    fn push(&self, step: &RawStep) {
        self.source.apply(apply_of(step, &self.schema)).expect("the drawn step is lawful");
    }
}

fn added_rows(mirror: &Mirror) -> RawStep {
    let drawing: Vec<String> = draw::draw_table(mirror)
        .split_once(": ")
        .map_or(Vec::new(), |(_, rows)| rows.split(" | ").map(|row| format!("+ {row}")).collect());
    draw::step(&drawing.join(" | "), &mirror.schema)
}

/// A graph that runs by hand, on one thread.
pub fn still_graph() -> UpdateGraph {
    UpdateGraph::new(Settings { period: Duration::ZERO, threads: Some(1), init_threads: Some(1) })
}

/// Drawn steps in, drawn updates out: `("~ 1 B 0", "- 1")`. The empty text is no update; one that
/// begins with `!` is a failure whose text holds what follows.
pub fn check_steps(build: impl Fn(&Table) -> Result<Table, Error>, start: &str, steps: &[(&str, &str)]) {
    let graph = still_graph();
    let input = Drawn::new(&graph, start);
    let table = build(input.table()).expect("the operation starts");
    let watch = Watch::attach(&table).expect("a table can be watched");
    for (drawing, wanted) in steps {
        input.apply(drawing);
        expect_update(&graph, &table, &watch, drawing, wanted);
    }
}

/// As [`check_steps`], but with two inputs: `(("+ 1 A", ""), "+ 1 A null")`.
pub fn check_steps_of_two(
    build: impl Fn(&Table, &Table) -> Result<Table, Error>,
    starts: (&str, &str),
    steps: &[((&str, &str), &str)],
) {
    let graph = still_graph();
    let (left, right) = (Drawn::new(&graph, starts.0), Drawn::new(&graph, starts.1));
    let table = build(left.table(), right.table()).expect("the operation starts");
    let watch = Watch::attach(&table).expect("a table can be watched");
    for ((for_left, for_right), wanted) in steps {
        left.apply(for_left);
        right.apply(for_right);
        expect_update(&graph, &table, &watch, &format!("{for_left} ; {for_right}"), wanted);
    }
}

fn expect_update(graph: &UpdateGraph, table: &Table, watch: &Watch, given: &str, wanted: &str) {
    graph.step().expect("the cycle runs");
    if let Some(text) = wanted.strip_prefix('!') {
        let failure = table.failure().unwrap_or_else(|| panic!("after {given:?} the table should have failed"));
        assert!(why(&failure).contains(text.trim()), "after {given:?}: {}", why(&failure));
        return;
    }
    if let Some(failure) = table.failure() {
        panic!("after {given:?}: {}", why(&failure));
    }
    if let Some(fault) = watch.fault() {
        panic!("after {given:?}: {fault}");
    }
    let found = watch.take_drawings().pop().unwrap_or_default();
    let wanted = draw::draw_step(&draw::step(wanted, table.schema()), table.schema());
    assert_eq!(found, wanted, "after {given:?} (found, wanted); the table now: {}", watch.now());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::random::{KINDS, any_table, table_of};
    use std::cell::RefCell;

    #[test]
    fn input_tables_follow_their_mirrors() {
        run_law(
            &[any_table(), any_table()],
            60,
            |tables| Ok(tables[0].clone()),
            |inputs, found| match found {
                Found::Rows(rows) => inputs[0].first_difference_in_order(rows).map_or(Ok(()), Err),
                Found::Failed(text) => Err((*text).into()),
            },
        );
    }

    /// Columns of every type, every kind of source: what is read from the text is what was drawn from the tape.
    #[test]
    fn a_case_that_is_told_is_the_same_case() {
        let columns: Vec<String> = KINDS.iter().map(|kind| format!("c_{kind}:{kind}")).collect();
        let all = table_of(&columns.join(" ")).rows(6).steps(5);
        let seen = RefCell::new(Vec::new());
        let build = |tables: &[Table]| Ok(tables[0].clone());
        let judge = |inputs: &[Plain], found: &Found<'_>| {
            let Found::Rows(rows) = found else { return Err("it failed".to_owned()) };
            seen.borrow_mut().push((inputs.iter().map(Plain::to_string).collect::<Vec<_>>(), rows.to_string()));
            Ok(())
        };
        for seed in 0..40 {
            let specs = [all.clone(), any_table(), if seed % 2 == 0 { any_table().blink(true) } else { any_table() }];
            let drawn = || run_once(&specs, &mut Tape::seeded(seed), &build, &judge);
            let (drawn, lines) = story::told_by(drawn);
            drawn.expect("the table is its input");
            let wanted = seen.take();
            run_told(&lines, false, &build, &judge).expect("the table is its input");
            assert!(!wanted.is_empty() && wanted == seen.take(), "{lines:#?}");
        }
    }

    #[test]
    fn drawings_go_in_and_come_out() {
        let same = |table: &Table| Ok(table.clone());
        check_steps(
            same,
            "0 A 1 | 1 B 2 | 2 C 3",
            &[("~ 1 . 9", "~ 1 . 9"), ("", ""), ("- 0 | > [1..2]-1 | + 2 D 4", "- 0 | > [1..2]-1 | + 2 D 4")],
        );
    }
}
