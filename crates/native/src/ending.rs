//! The end of the process. When Python ends, a thread that wants the GIL is ended on the spot, through whatever stands on
//! its stack; ours would abort the process. So whoever ends the program waits until no thread is on its way into Python
//! through us, or inside a user's function, and whoever comes later waits for the end.

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use graph::lock;
use pyo3::prelude::*;

/// How often a wait looks.
const LOOK: Duration = Duration::from_millis(1);

/// Threads on their way into Python, or inside a function, in this process.
static INSIDE: AtomicUsize = AtomicUsize::new(0);
static PROCESS: AtomicU32 = AtomicU32::new(0);
static CLOSED: AtomicBool = AtomicBool::new(false);
static CLOSER: Mutex<Option<ThreadId>> = Mutex::new(None);
/// Calls that were interrupted and are not over, and whether there are any.
static INTERRUPTED: Mutex<Vec<u64>> = Mutex::new(Vec::new());
static ANY_INTERRUPTED: AtomicBool = AtomicBool::new(false);
static FUNCTIONS: Mutex<Vec<Running>> = Mutex::new(Vec::new());

/// A user's function that runs.
struct Running {
    number: usize,
    name: String,
    /// Its thread, as Python counts threads.
    thread: u64,
    /// The call of the engine for which it runs.
    call: u64,
    /// Whether it was told to end.
    interrupted: bool,
}

thread_local! {
    /// How often this thread is inside: a function may call us in turn.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// A thread on its way into Python, until dropped.
pub struct Inside {
    process: u32,
}

impl Inside {
    /// Once the program has ended its own, this never returns, but for a thread that is inside already: whoever ends the
    /// program waits for it.
    pub fn enter() -> Inside {
        let process = std::process::id();
        if PROCESS.swap(process, Ordering::SeqCst) != process {
            // The child of a fork has none of its parent's threads.
            INSIDE.store(0, Ordering::SeqCst);
        }
        INSIDE.fetch_add(1, Ordering::SeqCst);
        let already = DEPTH.get() > 0;
        if !already && CLOSED.load(Ordering::SeqCst) && *lock(&CLOSER) != Some(std::thread::current().id()) {
            INSIDE.fetch_sub(1, Ordering::SeqCst);
            loop {
                std::thread::park();
            }
        }
        DEPTH.set(DEPTH.get() + 1);
        Inside { process }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
        // A child of a fork inside a function counts from nought: what was entered before is its parent's.
        if PROCESS.load(Ordering::SeqCst) == self.process {
            INSIDE.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

/// Runs without the GIL.
pub fn detached<R: Send>(py: Python<'_>, run: impl FnOnce() -> R + Send) -> R {
    let (done, _back) = py.detach(|| (run(), Inside::enter()));
    done
}

/// A function that runs on this thread, until dropped.
pub struct Function(usize);

impl Function {
    pub fn runs(py: Python<'_>, name: &str) -> PyResult<Function> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let (name, thread, call) = (name.to_owned(), ident(py)?, graph::signals::call());
        lock(&FUNCTIONS).push(Running { number, name, thread, call, interrupted: false });
        Ok(Function(number))
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        let mut functions = lock(&FUNCTIONS);
        let Some(at) = functions.iter().position(|running| running.number == self.0) else { return };
        let done = functions.swap_remove(at);
        drop(functions);
        if done.interrupted {
            // What came too late for it is for nobody else.
            Python::attach(|py| raise_in(py, done.thread, false));
        }
    }
}

/// Whoever called is interrupted while it waits: so are the functions that other threads run for it, between two steps of
/// their own.
pub fn interrupt_others(py: Python<'_>) {
    let (call, own) = (graph::signals::call(), ident(py).unwrap_or_default());
    lock(&INTERRUPTED).push(call);
    ANY_INTERRUPTED.store(true, Ordering::SeqCst);
    let theirs = |running: &&mut Running| running.call == call && running.thread != own;
    let mut told = Vec::new();
    for running in lock(&FUNCTIONS).iter_mut().filter(theirs) {
        running.interrupted = true;
        told.push(running.thread);
    }
    told.into_iter().for_each(|thread| raise_in(py, thread, true));
}

/// Whether the call for which this thread works was interrupted: then no function need begin for it.
pub fn is_interrupted() -> bool {
    ANY_INTERRUPTED.load(Ordering::SeqCst) && lock(&INTERRUPTED).contains(&graph::signals::call())
}

/// The call for which this thread works is over.
pub fn is_over() {
    if ANY_INTERRUPTED.load(Ordering::SeqCst) {
        let (call, mut interrupted) = (graph::signals::call(), lock(&INTERRUPTED));
        interrupted.retain(|other| *other != call);
        ANY_INTERRUPTED.store(!interrupted.is_empty(), Ordering::SeqCst);
    }
}

/// `KeyboardInterrupt` in a thread of Python's; or what was to be raised there is raised no more.
fn raise_in(py: Python<'_>, thread: u64, raises: bool) {
    // What waited for this thread itself may come just now: then it has come.
    let Ok(graph) = py.import("tickframe.graph") else { return };
    let _ = graph.call_method1("_raise_in", (thread, raises));
}

/// This thread's number in Python's `threading`.
pub fn ident(py: Python<'_>) -> PyResult<u64> {
    thread_local! {
        static IDENT: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
    }
    if IDENT.get() == 0 {
        IDENT.set(py.import("threading")?.call_method0("get_ident")?.extract()?);
    }
    Ok(IDENT.get())
}

/// Waits until `over`, or so long, or until a signal comes.
fn wait(seconds: f64, over: impl Fn() -> bool) {
    let until = Instant::now() + Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX / 4);
    let mut looks = 0_u32;
    while !over() && Instant::now() < until {
        std::thread::sleep(LOOK);
        looks += 1;
        if looks.is_multiple_of(50) && Python::attach(|py| py.check_signals()).is_err() {
            return;
        }
    }
}

fn is_empty() -> bool {
    PROCESS.load(Ordering::SeqCst) != std::process::id() || INSIDE.load(Ordering::SeqCst) == 0
}

/// Ends every graph's thread, and waits so many seconds at most until all have ended.
pub fn stop(py: Python<'_>, seconds: f64) {
    py.detach(|| {
        graph::stop_threads();
        wait(seconds, || graph::running_threads() == 0);
    });
}

/// From here on no other thread comes back into Python. Waits for functions that run, for so many seconds at most; those
/// that still do: name, and thread as `threading.get_ident` has it.
#[pyfunction]
pub fn end_functions(py: Python<'_>, seconds: f64) -> Vec<(String, u64)> {
    py.detach(|| {
        *lock(&CLOSER) = Some(std::thread::current().id());
        CLOSED.store(true, Ordering::SeqCst);
        wait(seconds, is_empty);
    });
    running()
}

fn running() -> Vec<(String, u64)> {
    if is_empty() {
        return Vec::new();
    }
    lock(&FUNCTIONS).iter().map(|running| (running.name.clone(), running.thread)).collect()
}
