//! Upper bounds of a table from any sender. Types and data beyond them are refused with an error that names the bound.

/// Types within types: a list of structs of numbers nests two deep.
pub const NESTING: usize = 64;

/// Columns of a table.
pub const COLUMNS: usize = 100_000;

/// Fields of a schema at any depth, its columns among them.
pub const FIELDS: usize = 1_000_000;

/// Bytes of the name of a column or field, of a time zone, of what a type is written as.
pub const NAME_BYTES: usize = 64 << 10;

/// Bytes of all names of a schema together.
pub const NAMES_BYTES: usize = 64 << 20;

/// Bytes of all metadata of a schema together.
pub const METADATA_BYTES: usize = 64 << 20;

/// Values in the nested lists of one column that is made of Python objects.
pub const NESTED_CELLS: usize = 1 << 28;
