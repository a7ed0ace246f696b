//! The place in the user's own code that asks for an operation, so that a failure later can name it.
//!
//! Each operation asks, from a notebook through a dozen frames: what a frame is in a stack trace is written once for each
//! instruction of its code, and shared.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use engine::{Frame, Location};
use graph::lock;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString};

/// Frames of the user's own that are kept, the innermost ones.
const FRAMES: usize = 8;

/// Frames that are known; all are forgotten when there are more.
const KNOWN: usize = 1 << 12;

/// What was written of a frame, and its code: while that lives, no other has its address.
struct Written {
    frame: Arc<Frame>,
    _code: Py<PyAny>,
}

/// Frames by the address of their code and the instruction that runs.
type Known = HashMap<(usize, i64), Written>;

/// The line of the user's own code that asks, and its callers.
pub(crate) fn here(py: Python<'_>) -> Option<Location> {
    location(py).ok().flatten()
}

/// The frames outside this package.
fn location(py: Python<'_>) -> PyResult<Option<Location>> {
    static GETFRAME: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let getframe = GETFRAME.get_or_try_init(py, || py.import("sys")?.getattr("_getframe").map(Bound::unbind))?;
    let mut frame = getframe.bind(py).call0()?;
    let mut innermost = None;
    let mut callers = Vec::new();
    while !frame.is_none() && callers.len() + 1 < FRAMES {
        let globals = frame.getattr(intern!(py, "f_globals"))?;
        let module = globals.cast::<PyDict>()?.get_item(intern!(py, "__name__"))?;
        if !module.is_some_and(|name| is_of_the_package(&name)) {
            let written = written(py, &frame)?;
            match &innermost {
                None => innermost = Some(written),
                Some(_) => callers.push(written),
            }
        }
        frame = frame.getattr(intern!(py, "f_back"))?;
    }
    Ok(innermost.map(|innermost| Location::new(innermost, callers)))
}

/// What a frame is in a stack trace.
fn written(py: Python<'_>, frame: &Bound<'_, PyAny>) -> PyResult<Arc<Frame>> {
    static KNOWN_FRAMES: Mutex<Option<Known>> = Mutex::new(None);
    // No Python runs under the lock, so what is forgotten is dropped after it: the end of a code object may call the user's code.
    let known = || lock(&KNOWN_FRAMES);
    let code = frame.getattr(intern!(py, "f_code"))?;
    let instruction = frame.getattr(intern!(py, "f_lasti"))?.extract()?;
    let key = (code.as_ptr() as usize, instruction);
    if let Some(written) = known().as_ref().and_then(|known| known.get(&key)) {
        return Ok(written.frame.clone());
    }
    let line: u32 = frame.getattr(intern!(py, "f_lineno"))?.extract()?;
    let text = |name: &Bound<'_, PyString>| code.getattr(name)?.extract::<String>();
    let (file, name) = (text(intern!(py, "co_filename"))?, text(intern!(py, "co_name"))?);
    let shown = format!("  File \"{file}\", line {line}, in {name}");
    let frame = Arc::new(Frame { line: format!("{file}:{line}"), shown });
    let written = Written { frame: frame.clone(), _code: code.unbind() };
    let mut all = known();
    let full = all.take_if(|known| known.len() >= KNOWN);
    all.get_or_insert_default().insert(key, written);
    drop(all);
    drop(full);
    Ok(frame)
}

/// Whether a module of this name is one of the package.
fn is_of_the_package(name: &Bound<'_, PyAny>) -> bool {
    let name = name.cast::<PyString>().ok().and_then(|name| name.to_str().ok());
    name.and_then(|name| name.strip_prefix("tickframe")).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
