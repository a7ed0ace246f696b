//! What the tests of the log share.

use fastrand::Rng;
use log::testing::bytes;
use log::{Body, Entry, Kind, Record};

/// Runs with the sizes that a seed gives.
pub fn drawn<R>(seed: u64, run: impl FnOnce() -> R) -> R {
    #[cfg(debug_assertions)]
    return limits::Scope::drawn(seed).enter(run);
    #[cfg(not(debug_assertions))]
    {
        let _ = seed; // a release has its real sizes
        run()
    }
}

/// A record that may stand after the one with number `last`.
pub fn draw(dice: &mut Rng, last: Option<u64>) -> Record {
    let next = last.map_or(0, |last| last + 1);
    let (kind, number) = match dice.u64(..12) {
        0 => (Kind::Whole, last.unwrap_or(0) + dice.u64(..2)),
        1 => (Kind::AfterGap, next + dice.u64(..4)),
        _ => (Kind::Change, next),
    };
    let note = (0..dice.u64(..3)).map(|_| char::from(b'a' + dice.u64(..26) as u8)).collect();
    Record { number, kind, note, body: bytes(dice, 90) }
}

/// Puts a record behind others, or in their place.
pub fn kept(model: &mut Vec<Record>, record: Record) {
    if record.kind == Kind::Whole {
        model.clear();
    }
    model.push(record);
}

/// The body of each of these records, cut somewhere.
pub fn parted<'a>(records: &'a [Record], dice: &mut Rng) -> Vec<[&'a [u8]; 3]> {
    let mut cut = |bytes: &'a [u8]| bytes.split_at(dice.u64(..bytes.len() as u64 + 1) as usize);
    let mut parts = |record: &'a Record| {
        let (first, rest) = cut(&record.body);
        let (second, third) = cut(rest);
        [first, second, third]
    };
    records.iter().map(&mut parts).collect()
}

/// Records as they are appended, each in these parts.
pub fn entries<'a>(records: &'a [Record], parts: &'a [[&'a [u8]; 3]]) -> Vec<Entry<'a>> {
    let entry = |(record, parts): (&'a Record, &'a [&'a [u8]; 3])| Entry {
        number: record.number,
        kind: record.kind,
        note: &record.note,
        body: Body::Parts(parts),
    };
    records.iter().zip(parts).map(entry).collect()
}
