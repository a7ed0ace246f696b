//! Tables of other servers, as live tables here.
//!
//! A [`Remote`] is one server: a connection that is made again when it is lost, and a login. Each table that is asked for
//! is followed by Barrage into a source of a graph here; a server that is gone, slow or wrong delays no step of it.

mod difference;
mod follow;
mod once;
mod peer;
mod target;
mod viewport;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arrow_schema::{Field, Schema};
use engine::{Table, WeakTable};
use graph::{UpdateGraph, lock};
use thiserror::Error;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{oneshot, watch};

use crate::columns::place;
use crate::ipc::schema_of;
use crate::race::{First, first};
use crate::tickets::Named;
use crate::tls::Trust;
pub use follow::RemoteState;
use follow::{Followed, follow};
use peer::{Address, Peer};
use target::Held;
pub use viewport::Viewport;

/// How long what runs may take to end when a link is closed.
const GRACE: Duration = Duration::from_millis(500);
/// What a blink table's schema says of it.
const BLINK: &str = "deephaven:attribute.BlinkTable";
/// What metadata of the wire begins with.
const OF_THE_WIRE: &str = "deephaven:";

/// Why a table of another server is not here.
#[derive(Debug, Error)]
pub enum RemoteError {
    /// The server is not there, or was lost.
    #[error("{url}: {why}")]
    Lost {
        /// Where it was looked for.
        url: String,
        /// What happened.
        why: String,
    },
    /// The server does not know the token.
    #[error("{url}: the token is not the server's")]
    Refused {
        /// The server.
        url: String,
    },
    /// The server knows the caller, who may not do this.
    #[error("{url}: {why}")]
    Denied {
        /// The server.
        url: String,
        /// Its words.
        why: String,
    },
    /// The server has no such table.
    #[error("{url}: {why}")]
    Missing {
        /// The server.
        url: String,
        /// Its words.
        why: String,
    },
    /// The server refused, for another reason.
    #[error("{url}: {why}")]
    Failed {
        /// The server.
        url: String,
        /// Its words.
        why: String,
    },
    /// What came does not fit the table.
    #[error("table {name:?}: {why}")]
    Unfit {
        /// The table.
        name: String,
        /// What does not fit.
        why: String,
    },
    /// The engine here refused.
    #[error("{0}")]
    Engine(engine::Error),
    /// Nothing came for too long.
    #[error("{url}: no rows within {seconds} s{why}")]
    Late {
        /// The server.
        url: String,
        /// How long was waited.
        seconds: f64,
        /// The last that went wrong.
        why: String,
    },
    /// The link was closed.
    #[error("the connection to {url} was closed")]
    Closed {
        /// The server.
        url: String,
    },
}

impl RemoteError {
    /// Whether it may be over by itself: a server that is gone may come again, with its tables.
    fn may_pass(&self) -> bool {
        matches!(self, RemoteError::Lost { .. } | RemoteError::Missing { .. } | RemoteError::Late { .. })
    }

    /// The error with which a table fails.
    fn into_engine(self, name: &str) -> engine::Error {
        match self {
            RemoteError::Engine(error) => error,
            other => engine::Error::External { message: format!("remote table {name:?}: {other}"), payload: None },
        }
    }
}

/// How a server is reached.
pub struct RemoteOptions {
    /// A name or an address.
    pub host: String,
    /// The port.
    pub port: u16,
    /// What the server wants; none for one that asks nobody.
    pub token: Option<String>,
    /// Whom to believe, if what is sent is encrypted.
    pub trust: Option<Trust>,
    /// Where the tables live.
    pub graph: UpdateGraph,
}

/// What all tables of a server share.
pub(crate) struct Link {
    address: Arc<Address>,
    graph: UpdateGraph,
    peer: tokio::sync::Mutex<Option<Arc<Peer>>>,
    closing: watch::Sender<bool>,
}

impl Link {
    /// The login, made anew if it was lost.
    async fn peer(&self) -> Result<Arc<Peer>, RemoteError> {
        let mut held = self.peer.lock().await;
        if let Some(peer) = held.as_ref().filter(|peer| !peer.is_over()) {
            return Ok(peer.clone());
        }
        let peer = Peer::open(&self.address).await?;
        *held = Some(peer.clone());
        Ok(peer)
    }

    /// Forgets a login that is of no use.
    async fn forget(&self, lost: &Arc<Peer>) {
        self.peer.lock().await.take_if(|peer| Arc::ptr_eq(peer, lost));
    }

    /// Comes back when the link is closed.
    async fn closed(&self) {
        _ = self.closing.subscribe().wait_for(|closing| *closing).await;
    }
}

/// What is wanted of a table.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Part {
    /// These columns alone, in this order.
    pub columns: Option<Vec<String>>,
    /// These rows alone.
    pub viewport: Option<Viewport>,
}

/// `[a, b][0:10]`: nothing of all columns and all rows.
impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(columns) = &self.columns {
            write!(f, "[{}]", columns.join(", "))?;
        }
        self.viewport.map_or(Ok(()), |viewport| write!(f, "{viewport}"))
    }
}

/// Tables that are there, by name and part.
type Known = HashMap<(String, Part), (WeakTable, Arc<Followed>)>;

/// A server, as its client has it. Dropping it closes it.
pub struct Remote {
    link: Arc<Link>,
    runtime: Option<Runtime>,
    known: Mutex<Known>,
    /// A process that was forked has none of the threads.
    process: u32,
}

impl Remote {
    /// Connects and logs in.
    pub fn connect(options: RemoteOptions) -> Result<Remote, RemoteError> {
        let RemoteOptions { host, port, token, trust, graph } = options;
        let address = Arc::new(Address { host, port, token, trust });
        let lost = |why: std::io::Error| RemoteError::Lost { url: address.url(), why: why.to_string() };
        let runtime =
            Builder::new_multi_thread().worker_threads(1).thread_name("tickframe-remote").enable_all().build();
        let runtime = runtime.map_err(lost)?;
        let peer = tokio::sync::Mutex::new(None);
        let link = Arc::new(Link { address, graph, peer, closing: watch::Sender::new(false) });
        let remote = Remote { link, runtime: Some(runtime), known: Mutex::default(), process: std::process::id() };
        remote.wait(async { remote.link.peer().await.map(drop) })?;
        Ok(remote)
    }

    /// Where the server is.
    pub fn url(&self) -> String {
        self.link.address.url()
    }

    /// Whether it was closed.
    pub fn is_closed(&self) -> bool {
        *self.link.closing.borrow()
    }

    fn closed(&self) -> RemoteError {
        RemoteError::Closed { url: self.url() }
    }

    fn wait<T>(&self, work: impl Future<Output = Result<T, RemoteError>>) -> Result<T, RemoteError> {
        let runtime = self.runtime.as_ref().filter(|_| self.process == std::process::id() && !self.is_closed());
        let runtime = runtime.ok_or_else(|| self.closed())?;
        runtime.block_on(async {
            match first(work, self.link.closed()).await {
                First::Left(done) => done,
                First::Right(()) => Err(self.closed()),
            }
        })
    }

    /// Does something with the login; one that turns out to be over is made anew, once.
    async fn with_peer<T, F>(&self, work: impl Fn(Arc<Peer>) -> F) -> Result<T, RemoteError>
    where
        F: Future<Output = Result<T, RemoteError>>,
    {
        let peer = self.link.peer().await?;
        match work(peer.clone()).await {
            Err(RemoteError::Lost { .. } | RemoteError::Refused { .. }) => {
                self.link.forget(&peer).await;
                work(self.link.peer().await?).await
            }
            done => done,
        }
    }

    /// The names of the tables that it serves.
    pub fn names(&self) -> Result<Vec<String>, RemoteError> {
        self.wait(self.with_peer(|peer| async move { peer.names().await }))
    }

    /// A live table with the rows of one there, or of a part of it. The first rows are waited for; asked again, it is the
    /// same table, while somebody has it.
    pub fn table(&self, name: &str, part: Part, timeout: Duration) -> Result<Table, RemoteError> {
        let key = (name.to_owned(), part);
        let part = &key.1;
        {
            let mut known = lock(&self.known);
            known.retain(|_, (table, _)| table.upgrade().is_some());
            let table = known.get(&key).and_then(|(table, _)| table.upgrade());
            if let Some(table) = table.filter(|table| table.failure().is_none() && !self.is_closed()) {
                return Ok(table);
            }
        }
        let found = self.wait(async {
            let asked = self.asked(name, part).await?;
            let held = Held::new(&self.link.graph, asked.schema.clone(), asked.blink).map_err(RemoteError::Engine)?;
            let table = held.table().clone();
            let followed = Arc::new(Followed { schema: table.schema().clone(), ..asked });
            let (ready, first_rows) = oneshot::channel();
            tokio::spawn(follow(self.link.clone(), followed.clone(), held.downgrade(), ready));
            match tokio::time::timeout(timeout, first_rows).await {
                Ok(Ok(Ok(()))) => Ok((table, followed)),
                Ok(Ok(Err(error))) => Err(error),
                Ok(Err(_)) => Err(self.closed()),
                Err(_) => {
                    let why = lock(&followed.state).trouble.clone();
                    let why = why.map_or_else(String::new, |why| format!(": {why}"));
                    Err(RemoteError::Late { url: self.url(), seconds: timeout.as_secs_f64(), why })
                }
            }
        })?;
        let (table, followed) = found;
        lock(&self.known).insert(key, (table.downgrade(), followed));
        Ok(table)
    }

    /// What a table there is, of which a part is wanted.
    async fn asked(&self, name: &str, part: &Part) -> Result<Followed, RemoteError> {
        let named = Named::Scope(name.to_owned()).descriptor();
        let schema = self.with_peer(|peer| {
            let named = named.clone();
            async move { peer.schema(&named).await }
        });
        let unfit = |why: String| RemoteError::Unfit { name: name.to_owned(), why };
        let whole = schema_of(&schema.await?).map_err(unfit)?;
        barrage::WireSchema::of(&whole).map_err(|error| unfit(error.to_string()))?;
        let columns = places(&whole, part.columns.as_deref()).map_err(RemoteError::Engine)?;
        let blink = whole.metadata().get(BLINK).is_some_and(|value| value == "true");
        if blink && part.viewport.is_some() {
            return Err(unfit("its rows live for one step; a viewport is of tables whose rows stay".to_owned()));
        }
        let schema = own(&whole.project(&columns).map_err(|error| unfit(error.to_string()))?);
        Ok(Followed {
            name: name.to_owned(),
            schema: Arc::new(schema),
            columns,
            viewport: part.viewport,
            blink,
            whole,
            state: Mutex::default(),
        })
    }

    /// The rows of a table there, or of a part of it, as they are now: a static table.
    pub fn snapshot(&self, name: &str, part: &Part, timeout: Duration) -> Result<Table, RemoteError> {
        self.wait(async {
            let asked = async {
                let wanted = &self.asked(name, part).await?;
                self.with_peer(|peer| async move { once::once(&peer, wanted).await }).await
            };
            let late = |_| RemoteError::Late { url: self.url(), seconds: timeout.as_secs_f64(), why: String::new() };
            tokio::time::timeout(timeout, asked).await.map_err(late)?
        })
    }

    /// How it goes with each table that somebody has, by its name and its part: `name[a, b][0:10]`.
    pub fn states(&self) -> Vec<(String, RemoteState)> {
        let known = lock(&self.known);
        let mut states = Vec::new();
        for ((name, part), (table, followed)) in known.iter() {
            if table.upgrade().is_some() {
                states.push((format!("{name}{part}"), lock(&followed.state).clone()));
            }
        }
        states
    }

    /// Ends all; the tables stay as they are.
    pub fn close(&self) {
        self.link.closing.send_replace(true);
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            std::mem::forget(self.runtime.take());
            return;
        }
        self.close();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(GRACE);
        }
    }
}

/// Where columns are that were asked for; all of them without a word.
fn places(schema: &Schema, columns: Option<&[String]>) -> Result<Vec<usize>, engine::Error> {
    let Some(columns) = columns else { return Ok((0..schema.fields().len()).collect()) };
    columns.iter().map(|name| place("connect", schema, name)).collect()
}

/// A schema without what the wire says of it; any cell may be null.
fn own(schema: &Schema) -> Schema {
    let kept = |metadata: &arrow_schema::Metadata| -> arrow_schema::Metadata {
        let own = metadata.iter().filter(|(name, _)| !name.starts_with(OF_THE_WIRE));
        own.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    let fields = schema.fields().iter().map(|field| {
        let field: &Field = field;
        field.clone().with_nullable(true).with_metadata(kept(field.metadata()))
    });
    Schema::new_with_metadata(fields.collect::<Vec<_>>(), kept(schema.metadata()))
}
