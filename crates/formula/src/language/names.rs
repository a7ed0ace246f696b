//! Name resolution in a formula: the meanings a name can have, and its errors.

use std::collections::HashMap;

use arrow_schema::Schema;

use crate::error::Error;
use crate::language::lex::Span;
use crate::tree::expr::Expr;
use crate::tree::function::Function;
use crate::tree::host::HostId;
use crate::tree::literal::Literal;
use crate::tree::set::NamedSet;

/// What the names in a formula can mean.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a> {
    /// The columns of the table, where it is known.
    pub columns: Option<&'a Schema>,
    /// Variables of the caller.
    pub values: &'a HashMap<String, Literal>,
    /// Functions of the caller; those of the language stand before them.
    pub functions: &'a HashMap<String, HostId>,
    /// Tables of the caller, for `in`.
    pub sets: &'a HashMap<String, NamedSet>,
}

/// What is wrong, and where.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Trouble {
    pub(crate) span: Span,
    pub(crate) error: Error,
}

pub(crate) type Lowered = Result<Expr, Trouble>;

pub(crate) fn wrong(span: Span, message: impl Into<String>) -> Trouble {
    Trouble { span, error: Error::Formula { message: message.into() } }
}

pub(crate) fn one(function: Function, arg: Expr) -> Expr {
    Expr::Call { function, args: vec![arg] }
}

impl Names<'_> {
    pub(crate) fn is_column(&self, name: &str) -> bool {
        self.columns.is_some_and(|schema| schema.fields().iter().any(|field| field.name() == name))
    }
}
