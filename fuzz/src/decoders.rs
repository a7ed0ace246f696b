//! Decoders of others, which may give up.

use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

static READING: AtomicBool = AtomicBool::new(false);

/// Runs a reader that catches the panics of its decoders: they are refusals, which a search by coverage takes for faults.
#[allow(unexpected_cfgs, reason = "`fuzz/run` sets it")]
pub(crate) fn reading<R>(read: impl FnOnce() -> R) -> R {
    static HOOK: Once = Once::new();
    if cfg!(not(fuzzing)) {
        return read();
    }
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |found| {
            if !READING.load(Ordering::Relaxed) {
                before(found);
            }
        }));
    });
    READING.store(true, Ordering::Relaxed);
    let read = read();
    READING.store(false, Ordering::Relaxed);
    read
}
