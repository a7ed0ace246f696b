//! A case as text: which sizes, threads and parameters, what the inputs were, step by step.
//!
//!   plan 0051ff            the tape that the parameters of the operation were drawn from
//!   sizes 4711             the seed of the sizes in force; 0 for the real ones
//!   graph 2 1 inline 7     threads of steps and of starts, who runs next
//!   input keyed 0 K:str V:int:        kind of the source, its key column, names and types
//!   step 0 + 1 A 2 | - 3   of an input, as it is drawn
//!   cycle                  all steps since the last one settle together
//!   build                  the operation is made, anew if it was
//!
//! A law that fails writes its shrunk case into `tests/regressions`; such files are replayed before anything random. Tables
//! and steps are read from the text, so that a case stays the same when tables are drawn otherwise.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};

use super::tape::to_hex;

thread_local! {
    static TOLD: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
    static LISTENS: Cell<bool> = const { Cell::new(false) };
}

/// What is told while this runs; otherwise nobody listens.
pub(super) fn told_by<R>(run: impl FnOnce() -> R) -> (R, Vec<String>) {
    TOLD.take();
    LISTENS.set(true);
    let result = run();
    LISTENS.set(false);
    (result, TOLD.take())
}

/// One more line of the case.
pub(super) fn tell(line: impl FnOnce() -> String) {
    if LISTENS.get() {
        let line = line();
        TOLD.with_borrow_mut(|told| told.push(line));
    }
}

/// Where cases and tapes of failures are kept.
pub(super) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/regressions")
}

/// Writes a case of this law, with what is wrong with it as remarks; where it is.
pub(super) fn write(law: &str, tape: &[u8], wrong: &str, lines: &[String]) -> Option<PathBuf> {
    let law = law.replace("::", "-");
    // A name that is the same for the same case.
    let mark = lines
        .iter()
        .flat_map(|line| line.bytes())
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    let path = folder().join(format!("{law}.{:08x}.case", mark >> 32));
    let mut text: String = wrong.lines().map(|line| format!("# {line}\n")).collect();
    text += &format!("# tape {}\n", to_hex(tape));
    lines.iter().for_each(|line| text += &format!("{line}\n"));
    std::fs::write(&path, text).ok()?;
    Some(path)
}

/// The kept cases of a law: the path and the lines of each, without remarks.
pub(super) fn kept(law: &str) -> Vec<(PathBuf, Vec<String>)> {
    let prefix = format!("{}.", law.replace("::", "-"));
    let is_kept = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with(&prefix) && name.ends_with(".case")
    };
    let Ok(entries) = std::fs::read_dir(folder()) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| is_kept(path)).collect();
    paths.sort();
    let lines = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
        (path, lines.map(str::to_owned).collect())
    };
    paths.into_iter().map(lines).collect()
}
