//! Binding of arithmetic of lists: `V * 2`, `V + W`, `-V`.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};

use super::{Binder, Term, literal, type_error};
use crate::error::Error;
use crate::eval::functions::elementwise::{Side, elementwise};
use crate::tree::expr::Expr;
use crate::tree::function::Function;
use crate::tree::literal::Literal;
use crate::tree::types::{canonical, element_of, list_of, promote};

impl Binder<'_> {
    /// The operator over the elements if one of the operands is a list; none if none is.
    pub(super) fn of_elements(
        &mut self,
        function: Function,
        operands: &[&Term],
        text: &dyn Fn() -> Arc<str>,
    ) -> Result<Option<usize>, Error> {
        let types: Vec<DataType> = operands.iter().map(|term| self.term_type(term)).collect();
        let Some(other) = types.iter().find_map(element_of) else { return Ok(None) };
        let (mut args, mut sides, mut exprs, mut fields) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (term, data_type) in operands.iter().zip(&types) {
            let node = match term {
                Term::Literal(literal @ (Literal::List(_) | Literal::Values(_))) => {
                    self.constant_list(literal, &other)?
                }
                Term::Literal(literal) => {
                    // It takes the type of the elements if it fits there.
                    exprs.push(Expr::Literal(literal.clone()));
                    continue;
                }
                Term::Node(_) if element_of(data_type).is_some() => self.as_list(&function.name(), term)?.0,
                Term::Node(node) => *node,
            };
            let element = element_of(self.type_of(node));
            let is_list = element.is_some();
            let of = canonical(&element.unwrap_or_else(|| self.type_of(node).clone()));
            let name = format!("{}", args.len());
            exprs.push(Expr::column(name.as_str()));
            fields.push(Field::new(name, of.clone(), true));
            sides.push(Side { of, is_list });
            args.push(node);
        }
        let operate = Expr::Call { function, args: exprs };
        let bound = super::bind_part(&operate, &Schema::new(fields), false, false).map_err(|error| match error {
            Error::Type { advice, .. } => {
                let types: Vec<&DataType> = types.iter().collect();
                type_error(&function.name(), &types, format!("lists are taken element by element; {advice}"))
            }
            other => other,
        })?;
        let made = list_of(bound.data_type());
        let element = element_of(&made).unwrap_or(DataType::Null);
        let key = format!("elements {} {sides:?}", operate.to_python());
        self.whole(&key, elementwise(bound, sides, element), args, made, &text()).map(Some)
    }

    /// A list that the user wrote, beside lists of such elements.
    pub(super) fn constant_list(&mut self, list: &Literal, beside: &DataType) -> Result<usize, Error> {
        let items = list.items().unwrap_or_default();
        let mut met = canonical(beside);
        for item in items.iter().filter(|item| !literal::fits(item, beside)) {
            met = promote(&met, &literal::own_type(item))?;
        }
        let cells = items.iter().map(|item| match literal::fits(item, &met) {
            true => literal::array_of(item, &met),
            false => literal::recast(&literal::array_of(item, &literal::own_type(item))?, &met),
        });
        let cells = cells.collect::<Result<Vec<_>, _>>()?;
        let list = literal::list(&cells, &met)?;
        self.constant(list, &format!("list {items:?} {met}"))
    }
}
