//! The socket: accepts connections, each within the limits, until the server is stopped.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket};
use tokio::runtime::{Builder, Runtime};
use tokio_rustls::TlsAcceptor;

use crate::begin::{Speech, begun};
use crate::catalog::Catalog;
use crate::codes::CodeError;
use crate::context::Shared;
use crate::limits::Limits;
use crate::race::{First, first};
use crate::scripts::{Consoles, Interpreter};
use crate::service::answer;
use crate::sessions::{Access, Sessions};
use crate::storage::Storage;
use crate::tls::Identity;

/// How many bytes a peer may send before it is told to go on: of a call, and of a connection. A server is a peer of our own client.
pub(crate) const CALL_WINDOW: u32 = 4 << 20;
pub(crate) const CONNECTION_WINDOW: u32 = 16 << 20;
/// How many bytes a frame may have that a peer sends. A socket is read a frame at a time: with the 16 KB that HTTP/2 has by default, an
/// upload of 480 MB is fifty thousand reads (record 063).
pub(crate) const FRAME: u32 = 256 << 10;
/// Connections that wait to be taken in.
const BACKLOG: u32 = 1024;
/// How long the calls that run have when the server stops.
const GRACE: Duration = Duration::from_millis(500);

/// How a server is started.
pub struct Options {
    /// Where it listens; port 0 is any free one.
    pub address: SocketAddr,
    /// Who may call.
    pub access: Access,
    /// Who the server is, if what is sent is encrypted.
    pub tls: Option<Identity>,
    /// What a client may ask for.
    pub limits: Limits,
    /// The pages, by origin, of which browsers may call.
    pub origins: Vec<String>,
    /// What runs scripts of clients; without it there is no console.
    pub console: Option<Arc<dyn Interpreter>>,
    /// The folder of the files that clients keep with it; without it they keep none.
    pub storage: Option<PathBuf>,
}

/// Why a server was not started.
#[derive(Debug, Error)]
pub enum StartError {
    /// The address cannot be listened on.
    #[error("cannot listen on {0}: {1}")]
    Address(SocketAddr, std::io::Error),
    /// The system gives no threads.
    #[error("cannot start threads: {0}")]
    Threads(std::io::Error),
    /// The folder of its files cannot be used.
    #[error("cannot keep files in {0:?}: {1}")]
    Storage(PathBuf, std::io::Error),
}

/// A server that listens. Dropping it stops it.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    runtime: Option<Runtime>,
    /// A process that was forked has the memory of the server and none of its threads.
    process: u32,
}

impl Server {
    /// Listens, and serves from threads of its own.
    pub fn start(options: Options, catalog: Arc<Catalog>) -> Result<Server, StartError> {
        let Options { address, access, tls, limits, origins, console, storage } = options;
        let limits = limits.shared_by(access.logins());
        let kept = |path: PathBuf| Storage::open(&path, &limits).map_err(|error| StartError::Storage(path, error));
        let storage = storage.map(kept).transpose()?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("tickframe-server")
            .enable_all()
            .build()
            .map_err(StartError::Threads)?;
        let inside = runtime.enter();
        let bound = bound(address).and_then(|listener| Ok((listener.local_addr()?, listener)));
        let (address, listener) = bound.map_err(|error| StartError::Address(address, error))?;
        drop(inside);
        let sessions = Sessions::new(access, limits.clone());
        let shared = Shared::new(catalog, sessions, limits, Consoles::new(console), origins).keeping(storage);
        let shared = Arc::new(shared);
        runtime.spawn(accept(listener, tls.map(|identity| TlsAcceptor::from(identity.0)), shared.clone()));
        runtime.spawn(sweep(shared.clone()));
        Ok(Server { address, shared, runtime: Some(runtime), process: std::process::id() })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it serves.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.shared.catalog
    }

    /// What its clients may ask for.
    pub fn limits(&self) -> &Limits {
        &self.shared.limits
    }

    /// What it counts, each by its name.
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        crate::counters::all(&self.shared)
    }

    /// A code that opens one session of a login, once and soon.
    pub fn code(&self, login: &str) -> Result<String, CodeError> {
        self.shared.sessions.code(login)
    }

    /// Sessions that are open.
    pub fn sessions(&self) -> usize {
        self.shared.sessions.count()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // The sockets are the other process's, and so is what watches them.
            std::mem::forget(self.runtime.take());
            return;
        }
        self.shared.stopping.send_replace(true);
        self.shared.consoles.stop_all();
        self.shared.sessions.close_all();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(GRACE);
        }
    }
}

/// Listens; so many connections may wait to be taken in.
fn bound(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // What is left of connections of a server before it keeps no port from this one.
    #[cfg(not(windows))]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

async fn sweep(shared: Arc<Shared>) {
    let mut ticks = tokio::time::interval((shared.limits.session / 4).max(Duration::from_millis(100)));
    loop {
        ticks.tick().await;
        shared.sessions.sweep();
    }
}

async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, shared: Arc<Shared>) {
    loop {
        let First::Left(accepted) = first(listener.accept(), shared.stopped()).await else {
            return;
        };
        let Ok((stream, _)) = accepted else {
            // Out of files, say: others may give theirs back.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        // One more than there is room for is hung up on at once.
        let Ok(place) = shared.places.clone().try_acquire_owned() else { continue };
        let (shared, tls) = (shared.clone(), tls.clone());
        tokio::spawn(async move {
            _ = stream.set_nodelay(true);
            match tls {
                None => connection(stream, shared).await,
                Some(tls) => {
                    if let Ok(Ok(stream)) = tokio::time::timeout(shared.limits.handshake, tls.accept(stream)).await {
                        connection(stream, shared).await;
                    }
                }
            }
            drop(place);
        });
    }
}

/// The settings of a connection, each by name.
fn settings(limits: &Limits) -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(limits.header_list)
        .max_pending_accept_reset_streams(limits.pending_resets)
        .keep_alive_interval(limits.keepalive_interval)
        .keep_alive_timeout(limits.keepalive_timeout)
        .initial_stream_window_size(CALL_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(FRAME);
    builder
}

async fn connection<S>(stream: S, shared: Arc<Shared>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let opened = tokio::time::timeout(shared.limits.handshake, begun(stream)).await;
    let Ok(Ok(Some((speech, stream)))) = opened else { return };
    let serving = shared.clone();
    let serve = service_fn(move |request| {
        let shared = shared.clone();
        async move { Ok::<_, std::convert::Infallible>(answer(shared, request).await) }
    });
    let io = TokioIo::new(stream);
    match speech {
        Speech::Http2 => {
            let mut connection = std::pin::pin!(settings(&serving.limits).serve_connection(io, serve));
            if let First::Right(()) = first(connection.as_mut(), serving.stopped()).await {
                connection.as_mut().graceful_shutdown();
                _ = connection.await;
            }
        }
        // What browsers speak without encryption.
        Speech::Other => {
            let mut builder = http1::Builder::new();
            builder.timer(TokioTimer::new()).header_read_timeout(serving.limits.handshake);
            builder.max_buf_size(serving.limits.header_list as usize);
            let mut connection = std::pin::pin!(builder.serve_connection(io, serve));
            if let First::Right(()) = first(connection.as_mut(), serving.stopped()).await {
                connection.as_mut().graceful_shutdown();
                _ = connection.await;
            }
        }
    }
}
