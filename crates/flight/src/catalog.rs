//! What all sessions see: the tables of the scope, what was published, and the user's own resolvers.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use engine::{Table, WeakTable};
use tonic::Status;

/// A function of the user's that gives tables by name.
pub trait Resolve: Send + Sync {
    /// The table behind what follows the prefix; None if there is none. The text of an error reaches the client.
    fn table(&self, rest: &str) -> Result<Option<Table>, String>;
}

/// What all sessions see.
#[derive(Default)]
pub struct Catalog {
    scope: Mutex<BTreeMap<String, Table>>,
    shared: Mutex<HashMap<Bytes, WeakTable>>,
    resolvers: Vec<(String, Arc<dyn Resolve>)>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Catalog {
    /// An empty scope, and these resolvers by the text with which their tickets begin.
    pub fn new(mut resolvers: Vec<(String, Arc<dyn Resolve>)>) -> Catalog {
        // The longest prefix has it.
        resolvers.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
        Catalog { resolvers, ..Catalog::default() }
    }

    /// Whether no ticket of ours begins like this.
    pub fn is_free(prefix: &str) -> bool {
        let ours = ["s/", "a/", "scope/", "app/", "export/", "shared/"];
        !prefix.is_empty()
            && !prefix.starts_with(['e', 'h', 'q'])
            && !ours.iter().any(|own| prefix.starts_with(own) || own.starts_with(prefix))
    }

    /// The names of the scope, in order.
    pub fn names(&self) -> Vec<String> {
        lock(&self.scope).keys().cloned().collect()
    }

    /// The table of this name.
    pub fn table(&self, name: &str) -> Option<Table> {
        lock(&self.scope).get(name).cloned()
    }

    /// Puts a table into the scope; gives the one that stood there.
    pub fn put(&self, name: String, table: Table) -> Option<Table> {
        lock(&self.scope).insert(name, table)
    }

    /// Takes a table out of the scope.
    pub fn take(&self, name: &str) -> Option<Table> {
        lock(&self.scope).remove(name)
    }

    pub(crate) fn all(&self) -> Vec<(String, Table)> {
        lock(&self.scope).iter().map(|(name, table)| (name.clone(), table.clone())).collect()
    }

    /// Puts a table under a name that must be free.
    pub(crate) fn add(&self, name: &str, table: Table) -> Result<(), Status> {
        let mut scope = lock(&self.scope);
        if scope.contains_key(name) {
            return Err(Status::already_exists(format!("a table named '{name}' is there already")));
        }
        scope.insert(name.to_owned(), table);
        Ok(())
    }

    /// Publishes a table under bytes that must be free; it lives as long as somebody holds it.
    pub(crate) fn publish(&self, name: Bytes, table: &Table) -> Result<(), Status> {
        let mut shared = lock(&self.shared);
        shared.retain(|_, held| held.upgrade().is_some());
        if shared.contains_key(&name) {
            return Err(Status::already_exists("this shared ticket is taken"));
        }
        shared.insert(name, table.downgrade());
        Ok(())
    }

    pub(crate) fn shared(&self, name: &Bytes) -> Option<Table> {
        lock(&self.shared).get(name).and_then(WeakTable::upgrade)
    }

    /// The resolver whose prefix this begins with, and the rest.
    pub(crate) fn resolver<'a>(&self, text: &'a str) -> Option<(Arc<dyn Resolve>, &'a str)> {
        self.resolvers
            .iter()
            .find_map(|(prefix, resolver)| Some((resolver.clone(), text.strip_prefix(prefix.as_str())?)))
    }
}
