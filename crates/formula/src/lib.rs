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
mod missing;
mod tree;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use error::{Error, RowError};
pub use eval::bind::bind;
pub use eval::bound::Bound;
pub use language::checked::Checked;
pub use language::formula::{Formula, FormulaError};
pub use language::names::Names;
pub use language::parse::Purpose;
pub use missing::NoColumn;
pub use tree::aggregate::Aggregate;
pub use tree::expr::{Expr, Window, split_conjunction};
pub use tree::function::Function;
pub use tree::host::{Host, HostFailure, HostId};
pub use tree::literal::Literal;
pub use tree::name::ColumnName;
pub use tree::rolling::{Frame, Reach, Rolling};
pub use tree::runs::{Ewm, EwmOf, Ranking, Runs, RunsOf};
pub use tree::types::type_name;

// Names that operations of the engine say at the root; their doors are below.
pub use categories::{CATEGORIES, categories, refuse_own_order};
pub use functions::Time;
pub use types::promote;

/// The functions of rows, as they are declared, and as formulas know them.
pub mod functions {
    pub use crate::eval::functions::declared::{FormulaName, FunctionSpec, Subject};
    pub use crate::eval::functions::functions as declared;
    pub use crate::language::library::{FormulaFunction, formula_functions as of_formulas};
    pub use crate::tree::function::{Bytes, Closed, List, OptionValue, Random, Struct, Text, Time};
}

/// The aggregates, as they are declared, and their options.
pub mod aggregates {
    pub use crate::tree::aggregate::{Asks, Declaration, Reads};
    pub use crate::tree::quantile::{Interpolation, Part};
    pub use crate::tree::settings::{Given, Setting, SettingKind};
}

/// Inputs of a bound expression besides the columns of its own row.
pub mod context {
    pub use crate::eval::beside::{ContextInput, Dependencies};
}

/// How much was read and planned.
pub mod planned {
    pub use crate::eval::counters::{Counted, counted};
}

/// Columns that operations make for themselves, and what is shown in place of their names.
pub mod hidden {
    pub use crate::tree::name::{is_hidden, next_hidden, renamed, shown, shown_field};
}

/// Categories with an order of their own.
pub mod categories {
    pub use crate::tree::own_order::{CATEGORIES, categories, has_own_order, refuse_own_order};
}

/// Types: what holds the values of two, and how units and days are counted.
pub mod types {
    pub use crate::eval::functions::civil::days_to;
    pub use crate::eval::functions::period::span_of_time;
    pub use crate::tree::types::{element_of, promote, type_text, unit_name};
}

/// Values of literals beyond single ones: long lists, sets that live elsewhere, what a host wants back.
pub mod values {
    pub use crate::tree::literal::MANY;
    pub use crate::tree::payload::Payload;
    pub use crate::tree::set::{LiveSet, NamedSet};
    pub use crate::tree::values::Values;
}

/// JSON of any legal depth.
pub mod json {
    pub use crate::tree::json::read;
}

/// How deep and how large an expression may be.
pub mod bounds {
    pub use crate::tree::expr::{MAX_DEPTH, MAX_NODES};
}
