//! Rows of one step for one client, read piece by piece as the client reads them.
//!
//! A step whose rows are not all read holds its blocks: the next step copies those that it changes. So a client that stops
//! reading, or takes too long for all, is owed what is left: it is written down, up to a limit, and the step is let go.

use std::collections::VecDeque;
use std::time::Instant;

use bytes::Bytes;
use tonic::Status;

use crate::context::{Context, blocking};
use crate::frames::{Answer, Message};
use crate::logins::{Lease, What};
use crate::race::{First, first};
use crate::sessions::refused;
use crate::trouble::internal;

/// Bytes that are written down for a client that does not read.
const OWED: usize = 64 << 20;
/// Bytes that are read before the first of them is sent.
const SOON: usize = 1 << 20;

/// What is read piece by piece of one step.
pub(crate) trait Pieces: Send + Sized + 'static {
    /// The call, as messages name it.
    const CALL: &'static str;

    /// The next messages; none behind the last.
    fn next(&mut self) -> Result<Option<Vec<Message>>, Status>;

    /// Whether it holds a step that others would go on from.
    fn holds(&self) -> bool;
}

/// What is sent: messages that are ready, and pieces that are not read yet.
pub(crate) struct Sending<P> {
    ready: VecDeque<Message>,
    rest: Option<P>,
    /// For what was written down.
    owed: Option<Lease>,
}

fn bytes(messages: &[Message]) -> usize {
    messages.iter().flatten().map(Bytes::len).sum()
}

impl<P: Pieces> Sending<P> {
    /// Reads as much as is sent soon: of most updates all, so that the step that they are read from is let go at once.
    pub(crate) fn begin(mut pieces: P) -> Result<Sending<P>, Status> {
        let mut ready = VecDeque::new();
        let mut read = 0;
        while read < SOON {
            let Some(messages) = pieces.next()? else { return Ok(Sending { ready, rest: None, owed: None }) };
            read += bytes(&messages);
            ready.extend(messages);
        }
        Ok(Sending { ready, rest: Some(pieces), owed: None })
    }

    /// Sends each message as the client has room for it; false if the client is gone.
    pub(crate) async fn send(mut self, context: &Context, to: &Answer) -> Result<bool, Status> {
        let begun = Instant::now();
        let limits = &context.shared.limits;
        loop {
            let Some(message) = self.ready.pop_front() else {
                let Some(mut pieces) = self.rest.take() else { return Ok(true) };
                let read = read(context, move || Ok((pieces.next()?, pieces))).await?;
                if let (Some(messages), pieces) = read {
                    self.ready.extend(messages);
                    self.rest = Some(pieces);
                }
                continue;
            };
            let Some(pieces) = self.rest.take_if(|pieces| pieces.holds()) else {
                if !deliver(context, to, message).await? {
                    return Ok(false);
                }
                continue;
            };
            let patience = limits.patience.min(limits.hold.saturating_sub(begun.elapsed()));
            match first(to.reserve(), tokio::time::sleep(patience)).await {
                First::Left(Ok(room)) => {
                    room.send(Ok(message));
                    self.rest = Some(pieces);
                }
                First::Left(Err(_)) => return Ok(false),
                First::Right(()) => {
                    self.ready.push_front(message);
                    self.ready.iter_mut().flatten().for_each(|piece| *piece = own(piece));
                    let lease = context.session.login.take(What::Memory, 0)?;
                    let (written, lease) = read(context, move || written(pieces, lease)).await?;
                    self.ready.extend(written);
                    self.owed = Some(lease);
                }
            }
        }
    }
}

/// A copy: pieces of cells lie in the blocks of their step, and hold them.
fn own(piece: &Bytes) -> Bytes {
    Bytes::copy_from_slice(piece)
}

/// What is left, written down: nothing of the step is held any more.
fn written<P: Pieces>(mut pieces: P, mut lease: Lease) -> Result<(Vec<Message>, Lease), Status> {
    let mut owed = Vec::new();
    let mut all = 0;
    while let Some(messages) = pieces.next()? {
        let more = bytes(&messages);
        all += more;
        if all > OWED {
            let why = format!("{}: the client does not read, and is owed more than {} MiB", P::CALL, OWED >> 20);
            return Err(Status::resource_exhausted(why));
        }
        lease.more(more as u64)?;
        owed.extend(messages.into_iter().map(|message| message.iter().map(own).collect::<Message>()));
    }
    Ok((owed, lease))
}

/// Sends; false if the client is gone. The session's end and the server's are errors.
pub(crate) async fn deliver(context: &Context, send: &Answer, message: Message) -> Result<bool, Status> {
    match first(send.send(Ok(message)), over(context)).await {
        First::Left(sent) => Ok(sent.is_ok()),
        First::Right(status) => Err(status),
    }
}

/// Waits for something as long as the client is there, and its session and the server are.
pub(crate) async fn while_there<T>(
    context: &Context,
    send: &Answer,
    of: impl Future<Output = Result<T, Status>>,
) -> Result<T, Status> {
    match first(of, first(send.closed(), over(context))).await {
        First::Left(found) => found,
        First::Right(First::Left(())) => Err(Status::cancelled("the client is gone")),
        First::Right(First::Right(status)) => Err(status),
    }
}

/// Comes back when the session or the server ends.
pub(crate) async fn over(context: &Context) -> Status {
    match first(context.session.over(), context.shared.stopped()).await {
        First::Left(()) => refused(),
        First::Right(()) => Status::unavailable("the server was stopped"),
    }
}

/// Reads of tables take turns: many clients do not need many threads.
pub(crate) async fn read<R: Send + 'static>(
    context: &Context,
    work: impl FnOnce() -> Result<R, Status> + Send + 'static,
) -> Result<R, Status> {
    let _turn = context.shared.reads.acquire().await.map_err(internal)?;
    blocking(work).await
}
