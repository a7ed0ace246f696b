//! The law of crashes: whatever a log does as the power goes, and however the disk failed before, what was acknowledged
//! is there, once, in order; what was not is there whole or not at all; and a second crash changes nothing of that.
//!
//! `TICKFRAME_SEED` is the first seed, `TICKFRAME_SEEDS` how many there are.
#![allow(clippy::unwrap_used, reason = "a test says by its panic what went wrong")]

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fastrand::Rng;
use log::testing::{Faults, Simulated, State, bytes};
use log::{Base, Disk, Error, Finished, Log, Part, Record};

#[path = "../common/mod.rs"]
mod common;

use common::{draw, drawn, entries, kept, parted};

const FOLDER: &str = "/deep/log";
const STEPS: usize = 24;

/// What is in a base up to this record: it follows from the number.
fn parts_of(number: Option<u64>) -> Vec<Part> {
    let mut dice = Rng::with_seed(number.map_or(1, |number| number + 2) * 77);
    let part = |_| Part { note: format!("part of {number:?}"), body: bytes(&mut dice, 900) };
    (0..number.map_or(1, |number| number % 4)).map(part).collect()
}

/// What a log holds.
#[derive(Clone, PartialEq, Eq, Debug)]
struct View {
    base: Option<Option<u64>>,
    parts: Vec<Part>,
    records: Vec<Record>,
    last: Option<u64>,
    len: u64,
    bytes: (u64, u64),
}

fn view(log: &Log) -> Result<View, Error> {
    Ok(View {
        base: log.base_number(),
        parts: log.parts().collect::<Result<_, _>>()?,
        records: log.read().collect::<Result<_, _>>()?,
        last: log.last(),
        len: log.len(),
        bytes: (log.base_bytes(), log.change_bytes()),
    })
}

/// Whether a log that holds this is one to which these records were appended, the last that holds all there is and those
/// behind it.
fn is_of(view: &View, records: &[Record]) -> bool {
    let (behind, parts) = match view.base {
        None => (records.to_vec(), Vec::new()),
        Some(base) => {
            let behind = records.iter().filter(|record| Some(record.number) > base).cloned().collect();
            (behind, parts_of(base))
        }
    };
    view.records == behind
        && view.parts == parts
        && view.last == records.last().map(|record| record.number)
        && view.len == behind.len() as u64
}

/// Whether a folder with a base says that it may have one.
fn says_what_it_is(disk: &Simulated) -> std::io::Result<bool> {
    let folder = Path::new(FOLDER);
    let is_base = |path: &PathBuf| {
        let name = path.to_string_lossy();
        name.contains("/base-") && name.ends_with(".log")
    };
    if !disk.list(folder)?.iter().any(is_base) {
        return Ok(true);
    }
    let mut text = String::new();
    disk.open(&folder.join("MANIFEST.json"))?.read_to_string(&mut text)?;
    Ok(text == "{\"format\": 3}\n")
}

/// A run: a log, its disk, and what it may hold.
struct Run {
    dice: Rng,
    disk: Simulated,
    faults: Faults,
    log: Option<Log>,
    base: Option<(Base, std::vec::IntoIter<Part>)>,
    finished: Option<Finished>,
    /// The records that were acknowledged; behind them, those that were acknowledged or not.
    sure: Vec<Record>,
    unsure: Option<Vec<Record>>,
    /// A moment in the middle of what was done last, and what a log may hold then.
    middle: Option<(State, Vec<Vec<Record>>)>,
    images: u64,
}

impl Run {
    fn new(seed: u64) -> Run {
        let mut dice = Rng::with_seed(seed);
        let faults = if seed.is_multiple_of(2) { Faults::None } else { Faults::OneIn(6 + dice.u64(..30)) };
        let disk = Simulated::new(State::new(), seed);
        let (log, base, finished) = (None, None, None);
        let (sure, unsure, middle) = (Vec::new(), None, None);
        Run { dice, disk, faults, log, base, finished, sure, unsure, middle, images: 0 }
    }

    /// What a log may hold in a crash now.
    fn may_be(&self) -> Vec<Vec<Record>> {
        std::iter::once(&self.sure).chain(&self.unsure).cloned().collect()
    }

    /// Loses power at these moments, opens what is left, and loses power while that is opened.
    fn crash(&mut self, moments: Vec<State>, may_be: &[Vec<Record>]) {
        for moment in moments {
            for _ in 0..2 {
                let image = Simulated::new(moment.crashed(&mut self.dice), 0);
                image.record();
                let found = self.opened(&image, may_be);
                let mut later = image.recorded();
                let last = later.pop().unwrap();
                if !later.is_empty() {
                    let at = self.dice.u64(..later.len() as u64) as usize;
                    let image = Simulated::new(later.swap_remove(at).crashed(&mut self.dice), 0);
                    self.opened(&image, may_be);
                }
                // What was found once stays.
                let image = Simulated::new(last.crashed(&mut self.dice), 0);
                let again = self.opened(&image, may_be);
                assert_eq!(found, again, "what an owner found is gone with the next crash");
            }
        }
    }

    fn opened(&mut self, image: &Simulated, may_be: &[Vec<Record>]) -> View {
        self.images += 1;
        assert!(says_what_it_is(image).unwrap(), "older versions would believe the segments alone");
        let log = Log::open_on(Arc::new(image.clone()), Path::new(FOLDER)).expect("what a crash leaves can be opened");
        let view = view(&log).expect("what a crash leaves can be read");
        assert!(may_be.iter().any(|records| is_of(&view, records)), "found {view:#?}\nof {may_be:#?}");
        view
    }

    /// Does something to the log, and loses power at each of its operations.
    fn with<R>(&mut self, may_be: &[Vec<Record>], run: impl FnOnce(&mut Run) -> R) -> R {
        self.disk.record();
        self.disk.set_faults(self.faults);
        let answer = run(self);
        self.disk.set_faults(Faults::None);
        let moments = self.disk.recorded();
        let at = self.dice.u64(..moments.len() as u64) as usize;
        self.middle = Some((moments[at].clone(), may_be.to_vec()));
        self.crash(moments, may_be);
        answer
    }

    fn open(&mut self) {
        let may_be = self.may_be();
        loop {
            let disk = Arc::new(self.disk.clone());
            match self.with(&may_be, |_| Log::open_on(disk, Path::new(FOLDER))) {
                Ok(log) => {
                    let found = view(&log).unwrap();
                    let is = may_be.into_iter().find(|records| is_of(&found, records));
                    self.sure = is.unwrap_or_else(|| panic!("an owner finds {found:#?}"));
                    (self.unsure, self.log) = (None, Some(log));
                    return;
                }
                Err(error) => assert!(matches!(error, Error::Io { .. }), "{error}"),
            }
        }
    }

    /// The writer is gone, now or in the middle of what it did last; its disk is not, or loses power as well.
    fn end(&mut self) {
        (self.log, self.base, self.finished) = (None, None, None);
        let mut state = self.disk.state();
        if let Some((middle, mut may_be)) = self.middle.take().filter(|_| self.dice.u64(..2) == 0) {
            self.unsure = (may_be.len() > 1).then(|| may_be.remove(1));
            self.sure = may_be.swap_remove(0);
            state = middle;
        }
        if self.dice.u64(..2) == 0 {
            state = state.crashed(&mut self.dice);
        }
        self.disk = Simulated::new(state, self.dice.u64(..1 << 30));
    }

    fn log(&mut self) -> &mut Log {
        self.log.as_mut().unwrap()
    }

    fn append(&mut self) {
        let mut records: Vec<Record> = Vec::new();
        let mut last = self.log().last();
        let some = if self.dice.u64(..3) == 0 { self.dice.u64(..5) } else { 1 };
        for _ in 0..some {
            let mut record = draw(&mut self.dice, last);
            match self.dice.u64(..6) {
                0 => record.body = bytes(&mut self.dice, 3000),
                1 => record.body = vec![0; self.dice.u64(..3000) as usize],
                2 => record.body.resize(record.body.len() + self.dice.u64(..1500) as usize, 0),
                _ => {}
            }
            last = Some(record.number);
            records.push(record);
        }
        let mut after = self.sure.clone();
        records.iter().for_each(|record| kept(&mut after, record.clone()));
        let parts = parted(&records, &mut self.dice);
        let entries = entries(&records, &parts);
        let was_broken = self.log().is_broken();
        let mut may_be = self.may_be();
        if !was_broken {
            may_be.push(after.clone());
        }
        match self.with(&may_be, |run| run.log().append_all(&entries)) {
            Ok(()) if some == 0 => {}
            Ok(()) => {
                assert!(!was_broken);
                self.sure = after;
            }
            Err(Error::Broken { .. }) => assert!(was_broken),
            Err(error) => {
                assert!(!was_broken && matches!(error, Error::Io { .. }), "{error}");
                self.unsure = self.log().is_broken().then_some(after);
            }
        }
    }

    /// The next thing that happens to a base.
    fn base(&mut self) {
        let may_be = self.may_be();
        if let Some(finished) = self.finished.take() {
            if self.dice.u64(..4) > 0 {
                self.with(&may_be, |run| run.log().adopt(finished)).unwrap_or_else(is_io);
            }
        } else if let Some((mut base, mut parts)) = self.base.take() {
            match self.dice.u64(..8) {
                0 => self.with(&may_be, |_| drop(base)),
                _ => {
                    let ended = self.with(&may_be, |run| match parts.next() {
                        Some(part) => {
                            let (some, more) = part.body.split_at(part.body.len() / 2);
                            base.push(&part.note, &[some, b"", more])?;
                            run.base = Some((base, parts));
                            Ok(())
                        }
                        None => {
                            run.finished = Some(base.finish()?);
                            Ok(())
                        }
                    });
                    ended.unwrap_or_else(is_io);
                }
            }
        } else {
            let sure: Vec<Option<u64>> = self.sure.iter().map(|record| Some(record.number)).collect();
            let number = match self.dice.u64(..4) {
                0 if !sure.is_empty() => sure[self.dice.u64(..sure.len() as u64) as usize],
                1 => None,
                _ => self.log().last(),
            };
            match self.with(&may_be, |run| run.log().begin_base(number)) {
                Ok(base) => self.base = Some((base, parts_of(number).into_iter())),
                Err(Error::Base { .. }) => {
                    let log = self.log();
                    let begun = log.base_number().flatten().or(log.read().next().map(|first| first.unwrap().number));
                    assert!(number < begun, "there is no base up to {number:?}");
                }
                Err(error) => is_io(error),
            }
        }
    }

    fn mend(&mut self) {
        let may_be = self.may_be();
        match self.with(&may_be, |run| run.log().mend()) {
            Ok(()) => {
                assert!(!self.log().is_broken());
                self.unsure = None;
            }
            Err(error) => is_io(error),
        }
    }

    fn step(&mut self) {
        match self.dice.u64(..20) {
            0..11 => self.append(),
            11..15 => self.base(),
            15..17 => self.mend(),
            17 | 18 => {
                self.end();
                self.open();
            }
            _ => {
                // What is read from a disk that fails is what there is, up to an error.
                self.disk.set_faults(self.faults);
                let found: Vec<_> = self.log().read().collect();
                self.disk.set_faults(Faults::None);
                let whole: Vec<_> = self.log().read().map(Result::unwrap).collect();
                for (at, record) in found.into_iter().enumerate() {
                    record.map(|record| assert_eq!(record, whole[at])).unwrap_or_else(is_io);
                }
            }
        }
        let found = view(self.log()).unwrap();
        assert!(is_of(&found, &self.sure), "it holds {found:#?}\nof {:#?}", self.sure);
    }
}

fn is_io(error: Error) {
    assert!(matches!(error, Error::Io { .. }), "{error}");
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn a_crash_at_any_moment_loses_and_doubles_nothing() {
    let first = number("TICKFRAME_SEED").unwrap_or(0);
    let (next, images) = (AtomicU64::new(first), AtomicU64::new(0));
    let end = first + number("TICKFRAME_SEEDS").unwrap_or(300);
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= end {
                return;
            }
            let run = || {
                drawn(seed, || {
                    let mut run = Run::new(seed);
                    run.open();
                    (0..STEPS).for_each(|_| run.step());
                    images.fetch_add(run.images, Ordering::Relaxed);
                })
            };
            if let Err(failed) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) {
                eprintln!("TICKFRAME_SEED={seed} TICKFRAME_SEEDS=1");
                std::panic::resume_unwind(failed);
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    println!("{} crashes", images.load(Ordering::Relaxed));
}
