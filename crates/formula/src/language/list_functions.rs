//! Functions of lists in formulas: of a list in a cell, `sum(V)`, and of a whole column, `sum(A_)`.

use crate::language::ast::{Ast, Kind};
use crate::language::family::Family;
use crate::language::lex::Span;
use crate::language::lower::{Lowered, Names, Trouble, lower, one, wrong};
use crate::tree::expr::Expr;
use crate::tree::function::{Function, List};

/// A function by its name: which argument is the list, and how many arguments it takes.
struct Entry {
    name: &'static str,
    list: usize,
    count: usize,
    means: Means,
}

enum Means {
    /// The function of lists of that meaning; whatever else is called so is none of a list.
    Only(List),
    /// The same, but the name has another meaning for other values.
    Also(List),
    /// The elements from one place to before another.
    SubVector,
    /// The distinct elements that are not null.
    Distinct,
    /// The one distinct element that is not null; null if there are several.
    Unique,
    /// Whether it has no elements.
    IsEmpty,
}

const LISTS: &[Entry] = {
    use Means::{Also, Distinct, IsEmpty, Only, SubVector, Unique};
    const fn of(name: &'static str, means: Means) -> Entry {
        Entry { name, list: 0, count: 1, means }
    }
    &[
        of("sum", Only(List::Sum)),
        of("product", Only(List::Product)),
        of("avg", Only(List::Mean)),
        of("absAvg", Only(List::AbsMean)),
        of("median", Only(List::Median)),
        of("std", Only(List::Std { ddof: 1 })),
        of("var", Only(List::Var { ddof: 1 })),
        of("min", Also(List::Min)),
        of("max", Also(List::Max)),
        of("first", Only(List::First)),
        of("last", Only(List::Last)),
        of("count", Only(List::Count)),
        of("countDistinct", Only(List::CountDistinct)),
        of("indexOfMin", Only(List::ArgMin)),
        of("indexOfMax", Only(List::ArgMax)),
        of("distinct", Distinct),
        of("unique", Unique),
        of("sort", Only(List::Sort { descending: false, nulls_last: false })),
        of("sortDescending", Only(List::Sort { descending: true, nulls_last: false })),
        of("reverse", Also(List::Reverse)),
        of("size", Only(List::Len)),
        of("length", Also(List::Len)),
        of("len", Also(List::Len)),
        of("isEmpty", IsEmpty),
        Entry { name: "percentile", list: 1, count: 2, means: Only(List::Quantile) },
        Entry { name: "nth", list: 1, count: 2, means: Only(List::Get) },
        Entry { name: "contains", list: 0, count: 2, means: Also(List::Contains) },
        Entry { name: "subVector", list: 0, count: 3, means: SubVector },
    ]
};

/// Names of functions that are of lists alone.
pub(crate) fn names<'a>() -> impl Iterator<Item = &'a str> {
    LISTS.iter().map(|entry| -> &'a str { entry.name })
}

/// How a function of lists is written in a formula, and whether the list is its last argument.
pub(crate) fn written(function: List) -> Option<(&'static str, bool)> {
    let means = |entry: &&Entry| matches!(entry.means, Means::Only(of) | Means::Also(of) if of == function);
    LISTS.iter().find(means).map(|entry| (entry.name, entry.list > 0))
}

impl Names<'_> {
    /// The call of a function of lists, if this is one.
    pub(crate) fn of_list(&self, name: &str, at: Span, args: &[Ast]) -> Result<Option<Expr>, Trouble> {
        let Some(entry) = LISTS.iter().find(|entry| entry.name == name) else { return Ok(None) };
        let only = !matches!(entry.means, Means::Also(_) | Means::IsEmpty);
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
            Means::Only(function) | Means::Also(function) => {
                rest.insert(0, list);
                call(*function, rest)
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
