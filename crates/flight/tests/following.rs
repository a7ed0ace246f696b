//! Tables followed over sockets while they change: what each client holds is the table of the step that it was told of.

mod exchange;
mod wire;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Field, Schema};
use barrage::{Layout, Metadata, Mirror, Receiver, SubscriptionOptions, SubscriptionRequest, WireSchema, read_schema};
use bytes::Bytes;
use engine::plan::{Op, SortBy, apply};
use engine::sources::KeyedTable;
use engine::{Table, export};
use exchange::Exchange;
use fastrand::Rng;
use flight::limits::Limits;
use flight::{Access, Catalog, Options, Server};
use graph::{Settings, UpdateGraph};
use prost::Message;
use rowset::{Positions, RowSet};
use wire::connect;

const EXCHANGE: &str = "/arrow.flight.protocol.FlightService/DoExchange";
const GET: &str = "/arrow.flight.protocol.FlightService/DoGet";
const STEPS: u64 = 600;

#[derive(Clone, PartialEq, Message)]
struct Ticket {
    #[prost(bytes = "bytes", tag = "1")]
    ticket: Bytes,
}

#[derive(Clone, PartialEq, Message)]
struct FlightData {
    #[prost(bytes = "bytes", tag = "2")]
    data_header: Bytes,
    #[prost(bytes = "bytes", tag = "3")]
    app_metadata: Bytes,
    #[prost(bytes = "bytes", tag = "1000")]
    data_body: Bytes,
}

/// A table at a step.
#[derive(Clone)]
struct Held {
    keys: RowSet,
    cells: RecordBatch,
}

fn held(table: &Table) -> Held {
    let still = table.snapshot().expect("a snapshot");
    let view = still.view().expect("a view");
    let batches = export::batches(&still, &view, true).expect("batches");
    let cells = arrow_select::concat::concat_batches(still.schema(), &batches).expect("one batch");
    Held { keys: view.rows().clone(), cells }
}

/// Each table at each step, from the newest that was taken in on.
type History = Arc<Mutex<BTreeMap<(&'static str, u64), Held>>>;

fn wanted(random: &mut Rng, name: &str, viewport: bool) -> SubscriptionRequest {
    let first = random.u64(..20);
    let viewport = viewport.then(|| Positions(RowSet::range(first, first + random.u64(..15))));
    SubscriptionRequest {
        ticket: format!("s/{name}").into_bytes(),
        columns: None,
        reverse_viewport: viewport.is_some() && random.u64(..2) == 0,
        viewport,
        options: SubscriptionOptions {
            min_update_interval_ms: 1 + random.u64(..20) as i32,
            batch_size: 1 + random.u64(..50) as i32,
            ..SubscriptionOptions::default()
        },
    }
}

fn asked(request: &SubscriptionRequest) -> FlightData {
    let app_metadata = Metadata::Subscription(request.clone()).write().into();
    FlightData { app_metadata, ..FlightData::default() }
}

fn shown(keys: &RowSet, viewport: &Option<(Positions, bool)>) -> RowSet {
    let Some((positions, reverse)) = viewport else { return RowSet::flat(keys.len()) };
    let of = |position: u64| if *reverse { keys.len().checked_sub(1 + position) } else { Some(position) };
    positions.0.iter().take_while(|at| *at < keys.len()).filter_map(of).collect()
}

/// Follows a table until it has been told of the last step; gives how many updates that took.
async fn follow(address: std::net::SocketAddr, name: &'static str, seed: u64, history: History, last: u64) -> u64 {
    let mut random = Rng::with_seed(seed);
    let mut client = connect(address).await;
    let mut windowed = !seed.is_multiple_of(3);
    let request = wanted(&mut random, name, windowed);
    let mut exchange = Exchange::open(&mut client, EXCHANGE, &asked(&request)).await;
    let header = exchange.next().await.expect("a schema").expect("a schema");
    let header = FlightData::decode(&header[..]).expect("a message").data_header;
    let schema = WireSchema::received(&read_schema(&header).expect("a schema"), false).expect("types of the wire");
    let mut receiver = Receiver::new(schema.clone(), Layout::default());
    let mut mirror = Mirror::new(schema.clone(), windowed);
    let (mut viewport, mut updates) = (None, 0);
    loop {
        let message = exchange.next().await.expect("it goes on").expect("it goes on");
        let data = FlightData::decode(&message[..]).expect("a message");
        let body = Buffer::from(&data.data_body[..]);
        let received = receiver.receive(&data.app_metadata, &data.data_header, &body).expect("sound");
        let Some(update) = received else { continue };
        mirror.apply(&update).unwrap_or_else(|error| panic!("{name}, {seed}: {error}: {update:?}"));
        updates += 1;
        let told = &update.metadata;
        if told.is_snapshot {
            viewport = told.effective_viewport.clone().map(|rows| (rows, told.effective_reverse_viewport));
        }
        let step = told.last_seq as u64;
        let mut held = None;
        while held.is_none() {
            held = history.lock().expect("nobody failed").range(..=(name, step)).next_back().map(|found| {
                assert_eq!(found.0.0, name);
                found.1.clone()
            });
            if !history.lock().expect("nobody failed").contains_key(&(name, step)) {
                // The step has settled, and its table is about to be taken in.
                held = None;
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        let held = held.expect("it was found");
        let places = shown(&held.keys, &viewport);
        for at in 0..schema.width() {
            let pieces: Vec<ArrayRef> = places
                .spans()
                .map(|span| held.cells.column(at).slice(span.first as usize, span.len() as usize))
                .collect();
            let pieces: Vec<&dyn arrow_array::Array> = pieces.iter().map(|piece| piece.as_ref()).collect();
            let expected = match pieces.is_empty() {
                true => arrow_array::new_empty_array(schema.schema().field(at).data_type()),
                false => arrow_select::concat::concat(&pieces).expect("one column"),
            };
            let mirrored = mirror.column(at).expect("all columns are sent");
            assert_eq!(mirrored, &expected, "{name}, {seed}: column {at} at step {step}: {told:?}");
        }
        if step >= last {
            return updates;
        }
        if windowed && random.u64(..4) == 0 {
            windowed = random.u64(..20) != 0;
            exchange.say(&asked(&wanted(&mut random, name, windowed)));
        }
    }
}

fn batch(schema: &Arc<Schema>, rows: &[(i64, f64, String)]) -> RecordBatch {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.0))),
        Arc::new(Float64Array::from_iter_values(rows.iter().map(|row| row.1))),
        Arc::new(StringArray::from_iter_values(rows.iter().map(|row| &row.2))),
    ];
    RecordBatch::try_new(schema.clone(), columns).expect("columns of one length")
}

#[test]
fn clients_hold_the_table_of_the_step_that_they_were_told_of() {
    let graph = UpdateGraph::new(Settings::default());
    let schema = Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int64, true),
        Field::new("x", DataType::Float64, true),
        Field::new("s", DataType::Utf8, true),
    ]));
    let source = KeyedTable::new(&graph, schema.clone(), &["id".to_owned()]).expect("a source");
    let plain = source.table().clone();
    let sorted =
        apply(Op::Sort { by: vec![SortBy::ascending("x")] }, "sort", std::slice::from_ref(&plain)).expect("a table");
    let tables = [("plain", plain), ("sorted", sorted)];
    let server = {
        let address = "127.0.0.1:0".parse().expect("an address");
        let options = Options {
            address,
            access: Access::Anybody,
            tls: None,
            limits: Limits::default(),
            origins: Vec::new(),
            console: None,
            storage: None,
        };
        Server::start(options, Arc::new(Catalog::default())).expect("a server")
    };
    for (name, table) in &tables {
        server.catalog().put((*name).to_owned(), table.clone());
    }
    let history = History::default();
    let mut random = Rng::with_seed(3);
    let address = server.address();
    let take_in = |step: u64| {
        let mut history = history.lock().expect("nobody failed");
        tables.iter().for_each(|(name, table)| drop(history.insert((*name, step), held(table))));
    };
    graph.step().expect("a step");
    take_in(graph.settled().number());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let last = graph.settled().number() + STEPS;
    let mut followers = Vec::new();
    for at in 0..STEPS {
        if at % 50 == 0 && at < 450 {
            let name = tables[(at / 50 % 2) as usize].0;
            followers.push(runtime.spawn(follow(address, name, at / 50, history.clone(), last)));
        }
        let ids = 5 + at / 4;
        let count = if at + 1 == STEPS { 1 } else { random.u64(..6) };
        let rows: Vec<(i64, f64, String)> = (0..count)
            .map(|_| {
                (random.u64(..ids.max(1)) as i64, random.u64(..1000) as f64, "text".repeat(random.u64(..4) as usize))
            })
            .collect();
        source.upsert(&batch(&schema, &rows)).expect("it is taken");
        if random.u64(..3) == 0 {
            let keys = batch(&schema, &[(random.u64(..ids.max(1)) as i64, 0.0, String::new())]);
            source.delete(&keys.project(&[0]).expect("the key")).expect("it is taken");
        }
        if at + 1 == STEPS {
            // Whatever was there, the last step changes both tables.
            source.upsert(&batch(&schema, &[(-1, -1.0, "end".to_owned())])).expect("it is taken");
        }
        graph.step().expect("a step");
        take_in(graph.settled().number());
        std::thread::sleep(Duration::from_millis(2));
    }
    assert_eq!(graph.settled().number(), last);
    let mut updates = 0;
    for follower in followers {
        let told = runtime.block_on(async { tokio::time::timeout(Duration::from_secs(60), follower).await });
        updates += told.expect("every client hears of the last step").expect("what it holds is the table");
    }
    assert!(updates > STEPS, "{updates} updates");
}

#[test]
fn a_client_that_is_gone_holds_nothing() {
    let graph = UpdateGraph::new(Settings::default());
    let schema = Arc::new(Schema::new(vec![Field::new("id", DataType::Int64, true)]));
    let source = KeyedTable::new(&graph, schema, &["id".to_owned()]).expect("a source");
    let server = {
        let address = "127.0.0.1:0".parse().expect("an address");
        let options = Options {
            address,
            access: Access::Anybody,
            tls: None,
            limits: Limits::default(),
            origins: Vec::new(),
            console: None,
            storage: None,
        };
        Server::start(options, Arc::new(Catalog::default())).expect("a server")
    };
    let filtered = apply(Op::Head { rows: 10 }, "head", &[source.table().clone()]).expect("a table");
    let weak = filtered.downgrade();
    server.catalog().put("t".to_owned(), filtered);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let mut random = Rng::with_seed(1);
    runtime.block_on(async {
        let mut client = connect(server.address()).await;
        let request = wanted(&mut random, "t", false);
        let mut exchange = Exchange::open(&mut client, EXCHANGE, &asked(&request)).await;
        assert!(exchange.next().await.expect("a schema").is_some());
        assert!(exchange.next().await.expect("rows").is_some());
        drop(server.catalog().take("t"));
        assert!(weak.upgrade().is_some(), "who follows it holds it");
        // Its half is ended, and it hears on.
        exchange.send = None;
        let waits = tokio::time::timeout(Duration::from_millis(50), exchange.next()).await;
        assert!(waits.is_err());
        drop((exchange, client));
        for _ in 0..500 {
            if weak.upgrade().is_none() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the table is held");
    });
}

#[test]
fn a_client_that_reads_nothing_of_its_first_rows_holds_no_step() {
    const ROWS: i64 = 600_000;
    const BLOCK: i64 = 4096;
    let graph = UpdateGraph::new(Settings::default());
    let schema =
        Arc::new(Schema::new(vec![Field::new("id", DataType::Int64, true), Field::new("x", DataType::Float64, true)]));
    let source = KeyedTable::new(&graph, schema.clone(), &["id".to_owned()]).expect("a source");
    let rows = |ids: Vec<i64>, by: f64| {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from(ids.clone())),
            Arc::new(Float64Array::from_iter_values(ids.iter().map(|id| *id as f64 + by))),
        ];
        RecordBatch::try_new(schema.clone(), columns).expect("columns of one length")
    };
    source.upsert(&rows((0..ROWS).collect(), 0.0)).expect("it is taken");
    graph.step().expect("a step");
    let server = {
        let address = "127.0.0.1:0".parse().expect("an address");
        let limits = Limits { patience: Duration::from_millis(100), ..Limits::default() };
        let options = Options {
            address,
            access: Access::Anybody,
            tls: None,
            limits,
            origins: Vec::new(),
            console: None,
            storage: None,
        };
        Server::start(options, Arc::new(Catalog::default())).expect("a server")
    };
    server.catalog().put("t".to_owned(), source.table().clone());
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let (mut client, mut exchange) = runtime.block_on(async {
        let mut client = connect(server.address()).await;
        let options =
            SubscriptionOptions { batch_size: 4096, min_update_interval_ms: 1, ..SubscriptionOptions::default() };
        let request = SubscriptionRequest { ticket: b"s/t".to_vec(), options, ..SubscriptionRequest::default() };
        let exchange = Exchange::open(&mut client, EXCHANGE, &asked(&request)).await;
        (client, exchange)
    });
    let copied = || engine::observe::storage(&graph).blocks_copied();
    // Each change is of another block: one that is held is copied.
    let begin = std::time::Instant::now();
    let (mut changes, mut still) = (0, 0);
    while still < 20 {
        std::thread::sleep(Duration::from_millis(10));
        source.upsert(&rows(vec![changes * BLOCK + changes], 0.5)).expect("it is taken");
        let before = copied();
        graph.step().expect("a step");
        still = if copied() == before { still + 1 } else { 0 };
        changes += 1;
        assert!(changes * BLOCK < ROWS - BLOCK, "the step is held after {:?}", begin.elapsed());
    }
    // It reads on, and has all rows of the step that it was promised, then those of now.
    let (rows, step) = runtime.block_on(async {
        let header = exchange.next().await.expect("a schema").expect("a schema");
        let header = FlightData::decode(&header[..]).expect("a message").data_header;
        let schema = WireSchema::received(&read_schema(&header).expect("a schema"), false).expect("types of the wire");
        let mut receiver = Receiver::new(schema.clone(), Layout::default());
        let mut mirror = Mirror::new(schema, false);
        let last = graph.settled().number() as i64;
        loop {
            let message = exchange.next().await.expect("it goes on").expect("it goes on");
            let data = FlightData::decode(&message[..]).expect("a message");
            let body = Buffer::from(&data.data_body[..]);
            let received = receiver.receive(&data.app_metadata, &data.data_header, &body).expect("sound");
            let Some(update) = received else { continue };
            mirror.apply(&update).expect("it fits");
            if update.metadata.last_seq >= last {
                break (mirror.rows().clone(), update.metadata.last_seq);
            }
        }
    });
    assert_eq!(rows, held(source.table()).keys, "at {step}");
    drop((&mut client, exchange));
}

/// A keyed table of two columns, whose rows change one block at a time.
struct Wide {
    graph: UpdateGraph,
    source: KeyedTable,
    rows: i64,
    changes: i64,
}

impl Wide {
    const BLOCK: i64 = 4096;

    fn of(rows: i64) -> Wide {
        let graph = UpdateGraph::new(Settings::default());
        let fields =
            [("id", DataType::Int64), ("x", DataType::Float64)].map(|(name, kind)| Field::new(name, kind, true));
        let source =
            KeyedTable::new(&graph, Arc::new(Schema::new(fields.to_vec())), &["id".to_owned()]).expect("a source");
        let mut wide = Wide { graph, source, rows, changes: 0 };
        wide.put((0..rows).collect(), 0.0);
        wide
    }

    fn put(&mut self, ids: Vec<i64>, by: f64) {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from(ids.clone())),
            Arc::new(Float64Array::from_iter_values(ids.iter().map(|id| *id as f64 + by))),
        ];
        let rows = RecordBatch::try_new(self.source.table().schema().clone(), columns);
        self.source.upsert(&rows.expect("columns of one length")).expect("it is taken");
        self.graph.step().expect("a step");
    }

    /// Changes another block each step, until none is copied any more: nobody holds the rows of a step.
    fn until_nothing_is_held(&mut self) {
        let copied = |wide: &Wide| engine::observe::storage(&wide.graph).blocks_copied();
        let mut still = 0;
        let (begun, first) = (std::time::Instant::now(), copied(self));
        while still < 20 {
            std::thread::sleep(Duration::from_millis(10));
            let (before, row) = (copied(self), self.changes * Wide::BLOCK + self.changes % Wide::BLOCK);
            assert!(row < self.rows, "a step is held after {:?}", begun.elapsed());
            self.put(vec![row], 0.5);
            still = if copied(self) == before { still + 1 } else { 0 };
            self.changes += 1;
        }
        assert!(copied(self) > first, "no step was held at all");
    }
}

fn serving(limits: Limits, tokens: &[&str]) -> Server {
    let tokens = tokens.iter().map(|token| ((*token).to_owned(), (*token).to_owned())).collect::<Vec<_>>();
    let access = if tokens.is_empty() { Access::Anybody } else { Access::Tokens(tokens) };
    let address = "127.0.0.1:0".parse().expect("an address");
    let options = Options { address, access, tls: None, limits, origins: Vec::new(), console: None, storage: None };
    Server::start(options, Arc::new(Catalog::default())).expect("a server")
}

#[test]
fn a_reader_that_stops_holds_no_step_and_is_owed_what_is_left() {
    const ROWS: i64 = 2_500_000;
    let mut wide = Wide::of(ROWS);
    let ticket = Ticket { ticket: Bytes::from_static(b"s/t") };
    let quick = Duration::from_millis(100);
    // What stops holding: the wait for one message, and the time of all.
    for (patience, hold) in [(quick, Duration::from_secs(300)), (Duration::from_secs(300), quick)] {
        let server = serving(Limits { patience, hold, ..Limits::default() }, &[]);
        server.catalog().put("t".to_owned(), wide.source.table().clone());
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
        let (client, mut reader) = runtime.block_on(async {
            let mut client = connect(server.address()).await;
            let reader = Exchange::ask(&mut client, GET, &ticket).await;
            (client, reader)
        });
        wide.until_nothing_is_held();
        let bytes = runtime.block_on(async {
            let mut bytes = 0;
            while let Some(message) = reader.next().await.expect("it goes on") {
                bytes += FlightData::decode(&message[..]).expect("a message").data_body.len();
            }
            bytes
        });
        assert!(bytes as i64 >= ROWS * 16, "{bytes} bytes");
        drop(client);
    }
    // One that is owed more than its login may hold is told so.
    let server = serving(Limits { patience: quick, login_memory: 1 << 20, ..Limits::default() }, &[]);
    server.catalog().put("t".to_owned(), wide.source.table().clone());
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let (client, mut reader) = runtime.block_on(async {
        let mut client = connect(server.address()).await;
        let reader = Exchange::ask(&mut client, GET, &ticket).await;
        (client, reader)
    });
    wide.until_nothing_is_held();
    let refused = runtime.block_on(async {
        loop {
            match reader.next().await {
                Ok(Some(_)) => {}
                Ok(None) => panic!("it got all rows"),
                Err(status) => return status,
            }
        }
    });
    assert_eq!(refused.code(), tonic::Code::ResourceExhausted);
    assert!(refused.message().starts_with("a login has at most 1048576 bytes"), "{}", refused.message());
    drop(client);
}

#[test]
fn one_login_follows_so_many_tables_and_another_its_own() {
    let wide = Wide::of(10);
    let server = serving(Limits { login_subscriptions: 3, ..Limits::default() }, &["ann", "bob"]);
    server.catalog().put("t".to_owned(), wide.source.table().clone());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let request = SubscriptionRequest { ticket: b"s/t".to_vec(), ..SubscriptionRequest::default() };
        let mut client = connect(server.address()).await;
        let mut followers = Vec::new();
        for _ in 0..3 {
            let mut follower = Exchange::open_as(&mut client, EXCHANGE, "Bearer ann", &asked(&request)).await;
            assert!(follower.next().await.expect("a schema").is_some());
            followers.push(follower);
        }
        let mut refused = Exchange::open_as(&mut client, EXCHANGE, "Bearer ann", &asked(&request)).await;
        let status = refused.next().await.expect_err("there is no room");
        assert_eq!(status.message(), "a login has at most 3 subscriptions, and this one 'ann' has them");
        let mut other = Exchange::open_as(&mut client, EXCHANGE, "Bearer bob", &asked(&request)).await;
        assert!(other.next().await.expect("a schema").is_some());
        followers.pop();
        for _ in 0..500 {
            let mut again = Exchange::open_as(&mut client, EXCHANGE, "Bearer ann", &asked(&request)).await;
            if again.next().await.is_ok() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("there is no room although one is gone");
    });
}
