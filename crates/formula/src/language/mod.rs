//! From the text of a formula to the tree it means: read, parsed, its names looked up.

pub(crate) mod ast;
pub(crate) mod cache;
pub(crate) mod checked;
pub(crate) mod columns_as_arrays;
pub(crate) mod constants;
pub(crate) mod family;
pub(crate) mod formula;
pub(crate) mod lex;
pub(crate) mod library;
pub(crate) mod list_functions;
pub(crate) mod literals;
pub(crate) mod lower;
pub(crate) mod names;
pub(crate) mod parse;
pub(crate) mod random;
