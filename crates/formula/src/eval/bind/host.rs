//! Binding of functions of the host.

use std::sync::Arc;

use arrow_array::ArrayRef;

use super::{Binder, Term};
use crate::error::Error;
use crate::eval::node::{Failure, Op, Whole};
use crate::tree::expr::Expr;
use crate::tree::host::{HostFailure, HostId};
use crate::tree::payload::Payload;
use crate::tree::types::{canonical, type_name};

impl Binder<'_> {
    pub(super) fn host(&mut self, id: &HostId, args: &[Expr], text: &dyn Fn() -> Arc<str>) -> Result<Term, Error> {
        let Some(host) = id.host().cloned() else {
            return Err(Error::Unsupported {
                what: format!("{}, a function of another process or one that is gone,", id.name()),
                advice: "make the expression again, from the function itself",
            });
        };
        let name = host.name().to_owned();
        let terms = self.terms(args)?;
        let nodes = terms.into_iter().map(|term| self.settled(term)).collect::<Result<Vec<_>, _>>()?;
        let types: Vec<_> = nodes.iter().map(|node| self.type_of(*node).clone()).collect();
        let returns = host.returns(&types);
        let returns = returns.map_err(|message| Error::Parameter { function: name.clone(), message })?;
        let data_type = canonical(&returns);
        self.ordered |= host.is_ordered() == Some(true);
        self.unsaid |= host.is_ordered().is_none();
        self.by_row |= host.is_by_row();
        let alone = host.is_ordered() != Some(false);
        let wanted = data_type.clone();
        let kernel: Whole = Arc::new(move |args, rows| {
            let args: Vec<ArrayRef> = args.iter().map(|arg| arg.expanded(rows)).collect();
            let failed = |HostFailure { row, message, payload }| Failure {
                row: row.unwrap_or(0),
                message,
                payload: Some(payload),
            };
            let result = host.call(&args, rows).map_err(failed)?;
            let wrong = |message: String| Failure { row: 0, message, payload: Some(Payload(Arc::new(()))) };
            if result.len() != rows {
                let message = format!("{} gave {} values for {rows} rows", host.name(), result.len());
                return Err(wrong(message));
            }
            if *result.data_type() == wanted {
                return Ok(result);
            }
            arrow_cast::cast(&result, &wanted).map_err(|_| {
                let (given, wanted) = (type_name(result.data_type()), type_name(&wanted));
                wrong(format!("{} gave {given} where it returns {wanted}", host.name()))
            })
        });
        // A function that keeps state gives another answer at another place.
        let key = if alone { format!("host {id:?} {}", self.nodes.len()) } else { format!("host {id:?}") };
        let text = text();
        self.node(&format!("{key} {data_type}"), Op::Host(kernel), nodes, data_type, &text).map(Term::Node)
    }
}
