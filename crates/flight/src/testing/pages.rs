//! Bytes of calls, split anywhere: what is read of them, and how answers are framed for pages.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame};
use tokio::io::{AsyncRead, ReadBuf};
use tonic::Status;

use crate::begin::{self, Speech};
use crate::data_messages::DataMessages;
use crate::frames::{Answers, requests};
use crate::limits::Limits;
use crate::proto::FlightData;
use crate::{frames, web};

/// Bytes as they come: piece by piece, each after a wait.
pub struct Split {
    pieces: VecDeque<Bytes>,
    waited: bool,
}

impl Split {
    /// The pieces in which bytes come.
    pub fn new(pieces: impl IntoIterator<Item = Bytes>) -> Split {
        Split { pieces: pieces.into_iter().filter(|piece| !piece.is_empty()).collect(), waited: false }
    }

    fn next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.waited = !self.waited;
        if self.waited {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(self.pieces.pop_front())
    }
}

impl Body for Split {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.next(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}

impl AsyncRead for Split {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, room: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let Some(mut piece) = ready!(self.next(context)) else { return Poll::Ready(Ok(())) };
        room.put_slice(&piece.split_to(piece.len().min(room.remaining())));
        if !piece.is_empty() {
            self.pieces.push_front(piece);
        }
        Poll::Ready(Ok(()))
    }
}

/// A message of rows: the path that it names, its header, its metadata and its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Kind, command and path of its descriptor.
    pub named: Option<(i32, Bytes, Vec<String>)>,
    /// What describes the rows.
    pub header: Bytes,
    /// What stands beside them.
    pub metadata: Bytes,
    /// The rows.
    pub body: Vec<u8>,
}

/// The one message of a call.
pub async fn whole(body: Split, limit: usize) -> Result<Bytes, Status> {
    frames::whole(body, &Limits { control_message: limit, ..Limits::default() }).await
}

/// The messages of a call as most calls read them, and the error that ends them.
pub async fn messages(body: Split, limit: usize) -> (Vec<Rows>, Result<(), Status>) {
    let mut messages = requests::<FlightData>(body, limit);
    let mut found = Vec::new();
    loop {
        match messages.message().await {
            Ok(Some(FlightData { flight_descriptor, data_header, app_metadata, data_body })) => found.push(Rows {
                named: flight_descriptor.map(|of| (of.kind, of.cmd, of.path)),
                header: data_header,
                metadata: app_metadata,
                body: data_body.into(),
            }),
            Ok(None) => return (found, Ok(())),
            Err(status) => return (found, Err(status)),
        }
    }
}

/// The messages of a call as uploads read them, and the error that ends them.
pub async fn uploaded(body: Split, limit: usize) -> (Vec<Rows>, Result<(), Status>) {
    let mut messages = DataMessages::new(body, limit);
    let mut found = Vec::new();
    loop {
        match messages.next().await {
            Ok(Some(message)) => found.push(Rows {
                named: message.descriptor.map(|of| (of.kind, of.cmd, of.path)),
                header: message.header,
                metadata: message.metadata,
                body: message.body.to_vec(),
            }),
            Ok(None) => return (found, Ok(())),
            Err(status) => return (found, Err(status)),
        }
    }
}

/// Whether a connection of these bytes speaks HTTP/2, with all of them; none if it ended before that was known.
pub async fn begun(stream: Split) -> io::Result<Option<(bool, Vec<u8>)>> {
    let Some((speech, mut stream)) = begin::begun(stream).await? else { return Ok(None) };
    let mut bytes = Vec::new();
    loop {
        let mut space = [0; 64];
        let mut room = ReadBuf::new(&mut space);
        poll_fn(|context| Pin::new(&mut stream).poll_read(context, &mut room)).await?;
        if room.filled().is_empty() {
            return Ok(Some((speech == Speech::Http2, bytes)));
        }
        bytes.extend_from_slice(room.filled());
    }
}

/// An answer of these messages that ends so: its bytes, and its trailers if they stand behind them.
pub async fn answered(messages: Vec<Bytes>, ended: Result<(), Status>, to_page: bool) -> (Vec<u8>, Option<HeaderMap>) {
    let speech = if to_page { web::Speech::Web } else { web::Speech::Grpc };
    let answers = frames::answered(1, |send| async move {
        for message in messages {
            _ = send.send(Ok(vec![message])).await;
        }
        ended
    });
    let mut answers: Answers = answers.spoken(speech);
    let (mut bytes, mut trailers) = (Vec::new(), None);
    while let Some(Ok(frame)) = poll_fn(|context| Pin::new(&mut answers).poll_frame(context)).await {
        match frame.into_data() {
            Ok(piece) => bytes.extend_from_slice(&piece),
            Err(frame) => trailers = frame.into_trailers().ok(),
        }
    }
    (bytes, trailers)
}
