//! The thread that writes: records of all steps that wait, by one write and one sync.
//!
//!   step 7 stored    waits       written        synced: whoever waits for step 7 goes on
//!   step 8 stored                waits          written ...
//!
//! What a step stores becomes bytes while the step goes on: when it is over they are written at once.
//!
//! If the disk fails, what waits stays in memory and is tried again; calls are refused and waits end with the error until the
//! disk works again.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::observe::events::{self, Level};
use engine::sources::Stored;
use graph::{Step, WeakGraph, lock};
use log::{Body, Entry, Kind, Log};

use crate::catalog::STEP;
use crate::cells::Draft;
use crate::change::Change;
use crate::error::{Error, os_error};
use crate::sizes::AGAIN_AFTER;

/// How often a waiting thread looks up.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Records that one write takes, and bytes of rows after which it takes no more.
const RECORDS: usize = 1024;
const GROUP_BYTES: u64 = 16 << 20;

/// The folder of a graph, as its threads share it.
pub(crate) struct Shared {
    pub(crate) path: PathBuf,
    pub(crate) graph: WeakGraph,
    log: Mutex<Option<Log>>,
    state: Mutex<State>,
    /// Something is on disk, or cannot be written: what those look for who wait.
    changed: Condvar,
    /// There is something to do for the thread that writes.
    work: Condvar,
}

#[derive(Default)]
struct State {
    /// Steps that stored rows which are not on disk.
    open: BTreeSet<u64>,
    /// What the running step has stored so far.
    storing: BTreeMap<u64, Vec<Stored>>,
    /// Steps that are over and wait for the disk.
    waiting: VecDeque<Ended>,
    /// Bytes of what waits.
    bytes: u64,
    /// Records of steps behind the base: the step, and the number of its record.
    written: VecDeque<(u64, u64)>,
    trouble: Option<Trouble>,
    closing: bool,
}

/// What the thread that writes does next.
enum Work {
    /// These steps are over.
    Write(Vec<Ended>),
    /// A step that goes on stored this, behind what of it is encoded already.
    Encode(u64, Box<Stored>),
}

/// A step that is over.
struct Ended {
    step: u64,
    stored: Vec<Stored>,
    /// Bytes of its rows.
    bytes: u64,
}

/// Why what is stored is not on disk.
#[derive(Clone)]
struct Trouble {
    text: String,
    /// What becomes of it.
    remedy: &'static str,
    path: String,
    errno: Option<i32>,
}

impl Trouble {
    fn error(&self, operation: &str, message: String) -> engine::Error {
        let Trouble { path, errno, .. } = self.clone();
        engine::Error::Storage { operation: operation.into(), message, path, errno }
    }
}

impl Shared {
    pub(crate) fn new(log: Log, graph: WeakGraph) -> Arc<Shared> {
        Arc::new(Shared {
            path: log.path().to_path_buf(),
            graph,
            log: Mutex::new(Some(log)),
            state: Mutex::default(),
            changed: Condvar::new(),
            work: Condvar::new(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Runs with the log, which is nobody else's meanwhile.
    pub(crate) fn with_log<R>(&self, run: impl FnOnce(&mut Log) -> Result<R, Error>) -> Result<R, Error> {
        let mut log = lock(&self.log);
        match &mut *log {
            Some(log) => run(log),
            None => Err(closed(&self.path)),
        }
    }

    /// Makes one record durable.
    pub(crate) fn append(&self, note: &str, body: &[&[u8]]) -> Result<(), Error> {
        self.with_log(|log| append(log, &[(note, body)]).map(|_| ()))
    }

    /// A source stored something in the running step.
    pub(crate) fn stored(self: &Arc<Self>, stored: Stored) {
        let mut state = self.lock();
        let step = stored.step.number();
        if state.closing {
            // Its rows are visible, and never will be on disk: whoever waits for them is told.
            state.open.insert(step);
            state.trouble.get_or_insert(self.lasting("the durable graph was closed before", "open the folder anew"));
            return;
        }
        let first = state.open.insert(step);
        state.storing.entry(step).or_default().push(stored);
        drop(state);
        self.work.notify_one();
        if let (true, Some(graph)) = (first, self.graph.upgrade()) {
            let shared = self.clone();
            graph.after_step(Box::new(move |ended: Step| shared.seal(ended.number())));
        }
    }

    /// The step is over: what it stored waits for the disk.
    fn seal(&self, step: u64) {
        let mut state = self.lock();
        while let Some(entry) = state.storing.first_entry().filter(|entry| *entry.key() <= step) {
            let (step, stored) = entry.remove_entry();
            let bytes = stored.iter().map(bytes).sum();
            state.bytes += bytes;
            state.waiting.push_back(Ended { step, stored, bytes });
        }
        drop(state);
        self.work.notify_one();
    }

    /// Whether a call may be queued. Where so much waits for the disk that memory would fill, the call waits as well, if its
    /// thread may.
    pub(crate) fn admit(&self, operation: &str) -> Result<(), engine::Error> {
        let mut state = self.lock();
        loop {
            if state.closing {
                let message = format!("the durable graph of {} was closed; it takes no more rows", self.path.display());
                return Err(engine::Error::InvalidOperation { operation: operation.into(), message });
            }
            if let Some(trouble) = &state.trouble {
                let message = format!(
                    "nothing was queued, because what came before cannot be written: {}; {}",
                    trouble.text, trouble.remedy
                );
                return Err(trouble.error(operation, message));
            }
            let may_wait = || self.graph.upgrade().is_some_and(|graph| graph.may_wait().is_ok());
            if state.bytes <= crate::sizes::WAITING_BYTES.rows() || !may_wait() {
                return Ok(());
            }
            state = self.wait_for_change(state, LOOK_EVERY);
            drop(state);
            engine::interrupt::check()?;
            state = self.lock();
        }
    }

    fn wait_for_change<'a>(&self, state: MutexGuard<'a, State>, most: Duration) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, most).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Waits until what was stored up to `step` is on disk.
    pub(crate) fn wait(
        &self,
        step: u64,
        timeout: Option<Duration>,
        poll: &mut dyn FnMut() -> bool,
    ) -> Result<(), engine::Error> {
        let deadline = timeout.map(|timeout| graph::env::now() + timeout);
        let mut state = self.lock();
        loop {
            if state.open.range(..=step).next().is_none() {
                return Ok(());
            }
            if let Some(trouble) = &state.trouble {
                let Trouble { text, remedy, .. } = trouble;
                let message = format!("the rows are visible, but not on disk: {text}; {remedy}");
                return Err(trouble.error("wait", message));
            }
            let left = deadline.map_or(LOOK_EVERY, |deadline| deadline.saturating_duration_since(graph::env::now()));
            if left.is_zero() {
                drop(state);
                let message = "the rows are visible, but were not on disk in time; wait longer".to_owned();
                return Err(engine::Error::Timeout { operation: "wait".into(), message });
            }
            state = self.wait_for_change(state, left.min(LOOK_EVERY));
            drop(state);
            if !poll() {
                return Err(engine::Error::Graph(graph::GraphError::Interrupted { step: Step::new(step) }));
            }
            state = self.lock();
        }
    }

    /// The last record whose steps are all part of the tables as they are at `moment`; none before the first record. What was
    /// stored up to then must be on disk.
    pub(crate) fn record_at(&self, moment: u64, last: Option<u64>) -> Option<u64> {
        let state = self.lock();
        match state.written.iter().find(|(step, _)| *step > moment) {
            Some((_, number)) => number.checked_sub(1),
            None => last,
        }
    }

    /// Records up to this one are part of the base.
    pub(crate) fn based(&self, number: Option<u64>) {
        let mut state = self.lock();
        while state.written.front().is_some_and(|(_, written)| number.is_some_and(|number| *written <= number)) {
            state.written.pop_front();
        }
    }

    /// Lets the thread come to its end: what waits is written, and the folder let go.
    pub(crate) fn close(&self) {
        self.lock().closing = true;
        self.work.notify_all();
        self.changed.notify_all();
    }

    /// Lets the folder go. An error if something could not be written.
    pub(crate) fn let_go(&self) -> Result<(), Error> {
        let log = lock(&self.log).take();
        drop(log);
        let state = self.lock();
        match (&state.trouble, state.open.is_empty()) {
            (Some(trouble), false) => {
                let message = format!("rows of {} steps are not on disk: {}", state.open.len(), trouble.text);
                Err(Error::Engine(trouble.error("close", message)))
            }
            _ => Ok(()),
        }
    }

    /// What the thread does until it is closed. `grown` is called after each write.
    pub(crate) fn run(self: &Arc<Self>, grown: impl Fn()) {
        let mut made = Made::new();
        while let Some(work) = self.next(&made) {
            let steps = match work {
                Work::Write(steps) => steps,
                Work::Encode(step, stored) => {
                    made.entry(step).or_default().push(encoded(*stored));
                    continue;
                }
            };
            let mut bodies = Vec::with_capacity(steps.len());
            let (mut freed, mut unwritable) = (0, None);
            for Ended { step, stored, bytes } in steps {
                freed += bytes;
                match body(step, stored, &mut made) {
                    Ok(body) => bodies.push((step, body)),
                    Err(what) => {
                        unwritable = Some(format!("step {step} has no form on disk: {what}"));
                        break;
                    }
                }
            }
            if !bodies.is_empty() && !self.write(&bodies) {
                return;
            }
            let mut state = self.lock();
            state.bytes = state.bytes.saturating_sub(freed);
            if let Some(what) = &unwritable {
                // Steps behind it change rows that the log does not have: nothing more is written.
                state.trouble = Some(self.lasting(what, "the folder has all steps before it; restore it"));
            }
            drop(state);
            self.changed.notify_all();
            if let Some(what) = unwritable {
                return events::note(Level::Error, format!("durable rows are written no more: {what}"));
            }
            grown();
        }
    }

    /// A trouble that does not pass.
    fn lasting(&self, text: &str, remedy: &'static str) -> Trouble {
        Trouble { text: text.to_owned(), remedy, path: self.path.display().to_string(), errno: None }
    }

    /// The steps that wait, or what a step that goes on has stored and is not encoded, once there is any; none when it is
    /// closed.
    fn next(&self, made: &Made) -> Option<Work> {
        let mut state = self.lock();
        loop {
            if !state.waiting.is_empty() {
                // One write is not so large that a segment outgrows its size by much.
                let (mut most, mut held) = (0, 0);
                for ended in state.waiting.iter().take(RECORDS) {
                    if most > 0 && held >= GROUP_BYTES {
                        break;
                    }
                    held += ended.bytes;
                    most += 1;
                }
                return Some(Work::Write(state.waiting.drain(..most).collect()));
            }
            if state.closing {
                return None;
            }
            // What a step stores is encoded in order.
            let next = state.storing.iter().find_map(|(step, all)| {
                let nth = made.get(step).map_or(0, Vec::len);
                all.get(nth).map(|stored| Work::Encode(*step, Box::new(stored.clone())))
            });
            if next.is_some() {
                return next;
            }
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Writes records until the disk has them. False if it is closed before.
    fn write(&self, bodies: &[(u64, Draft)]) -> bool {
        let parts: Vec<Vec<&[u8]>> = bodies.iter().map(|(_, body)| body.parts()).collect();
        let records: Vec<(&str, &[&[u8]])> = parts.iter().map(|parts| (STEP, parts.as_slice())).collect();
        loop {
            let appended = self.with_log(|log| {
                let first = append(log, &records)?;
                // Noted while the log is held: a base that begins now knows which steps it has.
                let mut state = self.lock();
                for ((step, _), number) in bodies.iter().zip(first..) {
                    state.open.remove(step);
                    state.written.push_back((*step, number));
                }
                state.trouble = None;
                Ok(())
            });
            let mut state = self.lock();
            match appended {
                Ok(()) => return true,
                Err(error) => {
                    let was = state.trouble.is_some();
                    let (path, errno) = match &error {
                        Error::Log(error) => (error.path().display().to_string(), os_error(error)),
                        _ => (self.path.display().to_string(), None),
                    };
                    let remedy = "it is tried again, and goes on when the disk does";
                    state.trouble = Some(Trouble { text: error.to_string(), remedy, path, errno });
                    self.changed.notify_all();
                    if !was {
                        let text = format!("durable rows are not written: {error}; it is tried again");
                        events::note(Level::Warning, text);
                    }
                    if state.closing {
                        return false;
                    }
                    drop(self.wait_for_change(state, Duration::from_millis(AGAIN_AFTER.rows())));
                }
            }
        }
    }
}

fn closed(path: &Path) -> Error {
    Error::refused(path, "the durable graph was closed")
}

/// Makes records durable by one write; the number of the first. A log whose last write failed is mended first.
pub(crate) fn append(log: &mut Log, records: &[(&str, &[&[u8]])]) -> Result<u64, Error> {
    log.mend()?;
    let first = log.last().map_or(0, |last| last + 1);
    let numbered = (first..).zip(records);
    let entries: Vec<Entry<'_>> = numbered
        .map(|(number, (note, body))| Entry { number, kind: Kind::Change, note, body: Body::Parts(body) })
        .collect();
    log.append_all(&entries)?;
    Ok(first)
}

/// What steps have stored as bytes, or why there are none: as much of each as was encoded before it was over.
type Made = BTreeMap<u64, Vec<Result<Draft, String>>>;

/// The record of one step.
fn body(step: u64, stored: Vec<Stored>, made: &mut Made) -> Result<Draft, String> {
    let made = made.remove(&step).unwrap_or_default();
    let left = stored.into_iter().skip(made.len()).map(encoded);
    let mut body = Draft::default();
    made.into_iter().chain(left).try_for_each(|one| one.map(|one| body.append(one)))?;
    Ok(body)
}

/// What was stored as bytes. A panic of what encodes it is an error: the thread that writes must live to say so.
fn encoded(stored: Stored) -> Result<Draft, String> {
    let encode = || {
        let mut draft = Draft::default();
        Change::of(stored).put(&mut draft)?;
        Ok(draft)
    };
    catch_unwind(AssertUnwindSafe(encode)).unwrap_or_else(|_| Err("its rows could not be encoded".to_owned()))
}

fn bytes(stored: &Stored) -> u64 {
    let added = stored.writes.added.iter().flat_map(|(_, cells)| cells);
    let modified = stored.writes.modified.iter().flatten().map(|(_, cells)| cells);
    added.chain(modified).map(|cells| cells.get_array_memory_size() as u64).sum()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use arrow_array::Int64Array;
    use column::Chunk;
    use engine::{TableUpdate, Writes};
    use graph::{Settings, UpdateGraph};
    use rowset::RowSet;

    use super::*;

    /// What a source of two columns stores; columns of unequal length have no form on disk.
    fn stored(step: Step, lengths: [usize; 2]) -> Stored {
        let rows = RowSet::flat(lengths[0] as u64);
        let cells = lengths.map(|len| Arc::new(Int64Array::from(vec![1; len])) as Chunk).to_vec();
        let writes = Writes { added: vec![(rows.clone(), cells)], ..Writes::default() };
        Stored { source: 0, step, writes, update: TableUpdate::of_added(rows), next: 1 }
    }

    #[test]
    fn a_step_that_has_no_form_on_disk_is_told_and_nothing_is_written_behind_it() {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let name = format!("tickframe-writer-{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        let graph = UpdateGraph::new(Settings::default());
        let shared = Shared::new(Log::open(&folder).unwrap(), graph.downgrade());
        let own = shared.clone();
        let thread = std::thread::spawn(move || own.run(|| {}));
        for (step, lengths) in [(1, [2, 2]), (2, [3, 2]), (3, [1, 1])] {
            shared.stored(stored(Step::new(step), lengths));
            graph.step().unwrap();
        }
        let timeout = Some(Duration::from_secs(60));
        let lost = shared.wait(3, timeout, &mut || true).unwrap_err().to_string();
        assert!(lost.contains("step 2 has no form on disk") && lost.contains("restore it"), "{lost}");
        assert!(shared.wait(2, timeout, &mut || true).is_err());
        shared.wait(1, timeout, &mut || true).unwrap();
        let refused = shared.admit("append").unwrap_err().to_string();
        assert!(refused.contains("nothing was queued") && refused.contains("step 2"), "{refused}");
        thread.join().unwrap();
        assert_eq!(shared.with_log(|log| Ok(log.last())).unwrap(), Some(0));
        shared.close();
        assert!(shared.let_go().is_err());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
