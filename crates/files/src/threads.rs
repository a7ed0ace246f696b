//! Work side by side, on threads that live for it: a process that was forked has no others, and one without room for a thread
//! works alone.

use std::panic::resume_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, available_parallelism, scope};

use graph::lock;

use crate::error::Error;
use crate::input::Progress;

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

/// Makes something of each of these, side by side, and puts it somewhere in order, while the next ones are made.
pub(crate) fn in_order<T: Sync, R: Send>(
    works: &[T],
    make: impl Fn(&T) -> Result<R, Error> + Sync,
    mut put: impl FnMut(R) -> Result<(), Error> + Send,
    progress: Progress,
) -> Result<(), Error> {
    let mut put_all = |made: Vec<Result<R, Error>>| made.into_iter().try_for_each(|one| put(one?));
    let (mut done, total) = (0, works.len() as u64);
    let mut made = Vec::new();
    for group in works.chunks(threads() * 2) {
        let (put, before) = (&mut put_all, std::mem::take(&mut made));
        let many = before.len() as u64;
        let said = if before.is_empty() { Ok(()) } else { beside(|| put(before), || made = map(group, &make)) };
        if many == 0 {
            made = map(group, &make);
        }
        said?;
        done += many;
        if many > 0 && !progress(done, total) {
            return Err(Error::Ended);
        }
    }
    put_all(made)?;
    if progress(total, total) { Ok(()) } else { Err(Error::Ended) }
}

/// Does one thing on a thread of its own while another is done here; what the first gave. Without a thread it is done first.
pub(crate) fn beside<R: Send>(one: impl FnOnce() -> R + Send, other: impl FnOnce()) -> R {
    let slot = Mutex::new(Some(one));
    let run = || {
        let one = lock(&slot).take();
        one.expect("it is done once")()
    };
    scope(|scope| match Builder::new().spawn_scoped(scope, run) {
        Ok(own) => {
            other();
            own.join().unwrap_or_else(|panic| resume_unwind(panic))
        }
        Err(_) => {
            let done = run();
            other();
            done
        }
    })
}
