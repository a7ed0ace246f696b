//! Brackets in a formula: neighbours and cells of a column, elements of a value.

use crate::language::ast::{Ast, Kind};
use crate::language::lex::Span;
use crate::language::lower::lower;
use crate::language::names::{Lowered, Names, one, wrong};
use crate::tree::expr::Expr;
use crate::tree::family::Family;
use crate::tree::function::{Function, List, Struct};
use crate::tree::literal::Literal;

impl Names<'_> {
    /// `X_[i-1]`: the value of a row at a fixed distance.
    pub(crate) fn indexed(&self, subject: &Ast, index: &Ast, span: Span) -> Lowered {
        let array = if let Kind::Name(name) = &subject.kind { self.array(name) } else { None };
        if array.is_none()
            && let Ok(value) = lower(subject, self)
            && matches!(self.family(&value), Family::List | Family::Struct | Family::Unknown)
        {
            if let Kind::Literal(key @ Literal::Str(_), None) = &index.kind {
                let args = vec![value, Expr::Literal(key.clone())];
                return Ok(Expr::Call { function: Function::Struct(Struct::Field), args });
            }
            return self.element(value, index);
        }
        let Kind::Name(name) = &subject.kind else {
            return Err(wrong(span, "an index takes a neighbour of a column, X_[i-1]; or an element of a list, V[0]"));
        };
        if self.array(name).is_none() {
            return Err(wrong(
                span,
                format!("an index takes a neighbour of a column, {name}_[i-1]; {name} is no array"),
            ));
        }
        let column = self.whole(name, subject.span)?;
        Ok(match self.distance(index) {
            Some(0) => column,
            Some(distance) => one(Function::Shift { by: distance.checked_neg().unwrap_or(i64::MAX) }, column),
            None => Expr::Call { function: Function::Element, args: vec![column, lower(index, self)?] },
        })
    }

    /// `V[j]` of a list in a cell: here a negative place is outside.
    fn element(&self, list: Expr, index: &Ast) -> Lowered {
        let get = |place: Expr| Expr::Call { function: Function::List(List::Get), args: vec![list.clone(), place] };
        Ok(match lower(index, self)? {
            Expr::Literal(Literal::Int(place)) if place >= 0 => get(Expr::literal(place)),
            place => {
                let args = vec![place.clone(), Expr::literal(0_i64)];
                let inside = Expr::Call { function: Function::GreaterEqual, args };
                Expr::When { branches: vec![(inside, get(place))], otherwise: None }
            }
        })
    }

    /// The column `X` that `X_` is the whole of; a column that is itself called `X_` wins.
    pub(crate) fn array<'n>(&self, name: &'n str) -> Option<&'n str> {
        name.strip_suffix('_').filter(|base| !base.is_empty() && !self.is_column(name))
    }

    pub(crate) fn whole(&self, name: &str, span: Span) -> Lowered {
        let base = self.array(name).unwrap_or(name);
        match self.columns.filter(|_| !self.is_column(base)) {
            Some(schema) => Err(self.unknown(base, span, schema)),
            None => Ok(Expr::column(base)),
        }
    }

    /// The constant `c` of `i + c`.
    fn distance(&self, index: &Ast) -> Option<i64> {
        let is_row =
            |ast: &Ast| matches!(&ast.kind, Kind::Name(name) if matches!(&**name, "i" | "ii") && !self.is_column(name));
        let constant = |ast: &Ast| match &ast.kind {
            Kind::Literal(Literal::Int(value), _) => Some(*value),
            Kind::Name(name) => match self.values.get(&**name) {
                Some(Literal::Int(value)) if !self.is_column(name) => Some(*value),
                _ => None,
            },
            _ => None,
        };
        match &index.kind {
            _ if is_row(index) => Some(0),
            Kind::Operator(Function::Add, args) => {
                let rows = args.iter().filter(|arg| is_row(arg)).count();
                let mut distance = 0_i64;
                for arg in args.iter().filter(|arg| !is_row(arg)) {
                    distance = distance.checked_add(constant(arg)?)?;
                }
                (rows == 1).then_some(distance)
            }
            Kind::Operator(Function::Subtract, args) => {
                let (first, rest) = args.split_first()?;
                let mut distance = self.distance(first)?;
                for arg in rest {
                    distance = distance.checked_sub(constant(arg)?)?;
                }
                Some(distance)
            }
            _ => None,
        }
    }
}
