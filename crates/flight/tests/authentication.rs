//! Every call of the table of calls, by callers with every kind of credential: who has no right reaches no service.

mod wire;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::{ArrayRef, Int64Array};
use arrow_schema::{DataType, Field, Schema};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use flight::limits::Limits;
use flight::{Access, CALLS, Catalog, Identity, Options, Server};
use http::{HeaderMap, Request};
use hyper::client::conn::http2::SendRequest;
use prost::Message;
use tonic::body::Body;
use tonic::codec::Streaming;
use tonic::{Code, Status};
use wire::{Whole, connect, framed};

const SECRET: &str = "a-secret-of-this-test";
const PSK: &str = "io.deephaven.authentication.psk.PskAuthenticationHandler";
/// Calls that stay open while nothing happens.
const WAITING: Duration = Duration::from_millis(400);
/// A session's life at the server where sessions expire.
const SHORT: Duration = Duration::from_millis(50);

fn server(limits: Limits) -> Server {
    let address = "127.0.0.1:0".parse().expect("an address");
    let access = Access::Tokens(vec![(String::new(), SECRET.to_owned())]);
    Server::start(
        Options { address, access, tls: None, limits, origins: Vec::new(), console: None, storage: None },
        Arc::new(Catalog::default()),
    )
    .expect("a server")
}

struct Client(SendRequest<Body>);

/// How a call ended, or that it runs still; and the headers of its answer.
struct Ended {
    code: Option<Code>,
    headers: HeaderMap,
    messages: Vec<Vec<u8>>,
}

impl Client {
    async fn connect(address: SocketAddr) -> Client {
        Client(connect(address).await)
    }

    async fn call(&mut self, path: &str, headers: &[(&str, String)], message: Option<&[u8]>) -> Ended {
        let body = message.map_or_else(Bytes::new, framed);
        let mut request = Request::post(format!("http://tickframe{path}")).header("content-type", "application/grpc");
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let body = Body::new(http_body_util::Full::new(body));
        let sent = self.0.send_request(request.body(body).expect("a request"));
        let running = Ended { code: None, headers: HeaderMap::new(), messages: Vec::new() };
        let Ok(response) = tokio::time::timeout(WAITING, sent).await else { return running };
        let (parts, body) = response.expect("an answer").into_parts();
        if let Some(status) = Status::from_header_map(&parts.headers) {
            return Ended { code: Some(status.code()), headers: parts.headers, messages: Vec::new() };
        }
        let mut messages = Streaming::new_response(Whole, body, parts.status, None, None);
        let mut all = Vec::new();
        let mut code = None;
        loop {
            match tokio::time::timeout(WAITING, messages.message()).await {
                Err(_) => break,
                Ok(Ok(Some(message))) => all.push(message),
                Ok(Ok(None)) => {
                    code = Some(Code::Ok);
                    break;
                }
                Ok(Err(status)) => {
                    code = Some(status.code());
                    break;
                }
            }
        }
        Ended { code, headers: parts.headers, messages: all }
    }

    /// The token of a session of its own.
    async fn login(&mut self) -> String {
        let path = path("ConfigService", "GetConfigurationConstants");
        let ended = self.call(&path, &[authorization(&format!("{PSK} {SECRET}"))], Some(&[])).await;
        assert_eq!(ended.code, Some(Code::Ok));
        let token = ended.headers.get("authorization").expect("the answer has the session's token");
        token.to_str().expect("text").strip_prefix("Bearer ").expect("a bearer").to_owned()
    }
}

fn path(service: &str, method: &str) -> String {
    let of = |known: &&(&'static str, &'static str, flight::Call, bool)| {
        known.0.ends_with(&format!(".{service}")) && known.1 == method
    };
    let found = CALLS.iter().find(of).expect("a call of the table");
    format!("/{}/{}", found.0, found.1)
}

fn authorization(value: &str) -> (&'static str, String) {
    ("authorization", value.to_owned())
}

fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(test);
}

#[test]
fn who_has_no_right_reaches_no_service() {
    let held = server(Limits::default());
    let other = server(Limits::default());
    let short = server(Limits { session: SHORT, ..Limits::default() });
    run(async {
        let mut client = Client::connect(held.address()).await;
        let mut elsewhere = Client::connect(other.address()).await;
        let mut brief = Client::connect(short.address()).await;
        let foreign = elsewhere.login().await;
        let closed = client.login().await;
        let bearer = authorization(&format!("Bearer {closed}"));
        let close = path("SessionService", "CloseSession");
        assert_eq!(client.call(&close, std::slice::from_ref(&bearer), Some(&[])).await.code, Some(Code::Ok));
        let expired = brief.login().await;
        tokio::time::sleep(4 * SHORT).await;
        let basic = |text: &str| authorization(&format!("Basic {}", STANDARD.encode(text)));
        let wrong: Vec<Vec<(&str, String)>> = vec![
            vec![],
            vec![authorization("")],
            vec![authorization("Bearer")],
            vec![authorization("Anonymous")],
            vec![authorization("Bearer Anonymous")],
            vec![authorization(SECRET)],
            vec![authorization(&format!("Bearer {SECRET}x"))],
            vec![authorization(&format!("Bearer {}", &SECRET[1..]))],
            vec![authorization(&format!("{PSK} wrong"))],
            vec![authorization(&format!("Bearer {PSK} wrong"))],
            vec![basic("anybody:wrong")],
            vec![basic(SECRET)],
            vec![authorization("Basic not*base64")],
            vec![("auth-token-bin", "not*base64".to_owned())],
            vec![("auth-token-bin", STANDARD.encode(&foreign))],
            vec![("cookie", format!("deephaven-auth-cookie={foreign}"))],
            vec![authorization(&format!("Bearer {foreign}"))],
            vec![bearer],
            // What comes first is what counts: a right word after it does not mend a wrong one.
            vec![("auth-token-bin", STANDARD.encode("wrong")), authorization(&format!("Bearer {SECRET}"))],
        ];
        for (service, method, call, before_login) in CALLS {
            let path = format!("/{service}/{method}");
            for headers in &wrong {
                // No message, one of nothing, and one that is none: a service would tell them apart.
                for message in [None, Some(&[][..]), Some(&[0xff; 9][..])] {
                    let ended = client.call(&path, headers, message).await;
                    if !before_login {
                        assert_eq!(ended.code, Some(Code::Unauthenticated), "{call:?} with {headers:?}");
                    }
                    assert!(!ended.headers.contains_key("authorization"), "{call:?} gave a token to {headers:?}");
                    assert_eq!(held.sessions(), 0, "{call:?} with {headers:?} opened a session");
                }
            }
            if !before_login {
                let headers = [authorization(&format!("Bearer {expired}"))];
                let ended = brief.call(&path, &headers, Some(&[])).await;
                assert_eq!(ended.code, Some(Code::Unauthenticated), "{call:?} after the session's end");
            }
        }
    });
}

#[test]
fn who_has_a_right_reaches_every_service() {
    let held = server(Limits::default());
    run(async {
        let mut client = Client::connect(held.address()).await;
        let token = client.login().await;
        let forms = [
            authorization(&format!("Bearer {SECRET}")),
            authorization(&format!("Bearer {token}")),
            ("auth-token-bin", STANDARD.encode(&token)),
            ("cookie", format!("deephaven-auth-cookie={token}")),
        ];
        for (service, method, call, _) in CALLS {
            if *method == "CloseSession" {
                continue;
            }
            for form in &forms {
                let ended = client.call(&format!("/{service}/{method}"), std::slice::from_ref(form), Some(&[])).await;
                assert_ne!(ended.code, Some(Code::Unauthenticated), "{call:?} with {form:?}");
                assert_ne!(ended.code, Some(Code::Internal), "{call:?} with {form:?}");
            }
        }
        assert_eq!(held.sessions(), 1);
    });
}

/// A file of the certificates that tests have.
fn pem(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/tls/");
    std::fs::read(format!("{folder}{name}")).expect("a file of the tests")
}

#[test]
fn encryption_lets_nobody_in_who_has_no_right() {
    use tokio_rustls::rustls::pki_types::pem::PemObject;
    use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
    use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto::ring};
    let identity = Identity::of(&pem("server.pem"), &pem("server.key")).expect("a certificate and its key");
    let (address, access) =
        ("127.0.0.1:0".parse().expect("an address"), Access::Tokens(vec![(String::new(), SECRET.to_owned())]));
    let options = Options {
        address,
        access,
        tls: Some(identity),
        limits: Limits::default(),
        origins: Vec::new(),
        console: None,
        storage: None,
    };
    let held = Server::start(options, Arc::new(Catalog::default())).expect("a server");
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(&pem("authority.pem")).expect("a certificate")).expect("an authority");
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().expect("versions").with_root_certificates(roots);
    let mut config = config.with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    run(async {
        let stream = tokio::net::TcpStream::connect(held.address()).await.expect("a connection");
        let name = ServerName::try_from("localhost").expect("a name");
        let stream = tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, stream).await;
        let mut client = Client(wire::speaks(stream.expect("a handshake of TLS")).await);
        let wrong = authorization(&format!("Bearer {SECRET}x"));
        for (service, method, call, before_login) in CALLS {
            let path = format!("/{service}/{method}");
            for headers in [&[][..], std::slice::from_ref(&wrong)] {
                let ended = client.call(&path, headers, Some(&[])).await;
                if !before_login {
                    assert_eq!(ended.code, Some(Code::Unauthenticated), "{call:?} with {headers:?}");
                }
                assert_eq!(held.sessions(), 0, "{call:?} with {headers:?} opened a session");
            }
        }
        let right = [authorization(&format!("Bearer {SECRET}"))];
        let constants = path("ConfigService", "GetConfigurationConstants");
        assert_eq!(client.call(&constants, &right, Some(&[])).await.code, Some(Code::Ok));
    });
}

#[test]
fn a_call_that_is_not_in_the_table_does_not_exist() {
    let held = server(Limits::default());
    run(async {
        let mut client = Client::connect(held.address()).await;
        let right = [authorization(&format!("Bearer {SECRET}"))];
        for path in ["/", "/x", "/arrow.flight.protocol.FlightService/Nothing", "/Nothing/DoGet", "//DoGet"] {
            assert_eq!(client.call(path, &right, Some(&[])).await.code, Some(Code::Unimplemented), "{path}");
        }
    });
}

/// A ticket in a message, as field `tag`.
fn field(tag: u8, ticket: &[u8]) -> Vec<u8> {
    let mut inner = vec![0x0a];
    ticket.to_vec().encode_length(&mut inner);
    inner.extend(ticket);
    let mut outer = vec![tag << 3 | 2];
    inner.encode_length(&mut outer);
    outer.extend(inner);
    outer
}

trait Length {
    fn encode_length(&self, to: &mut Vec<u8>);
}

impl Length for Vec<u8> {
    fn encode_length(&self, to: &mut Vec<u8>) {
        prost::encoding::encode_varint(self.len() as u64, to);
    }
}

#[test]
fn nothing_of_one_login_is_anothers() {
    let held = server(Limits::default());
    let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, true)]));
    let cells: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let table = engine::sources::from_chunks(schema, vec![vec![cells]], 3).expect("a table");
    held.catalog().put("t".to_owned(), table);
    run(async {
        let mut client = Client::connect(held.address()).await;
        let first = [authorization(&format!("Bearer {}", client.login().await))];
        let second = [authorization(&format!("Bearer {}", client.login().await))];
        let export = [b"e".as_slice(), &1_i32.to_le_bytes()].concat();
        let from_ticket = [field(1, b"s/t"), field(2, &export)].concat();
        let made = client.call(&path("SessionService", "ExportFromTicket"), &first, Some(&from_ticket)).await;
        assert_eq!(made.code, Some(Code::Ok));
        let release = path("SessionService", "Release");
        let refused = client.call(&release, &second, Some(&field(1, &export))).await;
        assert_eq!(refused.code, Some(Code::Unavailable), "another login's export can be released");
        let get = path("FlightService", "DoGet");
        let ticket = {
            let mut message = vec![0x0a];
            export.encode_length(&mut message);
            message.extend(&export);
            message
        };
        // A number that this login has not used is waited for.
        let waits = client.call(&get, &second, Some(&ticket)).await;
        assert!(waits.code.is_none() && waits.messages.is_empty());
        let own = client.call(&get, &first, Some(&ticket)).await;
        assert_eq!(own.code, Some(Code::Ok));
        assert!(own.messages.len() >= 2, "a schema and rows");
        let told = client.call(&path("SessionService", "ExportNotifications"), &second, Some(&[])).await;
        assert_eq!(told.messages.len(), 1, "only that this was all");
        let close = path("SessionService", "CloseSession");
        let token = first[0].1.clone();
        let theirs = token.encode_to_vec();
        let refused = client.call(&close, &second, Some(&[[0x12].as_slice(), &theirs[1..]].concat())).await;
        assert_eq!(refused.code, Some(Code::InvalidArgument), "one login closes another");
        let own = client.call(&get, &first, Some(&ticket)).await;
        assert_eq!(own.code, Some(Code::Ok));
    });
}
