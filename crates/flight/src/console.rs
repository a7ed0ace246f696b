//! The console: scripts that clients have the server run, if it was started with something that runs them.
//!
//! The scope is one for all logins, as tickets of it are (`s/NAME` names no session): what a script names there is seen by all,
//! and scripts run one after the other. A console is its login's own: nobody else runs or cancels in it, or reads what it says.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hyper::body::Incoming;
use tokio::runtime::Handle;
use tokio::sync::{OwnedMutexGuard, watch};
use tonic::Status;
use tonic::codec::Streaming;

use crate::catalog::{Catalog, Object};
use crate::context::{Context, blocking};
use crate::fields::info;
use crate::frames::{Answers, answered, drain_messages, framed, requests};
use crate::lock::lock;
use crate::logs::Level;
use crate::pace::over;
use crate::proto::{
    BindTable, CancelCommand, CompletionRequest, CompletionResponse, ConsoleTypes, Empty, ExecuteCommand, Executed,
    FieldsChange, StartConsole, StartedConsole, Ticket,
};
use crate::race::{First, first};
use crate::sessions::let_go;
use crate::tickets::of_ticket;

/// A script that was told to end and runs on is told again after so long.
const AGAIN: Duration = Duration::from_secs(1);
/// Answers that wait for a client to read.
const AHEAD: usize = 4;

/// Where a script says something: which of its two streams, and a line.
pub type Say = Box<dyn Fn(Spoken, &str) + Send + Sync>;

/// The two streams of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spoken {
    /// What it prints.
    Output,
    /// What it prints as an error.
    Error,
}

/// What a script is given.
pub struct Script {
    /// Its number, by which it is ended.
    pub number: u64,
    /// Its text.
    pub code: String,
    /// What the scope holds.
    pub scope: Vec<(String, Object)>,
    /// Where it says something.
    pub say: Say,
    /// Whether it was told to end before it began.
    pub stop: Arc<AtomicBool>,
}

/// What a script has done.
#[derive(Default)]
pub struct Ran {
    /// What is wrong, if something is.
    pub error: Option<String>,
    /// What it put into the scope.
    pub put: Vec<(String, Object)>,
    /// The names that it took from the scope.
    pub taken: Vec<String>,
}

/// Runs scripts of one language, one at a time.
pub trait Interpreter: Send + Sync {
    /// The language, as clients name it.
    fn language(&self) -> &'static str;
    /// Runs a script to its end.
    fn run(&self, script: Script) -> Ran;
    /// Ends a script, as soon as it comes to it. One that is over is left alone.
    fn interrupt(&self, number: u64);
}

/// The scripts of a server.
pub(crate) struct Consoles {
    interpreter: Option<Arc<dyn Interpreter>>,
    turn: Arc<tokio::sync::Mutex<()>>,
    running: Mutex<HashMap<u64, Arc<Command>>>,
    last: AtomicU64,
}

/// A script that runs or waits for its turn.
struct Command {
    number: u64,
    /// Which console it is of.
    console: usize,
    /// True once it is to end.
    stop: Arc<AtomicBool>,
    stopped: watch::Sender<bool>,
    over: AtomicBool,
}

impl Consoles {
    pub(crate) fn new(interpreter: Option<Arc<dyn Interpreter>>) -> Consoles {
        Consoles { interpreter, turn: Arc::default(), running: Mutex::default(), last: AtomicU64::new(0) }
    }

    /// The languages that there are.
    pub(crate) fn types(&self) -> ConsoleTypes {
        let language = |interpreter: &Arc<dyn Interpreter>| interpreter.language().to_owned();
        ConsoleTypes { console_types: self.interpreter.iter().map(language).collect() }
    }

    fn interpreter(&self) -> Result<&Arc<dyn Interpreter>, Status> {
        self.interpreter.as_ref().ok_or_else(|| Status::failed_precondition("this server executes no scripts"))
    }

    fn begin(&self, console: usize) -> Arc<Command> {
        let number = self.last.fetch_add(1, Ordering::Relaxed);
        let (stop, stopped) = (Arc::default(), watch::Sender::new(false));
        let command = Arc::new(Command { number, console, stop, stopped, over: AtomicBool::new(false) });
        lock(&self.running).insert(number, command.clone());
        command
    }

    fn end(&self, command: &Command) {
        command.over.store(true, Ordering::Release);
        lock(&self.running).remove(&command.number);
    }

    /// Tells a script to end, and once more each second until it has.
    fn stop(&self, command: &Arc<Command>) {
        command.stop.store(true, Ordering::SeqCst);
        command.stopped.send_replace(true);
        let Some(interpreter) = self.interpreter.clone() else { return };
        // A server that stops tells its scripts itself.
        let Ok(runtime) = Handle::try_current() else { return };
        let command = command.clone();
        runtime.spawn(async move {
            while !command.over.load(Ordering::Acquire) {
                let (interpreter, number) = (interpreter.clone(), command.number);
                // It may wait for the language's own lock.
                _ = tokio::task::spawn_blocking(move || interpreter.interrupt(number)).await;
                tokio::time::sleep(AGAIN).await;
            }
        });
    }

    /// Tells every script to end, as the server does.
    pub(crate) fn stop_all(&self) {
        let Some(interpreter) = &self.interpreter else { return };
        let all: Vec<Arc<Command>> = lock(&self.running).values().cloned().collect();
        for command in all {
            command.stop.store(true, Ordering::SeqCst);
            command.stopped.send_replace(true);
            interpreter.interrupt(command.number);
        }
    }
}

/// Ends a script whose caller is gone.
struct Called<'a> {
    consoles: &'a Consoles,
    command: Arc<Command>,
}

impl Drop for Called<'_> {
    fn drop(&mut self) {
        if !self.command.over.load(Ordering::Acquire) {
            self.consoles.stop(&self.command);
        }
    }
}

/// A console of one login: what tells it from others.
pub(crate) struct Console(());

/// Begins a console in a language that there is.
pub(crate) async fn start(context: &Context, of: StartConsole) -> Result<Answers, Status> {
    let kind = &of.session_type;
    let known = context.shared.consoles.types().console_types;
    if !known.contains(kind) {
        let has = if known.is_empty() { "this server executes no scripts".to_owned() } else { known.join(", ") };
        return Err(Status::failed_precondition(format!("session type '{kind}' is not supported: {has}")));
    }
    context.exported(of.result_id.as_ref(), async { Ok(Object::console(Arc::new(Console(())))) }).await?;
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

/// However a script ends, it is over.
struct Ended<'a> {
    shared: &'a Consoles,
    command: &'a Command,
}

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.shared.end(self.command);
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
    let all: Vec<Arc<Command>> =
        lock(&consoles.running).values().filter(|command| command.console == console).cloned().collect();
    all.iter().for_each(|command| consoles.stop(command));
    Ok(Answers::once(&Empty {}))
}

/// Answers every question of how a text might go on with that it is not known.
pub(crate) fn complete(context: Context, body: Incoming) -> Answers {
    answered(AHEAD, |send| async move {
        let mut messages: Streaming<CompletionRequest> = requests(body, context.shared.limits.control_message);
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
