//! What all sessions see: the tables of the scope, what was published, and the user's own resolvers.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, Weak};

use bytes::Bytes;
use engine::{Partitioned, Table, WeakTable};
use graph::{UpdateGraph, lock};
use tokio::sync::watch;
use tonic::Status;

use crate::attributes::Attribute;
use crate::feed::Feed;
use crate::logins::Lease;

/// A function of the user's that gives tables by name.
pub trait Resolve: Send + Sync {
    /// The table behind what follows the prefix; None if there is none. The text of an error reaches the client.
    fn table(&self, rest: &str) -> Result<Option<Table>, String>;
}

/// Gives the graph in which live tables of clients are made; the text of an error reaches the client.
pub type GraphOf = Arc<dyn Fn() -> Result<UpdateGraph, String> + Send + Sync>;

/// A table, and where rows of a client go, if it is one that clients feed.
#[derive(Clone)]
pub struct Served {
    pub(crate) table: Table,
    pub(crate) feed: Option<Arc<Feed>>,
    /// For the bytes of an upload, as long as they have a name or a number.
    #[expect(dead_code, reason = "it is held")]
    pub(crate) lease: Option<Arc<Lease>>,
    /// What its owner says of it.
    pub(crate) given: Arc<[(String, Attribute)]>,
}

impl Served {
    /// The table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// A table with what its owner says of it.
    pub fn with(table: Table, given: Vec<(String, Attribute)>) -> Served {
        Served { given: given.into(), ..Served::from(table) }
    }
}

impl From<Table> for Served {
    fn from(table: Table) -> Served {
        Served { table, feed: None, lease: None, given: Arc::default() }
    }
}

/// What a name or a number stands for.
#[derive(Clone)]
pub enum Object {
    /// A table.
    Table(Served),
    /// A table of tables.
    Partitioned(Arc<Partitioned>),
    /// A data frame, whose rows are a table.
    Frame(Served),
    /// A console of a login.
    Console(Console),
}

/// A console of a login: what tells it from others.
#[derive(Clone)]
pub struct Console(Arc<()>);

impl<T: Into<Served>> From<T> for Object {
    fn from(table: T) -> Object {
        Object::Table(table.into())
    }
}

impl From<Partitioned> for Object {
    fn from(partitioned: Partitioned) -> Object {
        Object::Partitioned(Arc::new(partitioned))
    }
}

impl Object {
    /// The table, if it is one.
    pub fn table(self) -> Option<Table> {
        self.served().map(|served| served.table)
    }

    /// The table, if it is one, with what is told of it.
    pub(crate) fn served(self) -> Option<Served> {
        match self {
            Object::Table(served) => Some(served),
            Object::Partitioned(_) | Object::Frame(_) | Object::Console(_) => None,
        }
    }

    /// What clients call its type.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Object::Table(_) => "Table",
            Object::Partitioned(_) => "PartitionedTable",
            Object::Frame(_) => "pandas.DataFrame",
            Object::Console(_) => "Console",
        }
    }

    /// A new console.
    pub(crate) fn console() -> Object {
        Object::Console(Console(Arc::default()))
    }

    /// What may have a name that all sessions see. A console is its login's own.
    pub(crate) fn nameable(self) -> Result<Object, Status> {
        match self {
            Object::Console(_) => Err(Status::failed_precondition("a Console is its session's own, and has no name")),
            object => Ok(object),
        }
    }

    /// What tells it from others that are there.
    pub fn identity(&self) -> usize {
        match self {
            Object::Table(served) | Object::Frame(served) => served.table.identity(),
            Object::Partitioned(partitioned) => Arc::as_ptr(partitioned) as usize,
            Object::Console(console) => Arc::as_ptr(&console.0) as usize,
        }
    }

    fn published(&self) -> Option<Published> {
        Some(match self {
            Object::Table(Served { table, feed, given, .. }) => {
                Published::Table(table.downgrade(), feed.as_ref().map(Arc::downgrade), given.clone())
            }
            Object::Frame(served) => Published::Frame(served.table.downgrade()),
            Object::Partitioned(partitioned) => Published::Partitioned(Arc::downgrade(partitioned)),
            Object::Console(_) => return None,
        })
    }
}

/// What was published, as long as somebody else holds it.
enum Published {
    Table(WeakTable, Option<Weak<Feed>>, Arc<[(String, Attribute)]>),
    Frame(WeakTable),
    Partitioned(Weak<Partitioned>),
}

impl Published {
    fn held(&self) -> Option<Object> {
        Some(match self {
            Published::Table(table, feed, given) => Object::Table(Served {
                table: table.upgrade()?,
                feed: feed.as_ref().and_then(Weak::upgrade),
                lease: None,
                given: given.clone(),
            }),
            Published::Frame(table) => Object::Frame(table.upgrade()?.into()),
            Published::Partitioned(partitioned) => Object::Partitioned(partitioned.upgrade()?),
        })
    }
}

/// What all sessions see.
#[derive(Default)]
pub struct Catalog {
    scope: Mutex<BTreeMap<String, Object>>,
    shared: Mutex<HashMap<Bytes, Published>>,
    resolvers: Vec<(String, Arc<dyn Resolve>)>,
    graph: Option<GraphOf>,
    /// Counts changes of the scope.
    changed: watch::Sender<u64>,
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

    /// In which graph clients make live tables; without it they make none.
    pub fn with_graph(self, graph: GraphOf) -> Catalog {
        Catalog { graph: Some(graph), ..self }
    }

    pub(crate) fn graph(&self) -> Result<UpdateGraph, Status> {
        let graph = self.graph.as_ref().ok_or_else(|| Status::unimplemented("this server makes no live tables"))?;
        graph().map_err(Status::failed_precondition)
    }

    /// What this name stands for.
    pub fn get(&self, name: &str) -> Option<Object> {
        lock(&self.scope).get(name).cloned()
    }

    /// Puts something into the scope; gives what stood there.
    pub fn put(&self, name: String, object: impl Into<Object>) -> Option<Object> {
        let before = lock(&self.scope).insert(name, object.into());
        self.tell();
        before
    }

    /// Takes something out of the scope.
    pub fn take(&self, name: &str) -> Option<Object> {
        let taken = lock(&self.scope).remove(name);
        self.tell();
        taken
    }

    fn tell(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    /// Hears of changes of the scope.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    pub(crate) fn all(&self) -> Vec<(String, Object)> {
        lock(&self.scope).iter().map(|(name, object)| (name.clone(), object.clone())).collect()
    }

    /// Puts a table under a name that must be free.
    pub(crate) fn add(&self, name: &str, table: Served) -> Result<(), Status> {
        let mut scope = lock(&self.scope);
        if scope.contains_key(name) {
            return Err(Status::already_exists(format!("a table named '{name}' is there already")));
        }
        scope.insert(name.to_owned(), table.into());
        drop(scope);
        self.tell();
        Ok(())
    }

    /// Publishes something under bytes that must be free; it lives as long as somebody holds it.
    pub(crate) fn publish(&self, name: Bytes, object: &Object) -> Result<(), Status> {
        let mut shared = lock(&self.shared);
        shared.retain(|_, held| held.held().is_some());
        if shared.contains_key(&name) {
            return Err(Status::already_exists("this shared ticket is taken"));
        }
        let published = object.published().ok_or_else(|| Status::failed_precondition("a Console cannot be shared"))?;
        shared.insert(name, published);
        Ok(())
    }

    pub(crate) fn shared(&self, name: &Bytes) -> Option<Object> {
        lock(&self.shared).get(name)?.held()
    }

    /// The resolver whose prefix this begins with, and the rest.
    pub(crate) fn resolver<'a>(&self, text: &'a str) -> Option<(Arc<dyn Resolve>, &'a str)> {
        self.resolvers
            .iter()
            .find_map(|(prefix, resolver)| Some((resolver.clone(), text.strip_prefix(prefix.as_str())?)))
    }
}
