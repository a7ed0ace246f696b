//! What is one table: equal requests over equal inputs, but where the result depends on what came since it was made.

use engine::plan::{
    AsofOptions, Closing, GroupBounds, Keep, Matches, NowOptions, Op, Recent, RowBounds, SessionOptions, Strategy,
    apply,
};
use engine::testing::{Source, Tape, still_graph, table_of};
use engine::{Error, OnError, Table};

use super::{OpSpec, OverBlink, SPECS, draw_one, listed, root};
use crate::stages::Types;

/// Operations that no spec draws: the name of the line, and each over a growing table, a table that changes and a blink
/// table.
type Outside = (&'static str, fn(&Table, &Table, &Table) -> Result<Table, Error>);

const OUTSIDE: &[Outside] = &[
    ("-join_now", |grown, changing, _| {
        let on = vec![("k".to_owned(), "k".to_owned())];
        let options = NowOptions::Natural {
            on,
            joins: Some(Vec::new()),
            suffix: None,
            matches: Matches::Last,
            nulls_equal: false,
        };
        ask(Op::JoinNow(options), &[grown, changing])
    }),
    ("-join_now", |grown, changing, _| {
        let on = ("t".to_owned(), "t".to_owned());
        let options = AsofOptions {
            on,
            by: Vec::new(),
            strategy: Strategy::Backward,
            tolerance: None,
            allow_exact_matches: true,
            joins: Some(Vec::new()),
            suffix: None,
        };
        ask(Op::JoinNow(NowOptions::Asof(options)), &[grown, changing])
    }),
    ("-recent", |grown, _, _| ask(Op::MostRecent { by: vec!["k".into()], recent: Recent::Rows(2) }, &[grown])),
    ("-window", |_, changing, _| {
        ask(Op::TimeWindow { stamp: "t".into(), span: 1_000, flag: "recent".into() }, &[changing])
    }),
    ("-windows", |grown, _, _| {
        let marked = ask(Op::Watermark { stamp: "t".into(), delay: 0, idle_after: None }, &[grown])?;
        let how = SessionOptions { stamp: "t".into(), gap: 1, closing: Closing::default() };
        ask(Op::Session { how, keys: Vec::new(), aggregates: Vec::new(), on_error: OnError::Drop }, &[&marked])
    }),
    ("-taken", |grown, changing, _| {
        let op = Op::SnapshotWhen { stamps: Vec::new(), initial: false, incremental: false, history: false };
        ask(op, &[changing, grown])
    }),
    ("-held", |_, changing, _| ask(Op::HeldRows(RowBounds { max_rows: Some(3), ..RowBounds::default() }), &[changing])),
    ("-held", |grown, _, _| {
        let bounds = GroupBounds { max_groups: Some(3), ..GroupBounds::default() };
        ask(Op::Distinct { keys: vec!["k".into()], keep: Keep::First, bounds }, &[grown])
    }),
    ("-ring", |_, _, blink| ask(Op::Ring { rows: 3 }, &[blink])),
    ("-kept", |_, _, blink| ask(Op::BlinkToAppendOnly, &[blink])),
    ("-blinking", |grown, _, _| ask(Op::AddOnlyToBlink, &[grown])),
];

/// Those that are made by a function of their own, which takes no other for itself.
const OWN: &[&str] = &["-given", "-errors", "-partitioned"];

fn ask(op: Op, inputs: &[&Table]) -> Result<Table, Error> {
    let method = op.method();
    apply(op, method, &inputs.iter().map(|input| (*input).clone()).collect::<Vec<_>>())
}

/// Names of lines of the registry without a law of it, and whether the result depends on what came.
fn outside() -> Vec<(String, bool)> {
    let text = std::fs::read_to_string(root().join("tests/registry.txt")).expect("the registry is there");
    let lines = text.lines().filter(|line| line.starts_with('-'));
    let parts = lines.map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    parts.map(|parts| (parts[0].to_owned(), parts[3].starts_with("path:"))).collect()
}

#[test]
fn what_depends_on_what_came_is_never_shared() {
    let (graph, mut tape) = (still_graph(), Tape::seeded(7));
    let columns = "k:str t:time v:int";
    let mut drawn = |blink: Option<bool>| {
        let spec = table_of(columns);
        let spec = if let Some(remembered) = blink { spec.blink(remembered) } else { spec };
        Source::draw(&graph, &spec, &mut tape).expect("a sound table").0
    };
    let (changing, blink) = (drawn(None), drawn(Some(false)));
    let grown = ask(Op::BlinkToAppendOnly, &[blink.table()]).expect("a growing table");
    let paths = outside();
    for (name, make) in OUTSIDE {
        let made = || make(&grown, changing.table(), blink.table()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let (one, other) = (made(), made());
        let (_, path) = paths.iter().find(|(line, _)| line == name).expect("it is listed");
        assert_eq!(one.same(&other), !path, "{name}: one table of two calls");
    }
    let operations = listed().into_iter().filter(|(name, types)| name.starts_with('-') && !types.is_empty());
    let known = |name: &str| OWN.contains(&name) || OUTSIDE.iter().any(|(line, _)| *line == name);
    let missing: Vec<String> = operations.map(|(name, _)| name).filter(|name| !known(name)).collect();
    assert!(missing.is_empty(), "not among OUTSIDE: {missing:?}");
}

/// What counts rows of a blink table as they come counts from when it is made.
#[test]
fn what_accumulates_is_never_shared() {
    let remembers = |spec: &&OpSpec| matches!(spec.over_blink, OverBlink::Accumulates | OverBlink::Carries);
    for spec in SPECS.iter().filter(remembers) {
        for seed in 0..12 {
            let (graph, mut tape) = (still_graph(), Tape::seeded(seed));
            let types = Types::draw(&mut tape);
            let (stage, _) = draw_one(&mut tape, spec, types);
            let [left, right] = types.specs();
            let (left, _) = Source::draw(&graph, &left.blink(false), &mut tape).expect("a sound table");
            let (right, _) = Source::draw(&graph, &right, &mut tape).expect("a sound table");
            let made = || stage.engine(left.table(), right.table());
            let (Ok(one), Ok(other)) = (made(), made()) else { continue };
            assert!(!one.same(&other), "{}: {stage:?}", spec.name);
        }
    }
}
