//! Requests of one message: read, written again, and answered.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use http_body::Body;
use prost::Message;
use tonic::{Code, Status};

use crate::calls::Call;
use crate::catalog::{Catalog, Object};
use crate::context::{Context, Shared};
use crate::frames::{FRAME, read};
use crate::limits::Limits;
use crate::proto::{
    Action, BasicAuth, BindTable, CancelCommand, CompletionRequest, ConstituentOf, Criteria, Empty, ExecuteCommand,
    FetchObject, FlightData, FlightDescriptor, FlightHandshake, FromTicket, HandshakeRequest, MergeOf, PartitionBy,
    ReleaseRequest, StartConsole, StreamRequest, SubscribeToLogs, Ticket, WrappedAuthentication,
};
use crate::scripts::Consoles;
use crate::service::{asked, while_open};
use crate::sessions::{Access, Session, Sessions};
use crate::storage::messages::{FetchFile, ListItems, MoveItem, OfPath, SaveFile};
use crate::tables::messages::{Batch, Request, Seek};

/// A message as it is written once it was read, and as that is written once it was read; none if it was refused.
fn written<M: Message + Default>(message: &[u8]) -> Option<[Vec<u8>; 2]> {
    let once = read::<M>(message).ok()?.encode_to_vec();
    let again = M::decode(once.as_slice()).map(|read| read.encode_to_vec()).unwrap_or_default();
    Some([once, again])
}

macro_rules! written {
    ($($kind:ident)*) => {
        /// Every message that a client sends, by its name: how it is written once it was read, and how that is.
        pub const WRITTEN: &[(&str, fn(&[u8]) -> Option<[Vec<u8>; 2]>)] = &[$((stringify!($kind), written::<$kind>)),*];
    };
}

written!(
    Action BasicAuth Batch BindTable CancelCommand CompletionRequest ConstituentOf Criteria Empty ExecuteCommand
    FetchFile FetchObject FlightData FlightDescriptor FlightHandshake FromTicket HandshakeRequest ListItems MergeOf MoveItem
    OfPath PartitionBy ReleaseRequest Request SaveFile Seek StartConsole StreamRequest SubscribeToLogs Ticket WrappedAuthentication
);

/// Messages of one answer that are read.
const READ: usize = 64;

/// A server that nobody can reach, and one session with it.
pub struct Asked {
    shared: Arc<Shared>,
    session: Arc<Session>,
}

impl Asked {
    /// A new session.
    pub fn new(catalog: Arc<Catalog>, limits: Limits) -> Result<Asked, Status> {
        let sessions = Sessions::new(Access::Anybody, limits.clone());
        let shared = Shared::new(catalog, sessions, limits, Consoles::new(None), Vec::new());
        let session = shared.sessions.credential("Anonymous")?.session;
        Ok(Asked { shared: Arc::new(shared), session })
    }

    /// The first messages of the answer to a request.
    pub async fn ask(&self, call: Call, message: Bytes) -> Result<Vec<Bytes>, Status> {
        let context = Context { shared: self.shared.clone(), session: self.session.clone() };
        let mut answers = while_open(Some(self.session.clone()), asked(context, call, message)).await?;
        let (mut bytes, mut messages) = (Vec::new(), Vec::new());
        while let Some(Ok(frame)) = poll_fn(|context| Pin::new(&mut answers).poll_frame(context)).await {
            match frame.into_data() {
                Ok(piece) => bytes.extend_from_slice(&piece),
                Err(frame) => {
                    let ended = frame.trailers_ref().and_then(Status::from_header_map);
                    return ended.filter(|status| status.code() != Code::Ok).map_or(Ok(messages), Err);
                }
            }
            while let Some(message) = first(&mut bytes) {
                messages.push(message);
            }
            if messages.len() > READ {
                break;
            }
        }
        Ok(messages)
    }

    /// What the session holds.
    pub fn held(&self) -> Vec<Object> {
        self.session.exports.ready().into_iter().map(|(_, object)| object).collect()
    }

    /// Ends the session.
    pub fn close(&self) {
        self.shared.sessions.close(&self.session);
    }
}

/// Takes the first message of these frames, once it is there.
fn first(frames: &mut Vec<u8>) -> Option<Bytes> {
    let len = frames.get(1..FRAME)?.get_u32() as usize;
    let message = Bytes::copy_from_slice(frames.get(FRAME..FRAME + len)?);
    frames.drain(..FRAME + len);
    Some(message)
}
