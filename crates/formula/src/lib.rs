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

mod aggregate;
mod arrays;
mod ast;
mod beside;
mod bind;
mod bound;
mod chance;
mod error;
mod explain;
mod expr;
mod family;
mod formula;
mod function;
mod functions;
mod host;
mod lanes;
mod lex;
mod library;
mod literal;
mod lower;
mod node;
mod own_order;
mod parse;
mod plan;
mod planned;
mod quoted;
mod repr;
mod set;
mod spaces;
mod stand_in;
mod types;
mod values;
mod vectors;
mod vocabulary;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use aggregate::{Aggregate, Interpolation, Part};
pub use beside::{Beside, Reach};
pub use bind::bind;
pub use bound::Bound;
pub use error::{Error, RowError, unknown_column};
pub use expr::{Expr, MAX_DEPTH, MAX_NODES, Window, split_conjunction};
pub use formula::{Formula, FormulaError};
pub use function::{Bytes, Closed, Function, List, Random, Struct, Text, Time};
pub use functions::civil::days_to;
pub use host::{Host, HostFailure, HostId, Payload};
pub use library::names as function_names;
pub use literal::{Literal, MANY};
pub use lower::Names;
pub use own_order::{CATEGORIES, categories, has_own_order, refuse_own_order};
pub use parse::{MAX_TEXT, Purpose};
pub use planned::{Counted, counted, told};
pub use set::{LiveSet, NamedSet};
pub use stand_in::{shown_name, stand_in, told_name};
pub use types::{promote, type_name, unit_name};
pub use values::Values;
