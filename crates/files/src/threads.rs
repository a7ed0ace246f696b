//! Work side by side, on threads that live for it: a process that was forked has no others, and one without room for a thread
//! works alone.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, available_parallelism, scope};

/// How many threads work.
pub(crate) fn threads() -> usize {
    available_parallelism().map_or(1, usize::from)
}

/// What becomes of each of these, in order.
pub(crate) fn map<T: Sync, R: Send>(works: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let share = || {
        let mut own = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            match works.get(at) {
                Some(one) => own.push((at, work(one))),
                None => return own,
            }
        }
    };
    let mut done = scope(|scope| {
        let start = |_| Builder::new().spawn_scoped(scope, share).ok();
        let helpers: Vec<_> = (1..threads().min(works.len())).map_while(start).collect();
        let mut done = share();
        for helper in helpers {
            done.extend(helper.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, one)| one).collect()
}
