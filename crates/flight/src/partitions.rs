//! Tables of tables: made by keys, merged again, and looked into by a key.

use std::sync::Arc;

use engine::plan::{Member, Op, apply};
use engine::{Partitioned, Table};
use formula::Expr;
use tonic::Status;

use crate::catalog::Object;
use crate::columns;
use crate::context::{Context, changing, engine_error};
use crate::frames::Answers;
use crate::proto::{ConstituentOf, Empty, MergeOf, PartitionBy, Ticket};
use crate::tables::{answered_with, made_columns};
use crate::tickets::{Named, of_ticket};

fn named(what: &str, ticket: Option<&Ticket>) -> Result<Named, Status> {
    of_ticket(what, &ticket.cloned().unwrap_or_default().ticket)
}

/// A constituent for each key.
pub(crate) async fn partition_by(context: &Context, of: PartitionBy) -> Result<Answers, Status> {
    let result = of.result_id.clone();
    let work = async {
        let table = context.table("tableId", named("tableId", of.table_id.as_ref())?).await?;
        if of.key_column_names.is_empty() {
            return Err(Status::invalid_argument("partition_by: there are no keys"));
        }
        changing(&context.shared, move || {
            let made = Partitioned::split(&"partition_by".into(), &table, &of.key_column_names, of.drop_keys);
            made.map(Object::from).map_err(engine_error)
        })
        .await
    };
    context.exported(result.as_ref(), work).await?;
    Ok(Answers::once(&Empty {}))
}

/// All constituents as one table.
pub(crate) async fn merge(context: &Context, of: MergeOf) -> Result<Answers, Status> {
    let work = async {
        let named = named("partitionedTable", of.partitioned_table.as_ref())?;
        let partitioned = context.partitioned("partitionedTable", named).await?;
        let merged = move || partitioned.merge(&"merge".into()).map(Object::from).map_err(engine_error);
        changing(&context.shared, merged).await
    };
    let made = context.exported(of.result_id.as_ref(), work).await?;
    answered_with(made, of.result_id).await
}

/// Several keys are one table of the rows of all.
const SEVERAL: i32 = 2;

/// The constituent of a key, which the one row of another table holds.
pub(crate) async fn constituent(context: &Context, of: ConstituentOf) -> Result<Answers, Status> {
    let work = async {
        let source = named("partitionedTable", of.partitioned_table.as_ref())?;
        let partitioned = context.partitioned("partitionedTable", source).await?;
        let keys = context.table("keyTableTicket", named("keyTableTicket", of.key_table.as_ref())?).await?;
        let several = of.unique_behavior == SEVERAL;
        changing(&context.shared, move || found(&partitioned, &keys, several).map(Object::from)).await
    };
    let made = context.exported(of.result_id.as_ref(), work).await?;
    answered_with(made, of.result_id).await
}

fn found(of: &Arc<Partitioned>, keys: &Table, several: bool) -> Result<Table, Status> {
    const METHOD: &str = "get_constituent";
    let still = keys.snapshot().map_err(engine_error)?;
    let key = |name: String| {
        let of_keys = still.schema().field(columns::given(METHOD, still.schema(), &name)?);
        let wanted = columns::asked(METHOD, of.set().schema(), &name)?.data_type();
        let column = Expr::column(name.as_str());
        let column = if of_keys.data_type() == wanted { Ok(column) } else { column.cast(wanted.clone(), true) };
        let column = column.map_err(|error| Status::invalid_argument(format!("{METHOD}: {error}")))?;
        Ok(column.alias(name.as_str()))
    };
    let columns: Vec<Expr> = of.keys().into_iter().map(key).collect::<Result<_, Status>>()?;
    let keys = apply(made_columns(columns, false), METHOD, std::slice::from_ref(&still)).map_err(engine_error)?;
    let missing = || Status::not_found(format!("{METHOD}: no constituent has this key"));
    match keys.rows().map_err(engine_error)?.len() {
        0 => Err(missing()),
        1 => of.find(&keys).map_err(engine_error)?.ok_or_else(missing),
        _ if several => {
            let on = of.keys().into_iter().map(|name| (name.clone(), name)).collect();
            let op = Op::WhereIn { on, member: Member::In, nulls_equal: true };
            let set = apply(op, METHOD, &[of.set().clone(), keys]).map_err(engine_error)?;
            of.over(set).merge(&METHOD.into()).map_err(engine_error)
        }
        rows => Err(Status::failed_precondition(format!("{METHOD}: one key was wanted, not {rows}"))),
    }
}
