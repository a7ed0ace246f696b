//! The console, which is off: tables can be bound to names, and nothing is executed.

use tonic::Status;

use crate::context::Context;
use crate::proto::{BindTable, StartConsole};
use crate::sessions::let_go;
use crate::tickets::of_ticket;

/// Refuses a console, of whatever language.
pub(crate) fn start(of: &StartConsole) -> Status {
    let kind = &of.session_type;
    Status::failed_precondition(format!("session type '{kind}' is not supported: this server executes no scripts"))
}

/// Names a table, for all sessions.
pub(crate) async fn bind(context: &Context, of: BindTable) -> Result<(), Status> {
    if of.variable_name.is_empty() {
        return Err(Status::invalid_argument("a variable's name cannot be empty"));
    }
    let ticket = of_ticket("tableId", &of.table_id.unwrap_or_default().ticket)?;
    let object = context.object("tableId", ticket).await?;
    let_go(context.shared.catalog.put(of.variable_name, object));
    Ok(())
}
