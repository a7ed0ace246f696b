//! Clients that mean no good, or are broken: others are served all the same, and nothing is held for ever.

mod exchange;
mod wire;

use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, Int64Array};
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use fastrand::Rng;
use flight::limits::Limits;
use flight::{Access, CALLS, Catalog, Interpreter, Options, Ran, Script, Server};
use http::Request;
use http_body::Frame;
use hyper::client::conn::http2::SendRequest;
use tonic::body::Body;
use tonic::codec::Streaming;
use tonic::{Code, Status};
use wire::{Whole, connect, framed};

const CONSTANTS: &str = "/io.deephaven.proto.backplane.grpc.ConfigService/GetConfigurationConstants";
const FLIGHTS: &str = "/arrow.flight.protocol.FlightService/ListFlights";

/// A message of nothing.
#[derive(Clone, PartialEq, prost::Message)]
struct Nothing {}

/// A request that never ends.
struct Open;

impl http_body::Body for Open {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Poll::Pending
    }
}

fn server(limits: Limits) -> Server {
    server_with(limits, None)
}

fn server_with(limits: Limits, console: Option<Arc<dyn Interpreter>>) -> Server {
    let address = "127.0.0.1:0".parse().expect("an address");
    Server::start(
        Options { address, access: Access::Anybody, tls: None, limits, origins: Vec::new(), console, storage: None },
        Arc::new(Catalog::default()),
    )
    .expect("a server")
}

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(test);
}

/// How a call of these bytes ends; None if it runs still.
async fn call(client: &mut SendRequest<Body>, path: &str, body: Bytes) -> Option<Code> {
    let request = Request::post(format!("http://tickframe{path}")).header("content-type", "application/grpc");
    let request = request.body(Body::new(http_body_util::Full::new(body))).expect("a request");
    let wait = Duration::from_millis(200);
    let response = tokio::time::timeout(wait, client.send_request(request)).await.ok()?.expect("an answer");
    let (parts, body) = response.into_parts();
    if let Some(status) = Status::from_header_map(&parts.headers) {
        return Some(status.code());
    }
    let mut messages = Streaming::new_response(Whole, body, parts.status, None, None);
    loop {
        match tokio::time::timeout(wait, messages.message()).await.ok()? {
            Ok(Some(_)) => {}
            Ok(None) => return Some(Code::Ok),
            Err(status) => return Some(status.code()),
        }
    }
}

async fn is_served(address: SocketAddr) {
    let mut client = connect(address).await;
    assert_eq!(call(&mut client, CONSTANTS, framed(&[])).await, Some(Code::Ok));
}

/// Whether the server hangs up within this time.
fn is_closed(stream: &mut TcpStream, within: Duration) -> bool {
    stream.set_read_timeout(Some(within)).expect("a timeout");
    let mut bytes = [0; 1024];
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return true,
            Ok(_) => {}
            Err(error) => return error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}

#[test]
fn who_says_nothing_is_hung_up_on() {
    let limits = Limits { handshake: Duration::from_millis(300), ..Limits::default() };
    let server = server(limits);
    let mut silent = TcpStream::connect(server.address()).expect("a connection");
    let mut half = TcpStream::connect(server.address()).expect("a connection");
    half.write_all(b"PRI * HTT").expect("it is sent");
    let mut other = TcpStream::connect(server.address()).expect("a connection");
    other.write_all(b"GET / HTTP/1.1\r\nhost: tickframe\r\n\r\n").expect("it is sent");
    for stream in [&mut other, &mut half, &mut silent] {
        assert!(is_closed(stream, Duration::from_secs(5)));
    }
    run(is_served(server.address()));
}

#[test]
fn connections_beyond_the_limit_are_hung_up_on_and_others_stay() {
    let limits = Limits { connections: 50, handshake: Duration::from_secs(2), ..Limits::default() };
    let server = server(limits);
    run(async {
        let mut first = connect(server.address()).await;
        let mut rest: Vec<TcpStream> =
            (0..200).map(|_| TcpStream::connect(server.address()).expect("a connection")).collect();
        assert!(is_closed(&mut rest[199], Duration::from_millis(500)));
        assert_eq!(call(&mut first, CONSTANTS, framed(&[])).await, Some(Code::Ok));
        // The silent ones are gone after a while, and there is room again.
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(3) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        is_served(server.address()).await;
        drop(rest);
    });
}

#[test]
fn a_message_of_many_parts_is_refused_before_they_are_read() {
    let server = server(Limits::default());
    run(async {
        let mut client = connect(server.address()).await;
        let parts = [0x0a, 0].repeat(1 << 19);
        for (path, message) in [
            ("/io.deephaven.proto.backplane.grpc.TableService/Batch", parts.clone()),
            ("/io.deephaven.proto.backplane.grpc.TableService/Aggregate", field(3, &parts)),
            ("/arrow.flight.protocol.FlightService/GetFlightInfo", parts.clone()),
        ] {
            let ended = call(&mut client, path, framed(&message)).await;
            assert_eq!(ended, Some(Code::ResourceExhausted), "{path}");
        }
        is_served(server.address()).await;
    });
}

#[test]
fn headers_and_messages_have_an_end() {
    let server = server(Limits { control_message: 1000, ..Limits::default() });
    run(async {
        let mut client = connect(server.address()).await;
        assert_eq!(call(&mut client, FLIGHTS, framed(&[0; 2000])).await, Some(Code::OutOfRange));
        // A length that is never sent.
        let mut lying = vec![0];
        lying.extend(u32::MAX.to_be_bytes());
        assert_eq!(call(&mut client, FLIGHTS, lying.into()).await, Some(Code::OutOfRange));
        // A message that is said to be compressed, and one that is cut short.
        assert!(
            call(&mut client, FLIGHTS, Bytes::from_static(&[1, 0, 0, 0, 0])).await.is_some_and(|code| code != Code::Ok)
        );
        let cut = call(&mut client, FLIGHTS, Bytes::from_static(&[0, 0, 0, 0, 9, 1])).await;
        assert!(cut.is_some_and(|code| code != Code::Ok), "{cut:?}");
        // Two messages where one is wanted.
        let two = [framed(&[]), framed(&[])].concat();
        assert_eq!(call(&mut client, CONSTANTS, two.into()).await, Some(Code::InvalidArgument));
        let long = "x".repeat(100_000);
        let request = Request::post(format!("http://tickframe{CONSTANTS}")).header("content-type", "application/grpc");
        let request = request.header("x-long", long).body(Body::empty()).expect("a request");
        let refused = client.send_request(request).await;
        assert!(refused.is_err() || refused.is_ok_and(|response| response.status() == 431));
        is_served(server.address()).await;
    });
}

#[test]
fn a_call_that_is_never_finished_ends() {
    let server = server(Limits { unary: Duration::from_millis(200), ..Limits::default() });
    run(async {
        let mut client = connect(server.address()).await;
        let nothing = Nothing::default();
        let mut open =
            exchange::Exchange::open(&mut client, "/arrow.flight.protocol.FlightService/DoExchange", &nothing).await;
        // An exchange may wait for what it asks as long as `request` says; a call of one answer ends with `unary`.
        let request = Request::post(format!("http://tickframe{CONSTANTS}")).header("content-type", "application/grpc");
        let request = request.body(Body::new(Open)).expect("a request");
        let answered = tokio::time::timeout(Duration::from_secs(5), client.send_request(request)).await;
        let response = answered.expect("the server ends it").expect("an answer");
        let status = Status::from_header_map(response.headers()).expect("a status");
        assert_eq!(status.code(), Code::DeadlineExceeded);
        let waits = tokio::time::timeout(Duration::from_millis(50), open.next()).await;
        assert!(waits.is_err());
        open.say(&nothing);
        let ended = tokio::time::timeout(Duration::from_secs(5), open.next()).await.expect("it is told");
        assert_eq!(ended.map_err(|status| status.code()), Err(Code::InvalidArgument));
        is_served(server.address()).await;
    });
}

#[test]
fn who_does_not_say_what_it_asks_is_not_waited_for() {
    let server = server(Limits { request: Duration::from_millis(100), ..Limits::default() });
    run(async {
        let mut client = connect(server.address()).await;
        let nothing = Nothing::default();
        let mut exchange =
            exchange::Exchange::open(&mut client, "/arrow.flight.protocol.FlightService/DoExchange", &nothing).await;
        let ended = tokio::time::timeout(Duration::from_secs(5), exchange.next()).await.expect("the server ends it");
        assert_eq!(ended.map_err(|status| status.code()), Err(Code::DeadlineExceeded));
        for path in [FLIGHTS, CONSTANTS, "/io.deephaven.proto.backplane.grpc.TableService/Batch"] {
            let request = Request::post(format!("http://tickframe{path}")).header("content-type", "application/grpc");
            let request = request.body(Body::new(Open)).expect("a request");
            let answered = tokio::time::timeout(Duration::from_secs(5), client.send_request(request)).await;
            let response = answered.expect("the server ends it").expect("an answer");
            let status = Status::from_header_map(response.headers()).expect("a status");
            assert_eq!((status.code(), status.message()), (Code::DeadlineExceeded, "the request did not come"));
        }
        is_served(server.address()).await;
    });
}

/// Runs scripts that end when they are told to; one of no text ends by itself.
#[derive(Default)]
struct Endless {
    told: Mutex<HashSet<u64>>,
    changed: Condvar,
}

impl Interpreter for Endless {
    fn language(&self) -> &'static str {
        "endless"
    }

    fn run(&self, script: Script) -> Ran {
        let mut told = self.told.lock().expect("nothing fails");
        while !script.code.is_empty() && !told.contains(&script.number) {
            told = self.changed.wait(told).expect("nothing fails");
        }
        Ran::default()
    }

    fn interrupt(&self, number: u64) {
        self.told.lock().expect("nothing fails").insert(number);
        self.changed.notify_all();
    }
}

#[test]
fn a_script_ends_when_its_time_is_over() {
    let interpreter = Arc::new(Endless::default());
    let limits = Limits { script: Duration::from_millis(150), ..Limits::default() };
    let server = server_with(limits, Some(interpreter.clone()));
    run(async {
        let mut client = connect(server.address()).await;
        let console = field(1, &[b"e".as_slice(), &1_i32.to_le_bytes()].concat());
        let begun = [field(1, &console), field(2, b"endless")].concat();
        let service = "/io.deephaven.proto.backplane.script.grpc.ConsoleService";
        let started = call(&mut client, &format!("{service}/StartConsole"), framed(&begun)).await;
        assert_eq!(started, Some(Code::Ok));
        let execute = |code: &[u8]| framed(&[field(1, &console), field(3, code)].concat());
        let path = format!("{service}/ExecuteCommand");
        let request = Request::post(format!("http://tickframe{path}")).header("content-type", "application/grpc");
        let request = request.body(Body::new(http_body_util::Full::new(execute(b"for ever")))).expect("a request");
        let answered = tokio::time::timeout(Duration::from_secs(5), client.send_request(request)).await;
        let response = answered.expect("the server ends it").expect("an answer");
        let status = Status::from_header_map(response.headers()).expect("a status");
        assert_eq!(status.code(), Code::DeadlineExceeded);
        // It was told to end, and the next one has its turn.
        let mut next = None;
        for _ in 0..50 {
            next = call(&mut client, &path, execute(b"")).await;
            if next == Some(Code::Ok) {
                break;
            }
        }
        assert_eq!(next, Some(Code::Ok));
        assert_eq!(interpreter.told.lock().expect("nothing fails").len(), 1);
    });
}

#[test]
fn an_upload_is_as_long_as_the_limit_and_no_longer() {
    const UPLOAD_BYTES: usize = 1000;
    let server = server(Limits { upload: UPLOAD_BYTES as u64, ..Limits::default() });
    let schema = Schema::new(vec![Field::new("x", DataType::Int64, true)]);
    let mut tracker = arrow_ipc::writer::DictionaryTracker::new(false);
    let schema = arrow_ipc::writer::IpcDataGenerator::default()
        .schema_to_bytes_with_dictionary_tracker(&schema, &mut tracker, &arrow_ipc::writer::IpcWriteOptions::default())
        .ipc_message;
    run(async {
        let mut client = connect(server.address()).await;
        for (name, bytes, ends) in
            [("at", UPLOAD_BYTES, Code::Ok), ("above", UPLOAD_BYTES + 1, Code::ResourceExhausted)]
        {
            let descriptor = [&[0x08, 1][..], &field(3, b"scope"), &field(3, name.as_bytes())].concat();
            let first = [field(1, &descriptor), field(2, &schema)].concat();
            let mut body = framed(&first).to_vec();
            for part in [UPLOAD_BYTES / 2, bytes - UPLOAD_BYTES / 2] {
                body.extend(framed(&field(1000, &vec![0; part])));
            }
            let ended = call(&mut client, "/arrow.flight.protocol.FlightService/DoPut", body.into()).await;
            assert_eq!(ended, Some(ends), "{name}");
            assert_eq!(server.catalog().get(name).is_some(), ends == Code::Ok, "{name}");
        }
        is_served(server.address()).await;
    });
}

#[test]
fn calls_that_are_given_up_at_once_leave_nothing() {
    let server = server(Limits::default());
    run(async {
        for _ in 0..20 {
            let mut client = connect(server.address()).await;
            for _ in 0..200 {
                let request =
                    Request::post(format!("http://tickframe{FLIGHTS}")).header("content-type", "application/grpc");
                let request = request.body(Body::new(Open)).expect("a request");
                if client.ready().await.is_err() {
                    break;
                }
                drop(client.send_request(request));
            }
        }
        is_served(server.address()).await;
    });
}

/// Fields of small numbers, some of which nest: what a parser goes into.
fn message(random: &mut Rng, depth: u64) -> Vec<u8> {
    let mut made = Vec::new();
    for _ in 0..random.u64(..4) {
        let tag = random.u64(..46) + 1;
        let wire = [0, 1, 2, 2, 2, 5][random.u64(..6) as usize];
        prost::encoding::encode_varint(tag << 3 | wire, &mut made);
        match wire {
            0 => prost::encoding::encode_varint(random.u64(..) >> random.u64(..64), &mut made),
            1 => made.extend(random.u64(..).to_le_bytes()),
            5 => made.extend((random.u64(..) as u32).to_le_bytes()),
            _ => {
                let inner = match random.u64(..4) {
                    0 => b"s/t".to_vec(),
                    1 => [b"e".as_slice(), &(random.u64(..5) as i32).to_le_bytes()].concat(),
                    _ if depth > 0 => message(random, depth - 1),
                    _ => (0..random.u64(..9)).map(|_| random.u64(..256) as u8).collect(),
                };
                prost::encoding::encode_varint(inner.len() as u64, &mut made);
                made.extend(inner);
            }
        }
    }
    if random.u64(..8) == 0 && !made.is_empty() {
        let at = random.usize(..made.len());
        made[at] = random.u64(..256) as u8;
    }
    made
}

fn field(tag: u64, bytes: &[u8]) -> Vec<u8> {
    let mut made = Vec::new();
    prost::encoding::encode_varint(tag << 3 | 2, &mut made);
    prost::encoding::encode_varint(bytes.len() as u64, &mut made);
    made.extend(bytes);
    made
}

#[test]
fn any_bytes_to_any_call_are_answered() {
    let server = server(Limits { unary: Duration::from_millis(150), ..Limits::default() });
    let seed = std::env::var("TICKFRAME_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut random = Rng::with_seed(seed);
    let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::Int64, true)]));
    let cells: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let table = engine::sources::from_chunks(schema, vec![vec![cells]], 3).expect("a table");
    server.catalog().put("t".to_owned(), table);
    run(async {
        let mut client = connect(server.address()).await;
        let mut internal = 0;
        let mut export = 0_i32;
        for _ in 0..20 {
            for (service, method, call_of, _) in CALLS {
                if ["CloseSession", "TerminationNotification", "ExportNotifications", "ListFields"].contains(method) {
                    continue;
                }
                let mut message = Vec::new();
                // A result and a source, as operations have them, so that the rest is looked at.
                if random.u64(..4) > 0 {
                    export += 1;
                    let result = [b"e".as_slice(), &export.to_le_bytes()].concat();
                    message.extend(field(1, &field(1, &result)));
                    message.extend(field(2, &field(1, &field(1, b"s/t"))));
                }
                message.extend(self::message(&mut random, 4));
                let body = framed(&message);
                let ended = call(&mut client, &format!("/{service}/{method}"), body).await;
                internal += u64::from(ended == Some(Code::Internal));
                assert_ne!(ended, Some(Code::Unknown), "{call_of:?}, seed {seed}");
            }
        }
        assert_eq!(internal, 0, "seed {seed}: what is wrong with a request is not the server's fault");
        is_served(server.address()).await;
    });
}
