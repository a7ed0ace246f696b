//! Sharing of imported memory, decided by its producer.
//!
//! polars, DuckDB and this package never write to memory that they have exported, so it is shared. Memory of NumPy, of
//! pandas, of pyarrow over either, and of unknown producers may be written to later: it is copied, unless the caller
//! promises otherwise.

use ::column::sound::Memory;
use pyo3::prelude::*;

/// What the caller of a door has said of the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Nothing: it depends on who made it.
    ByProducer,
    /// It shall be copied.
    Copied,
    /// Nobody writes to it any more.
    Promised,
}

impl Sharing {
    /// From `copy=None | True | False`.
    pub fn of(copy: Option<bool>) -> Sharing {
        match copy {
            None => Sharing::ByProducer,
            Some(true) => Sharing::Copied,
            Some(false) => Sharing::Promised,
        }
    }

    /// What becomes of the memory that this object lends.
    pub fn memory(self, source: &Bound<'_, PyAny>) -> Memory {
        match self {
            Sharing::Copied => Memory::Copied,
            Sharing::Promised => Memory::Shared,
            Sharing::ByProducer if lends_for_good(source).unwrap_or(false) => Memory::Shared,
            Sharing::ByProducer => Memory::Copied,
        }
    }
}

/// Packages that never write to memory that they have lent.
const KEEPERS: &[&str] = &["polars", "duckdb", "_duckdb", "tickframe"];

/// Whether the object is of a class of such a package; a class that only says so is not the one that stands there.
fn lends_for_good(source: &Bound<'_, PyAny>) -> PyResult<bool> {
    let class = source.get_type();
    let module: String = class.getattr("__module__")?.extract()?;
    if !KEEPERS.contains(&module.split('.').next().unwrap_or_default()) {
        return Ok(false);
    }
    let known = source.py().import("sys")?.getattr("modules")?.get_item(module)?;
    Ok(known.getattr(class.name()?)?.is(&class))
}
