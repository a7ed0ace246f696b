//! Messages on the wire: read by prost, written as pieces that are sent as they lie in memory.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{BufMut, Bytes, BytesMut};
use http_body::{Body, Frame};
use hyper::body::Incoming;
use tokio::sync::mpsc;
use tonic::codec::{DecodeBuf, Decoder, Streaming};
use tonic::{Code, Status};

/// One message with its frame, in pieces.
pub(crate) type Message = Vec<Bytes>;

/// Five bytes stand before each message: whether it is compressed, and its length.
pub(crate) const FRAME: usize = 5;

/// A message in one piece.
pub(crate) fn framed(message: &impl prost::Message) -> Message {
    let len = message.encoded_len();
    let mut buffer = BytesMut::with_capacity(FRAME + len);
    buffer.put_u8(0);
    buffer.put_u32(len as u32);
    message.encode_raw(&mut buffer);
    vec![buffer.freeze()]
}

/// Reads messages of one type.
pub(crate) struct Reader<M>(PhantomData<M>);

impl<M: prost::Message + Default> Decoder for Reader<M> {
    type Item = M;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<M>, Status> {
        M::decode(from).map(Some).map_err(|error| Status::invalid_argument(format!("malformed message: {error}")))
    }
}

/// The messages of a request, none longer than `limit`.
pub(crate) fn requests<M: prost::Message + Default + 'static>(body: Incoming, limit: usize) -> Streaming<M> {
    Streaming::new_request(Reader(PhantomData), body, None, Some(limit))
}

/// The one message of a request.
pub(crate) async fn one<M: prost::Message + Default + 'static>(body: Incoming, limit: usize) -> Result<M, Status> {
    requests(body, limit).message().await?.ok_or_else(|| Status::invalid_argument("the request has no message"))
}

/// What is sent back: messages that are there, and those that come; at the end, how it went.
pub(crate) struct Answers {
    pieces: VecDeque<Bytes>,
    rest: Option<mpsc::Receiver<Result<Message, Status>>>,
    ended: bool,
}

impl Answers {
    /// Nothing but a good end.
    pub(crate) fn none() -> Answers {
        Answers { pieces: VecDeque::new(), rest: None, ended: false }
    }

    pub(crate) fn once(message: &impl prost::Message) -> Answers {
        Answers { pieces: framed(message).into(), ..Answers::none() }
    }

    pub(crate) fn all(messages: impl IntoIterator<Item = Message>) -> Answers {
        Answers { pieces: messages.into_iter().flatten().collect(), ..Answers::none() }
    }

    pub(crate) fn stream(rest: mpsc::Receiver<Result<Message, Status>>) -> Answers {
        Answers { rest: Some(rest), ..Answers::none() }
    }
}

impl Body for Answers {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        loop {
            if let Some(piece) = this.pieces.pop_front() {
                return Poll::Ready(Some(Ok(Frame::data(piece))));
            }
            if this.ended {
                return Poll::Ready(None);
            }
            let next = match &mut this.rest {
                Some(rest) => ready!(rest.poll_recv(context)),
                None => None,
            };
            let status = match next {
                Some(Ok(message)) => {
                    this.pieces.extend(message);
                    continue;
                }
                Some(Err(status)) => status,
                None => Status::new(Code::Ok, ""),
            };
            this.ended = true;
            this.rest = None;
            let mut trailers = http::HeaderMap::new();
            // A status that is no header has no text that could be sent.
            if status.add_header(&mut trailers).is_err() {
                trailers.insert("grpc-status", http::HeaderValue::from_static("13"));
            }
            return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
        }
    }
}
