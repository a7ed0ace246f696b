//! The console of a server: scripts of clients, run by Python.

use std::collections::HashMap;
use std::ffi::c_long;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use flight::{Interpreter, Ran, Script, Spoken};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyCFunction;

use crate::ending::{Function, Inside, ident};
use crate::server::{handle, object};
use graph::lock;

/// A `tickframe.console.Console`, which has the namespace.
pub struct PythonConsole {
    console: Py<PyAny>,
    /// The scripts that run, each with its thread as Python counts threads. Whoever holds the lock has the GIL, and keeps it.
    running: Mutex<HashMap<u64, u64>>,
}

/// What is to be raised in a thread, between two steps of what it runs; nothing is raised any more without it.
#[allow(unsafe_code)]
fn raise_in(py: Python<'_>, thread: u64, raises: bool) {
    let raised = if raises { py.get_type::<PyKeyboardInterrupt>().as_ptr() } else { std::ptr::null_mut() };
    // SAFETY: the GIL is held, and the exception is a class that lives as long as Python does.
    unsafe { pyo3::ffi::PyThreadState_SetAsyncExc(thread as c_long, raised) };
}

impl PythonConsole {
    pub fn new(console: Py<PyAny>) -> PythonConsole {
        PythonConsole { console, running: Mutex::default() }
    }

    fn ran(&self, py: Python<'_>, script: Script) -> PyResult<Ran> {
        let console = self.console.bind(py);
        let mut scope = Vec::new();
        for (name, object) in script.scope {
            let identity = object.identity();
            scope.extend(handle(py, object)?.map(|table| (name, identity, table)));
        }
        console.call_method1("enter", (scope,))?;
        let _function = Function::runs(py, "a script of the console")?;
        let say = script.say;
        let say = PyCFunction::new_closure(py, None, None, move |arguments, _| -> PyResult<()> {
            let (is_error, text): (bool, String) = arguments.extract()?;
            // Whoever reads it has a lock of their own, for no longer than it takes to copy a line.
            say(if is_error { Spoken::Error } else { Spoken::Output }, &text);
            Ok(())
        })?;
        let thread = ident(py)?;
        lock(&self.running).insert(script.number, thread);
        let told = if script.stop.load(Ordering::SeqCst) {
            Ok(Some("the script was cancelled before it began".to_owned()))
        } else {
            console.call_method1("run", (&script.code, say)).and_then(|told| told.extract())
        };
        lock(&self.running).remove(&script.number);
        // What came too late for it is for nobody else.
        raise_in(py, thread, false);
        let error = match told {
            Ok(error) => error,
            // It was interrupted on its way out.
            Err(raised) if raised.is_instance_of::<PyKeyboardInterrupt>(py) => {
                Some("the script was cancelled".to_owned())
            }
            Err(raised) => return Err(raised),
        };
        let (put, taken): (Vec<(String, Bound<'_, PyAny>)>, Vec<String>) = console.call_method0("leave")?.extract()?;
        let mut ran = Ran { error, put: Vec::new(), taken };
        for (name, table) in put {
            // What has failed meanwhile, say, is not told of.
            if let Ok(object) = object(&table) {
                console.call_method1("settled", (&name, object.identity()))?;
                ran.put.push((name, object));
            }
        }
        Ok(ran)
    }
}

impl Interpreter for PythonConsole {
    fn language(&self) -> &'static str {
        "python"
    }

    fn run(&self, script: Script) -> Ran {
        let _inside = Inside::enter();
        let error = |text: String| Ran { error: Some(text), ..Ran::default() };
        let ran = Python::try_attach(|py| {
            self.ran(py, script).unwrap_or_else(|raised| error(format!("the console failed: {raised}")))
        });
        ran.unwrap_or_else(|| error("the program ends".to_owned()))
    }

    fn interrupt(&self, number: u64) {
        let _inside = Inside::enter();
        Python::try_attach(|py| {
            if let Some(thread) = lock(&self.running).get(&number) {
                raise_in(py, *thread, true);
            }
        });
    }
}
