//! Functions of the host: code of the user, called once per chunk with Arrow arrays.
//!
//! This crate knows neither Python nor any other host. A host registers a [`Host`] and gets the
//! [`HostId`] with which expressions call it. Every copy of that holds the function, so an expression
//! never outlives what it calls; with the last one it is gone, and what the user's code captured with it.
//! Written down (a plan, a pickle) it is a number and a name: read again it is the same function as long as something
//! in this process holds it, and else an expression that is refused in words.
//!
//! Nothing here drops a function under a lock: its last holder may run foreign code as it lets go.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, LazyLock, PoisonError, RwLock, Weak};

use arrow_array::ArrayRef;
use arrow_schema::DataType;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::tree::expr::Expr;
use crate::tree::payload::Payload;

/// A function of the user.
pub trait Host: Send + Sync {
    /// Its name, for messages.
    fn name(&self) -> &str;

    /// The type of its result for arguments of these types, or why it takes no such arguments.
    fn returns(&self, args: &[DataType]) -> Result<DataType, String>;

    /// Whether it keeps state or depends on the order of rows: its chunks then come one after the other, in order.
    /// None leaves it to the setting of the operation it stands in.
    fn is_ordered(&self) -> Option<bool>;

    /// Whether its work is done row by row, so that a call costs nothing beside it, and what a call keeps grows with it.
    fn is_by_row(&self) -> bool {
        false
    }

    /// One value for each of `rows` rows, of the type that `returns` said.
    fn call(&self, args: &[ArrayRef], rows: usize) -> Result<ArrayRef, HostFailure>;
}

/// A call that failed.
#[derive(Debug)]
pub struct HostFailure {
    /// The row of the chunk, if one row is to blame.
    pub row: Option<usize>,
    /// What happened, with the arguments.
    pub message: String,
    /// The host's own exception.
    pub payload: Payload,
}

impl PartialEq for Payload {
    fn eq(&self, other: &Payload) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A registered function. Two are the same if they are the same registration.
#[derive(Clone, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct HostId {
    number: u64,
    name: Arc<str>,
    /// None for one that was read where nothing holds it any more.
    host: Option<Arc<dyn Host>>,
}

/// What stands in a plan.
#[derive(Serialize, Deserialize)]
struct Written {
    number: u64,
    name: Arc<str>,
}

/// Functions that something holds, and some that nothing holds any more.
#[derive(Default)]
struct Registry {
    hosts: HashMap<u64, Weak<dyn Host>>,
    /// With so many entries those that are gone are forgotten.
    sweep_at: usize,
}

static REGISTERED: LazyLock<RwLock<Registry>> = LazyLock::new(RwLock::default);

impl HostId {
    /// Registers a function.
    pub fn register(host: Arc<dyn Host>) -> HostId {
        let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
        registered.sweep();
        loop {
            // Random, so that a number from another process is not taken for one of this.
            let number = RandomState::new().build_hasher().finish();
            if let std::collections::hash_map::Entry::Vacant(vacant) = registered.hosts.entry(number) {
                vacant.insert(Arc::downgrade(&host));
                return HostId { number, name: host.name().into(), host: Some(host) };
            }
        }
    }

    /// The function of this number, if something still holds it.
    pub fn known(number: u64) -> Option<HostId> {
        let host = registered(number)?;
        Some(HostId { number, name: host.name().into(), host: Some(host) })
    }

    /// A function that is known by its name alone: it cannot be called.
    pub fn unbound(name: Arc<str>) -> HostId {
        HostId { number: 0, name, host: None }
    }

    /// The expression of its value for these arguments, within the limits of depth and size.
    pub fn call(&self, args: Vec<Expr>) -> Result<Expr, Error> {
        Expr::Host { function: self.clone(), args }.within_limits()
    }

    /// Its number in this process.
    pub fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn host(&self) -> Option<&Arc<dyn Host>> {
        self.host.as_ref()
    }

    /// Its name.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }
}

impl Registry {
    fn sweep(&mut self) {
        const LEAST: usize = 64;
        if self.hosts.len() >= self.sweep_at.max(LEAST) {
            self.hosts.retain(|_, host| host.strong_count() > 0);
            self.sweep_at = 2 * self.hosts.len();
        }
    }
}

fn registered(number: u64) -> Option<Arc<dyn Host>> {
    let registered = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    registered.hosts.get(&number).and_then(Weak::upgrade)
}

impl From<Written> for HostId {
    fn from(Written { number, name }: Written) -> HostId {
        HostId { number, name, host: registered(number) }
    }
}

impl From<HostId> for Written {
    fn from(HostId { number, name, .. }: HostId) -> Written {
        Written { number, name }
    }
}

impl PartialEq for HostId {
    fn eq(&self, other: &HostId) -> bool {
        self.number == other.number
    }
}

impl fmt::Debug for HostId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostId({})", self.number)
    }
}
