//! The registry of operations: the name of each, how its parameters are drawn, how its result may be compared.
//!
//! `stages/build.rs` builds a stage in the engine and in the model. `registry.txt` lists the public names of each spec that
//! has several; a test here walks the engine, and `python/test_registry.py` walks the Python package.

mod sharing;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use engine::plan::Op;
use engine::testing::values::Style;
use engine::testing::{Plain, TableSpec, Tape, any_table, run_planned_law};
use model::{Compare, GroupOrder, ops};

use crate::oracle::{judge, to_model};
use crate::sources::SOURCES;
use crate::stages::draw::{self, Draw};
use crate::stages::{Shape, Stage, Types};

/// What becomes of rows that live for one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverBlink {
    /// They pass, or do not.
    Passes,
    /// They are remembered.
    Accumulates,
    /// They pass, and what is known of them is remembered.
    Carries,
    /// There is no such result, or one of rows by the order in which they came.
    Refused,
}

/// One public operation.
pub struct OpSpec {
    /// As `registry.txt` calls it.
    pub name: &'static str,
    /// How many tables it is drawn over.
    pub inputs: usize,
    /// Random parameters over a shape, which becomes that of the result: its columns, which of them are known only within
    /// bounds (sums of floats), and by which its rows are told apart where their order depends on history.
    pub draw: Draw,
    /// Over rows that live for one step.
    pub over_blink: OverBlink,
}

/// All of them.
pub const SPECS: &[OpSpec] = &[
    OpSpec { name: "filter", inputs: 1, draw: draw::filter, over_blink: OverBlink::Passes },
    OpSpec { name: "with_columns", inputs: 1, draw: draw::with_columns, over_blink: OverBlink::Passes },
    OpSpec { name: "neighbours", inputs: 1, draw: draw::neighbours, over_blink: OverBlink::Passes },
    OpSpec { name: "update_view", inputs: 1, draw: draw::update_view, over_blink: OverBlink::Passes },
    OpSpec { name: "lazy_update", inputs: 1, draw: draw::lazy_update, over_blink: OverBlink::Passes },
    OpSpec { name: "select", inputs: 1, draw: draw::select, over_blink: OverBlink::Passes },
    OpSpec { name: "choose", inputs: 1, draw: draw::choose, over_blink: OverBlink::Passes },
    OpSpec { name: "drop", inputs: 1, draw: draw::drop, over_blink: OverBlink::Passes },
    OpSpec { name: "rename", inputs: 1, draw: draw::rename, over_blink: OverBlink::Passes },
    OpSpec { name: "head", inputs: 1, draw: draw::head, over_blink: OverBlink::Accumulates },
    OpSpec { name: "tail", inputs: 1, draw: draw::tail, over_blink: OverBlink::Accumulates },
    OpSpec { name: "slice", inputs: 1, draw: draw::slice, over_blink: OverBlink::Refused },
    OpSpec { name: "concat", inputs: 1, draw: draw::concat, over_blink: OverBlink::Passes },
    OpSpec { name: "group", inputs: 1, draw: draw::group, over_blink: OverBlink::Accumulates },
    OpSpec { name: "pivot", inputs: 1, draw: draw::pivot, over_blink: OverBlink::Accumulates },
    OpSpec { name: "time_windows", inputs: 1, draw: draw::time_windows, over_blink: OverBlink::Accumulates },
    OpSpec { name: "session", inputs: 1, draw: draw::session, over_blink: OverBlink::Refused },
    OpSpec { name: "over", inputs: 1, draw: draw::over, over_blink: OverBlink::Refused },
    OpSpec { name: "shift_over", inputs: 1, draw: draw::shift_over, over_blink: OverBlink::Passes },
    OpSpec { name: "update_by", inputs: 1, draw: draw::update_by, over_blink: OverBlink::Carries },
    OpSpec { name: "runs", inputs: 1, draw: draw::runs, over_blink: OverBlink::Refused },
    OpSpec { name: "rolling", inputs: 1, draw: draw::rolling, over_blink: OverBlink::Refused },
    OpSpec { name: "unique", inputs: 1, draw: draw::unique, over_blink: OverBlink::Accumulates },
    OpSpec { name: "pick", inputs: 1, draw: draw::pick, over_blink: OverBlink::Accumulates },
    OpSpec { name: "group_limit", inputs: 1, draw: draw::group_limit, over_blink: OverBlink::Refused },
    OpSpec { name: "sort", inputs: 1, draw: draw::sort, over_blink: OverBlink::Passes },
    OpSpec { name: "assert_sorted", inputs: 1, draw: draw::assert_sorted, over_blink: OverBlink::Passes },
    OpSpec { name: "merge_sorted", inputs: 1, draw: draw::merge_sorted, over_blink: OverBlink::Passes },
    OpSpec { name: "top_k", inputs: 1, draw: draw::top_k, over_blink: OverBlink::Refused },
    OpSpec { name: "explode", inputs: 1, draw: draw::explode, over_blink: OverBlink::Passes },
    OpSpec {
        name: "reverse",
        inputs: 1,
        draw: |_, _| Some(Stage::Plain(Op::Reverse, ops::reverse)),
        over_blink: OverBlink::Passes,
    },
    OpSpec {
        name: "flatten",
        inputs: 1,
        draw: |_, _| Some(Stage::Plain(Op::Flatten, ops::flatten)),
        over_blink: OverBlink::Passes,
    },
    OpSpec {
        name: "remove_blink",
        inputs: 1,
        draw: |_, _| Some(Stage::Plain(Op::RemoveBlink, Clone::clone)),
        over_blink: OverBlink::Passes,
    },
    OpSpec { name: "natural_join", inputs: 2, draw: draw::natural_join, over_blink: OverBlink::Passes },
    OpSpec { name: "join", inputs: 2, draw: draw::join, over_blink: OverBlink::Passes },
    OpSpec { name: "join_where", inputs: 2, draw: draw::join_where, over_blink: OverBlink::Passes },
    OpSpec { name: "multi_join", inputs: 2, draw: draw::multi_join, over_blink: OverBlink::Refused },
    OpSpec { name: "sync_filter", inputs: 2, draw: draw::sync_filter, over_blink: OverBlink::Refused },
    OpSpec { name: "where_in", inputs: 2, draw: draw::where_in, over_blink: OverBlink::Passes },
    OpSpec { name: "join_asof", inputs: 2, draw: draw::join_asof, over_blink: OverBlink::Passes },
    OpSpec { name: "range_join", inputs: 2, draw: draw::range_join, over_blink: OverBlink::Passes },
];

/// The spec of this name.
pub fn spec(name: &str) -> &'static OpSpec {
    SPECS.iter().find(|spec| spec.name == name).unwrap_or_else(|| panic!("no operation is called {name:?}"))
}

/// One stage of one spec over tables of these types; a filter at the end of a tape, where the same choice would come for ever.
pub fn draw_one(tape: &mut Tape, spec: &OpSpec, types: Types) -> (Stage, Shape) {
    const TRIES: usize = 1_000;
    for _ in 0..TRIES {
        let mut shape = Shape::left(types);
        if let Some(stage) = (spec.draw)(tape, &mut shape) {
            return (stage, shape);
        }
    }
    let mut shape = Shape::left(types);
    (draw::filter(tape, &mut shape).expect("a filter is always defined"), shape)
}

/// One operation, alike often, and its tables, whose sizes are said: their keys meet.
fn any_operation(
    tape: &mut Tape,
    sized: impl Fn(&mut Tape, TableSpec) -> TableSpec,
) -> ((Ordered, Compare), Vec<TableSpec>) {
    let meeting = [Style::Skewed, Style::NullHeavy, Style::Sorted, Style::Pool];
    let types = Types::draw(tape);
    let spec = &SPECS[tape.below(SPECS.len() as u64) as usize];
    let (stage, shape) = draw_one(tape, spec, types);
    let table = |spec: &TableSpec| {
        let spec = sized(tape, spec.clone());
        ["k", "g", "t", "p"].iter().fold(spec, |spec, name| spec.styled(name, &meeting))
    };
    let tables = types.specs()[..spec.inputs].iter().map(table).collect();
    ((Ordered::new(stage), shape.compare()), tables)
}

/// Every operation over small tables of every kind of source, alike often. The cheapest of the laws: it is here that
/// steps are made by the million.
#[test]
fn every_operation_equals_the_model() {
    run_planned_law(
        6_000,
        |tape| any_operation(tape, |_, spec| spec.rows(10).steps(24)),
        |(ordered, _), tables| {
            ordered.begin();
            ordered.stage.engine(&tables[0], tables.last().expect("there is one"))
        },
        |(ordered, compare), inputs: &[Plain], found| {
            let (left, right) = (to_model(&inputs[0]), to_model(inputs.last().expect("there is one")));
            let stage = &ordered.stage;
            let verdict = match stage.model(&left, &right).map(|wanted| ordered.arrange(wanted, &left)) {
                Ok(Some(wanted)) => judge(Ok(wanted), found, &Compare::ByPosition),
                _ => judge(stage.model(&left, &right), found, compare),
            };
            verdict.map_err(|text| format!("{text}\n  of {stage:?}"))
        },
    );
}

/// Every operation over static tables, which have paths of their own: one table may be much longer than the other.
#[test]
fn every_operation_over_static_tables_equals_the_model() {
    run_planned_law(
        3_000,
        |tape| any_operation(tape, |tape, spec| spec.rows(*tape.choose(&[2, 8, 40])).steps(0)),
        |(ordered, _), tables| {
            ordered.begin();
            let still = engine::snapshot(tables)?;
            ordered.stage.engine(&still[0], still.last().expect("there is one"))
        },
        |(ordered, compare), inputs: &[Plain], found| {
            let (left, right) = (to_model(&inputs[0]), to_model(inputs.last().expect("there is one")));
            judge(ordered.stage.model(&left, &right), found, compare)
                .map_err(|text| format!("{text}\n  of {:?}", ordered.stage))
        },
    );
}

/// A stage, and the order in which its groups stand, if it has groups: that depends on what came when.
struct Ordered {
    stage: Stage,
    order: RefCell<GroupOrder>,
}

impl Ordered {
    fn new(stage: Stage) -> Ordered {
        Ordered { stage, order: RefCell::default() }
    }

    /// The table is made anew.
    fn begin(&self) {
        self.order.replace(GroupOrder::new());
    }

    /// What the model says of grouped rows, in their order; nothing if there are no groups.
    fn arrange(&self, wanted: model::Table, input: &model::Table) -> Option<model::Table> {
        let by = match &self.stage {
            Stage::Group(by, ..) | Stage::Pick(by, ..) | Stage::GroupLimit(by, ..) | Stage::Pivot(by, ..)
                if !by.is_empty() =>
            {
                by
            }
            Stage::Unique => &input.names,
            _ => return None,
        };
        let mut order = self.order.borrow_mut();
        order.step(input, by);
        Some(order.arrange(&wanted, by))
    }
}

/// Every spec can be drawn over the plainest table, and from the end of a tape.
#[test]
fn every_spec_draws_parameters() {
    for spec in SPECS {
        for seed in 0..20 {
            let mut tape = Tape::seeded(seed);
            let types = Types::draw(&mut tape);
            let (stage, shape) = draw_one(&mut tape, spec, types);
            assert!(!shape.columns.is_empty(), "{stage:?} has columns");
        }
    }
    let shape = &mut Shape::left(Types::PLAIN);
    assert!(matches!(Stage::draw(&mut Tape::replay(&[]), shape), Stage::Filter(_)));
    assert!(any_table().key().is_some());
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests lie in the project").to_path_buf()
}

/// Lines of `registry.txt`: the spec's name and the engine's types.
fn listed() -> Vec<(String, Vec<String>)> {
    let text = fs::read_to_string(root().join("tests/registry.txt")).expect("the registry is there");
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let parts = lines.map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    parts.map(|parts| (parts[0].to_owned(), parts[1].split_whitespace().map(str::to_owned).collect())).collect()
}

fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            if path.file_name().is_some_and(|name| name != "testing") {
                sources(&path, found);
            }
        } else {
            let text = fs::read_to_string(&path).expect("it is text");
            // What a file's own tests stand in for an operation is none.
            found.push(text.split("\nmod tests {").next().unwrap_or_default().to_owned());
        }
    }
}

/// The word after each of these marks, in all files of the engine.
fn words_after(mark: &str) -> BTreeSet<String> {
    let mut texts = Vec::new();
    sources(&root().join("crates/engine/src"), &mut texts);
    let word = |rest: &str| rest.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default().to_owned();
    texts.iter().flat_map(|text| text.split(mark).skip(1).map(word).collect::<Vec<_>>()).collect()
}

/// The types of specs without a line, which go by one name: `sort` is `Sort`.
fn types_of_one_name(listed: &[(String, Vec<String>)]) -> Vec<String> {
    let camel = |name: &str| -> String {
        name.split('_').map(|word| format!("{}{}", word[..1].to_uppercase(), &word[1..])).collect()
    };
    let unlisted = SPECS.iter().filter(|spec| listed.iter().all(|(name, _)| name != spec.name));
    unlisted.map(|spec| camel(spec.name)).collect()
}

#[test]
fn every_operation_and_source_of_the_engine_is_registered() {
    let listed = listed();
    let of_one_name = types_of_one_name(&listed);
    let types = listed.iter().flat_map(|(_, types)| types);
    let known: BTreeSet<&str> = types.chain(&of_one_name).map(String::as_str).collect();
    let operations = words_after(" Operation for ");
    let tables = words_after("pub struct ").into_iter().filter(|name| name.ends_with("Table") && name != "Table");
    let there: BTreeSet<String> = operations.into_iter().chain(tables).collect();
    // Not sources, but what others hold of one: where one that may be gone is kept, and how whoever keeps its rows sees it.
    let handles = ["WeakTable", "WeakInputTable", "WeakBlinkTable", "FedTable"];
    let is_listed = |name: &str| handles.contains(&name) || known.contains(name);
    let missing: Vec<&String> = there.iter().filter(|name| !is_listed(name)).collect();
    assert!(missing.is_empty(), "not in tests/registry.txt: {missing:?}");
    let gone: Vec<&&str> = known.iter().filter(|name| !there.contains(**name)).collect();
    assert!(gone.is_empty(), "in the registry, but not in the engine: {gone:?}");
}

#[test]
fn every_registered_operation_has_a_spec() {
    let mut named: BTreeSet<String> = listed().into_iter().map(|(name, _)| name).collect();
    named.retain(|name| !name.starts_with('-') && SOURCES.iter().all(|source| source.name != name));
    let specs: BTreeSet<String> = SPECS.iter().map(|spec| spec.name.to_owned()).collect();
    let missing: Vec<&String> = named.difference(&specs).collect();
    assert!(missing.is_empty(), "without a spec: {missing:?}");
}
