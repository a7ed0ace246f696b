//! Functions of bytes.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array};
use arrow_schema::DataType;

use super::declared::{FunctionSpec, Takes, method};
use crate::eval::node::{Argument, Whole};
use crate::tree::function::Bytes;
use crate::tree::function::Function;

const TEST: Takes = (2, 2, "bytes, and for a test what to look for");

pub(crate) const FUNCTIONS: &[FunctionSpec] = &[
    method(Function::Bytes(Bytes::Size), "bin.size", (1, 1, "bytes, and for a test what to look for"), |b, c| {
        b.of_bytes(c, size(), DataType::Int64)
    }),
    method(Function::Bytes(Bytes::Contains), "bin.contains", TEST, |b, c| {
        b.of_bytes(c, test(Bytes::Contains), DataType::Boolean)
    })
    .shown_by("col(\"y\").bin.contains(b\"\\x02\")"),
    method(Function::Bytes(Bytes::StartsWith), "bin.starts_with", TEST, |b, c| {
        b.of_bytes(c, test(Bytes::StartsWith), DataType::Boolean)
    })
    .shown_by("col(\"y\").bin.starts_with(b\"\\x01\")"),
    method(Function::Bytes(Bytes::EndsWith), "bin.ends_with", TEST, |b, c| {
        b.of_bytes(c, test(Bytes::EndsWith), DataType::Boolean)
    })
    .shown_by("col(\"y\").bin.ends_with(b\"\\x01\")"),
];

/// Cells of an argument by row.
pub(crate) struct Cells<'a>(pub(crate) &'a Argument);

impl<'a> Cells<'a> {
    pub(crate) fn get(&self, row: usize) -> Option<&'a [u8]> {
        let row = if matches!(self.0, Argument::One(_)) { 0 } else { row };
        let cells = self.0.array().as_binary_view();
        cells.is_valid(row).then(|| cells.value(row))
    }
}

/// How many bytes.
pub(crate) fn size() -> Whole {
    Arc::new(|args, rows| {
        let cells = Cells(&args[0]);
        Ok(Arc::new((0..rows).map(|row| Some(cells.get(row)?.len() as i64)).collect::<Int64Array>()))
    })
}

/// Whether the second argument stands in the first, at its start, at its end.
pub(crate) fn test(function: Bytes) -> Whole {
    Arc::new(move |args, rows| {
        let (cells, parts) = (Cells(&args[0]), Cells(&args[1]));
        let test = |row: usize| {
            let (cell, part) = (cells.get(row)?, parts.get(row)?);
            Some(match function {
                Bytes::StartsWith => cell.starts_with(part),
                Bytes::EndsWith => cell.ends_with(part),
                _ => part.is_empty() || cell.windows(part.len()).any(|window| window == part),
            })
        };
        Ok(Arc::new((0..rows).map(test).collect::<BooleanArray>()) as ArrayRef)
    })
}
