//! What a call is answered with: its caller's session, the tables there are, and the limits.

use std::sync::Arc;

use engine::{Partitioned, Table};
use tokio::sync::{Semaphore, watch};
use tonic::Status;

use crate::catalog::{Catalog, Object, Served};
use crate::limits::Limits;
use crate::proto::Ticket;
use crate::scripts::Consoles;
use crate::sessions::{Session, Sessions};
use crate::storage::Storage;
use crate::tickets::{Named, of_ticket};
use crate::trouble::{internal, shown};

/// What all connections of a server share.
pub(crate) struct Shared {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) sessions: Sessions,
    pub(crate) limits: Limits,
    pub(crate) consoles: Consoles,
    /// The files that clients keep, if it keeps any.
    pub(crate) storage: Option<Arc<Storage>>,
    /// Places of connections.
    pub(crate) places: Arc<Semaphore>,
    /// Turns to read tables for those who follow them.
    pub(crate) reads: Semaphore,
    /// Turns for what may wait for a cycle: so many threads, and no more, are kept from those who read.
    pub(crate) changes: Semaphore,
    /// Pages of which browsers may call.
    pub(crate) origins: Vec<String>,
    /// True once the server stops.
    pub(crate) stopping: watch::Sender<bool>,
}

/// Tables that are read for followers at one time.
const READS: usize = 4;
/// What may wait for cycles at one time.
const CHANGES: usize = 64;

impl Shared {
    pub(crate) fn new(
        catalog: Arc<Catalog>,
        sessions: Sessions,
        limits: Limits,
        consoles: Consoles,
        origins: Vec<String>,
    ) -> Shared {
        Shared {
            catalog,
            sessions,
            places: Arc::new(Semaphore::new(limits.connections)),
            limits,
            consoles,
            storage: None,
            reads: Semaphore::new(READS),
            changes: Semaphore::new(CHANGES),
            origins,
            stopping: watch::Sender::new(false),
        }
    }

    /// With files that clients keep.
    pub(crate) fn keeping(self, storage: Option<Storage>) -> Shared {
        Shared { storage: storage.map(Arc::new), ..self }
    }

    /// Comes back when the server stops.
    pub(crate) async fn stopped(&self) {
        _ = self.stopping.subscribe().wait_for(|stopping| *stopping).await;
    }
}

/// A call whose caller is known.
pub(crate) struct Context {
    pub(crate) shared: Arc<Shared>,
    pub(crate) session: Arc<Session>,
}

/// Work that may wait for a lock or a disk, off the threads that serve.
pub(crate) async fn blocking<R: Send + 'static>(
    work: impl FnOnce() -> Result<R, Status> + Send + 'static,
) -> Result<R, Status> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|panic| Err(internal(panic)))
}

/// Work that changes a graph, such as a new table of it, and so may wait for its cycle.
pub(crate) async fn changing<R: Send + 'static>(
    shared: &Shared,
    work: impl FnOnce() -> Result<R, Status> + Send + 'static,
) -> Result<R, Status> {
    let _turn = shared.changes.acquire().await.map_err(internal)?;
    blocking(work).await
}

/// What the engine refused, as a status.
pub(crate) fn engine_error(error: engine::Error) -> Status {
    use engine::Error as E;
    let text = shown(error.to_string());
    match error {
        E::Resource { .. } => Status::resource_exhausted(text),
        E::TableFailed(_) => Status::failed_precondition(text),
        E::Internal { .. } => internal(text),
        _ => Status::invalid_argument(text),
    }
}

/// The application whose fields are the names of the scope.
pub(crate) const SCOPE: &str = "scope";

/// The number of an export that a client chose.
pub(crate) fn export(ticket: &Ticket) -> Result<i32, Status> {
    match of_ticket("resultId", &ticket.ticket)? {
        Named::Export(id) => Ok(id),
        _ => Err(Status::failed_precondition("resultId must be an export")),
    }
}

impl Context {
    /// The table that is named. An export that is not there yet is waited for.
    pub(crate) async fn table(&self, what: &str, named: Named) -> Result<Table, Status> {
        self.served(what, named).await.map(|served| served.table)
    }

    /// The table that is named, with where its rows come from if clients feed it.
    pub(crate) async fn served(&self, what: &str, named: Named) -> Result<Served, Status> {
        match self.object(what, named).await? {
            Object::Table(served) => Ok(served),
            other => Err(Status::failed_precondition(format!("'{what}' is a {}, not a Table", other.kind()))),
        }
    }

    /// The table of tables that is named.
    pub(crate) async fn partitioned(&self, what: &str, named: Named) -> Result<Arc<Partitioned>, Status> {
        match self.object(what, named).await? {
            Object::Partitioned(partitioned) => Ok(partitioned),
            other => {
                Err(Status::failed_precondition(format!("'{what}' is a {}, not a PartitionedTable", other.kind())))
            }
        }
    }

    /// Runs work whose result gets the number that the client chose.
    pub(crate) async fn exported(
        &self,
        result: Option<&Ticket>,
        work: impl Future<Output = Result<Object, Status>>,
    ) -> Result<Object, Status> {
        let result = result.ok_or_else(|| Status::failed_precondition("No result ticket supplied"))?;
        let begun = self.session.exports.begin(export(result)?)?;
        let made = work.await;
        begun.end(made.as_ref().ok().cloned());
        made
    }

    /// What is named. An export that is not there yet is waited for.
    pub(crate) async fn object(&self, what: &str, named: Named) -> Result<Object, Status> {
        let missing = |text: String| Status::not_found(format!("Could not resolve '{what}: {text}"));
        match named {
            Named::Export(id) => self.session.exports.object(id).await,
            Named::Scope(name) => {
                self.shared.catalog.get(&name).ok_or_else(|| missing(format!("variable '{name}' not found'")))
            }
            Named::Field(app, name) if app == SCOPE => {
                self.shared.catalog.get(&name).ok_or_else(|| missing(format!("variable '{name}' not found'")))
            }
            Named::Field(app, field) => Err(missing(format!("no application '{app}' with a field '{field}'"))),
            Named::Shared(name) => {
                self.shared.catalog.shared(&name).ok_or_else(|| missing("no such shared ticket'".to_owned()))
            }
            Named::Other(text) => {
                let Some((resolver, rest)) = self.shared.catalog.resolver(&text) else {
                    let route = text.bytes().next().unwrap_or_default();
                    return Err(Status::failed_precondition(format!(
                        "Could not resolve '{what}: no resolver for route '{route}' (byte)"
                    )));
                };
                let rest = rest.to_owned();
                let asked = move || resolver.table(&rest).map_err(|why| Status::failed_precondition(shown(why)));
                let found = changing(&self.shared, asked).await?;
                found.map(Object::from).ok_or_else(|| missing(format!("'{text}' not found'")))
            }
        }
    }
}
