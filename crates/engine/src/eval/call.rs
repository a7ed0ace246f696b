//! One call of the user: what the operations that it makes are told of it, beside their arguments.

use std::sync::Arc;

use arrow_schema::Schema;
use formula::{Bound, Checked, Expr};

use crate::error::Location;

/// One call of the user, for messages alone: two calls that ask for one thing are equal, whatever stands here.
#[derive(Clone, Debug, Default)]
pub struct Call {
    /// The method.
    pub method: Arc<str>,
    /// The line of the user's code.
    pub location: Option<Location>,
    /// The formulas among the arguments, as they were checked.
    pub formulas: Vec<Checked>,
}

impl Call {
    /// The expression as the user wrote it: a formula as it is, else as Python.
    pub(crate) fn told(&self, expression: &Expr, schema: &Schema) -> String {
        self.formula(expression, schema).map_or_else(|| expression.to_python(), Checked::text)
    }

    /// The expression bound to the columns: as it was checked, else anew.
    pub(crate) fn bind(&self, expression: &Expr, schema: &Schema) -> Result<Bound, formula::Error> {
        let checked = self.formula(expression, schema);
        checked.map_or_else(|| formula::bind(expression, schema), |checked| Ok(checked.bound().clone()))
    }

    fn formula(&self, expression: &Expr, schema: &Schema) -> Option<&Checked> {
        self.formulas.iter().find(|formula| formula.is(expression, schema))
    }
}

impl From<&str> for Call {
    fn from(method: &str) -> Call {
        Call { method: method.into(), ..Call::default() }
    }
}

impl From<&Arc<str>> for Call {
    fn from(method: &Arc<str>) -> Call {
        Call { method: Arc::clone(method), ..Call::default() }
    }
}
