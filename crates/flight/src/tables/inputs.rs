//! Tables that clients feed: made of a schema or of another table's, filled and emptied by rows of other tables.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema};
use arrow_select::concat::concat_batches;
use engine::sources::{AppendTable, BlinkTable, KeyedTable, Token};
use engine::{Table, export};
use tonic::Status;

use super::formulas::refused;
use super::messages::InputTable;
use crate::catalog::{Catalog, Served};
use crate::columns;
use crate::context::{Context, changing, engine_error};
use crate::feed::Feed;
use crate::ipc::schema_of;
use crate::proto::TwoTickets;
use crate::tickets::of_ticket;

const WHAT: &str = "input_table";

/// The empty table that a request asks for, with where its rows go.
pub(super) fn made(catalog: &Catalog, of: &InputTable, like: Option<&Served>) -> Result<Served, Status> {
    let schema = match like {
        Some(like) => like.table.schema().as_ref().clone(),
        None => schema_of(&of.schema).map_err(|why| refused(WHAT, why))?,
    };
    let fields: Vec<Field> = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true)).collect();
    let schema = Arc::new(Schema::new(fields));
    let kind = of.kind.as_ref().ok_or_else(|| refused(WHAT, "it is not said which kind"))?;
    let graph = catalog.graph()?;
    let (table, feed) = match (&kind.append, &kind.keyed, &kind.blink) {
        (_, Some(keys), _) => {
            let fed = KeyedTable::new(&graph, schema, &keys.columns).map_err(engine_error)?;
            (fed.table().clone(), Feed::Keyed(fed, keys.columns.clone()))
        }
        (_, _, Some(_)) => {
            let fed = BlinkTable::new(&graph, schema).map_err(engine_error)?;
            (fed.table().clone(), Feed::Blink(fed))
        }
        (Some(_), _, _) => {
            let fed = AppendTable::new(&graph, schema).map_err(engine_error)?;
            (fed.table().clone(), Feed::Append(fed))
        }
        _ => return Err(refused(WHAT, "it is not said which kind")),
    };
    Ok(Served { feed: Some(Arc::new(feed)), ..Served::from(table) })
}

/// The rows of a table, with its columns in this order.
fn rows_of(table: &Table, schema: &Schema, columns: &[String]) -> Result<RecordBatch, Status> {
    let still = table.snapshot().map_err(engine_error)?;
    let mut places = Vec::new();
    for name in columns {
        let place = columns::given(WHAT, still.schema(), name)?;
        let (given, wanted) =
            (still.schema().field(place).data_type(), columns::asked(WHAT, schema, name)?.data_type());
        if given != wanted {
            return Err(refused(WHAT, format!("column {name:?} is {wanted}, and that of the rows is {given}")));
        }
        places.push(place);
    }
    if let Some(more) = still.schema().fields().iter().find(|field| !columns.contains(field.name())) {
        return Err(refused(WHAT, format!("the rows have a column {:?}, which the table has not", more.name())));
    }
    let view = still.view().map_err(engine_error)?;
    let batches = export::batches_of(&still, &view, view.rows(), &places, true).map_err(engine_error)?;
    let chosen = still.schema().project(&places).map_err(|error| refused(WHAT, error))?;
    concat_batches(&Arc::new(chosen), &batches).map_err(|error| refused(WHAT, error))
}

/// Waits until the rows are visible.
fn landed(token: Result<Token, engine::Error>) -> Result<(), Status> {
    token.and_then(|token| token.wait(None, &mut || true)).map(drop).map_err(engine_error)
}

async fn fed(context: &Context, of: TwoTickets) -> Result<(Served, Table), Status> {
    let ticket = |ticket: Option<crate::proto::Ticket>| ticket.unwrap_or_default().ticket;
    let target = of_ticket("inputTable", &ticket(of.source_id))?;
    let rows = of_ticket("rows", &ticket(of.result_id))?;
    let target = context.served("inputTable", target).await?;
    Ok((target, context.table("rows", rows).await?))
}

fn not_fed() -> Status {
    refused(WHAT, "this table is no input table")
}

/// Adds the rows of a table; comes back when they are visible.
pub(crate) async fn add(context: &Context, of: TwoTickets) -> Result<(), Status> {
    let (target, rows) = fed(context, of).await?;
    let feed = target.feed.clone().ok_or_else(not_fed)?;
    changing(&context.shared, move || {
        let schema = target.table.schema();
        let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        let batch = rows_of(&rows, schema, &names)?;
        landed(match &*feed {
            Feed::Append(fed) => fed.append(&batch),
            Feed::Keyed(fed, _) => fed.upsert(&batch),
            Feed::Blink(fed) => fed.append(&batch),
        })
    })
    .await
}

/// Removes the rows whose keys a table has; comes back when they are gone.
pub(crate) async fn delete(context: &Context, of: TwoTickets) -> Result<(), Status> {
    let (target, rows) = fed(context, of).await?;
    let feed = target.feed.clone().ok_or_else(not_fed)?;
    changing(&context.shared, move || match &*feed {
        Feed::Keyed(fed, keys) => landed(fed.delete(&rows_of(&rows, target.table.schema(), keys)?)),
        _ => Err(refused(WHAT, "rows can be deleted from a table with keys alone")),
    })
    .await
}
