//! The Python door: `tickframe._native`.
//!
//! Small and dumb on purpose: it converts, lets go of the GIL, calls the engine and converts back.
//! Everything friendly (defaults, lists or single names, docstrings) is in `python/tickframe`.
//!
//! The GIL is released around everything that may wait or take a lock of the engine, handles are
//! dropped without it, and nothing that the engine holds owns a Python object: so no thread ever
//! waits for the GIL while another waits, with it, for that thread.

mod arrow;
mod cells;
mod chain;
mod data;
mod dtype;
mod ending;
mod error;
mod expr;
mod formula;
mod graph;
mod inbox;
mod literal;
mod log;
mod memory;
mod numpy;
mod ops;
mod outside;
mod rowset;
mod source;
mod table;
mod transaction;
mod udf;
mod update;
mod values;
mod wait;

use pyo3::prelude::*;

#[global_allocator]
static ALLOCATOR: column::LargePages = column::LargePages;

#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::dtype::PySchema;
    #[pymodule_export]
    use crate::ending::end_functions;
    #[pymodule_export]
    use crate::expr::PyExpr;
    #[pymodule_export]
    use crate::formula::{PyFormula, formula_functions};
    #[pymodule_export]
    use crate::graph::{PyGraph, end_events, stop_all, take_events};
    #[pymodule_export]
    use crate::inbox::{PyInbox, PyServer, PySubscription, next_subscription_id};
    #[pymodule_export]
    use crate::log::PyLog;
    #[pymodule_export]
    use crate::memory::{PyMemory, limit_memory, memory_figures};
    #[pymodule_export]
    use crate::ops::{
        aggregate, check_barriers, choose, columns, concat, drop, filter, first_by, head, join_asof, last_by, masked,
        natural_join, rename, slice, sort, tail, unique, where_in,
    };
    #[pymodule_export]
    use crate::outside::panic_here;
    #[pymodule_export]
    use crate::rowset::PyRowSet;
    #[pymodule_export]
    use crate::source::{PySource, PyToken, time_table};
    #[pymodule_export]
    use crate::table::{PyColumn, PyTable, empty_table, table};
    #[pymodule_export]
    use crate::udf::PyUdf;
    #[pymodule_export]
    use crate::update::PyUpdate;

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::outside::panics_are_internal_errors(module)?;
        engine::events::log_graphs();
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        // A build with checks is many times slower: importing it says so.
        module.add("CHECKED", cfg!(debug_assertions))
    }
}
