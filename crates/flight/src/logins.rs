//! Who may call, by name, and how much each of them holds in all its sessions: one that takes all it may leaves the others theirs.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tonic::Status;

use crate::limits::Limits;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    Sessions,
    Exports,
    Subscriptions,
    /// Bytes of uploads, and of what is owed to clients that do not read.
    Memory,
}

/// All of them, each at its place.
const ALL: [(What, &str); 4] = [
    (What::Sessions, "sessions"),
    (What::Exports, "exports"),
    (What::Subscriptions, "subscriptions"),
    (What::Memory, "bytes of uploads and of what it has not read"),
];

/// One who may call.
pub(crate) struct Login {
    name: String,
    most: [u64; ALL.len()],
    held: [AtomicU64; ALL.len()],
}

/// So much of one thing, given back when it is dropped.
pub(crate) struct Lease {
    login: Arc<Login>,
    what: What,
    count: u64,
}

impl Login {
    pub(crate) fn new(name: String, limits: &Limits) -> Arc<Login> {
        let most = [
            limits.login_sessions as u64,
            limits.login_exports as u64,
            limits.login_subscriptions as u64,
            limits.login_memory,
        ];
        Arc::new(Login { name, most, held: Default::default() })
    }

    /// As whoever started the server calls it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    #[cfg(test)]
    /// What stands in for a name that nobody has.
    pub(crate) fn nobody() -> Arc<Login> {
        Login::new(String::new(), &Limits::default())
    }

    /// Takes so much, if there is so much left.
    pub(crate) fn take(self: &Arc<Login>, what: What, count: u64) -> Result<Lease, Status> {
        let mut lease = Lease { login: self.clone(), what, count: 0 };
        lease.more(count)?;
        Ok(lease)
    }

    /// How much of it is taken.
    pub(crate) fn holds(&self, what: What) -> u64 {
        self.held[what as usize].load(Ordering::Relaxed)
    }
}

impl Lease {
    /// Takes more of the same.
    pub(crate) fn more(&mut self, count: u64) -> Result<(), Status> {
        let (held, most) = (&self.login.held[self.what as usize], self.login.most[self.what as usize]);
        let room = |now: u64| now.checked_add(count).filter(|sum| *sum <= most);
        if held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).is_err() {
            let who = if self.login.name.is_empty() { String::new() } else { format!(" '{}'", self.login.name) };
            let what = ALL[self.what as usize].1;
            return Err(Status::resource_exhausted(format!(
                "a login has at most {most} {what}, and this one{who} has them"
            )));
        }
        self.count += count;
        Ok(())
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.login.held[self.what as usize].fetch_sub(self.count, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thing_is_counted_by_itself_and_given_back() {
        for (at, (what, _)) in ALL.into_iter().enumerate() {
            assert_eq!(what as usize, at);
        }
        let limits = Limits { login_sessions: 2, login_memory: 100, ..Limits::default() };
        let (one, other) = (Login::new("one".to_owned(), &limits), Login::new("other".to_owned(), &limits));
        let held =
            [one.take(What::Sessions, 1), one.take(What::Sessions, 1)].map(|taken| taken.expect("there is room"));
        let refused = one.take(What::Sessions, 1).err().expect("there is none");
        assert_eq!(refused.code(), tonic::Code::ResourceExhausted);
        assert_eq!(refused.message(), "a login has at most 2 sessions, and this one 'one' has them");
        assert!(other.take(What::Sessions, 2).is_ok());
        let mut memory = one.take(What::Memory, 60).expect("that is counted by itself");
        assert!(memory.more(41).is_err() && memory.more(u64::MAX).is_err() && memory.more(40).is_ok());
        assert_eq!((one.holds(What::Sessions), one.holds(What::Memory)), (2, 100));
        drop((held, memory));
        assert_eq!((one.holds(What::Sessions), one.holds(What::Memory)), (0, 0));
    }
}
