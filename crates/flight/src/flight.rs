//! Arrow Flight: what there is, tables out, tables in.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema};
use bytes::Bytes;
use engine::Table;
use hyper::body::Incoming;
use prost::Message as _;
use tonic::Status;

use crate::attributes;
use crate::catalog::{Object, Served};
use crate::context::{Context, Shared, blocking, engine_error};
use crate::data_messages::{DataMessage, DataMessages};
use crate::frames::{Answer, Answers, Message, Requests, answered, framed, opening, requests, said};
use crate::ipc::{Encoder, Received, encapsulated};
use crate::logins::What;
use crate::pace::{Pieces, Sending, read};
use crate::proto::{
    BasicAuth, Criteria, FlightDescriptor, FlightEndpoint, FlightHandshake, FlightInfo, PollInfo, PutResult,
    SchemaResult, Ticket, WrappedAuthentication,
};
use crate::sessions::{Caller, Sessions, refused};
use crate::tickets::{Named, of_descriptor, of_ticket};

/// Rows that are turned into messages at once.
const ROWS: u64 = 1 << 18;
/// Pieces of fewer rows than this, on average, are joined before they are sent.
const WORTH: usize = 8192;
/// Batches that wait for a client to read.
const AHEAD: usize = 2;
/// Acknowledgements that wait for a client to read.
const ACKNOWLEDGED: usize = 1 << 14;

fn arrow_error(error: arrow_schema::ArrowError) -> Status {
    Status::failed_precondition(format!("this table has no form in Arrow's streams: {error}"))
}

/// A handshake of somebody whose headers let nobody in: the first message says who, if there is one.
pub(crate) async fn handshake(shared: &Arc<Shared>, body: Incoming) -> Result<Answers, Status> {
    // Whoever has not said who it is keeps its place no longer than it takes to say so.
    let opening = tokio::time::timeout(shared.limits.handshake, opening(body, shared.limits.control_message));
    let late = |_| Err(Status::deadline_exceeded("the handshake did not come"));
    let request: Option<FlightHandshake> = opening.await.unwrap_or_else(late)?;
    let request = request.ok_or_else(refused)?;
    let caller = introduced(&shared.sessions, request.payload)?;
    let payload = Bytes::copy_from_slice(caller.session.token.as_bytes());
    Ok(Answers::once(&FlightHandshake { protocol_version: 0, payload }))
}

/// Who says so in a handshake.
pub(crate) fn introduced(sessions: &Sessions, payload: Bytes) -> Result<Caller, Status> {
    match WrappedAuthentication::decode(payload.clone()) {
        Ok(wrapped) if !wrapped.kind.is_empty() => {
            let payload = std::str::from_utf8(&wrapped.payload).map_err(|_| refused())?;
            sessions.credential(&format!("{} {payload}", wrapped.kind))
        }
        _ => {
            let basic = BasicAuth::decode(payload).map_err(|_| refused())?;
            sessions.password(&basic.password)
        }
    }
}

/// A handshake of a caller whose headers said who: the answer's headers are all there is.
pub(crate) async fn shaken(context: &Context, body: Incoming) -> Result<Answers, Status> {
    let limits = &context.shared.limits;
    let mut messages: Requests<FlightHandshake> = requests(body, limits.control_message);
    said(limits, async {
        while messages.message().await?.is_some() {}
        Ok(Answers::none())
    })
    .await
}

/// The schema of a table, with what holds of it.
fn told(of: &Served) -> Result<Bytes, Status> {
    encapsulated(&attributes::told(of.table.schema(), of)).map_err(arrow_error)
}

async fn described(served: Served, named: Named) -> Result<FlightInfo, Status> {
    let table = &served.table;
    let rows = if table.is_live() {
        -1
    } else {
        let table = table.clone();
        blocking(move || Ok(table.rows().map_err(engine_error)?.len() as i64)).await?
    };
    Ok(FlightInfo {
        schema: told(&served)?,
        flight_descriptor: Some(named.descriptor()),
        endpoint: vec![FlightEndpoint { ticket: Some(Ticket { ticket: named.ticket() }) }],
        total_records: rows,
        total_bytes: -1,
        ordered: true,
    })
}

/// All tables of the scope.
pub(crate) async fn list(context: &Context, criteria: Criteria) -> Result<Answers, Status> {
    if !criteria.expression.is_empty() {
        return Err(Status::invalid_argument("ListFlights: criteria are not known; leave them empty"));
    }
    let mut found = Vec::new();
    for (name, object) in context.shared.catalog.all() {
        let Some(served) = object.served() else { continue };
        found.extend(framed(&described(served, Named::Scope(name)).await?));
    }
    Ok(Answers::all([found]))
}

async fn asked(context: &Context, descriptor: &FlightDescriptor) -> Result<FlightInfo, Status> {
    let named = of_descriptor("descriptor", Some(descriptor))?;
    let served = context.served("descriptor", named.clone()).await?;
    described(served, named).await
}

pub(crate) async fn info(context: &Context, descriptor: FlightDescriptor) -> Result<Answers, Status> {
    Ok(Answers::once(&asked(context, &descriptor).await?))
}

/// Nothing takes long: what is polled for is there.
pub(crate) async fn poll(context: &Context, descriptor: FlightDescriptor) -> Result<Answers, Status> {
    Ok(Answers::once(&PollInfo { info: Some(asked(context, &descriptor).await?) }))
}

pub(crate) async fn schema(context: &Context, descriptor: FlightDescriptor) -> Result<Answers, Status> {
    let named = of_descriptor("descriptor", Some(&descriptor))?;
    let served = context.served("descriptor", named).await?;
    Ok(Answers::once(&SchemaResult { schema: told(&served)? }))
}

/// The rows of the last settled step, batch by batch. No thread waits for the client.
pub(crate) async fn get(context: Context, ticket: Ticket) -> Result<Answers, Status> {
    let table = context.table("ticket", of_ticket("ticket", &ticket.ticket)?).await?;
    let live = table.is_live();
    let still = blocking(move || table.snapshot().map_err(engine_error)).await?;
    let encoder = Encoder::new(still.schema()).map_err(arrow_error)?;
    let batches = Batches { table: still, encoder: Some(encoder), from: 0, live };
    Ok(answered(AHEAD, |send| async move {
        // The first piece may be the whole table: it is read as the others are.
        let sending = read(&context, move || Sending::begin(batches)).await?;
        sending.send(&context, &send).await.map(drop)
    }))
}

/// The rows of a table that stands still, from a position on.
struct Batches {
    table: Table,
    /// None behind the end.
    encoder: Option<Encoder>,
    from: u64,
    /// Whether the table that it was made of goes on.
    live: bool,
}

impl Pieces for Batches {
    const CALL: &'static str = "DoGet";

    fn next(&mut self) -> Result<Option<Vec<Message>>, Status> {
        let view = self.table.view().map_err(engine_error)?;
        let rows = view.rows().slice(self.from, ROWS);
        if rows.is_empty() {
            // A table without rows has a schema all the same.
            let Some(encoder) = self.encoder.take().filter(|_| self.from == 0) else { return Ok(None) };
            return encoder.finish().map(Some).map_err(arrow_error);
        }
        self.from += rows.len();
        let columns: Vec<usize> = (0..view.width()).collect();
        let mut batches =
            engine::export::batches_of(&self.table, &view, &rows, &columns, true).map_err(engine_error)?;
        if batches.len() > 1 && rows.len() as usize / batches.len() < WORTH {
            batches = vec![arrow_select::concat::concat_batches(self.table.schema(), &batches).map_err(arrow_error)?];
        }
        let mut messages = Vec::new();
        let Some(encoder) = &mut self.encoder else { return Ok(None) };
        for batch in &batches {
            messages.extend(encoder.encode(batch).map_err(arrow_error)?);
        }
        Ok(Some(messages))
    }

    fn holds(&self) -> bool {
        self.live
    }
}

/// Takes a table in: each batch is judged and acknowledged as it comes, the table is there when the client has ended.
pub(crate) fn put(context: Context, body: Incoming) -> Answers {
    answered(ACKNOWLEDGED, |send| async move { taken(&context, body, &send).await })
}

async fn taken(context: &Context, body: Incoming, acknowledge: &Answer) -> Result<(), Status> {
    let mut messages = DataMessages::new(body, context.shared.limits.data_message);
    let taken = received(context, &mut messages, acknowledge).await;
    if taken.is_err() {
        messages.drain();
    }
    taken
}

async fn received(context: &Context, messages: &mut DataMessages, acknowledge: &Answer) -> Result<(), Status> {
    let first = messages.next().await?.ok_or_else(|| Status::invalid_argument("DoPut: no descriptor supplied"))?;
    let named = of_descriptor("DoPut", first.descriptor.as_ref())?;
    let begun = match &named {
        Named::Export(id) => Some(context.session.exports.begin(*id)?),
        Named::Scope(name) if context.shared.catalog.get(name).is_some() => {
            return Err(Status::already_exists(format!("DoPut: a table named '{name}' is there already")));
        }
        Named::Scope(_) => None,
        _ => return Err(Status::invalid_argument("DoPut: name a table of the scope, or an export")),
    };
    let table = upload(context, first, messages, acknowledge).await;
    if let Some(begun) = begun {
        begun.end(table.as_ref().ok().cloned().map(Object::Table));
    }
    match named {
        Named::Export(_) => table.map(drop),
        Named::Scope(name) => context.shared.catalog.add(&name, table?),
        _ => Ok(()),
    }
}

async fn upload(
    context: &Context,
    first: DataMessage,
    messages: &mut DataMessages,
    acknowledge: &Answer,
) -> Result<Served, Status> {
    let mut lease = context.session.login.take(What::Memory, 0)?;
    let mut received = Received::default();
    let mut batches: Vec<RecordBatch> = Vec::new();
    let mut bytes = 0_u64;
    let mut next = Some(first);
    while let Some(data) = next {
        bytes += data.body.len() as u64;
        if bytes > context.shared.limits.upload {
            return Err(Status::resource_exhausted(format!("DoPut: more than {} bytes", context.shared.limits.upload)));
        }
        lease.more(data.body.len() as u64)?;
        limits::ask(data.body.len() as u64).map_err(|why| Status::resource_exhausted(why.to_string()))?;
        if !data.header.is_empty() {
            let is_schema = received.schema().is_none();
            let (back, batch) = blocking(move || {
                let batch = received.read(&data.header, &data.body)?;
                Ok((received, batch))
            })
            .await?;
            received = back;
            // The schema is acknowledged too: who sends no rows waits for something all the same.
            if is_schema || batch.is_some() {
                let message = framed(&PutResult { app_metadata: data.metadata });
                // Who reads no acknowledgements may be gone, or may not care; the end of what it sends says which.
                _ = acknowledge.send(Ok(message)).await;
            }
            batches.extend(batch);
        }
        next = messages.next().await?;
    }
    let schema = received.schema().cloned().ok_or_else(|| Status::invalid_argument("DoPut: no schema supplied"))?;
    blocking(move || {
        let table = gathered(&schema, &batches)?;
        Ok(Served { lease: Some(Arc::new(lease)), ..Served::from(table) })
    })
    .await
}

/// The table of what was received.
pub(crate) fn gathered(schema: &Schema, batches: &[RecordBatch]) -> Result<Table, Status> {
    // Cells may be null later: what others promised of them is not ours to keep.
    let fields: Vec<Field> = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true)).collect();
    let schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
    let rows = batches.iter().map(|batch| batch.num_rows() as u64).sum();
    let column = |index: usize| -> Vec<ArrayRef> {
        batches.iter().map(|batch| batch.column(index).clone()).filter(|chunk| !chunk.is_empty()).collect()
    };
    let columns = (0..schema.fields().len()).map(column).collect();
    engine::sources::from_chunks(schema, columns, rows).map_err(engine_error)
}
