//! A server as its client has it: one connection, one login, and calls.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use barrage::Metadata;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request};
use http_body::Frame;
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use prost::Message;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tonic::Status;
use tonic::body::Body;

use super::RemoteError;
use crate::calls::{APPLICATION, CONFIG, FLIGHT};
use crate::data_messages::DataMessages;
use crate::frames::{framed, responses};
use crate::listen::{CALL_WINDOW, CONNECTION_WINDOW, FRAME};
use crate::proto::{Constants, Empty, FieldsChange, FlightData, FlightDescriptor, SchemaResult};
use crate::sessions::PSK;
use crate::tls::Trust;
use graph::lock;

/// How long a call of one answer may take, and the beginning of a connection.
const CALL: Duration = Duration::from_secs(10);
/// How often a silent server is asked whether it lives, and how long it may take to answer.
const ALIVE: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(10));
/// Bytes of one message.
const MESSAGE: usize = 256 << 20;
/// A login is renewed this often, unless the server says how long it lives.
const RENEWED: Duration = Duration::from_secs(60);
/// What says for how many milliseconds a login lives.
const LIVES: &str = "http.session.durationMs";

/// Where a server is, and what is needed to speak with it.
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) token: Option<String>,
    pub(crate) trust: Option<Trust>,
}

impl Address {
    pub(crate) fn url(&self) -> String {
        let scheme = if self.trust.is_some() { "grpc+tls" } else { "grpc" };
        format!("{scheme}://{}", self.authority())
    }

    fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }

    fn lost(&self, why: impl std::fmt::Display) -> RemoteError {
        RemoteError::Lost { url: self.url(), why: why.to_string() }
    }

    /// What a status says of what was asked for.
    fn told(&self, status: &Status) -> RemoteError {
        use tonic::Code as C;
        let why = status.message().to_owned();
        match status.code() {
            C::Unauthenticated => RemoteError::Refused { url: self.url() },
            C::PermissionDenied => RemoteError::Denied { url: self.url(), why },
            C::NotFound => RemoteError::Missing { url: self.url(), why },
            C::Unavailable
            | C::DeadlineExceeded
            | C::Cancelled
            | C::Unknown
            | C::Internal
            | C::Aborted
            | C::ResourceExhausted => RemoteError::Lost { url: self.url(), why },
            _ => RemoteError::Failed { url: self.url(), why },
        }
    }

    fn credential(&self) -> Result<HeaderValue, RemoteError> {
        let text = self.token.as_ref().map_or("Anonymous".to_owned(), |token| format!("{PSK} {token}"));
        let mut value = HeaderValue::try_from(text).map_err(|_| RemoteError::Refused { url: self.url() })?;
        value.set_sensitive(true);
        Ok(value)
    }
}

/// What is said to a server: pieces that come, and an end when nobody can send more.
struct Said(mpsc::Receiver<Bytes>);

impl http_body::Body for Said {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}

/// Rows that were asked for: the messages, and what keeps the call open.
pub(crate) struct Exchange {
    pub(crate) answers: DataMessages,
    _said: mpsc::Sender<Bytes>,
}

/// A login at a server.
pub(crate) struct Peer {
    address: Arc<Address>,
    sender: SendRequest<Body>,
    bearer: Mutex<HeaderValue>,
}

impl Peer {
    /// Connects and logs in.
    pub(crate) async fn open(address: &Arc<Address>) -> Result<Arc<Peer>, RemoteError> {
        let opened = tokio::time::timeout(CALL, Peer::connected(address)).await;
        opened.map_err(|_| address.lost("it does not answer"))?
    }

    async fn connected(address: &Arc<Address>) -> Result<Arc<Peer>, RemoteError> {
        let lost = |error: std::io::Error| address.lost(error);
        let stream = TcpStream::connect((address.host.as_str(), address.port)).await.map_err(lost)?;
        stream.set_nodelay(true).map_err(lost)?;
        let sender = match &address.trust {
            None => spoken(address, stream).await?,
            Some(trust) => {
                let name = ServerName::try_from(address.host.clone()).map_err(|error| address.lost(error))?;
                let connector = TlsConnector::from(trust.0.clone());
                let secured = connector.connect(name, stream).await;
                spoken(address, secured.map_err(|error| address.lost(format!("TLS: {error}")))?).await?
            }
        };
        let peer = Peer { address: address.clone(), sender, bearer: Mutex::new(address.credential()?) };
        let known: Constants = peer.unary(CONFIG, "GetConfigurationConstants", &Empty {}).await?;
        let lives = known.config_values.get(LIVES).and_then(|value| value.string_value.as_ref()?.parse().ok());
        let each = lives.map_or(RENEWED, |millis: u64| Duration::from_millis(millis / 3).max(CALL / 100));
        let peer = Arc::new(peer);
        tokio::spawn(renewed(Arc::downgrade(&peer), each));
        Ok(peer)
    }

    /// Whether the connection is over.
    pub(crate) fn is_over(&self) -> bool {
        self.sender.is_closed()
    }

    /// What it answers, as it comes.
    async fn call(&self, service: &str, method: &str, said: mpsc::Receiver<Bytes>) -> Result<Incoming, RemoteError> {
        let address = &self.address;
        let scheme = if address.trust.is_some() { "https" } else { "http" };
        let bearer = lock(&self.bearer).clone();
        let request = Request::post(format!("{scheme}://{}/{service}/{method}", address.authority()))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .header("authorization", bearer)
            .body(Body::new(Said(said)))
            .map_err(|error| address.lost(error))?;
        let response = self.sender.clone().send_request(request).await.map_err(|error| address.lost(error))?;
        let (parts, body) = response.into_parts();
        self.heard(&parts.headers);
        if let Some(status) = Status::from_header_map(&parts.headers).filter(|status| status.code() != tonic::Code::Ok)
        {
            return Err(address.told(&status));
        }
        if parts.status != http::StatusCode::OK {
            return Err(address.lost(format!("it answers {}, which is no answer of this protocol", parts.status)));
        }
        Ok(body)
    }

    /// The server may give another token with any answer.
    fn heard(&self, headers: &HeaderMap) {
        if let Some(given) = headers.get("authorization") {
            let mut given = given.clone();
            given.set_sensitive(true);
            *lock(&self.bearer) = given;
        }
    }

    async fn unary<M: Message + Default + 'static>(
        &self,
        service: &str,
        method: &str,
        message: &impl Message,
    ) -> Result<M, RemoteError> {
        let answered = tokio::time::timeout(CALL, async {
            let body = self.call(service, method, once(message).await).await?;
            let mut answers = responses::<M>(body, MESSAGE);
            let first = answers.message().await.map_err(|status| self.address.told(&status))?;
            first.ok_or_else(|| self.address.lost("an answer without a message"))
        });
        answered.await.map_err(|_| self.address.lost(format!("{method} is not answered")))?
    }

    /// The names of the tables that it serves.
    pub(crate) async fn names(&self) -> Result<Vec<String>, RemoteError> {
        let known: FieldsChange = self.unary(APPLICATION, "ListFields", &Empty {}).await?;
        let tables = known.created.into_iter().filter(|field| {
            field.application_id == "scope" && field.typed_ticket.as_ref().is_some_and(|ticket| ticket.kind == "Table")
        });
        Ok(tables.map(|field| field.field_name).collect())
    }

    /// The schema of a table.
    pub(crate) async fn schema(&self, descriptor: &FlightDescriptor) -> Result<Bytes, RemoteError> {
        let found: SchemaResult = self.unary(FLIGHT, "GetSchema", descriptor).await?;
        Ok(found.schema)
    }

    /// Asks for rows of a table.
    pub(crate) async fn exchange(&self, request: Metadata) -> Result<Exchange, RemoteError> {
        let (said, saying) = mpsc::channel(1);
        let app_metadata = request.write().into();
        let first = framed(&FlightData { app_metadata, ..FlightData::default() });
        for piece in first {
            _ = said.try_send(piece);
        }
        let called = tokio::time::timeout(CALL, self.call(FLIGHT, "DoExchange", saying)).await;
        let body = called.map_err(|_| self.address.lost("DoExchange is not answered"))??;
        Ok(Exchange { answers: DataMessages::new(body, MESSAGE), _said: said })
    }

    /// What a status at the end of a stream says.
    pub(crate) fn ended(&self, status: &Status) -> RemoteError {
        self.address.told(status)
    }
}

/// One message, and the end.
async fn once(message: &impl Message) -> mpsc::Receiver<Bytes> {
    let (send, receive) = mpsc::channel(1);
    for piece in framed(message) {
        _ = send.try_send(piece);
    }
    receive
}

async fn spoken<S>(address: &Address, stream: S) -> Result<SendRequest<Body>, RemoteError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let shaken = Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(ALIVE.0)
        .keep_alive_timeout(ALIVE.1)
        .initial_stream_window_size(CALL_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_frame_size(FRAME)
        .handshake(TokioIo::new(stream))
        .await;
    let (sender, connection) = shaken.map_err(|error| address.lost(error))?;
    tokio::spawn(connection);
    Ok(sender)
}

/// Renews a login while somebody has it.
async fn renewed(peer: Weak<Peer>, each: Duration) {
    loop {
        tokio::time::sleep(each).await;
        let Some(peer) = peer.upgrade() else { return };
        let renewed = peer.unary::<Constants>(CONFIG, "GetConfigurationConstants", &Empty {}).await;
        // The streams of a login that is over end by themselves.
        if renewed.is_err() && peer.is_over() {
            return;
        }
    }
}
