//! Rows on their way in, from a client or from a server. A body is copied once, from the frames in which it came to where
//! its columns can be read.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;

use arrow_buffer::{Buffer, MutableBuffer};
use bytes::{Buf, Bytes};
use http::HeaderMap;
use http_body::Body;
use hyper::body::Incoming;
use prost::Message;
use prost::encoding::{DecodeContext, WireType, check_wire_type, decode_key, decode_varint, skip_field};
use tonic::{Code, Status};

use crate::frames::{FRAME, drain_up_to};
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
pub(crate) struct DataMessages {
    body: Incoming,
    pieces: Pieces,
    limit: usize,
    trailers: Option<HeaderMap>,
}

fn malformed(why: impl std::fmt::Display) -> Status {
    Status::invalid_argument(format!("malformed message: {why}"))
}

impl DataMessages {
    /// Of none of which is longer than `limit`.
    pub(crate) fn new(body: Incoming, limit: usize) -> DataMessages {
        DataMessages { body, pieces: Pieces::default(), limit, trailers: None }
    }

    /// The next message; none once all were sent. A server that ends with an error says so in what comes last.
    pub(crate) async fn next(&mut self) -> Result<Option<DataMessage>, Status> {
        if !self.has(FRAME).await? {
            self.ended()?;
            return if self.pieces.len == 0 { Ok(None) } else { Err(malformed("it is cut short")) };
        }
        let compressed = self.pieces.get_u8();
        let len = self.pieces.get_u32() as usize;
        if compressed != 0 {
            return Err(Status::unimplemented("messages are read as they are, not compressed"));
        }
        if len > self.limit {
            return Err(Status::out_of_range(format!("a message of {len} bytes, of at most {}", self.limit)));
        }
        if !self.has(len).await? {
            self.ended()?;
            return Err(malformed("it is cut short"));
        }
        message(&mut self.pieces, len).map(Some).map_err(malformed)
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

    /// Reads what is left beside the answer.
    pub(crate) fn drain(self) {
        const LEFT: usize = 64 << 20;
        drain_up_to(self.body, LEFT);
    }
}

/// A message of so many bytes, all of which are there.
fn message(from: &mut Pieces, len: usize) -> Result<DataMessage, prost::DecodeError> {
    let end = from.len - len;
    let mut message = DataMessage::default();
    let context = DecodeContext::default();
    // A field cannot reach beyond its message: what lies behind it is another's.
    let taken = |from: &mut Pieces, wire: WireType| -> Result<usize, prost::DecodeError> {
        check_wire_type(WireType::LengthDelimited, wire)?;
        let len = usize::try_from(decode_varint(from)?).unwrap_or(usize::MAX);
        let left = from.len.checked_sub(end).filter(|left| len <= *left);
        left.map(|_| len).ok_or_else(truncated)
    };
    while from.len > end {
        let (tag, wire) = decode_key(from)?;
        match tag {
            1 => {
                let len = taken(from, wire)?;
                message.descriptor = Some(FlightDescriptor::decode(from.copy_to_bytes(len))?);
            }
            2 => {
                let len = taken(from, wire)?;
                message.header = from.copy_to_bytes(len);
            }
            3 => {
                let len = taken(from, wire)?;
                message.metadata = from.copy_to_bytes(len);
            }
            1000 => {
                let len = taken(from, wire)?;
                let mut body = MutableBuffer::new(len);
                let mut left = len;
                while left > 0 {
                    let chunk = from.chunk();
                    let part = chunk.len().min(left);
                    body.extend_from_slice(&chunk[..part]);
                    from.advance(part);
                    left -= part;
                }
                message.body = body.into();
            }
            _ => {
                skip_field(wire, tag, from, context.clone())?;
                if from.len < end {
                    return Err(truncated());
                }
            }
        }
    }
    if from.len == end { Ok(message) } else { Err(truncated()) }
}

/// The error of a field that reaches beyond its message.
fn truncated() -> prost::DecodeError {
    FlightDescriptor::decode(&b"\x1a\x05"[..]).expect_err("it is cut short")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::FlightData;

    fn pieces(bytes: &[u8], each: usize) -> Pieces {
        let pieces: VecDeque<Bytes> = bytes.chunks(each).map(Bytes::copy_from_slice).collect();
        Pieces { pieces, len: bytes.len() }
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
        let bytes = sent().encode_to_vec();
        for each in [1, 2, 3, 7, 64, 1000] {
            let mut from = pieces(&[bytes.as_slice(), b"what follows"].concat(), each);
            let read = message(&mut from, bytes.len()).expect("sound");
            assert_eq!(read.descriptor, sent().flight_descriptor);
            assert_eq!((read.header, read.metadata), (sent().data_header, sent().app_metadata));
            assert_eq!(read.body.as_slice(), &sent().data_body[..]);
            assert_eq!(read.body.as_ptr().align_offset(64), 0);
            assert_eq!(from.copy_to_bytes(from.remaining()), &b"what follows"[..]);
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
                    let mut from = pieces(&[wrong.as_slice(), &[0; 300]].concat(), 16);
                    let all = from.len;
                    if message(&mut from, len).is_ok() {
                        assert_eq!(from.len, all - len);
                    }
                }
            }
        }
    }
}
