//! A call that goes both ways, as a client has it.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Request;
use http_body::Frame;
use hyper::client::conn::http2::SendRequest;
use prost::Message;
use tokio::sync::mpsc;
use tonic::Status;
use tonic::body::Body;
use tonic::codec::Streaming;

use crate::wire::{Whole, framed};

/// A request whose messages come one by one.
struct Sent(mpsc::UnboundedReceiver<Bytes>);

impl http_body::Body for Sent {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}

/// A call that goes both ways.
pub struct Exchange {
    /// None once the client has ended its half.
    pub send: Option<mpsc::UnboundedSender<Bytes>>,
    answers: Streaming<Vec<u8>>,
}

impl Exchange {
    pub async fn open(client: &mut SendRequest<Body>, path: &str, first: &impl Message) -> Exchange {
        Exchange::open_as(client, path, "", first).await
    }

    /// As somebody, by a header.
    pub async fn open_as(client: &mut SendRequest<Body>, path: &str, who: &str, first: &impl Message) -> Exchange {
        let (send, receive) = mpsc::unbounded_channel();
        let request = Request::post(format!("http://tickframe{path}")).header("content-type", "application/grpc");
        let request = if who.is_empty() { request } else { request.header("authorization", who) };
        send.send(framed(&first.encode_to_vec())).expect("it is open");
        let request = request.body(Body::new(Sent(receive))).expect("a request");
        let (parts, body) = client.send_request(request).await.expect("an answer").into_parts();
        assert!(Status::from_header_map(&parts.headers).is_none(), "{:?}", parts.headers);
        let answers = Streaming::new_response(Whole, body, parts.status, None, Some(1 << 30));
        Exchange { send: Some(send), answers }
    }

    /// A call of one message.
    #[allow(dead_code, reason = "one of the tests needs none")]
    pub async fn ask(client: &mut SendRequest<Body>, path: &str, message: &impl Message) -> Exchange {
        let request = Request::post(format!("http://tickframe{path}")).header("content-type", "application/grpc");
        let body = Body::new(http_body_util::Full::new(framed(&message.encode_to_vec())));
        let request = request.body(body).expect("a request");
        let (parts, body) = client.send_request(request).await.expect("an answer").into_parts();
        assert!(Status::from_header_map(&parts.headers).is_none(), "{:?}", parts.headers);
        let answers = Streaming::new_response(Whole, body, parts.status, None, Some(1 << 30));
        Exchange { send: None, answers }
    }

    pub fn say(&self, message: &impl Message) {
        self.send.as_ref().expect("it is open").send(framed(&message.encode_to_vec())).expect("it is open");
    }

    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, Status> {
        self.answers.message().await
    }
}
