//! A client's whole session with a server: any calls with any messages, ended, left open or dropped, while tables change.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use engine::sources::AppendTable;
use engine::testing::still_graph;
use flight::limits::Limits;
use flight::{Access, CALLS, Catalog, Options, Server};
use graph::UpdateGraph;
use http::Request;
use http_body::Frame;
use hyper::client::conn::http2::SendRequest;
use tonic::body::Body;
use tonic::codec::Streaming;
use tonic::{Code, Status};

use super::exchange::piece;

#[path = "../../crates/flight/tests/wire/mod.rs"]
mod wire;

/// Calls of one session.
const CALLS_OF_ONE: usize = 16;
/// Messages of one call.
const MESSAGES: u8 = 8;
/// A call that answers later does so beside the next ones.
const SOON: Duration = Duration::from_millis(20);
/// Longer than this no call of a closed session runs.
const END: Duration = Duration::from_secs(8);
const CONSTANTS: &str = "/io.deephaven.proto.backplane.grpc.ConfigService/GetConfigurationConstants";
const CLOSE: &str = "/io.deephaven.proto.backplane.grpc.SessionService/CloseSession";

/// What a client is told when it closes its session.
#[derive(Clone, PartialEq, prost::Message)]
struct Closing {
    #[prost(bytes = "bytes", tag = "2")]
    payload: Bytes,
}

/// The messages of a call; behind the last it ends, or stays open.
struct Sent {
    messages: VecDeque<Bytes>,
    open: bool,
}

impl http_body::Body for Sent {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match self.messages.pop_front() {
            Some(message) => Poll::Ready(Some(Ok(Frame::data(message)))),
            None if self.open => Poll::Pending,
            None => Poll::Ready(None),
        }
    }
}

/// One call of a case.
struct Called {
    path: String,
    sent: Sent,
    /// The client goes away from it.
    dropped: bool,
    /// A row comes before it, and a step is made.
    step: bool,
}

fn hash(bytes: &[u8]) -> u16 {
    let hash = bytes.iter().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    (hash >> 16) as u16 ^ hash as u16
}

/// The call whose hash is this one, or the next: a call that is added later moves few others.
fn path(wanted: u16) -> String {
    let paths = CALLS.iter().map(|(service, method, ..)| format!("/{service}/{method}"));
    paths.min_by_key(|path| hash(path.as_bytes()).wrapping_sub(wanted)).expect("there are calls")
}

/// A call: two bytes choose it, one says how it goes and how many messages it has, which follow with their lengths.
fn called(bytes: &mut &[u8]) -> Option<Called> {
    let (head, rest) = bytes.split_first_chunk::<3>()?;
    *bytes = rest;
    let [low, high, shape] = *head;
    let messages = (0..shape % MESSAGES).map(|_| wire::framed(piece(bytes))).collect();
    Some(Called {
        path: path(u16::from_le_bytes([low, high])),
        sent: Sent { messages, open: shape & 0x10 != 0 },
        dropped: shape & 0x20 != 0,
        step: shape & 0x40 != 0,
    })
}

fn schema() -> Arc<Schema> {
    Arc::new(Schema::new(vec![
        Field::new("sym", DataType::Utf8, true),
        Field::new("px", DataType::Float64, true),
        Field::new("size", DataType::Int64, true),
    ]))
}

fn rows(first: i64, count: i64) -> RecordBatch {
    let syms: StringArray = (first..first + count).map(|row| Some(["A", "B", "C"][row as usize % 3])).collect();
    let prices: Float64Array = (first..first + count).map(|row| (row % 7 != 0).then_some(row as f64 / 4.0)).collect();
    let sizes: Int64Array = (first..first + count).map(Some).collect();
    let columns: Vec<ArrayRef> = vec![Arc::new(syms), Arc::new(prices), Arc::new(sizes)];
    RecordBatch::try_new(schema(), columns).expect("a batch")
}

/// A server with a table that is fixed and one that grows.
struct World {
    graph: UpdateGraph,
    trades: AppendTable,
    server: Server,
}

impl World {
    fn new() -> World {
        let graph = still_graph();
        let trades = AppendTable::new(&graph, schema()).expect("a table");
        trades.append(&rows(0, 10)).expect("rows");
        graph.step().expect("a step");
        let of_clients = graph.clone();
        let catalog = Arc::new(Catalog::default().with_graph(Arc::new(move || Ok(of_clients.clone()))));
        let columns = rows(0, 20).columns().iter().map(|column| vec![column.clone()]).collect();
        let fixed = engine::sources::from_chunks(schema(), columns, 20).expect("a table");
        catalog.put("quotes".to_owned(), fixed);
        catalog.put("trades".to_owned(), trades.table().clone());
        let address = "127.0.0.1:0".parse().expect("an address");
        let limits = Limits { exports: 64, upload: 1 << 20, login_memory: 16 << 20, ..Limits::default() };
        let options =
            Options { address, access: Access::Anybody, tls: None, limits, origins: Vec::new(), console: None };
        let server = Server::start(options, catalog).expect("a server");
        World { graph, trades, server }
    }

    fn step(&self, at: usize) {
        self.trades.append(&rows(at as i64, 3)).expect("rows");
        self.graph.step().expect("a step");
    }
}

/// How a call ended; what it gave is read and let go.
async fn ended(mut client: SendRequest<Body>, path: String, token: String, sent: Sent) -> (String, Code) {
    let request = Request::post(format!("http://tickframe{path}"))
        .header("content-type", "application/grpc")
        .header("authorization", token)
        .body(Body::new(sent))
        .expect("a request");
    // A connection that ended has ended its calls.
    let Ok(response) = client.send_request(request).await else { return (path, Code::Cancelled) };
    let (parts, body) = response.into_parts();
    if let Some(status) = Status::from_header_map(&parts.headers) {
        return (path, status.code());
    }
    let mut messages = Streaming::new_response(wire::Whole, body, parts.status, None, None);
    loop {
        match messages.message().await {
            Ok(Some(_)) => {}
            Ok(None) => return (path, Code::Ok),
            Err(status) => return (path, status.code()),
        }
    }
}

/// The token of a new session.
async fn login(client: &mut SendRequest<Body>) -> String {
    let request = Request::post(format!("http://tickframe{CONSTANTS}"))
        .header("content-type", "application/grpc")
        .header("authorization", "Anonymous")
        .body(Body::new(Sent { messages: [wire::framed(&[])].into(), open: false }))
        .expect("a request");
    let response = client.send_request(request).await.expect("the server answers");
    let token = response.headers().get("authorization").expect("the answer has the session's token");
    token.to_str().expect("text").to_owned()
}

async fn session(world: &World, mut bytes: &[u8]) {
    let mut client = wire::connect(world.server.address()).await;
    let token = login(&mut client).await;
    let mut running = Vec::new();
    for at in 0..CALLS_OF_ONE {
        let Some(Called { path, sent, dropped, step }) = called(&mut bytes) else { break };
        if step {
            world.step(at);
        }
        let (name, shape) = (path.clone(), (sent.messages.len(), sent.open));
        let mut task = tokio::spawn(ended(client.clone(), path, token.clone(), sent));
        match tokio::time::timeout(SOON, &mut task).await {
            Ok(done) => judged(done.expect("a client does not panic")),
            Err(_) if dropped => task.abort(),
            Err(_) => running.push((name, shape, task)),
        }
    }
    // What waits for something that never comes ends with its session.
    let closing = prost::Message::encode_to_vec(&Closing { payload: token.clone().into() });
    let sent = Sent { messages: [wire::framed(&closing)].into(), open: false };
    running.push((CLOSE.to_owned(), (1, false), tokio::spawn(ended(client.clone(), CLOSE.to_owned(), token, sent))));
    for (name, shape, task) in running {
        match tokio::time::timeout(END, task).await {
            Ok(done) => judged(done.expect("a client does not panic")),
            Err(_) => panic!("{name} runs on although its session is closed (messages, open): {shape:?}"),
        }
    }
    world.step(CALLS_OF_ONE);
    login(&mut wire::connect(world.server.address()).await).await;
}

/// A call ends well or says what is wrong with it; that something of the server broke is no answer.
fn judged((path, code): (String, Code)) {
    assert!(!matches!(code, Code::Internal | Code::Unknown), "{path} ended with {code:?}");
}

/// A session of these bytes.
pub fn sessions(bytes: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let world = World::new();
    runtime.block_on(session(&world, bytes));
}
