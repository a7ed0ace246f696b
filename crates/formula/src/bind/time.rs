//! Binding of functions and arithmetic of time.

use super::{Binder, Term};
use crate::error::Error;
use crate::expr::Expr;
use crate::function::{Function, Time};

impl Binder<'_> {
    pub(super) fn time(&mut self, function: Time, _args: &[Expr], _text: &dyn Fn() -> String) -> Result<Term, Error> {
        Err(Error::Parameter { function: Function::Time(function).name(), message: "not available".to_owned() })
    }

    pub(super) fn time_arithmetic(&mut self, _function: Function, _a: &Term, _b: &Term, _text: &dyn Fn() -> String) -> Result<Option<usize>, Error> {
        Ok(None)
    }
}
