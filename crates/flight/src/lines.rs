//! What the scripts of a login have said: the last lines of it, for those of its calls that ask.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::sync::watch;

use graph::lock;

/// Bytes of text that are kept; what is older goes.
const KEPT_BYTES: usize = 1 << 20;
/// Bytes that a line counts beside its text.
const EACH: usize = 64;
/// Bytes of one line; what is longer is cut.
const LINE: usize = 64 << 10;
/// Lines that are taken at once.
const TAKEN: usize = 256;

/// How a line is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Output,
    Error,
}

impl Level {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Level::Output => "STDOUT",
            Level::Error => "STDERR",
        }
    }
}

#[derive(Clone)]
pub(crate) struct Line {
    pub(crate) micros: i64,
    pub(crate) level: Level,
    pub(crate) text: String,
}

#[derive(Default)]
struct Held {
    lines: VecDeque<Line>,
    bytes: usize,
    /// The number of the first line that is kept.
    first: u64,
    /// When the last line came.
    last: i64,
}

/// The last lines.
#[derive(Default)]
pub(crate) struct Logs {
    held: Mutex<Held>,
    pub(crate) changed: watch::Sender<()>,
}

impl Logs {
    /// Keeps a line. No two have one time, so that a client can say which it has seen.
    pub(crate) fn note(&self, level: Level, text: &str) {
        let end = (0..=LINE.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        let text = if end < text.len() { format!("{}…", &text[..end]) } else { text.to_owned() };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as i64;
        let mut held = lock(&self.held);
        let micros = now.max(held.last + 1);
        held.last = micros;
        held.bytes += text.len() + EACH;
        held.lines.push_back(Line { micros, level, text });
        while held.bytes > KEPT_BYTES {
            let Some(line) = held.lines.pop_front() else { break };
            held.bytes -= line.text.len() + EACH;
            held.first += 1;
        }
        drop(held);
        self.changed.send_replace(());
    }

    /// Lines from this number on, with the number of the first of them.
    pub(crate) fn since(&self, from: u64) -> (u64, Vec<Line>) {
        let held = lock(&self.held);
        let first = held.first.max(from);
        let lines = held.lines.iter().skip((first - held.first) as usize).take(TAKEN);
        (first, lines.cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_and_no_two_have_one_time() {
        let logs = Logs::default();
        for number in 0..100_000 {
            logs.note(Level::Output, &format!("line {number}"));
        }
        let (first, lines) = logs.since(0);
        assert!(first > 80_000, "{first}");
        assert_eq!(lines.len(), TAKEN);
        assert_eq!(lines[0].text, format!("line {first}"));
        assert!(lines.is_sorted_by(|one, two| one.micros < two.micros));
        assert!(lock(&logs.held).bytes <= KEPT_BYTES);
        assert_eq!(logs.since(100_000).1.len(), 0);
    }

    #[test]
    fn a_long_line_is_cut_between_two_letters() {
        let logs = Logs::default();
        logs.note(Level::Error, &format!("a{}", "ü".repeat(LINE)));
        let (_, lines) = logs.since(0);
        assert!(lines[0].text.len() <= LINE + '…'.len_utf8() && lines[0].text.ends_with("ü…"));
        assert_eq!(lines[0].level.name(), "STDERR");
    }
}
