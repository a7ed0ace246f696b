//! Functions of the host: code of the user, called once per chunk with Arrow arrays.
//!
//! This crate knows neither Python nor any other host. A host registers a [`Host`] and gets the
//! [`Function`] by which expressions name it; the number means nothing in another process, where
//! an expression that names it is refused. A function stays registered as long as the process
//! lives, so that an expression never outlives what it calls.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use arrow_array::ArrayRef;
use arrow_schema::DataType;
use serde::{Deserialize, Serialize};

use crate::function::Function;

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

/// Something the host wants back unchanged.
#[derive(Clone)]
pub struct Payload(pub Arc<dyn Any + Send + Sync>);

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Payload")
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Payload) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The number of a registered function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct HostId(u64);

static REGISTERED: LazyLock<RwLock<HashMap<u64, Arc<dyn Host>>>> = LazyLock::new(RwLock::default);

impl HostId {
    /// Registers a function.
    pub fn register(host: Arc<dyn Host>) -> Function {
        let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
        loop {
            // Random, so that a number from another process is not taken for one of this.
            let id = RandomState::new().build_hasher().finish();
            if let std::collections::hash_map::Entry::Vacant(vacant) = registered.entry(id) {
                vacant.insert(host);
                return Function::Host(HostId(id));
            }
        }
    }

    /// The function, if it was registered in this process.
    pub(crate) fn host(self) -> Option<Arc<dyn Host>> {
        REGISTERED.read().unwrap_or_else(PoisonError::into_inner).get(&self.0).cloned()
    }

    pub(crate) fn name(self) -> String {
        self.host().map_or_else(|| "udf".to_owned(), |host| host.name().to_owned())
    }
}
