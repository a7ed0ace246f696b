//! The memory budget of the process.
//!
//! An allocation that fails aborts the process. So an allocation whose size depends on a number of rows, a length, a
//! formula or a peer is checked against the budget first. The allocator counts large allocations ([`took`], [`gave`]);
//! a request is compared with the rest of the limit: the limit that was set, else four fifths of the memory of the
//! machine and the control group. Large requests are also compared with the limit on address space.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

mod machine;

/// Allocations of so many bytes are counted.
pub const COUNTED: usize = 64 << 10;
/// So many bytes are worth a look at the limit on addresses, which the system is asked for.
const MUCH: u64 = 32 << 20;
/// Addresses that are left to others: stacks of threads, the program's libraries.
const SPARE: u64 = 64 << 20;
/// What stands for "nothing was set".
const UNSET: u64 = 0;

static HELD: AtomicU64 = AtomicU64::new(0);
static SET: AtomicU64 = AtomicU64::new(UNSET);

/// Counts memory that was taken.
#[inline]
pub fn took(bytes: usize) {
    HELD.fetch_add(bytes as u64, Ordering::Relaxed);
}

/// Counts memory that was given back.
#[inline]
pub fn gave(bytes: usize) {
    HELD.fetch_sub(bytes as u64, Ordering::Relaxed);
}

/// Bytes held in large allocations.
pub fn held() -> u64 {
    HELD.load(Ordering::Relaxed)
}

/// How many bytes the process may hold.
pub fn limit() -> u64 {
    match SET.load(Ordering::Relaxed) {
        UNSET => by_default(),
        set => set,
    }
}

/// Four fifths of the memory that the machine, or the control group of the process, has.
fn by_default() -> u64 {
    static DEFAULT: OnceLock<u64> = OnceLock::new();
    *DEFAULT.get_or_init(|| machine::memory().map_or(u64::MAX, |bytes| bytes / 5 * 4))
}

/// Sets the limit, or with none goes back to the machine's, and gives what was set before.
pub fn set_limit(bytes: Option<u64>) -> Option<u64> {
    let before = SET.swap(bytes.map_or(UNSET, |bytes| bytes.max(1)), Ordering::Relaxed);
    (before != UNSET).then_some(before)
}

/// Whether so many more bytes fit; if not, what is missing. To be asked before they are taken.
#[inline]
pub fn ask(need: u64) -> Result<(), Exhausted> {
    let (held, limit) = (held(), limit());
    if held.saturating_add(need) > limit {
        return Err(Exhausted { need, held, limit, whose: Whose::Process });
    }
    if need < MUCH { Ok(()) } else { ask_addresses(need) }
}

#[cold]
fn ask_addresses(need: u64) -> Result<(), Exhausted> {
    match machine::addresses() {
        Some((held, limit)) if held.saturating_add(need).saturating_add(SPARE) > limit => {
            Err(Exhausted { need, held, limit, whose: Whose::Process })
        }
        _ => Ok(()),
    }
}

/// Whether cells of so many bytes for so many rows fit.
#[inline]
pub fn ask_rows(rows: u64, bytes: u64) -> Result<(), Exhausted> {
    ask(rows.saturating_mul(bytes))
}

/// Whose limit it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// That of the process.
    Process,
    /// That of one graph.
    Graph,
}

/// More memory is needed than there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted {
    /// Bytes that were asked for.
    pub need: u64,
    /// Bytes that are held.
    pub held: u64,
    /// Bytes that may be held.
    pub limit: u64,
    /// Who may hold no more.
    pub whose: Whose,
}

impl Exhausted {
    /// What the process says when the system has no room for so many bytes, although the limit does.
    pub fn of_process(need: u64) -> Exhausted {
        Exhausted { need, held: held(), limit: limit(), whose: Whose::Process }
    }
}

impl std::fmt::Display for Exhausted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Exhausted { need, held, limit, whose } = self;
        let (need, held, limit) = (Bytes(*need), Bytes(*held), Bytes(*limit));
        match whose {
            Whose::Process => write!(
                f,
                "it needs {need} of memory, {held} are in use, and the limit is {limit} (tf.Config(memory=…) and \
                 TICKFRAME_MEMORY set it)"
            ),
            Whose::Graph => write!(
                f,
                "it needs {need} of memory, the graph holds {held}, and its limit is {limit} (tf.Graph(memory=…) set it)"
            ),
        }
    }
}

impl std::error::Error for Exhausted {}

/// A number of bytes as a person reads it.
struct Bytes(u64);

impl std::fmt::Display for Bytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        if self.0 < 1024 {
            return write!(f, "{} bytes", self.0);
        }
        let unit = (self.0.ilog2() / 10) as usize;
        write!(f, "{:.1} {}", self.0 as f64 / (1_u64 << (10 * unit)) as f64, UNITS[unit - 1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // One test: the limit is the process's.
    #[test]
    fn what_does_not_fit_is_refused_with_limit_and_need() {
        let by_default = limit();
        assert!(by_default > 1 << 20, "{by_default}");
        assert_eq!(ask(1 << 10), Ok(()));
        assert_eq!(set_limit(Some(1 << 20)), None);
        assert_eq!((limit(), ask(1 << 20)), (1 << 20, Ok(())));
        took(1 << 19);
        let refused = ask_rows(1 << 62, 8).expect_err("more than there is");
        assert_eq!(refused, Exhausted { need: u64::MAX, held: 1 << 19, limit: 1 << 20, whose: Whose::Process });
        assert_eq!(
            ask((1 << 19) + 1).expect_err("one byte too many").to_string(),
            "it needs 512.0 KiB of memory, 512.0 KiB are in use, and the limit is 1.0 MiB (tf.Config(memory=…) and \
             TICKFRAME_MEMORY set it)"
        );
        gave(1 << 19);
        assert_eq!(ask(1 << 20), Ok(()));
        assert_eq!((set_limit(None), limit()), (Some(1 << 20), by_default));
        assert_eq!(Bytes(u64::MAX).to_string(), "16.0 EiB");
        assert_eq!(Bytes(7).to_string(), "7 bytes");
    }
}
