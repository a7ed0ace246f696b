//! Tables that clients make of tables: one operation a call, or several that stand on each other.

mod aggregations;
mod combos;
mod conditions;
mod formulas;
mod inputs;
pub(crate) mod messages;
mod operations;
mod seek;
mod specs;
mod statistics;
mod update_by;

use bytes::{Bytes, BytesMut};
use engine::Table;
use prost::Message as _;
use prost::encoding::{WireType, encode_key, encode_varint};
use tonic::{Code, Status};

pub(crate) use inputs::{add, delete};
use messages::{Batch, Created, Operation, Reference, Request, TableReference};
pub(crate) use operations::made_columns;
pub(crate) use seek::seek;

use crate::attributes;
use crate::catalog::{Object, Served};
use crate::context::{Context, blocking, changing, engine_error, export};
use crate::frames::{Answers, answered, bounded, framed};
use crate::ipc::encapsulated;
use crate::logins::What;
use crate::pace::while_there;
use crate::proto::Ticket;
use crate::tickets::of_ticket;
use crate::trouble::internal;

/// Operations of one batch at most.
const OPERATIONS: usize = 10_000;

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
    let work = async { run(context, operation, &[]).await.map(Object::Table) };
    let made = context.exported(result.as_ref(), work).await?;
    answered_with(made, result).await
}

/// Several operations: one message for each as it is done; at the end the first error, if there was one.
pub(crate) async fn batch(context: Context, batch: Batch) -> Result<Answers, Status> {
    let lease = context.session.login.take(What::Memory, batch.encoded_len() as u64)?;
    if batch.ops.is_empty() {
        return Err(Status::invalid_argument("the batch has no operations"));
    }
    if batch.ops.len() > OPERATIONS {
        return Err(Status::resource_exhausted(format!("a batch has at most {OPERATIONS} operations")));
    }
    let operations: Option<Vec<Operation>> = batch.ops.into_iter().map(|request| request.operation).collect();
    let operations = operations.ok_or_else(|| Status::invalid_argument("an operation of the batch is empty"))?;
    let order = in_order(&operations)?;
    let asked = asked_for(&operations, &order);
    Ok(answered(operations.len() + 1, |send| async move {
        let _lease = lease;
        let mut done: Vec<Option<Result<Served, Status>>> = vec![None; operations.len()];
        let mut first: Option<Status> = None;
        // All numbers are taken before anything runs: who asks for one of them meanwhile waits for it.
        let begin = |operation: &Operation| {
            let result = operation.ends().0.cloned();
            result.map(|ticket| export(&ticket).and_then(|id| context.session.exports.begin(id))).transpose()
        };
        let mut begun: Vec<_> = operations.iter().map(|operation| Some(begin(operation))).collect();
        for at in order {
            let operation = operations[at].clone();
            let result = operation.ends().0.cloned();
            let place = Reference::Place(i32::try_from(at).unwrap_or(i32::MAX));
            let reference = TableReference { reference: Some(result.map_or(place, Reference::Ticket)) };
            let made = match begun[at].take().unwrap_or(Ok(None)) {
                Err(refused) => Err(refused),
                Ok(number) => {
                    let run = run(&context, operation, &done);
                    let made = if asked[at] { run.await } else { while_there(&context, &send, run).await };
                    if let Some(number) = number {
                        number.end(made.as_ref().ok().cloned().map(Object::Table));
                    }
                    made
                }
            };
            let told = match &made {
                Ok(made) => created(made.clone(), reference.clone()).await,
                Err(refused) => Err(refused.clone()),
            };
            let told = told.unwrap_or_else(|refused| {
                let error_info = refused.message().to_owned();
                first.get_or_insert(refused);
                Created { result_id: Some(reference), success: false, error_info, ..Created::default() }
            });
            // A client that is gone wants its tables all the same, until its session ends.
            _ = send.send(Ok(framed(&told))).await;
            done[at] = Some(made);
        }
        first.map_or(Ok(()), Err)
    }))
}

/// The places of the operations, each behind those that it stands on.
fn in_order(operations: &[Operation]) -> Result<Vec<usize>, Status> {
    let mut needs: Vec<usize> = vec![0; operations.len()];
    let mut wanted: Vec<Vec<usize>> = vec![Vec::new(); operations.len()];
    for (at, operation) in operations.iter().enumerate() {
        for source in operation.ends().1.into_iter().flatten() {
            if let Some(Reference::Place(place)) = source.reference {
                let other = usize::try_from(place).ok().filter(|place| *place < operations.len()).ok_or_else(|| {
                    Status::invalid_argument(format!("operation {at} stands on operation {place}, which is none"))
                })?;
                needs[at] += 1;
                wanted[other].push(at);
            }
        }
    }
    let mut ready: std::collections::BTreeSet<usize> = (0..operations.len()).filter(|at| needs[*at] == 0).collect();
    let mut order = Vec::with_capacity(operations.len());
    while let Some(at) = ready.pop_first() {
        order.push(at);
        for other in &wanted[at] {
            needs[*other] -= 1;
            if needs[*other] == 0 {
                ready.insert(*other);
            }
        }
    }
    if order.len() < operations.len() {
        return Err(Status::invalid_argument("operations of the batch stand on each other in a circle"));
    }
    Ok(order)
}

/// Whether somebody can ask for what an operation makes, when the batch is over: by its number, or that of one on it.
fn asked_for(operations: &[Operation], order: &[usize]) -> Vec<bool> {
    let mut asked = vec![false; operations.len()];
    for at in order.iter().rev() {
        let (result, sources) = operations[*at].ends();
        asked[*at] |= result.is_some();
        if !asked[*at] {
            continue;
        }
        for source in sources.into_iter().flatten() {
            if let Some(Reference::Place(place)) = source.reference {
                asked[place as usize] = true;
            }
        }
    }
    asked
}

/// The table behind a reference. `done`: what operations of the batch have made.
async fn resolved(
    context: &Context,
    reference: Option<&TableReference>,
    done: &[Option<Result<Served, Status>>],
) -> Result<Served, Status> {
    let reference = reference.and_then(|reference| reference.reference.as_ref());
    match reference.ok_or_else(|| Status::invalid_argument("the request names no source table"))? {
        Reference::Ticket(ticket) => context.served("sourceId", of_ticket("sourceId", &ticket.ticket)?).await,
        Reference::Place(place) => {
            let found = usize::try_from(*place).ok().and_then(|place| done.get(place)?.clone());
            let found = found.ok_or_else(|| Status::invalid_argument("only a batch numbers its operations"))?;
            found.map_err(|error| {
                Status::new(Code::FailedPrecondition, format!("operation {place} failed: {}", error.message()))
            })
        }
    }
}

async fn run(
    context: &Context,
    operation: Operation,
    done: &[Option<Result<Served, Status>>],
) -> Result<Served, Status> {
    let mut inputs: Vec<Served> = Vec::new();
    for source in operation.ends().1 {
        inputs.push(resolved(context, source, done).await?);
    }
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
        let table = &served.table;
        // The types as subscriptions have them, from which clients take theirs; if it has none, those of the table.
        let own = || barrage::original(table.schema());
        let schema =
            barrage::WireSchema::of(table.schema()).map_or_else(|_| own(), |wire| wire.schema().as_ref().clone());
        Ok(Created {
            result_id: Some(reference),
            success: true,
            error_info: String::new(),
            schema_header: encapsulated(&attributes::told(&schema, &served)).map_err(internal)?,
            is_static: !table.is_live(),
            size: table.rows().map_err(engine_error)?.len() as i64,
        })
    })
    .await
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

    fn head_of(place: i32) -> Operation {
        let source = Some(TableReference { reference: Some(Reference::Place(place)) });
        Operation::Head(messages::OfRows { source, ..messages::OfRows::default() })
    }

    #[test]
    fn operations_run_behind_what_they_stand_on() {
        let empty = || Operation::Empty(messages::Empty::default());
        assert_eq!(in_order(&[head_of(1), head_of(2), empty()]).ok(), Some(vec![2, 1, 0]));
        assert_eq!(in_order(&[empty(), head_of(0), empty()]).ok(), Some(vec![0, 1, 2]));
        for wrong in [vec![head_of(0)], vec![head_of(1), head_of(0)], vec![head_of(-1)], vec![head_of(1)]] {
            let refused = in_order(&wrong).expect_err("it has no order");
            assert_eq!(refused.code(), Code::InvalidArgument);
        }
    }

    #[test]
    fn what_has_no_number_is_asked_for_by_what_stands_on_it() {
        let numbered = |place| {
            let Operation::Head(of) = head_of(place) else { panic!("it is one") };
            Operation::Head(messages::OfRows { result: Some(Ticket::default()), ..of })
        };
        let empty = || Operation::Empty(messages::Empty::default());
        let given = [empty(), head_of(0), numbered(1), empty(), head_of(2), head_of(3)];
        let order = in_order(&given).expect("it has an order");
        assert_eq!(asked_for(&given, &order), [true, true, true, false, false, false]);
    }

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
