//! Functions of lists in formulas: of a list in a cell, `sum(V)`, and of a whole column, `sum(A_)`.

use crate::language::ast::{Ast, Kind};
use crate::language::lex::Span;
use crate::language::library;
use crate::language::library::list::Means;
use crate::language::lower::lower;
use crate::language::names::{Lowered, Names, Trouble, one, wrong};
use crate::tree::expr::Expr;
use crate::tree::family::Family;
use crate::tree::function::{Function, List};

impl Names<'_> {
    /// The call of a function of lists, if this is one.
    pub(crate) fn of_list(&self, name: &str, at: Span, args: &[Ast]) -> Result<Option<Expr>, Trouble> {
        let Some(entry) = library::list::function(name) else { return Ok(None) };
        let only = !entry.also;
        if args.len() != entry.count {
            let arguments = if entry.count == 1 { "1 argument" } else { "several arguments" };
            let message = format!("{name} takes {arguments} ({}), not {}", entry.count, args.len());
            return if only { Err(wrong(at, message)) } else { Ok(None) };
        }
        let only_of_lists = only || matches!(name, "min" | "max");
        let Some(list) = self.listed(&args[entry.list], only_of_lists)? else {
            // Of one value the least and the greatest are asked of a list alone.
            if only_of_lists {
                return Err(self.no_list(name, &args[entry.list]));
            }
            return Ok(None);
        };
        let mut rest = Vec::new();
        for (place, arg) in args.iter().enumerate() {
            if place != entry.list {
                rest.push(lower(arg, self)?);
            }
        }
        Ok(Some(entry.means.of(list, rest)))
    }

    /// A list: the elements of a cell, or the cells of a column. What may be one is, if `only` lists are asked for.
    fn listed(&self, ast: &Ast, only: bool) -> Result<Option<Expr>, Trouble> {
        if let Kind::Name(name) = &ast.kind
            && self.array(name).is_some()
        {
            return Ok(Some(one(Function::Array, self.whole(name, ast.span)?)));
        }
        let value = lower(ast, self)?;
        Ok(match self.family(&value) {
            Family::List => Some(value),
            Family::Unknown if only && self.columns.is_none() => Some(value),
            _ => None,
        })
    }

    fn no_list(&self, name: &str, ast: &Ast) -> Trouble {
        let whole = match &ast.kind {
            Kind::Name(column) if self.is_column(column) => format!(": write {name}({column}_) for the whole column"),
            _ => String::new(),
        };
        wrong(ast.span, format!("{name} takes the list in a cell, or all cells of a column{whole}"))
    }

    /// `A_` where no function takes it.
    pub(crate) fn bare_array(&self, name: &str, span: Span) -> Option<Lowered> {
        let base = self.array(name).filter(|base| self.is_column(base))?;
        Some(Err(wrong(
            span,
            format!(
                "{name} is the whole column {base}; of it a formula takes neighbours, {name}[i-1], cells, {name}[j], \
                 parts, {name}.subVector(0, 3), its size, {name}.size(), and one value of all, sum({name})"
            ),
        )))
    }
}

impl Means {
    fn of(&self, list: Expr, mut rest: Vec<Expr>) -> Expr {
        let call = |function: List, args: Vec<Expr>| Expr::Call { function: Function::List(function), args };
        match self {
            Means::Function(function) => {
                rest.insert(0, list);
                Expr::Call { function: *function, args: rest }
            }
            Means::SubVector => {
                let (to, from) = (rest.pop(), rest.pop());
                let (Some(from), Some(to)) = (from, to) else { return list };
                let length = match (&from, &to) {
                    (
                        Expr::Literal(crate::tree::literal::Literal::Int(from)),
                        Expr::Literal(crate::tree::literal::Literal::Int(to)),
                    ) => Expr::literal(to.saturating_sub(*from).max(0)),
                    _ => {
                        let length = Expr::joined(Function::Subtract, vec![to, from.clone()]);
                        Expr::joined(Function::MaxHorizontal, vec![length, Expr::literal(0_i64)])
                    }
                };
                call(List::Slice, vec![list, from, length])
            }
            Means::Distinct => call(List::DropNulls, vec![call(List::Unique, vec![list])]),
            Means::Unique => {
                let one = Expr::joined(
                    Function::Equal,
                    vec![call(List::CountDistinct, vec![list.clone()]), Expr::literal(1_i64)],
                );
                Expr::When { branches: vec![(one, call(List::Min, vec![list]))], otherwise: None }
            }
            Means::IsEmpty => Expr::joined(Function::Equal, vec![call(List::Len, vec![list]), Expr::literal(0_i64)]),
        }
    }
}
