//! A client's whole session with a server: any calls with any messages, ended, left open or dropped, while tables change.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use flight::{Access, Options, Server};
use http::Request;
use http_body::Frame;
use hyper::client::conn::http2::SendRequest;
use tonic::body::Body;
use tonic::codec::Streaming;
use tonic::{Code, Status};

use super::exchange::piece;
use super::scope::{self, CALLS_OF_ONE, END, SOON, Scope, chosen, judged};

#[path = "../../crates/flight/tests/wire/mod.rs"]
mod wire;

/// Messages of one call.
const MESSAGES: u8 = 8;
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

/// A call: two bytes choose it, one says how it goes and how many messages it has, which follow with their lengths.
fn called(bytes: &mut &[u8]) -> Option<Called> {
    let (head, rest) = bytes.split_first_chunk::<3>()?;
    *bytes = rest;
    let [low, high, shape] = *head;
    let messages = (0..shape % MESSAGES).map(|_| wire::framed(piece(bytes))).collect();
    Some(Called {
        path: chosen(u16::from_le_bytes([low, high])).0,
        sent: Sent { messages, open: shape & 0x10 != 0 },
        dropped: shape & 0x20 != 0,
        step: shape & 0x40 != 0,
    })
}

/// A server of the scope.
struct World {
    scope: Scope,
    server: Server,
}

impl World {
    fn new() -> World {
        let scope = Scope::new();
        let address = "127.0.0.1:0".parse().expect("an address");
        let (access, limits) = (Access::Anybody, scope::limits());
        let options = Options { address, access, tls: None, limits, origins: Vec::new(), console: None, storage: None };
        let server = Server::start(options, scope.catalog.clone()).expect("a server");
        World { scope, server }
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
            world.scope.step(at);
        }
        let (name, shape) = (path.clone(), (sent.messages.len(), sent.open));
        let mut task = tokio::spawn(ended(client.clone(), path, token.clone(), sent));
        match tokio::time::timeout(SOON, &mut task).await {
            Ok(done) => {
                let (path, code) = done.expect("a client does not panic");
                judged(&path, code);
            }
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
            Ok(done) => {
                let (path, code) = done.expect("a client does not panic");
                judged(&path, code);
            }
            Err(_) => panic!("{name} runs on although its session is closed (messages, open): {shape:?}"),
        }
    }
    world.scope.step(CALLS_OF_ONE);
    login(&mut wire::connect(world.server.address()).await).await;
}

/// A session of these bytes.
pub fn sessions(bytes: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let world = World::new();
    runtime.block_on(session(&world, bytes));
}
