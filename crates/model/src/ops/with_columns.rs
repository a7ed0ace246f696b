//! `with_columns`: the input's columns, some replaced, new ones after them. By position.

use std::fmt;
use std::rc::Rc;

use crate::expr::ModelExpr;
use crate::table::{Row, Table};
use crate::value::Value;

/// A named column computed row by row.
#[derive(Clone)]
pub struct Derived {
    pub(crate) name: String,
    from: Rc<dyn Fn(&Table, &Row) -> Value>,
}

impl fmt::Debug for Derived {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} = …", self.name)
    }
}

impl Derived {
    /// A column computed by a closure over the cells of a row.
    pub fn new(name: &str, from: impl Fn(&Row) -> Value + 'static) -> Derived {
        Derived { name: name.to_owned(), from: Rc::new(move |_, row| from(row)) }
    }

    /// A column computed by an expression.
    pub fn expr(name: &str, expr: ModelExpr) -> Derived {
        Derived { name: name.to_owned(), from: Rc::new(move |table, row| expr.value(table, row)) }
    }

    /// A column of the source under its own name.
    pub fn column(name: &str) -> Derived {
        Derived::expr(name, ModelExpr::column(name))
    }
}

pub(crate) fn cells(input: &Table, column: &Derived) -> Vec<Value> {
    input.rows.iter().map(|(_, row)| (column.from)(input, row)).collect()
}

/// Replaces columns of the same name in place and puts the others at the end. Every expression
/// sees the source only, never a column made beside it.
pub fn with_columns(input: &Table, columns: &[Derived]) -> Table {
    let mut output = input.clone();
    for column in columns {
        let computed = cells(input, column);
        let place = output.names.iter().position(|name| *name == column.name);
        if place.is_none() {
            output.names.push(column.name.clone());
        }
        for ((_, row), value) in output.rows.iter_mut().zip(computed) {
            match place {
                Some(place) => row[place] = value,
                None => row.push(value),
            }
        }
    }
    output
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::Arith;
    use crate::table::table;

    #[test]
    fn a_column_is_replaced_in_place_and_others_see_the_old_one() {
        let t = table(&["a", "b"], &[&[1i64.into(), 10i64.into()]]);
        let plus =
            |by: i64| ModelExpr::Arith(Arith::Add, Box::new(ModelExpr::column("a")), Box::new(ModelExpr::literal(by)));
        let made = with_columns(&t, &[Derived::expr("a", plus(100)), Derived::expr("c", plus(1))]);
        assert_eq!(made.to_string(), "a b c\n0: 101 10 2\n");
    }
}
