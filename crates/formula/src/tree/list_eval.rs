//! What an expression makes of the elements of lists.

use std::sync::Arc;

use crate::error::Error;
use crate::tree::expr::Expr;
use crate::tree::function::Function;

impl Expr {
    /// Lists of what `body` makes of the elements of each of these lists, and of them those for which `keep` is true. An element is
    /// [`Function::Item`].
    pub fn list_eval(self, body: Expr, keep: Option<Expr>) -> Result<Expr, Error> {
        let keep = keep.map(Arc::new);
        let made = Expr::Eval { input: Arc::new(self), body: Arc::new(body), keep };
        made.check_eval()?;
        made.within_limits()
    }

    /// What it computes of elements.
    pub(crate) fn of_elements(&self) -> impl Iterator<Item = &Expr> {
        let (body, keep) = match self {
            Expr::Eval { body, keep, .. } => (Some(&**body), keep.as_deref()),
            _ => (None, None),
        };
        body.into_iter().chain(keep)
    }

    /// Fails where what is computed of elements reads anything else.
    pub(crate) fn check_eval(&self) -> Result<(), Error> {
        self.of_elements().try_for_each(of_elements_alone)
    }
}

fn of_elements_alone(expr: &Expr) -> Result<(), Error> {
    let refused = |advice: &'static str| {
        Err(Error::Unsupported { what: format!("list.eval with {},", expr.to_python()), advice })
    };
    match expr {
        Expr::Column(_) => {
            refused("it computes of tf.element() alone; explode the lists to compute with columns beside them")
        }
        Expr::Call { function: Function::Variable, .. } => {
            refused("a formula reads columns; write tf.element() where the element is meant")
        }
        Expr::Host { .. } => refused("a function of yours takes columns; explode the lists, or give it whole lists"),
        Expr::InSet { .. } => refused("explode the lists, and test their elements there"),
        Expr::Over { window, .. } if window.rolling.is_some() => refused("windows are over rows; explode the lists"),
        Expr::Over { window, .. } if window.runs.is_none() || !window.by.is_empty() || !window.order.is_empty() => {
            refused("elements of one list are one group, in their order; leave over() out, or explode the lists")
        }
        Expr::Call { function, .. } if is_elsewhere(function) => {
            refused("it reads the table or the clock; make a column of it and explode the lists")
        }
        Expr::Eval { .. } => expr.check_eval().and_then(|()| expr.children().try_for_each(of_elements_alone)),
        other => other.children().try_for_each(of_elements_alone),
    }
}

fn is_elsewhere(function: &Function) -> bool {
    use Function::{Array, Element, Now, Position, Random, RowKey, Rows};
    matches!(function, Array | Element | Now | Position | Random { .. } | RowKey | Rows)
}
