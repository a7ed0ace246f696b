//! Runs something over many tapes: kept ones first, then seeds; what fails is shrunk to one line that replays it.
//!
//! | variable | |
//! |---|---|
//! | `TICKFRAME_TAPE` | this tape alone |
//! | `TICKFRAME_SEED` | the first seed; 0 otherwise |
//! | `TICKFRAME_STEPS` | as many seeds as it takes until so many steps of input tables have been made |
//! | `TICKFRAME_SEEDS` | at most so many seeds: what runs beside `scripts/prove.py`, which runs all laws for longer |
//!
//! Lines in `tests/regressions/<test>.txt` are tapes that failed once; they come before anything random.
//!
//! The tape says first which sizes are in force (see [`limits`]): the real ones, or such that small tables walk the paths
//! of large ones.

use std::cell::Cell as Flag;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::sync::{Arc, Once};
use std::time::Duration;

use super::story;
use super::tape::{Tape, shrink, to_hex};

/// Tries of a shrink; each is one run.
const SHRINK_TRIES: usize = 1_500;
const TAPE: &str = "TICKFRAME_TAPE";
const SEED: &str = "TICKFRAME_SEED";
const STEPS: &str = "TICKFRAME_STEPS";
const SEEDS: &str = "TICKFRAME_SEEDS";
/// A case that takes so long hangs.
const PATIENCE: Duration = Duration::from_secs(120);

thread_local! {
    static QUIET: Flag<bool> = const { Flag::new(false) };
    static STEPS_MADE: Flag<u64> = const { Flag::new(0) };
}

/// Counts a step of an input table.
pub fn count_step() {
    STEPS_MADE.set(STEPS_MADE.get() + 1);
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a number, not {text:?}")))
}

/// The sizes of a case; the end of a tape gives the real ones.
fn sizes(tape: &mut Tape) -> limits::Scope {
    let seed = if tape.chance(176) { 1 + tape.below(1 << 16) } else { 0 };
    story::tell(|| format!("sizes {seed}"));
    sizes_of(seed)
}

/// The sizes of this seed, where they are drawn at all.
pub(super) fn sizes_of(seed: u64) -> limits::Scope {
    #[cfg(debug_assertions)]
    let scope = limits::Scope::drawn(seed);
    #[cfg(not(debug_assertions))]
    let scope = limits::Scope::default();
    _ = seed;
    scope
}

/// Runs over this many seeds, or as many as `TICKFRAME_STEPS` asks for.
pub fn explore(runs: u64, run: impl Fn(&mut Tape) -> Result<(), String>) {
    explore_and_replay(runs, run, |_| Err("this law reads no cases, only tapes".into()));
}

/// As [`explore`], for a law whose cases can be written as text (see `story.rs`); `replay` runs such a text.
pub(super) fn explore_and_replay(
    runs: u64,
    run: impl Fn(&mut Tape) -> Result<(), String>,
    replay: impl Fn(&[String]) -> Result<(), String>,
) {
    let name = std::thread::current().name().unwrap_or("law").to_owned();
    let watched = Watchdog::new(&name, PATIENCE);
    let run = |tape: &mut Tape| {
        watched.case_begins();
        let steps = STEPS_MADE.get();
        let done = sizes(tape).enter(|| run(tape));
        if STEPS_MADE.get() == steps {
            count_step();
        }
        done
    };
    if let Ok(text) = std::env::var(TAPE) {
        let mut tape = Tape::from_hex(&text).expect("the tape is a row of hexadecimal digits");
        run(&mut tape).unwrap_or_else(|text| panic!("{text}"));
        return;
    }
    for (line, text) in regressions(&name) {
        let tape = Tape::from_hex(&text);
        let mut tape = tape.unwrap_or_else(|| panic!("line {line} of the regressions is no tape"));
        if let Err(text) = quietly(|| run(&mut tape)) {
            panic!("{name}, regression of line {line}: {text}");
        }
    }
    for (path, lines) in story::kept(&name) {
        if let Err(text) = quietly(|| replay(&lines)) {
            panic!("{name}, {}: {text}", path.display());
        }
    }
    let (first, wanted) = (number(SEED).unwrap_or(0), number(STEPS));
    let runs = runs.min(number(SEEDS).unwrap_or(runs));
    let before = STEPS_MADE.get();
    let mut seed = first;
    while wanted.map_or(seed < first + runs, |steps| STEPS_MADE.get() - before < steps && seed < first + MOST_SEEDS) {
        run_seed(seed, &name, &run);
        seed += 1;
    }
    if wanted.is_some() {
        println!("law {name}: seeds {first}..{seed}, {} steps", STEPS_MADE.get() - before);
    }
}

/// Ends the process where a case hangs, with the name of its law: a hang fails, and nothing waits for it.
struct Watchdog {
    cases: Arc<AtomicU64>,
    /// Closed with the law: the thread ends.
    _open: Sender<()>,
}

impl Watchdog {
    fn new(name: &str, patience: Duration) -> Watchdog {
        let (open, closed) = std::sync::mpsc::channel::<()>();
        let cases = Arc::new(AtomicU64::new(0));
        let (name, seen) = (name.to_owned(), cases.clone());
        let watch = move || {
            let mut known = seen.load(Ordering::Relaxed);
            while closed.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                let now = seen.load(Ordering::Relaxed);
                if std::mem::replace(&mut known, now) == now {
                    eprintln!("{name}: case {now} has not ended within {patience:?}");
                    std::process::abort();
                }
            }
        };
        std::thread::Builder::new().name("watchdog".into()).spawn(watch).expect("a thread for the watchdog");
        Watchdog { cases, _open: open }
    }

    fn case_begins(&self) {
        self.cases.fetch_add(1, Ordering::Relaxed);
    }
}

/// A law that makes no steps ends all the same.
const MOST_SEEDS: u64 = 1 << 32;

fn run_seed(seed: u64, name: &str, run: &impl Fn(&mut Tape) -> Result<(), String>) {
    let mut tape = Tape::seeded(seed);
    if let Err(first) = quietly(|| run(&mut tape)) {
        let fails = |bytes: &[u8]| quietly(|| run(&mut Tape::replay(bytes))).is_err();
        let small = shrink(tape.used(), SHRINK_TRIES, fails);
        let (text, lines) = story::told_by(|| quietly(|| run(&mut Tape::replay(&small))));
        let text = text.err().unwrap_or(first);
        let told = lines.iter().any(|line| line.starts_with("input "));
        let path = if told && !name.contains("testing") { story::write(name, &small, &text, &lines) } else { None };
        let kept = path.map(|path| format!("\n  the case: {}", path.display())).unwrap_or_default();
        let (hex, package) = (hex_or_zero(&small), std::env::var("CARGO_PKG_NAME").unwrap_or_default());
        panic!("seed {seed}: {text}\n  replay: {TAPE}={hex} cargo test --profile ci -p {package} {name}{kept}\n");
    }
}

fn hex_or_zero(bytes: &[u8]) -> String {
    let text = to_hex(bytes);
    if text.is_empty() { "00".into() } else { text }
}

/// The tapes kept for this test: line number and text; what follows a `#` is a remark.
fn regressions(name: &str) -> Vec<(usize, String)> {
    let file = story::folder().join(format!("{}.txt", name.replace("::", "-")));
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let lines = text.lines().enumerate().map(|(at, line)| {
        let tape = line.split('#').next().unwrap_or_default().trim();
        (at + 1, tape.to_owned())
    });
    lines.filter(|(_, tape)| !tape.is_empty()).collect()
}

/// Runs with panics turned into errors, and without their usual noise: a shrink panics often.
fn quietly(run: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !QUIET.with(Flag::get) {
                usual(info);
            }
        }));
    });
    QUIET.with(|quiet| quiet.set(true));
    let result = catch_unwind(AssertUnwindSafe(run));
    QUIET.with(|quiet| quiet.set(false));
    result.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        Err(text
            .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).into()))
            .unwrap_or_else(|| "a panic".into()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::check::run_law;
    use crate::testing::random::any_table;

    #[test]
    fn a_wrong_answer_is_shrunk_to_one_line() {
        let wrong = catch_unwind(|| {
            run_law(
                &[any_table()],
                20,
                |tables| Ok(tables[0].clone()),
                |inputs, _| {
                    if inputs[0].rows.len() > 2 { Err("more than two rows".into()) } else { Ok(()) }
                },
            );
        });
        let text = wrong.expect_err("the judge objects").downcast_ref::<String>().cloned().unwrap_or_default();
        let line = text.lines().find(|line| line.contains("replay: ")).expect("a line that replays");
        assert!(line.len() < 280, "{text}");
        assert!(text.contains("more than two rows"));
        let rows = text.lines().find(|line| line.contains("input")).expect("the input is shown");
        assert!(rows.matches('|').count() <= 6, "shrunk to few rows: {rows}");
    }
}
