//! Bytes of calls in any pieces: as they are split changes nothing, and neither does who reads them.

use bytes::Bytes;
use flight::testing::pages::{Rows, Split, answered, begun, messages, uploaded, whole};
use tonic::{Code, Status};

use super::exchange::piece;
use super::reader::Reader;
use super::scope::judged;

/// Bytes of a message at most.
const LIMIT: usize = 1 << 16;
/// What marks the frame that holds trailers.
const TRAILERS: u8 = 0x80;
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The bytes in pieces of these sizes, over and over.
fn split(bytes: &[u8], sizes: &[usize]) -> Split {
    let (mut rest, mut pieces) = (bytes, Vec::new());
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (first, behind) = rest.split_at(rest.len().min(*size));
        pieces.push(Bytes::copy_from_slice(first));
        rest = behind;
    }
    Split::new(pieces)
}

type Read = (Vec<Rows>, Result<(), (Code, String)>);

fn told((rows, ended): (Vec<Rows>, Result<(), Status>)) -> Read {
    let why = |status: Status| {
        judged("what is read", status.code());
        (status.code(), status.message().to_owned())
    };
    (rows, ended.map_err(why))
}

/// Frames of messages; the flags of a frame, and the length that it tells, may be wrong.
fn framed(mut bytes: &[u8]) -> Vec<u8> {
    let mut frames = Vec::new();
    while let Some((shape, rest)) = bytes.split_first() {
        bytes = rest;
        let message = piece(&mut bytes);
        let told = match shape % 16 {
            1 => message.len() + 1,
            2 => message.len().saturating_sub(1),
            3 => usize::MAX,
            _ => message.len(),
        };
        frames.push(if shape / 16 == 1 { 1 } else { 0 });
        frames.extend_from_slice(&(told as u32).to_be_bytes());
        frames.extend_from_slice(message);
    }
    frames
}

async fn requests(bytes: &[u8], sizes: &[usize]) {
    let most = told(messages(split(bytes, sizes), LIMIT).await);
    let uploads = told(uploaded(split(bytes, sizes), LIMIT).await);
    let one = whole(split(bytes, sizes), LIMIT).await.map_err(|status| (status.code(), status.message().to_owned()));
    for sizes in [&[1][..], &[usize::MAX], &[5, 1, 3]] {
        assert_eq!(told(messages(split(bytes, sizes), LIMIT).await), most, "in pieces of {sizes:?}");
        assert_eq!(told(uploaded(split(bytes, sizes), LIMIT).await), uploads, "in pieces of {sizes:?}");
        let again = whole(split(bytes, sizes), LIMIT).await;
        assert_eq!(again.map_err(|status| (status.code(), status.message().to_owned())), one, "in pieces of {sizes:?}");
    }
    assert_eq!(most.0, uploads.0, "read by two readers");
    // Where no byte of the last message came, one of them takes its length for the end.
    assert!(most.1.is_ok() == uploads.1.is_ok() || most.1.is_ok(), "{:?}, {:?}", most.1, uploads.1);
    if let Err((code, _)) = one {
        judged("what is read as a whole", code);
    }
}

/// An answer says to a page in its body what it says to others in its trailers.
async fn answers(mut bytes: &[u8], code: i32) {
    let text = String::from_utf8_lossy(piece(&mut bytes)).into_owned();
    let mut said = Vec::new();
    while !bytes.is_empty() {
        said.push(Bytes::copy_from_slice(piece(&mut bytes)));
    }
    let code = Code::from_i32(code);
    let ended = || if code == Code::Ok { Ok(()) } else { Err(Status::new(code, text.clone())) };
    let (plain, trailers) = answered(said.clone(), ended(), false).await;
    let (paged, none) = answered(said.clone(), ended(), true).await;
    let trailers = trailers.expect("an answer has an end");
    let status = Status::from_header_map(&trailers).expect("trailers have a status");
    assert_eq!((plain, none), (said.concat(), None));
    assert_eq!((status.code(), status.message()), (code, if code == Code::Ok { "" } else { text.as_str() }));
    let mut text = Vec::new();
    for (name, value) in &trailers {
        text.extend_from_slice(&[name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    let frame = [&[TRAILERS], &(text.len() as u32).to_be_bytes()[..], &text].concat();
    assert_eq!(paged, [said.concat(), frame].concat());
    assert_eq!(text.iter().filter(|byte| **byte == b'\n').count(), trailers.len(), "one line each");
}

async fn connections(bytes: &[u8], sizes: &[usize]) {
    let found = begun(split(bytes, sizes)).await.expect("nothing fails");
    for sizes in [&[1][..], &[usize::MAX]] {
        assert_eq!(begun(split(bytes, sizes)).await.expect("nothing fails"), found);
    }
    let short = PREFACE.starts_with(bytes) && bytes.len() < PREFACE.len();
    assert_eq!(found, (!short).then(|| (bytes.starts_with(PREFACE), bytes.to_vec())));
}

/// The first byte says what is read, three more how it is split; the rest is what comes.
pub fn pages(bytes: &[u8]) {
    let mut reader = Reader::new(bytes);
    let (what, code) = (reader.below(5), reader.below(17) as i32);
    let sizes = [1 + reader.below(7), 1 + reader.below(64), 1 + reader.below(256)];
    let rest = reader.rest();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        match what {
            0 => requests(rest, &sizes).await,
            1 => answers(rest, code).await,
            2 => connections(&[&PREFACE[..PREFACE.len().min(code as usize * 3)], rest].concat(), &sizes).await,
            _ => requests(&framed(rest), &sizes).await,
        }
    });
}
