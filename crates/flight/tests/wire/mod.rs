//! A client of HTTP/2 and nothing more, for tests.

use std::net::SocketAddr;

use bytes::{Bytes, BytesMut};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tonic::Status;
use tonic::body::Body;
use tonic::codec::{DecodeBuf, Decoder};

/// A message with its frame.
pub fn framed(message: &[u8]) -> Bytes {
    let mut body = BytesMut::with_capacity(5 + message.len());
    body.extend_from_slice(&[0]);
    body.extend_from_slice(&(message.len() as u32).to_be_bytes());
    body.extend_from_slice(message);
    body.freeze()
}

/// Any message, as its bytes.
pub struct Whole;

impl Decoder for Whole {
    type Item = Vec<u8>;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Vec<u8>>, Status> {
        use bytes::Buf;
        let mut bytes = vec![0; from.remaining()];
        from.copy_to_slice(&mut bytes);
        Ok(Some(bytes))
    }
}

pub async fn connect(address: SocketAddr) -> SendRequest<Body> {
    let stream = TcpStream::connect(address).await.expect("a connection");
    stream.set_nodelay(true).expect("a socket");
    speaks(stream).await
}

/// Speaks HTTP/2 over a connection that is there.
pub async fn speaks<S>(stream: S) -> SendRequest<Body>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (client, connection) =
        handshake(TokioExecutor::new(), TokioIo::new(stream)).await.expect("a handshake of HTTP/2");
    tokio::spawn(connection);
    client
}
