//! Objects that are no tables: what they are, and the tables that stand behind them.
//!
//! A table of tables is told of as its description and one table: its keys. A stream of messages says the same once, and
//! takes none.

use std::sync::Arc;

use bytes::Bytes;
use engine::Partitioned;
use engine::plan::apply;
use formula::Expr;
use hyper::body::Incoming;
use prost::Message as _;
use tonic::Status;

use crate::catalog::Object;
use crate::context::{Context, changing, engine_error};
use crate::frames::{Answers, Kept, Message, Requests, answered, drain_messages, framed, requests, said};
use crate::ipc::encapsulated;
use crate::pace::{over, while_there};
use crate::proto::{
    FetchObject, FetchedObject, ObjectData, PartitionedDescriptor, StreamRequest, StreamResponse, Ticket, TypedTicket,
};
use crate::race::{First, first};
use crate::sessions::{Session, let_go};
use crate::tables::made_columns;
use crate::tickets::{Named, of_ticket};
use crate::trouble::internal;

/// Messages that wait for a client to read.
const AHEAD: usize = 2;
/// The column that stands for the tables themselves.
const CONSTITUENT: &str = "__CONSTITUENT__";

/// A number of the server's, which its client does not know before it is told. Where nobody was told, it is let go.
struct Handed {
    session: Arc<Session>,
    id: i32,
    is_told: bool,
}

impl Kept for Handed {
    fn told(mut self: Box<Self>) {
        self.is_told = true;
    }
}

impl Drop for Handed {
    fn drop(&mut self) {
        if !self.is_told {
            let_go(self.session.exports.release(self.id));
        }
    }
}

/// What is told of an object: its type, its description, and the table behind it.
async fn told(context: &Context, of: Option<&TypedTicket>) -> Result<(FetchedObject, Handed), Status> {
    let of = of.ok_or_else(|| Status::invalid_argument("the request names no object"))?;
    let ticket = of.ticket.clone().unwrap_or_default().ticket;
    let object = context.object("sourceId", of_ticket("sourceId", &ticket)?).await?;
    let kind = object.kind();
    if !of.kind.is_empty() && of.kind != kind {
        let why = format!("the object is a {kind}, not a {}", of.kind);
        return Err(Status::failed_precondition(why));
    }
    let (data, table) = match object {
        Object::Partitioned(partitioned) => changing(&context.shared, move || described(&partitioned)).await?,
        Object::Frame(rows) => (Bytes::new(), Object::Table(rows)),
        Object::Table(_) | Object::Console(_) => {
            return Err(Status::not_found(format!("No ObjectType found, expected type '{kind}'")));
        }
    };
    let id = context.session.exports.hand_out(table)?;
    let handed = Handed { session: context.session.clone(), id, is_told: false };
    let ticket = Some(Ticket { ticket: Named::Export(id).ticket() });
    let typed_export_ids = vec![TypedTicket { ticket, kind: "Table".to_owned() }];
    Ok((FetchedObject { kind: kind.to_owned(), data, typed_export_ids }, handed))
}

fn described(of: &Arc<Partitioned>) -> Result<(Bytes, Object), Status> {
    let template = of.template().map_err(engine_error)?;
    let schema = barrage::WireSchema::of(template.schema());
    let schema = schema.map_or_else(|_| barrage::original(template.schema()), |wire| wire.schema().as_ref().clone());
    let descriptor = PartitionedDescriptor {
        key_column_names: of.keys(),
        unique_keys: true,
        constituent_definition_schema: encapsulated(&schema).map_err(internal)?,
        constituent_column_name: CONSTITUENT.to_owned(),
        constituent_changes_permitted: of.changes(),
    };
    let keys = of.keys().into_iter().map(Expr::column);
    let constituent = Expr::literal("Table").alias(CONSTITUENT);
    let columns = keys.chain([constituent]).collect();
    let keys = apply(made_columns(columns, false), "partition_by", std::slice::from_ref(of.set()));
    Ok((descriptor.encode_to_vec().into(), keys.map_err(engine_error)?.into()))
}

/// Tells of an object once.
pub(crate) async fn fetch(context: &Context, of: FetchObject) -> Result<Answers, Status> {
    let (fetched, handed) = told(context, of.source_id.as_ref()).await?;
    Ok(Answers::once(&fetched).keeping(handed))
}

/// Tells of an object, and ends when the client does.
pub(crate) fn stream(context: Context, body: Incoming) -> Answers {
    answered(AHEAD, |send| async move {
        let mut messages: Requests<StreamRequest> = requests(body, context.shared.limits.control_message);
        let talk = async {
            let opened = said(&context.shared.limits, messages.message()).await?.and_then(|message| message.connect);
            let connect =
                opened.ok_or_else(|| Status::invalid_argument("MessageStream: the first message connects"))?;
            let (FetchedObject { kind, data, typed_export_ids }, handed) =
                while_there(&context, &send, told(&context, connect.source_id.as_ref())).await?;
            let data = Some(ObjectData { payload: data, references: typed_export_ids });
            if send.send(Ok(framed(&StreamResponse { data }))).await.is_err() {
                return Ok(());
            }
            // A message of nothing is taken when the one before it is on its way.
            _ = send.send(Ok(Message::new())).await;
            match first(send.reserve_many(AHEAD), over(&context)).await {
                First::Left(Ok(_)) => Box::new(handed).told(),
                First::Left(Err(_)) | First::Right(_) => return Ok(()),
            }
            let ended = async { first(context.session.over(), context.shared.stopped()).await };
            let quiet = async { first(send.closed(), ended).await };
            match first(messages.message(), quiet).await {
                First::Left(Ok(Some(_))) => Err(Status::invalid_argument(format!("a {kind} takes no messages"))),
                First::Left(Err(cut)) => Err(cut),
                First::Left(Ok(None)) | First::Right(_) => Ok(()),
            }
        };
        let ended = talk.await;
        drain_messages(messages);
        ended
    })
}
