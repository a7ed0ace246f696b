//! One record as bytes.
//!
//! | bytes | |
//! |---|---|
//! | 4 | `TFR2` |
//! | 4 | kind |
//! | 8 | number |
//! | 4 | length of the note |
//! | 4 | how it was written: see below |
//! | 8 | length of the body |
//! | 4 | check of note and body |
//! | 4 | check of the 36 bytes above |
//! | … | note, body |
//! | 8 | `end of r` |
//!
//! Numbers are little-endian, checks CRC-32. How it was written: the highest bit says that the next record was written
//! with this one, all of them or none; the rest is one more than the number of pieces of the disk (512 bytes) that are
//! zeros in note, body and end, or nothing if they were not counted. So space that the file system gave and never wrote,
//! zeros, is told from bytes that were written and changed.
//!
//! A base is made of the same, with kinds of its own.

use crate::torn::ZeroPieces;

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

/// What stands in a file: records in a segment, the others in a base.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Content {
    Record(Kind),
    /// What a base is of.
    Begin,
    Part,
    /// How many parts there are.
    End,
}

const CONTENTS: [Content; 6] = [
    Content::Record(Kind::Change),
    Content::Record(Kind::AfterGap),
    Content::Record(Kind::Whole),
    Content::Begin,
    Content::Part,
    Content::End,
];

impl Content {
    fn code(self) -> u32 {
        CONTENTS.iter().position(|content| *content == self).unwrap_or_default() as u32
    }

    fn of(code: u32) -> Option<Content> {
        CONTENTS.get(code as usize).copied()
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

/// The rows of a record that is to be appended.
#[derive(Clone, Copy, Debug)]
pub enum Body<'a> {
    /// All of them.
    Whole(&'a [u8]),
    /// In parts, one after the other: large ones go to the file from where they are.
    Parts(&'a [&'a [u8]]),
}

impl<'a> Body<'a> {
    pub(crate) fn parts(&self) -> &[&'a [u8]] {
        match self {
            Body::Whole(bytes) => std::slice::from_ref(bytes),
            Body::Parts(parts) => parts,
        }
    }
}

/// A record that is to be appended.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Its number.
    pub number: u64,
    /// What it is to those before it.
    pub kind: Kind,
    /// Where its rows came from.
    pub note: &'a str,
    /// Its rows.
    pub body: Body<'a>,
}

pub(crate) const HEAD: usize = 40;
pub(crate) const END: &[u8; 8] = b"end of r";
pub(crate) const MAGIC: &[u8; 4] = b"TFR2";
const MORE: u32 = 1 << 31;

/// What stands in front of a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) content: Content,
    pub(crate) number: u64,
    /// Whether the next record was written with this one.
    pub(crate) is_followed: bool,
    /// One more than the pieces of zeros behind the head; 0 if they were not counted.
    zeros: u32,
    note: u32,
    body: u64,
    check: u32,
}

impl Head {
    /// The head of a note and a body in pieces; none if the note is longer than one may be.
    pub(crate) fn new(content: Content, number: u64, note: &str, body: &[&[u8]]) -> Option<Head> {
        let mut check = crc32fast::Hasher::new();
        check.update(note.as_bytes());
        body.iter().for_each(|piece| check.update(piece));
        let length = body.iter().map(|piece| piece.len() as u64).sum();
        let note = u32::try_from(note.len()).ok()?;
        Some(Head { content, number, is_followed: false, zeros: 0, note, body: length, check: check.finalize() })
    }

    pub(crate) fn bytes(&self) -> [u8; HEAD] {
        let written = self.zeros | if self.is_followed { MORE } else { 0 };
        let mut bytes = [0; HEAD];
        bytes[..4].copy_from_slice(MAGIC);
        bytes[4..8].copy_from_slice(&self.content.code().to_le_bytes());
        bytes[8..16].copy_from_slice(&self.number.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.note.to_le_bytes());
        bytes[20..24].copy_from_slice(&written.to_le_bytes());
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
        let content =
            Content::of(word(4)).filter(|_| &bytes[..4] == MAGIC).ok_or("the head of a record is of no known kind")?;
        Ok(Head {
            content,
            number: long(8),
            is_followed: word(20) & MORE != 0,
            zeros: word(20) & !MORE,
            note: word(16),
            body: long(24),
            check: word(32),
        })
    }

    /// Bytes of the record behind its head; none if no file can be as long.
    pub(crate) fn rest(&self) -> Option<u64> {
        self.body.checked_add(u64::from(self.note))?.checked_add(END.len() as u64)
    }

    /// How many pieces of zeros were written behind the head, if they were counted.
    pub(crate) fn zeros(&self) -> Option<u64> {
        u64::from(self.zeros).checked_sub(1)
    }

    /// Bytes of the note, and of the body.
    pub(crate) fn lengths(&self) -> (u64, u64) {
        (u64::from(self.note), self.body)
    }

    /// What is wrong with note, body and end, which may stand apart.
    pub(crate) fn check(&self, rows: [&[u8]; 2], end: &[u8]) -> Result<(), &'static str> {
        if end != END {
            return Err("a record does not end as one");
        }
        let mut check = crc32fast::Hasher::new();
        rows.iter().for_each(|rows| check.update(rows));
        if check.finalize() == self.check { Ok(()) } else { Err("the rows of a record do not match their check") }
    }
}

/// An entry as it stands in a file.
pub(crate) struct Framed<'e, 'a> {
    head: [u8; HEAD],
    entry: &'e Entry<'a>,
    /// Its bytes.
    pub(crate) bytes: u64,
}

impl<'e, 'a> Framed<'e, 'a> {
    /// An entry that will stand at this place of a file; none if its note is longer than a note may be.
    pub(crate) fn at(at: u64, entry: &'e Entry<'a>, is_followed: bool) -> Option<Framed<'e, 'a>> {
        let head = Head::new(Content::Record(entry.kind), entry.number, entry.note, entry.body.parts())?;
        let mut zeros = ZeroPieces::from(at + HEAD as u64);
        behind_head(entry).for_each(|part| zeros.push(part));
        let bytes = HEAD as u64 + head.rest()?;
        let head = Head { is_followed, zeros: zeros.count() as u32 + 1, ..head }.bytes();
        Some(Framed { head, entry, bytes })
    }

    pub(crate) fn parts(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::once(&self.head[..]).chain(behind_head(self.entry))
    }
}

fn behind_head<'e>(entry: &'e Entry<'_>) -> impl Iterator<Item = &'e [u8]> {
    [entry.note.as_bytes()].into_iter().chain(entry.body.parts().iter().copied()).chain([&END[..]])
}

/// A record as bytes; none if its note is longer than a note may be.
pub fn encode(number: u64, kind: Kind, note: &str, body: &[u8]) -> Option<Vec<u8>> {
    let entry = Entry { number, kind, note, body: Body::Whole(body) };
    let parts = Framed::at(0, &entry, false)?;
    Some(parts.parts().flatten().copied().collect())
}
