//! Typed expressions over Arrow chunks.
//!
//! An [`Expr`] is a tree that says what to compute. [`bind`] checks it against the columns of a
//! schema, and the [`Bound`] expression computes it, chunk by chunk, with vector kernels.
//!
//! ```
//! use std::sync::Arc;
//! use arrow_array::{ArrayRef, Float64Array};
//! use arrow_schema::{DataType, Field, Schema};
//! use formula::{Expr, Function, bind};
//!
//! let twice = Expr::call(Function::Multiply, vec![Expr::column("x"), Expr::literal(2_i64)])?;
//! let schema = Schema::new(vec![Field::new("x", DataType::Float64, true)]);
//! let bound = bind(&twice, &schema)?;
//! let x: ArrayRef = Arc::new(Float64Array::from(vec![Some(1.5), None]));
//! let result = bound.evaluate(&[x], 2)?;
//! assert_eq!(result.as_ref(), &Float64Array::from(vec![Some(3.0), None]));
//! assert_eq!(twice.to_python(), "(col(\"x\") * 2)");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Formula`] is a text that means the same tree:
//!
//! ```
//! use std::collections::HashMap;
//! use formula::{Formula, Names, Purpose};
//!
//! let formula = Formula::parse("y = x * 2", Purpose::Column)?;
//! let expr = formula.lower(&Names { columns: None, values: &HashMap::new(), functions: &HashMap::new(), sets: &HashMap::new() })?;
//! assert_eq!(expr.to_python(), "(col(\"x\") * 2).alias(\"y\")");
//! # Ok::<(), formula::FormulaError>(())
//! ```

mod error;
mod eval;
mod language;
mod tree;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use error::{Error, RowError};
pub use eval::beside::{ContextInput, Dependencies};
pub use eval::bind::bind;
pub use eval::bound::Bound;
pub use eval::cache::{Counted, counted, told};
pub use eval::functions::civil::days_to;

pub use language::formula::{Formula, FormulaError};
pub use language::library::names as function_names;
pub use language::names::Names;
pub use language::parse::Purpose;
pub use tree::aggregate::{Aggregate, Asks, Declaration, Reads};
pub use tree::expr::{Expr, MAX_DEPTH, MAX_NODES, Window, split_conjunction};
pub use tree::function::{Bytes, Closed, Function, List, Random, Struct, Text, Time};
pub use tree::host::{Host, HostFailure, HostId};
pub use tree::literal::{Literal, MANY};
pub use tree::own_order::{CATEGORIES, categories, has_own_order, refuse_own_order};
pub use tree::payload::Payload;
pub use tree::quantile::{Interpolation, Part};
pub use tree::set::{LiveSet, NamedSet};
pub use tree::settings::{Given, Setting, SettingKind};
pub use tree::stand_in::{shown_name, stand_in, told_name};
pub use tree::types::{promote, type_name, unit_name};
pub use tree::values::Values;
