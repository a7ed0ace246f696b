//! The laws of the log: what was appended is read, whatever was cut off its end is a prefix, and no byte changes
//! without a word.
#![allow(clippy::unwrap_used, reason = "a test says by its panic what went wrong")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fastrand::Rng;
use log::testing::bytes;
use log::{Disk, Error, Guard, Kind, Log, Part, Readable, Record, Written, encode, read_all, real};

mod common;
use common::{draw, drawn, entries, kept, parted};

/// The machine's disk that waits for nothing: these laws are of what stands in files.
struct Hasty(Arc<dyn Disk>);

struct Unsynced(Box<dyn Written>);

impl Disk for Hasty {
    fn is_folder(&self, path: &Path) -> io::Result<bool> {
        self.0.is_folder(path)
    }
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        self.0.make_folder(path)
    }
    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Guard>>> {
        self.0.lock(path)
    }
    fn create(&self, path: &Path) -> io::Result<Box<dyn Written>> {
        Ok(Box::new(Unsynced(self.0.create(path)?)))
    }
    fn append(&self, path: &Path) -> io::Result<Box<dyn Written>> {
        Ok(Box::new(Unsynced(self.0.append(path)?)))
    }
    fn overwrite(&self, path: &Path, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.overwrite(path, at, bytes)
    }
    fn open(&self, path: &Path) -> io::Result<Box<dyn Readable>> {
        self.0.open(path)
    }
    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        self.0.list(folder)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.remove(path)
    }
    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }
}

impl Write for Unsynced {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Written for Unsynced {
    fn set_len(&mut self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
}

/// A file with this content. It is made anew: some file systems wait for the disk where one is cut and written again.
fn put(path: impl AsRef<Path>, content: impl AsRef<[u8]>) {
    let _ = fs::remove_file(&path);
    fs::write(path, content).unwrap();
}

fn open(path: &Path) -> Result<Log, Error> {
    Log::open_on(Arc::new(Hasty(real())), path)
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

fn append_all(log: &mut Log, records: &[Record]) {
    let parts = parted(records, &mut Rng::with_seed(records.len() as u64));
    log.append_all(&entries(records, &parts)).unwrap();
}

fn append(log: &mut Log, record: &Record) {
    log.append(record.number, record.kind, &record.note, &record.body).unwrap();
}

fn read(log: &Log) -> Vec<Record> {
    log.read().map(Result::unwrap).collect()
}

#[test]
fn what_was_appended_is_read_also_after_it_was_opened_anew() {
    for seed in 0..40 {
        drawn(seed, || {
            let (scratch, mut dice) = (Scratch::new(), Rng::with_seed(seed));
            let mut log = open(&scratch.0).unwrap();
            let mut model: Vec<Record> = Vec::new();
            for _ in 0..40 {
                let record = draw(&mut dice, log.last());
                append(&mut log, &record);
                kept(&mut model, record);
                if dice.u64(..5) == 0 {
                    drop(log);
                    log = open(&scratch.0).unwrap();
                }
                assert_eq!((read(&log), log.len()), (model.clone(), model.len() as u64), "seed {seed}");
                assert_eq!(log.last(), model.last().map(|record| record.number));
            }
            assert_eq!(read_all(&scratch.0).unwrap(), model);
        });
    }
}

/// Writes records, some of them together, of which no segment holds more than a few. Beside all records that are there:
/// how many there were after each write.
fn written(seed: u64) -> (Scratch, Vec<Record>, Vec<usize>) {
    let (scratch, mut dice) = (Scratch::new(), Rng::with_seed(seed));
    let mut log = open(&scratch.0).unwrap();
    let (mut model, mut writes) = (Vec::new(), Vec::new());
    for _ in 0..7 {
        let mut group: Vec<Record> = Vec::new();
        for _ in 0..1 + dice.u64(..3) {
            let last = group.last().map(|record: &Record| record.number).or(log.last());
            group.push(Record { body: bytes(&mut dice, 30), ..draw(&mut dice, last) });
        }
        append_all(&mut log, &group);
        for record in group {
            if record.kind == Kind::Whole {
                writes.clear();
            }
            kept(&mut model, record);
        }
        writes.push(model.len());
    }
    (scratch, model, writes)
}

#[test]
fn a_tail_cut_anywhere_leaves_the_whole_records_before_it_and_goes_on() {
    for seed in 1..8 {
        drawn(seed, || {
            let (scratch, model, writes) = written(seed);
            let last = scratch.segments().pop().unwrap();
            let bytes = fs::read(&last).unwrap();
            for zeros in [false, true] {
                for cut in 0..bytes.len() {
                    let mut torn = bytes[..cut].to_vec();
                    torn.resize(if zeros { bytes.len() } else { cut }, 0);
                    put(&last, &torn);
                    let found = read_all(&scratch.0);
                    let opened = open(&scratch.0).map(|log| (read(&log), log));
                    match (found, opened) {
                        (Ok(found), Ok((again, mut log))) => {
                            assert_eq!(found, again);
                            assert_eq!(found, model[..found.len()]);
                            assert!(writes.contains(&found.len()), "half of a write: {} of {writes:?}", found.len());
                            let next = Record {
                                number: log.last().unwrap() + 1,
                                kind: Kind::Change,
                                ..draw(&mut Rng::with_seed(cut as u64), None)
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
            let (scratch, model, _) = written(seed);
            for path in scratch.segments() {
                let bytes = fs::read(&path).unwrap();
                for at in 0..bytes.len() {
                    let mut changed = bytes.clone();
                    changed[at] ^= 1 << (at % 8);
                    put(&path, &changed);
                    let error = read_all(&scratch.0).expect_err("a byte differs");
                    assert!(matches!(&error, Error::Damaged { offset, .. } if *offset <= at as u64), "{error}");
                    assert_eq!(error.path(), path);
                    let opened = open(&scratch.0).and_then(|log| log.read().collect::<Result<Vec<_>, _>>());
                    assert_eq!(opened.expect_err("a byte differs").path(), path);
                }
                put(&path, &bytes);
            }
            assert_eq!(read_all(&scratch.0).unwrap(), model);
        });
    }
}

/// Pieces of the disk that a record filled with zeros are no sign of a write that was torn.
#[test]
fn a_changed_byte_of_a_last_record_of_zeros_is_told() {
    let scratch = Scratch::new();
    let mut log = open(&scratch.0).unwrap();
    log.append(0, Kind::Change, "", b"first").unwrap();
    log.append(1, Kind::Change, "", &[0; 3000]).unwrap();
    drop(log);
    let path = scratch.segments().pop().unwrap();
    let bytes = fs::read(&path).unwrap();
    for at in 0..bytes.len() {
        if bytes[at] == 0 && at % 41 != 0 {
            continue;
        }
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        put(&path, &changed);
        assert!(matches!(read_all(&scratch.0), Err(Error::Damaged { .. })), "byte {at}");
    }
    // A piece that was lost is one more.
    let mut torn = bytes;
    torn[512..].fill(0);
    put(&path, &torn);
    assert_eq!(open(&scratch.0).unwrap().last(), Some(0));
}

#[test]
fn a_missing_segment_is_told() {
    for seed in 1..20 {
        drawn(seed, || {
            let (scratch, ..) = written(seed);
            let paths = scratch.segments();
            for path in &paths[..paths.len() - 1] {
                let bytes = fs::read(path).unwrap();
                fs::remove_file(path).unwrap();
                let error = read_all(&scratch.0).expect_err("a file is gone");
                assert!(matches!(&error, Error::Missing { path: missing, .. } if missing == path), "{error}");
                assert_eq!(open(&scratch.0).err().unwrap().path(), path);
                put(path, bytes);
            }
        });
    }
}

/// A log on a base of some parts, with records in two segments behind it.
fn based() -> (Scratch, PathBuf, Vec<Part>) {
    let (scratch, mut dice) = (Scratch::new(), Rng::with_seed(5));
    let mut log = open(&scratch.0).unwrap();
    (0..3).for_each(|number| log.append(number, Kind::Change, "", b"before").unwrap());
    let mut base = log.begin_base(Some(1)).unwrap();
    let parts: Vec<Part> = (0..4).map(|nth| Part { note: format!("part {nth}"), body: bytes(&mut dice, 40) }).collect();
    parts.iter().for_each(|part| base.push(&part.note, &[&part.body]).unwrap());
    log.append(3, Kind::Change, "", b"behind").unwrap();
    let base = base.finish().unwrap();
    assert_eq!((base.number(), base.bytes() > 0), (Some(1), true));
    log.adopt(base).unwrap();
    let path = scratch.0.join("base-00000000000000000001.log");
    (scratch, path, parts)
}

#[test]
fn a_base_takes_the_place_of_what_is_in_it() {
    for seed in 1..20 {
        drawn(seed, || {
            let (scratch, path, parts) = based();
            let log = open(&scratch.0).unwrap();
            assert_eq!((log.base_number(), log.last(), log.len()), (Some(Some(1)), Some(3), 2));
            assert_eq!(log.parts().map(Result::unwrap).collect::<Vec<_>>(), parts);
            assert_eq!(read(&log).iter().map(|record| record.number).collect::<Vec<_>>(), [2, 3]);
            assert_eq!(read_all(&scratch.0).unwrap(), read(&log));
            assert_eq!((log.base_bytes(), log.change_bytes()), (fs::metadata(&path).unwrap().len(), 48 * 2 + 12));
            assert!(fs::read_to_string(scratch.0.join("MANIFEST.json")).unwrap().contains("\"format\": 3"));
        });
    }
}

#[test]
fn every_changed_or_missing_byte_of_a_base_is_told_with_its_file() {
    let (scratch, path, parts) = based();
    let bytes = fs::read(&path).unwrap();
    let parts_of = || open(&scratch.0)?.parts().collect::<Result<Vec<_>, _>>();
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        for (content, place) in [(&changed[..], at), (&bytes[..at], at)] {
            put(&path, content);
            let error = parts_of().expect_err("a byte differs");
            assert!(matches!(&error, Error::Damaged { offset, .. } if *offset <= place as u64), "{error}");
            assert_eq!(error.path(), path);
        }
    }
    put(&path, &bytes);
    assert_eq!(parts_of().unwrap(), parts);
    let segment = scratch.0.join("segment-000000000000.log");
    fs::rename(&segment, scratch.0.join("elsewhere")).unwrap();
    let error = parts_of().expect_err("a segment is gone");
    assert!(
        matches!(&error, Error::Missing { path: missing, later } if *missing == segment && *later == path),
        "{error}"
    );
}

/// A file that ends between two records shows no tear: the base knows that there were more.
#[test]
fn a_segment_that_ends_before_its_base_is_told() {
    let (scratch, ..) = based();
    let path = scratch.0.join("segment-000000000000.log");
    let first = encode(0, Kind::Change, "", b"before").unwrap().len() as u64;
    fs::File::options().write(true).open(&path).unwrap().set_len(first).unwrap();
    let error = open(&scratch.0).err().unwrap();
    assert!(matches!(&error, Error::Damaged { offset, .. } if *offset == first) && error.path() == path, "{error}");
}

#[test]
fn what_is_of_no_use_is_removed() {
    for seed in 1..20 {
        drawn(seed, || {
            let (scratch, path, _) = based();
            let mut log = open(&scratch.0).unwrap();
            let base = log.begin_base(log.last()).unwrap();
            log.append(4, Kind::Change, "", b"meanwhile").unwrap();
            log.adopt(base.finish().unwrap()).unwrap();
            let kept: Vec<PathBuf> = scratch.segments();
            assert_eq!((kept[0].ends_with("base-00000000000000000003.log"), path.exists()), (true, false));
            // The segment with the last record of the base is there, and that of the one behind it.
            assert!(kept.len() <= 3, "{kept:?}");
            log.append(4, Kind::Whole, "", b"all").unwrap();
            assert_eq!((scratch.segments().len(), log.base_number()), (1, None));
            // A base on a record that holds all there is counts more than that record.
            let base = log.begin_base(Some(4)).unwrap();
            log.append(5, Kind::Change, "", b"behind").unwrap();
            log.adopt(base.finish().unwrap()).unwrap();
            drop(log);
            let log = open(&scratch.0).unwrap();
            assert_eq!((log.base_number(), log.len()), (Some(Some(4)), 1));
        });
    }
}

#[test]
fn logs_and_what_they_give_go_to_other_threads() {
    fn go<T: Send>() {}
    go::<(Log, log::Base, log::Finished, log::Parts, log::Records)>();
}

#[test]
fn a_base_is_refused_in_words_where_there_can_be_none() {
    let scratch = Scratch::new();
    let mut log = open(&scratch.0).unwrap();
    (0..3).for_each(|number| log.append(number, Kind::Change, "", b"").unwrap());
    let text = log.begin_base(Some(3)).err().unwrap().to_string();
    assert!(text.ends_with("no base goes up to record 3: the log has nothing to record 2"), "{text}");
    log.append(2, Kind::Whole, "", b"all").unwrap();
    let text = log.begin_base(Some(1)).err().unwrap().to_string();
    assert!(text.ends_with("no base goes up to record 1: the log has record 2 to record 2"), "{text}");
    let base = log.begin_base(Some(2)).unwrap();
    let text = log.begin_base(Some(2)).err().unwrap().to_string();
    assert!(text.ends_with("no base is begun while another one is being written, or waits to be adopted"), "{text}");
    drop(base);
    assert!(fs::read_dir(&scratch.0).unwrap().all(|entry| entry.unwrap().path().extension() != Some("part".as_ref())));
    let other = Scratch::new();
    let strange = open(&other.0).unwrap().begin_base(None).unwrap().finish().unwrap();
    let text = log.adopt(strange).unwrap_err().to_string();
    assert!(text.contains("no base of another log"), "{text}");
    // The writer of a base holds the folder, whoever else let it go.
    let base = log.begin_base(Some(2)).unwrap();
    drop(log);
    assert!(matches!(open(&scratch.0).err().unwrap(), Error::Locked { .. }));
    drop(base);
    assert_eq!(open(&scratch.0).unwrap().base_number(), None);
}

#[test]
fn numbers_follow_one_another() {
    let scratch = Scratch::new();
    let mut log = open(&scratch.0).unwrap();
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
    let log = open(&scratch.0).unwrap();
    let text = open(&scratch.0).err().unwrap().to_string();
    assert!(text.contains("in use") && text.contains(scratch.0.to_str().unwrap()), "{text}");
    drop(log);
    assert!(open(&scratch.0).is_ok());
}

#[test]
fn other_folders_and_formats_are_refused_in_words() {
    let scratch = Scratch::new();
    fs::create_dir_all(&scratch.0).unwrap();
    put(scratch.0.join("batch-000000000000.arrow"), b"rows");
    let text = open(&scratch.0).err().unwrap().to_string();
    assert!(text.contains("batch-000000000000.arrow but no MANIFEST.json"), "{text}");
    put(scratch.0.join("MANIFEST.json"), "{\"format\": 7}");
    let text = open(&scratch.0).err().unwrap().to_string();
    assert!(text.contains("is of format 7, this version reads format 3"), "{text}");
}

/// Files of any content are read or refused, by an owner as by a reader.
#[test]
fn strangers_bytes_are_read_or_refused() {
    let scratch = Scratch::new();
    drop(open(&scratch.0).unwrap());
    let mut dice = Rng::with_seed(9);
    let (other, ..) = written(3);
    let good = fs::read(&other.segments()[0]).unwrap();
    for _ in 0..3000 {
        let mut made = if dice.bool() { bytes(&mut dice, 120) } else { good.clone() };
        for _ in 0..dice.u64(..5) {
            let at = dice.u64(..made.len() as u64 + 1) as usize;
            match dice.u64(..3) {
                0 => made.truncate(at),
                1 => made.splice(at..at, bytes(&mut dice, 50)).for_each(drop),
                _ => made.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 255),
            }
        }
        let cut = dice.u64(..made.len() as u64 + 1) as usize;
        for (place, bytes) in [&made[..cut], &made[cut..]].into_iter().enumerate() {
            put(scratch.0.join(format!("segment-{place:012}.log")), bytes);
            if bytes.is_empty() {
                fs::remove_file(scratch.0.join(format!("segment-{place:012}.log"))).unwrap();
            }
        }
        let found = read_all(&scratch.0);
        let opened = open(&scratch.0).and_then(|log| log.read().collect::<Result<Vec<_>, _>>());
        match (found, opened) {
            (Ok(found), Ok(opened)) => {
                assert!(found.iter().map(|record| record.body.len()).sum::<usize>() <= made.len());
                assert_eq!(found, opened);
            }
            (Err(_), Err(_)) => {}
            (found, opened) => panic!("read: {found:?}, opened: {opened:?}"),
        }
    }
}

/// A log of this many batches opens at the cost of looking at each head; no file stays open behind the reader.
#[test]
fn seventy_thousand_records_are_opened_and_read() {
    let scratch = Scratch::new();
    drop(open(&scratch.0).unwrap());
    // Written at once: each append waits for the disk.
    let bytes: Vec<u8> = (0..70_000u64)
        .flat_map(|number| encode(number, Kind::Change, "note", &number.to_le_bytes()).unwrap())
        .collect();
    put(scratch.0.join("segment-000000000000.log"), bytes);
    let log = open(&scratch.0).unwrap();
    assert_eq!((log.last(), log.len()), (Some(69_999), 70_000));
    assert!(read(&log).iter().enumerate().all(|(at, record)| record.body == (at as u64).to_le_bytes()));
}
