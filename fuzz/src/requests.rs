//! Requests of one message, answered without a socket: read and written again alike, and answered well or refused.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use flight::testing::requests::{Asked, WRITTEN};
use flight::{Call, Object};
use prost::encoding::encode_varint;
use tonic::Status;

use super::exchange::piece;
use super::reader::Reader;
use super::scope::{CALLS_OF_ONE, END, Scope, chosen, judged, limits, sound};

/// A call that waits for another does so beside the next ones; nothing is on its way over a wire.
const SOON: Duration = Duration::from_millis(2);
/// Messages in messages of those that are made up.
const DEEP: usize = 4;
/// What texts of requests say: names, formulas, pairs of columns, times.
const TEXTS: [&str; 24] = [
    "sym",
    "px",
    "size",
    "x",
    "x = px",
    "px = size",
    "x = px * 2 + size",
    "x = i",
    "x = sum(px)",
    "px > 1",
    "sym = `A`",
    "size in 1, 2",
    "px >= size",
    "sym=sym",
    "px >= px",
    "n = size",
    "",
    "2024-01-02T03:04:05Z",
    "PT1S",
    "UTC",
    "x = sym + px[i-1]",
    "each",
    "x = each + 1",
    "ABSOLUTE",
];

/// A call, and its message: as it comes, or of fields that mean something.
fn next(bytes: &mut &[u8]) -> Option<(String, Call, bool, Bytes)> {
    let (head, rest) = bytes.split_first_chunk::<3>()?;
    *bytes = rest;
    let [low, high, shape] = *head;
    let (path, call) = chosen(u16::from_le_bytes([low, high]));
    let own = piece(bytes);
    let message = if shape & 1 == 0 { own.to_vec() } else { made(&mut Reader::new(own), call) };
    Some((path, call, shape & 0x40 != 0, message.into()))
}

fn field(tag: u64, bytes: &[u8], into: &mut Vec<u8>) {
    encode_varint(tag << 3 | 2, into);
    encode_varint(bytes.len() as u64, into);
    into.extend_from_slice(bytes);
}

fn one(tag: u64, bytes: &[u8]) -> Vec<u8> {
    let mut made = Vec::new();
    field(tag, bytes, &mut made);
    made
}

/// The ticket of a number, or of a table that is there.
fn ticket(reader: &mut Reader<'_>) -> Vec<u8> {
    let name = match reader.below(5) {
        0 => b"s/quotes".to_vec(),
        1 => b"s/trades".to_vec(),
        2 => [b"h", reader.text(2).as_bytes()].concat(),
        _ => [b"e".as_slice(), &(reader.below(6) as i32).to_le_bytes()].concat(),
    };
    one(1, &name)
}

/// A message with a result and a source, as most have them.
fn made(reader: &mut Reader<'_>, call: Call) -> Vec<u8> {
    if call != Call::Batch {
        return operation(reader);
    }
    let mut batch = Vec::new();
    for _ in 0..1 + reader.below(4) {
        let number = 1 + reader.below(44) as u64;
        field(1, &one(number, &operation(reader)), &mut batch);
    }
    batch
}

fn operation(reader: &mut Reader<'_>) -> Vec<u8> {
    let mut made = Vec::new();
    field(1, &ticket(reader), &mut made);
    for tag in [2, 3] {
        let source = match reader.below(4) {
            0 => continue,
            1 => vec![2 << 3, 2 * reader.below(4) as u8],
            _ => one(1, &ticket(reader)),
        };
        field(tag, &source, &mut made);
    }
    fields(reader, DEEP, &mut made);
    made
}

fn fields(reader: &mut Reader<'_>, deep: usize, into: &mut Vec<u8>) {
    for _ in 0..reader.below(5) {
        let tag = 1 + reader.below(24) as u64;
        match reader.below(8) {
            0 => {
                encode_varint(tag << 3, into);
                encode_varint(reader.integer() as u64, into);
            }
            1 => {
                encode_varint(tag << 3, into);
                encode_varint(reader.below(4) as u64, into);
            }
            2 => {
                encode_varint(tag << 3 | 1, into);
                into.extend_from_slice(&reader.float().to_le_bytes());
            }
            3 => field(tag, reader.text(16).as_bytes(), into),
            4 | 5 => field(tag, reader.choice(&TEXTS).as_bytes(), into),
            _ if deep == 0 => field(tag, &[], into),
            _ => {
                let mut inner = Vec::new();
                fields(reader, deep - 1, &mut inner);
                field(tag, &inner, into);
            }
        }
    }
}

/// A message that is read is written so that it is read as the same, whichever it is.
fn stable(message: &[u8]) {
    for (kind, written) in WRITTEN {
        if let Some([once, again]) = written(message) {
            assert_eq!(once, again, "{kind}");
        }
    }
}

/// Whether it takes one message, and ends by itself.
fn is_brief(call: Call) -> bool {
    !matches!(
        call,
        Call::Handshake
            | Call::DoPut
            | Call::DoExchange
            | Call::MessageStream
            | Call::AutoCompleteStream
            | Call::ExportNotifications
            | Call::TerminationNotification
            | Call::ListFields
            | Call::ExportedTableUpdates
            | Call::SubscribeToLogs
    )
}

async fn asked(scope: &Scope, mut bytes: &[u8]) {
    let session = Arc::new(Asked::new(scope.catalog.clone(), limits()).expect("a session"));
    let mut running = Vec::new();
    for at in 0..CALLS_OF_ONE {
        let Some((path, call, step, message)) = next(&mut bytes) else { break };
        if step {
            scope.step(at);
        }
        stable(&message);
        if !is_brief(call) {
            continue;
        }
        let of = session.clone();
        let mut task = tokio::spawn(async move { of.ask(call, message).await });
        match tokio::time::timeout(SOON, &mut task).await {
            Ok(done) => ended(&path, done.expect("a call does not panic")),
            Err(_) => running.push((path, task)),
        }
    }
    scope.step(CALLS_OF_ONE);
    session.held().into_iter().filter_map(Object::table).for_each(|table| sound(&table));
    session.close();
    for (path, task) in running {
        match tokio::time::timeout(END, task).await {
            Ok(done) => ended(&path, done.expect("a call does not panic")),
            Err(_) => panic!("{path} runs on although its session is closed"),
        }
    }
}

fn ended(path: &str, answer: Result<Vec<Bytes>, Status>) {
    if let Err(refused) = answer {
        judged(path, refused.code());
    }
}

/// A session of these requests.
pub fn requests(bytes: &[u8]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let scope = Scope::new();
    runtime.block_on(asked(&scope, bytes));
}
