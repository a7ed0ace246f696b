//! Rows on their way in, from a client or from a server. A body is copied once, from the frames in which it came to where
//! its columns can be read.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;

use arrow_buffer::{Buffer, MutableBuffer};
use bytes::buf::Take;
use bytes::{Buf, Bytes};
use http::HeaderMap;
use http_body::Body;
use hyper::body::Incoming;
use prost::Message;
use prost::encoding::{DecodeContext, WireType, check_wire_type, decode_key, decode_varint, skip_field};
use tonic::{Code, Status};

use crate::frames::{FRAME, drain_up_to, length};
use crate::proto::FlightDescriptor;

/// One `FlightData`.
#[derive(Debug, Default)]
pub(crate) struct DataMessage {
    pub(crate) descriptor: Option<FlightDescriptor>,
    pub(crate) header: Bytes,
    pub(crate) metadata: Bytes,
    pub(crate) body: Buffer,
}

/// What came and was not read yet, in the pieces in which it came.
#[derive(Default)]
struct Pieces {
    pieces: VecDeque<Bytes>,
    len: usize,
}

impl Buf for Pieces {
    fn remaining(&self) -> usize {
        self.len
    }

    fn chunk(&self) -> &[u8] {
        self.pieces.front().map_or(&[], Bytes::as_ref)
    }

    fn advance(&mut self, count: usize) {
        assert!(count <= self.len, "no more than there is");
        self.len -= count;
        let mut left = count;
        while let Some(front) = self.pieces.front_mut().filter(|_| left > 0) {
            if front.len() > left {
                front.advance(left);
                return;
            }
            left -= front.len();
            self.pieces.pop_front();
        }
    }
}

/// The messages of who sends rows.
pub(crate) struct DataMessages<B = Incoming> {
    body: B,
    pieces: Pieces,
    limit: usize,
    trailers: Option<HeaderMap>,
    /// Bytes of the longest body so far.
    longest: usize,
}

/// A key and a length, of ten bytes each at most, stand before a field.
const BEFORE: usize = 20;
/// Memory that is taken for a body before its bytes are there; more only where as much was sent before.
const AT_ONCE: usize = 64 << 10;

fn malformed(why: impl std::fmt::Display) -> Status {
    Status::invalid_argument(format!("malformed message: {why}"))
}

impl<B> DataMessages<B>
where
    B: Body<Data = Bytes, Error: std::fmt::Display> + Unpin,
{
    /// The messages in a body; a longer one than `limit` is refused.
    pub(crate) fn new(body: B, limit: usize) -> DataMessages<B> {
        DataMessages { body, pieces: Pieces::default(), limit, trailers: None, longest: 0 }
    }

    /// The next message; none once all were sent. A server that ends with an error says so in what comes last.
    pub(crate) async fn next(&mut self) -> Result<Option<DataMessage>, Status> {
        if !self.has(FRAME).await? {
            self.ended()?;
            return if self.pieces.len == 0 { Ok(None) } else { Err(malformed("it is cut short")) };
        }
        let len = length(&mut self.pieces, self.limit)?;
        self.message(len).await.map(Some)
    }

    /// A message of so many bytes. No field reaches beyond it: what lies behind it is another's.
    async fn message(&mut self, len: usize) -> Result<DataMessage, Status> {
        let mut message = DataMessage::default();
        let mut left = len;
        while left > 0 {
            self.wait(left.min(BEFORE)).await?;
            let (tag, wire) = self.taken(&mut left, decode_key)?;
            if !matches!(tag, 1 | 2 | 3 | 1000) {
                self.wait(left).await?;
                self.taken(&mut left, |from| skip_field(wire, tag, from, DecodeContext::default()))?;
                continue;
            }
            check_wire_type(WireType::LengthDelimited, wire).map_err(malformed)?;
            let own = self.taken(&mut left, decode_varint)?;
            let own = usize::try_from(own).ok().filter(|own| *own <= left).ok_or_else(|| malformed(truncated()))?;
            left -= own;
            if tag == 1000 {
                message.body = self.body(own).await?;
                continue;
            }
            self.wait(own).await?;
            let bytes = self.pieces.copy_to_bytes(own);
            match tag {
                // A message that comes in parts is all of them.
                1 => message.descriptor.get_or_insert_default().merge(bytes).map_err(malformed)?,
                2 => message.header = bytes,
                _ => message.metadata = bytes,
            }
        }
        Ok(message)
    }

    /// What is read of the bytes that are there; none of what lies behind those that are left.
    fn taken<'a, R>(
        &'a mut self,
        left: &mut usize,
        read: impl FnOnce(&mut Take<&'a mut Pieces>) -> Result<R, prost::DecodeError>,
    ) -> Result<R, Status> {
        let mut own = (&mut self.pieces).take(*left);
        let found = read(&mut own).map_err(malformed)?;
        *left = own.limit();
        Ok(found)
    }

    /// So many bytes, each copied as it comes to where it stays.
    async fn body(&mut self, len: usize) -> Result<Buffer, Status> {
        let mut body = MutableBuffer::with_capacity(len.min(AT_ONCE.max(self.longest)));
        while body.len() < len {
            self.wait(1).await?;
            let chunk = self.pieces.chunk();
            let part = chunk.len().min(len - body.len());
            body.extend_from_slice(&chunk[..part]);
            self.pieces.advance(part);
        }
        self.longest = self.longest.max(len);
        Ok(body.into())
    }

    /// Waits for so many bytes of a message.
    async fn wait(&mut self, len: usize) -> Result<(), Status> {
        if self.has(len).await? {
            return Ok(());
        }
        self.ended()?;
        Err(malformed("it is cut short"))
    }

    /// How the call went, by what came last.
    fn ended(&self) -> Result<(), Status> {
        match self.trailers.as_ref().and_then(Status::from_header_map) {
            Some(status) if status.code() != Code::Ok => Err(status),
            _ => Ok(()),
        }
    }

    /// Whether so many bytes are there; they are waited for.
    async fn has(&mut self, len: usize) -> Result<bool, Status> {
        while self.pieces.len < len {
            match poll_fn(|context| Pin::new(&mut self.body).poll_frame(context)).await {
                None => return Ok(false),
                Some(Err(error)) => return Err(Status::cancelled(format!("the other side is gone: {error}"))),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(piece) => {
                        self.pieces.len += piece.len();
                        if !piece.is_empty() {
                            self.pieces.pieces.push_back(piece);
                        }
                    }
                    Err(last) => self.trailers = last.into_trailers().ok(),
                },
            }
        }
        Ok(true)
    }
}

impl DataMessages {
    /// Reads what is left beside the answer.
    pub(crate) fn drain(self) {
        const LEFT: usize = 64 << 20;
        drain_up_to(self.body, LEFT);
    }
}

/// The error of a field that reaches beyond its message.
fn truncated() -> prost::DecodeError {
    FlightDescriptor::decode(&b"\x1a\x05"[..]).expect_err("it is cut short")
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;
    use crate::proto::FlightData;
    use crate::testing::pages::Split;

    fn coming(bytes: &[u8], each: usize) -> DataMessages<Split> {
        DataMessages::new(Split::new(bytes.chunks(each).map(Bytes::copy_from_slice)), 1 << 20)
    }

    fn done<R>(work: impl Future<Output = R>) -> R {
        let mut work = pin!(work);
        loop {
            if let Poll::Ready(done) = work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                return done;
            }
        }
    }

    fn framed(message: &[u8]) -> Vec<u8> {
        [&[0][..], &(message.len() as u32).to_be_bytes(), message].concat()
    }

    fn sent() -> FlightData {
        FlightData {
            flight_descriptor: Some(FlightDescriptor {
                kind: 1,
                cmd: Bytes::new(),
                path: vec!["a".into(), "b".into()],
            }),
            data_header: Bytes::from_static(b"a header"),
            app_metadata: Bytes::from_static(b"metadata"),
            data_body: (0..200_u8).collect::<Vec<u8>>().into(),
        }
    }

    #[test]
    fn a_message_is_read_from_any_pieces() {
        let bytes = framed(&sent().encode_to_vec());
        for each in [1, 2, 3, 7, 64, 1000] {
            let mut from = coming(&[bytes.as_slice(), &bytes].concat(), each);
            for _ in 0..2 {
                let read = done(from.next()).expect("sound").expect("there is one");
                assert_eq!(read.descriptor, sent().flight_descriptor);
                assert_eq!((read.header, read.metadata), (sent().data_header, sent().app_metadata));
                assert_eq!(read.body.as_slice(), &sent().data_body[..]);
                assert_eq!(read.body.as_ptr().align_offset(64), 0);
            }
            assert!(done(from.next()).expect("a good end").is_none());
            for cut in 1..bytes.len() {
                assert!(done(coming(&bytes[..cut], each).next()).is_err(), "{cut} bytes of {}", bytes.len());
            }
        }
    }

    #[test]
    fn fields_that_are_not_known_are_passed_over() {
        let known = sent().encode_to_vec();
        // Of each kind: a number, eight bytes, four bytes, and so many as it says.
        let others = [
            &[0x98, 0x01, 0xff, 0x01][..],
            &[0x99, 0x01, 1, 2, 3, 4, 5, 6, 7, 8],
            &[0x9d, 0x01, 1, 2, 3, 4],
            &[0x9a, 0x01, 3, 1, 2, 3],
        ];
        for other in others {
            for each in [1, 5, 1000] {
                let mut from = coming(&framed(&[other, &known, other].concat()), each);
                let read = done(from.next()).expect("sound").expect("there is one");
                assert_eq!((read.header, read.metadata), (sent().data_header, sent().app_metadata));
                assert_eq!(read.body.as_slice(), &sent().data_body[..]);
                assert!(done(from.next()).expect("a good end").is_none());
            }
        }
    }

    #[test]
    fn a_descriptor_in_parts_is_all_of_them() {
        let part = |path: &[&str], kind| {
            let path = path.iter().map(|step| (*step).to_owned()).collect();
            let flight_descriptor = Some(FlightDescriptor { kind, cmd: Bytes::new(), path });
            FlightData { flight_descriptor, ..FlightData::default() }.encode_to_vec()
        };
        let message = [part(&["scope"], 1), part(&["trades"], 0)].concat();
        let read = done(coming(&framed(&message), 7).next()).expect("sound").expect("there is one");
        let whole = FlightData::decode(message.as_slice()).expect("sound");
        assert_eq!(read.descriptor, whole.flight_descriptor);
        assert_eq!(read.descriptor.map(|of| of.path.join("/")).as_deref(), Some("scope/trades"));
    }

    #[test]
    fn what_lies_behind_a_message_does_not_change_what_is_said_of_it() {
        // A field that is not known, and longer than its message.
        let wrong = framed(&[0x9a, 0x01, 9, 1]);
        let told = |bytes: &[u8], each| done(coming(bytes, each).next()).map(drop).map_err(|status| status.to_string());
        let alone = told(&wrong, 1);
        assert!(alone.is_err());
        let followed = [wrong.clone(), framed(&sent().encode_to_vec())].concat();
        for each in [1, 5, 1000] {
            assert_eq!(told(&followed, each), alone, "{each} at a time");
        }
    }

    #[test]
    fn no_bytes_reach_beyond_their_message() {
        let bytes = sent().encode_to_vec();
        for at in 0..bytes.len().min(60) {
            for with in [0, 1, 0x7f, 0x80, 0xff] {
                let mut wrong = bytes.clone();
                wrong[at] = with;
                for len in [wrong.len(), wrong.len() / 2, 1] {
                    let mut from = coming(&[framed(&wrong[..len]), framed(&bytes)].concat(), 16);
                    if done(from.next()).is_ok() {
                        let behind = done(from.next()).expect("sound").expect("there is one");
                        assert_eq!(behind.header, sent().data_header);
                    }
                }
            }
        }
    }
}
