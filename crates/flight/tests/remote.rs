//! Tables of a server that are tables here: at each step that they tell of they are what is served, also across servers that
//! end and begin again, and what depends on them sees differences alone.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, UInt8Array};
use arrow_schema::{DataType, Field, Schema};
use engine::plan::{Op, SortBy, apply};
use engine::sources::{BlinkTable, KeyedTable};
use engine::{Failure, Listener, Table, UpdateEvent, export};
use fastrand::Rng;
use flight::limits::Limits;
use flight::{Access, Catalog, Options, Part, Remote, RemoteError, RemoteOptions, Server, Viewport};
use graph::{Settings, UpdateGraph};
use rowset::RowSet;

const STEPS: u64 = 400;
/// What a machine that hangs may take.
const LONG: Duration = Duration::from_secs(60);

fn served(port: u16, tables: &[(&str, Table)]) -> Server {
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
    let begin = Instant::now();
    loop {
        let options = Options {
            address,
            access: Access::Tokens(vec![(String::new(), "word".to_owned())]),
            tls: None,
            limits: Limits::default(),
            origins: Vec::new(),
            console: None,
            storage: None,
        };
        match Server::start(options, Arc::new(Catalog::default())) {
            Ok(server) => {
                for (name, table) in tables {
                    drop(server.catalog().put((*name).to_owned(), table.clone()));
                }
                return server;
            }
            // The port of a server that was stopped is held a little longer.
            Err(error) => assert!(begin.elapsed() < LONG, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn connected(server: &Server, graph: &UpdateGraph) -> Remote {
    connection(server.address().port(), Some("word"), graph).expect("a connection")
}

fn connection(port: u16, token: Option<&str>, graph: &UpdateGraph) -> Result<Remote, RemoteError> {
    let (host, token) = ("127.0.0.1".to_owned(), token.map(str::to_owned));
    Remote::connect(RemoteOptions { host, port, token, trust: None, graph: graph.clone() })
}

/// Row keys and cells.
fn held(table: &Table) -> (RowSet, RecordBatch) {
    let still = table.snapshot().expect("a snapshot");
    let view = still.view().expect("a view");
    let batches = export::batches(&still, &view, true).expect("batches");
    (view.rows().clone(), arrow_select::concat::concat_batches(still.schema(), &batches).expect("one batch"))
}

fn schema() -> Arc<Schema> {
    let fields = [("id", DataType::Int64), ("x", DataType::Float64), ("s", DataType::Utf8), ("u", DataType::UInt8)];
    Arc::new(Schema::new(fields.map(|(name, of)| Field::new(name, of, true)).to_vec()))
}

fn rows(of: &[(i64, f64, u8)]) -> RecordBatch {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(of.iter().map(|row| row.0))),
        Arc::new(Float64Array::from_iter_values(of.iter().map(|row| row.1))),
        Arc::new(StringArray::from_iter_values(of.iter().map(|row| "s".repeat(row.2 as usize % 5)))),
        Arc::new(UInt8Array::from_iter(of.iter().map(|row| (row.2 % 7 != 0).then_some(row.2)))),
    ];
    RecordBatch::try_new(schema(), columns).expect("columns of one length")
}

/// Counts rows that come, go and change.
#[derive(Default)]
struct Touched(Mutex<u64>);

struct TouchListener(Arc<Touched>);

impl Listener for TouchListener {
    fn on_update(&self, event: Arc<UpdateEvent>) {
        let update = event.update();
        *self.0.0.lock().expect("nobody failed") += update.added.len() + update.removed.0.len() + update.modified.len();
    }

    fn on_failure(&self, failure: Arc<Failure>) {
        panic!("{failure}");
    }
}

fn step_of(remote: &Remote, name: &str) -> Option<i64> {
    let states = remote.states();
    states.into_iter().find(|(known, _)| known == name).and_then(|(_, state)| state.step.filter(|_| state.connected))
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !done() {
        assert!(begin.elapsed() < LONG, "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn sorted(of: &Table) -> Table {
    apply(Op::Sort { by: vec![SortBy::ascending("x")] }, "sort", std::slice::from_ref(of)).expect("a table")
}

/// Viewports that are followed: what they are called, of which table, the first and last place, and whether from the end.
const VIEWS: [(&str, &str, u64, u64, bool); 4] = [
    ("sorted[2:7]", "sorted", 2, 6, false),
    ("sorted[-4:]", "sorted", 0, 3, true),
    ("plain[0:1000]", "plain", 0, 999, false),
    ("plain[-9:-3]", "plain", 3, 8, true),
];

#[test]
fn remote_tables_are_those_that_are_served_at_each_step_they_tell_of() {
    let (there, here) = (UpdateGraph::new(Settings::default()), UpdateGraph::new(Settings::default()));
    let source = KeyedTable::new(&there, schema(), &["id".to_owned()]).expect("a source");
    let plain = source.table().clone();
    let mut in_order = sorted(&plain);
    let mut server = served(0, &[("plain", plain.clone()), ("sorted", in_order.clone())]);
    let port = server.address().port();
    let remote = connected(&server, &here);
    assert_eq!(remote.names().expect("names"), ["plain", "sorted"]);
    let names = ["plain", "sorted"];
    let tables = names.map(|name| remote.table(name, Part::default(), LONG).expect("a table"));
    assert!(tables[0].same(&remote.table("plain", Part::default(), LONG).expect("the same")));
    let some = remote
        .table("plain", Part { columns: Some(vec!["u".to_owned(), "id".to_owned()]), viewport: None }, LONG)
        .expect("two columns");
    let views = VIEWS.map(|(_, name, first, last, from_end)| {
        let part = Part { columns: None, viewport: Viewport::new(first, last, from_end) };
        remote.table(name, part, LONG).expect("a viewport")
    });
    let touched = Arc::new(Touched::default());
    let listening = tables.each_ref().map(|table| table.subscribe(Arc::new(TouchListener(touched.clone())), true));
    let mut history: BTreeMap<(&str, i64), (RowSet, RecordBatch)> = BTreeMap::new();
    let begin = there.settled().number() as i64;
    for (name, table) in names.iter().zip([&plain, &in_order]) {
        history.insert((name, begin), held(table));
    }
    let mut random = Rng::with_seed(11);
    let mut restarts = 0;
    let (mut compared, mut viewed) = (0, 0);
    for at in 0..STEPS {
        let ids = 5 + at / 3;
        let of: Vec<(i64, f64, u8)> = (0..random.u64(..6))
            .map(|_| (random.u64(..ids.max(1)) as i64, random.u64(..50) as f64, random.u64(..256) as u8))
            .collect();
        source.upsert(&rows(&of)).expect("it is taken");
        if random.u64(..3) == 0 {
            let key = rows(&[(random.u64(..ids.max(1)) as i64, 0.0, 0)]).project(&[0]).expect("the key");
            source.delete(&key).expect("it is taken");
        }
        there.step().expect("a step");
        let step = there.settled().number() as i64;
        for (name, table) in names.iter().zip([&plain, &in_order]) {
            history.insert((name, step), held(table));
        }
        if random.u64(..25) == 0 {
            // The server ends, and another begins, with the same tables or with one made anew.
            drop(server);
            if random.u64(..2) == 0 {
                in_order = sorted(&plain);
                history.insert(("sorted", step), held(&in_order));
            }
            server = served(port, &[("plain", plain.clone()), ("sorted", in_order.clone())]);
            restarts += 1;
            until("the tables come back", || {
                // Fresh rows are compared with those held when all that came before is visible.
                here.step().expect("a step");
                names.iter().all(|name| step_of(&remote, name) == Some(step))
            });
        }
        if random.u64(..4) == 0 {
            until("updates come", || {
                names
                    .iter()
                    .zip([&plain, &in_order])
                    .all(|(name, table)| step_of(&remote, name).is_some_and(|known| known >= table.last_step() as i64))
            });
        }
        // What was told before the step is in it; what came meanwhile may be.
        let before = names.map(|name| step_of(&remote, name));
        let seen = VIEWS.map(|(view, ..)| step_of(&remote, view));
        here.step().expect("a step");
        let after = names.map(|name| step_of(&remote, name));
        let still = VIEWS.map(|(view, ..)| step_of(&remote, view));
        for (at, (view, name, first, last, from_end)) in VIEWS.iter().enumerate() {
            let Some(step) = seen[at].filter(|_| seen[at] == still[at]) else { continue };
            let wanted = history.range(..=(*name, step)).next_back().expect("a step that was taken in");
            let all = &wanted.1.1;
            let (first, end) = (all.num_rows().min(*first as usize), all.num_rows().min(*last as usize + 1));
            let begin = if *from_end { all.num_rows() - end } else { first };
            let (keys, cells) = held(&views[at]);
            assert_eq!(cells, all.slice(begin, end - first), "{view} at {step}");
            assert_eq!(keys, RowSet::flat((end - first) as u64));
            viewed += 1;
        }
        for (at, table) in tables.iter().enumerate() {
            let Some(step) = before[at].filter(|_| before[at] == after[at]) else { continue };
            let wanted = history.range(..=(names[at], step)).next_back().expect("a step that was taken in");
            assert_eq!(wanted.0.0, names[at]);
            let (keys, cells) = held(table);
            assert_eq!(cells, wanted.1.1, "{} at {step}", names[at]);
            if names[at] == "plain" {
                assert_eq!(keys, wanted.1.0);
            }
            compared += 1;
        }
    }
    assert!(restarts >= 5 && compared > STEPS, "{restarts} restarts, {compared} comparisons");
    assert!(viewed > STEPS, "{viewed} comparisons of viewports");
    until("the last update comes", || step_of(&remote, "plain").is_some_and(|known| known >= plain.last_step() as i64));
    here.step().expect("a step");
    let (_, all) = held(&tables[0]);
    assert_eq!(held(&some).1, all.project(&[3, 0]).expect("two columns"));
    // Nothing changes while the server is away: nothing is touched when it is back, whatever keys its rows have.
    let before = *touched.0.lock().expect("nobody failed");
    let snapshots = || remote.states().iter().map(|(_, state)| state.snapshots).sum::<u64>();
    let seen = snapshots();
    drop(server);
    let again = sorted(&plain);
    let server = served(port, &[("plain", plain.clone()), ("sorted", again.clone())]);
    until("the tables come back", || {
        here.step().expect("a step");
        snapshots() >= seen + 3 + VIEWS.len() as u64 && remote.states().iter().all(|(_, state)| state.connected)
    });
    here.step().expect("a step");
    here.step().expect("a step");
    assert_eq!(*touched.0.lock().expect("nobody failed"), before);
    assert_eq!(held(&tables[1]).1, held(&again).1);
    drop((listening, server));
}

#[test]
fn a_table_that_nobody_has_is_followed_no_longer() {
    let (there, here) = (UpdateGraph::new(Settings::default()), UpdateGraph::new(Settings::default()));
    let source = KeyedTable::new(&there, schema(), &["id".to_owned()]).expect("a source");
    let head = apply(Op::Head { rows: 3 }, "head", std::slice::from_ref(source.table())).expect("a table");
    let weak = head.downgrade();
    let server = served(0, &[("head", head)]);
    let remote = connected(&server, &here);
    let table = remote.table("head", Part::default(), LONG).expect("a table");
    let derived = apply(Op::Reverse, "reverse", std::slice::from_ref(&table)).expect("a table");
    drop(table);
    drop(server.catalog().take("head"));
    source.upsert(&rows(&[(1, 1.0, 1)])).expect("it is taken");
    there.step().expect("a step");
    until("what stands on it keeps it", || {
        here.step().expect("a step");
        held(&derived).0.len() == 1
    });
    drop(derived);
    until("the server lets go of it", || {
        here.step().expect("a step");
        weak.upgrade().is_none()
    });
    assert!(remote.states().is_empty());
}

#[test]
fn rows_of_blink_tables_come_once() {
    let (there, here) = (UpdateGraph::new(Settings::default()), UpdateGraph::new(Settings::default()));
    let source = BlinkTable::new(&there, schema()).expect("a source");
    let server = served(0, &[("blink", source.table().clone())]);
    let remote = connected(&server, &here);
    let table = remote.table("blink", Part::default(), LONG).expect("a table");
    assert!(table.attributes().blink);
    let mut seen = Vec::new();
    for at in 0..5 {
        source.append(&rows(&[(at, 0.5, 1), (at + 100, 0.5, 2)])).expect("it is taken");
        there.step().expect("a step");
        until("rows come", || {
            here.step().expect("a step");
            let (_, cells) = held(&table);
            let ids = cells.column(0).as_any().downcast_ref::<Int64Array>().expect("numbers").values().to_vec();
            seen.extend(ids);
            seen.len() as i64 == 2 * (at + 1)
        });
    }
    assert_eq!(seen, [0, 100, 1, 101, 2, 102, 3, 103, 4, 104]);
    here.step().expect("a step");
    assert!(held(&table).0.is_empty());
}

#[test]
fn what_goes_wrong_is_said_and_fails_the_table_if_it_stays_wrong() {
    let (there, here) = (UpdateGraph::new(Settings::default()), UpdateGraph::new(Settings::default()));
    let source = KeyedTable::new(&there, schema(), &["id".to_owned()]).expect("a source");
    let server = served(0, &[("t", source.table().clone())]);
    let port = server.address().port();
    assert!(matches!(connection(port, Some("wrong"), &here), Err(RemoteError::Refused { .. })));
    assert!(matches!(connection(port, None, &here), Err(RemoteError::Refused { .. })));
    let remote = connected(&server, &here);
    assert!(matches!(remote.table("nothing", Part::default(), LONG), Err(RemoteError::Missing { .. })));
    let column = Some(vec!["nothing".to_owned()]);
    let refused = remote
        .table("t", Part { columns: column, viewport: None }, LONG)
        .err()
        .expect("there is no such column")
        .to_string();
    assert!(refused.contains("nothing") && refused.contains("id"), "{refused}");
    let table = remote.table("t", Part::default(), LONG).expect("a table");
    // While the server is gone the table stays as it is, and says why it does not change.
    drop(server);
    until("the loss is seen", || remote.states().iter().all(|(_, state)| !state.connected && state.trouble.is_some()));
    here.step().expect("a step");
    assert!(table.failure().is_none());
    assert!(matches!(remote.table("other", Part::default(), LONG), Err(RemoteError::Lost { .. })));
    // Another table under its name is not it.
    let narrow = apply(Op::Drop { names: vec!["u".to_owned()] }, "drop", std::slice::from_ref(source.table()));
    let server = served(port, &[("t", narrow.expect("a table"))]);
    until("the table fails", || {
        here.step().expect("a step");
        table.failure().is_some()
    });
    let failure = table.failure().expect("it failed").to_string();
    assert!(failure.contains("other columns than it had"), "{failure}");
    remote.close();
    assert!(matches!(remote.names(), Err(RemoteError::Closed { .. })));
    drop(server);
}

#[test]
fn a_server_that_says_nothing_delays_nobody() {
    let here = UpdateGraph::new(Settings::default());
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = silent.local_addr().expect("an address").port();
    let connecting = std::thread::spawn({
        let here = here.clone();
        move || connection(port, None, &here).err().map(|error| error.to_string())
    });
    for _ in 0..100 {
        here.step().expect("a step");
    }
    let told = connecting.join().expect("it ends").expect("it says nothing");
    assert!(told.contains("answer"), "{told}");
}
