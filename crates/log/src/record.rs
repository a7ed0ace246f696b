//! One record as bytes.
//!
//! | bytes | |
//! |---|---|
//! | 4 | `TFR2` |
//! | 4 | kind |
//! | 8 | number |
//! | 4 | length of the note |
//! | 4 | nothing |
//! | 8 | length of the body |
//! | 4 | check of note and body |
//! | 4 | check of the 36 bytes above |
//! | … | note, body |
//! | 8 | `end of r` |
//!
//! Numbers are little-endian, checks CRC-32. The end is there so that space which the file system gave and never
//! wrote, zeros, is told from bytes that were written and changed.

/// What a record is to those before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A change; its number is the next one.
    Change,
    /// A change after numbers that are known to be missing.
    AfterGap,
    /// All there is up to its number: the records before it are of no use any more.
    Whole,
}

impl Kind {
    fn code(self) -> u32 {
        match self {
            Kind::Change => 0,
            Kind::AfterGap => 1,
            Kind::Whole => 2,
        }
    }

    fn of(code: u32) -> Option<Kind> {
        [Kind::Change, Kind::AfterGap, Kind::Whole].into_iter().find(|kind| kind.code() == code)
    }
}

/// A record as it was given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// Its number.
    pub number: u64,
    /// What it is to those before it.
    pub kind: Kind,
    /// Where its rows came from: offsets, as their source writes them.
    pub note: String,
    /// Its rows.
    pub body: Vec<u8>,
}

pub(crate) const HEAD: usize = 40;
pub(crate) const END: &[u8; 8] = b"end of r";
const MAGIC: &[u8; 4] = b"TFR2";

/// What stands in front of a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) number: u64,
    pub(crate) kind: Kind,
    note: u32,
    body: u64,
    check: u32,
}

impl Head {
    fn bytes(&self) -> [u8; HEAD] {
        let mut bytes = [0; HEAD];
        bytes[..4].copy_from_slice(MAGIC);
        bytes[4..8].copy_from_slice(&self.kind.code().to_le_bytes());
        bytes[8..16].copy_from_slice(&self.number.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.note.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.body.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.check.to_le_bytes());
        let check = crc32fast::hash(&bytes[..36]);
        bytes[36..].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    /// A head from its bytes; what is wrong with them otherwise.
    pub(crate) fn from_bytes(bytes: &[u8; HEAD]) -> Result<Head, &'static str> {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        if word(36) != crc32fast::hash(&bytes[..36]) {
            return Err("the head of a record does not match its check");
        }
        let kind =
            Kind::of(word(4)).filter(|_| &bytes[..4] == MAGIC).ok_or("the head of a record is of no known kind")?;
        Ok(Head { kind, number: long(8), note: word(16), body: long(24), check: word(32) })
    }

    /// Bytes of the record behind its head; none if no file can be as long.
    pub(crate) fn rest(&self) -> Option<u64> {
        self.body.checked_add(u64::from(self.note))?.checked_add(END.len() as u64)
    }

    /// Note and body from what stands behind the head, the end taken off.
    pub(crate) fn split(&self, mut rest: Vec<u8>) -> Result<Record, &'static str> {
        if crc32fast::hash(&rest) != self.check {
            return Err("the rows of a record do not match their check");
        }
        let body = rest.split_off(self.note as usize);
        let note = String::from_utf8(rest).map_err(|_| "the note of a record is no text")?;
        Ok(Record { number: self.number, kind: self.kind, note, body })
    }
}

/// A record as bytes; none if its note is longer than a note may be.
pub fn encode(number: u64, kind: Kind, note: &str, body: &[u8]) -> Option<Vec<u8>> {
    let mut check = crc32fast::Hasher::new();
    check.update(note.as_bytes());
    check.update(body);
    let (length, check) = (u32::try_from(note.len()).ok()?, check.finalize());
    let head = Head { number, kind, note: length, body: body.len() as u64, check };
    let mut bytes = Vec::with_capacity(HEAD + note.len() + body.len() + END.len());
    bytes.extend(head.bytes());
    bytes.extend(note.as_bytes());
    bytes.extend(body);
    bytes.extend(END);
    Some(bytes)
}
