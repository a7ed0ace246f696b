//! Tables that clients make of tables: one operation a call, or several that stand on each other.

mod aggregations;
mod batch;
mod combos;
mod conditions;
mod ends;
mod formulas;
mod inputs;
pub(crate) mod messages;
mod operations;
mod seek;
mod specs;
mod statistics;
mod steps;
mod update_by;

use bytes::{Bytes, BytesMut};
use engine::Table;
use prost::Message as _;
use prost::encoding::{WireType, encode_key, encode_varint};
use tonic::Status;

pub(crate) use batch::batch;
pub(crate) use inputs::{add, delete};
use messages::{Created, Operation, Reference, Request, TableReference};
pub(crate) use operations::made_columns;
pub(crate) use seek::seek;

use crate::attributes;
use crate::catalog::{Object, Served};
use crate::context::{Context, blocking, changing, engine_error};
use crate::frames::{Answers, bounded};
use crate::ipc::encapsulated;
use crate::proto::Ticket;
use crate::tickets::of_ticket;
use crate::trouble::internal;

/// What a call of one operation sends, which a batch has behind its number.
fn request(number: u32, message: &Bytes) -> Result<Operation, Status> {
    bounded(message)?;
    let mut whole = BytesMut::with_capacity(message.len() + 16);
    encode_key(number, WireType::LengthDelimited, &mut whole);
    encode_varint(message.len() as u64, &mut whole);
    whole.extend_from_slice(message);
    let request = Request::decode(whole.freeze())
        .map_err(|error| Status::invalid_argument(format!("malformed message: {error}")))?;
    request.operation.ok_or_else(|| Status::invalid_argument("the request has no operation"))
}

/// One operation, whose result gets the number that the client chose.
pub(crate) async fn one(context: &Context, number: u32, message: Bytes) -> Result<Answers, Status> {
    let operation = request(number, &message)?;
    let result = operation.ends().0.cloned();
    let work = async move {
        let mut inputs = Vec::new();
        for source in operation.ends().1 {
            inputs.push(table_behind(context, source).await?);
        }
        run(context, operation, inputs).await.map(Object::Table)
    };
    let made = context.exported(result.as_ref(), work).await?;
    answered_with(made, result).await
}

/// The table behind a reference that names a ticket.
async fn table_behind(context: &Context, reference: Option<&TableReference>) -> Result<Served, Status> {
    let reference = reference.and_then(|reference| reference.reference.as_ref());
    match reference.ok_or_else(|| Status::invalid_argument("the request names no source table"))? {
        Reference::Ticket(ticket) => context.served("sourceId", of_ticket("sourceId", &ticket.ticket)?).await,
        Reference::Place(_) => Err(Status::invalid_argument("only a batch numbers its operations")),
    }
}

/// The table that an operation makes of these.
async fn run(context: &Context, operation: Operation, mut inputs: Vec<Served>) -> Result<Served, Status> {
    let shared = context.shared.clone();
    changing(&context.shared, move || match operation {
        // The same table under another number.
        Operation::Fetch(_) | Operation::Preview(_) => {
            inputs.pop().ok_or_else(|| Status::invalid_argument("the request names no source table"))
        }
        Operation::InputTable(of) => inputs::made(&shared.catalog, &of, inputs.first()),
        operation => {
            let tables: Vec<Table> = inputs.into_iter().map(|served| served.table).collect();
            operations::made(&shared.catalog, &operation, &tables).map(Served::from)
        }
    })
    .await
}

async fn created(served: Served, reference: TableReference) -> Result<Created, Status> {
    blocking(move || {
        let rows = served.table.rows().map_err(engine_error)?.len() as i64;
        told_of(&served, reference, !served.table.is_live(), rows)
    })
    .await
}

/// What is said of a table.
fn told_of(served: &Served, reference: TableReference, is_static: bool, size: i64) -> Result<Created, Status> {
    let schema = served.table.schema();
    // The types as subscriptions have them, from which clients take theirs; if it has none, those of the table.
    let wire = barrage::WireSchema::of(schema).map(|wire| wire.schema().as_ref().clone());
    let schema = wire.unwrap_or_else(|_| barrage::original(schema));
    Ok(Created {
        result_id: Some(reference),
        success: true,
        error_info: String::new(),
        schema_header: encapsulated(&attributes::told(&schema, served)).map_err(internal)?,
        is_static,
        size,
    })
}

/// The answer of a call whose result is a table under the client's number.
pub(crate) async fn answered_with(made: Object, result: Option<Ticket>) -> Result<Answers, Status> {
    let served = made.served().ok_or_else(|| internal("a result that is no table"))?;
    let reference = TableReference { reference: result.map(Reference::Ticket) };
    Ok(Answers::once(&created(served, reference).await?))
}

/// What is known of a table that is there.
pub(crate) async fn told(context: &Context, ticket: Ticket) -> Result<Answers, Status> {
    let served = context.served("ticket", of_ticket("ticket", &ticket.ticket)?).await?;
    let reference = TableReference { reference: Some(Reference::Ticket(ticket)) };
    Ok(Answers::once(&created(served, reference).await?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_the_operation_of_its_number() {
        let head = messages::OfRows { rows: -3, ..messages::OfRows::default() };
        let message = Bytes::from(head.encode_to_vec());
        assert_eq!(request(13, &message).ok(), Some(Operation::Head(head.clone())));
        assert_eq!(request(14, &message).ok(), Some(Operation::Tail(head)));
        assert!(request(20, &message).is_err());
        assert!(request(13, &Bytes::from_static(&[0xff; 5])).is_err());
    }
}
