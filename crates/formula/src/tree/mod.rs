//! The expression tree: expressions, their functions, literals and types, and their text as Python.

pub(crate) mod aggregate;
pub(crate) mod detached;
pub(crate) mod expr;
pub(crate) mod family;
pub(crate) mod function;
pub(crate) mod host;
pub(crate) mod json;
mod list_eval;
pub(crate) mod literal;
pub(crate) mod name;
pub(crate) mod namespaces;
mod of_groups;
mod over_groups;
pub(crate) mod own_order;
pub(crate) mod payload;
pub(crate) mod quantile;
pub(crate) mod repr;
mod results;
pub(crate) mod rolling;
pub(crate) mod runs;
pub(crate) mod set;
pub(crate) mod settings;
pub(crate) mod types;
pub(crate) mod values;
