//! What the tests of the log share.

use log::testing::Dice;
use log::{Entry, Kind, Record};

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
pub fn draw(dice: &mut Dice, last: Option<u64>) -> Record {
    let next = last.map_or(0, |last| last + 1);
    let (kind, number) = match dice.below(12) {
        0 => (Kind::Whole, last.unwrap_or(0) + dice.below(2)),
        1 => (Kind::AfterGap, next + dice.below(4)),
        _ => (Kind::Change, next),
    };
    let note = (0..dice.below(3)).map(|_| char::from(b'a' + dice.below(26) as u8)).collect();
    Record { number, kind, note, body: dice.bytes(90) }
}

/// Puts a record behind others, or in their place.
pub fn kept(model: &mut Vec<Record>, record: Record) {
    if record.kind == Kind::Whole {
        model.clear();
    }
    model.push(record);
}

/// Records as they are appended.
pub fn entries(records: &[Record]) -> Vec<Entry<'_>> {
    records.iter().map(entry).collect()
}

fn entry(record: &Record) -> Entry<'_> {
    Entry { number: record.number, kind: record.kind, note: &record.note, body: &record.body }
}
