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
#[cfg(feature = "server")]
mod console;
mod constructors;
mod data;
mod delivery;
mod display;
mod dtype;
mod durable;
mod ending;
mod error;
mod expr;
mod files;
mod formula;
mod generated;
mod gil;
mod graph;
mod literal;
mod log;
mod memory;
mod numpy;
mod ops;
mod panics;
mod partitioned;
mod place;
mod plan;
mod publisher;
mod raised;
#[cfg(feature = "server")]
mod remote;
mod rowset;
mod schema;
#[cfg(feature = "server")]
mod server;
mod shared;
mod source;
mod table;
mod table_column;
mod transaction;
mod udf;
mod update;
mod values;
mod wait;

use pyo3::prelude::*;

#[global_allocator]
static ALLOCATOR: ::memory::LargePages = ::memory::LargePages;

#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::constructors::{empty_table, table};
    #[pymodule_export]
    use crate::delivery::{PyInbox, PyServer, PySteps, PySubscription, follow_steps, next_subscription_id, subscribe};
    #[pymodule_export]
    use crate::dtype::common_type;
    #[pymodule_export]
    use crate::durable::{checkpoint, close_durable, durable_path, fixed_table, open_durable, restore, saved_plan};
    #[pymodule_export]
    use crate::ending::end_functions;
    #[pymodule_export]
    use crate::expr::PyExpr;
    #[pymodule_export]
    use crate::files::{PyBytesRead, file_bytes, find_files, read_files, scan_parquet, write_file, write_partitions};
    #[pymodule_export]
    use crate::formula::{PyFormula, formula_functions, functions, span_of_time};
    #[pymodule_export]
    use crate::generated::{function_generated_table, incremental_release, replay};
    #[pymodule_export]
    use crate::graph::{PyClock, PyGraph, end_events, graph_of, stop_all, take_events, wait_for_change};
    #[pymodule_export]
    use crate::log::PyLog;
    #[pymodule_export]
    use crate::memory::{PyMemory, limit_memory, memory_figures};
    #[pymodule_export]
    use crate::ops::{
        aggregate, apply, check_barriers, choose, columns, concat, drop, filter, first_by, head, join_where, last_by,
        masked, pivot, range_join, rename, rolling, slice, sort, tail, time_sessions, time_windows, unique, update_by,
        without_rows,
    };
    #[pymodule_export]
    use crate::panics::panic_here;
    #[pymodule_export]
    use crate::partitioned::{PyPartitioned, partition_by, partitioned_of};
    #[pymodule_export]
    use crate::plan::{PyPlan, draw, plan_of};
    #[cfg(feature = "server")]
    #[pymodule_export]
    use crate::remote::PyRemote;
    #[pymodule_export]
    use crate::rowset::PyRowSet;
    #[pymodule_export]
    use crate::schema::PySchema;
    #[cfg(feature = "server")]
    #[pymodule_export]
    use crate::server::{PyFlightServer, PyFrame};
    #[pymodule_export]
    use crate::source::{PySource, PyToken, time_table};
    #[pymodule_export]
    use crate::table::PyTable;
    #[pymodule_export]
    use crate::table_column::PyColumn;
    #[pymodule_export]
    use crate::udf::PyUdf;
    #[pymodule_export]
    use crate::update::PyUpdate;

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        ::memory::keep_heaps();
        crate::panics::panics_are_internal_errors(module)?;
        engine::observe::events::log_graphs();
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        // A build with checks is many times slower: importing it says so.
        module.add("CHECKED", cfg!(debug_assertions))
    }
}
