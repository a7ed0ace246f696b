//! Names of tables as strangers write them: what is read is written so that it names the same again, and nothing else.

use bytes::Bytes;
use flight::testing::tickets::Name;
use tonic::{Code, Status};

use super::reader::Reader;

/// What paths are made of.
const STEPS: [&str; 14] =
    ["export", "scope", "app", "field", "shared", "s", "a", "f", "h", "e", "", "1", "-2147483648", "00ff"];
/// What tickets are made of.
const PARTS: [&str; 10] = ["e", "s/", "a/", "/f/", "h", "db", "/", "\u{e9}", "scope", "1234"];
const PATH: i32 = 1;

fn told(refused: &Status) {
    assert!(matches!(refused.code(), Code::FailedPrecondition | Code::InvalidArgument), "{refused:?}");
    assert!(!refused.message().is_empty());
}

/// What a ticket names has this ticket and no other.
fn ticket(bytes: &Bytes) {
    match Name::of_ticket(bytes) {
        Ok(name) => assert_eq!(name.ticket(), bytes, "{name:?}"),
        Err(refused) => told(&refused),
    }
}

/// What a path names has a ticket, and a path, that name the same.
fn path(kind: i32, path: Vec<String>) {
    match Name::of_path(kind, path.clone()) {
        Ok(name) => {
            assert_eq!(kind, PATH);
            let by_ticket = Name::of_ticket(&name.ticket());
            assert_eq!(by_ticket.ok().as_ref(), Some(&name), "{path:?}, by its ticket");
            let by_path = Name::of_path(PATH, name.path());
            assert_eq!(by_path.ok().as_ref(), Some(&name), "{path:?}, by its path");
        }
        Err(refused) => told(&refused),
    }
}

/// The first byte says whether it is a ticket or a path; of its parts some are those that mean something.
pub fn tickets(bytes: &[u8]) {
    let mut reader = Reader::new(bytes);
    match reader.below(4) {
        0 => ticket(&Bytes::copy_from_slice(reader.rest())),
        1 => {
            let mut made = Vec::new();
            while !reader.is_empty() {
                match reader.below(3) {
                    0 => made.push(reader.byte()),
                    1 => made.extend_from_slice(reader.text(8).as_bytes()),
                    _ => made.extend_from_slice(reader.choice(&PARTS).as_bytes()),
                }
            }
            ticket(&made.into());
        }
        _ => {
            let kind = if reader.below(16) == 0 { reader.integer() as i32 } else { PATH };
            let mut steps = Vec::new();
            while !reader.is_empty() {
                steps.push(match reader.below(3) {
                    0 => reader.text(12),
                    1 => format!("{}/{}", reader.choice(&STEPS), reader.choice(&STEPS)),
                    _ => (*reader.choice(&STEPS)).to_owned(),
                });
            }
            path(kind, steps);
        }
    }
}
