//! The laws of the log: what was appended is read, whatever was cut off its end is a prefix, and no byte changes
//! without a word.
#![allow(clippy::unwrap_used, reason = "a test says by its panic what went wrong")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use log::{Error, Kind, Log, Record, encode, read_all};

struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % bound
    }

    fn bytes(&mut self, most: u64) -> Vec<u8> {
        (0..self.below(most)).map(|_| self.below(256) as u8).collect()
    }
}

/// A folder of its own, gone with the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Scratch {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let name = format!("tickframe-log-{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        Scratch(std::env::temp_dir().join(name).join("deep").join("log"))
    }

    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let paths = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().path());
        paths.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
    }

    fn segments(&self) -> Vec<PathBuf> {
        self.files().into_keys().filter(|path| path.extension().is_some_and(|end| end == "log")).collect()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.0.parent().and_then(Path::parent).unwrap());
    }
}

fn drawn<R>(seed: u64, run: impl FnOnce() -> R) -> R {
    #[cfg(debug_assertions)]
    return limits::Scope::drawn(seed).enter(run);
    #[cfg(not(debug_assertions))]
    {
        let _ = seed; // a release has its real sizes
        run()
    }
}

fn draw(dice: &mut Dice, last: Option<u64>) -> Record {
    let next = last.map_or(0, |last| last + 1);
    let (kind, number) = match dice.below(12) {
        0 => (Kind::Whole, last.unwrap_or(0) + dice.below(2)),
        1 => (Kind::AfterGap, next + dice.below(4)),
        _ => (Kind::Change, next),
    };
    let note = (0..dice.below(3)).map(|_| char::from(b'a' + dice.below(26) as u8)).collect();
    Record { number, kind, note, body: dice.bytes(90) }
}

fn append(log: &mut Log, record: &Record) {
    log.append(record.number, record.kind, &record.note, &record.body).unwrap();
}

fn kept(model: &mut Vec<Record>, record: Record) {
    if record.kind == Kind::Whole {
        model.clear();
    }
    model.push(record);
}

fn read(log: &Log) -> Vec<Record> {
    log.read().map(Result::unwrap).collect()
}

#[test]
fn what_was_appended_is_read_also_after_it_was_opened_anew() {
    for seed in 0..40 {
        drawn(seed, || {
            let (scratch, mut dice) = (Scratch::new(), Dice(seed));
            let mut log = Log::open(&scratch.0).unwrap();
            let mut model: Vec<Record> = Vec::new();
            for _ in 0..40 {
                let record = draw(&mut dice, log.last());
                append(&mut log, &record);
                kept(&mut model, record);
                if dice.below(5) == 0 {
                    drop(log);
                    log = Log::open(&scratch.0).unwrap();
                }
                assert_eq!((read(&log), log.len()), (model.clone(), model.len() as u64), "seed {seed}");
                assert_eq!(log.last(), model.last().map(|record| record.number));
            }
            assert_eq!(read_all(&scratch.0).unwrap(), model);
        });
    }
}

/// Writes records, of which no segment holds more than a few.
fn written(seed: u64) -> (Scratch, Vec<Record>) {
    let (scratch, mut dice) = (Scratch::new(), Dice(seed));
    let mut log = Log::open(&scratch.0).unwrap();
    let mut model = Vec::new();
    for _ in 0..12 {
        let record = Record { body: dice.bytes(30), ..draw(&mut dice, log.last()) };
        append(&mut log, &record);
        kept(&mut model, record);
    }
    (scratch, model)
}

#[test]
fn a_tail_cut_anywhere_leaves_the_whole_records_before_it_and_goes_on() {
    for seed in 1..8 {
        drawn(seed, || {
            let (scratch, model) = written(seed);
            let last = scratch.segments().pop().unwrap();
            let bytes = fs::read(&last).unwrap();
            for zeros in [false, true] {
                for cut in 0..bytes.len() {
                    let mut torn = bytes[..cut].to_vec();
                    torn.resize(if zeros { bytes.len() } else { cut }, 0);
                    fs::write(&last, &torn).unwrap();
                    let found = read_all(&scratch.0);
                    let opened = Log::open(&scratch.0).map(|log| (read(&log), log));
                    match (found, opened) {
                        (Ok(found), Ok((again, mut log))) => {
                            assert_eq!(found, again);
                            assert_eq!(found, model[..found.len()]);
                            let next = Record {
                                number: log.last().unwrap() + 1,
                                kind: Kind::Change,
                                ..draw(&mut Dice(cut as u64), None)
                            };
                            append(&mut log, &next);
                            assert_eq!(read(&log).last(), Some(&next));
                        }
                        // A segment is there only once its first record is whole; what was written and half overwritten by
                        // zeros is damage.
                        (Err(found), Err(opened)) => {
                            assert!(matches!(found, Error::Damaged { .. }) && found.path() == last, "{found}");
                            assert!(matches!(opened, Error::Damaged { .. }) && opened.path() == last, "{opened}");
                        }
                        (found, opened) => panic!("cut at {cut}: read {found:?}, opened {:?}", opened.err()),
                    }
                    scratch
                        .segments()
                        .into_iter()
                        .filter(|path| *path > last)
                        .for_each(|path| fs::remove_file(path).unwrap());
                }
            }
        });
    }
}

#[test]
fn every_changed_byte_is_told_with_its_file() {
    for seed in 1..6 {
        drawn(seed, || {
            let (scratch, model) = written(seed);
            for path in scratch.segments() {
                let bytes = fs::read(&path).unwrap();
                for at in 0..bytes.len() {
                    let mut changed = bytes.clone();
                    changed[at] ^= 1 << (at % 8);
                    fs::write(&path, &changed).unwrap();
                    let error = read_all(&scratch.0).expect_err("a byte differs");
                    assert!(matches!(&error, Error::Damaged { offset, .. } if *offset <= at as u64), "{error}");
                    assert_eq!(error.path(), path);
                    let opened = Log::open(&scratch.0).and_then(|log| log.read().collect::<Result<Vec<_>, _>>());
                    assert_eq!(opened.expect_err("a byte differs").path(), path);
                }
                fs::write(&path, &bytes).unwrap();
            }
            assert_eq!(read_all(&scratch.0).unwrap(), model);
        });
    }
}

#[test]
fn a_missing_segment_is_told() {
    for seed in 1..20 {
        drawn(seed, || {
            let (scratch, _) = written(seed);
            let paths = scratch.segments();
            for path in &paths[..paths.len() - 1] {
                let bytes = fs::read(path).unwrap();
                fs::remove_file(path).unwrap();
                let error = read_all(&scratch.0).expect_err("a file is gone");
                assert!(matches!(&error, Error::Missing { path: missing, .. } if missing == path), "{error}");
                assert_eq!(Log::open(&scratch.0).err().unwrap().path(), path);
                fs::write(path, bytes).unwrap();
            }
        });
    }
}

#[test]
fn numbers_follow_one_another() {
    let scratch = Scratch::new();
    let mut log = Log::open(&scratch.0).unwrap();
    assert!(matches!(log.append(3, Kind::Change, "", b""), Err(Error::Gap { number: 3, missing: 0, .. })));
    log.append(3, Kind::AfterGap, "", b"").unwrap();
    assert!(matches!(log.append(5, Kind::Change, "", b""), Err(Error::Gap { number: 5, missing: 4, .. })));
    assert!(matches!(log.append(3, Kind::Change, "", b""), Err(Error::Order { number: 3, last: 3, .. })));
    assert!(matches!(log.append(2, Kind::Whole, "", b""), Err(Error::Order { .. })));
    log.append(3, Kind::Whole, "", b"all").unwrap();
    assert_eq!((read(&log).len(), scratch.segments().len()), (1, 1));
}

#[test]
fn a_folder_has_one_owner() {
    let scratch = Scratch::new();
    let log = Log::open(&scratch.0).unwrap();
    let text = Log::open(&scratch.0).err().unwrap().to_string();
    assert!(text.contains("in use") && text.contains(scratch.0.to_str().unwrap()), "{text}");
    drop(log);
    assert!(Log::open(&scratch.0).is_ok());
}

#[test]
fn other_folders_and_formats_are_refused_in_words() {
    let scratch = Scratch::new();
    fs::create_dir_all(&scratch.0).unwrap();
    fs::write(scratch.0.join("batch-000000000000.arrow"), b"rows").unwrap();
    let text = Log::open(&scratch.0).err().unwrap().to_string();
    assert!(text.contains("batch-000000000000.arrow but no MANIFEST.json"), "{text}");
    fs::write(scratch.0.join("MANIFEST.json"), "{\"format\": 7}").unwrap();
    let text = Log::open(&scratch.0).err().unwrap().to_string();
    assert!(text.contains("is of format 7, this version reads format 3"), "{text}");
}

/// Files of any content are read or refused.
#[test]
fn strangers_bytes_are_read_or_refused() {
    let scratch = Scratch::new();
    drop(Log::open(&scratch.0).unwrap());
    let mut dice = Dice(9);
    let (other, _) = written(3);
    let good = fs::read(&other.segments()[0]).unwrap();
    for _ in 0..3000 {
        let mut bytes = if dice.below(2) == 0 { dice.bytes(120) } else { good.clone() };
        for _ in 0..dice.below(5) {
            let at = dice.below(bytes.len() as u64 + 1) as usize;
            match dice.below(3) {
                0 => bytes.truncate(at),
                1 => bytes.splice(at..at, dice.bytes(50)).for_each(drop),
                _ => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 255),
            }
        }
        fs::write(scratch.0.join("segment-000000000000.log"), &bytes).unwrap();
        if let Ok(records) = read_all(&scratch.0) {
            assert!(records.iter().map(|record| record.body.len()).sum::<usize>() <= bytes.len());
        }
    }
}

/// A log of this many batches opens at the cost of looking at each head; no file stays open behind the reader.
#[test]
fn seventy_thousand_records_are_opened_and_read() {
    let scratch = Scratch::new();
    drop(Log::open(&scratch.0).unwrap());
    // Written at once: each append waits for the disk.
    let bytes: Vec<u8> = (0..70_000u64)
        .flat_map(|number| encode(number, Kind::Change, "note", &number.to_le_bytes()).unwrap())
        .collect();
    fs::write(scratch.0.join("segment-000000000000.log"), bytes).unwrap();
    let log = Log::open(&scratch.0).unwrap();
    assert_eq!((log.last(), log.len()), (Some(69_999), 70_000));
    assert!(read(&log).iter().enumerate().all(|(at, record)| record.body == (at as u64).to_le_bytes()));
}
