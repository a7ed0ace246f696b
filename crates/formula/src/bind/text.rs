//! Binding of functions of strings.

use super::{Binder, Term};
use crate::error::Error;
use crate::expr::Expr;
use crate::function::{Function, Text};

impl Binder<'_> {
    pub(super) fn text(&mut self, function: Text, _args: &[Expr], _text: &dyn Fn() -> String) -> Result<Term, Error> {
        Err(Error::Parameter { function: Function::Text(function).name(), message: "not available".to_owned() })
    }
}
