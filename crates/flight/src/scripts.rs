//! Scripts that run or wait for their turn, and what runs them: the user's interpreter.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tonic::Status;

use crate::catalog::Object;
use crate::proto::ConsoleTypes;
use graph::lock;

/// A script that was told to end and runs on is told again after so long.
const AGAIN: Duration = Duration::from_secs(1);

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
    pub(crate) turn: Arc<tokio::sync::Mutex<()>>,
    running: Mutex<HashMap<u64, Arc<Command>>>,
    last: AtomicU64,
}

/// A script that runs or waits for its turn.
pub(crate) struct Command {
    pub(crate) number: u64,
    /// Which console it is of.
    console: usize,
    /// True once it is to end.
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) stopped: watch::Sender<bool>,
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

    pub(crate) fn interpreter(&self) -> Result<&Arc<dyn Interpreter>, Status> {
        self.interpreter.as_ref().ok_or_else(|| Status::failed_precondition("this server executes no scripts"))
    }

    pub(crate) fn begin(&self, console: usize) -> Arc<Command> {
        let number = self.last.fetch_add(1, Ordering::Relaxed);
        let (stop, stopped) = (Arc::default(), watch::Sender::new(false));
        let command = Arc::new(Command { number, console, stop, stopped, over: AtomicBool::new(false) });
        lock(&self.running).insert(number, command.clone());
        command
    }

    pub(crate) fn end(&self, command: &Command) {
        command.over.store(true, Ordering::Release);
        lock(&self.running).remove(&command.number);
    }

    /// What runs or waits in a console.
    pub(crate) fn of(&self, console: usize) -> Vec<Arc<Command>> {
        lock(&self.running).values().filter(|command| command.console == console).cloned().collect()
    }

    /// Tells a script to end, and once more each second until it has.
    pub(crate) fn stop(&self, command: &Arc<Command>) {
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
pub(crate) struct Called<'a> {
    pub(crate) consoles: &'a Consoles,
    pub(crate) command: Arc<Command>,
}

impl Drop for Called<'_> {
    fn drop(&mut self) {
        if !self.command.over.load(Ordering::Acquire) {
            self.consoles.stop(&self.command);
        }
    }
}

/// However a script ends, it is over.
pub(crate) struct Ended<'a> {
    pub(crate) shared: &'a Consoles,
    pub(crate) command: &'a Command,
}

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.shared.end(self.command);
    }
}
