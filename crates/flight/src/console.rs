//! The console: scripts that clients have the server run, if it was started with something that runs them.
//!
//! The scope is one for all logins, as tickets of it are (`s/NAME` names no session): what a script names there is seen by all,
//! and scripts run one after the other. A console is its login's own: nobody else runs or cancels in it, or reads what it says.

use std::time::{SystemTime, UNIX_EPOCH};

use hyper::body::Incoming;
use tokio::sync::OwnedMutexGuard;
use tonic::Status;

use crate::catalog::{Catalog, Object};
use crate::context::{Context, blocking};
use crate::fields::info;
use crate::frames::{Answers, Requests, answered, drain_messages, framed, requests};
use crate::lines::Level;
use crate::pace::over;
use crate::proto::{
    BindTable, CancelCommand, CompletionRequest, CompletionResponse, Empty, ExecuteCommand, Executed, FieldsChange,
    StartConsole, StartedConsole, Ticket,
};
use crate::race::{First, first};
use crate::scripts::{Called, Ended, Say, Script, Spoken};
use crate::sessions::let_go;
use crate::tickets::of_ticket;

/// Answers that wait for a client to read.
const AHEAD: usize = 4;

/// Begins a console in a language that there is.
pub(crate) async fn start(context: &Context, of: StartConsole) -> Result<Answers, Status> {
    let kind = &of.session_type;
    let known = context.shared.consoles.types().console_types;
    if !known.contains(kind) {
        let has = if known.is_empty() { "this server executes no scripts".to_owned() } else { known.join(", ") };
        return Err(Status::failed_precondition(format!("session type '{kind}' is not supported: {has}")));
    }
    context.exported(of.result_id.as_ref(), async { Ok(Object::console()) }).await?;
    Ok(Answers::once(&StartedConsole { result_id: of.result_id }))
}

/// The console that is named: one of the caller's own.
async fn console(context: &Context, ticket: Option<Ticket>) -> Result<usize, Status> {
    let ticket = ticket.ok_or_else(|| Status::failed_precondition("No consoleId supplied"))?;
    let object = context.object("consoleId", of_ticket("consoleId", &ticket.ticket)?).await?;
    match &object {
        Object::Console(_) => Ok(object.identity()),
        other => Err(Status::failed_precondition(format!("'consoleId' is a {}, not a Console", other.kind()))),
    }
}

fn nanos() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as i64
}

/// Runs a script, and answers when it has ended. It is told to end if its caller, or its caller's session, is gone.
pub(crate) async fn execute(context: &Context, of: ExecuteCommand) -> Result<Answers, Status> {
    let consoles = &context.shared.consoles;
    let interpreter = consoles.interpreter()?.clone();
    let console = console(context, of.console_id).await?;
    let called = Called { consoles, command: consoles.begin(console) };
    let command = called.command.clone();
    let start_timestamp = nanos();
    let answer = |error_message: String, changes| {
        let executed = Executed { error_message, changes: Some(changes), start_timestamp, end_timestamp: nanos() };
        Ok(Answers::once(&executed))
    };
    let mut stopped = command.stopped.subscribe();
    let cut = async { first(stopped.wait_for(|stopped| *stopped), over(context)).await };
    let turn = match first(consoles.turn.clone().lock_owned(), cut).await {
        First::Left(turn) => turn,
        First::Right(First::Left(_)) => {
            consoles.end(&command);
            return answer("the script was cancelled before it began".to_owned(), FieldsChange::default());
        }
        First::Right(First::Right(status)) => {
            consoles.end(&command);
            return Err(status);
        }
    };
    let (shared, session) = (context.shared.clone(), context.session.clone());
    let running = blocking(move || {
        let _turn: OwnedMutexGuard<()> = turn;
        let _ended = Ended { shared: &shared.consoles, command: &command };
        let say: Say = Box::new(move |spoken, text| {
            let level = if spoken == Spoken::Output { Level::Output } else { Level::Error };
            session.logs.note(level, text);
        });
        let (number, stop, scope) = (command.number, command.stop.clone(), shared.catalog.all());
        let ran = interpreter.run(Script { number, code: of.code, scope, say, stop });
        Ok((changed(&shared.catalog, ran.put, ran.taken), ran.error))
    });
    match first(running, over(context)).await {
        First::Left(ran) => {
            let (changes, error) = ran?;
            answer(error.unwrap_or_default(), changes)
        }
        First::Right(status) => Err(status),
    }
}

/// Makes the scope hold what a script left there; gives what is new of it.
fn changed(catalog: &Catalog, put: Vec<(String, Object)>, taken: Vec<String>) -> FieldsChange {
    let mut changes = FieldsChange::default();
    for (name, object) in put {
        let (identity, field) = (object.identity(), info(&name, object.kind()));
        match catalog.put(name, object) {
            None => changes.created.push(field),
            Some(before) if before.identity() == identity => {}
            Some(_) => changes.updated.push(field),
        }
    }
    for name in taken {
        if let Some(object) = catalog.take(&name) {
            changes.removed.push(info(&name, object.kind()));
        }
    }
    changes
}

/// Tells what runs in a console to end.
pub(crate) async fn cancel(context: &Context, of: CancelCommand) -> Result<Answers, Status> {
    let consoles = &context.shared.consoles;
    consoles.interpreter()?;
    let console = console(context, of.console_id).await?;
    consoles.of(console).iter().for_each(|command| consoles.stop(command));
    Ok(Answers::once(&Empty {}))
}

/// Answers every question of how a text might go on with that it is not known.
pub(crate) fn complete(context: Context, body: Incoming) -> Answers {
    answered(AHEAD, |send| async move {
        let mut messages: Requests<CompletionRequest> = requests(body, context.shared.limits.control_message);
        let ended = loop {
            let quiet = async { first(send.closed(), over(&context)).await };
            let request = match first(messages.message(), quiet).await {
                First::Left(Ok(Some(request))) => request,
                First::Left(Ok(None)) | First::Right(First::Left(())) => break Ok(()),
                First::Left(Err(status)) | First::Right(First::Right(status)) => break Err(status),
            };
            let answer = CompletionResponse { request_id: request.request_id, success: false };
            if send.send(Ok(framed(&answer))).await.is_err() {
                break Ok(());
            }
        };
        drain_messages(messages);
        ended
    })
}

/// Names a table, for all sessions. It works without a console.
pub(crate) async fn bind(context: &Context, of: BindTable) -> Result<(), Status> {
    if of.variable_name.is_empty() {
        return Err(Status::invalid_argument("a variable's name cannot be empty"));
    }
    let ticket = of_ticket("tableId", &of.table_id.unwrap_or_default().ticket)?;
    let object = context.object("tableId", ticket).await?.nameable()?;
    let_go(context.shared.catalog.put(of.variable_name, object));
    Ok(())
}
