//! Messages on the wire: read by prost, written as pieces that are sent as they lie in memory.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::error::Error;
use std::fmt::Display;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http_body::{Body, Frame};
use hyper::body::Incoming;
use prost::encoding::{WireType, decode_key, decode_varint};
use tokio::sync::mpsc;
use tonic::codec::{DecodeBuf, Decoder, Streaming};
use tonic::{Code, Status};

use crate::limits::Limits;
use crate::trouble::{fitting, internal};
use crate::web::{self, Speech};

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

/// Parts of a message at most. Two bytes may be a part that takes a hundred times as much memory once it is read.
const PARTS: usize = 1 << 18;
/// Messages in messages, as deep as they are read.
const DEEP: usize = 100;

/// Refuses a message whose parts are too many to be read, before any of them is.
pub(crate) fn bounded(message: &[u8]) -> Result<(), Status> {
    let mut left = PARTS;
    match count(message, DEEP, &mut left) {
        true => Ok(()),
        false => Err(Status::resource_exhausted(format!("a message of more than {PARTS} parts"))),
    }
}

/// Takes from `left` the parts that have a length, and those in them; whether there are no more. Bytes that are no message have
/// parts only as far as they look like one.
fn count(mut message: &[u8], deep: usize, left: &mut usize) -> bool {
    while message.has_remaining() {
        let Ok((_, wire)) = decode_key(&mut message) else { return true };
        let len = match wire {
            WireType::Varint => {
                let Ok(_) = decode_varint(&mut message) else { return true };
                continue;
            }
            WireType::SixtyFourBit => 8,
            WireType::ThirtyTwoBit => 4,
            WireType::LengthDelimited => {
                let Ok(len) = decode_varint(&mut message) else { return true };
                let len = usize::try_from(len).unwrap_or(usize::MAX).min(message.len());
                let Some(fewer) = left.checked_sub(1) else { return false };
                *left = fewer;
                if deep > 0 && !count(&message[..len], deep - 1, left) {
                    return false;
                }
                len
            }
            WireType::StartGroup | WireType::EndGroup => return true,
        };
        message.advance(len.min(message.len()));
    }
    true
}

/// Why a message that is compressed is not read.
pub(crate) const COMPRESSED: &str = "messages are read as they are, not compressed";

/// Reads a message.
pub(crate) fn read<M: prost::Message + Default>(message: impl Buf) -> Result<M, Status> {
    // A message lies in one piece.
    bounded(message.chunk())?;
    M::decode(message).map_err(|error| Status::invalid_argument(format!("malformed message: {error}")))
}

/// Reads messages of one type.
pub(crate) struct Reader<M>(PhantomData<M>);

impl<M: prost::Message + Default> Decoder for Reader<M> {
    type Item = M;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<M>, Status> {
        read(from).map(Some)
    }
}

/// What a client sends, as it comes.
pub(crate) trait Coming: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static {}

impl<B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static> Coming for B {}

/// A body as it is read, whatever it is.
trait Source: Send {
    fn poll_data(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Status>>>;
}

impl<B: Coming> Source for Pin<Box<B>> {
    fn poll_data(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Status>>> {
        loop {
            let frame = match ready!(self.as_mut().poll_frame(context)) {
                None => return Poll::Ready(None),
                Some(Err(error)) => {
                    let gone = format!("the other side is gone: {}", error.into());
                    return Poll::Ready(Some(Err(Status::cancelled(gone))));
                }
                Some(Ok(frame)) => frame,
            };
            // Trailers say nothing in a request.
            if let Ok(piece) = frame.into_data() {
                return Poll::Ready(Some(Ok(piece)));
            }
        }
    }
}

fn malformed(why: impl Display) -> Status {
    Status::invalid_argument(format!("malformed message: {why}"))
}

/// The length of a message whose frame is there.
pub(crate) fn length(frame: &mut impl Buf, limit: usize) -> Result<usize, Status> {
    let compressed = frame.get_u8();
    let len = frame.get_u32() as usize;
    match compressed {
        0 if len > limit => Err(Status::out_of_range(format!("a message of {len} bytes, of at most {limit}"))),
        0 => Ok(len),
        _ => Err(malformed(COMPRESSED)),
    }
}

/// Messages as the bytes that they are. Memory is taken for bytes that came, whatever length a message says that it has.
struct Frames {
    from: Box<dyn Source>,
    /// What came, and was not read yet.
    came: BytesMut,
    limit: usize,
}

impl Frames {
    fn new(body: impl Coming, limit: usize) -> Frames {
        Frames { from: Box::new(Box::pin(body)), came: BytesMut::new(), limit }
    }

    /// Whether so many bytes are there; they are waited for.
    async fn has(&mut self, len: usize) -> Result<bool, Status> {
        while self.came.len() < len {
            match poll_fn(|context| self.from.poll_data(context)).await {
                Some(piece) => self.came.extend_from_slice(&piece?),
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// The next message; none once all were sent. Frames that are none are the client's fault.
    async fn next(&mut self) -> Result<Option<Bytes>, Status> {
        const CUT: &str = "it is cut short";
        if !self.has(FRAME).await? {
            return if self.came.is_empty() { Ok(None) } else { Err(malformed(CUT)) };
        }
        let len = length(&mut self.came, self.limit)?;
        if !self.has(len).await? {
            return Err(malformed(CUT));
        }
        Ok(Some(self.came.split_to(len).freeze()))
    }
}

/// The one message of a request, as it came. What a client sends is read to its end before it is answered: frames that come to
/// a call that is over count as mistakes of the connection.
pub(crate) async fn whole(body: impl Coming, limits: &Limits) -> Result<Bytes, Status> {
    let mut messages = Frames::new(body, limits.control_message);
    said(limits, async {
        let first = messages.next().await?.ok_or_else(|| Status::invalid_argument("the request has no message"))?;
        match messages.next().await? {
            None => Ok(first),
            Some(_) => Err(Status::invalid_argument("the request has more than one message")),
        }
    })
    .await
}

/// What a client asks, which it says soon.
pub(crate) async fn said<T>(limits: &Limits, asked: impl Future<Output = Result<T, Status>>) -> Result<T, Status> {
    let late = |_| Err(Status::deadline_exceeded("the request did not come"));
    tokio::time::timeout(limits.request, asked).await.unwrap_or_else(late)
}

/// How long, and up to how many bytes, a call is read that was answered before its end.
const DRAINED: (Duration, usize) = (Duration::from_secs(5), 1 << 20);

/// Reads what is left of a call that is refused, beside its answer.
pub(crate) fn drain(body: Incoming) {
    drain_up_to(body, DRAINED.1);
}

/// As [`drain`], up to so many bytes.
pub(crate) fn drain_up_to(mut body: Incoming, most: usize) {
    tokio::spawn(tokio::time::timeout(DRAINED.0, async move {
        let mut left = most;
        while let Some(Ok(frame)) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            match left.checked_sub(frame.data_ref().map_or(0, Bytes::len)) {
                Some(rest) => left = rest,
                None => return,
            }
        }
    }));
}

/// Reads the messages that are left of a call that has ended, beside its answer.
pub(crate) fn drain_messages<M: prost::Message + Default + 'static>(mut messages: Requests<M>) {
    let (time, most) = DRAINED;
    tokio::spawn(tokio::time::timeout(time, async move {
        let mut left = most >> 10;
        while let Ok(Some(_)) = messages.message().await {
            match left.checked_sub(1) {
                Some(rest) => left = rest,
                None => return,
            }
        }
    }));
}

/// The messages of a request.
pub(crate) struct Requests<M>(Frames, PhantomData<fn() -> M>);

impl<M: prost::Message + Default> Requests<M> {
    /// The next message; none once all were sent.
    pub(crate) async fn message(&mut self) -> Result<Option<M>, Status> {
        self.0.next().await?.map(read).transpose()
    }
}

/// The messages of a request, none longer than `limit`.
pub(crate) fn requests<M: prost::Message + Default>(body: impl Coming, limit: usize) -> Requests<M> {
    Requests(Frames::new(body, limit), PhantomData)
}

/// The messages of an answer, none longer than `limit`.
pub(crate) fn responses<M: prost::Message + Default + 'static>(body: Incoming, limit: usize) -> Streaming<M> {
    Streaming::new_response(Reader(PhantomData), body, http::StatusCode::OK, None, Some(limit))
}

/// The one message of a request.
pub(crate) async fn one<M: prost::Message + Default>(body: Incoming, limits: &Limits) -> Result<M, Status> {
    read(whole(body, limits).await?)
}

/// The first message, if there is one, of a call whose client waits for an answer before it sends more.
pub(crate) async fn opening<M: prost::Message + Default + 'static>(
    body: Incoming,
    limit: usize,
) -> Result<Option<M>, Status> {
    let mut messages = requests(body, limit);
    let first = messages.message().await?;
    drain_messages(messages);
    Ok(first)
}

/// What is kept for whoever is told of it.
pub(crate) trait Kept: Send {
    /// The answer that tells of it is on its way. One that is dropped before that was told to nobody.
    fn told(self: Box<Self>);
}

/// What is sent back: messages that are there, and those that come; at the end, how it went.
pub(crate) struct Answers {
    pieces: VecDeque<Bytes>,
    rest: Option<mpsc::Receiver<Result<Message, Status>>>,
    ended: bool,
    speech: Speech,
    /// For whoever is told by the messages that are there.
    kept: Option<Box<dyn Kept>>,
}

impl Answers {
    /// Nothing but a good end.
    pub(crate) fn none() -> Answers {
        Answers { pieces: VecDeque::new(), rest: None, ended: false, speech: Speech::Grpc, kept: None }
    }

    /// With what is kept for whoever is told.
    pub(crate) fn keeping(self, kept: impl Kept + 'static) -> Answers {
        Answers { kept: Some(Box::new(kept)), ..self }
    }

    pub(crate) fn once(message: &impl prost::Message) -> Answers {
        Answers { pieces: framed(message).into(), ..Answers::none() }
    }

    pub(crate) fn all(messages: impl IntoIterator<Item = Message>) -> Answers {
        Answers { pieces: messages.into_iter().flatten().collect(), ..Answers::none() }
    }

    /// Framed as its caller reads it.
    pub(crate) fn spoken(self, speech: Speech) -> Answers {
        Answers { speech, ..self }
    }

    pub(crate) fn stream(rest: mpsc::Receiver<Result<Message, Status>>) -> Answers {
        Answers { rest: Some(rest), ..Answers::none() }
    }
}

/// Where work puts its answers.
pub(crate) type Answer = mpsc::Sender<Result<Message, Status>>;

/// Answers that work gives one by one, of which so many may wait for the client. They end as the work ends: with its error,
/// and with ours if it panics.
pub(crate) fn answered<F>(ahead: usize, work: impl FnOnce(Answer) -> F) -> Answers
where
    F: Future<Output = Result<(), Status>> + Send + 'static,
{
    let (send, receive) = mpsc::channel(ahead);
    let working = tokio::spawn(work(send.clone()));
    tokio::spawn(async move {
        if let Err(status) = working.await.unwrap_or_else(|panic| Err(internal(panic))) {
            _ = send.send(Err(status)).await;
        }
    });
    Answers::stream(receive)
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
            // Whoever asks for more has sent what there was.
            if let Some(kept) = this.kept.take() {
                kept.told();
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
            if fitting(status).add_header(&mut trailers).is_err() {
                trailers.insert("grpc-status", http::HeaderValue::from_static("13"));
            }
            return Poll::Ready(Some(Ok(match this.speech {
                Speech::Grpc => Frame::trailers(trailers),
                Speech::Web => Frame::data(web::framed(&trailers)),
            })));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::pages::Split;

    #[test]
    fn parts_are_counted_before_they_are_read() {
        let nested = |message: &[u8]| {
            let mut outer = vec![0x12];
            prost::encoding::encode_varint(message.len() as u64, &mut outer);
            [&outer, message].concat()
        };
        let parts = [0x0a, 0].repeat(PARTS);
        assert!(bounded(&parts).is_ok());
        for many in [[&parts[..], &[0x0a, 0]].concat(), nested(&parts), nested(&nested(&nested(&parts)))] {
            for message in [many.clone(), [&many[..], &[0xff; 20]].concat(), [&[0x08, 7][..], &many].concat()] {
                assert_eq!(bounded(&message).unwrap_err().code(), Code::ResourceExhausted);
            }
        }
        // Deeper than messages are read, nothing is counted; numbers, text and what is no message take no parts.
        let deep = (0..200).fold(Vec::new(), |inner: Vec<u8>, _| nested(&inner));
        for message in
            [deep, nested(&[b'a'; 1 << 20]), [0x08, 1].repeat(PARTS * 2), vec![0; 1 << 20], vec![0xff; 1 << 20]]
        {
            assert!(bounded(&message).is_ok());
        }
    }

    #[test]
    fn frames_that_are_none_are_the_clients_fault() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        for wrong in [&[0, 0, 0][..], &[0, 0, 0, 0, 9, 1], &[1, 0, 0, 0, 0], &[7, 0, 0, 0, 0]] {
            let body = Split::new([Bytes::copy_from_slice(wrong)]);
            let refused = runtime
                .block_on(whole(body, &Limits { control_message: 100, ..Limits::default() }))
                .expect_err("it is no message");
            assert_eq!(refused.code(), Code::InvalidArgument, "{wrong:?}: {refused}");
        }
    }

    /// The statuses in the trailers of answers, with what came before.
    fn ended(work: impl Future<Output = Result<(), Status>> + Send + 'static) -> (usize, Status) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime.block_on(async {
            let mut answers = answered(2, |send| async move {
                let one = Bytes::from_static(b"one");
                send.send(Ok(vec![one.clone(), one])).await.expect("somebody reads");
                work.await
            });
            let mut pieces = 0;
            loop {
                let frame = poll_fn(|context| Pin::new(&mut answers).poll_frame(context)).await;
                match frame.expect("trailers come last").expect("nothing fails").into_trailers() {
                    Ok(trailers) => return (pieces, Status::from_header_map(&trailers).expect("a status")),
                    Err(_) => pieces += 1,
                }
            }
        })
    }

    #[test]
    fn answers_end_as_the_work_does() {
        assert_eq!(ended(async { Ok(()) }).1.code(), Code::Ok);
        let (pieces, status) = ended(async { Err(Status::not_found("no such thing")) });
        assert_eq!((pieces, status.code(), status.message()), (2, Code::NotFound, "no such thing"));
    }

    #[test]
    fn a_panic_is_an_error_with_a_number_and_nothing_of_the_inside() {
        let (pieces, status) = ended(async { panic!("a secret") });
        assert_eq!((pieces, status.code()), (2, Code::Internal));
        assert!(status.message().starts_with("internal error ") && !status.message().contains("secret"));
    }
}
