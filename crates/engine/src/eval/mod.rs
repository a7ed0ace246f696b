//! Expressions over the rows of a table: their evaluation, what they read beside a row, which rows a change reaches, and
//! who may run beside whom.

pub(crate) mod affected;
pub(crate) mod block;
pub(crate) mod call;
pub(crate) mod computed;
pub(crate) mod conjunction;
pub(crate) mod evaluator;
pub(crate) mod lists;
pub(crate) mod schedule;
pub(crate) mod selection;
pub(crate) mod verdicts;
pub(crate) mod zones;
