//! Binding of what an expression reads beside its own row.

use std::sync::Arc;

use arrow_schema::{DataType, TimeUnit};

use super::{Binder, Term, bind_part};
use crate::beside::Beside;
use crate::bound::Bound;
use crate::error::Error;
use crate::expr::Expr;
use crate::function::{Function, Time};
use crate::node::Op;
use crate::types::type_name;

/// Ordinals of inputs beside the row, until it is known how many columns are read.
pub(super) const BESIDE: usize = usize::MAX / 2;

impl Binder<'_> {
    fn beside(&mut self, key: &str, data_type: DataType, beside: Beside) -> Result<Term, Error> {
        let before = self.nodes.len();
        let ordinal = BESIDE + self.besides.len();
        let node = self.node(&format!("beside {key}"), Op::Input(ordinal), vec![], data_type, "")?;
        if self.nodes.len() > before {
            self.besides.push(beside);
        }
        Ok(Term::Node(node))
    }

    /// A part that is evaluated elsewhere: on other rows, or once.
    fn part(&mut self, expr: &Expr, of_clock: bool) -> Result<Bound, Error> {
        let bound = bind_part(expr, self.schema, self.clocked, of_clock)?;
        self.ordered |= bound.ordered;
        self.unsaid |= bound.unsaid;
        Ok(bound)
    }

    /// The value so many rows earlier.
    pub(super) fn neighbour(&mut self, by: i64, args: &[Expr], text: &dyn Fn() -> Arc<str>) -> Result<Term, Error> {
        let [of] = args else {
            return Err(Error::Arguments { function: "shift".to_owned(), takes: "a value", given: args.len() });
        };
        if by == 0 {
            return self.expr(of);
        }
        let of = Box::new(self.part(of, false)?);
        self.beside(&text(), of.data_type().clone(), Beside::Neighbour { by, of })
    }

    /// `i`, `ii` and `k`, or columns of these names, if there are.
    pub(super) fn row_number(&mut self, function: Function) -> Result<Term, Error> {
        let names: &[&str] = if function == Function::RowKey { &["k"] } else { &["i", "ii"] };
        let column = names.iter().find(|name| self.schema.fields().iter().any(|field| field.name() == **name));
        match (column, function) {
            (Some(name), _) => self.column(name).map(Term::Node),
            (None, Function::RowKey) => self.beside("k", DataType::Int64, Beside::RowKey),
            (None, _) => self.beside("i", DataType::Int64, Beside::Position),
        }
    }

    pub(super) fn rows(&mut self) -> Result<Term, Error> {
        self.beside("rows", DataType::Int64, Beside::Rows)
    }

    /// The cell of a column at a position.
    pub(super) fn element(&mut self, args: &[Expr], text: &dyn Fn() -> Arc<str>) -> Result<Term, Error> {
        let [Expr::Column(name), index] = args else {
            return Err(Error::Parameter {
                function: "get".to_owned(),
                message: "it takes a column and a position".to_owned(),
            });
        };
        // Found as any column is, so that an unknown one is refused in the same words.
        let node = self.column(name)?;
        let data_type = self.type_of(node).clone();
        let column = self.schema.index_of(name).unwrap_or_default();
        let index = self.part(&index.clone().cast(DataType::Int64, true)?, false)?;
        let stored = crate::types::canonical(self.schema.field(column).data_type());
        if stored != data_type {
            return Err(Error::Unsupported {
                what: format!("a position in the column {name} of {}", type_name(&stored)),
                advice: "cast the column first",
            });
        }
        self.beside(&text(), data_type, Beside::Element { column, index: Box::new(index) })
    }

    pub(super) fn now(&mut self) -> Result<Term, Error> {
        self.beside("now", DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())), Beside::Now)
    }

    /// A part that hangs on the clock alone, as one input.
    pub(super) fn clock_alone(&mut self, expr: &Expr) -> Result<Term, Error> {
        let part = Bound { daily: is_date(expr), ..self.part(expr, true)? };
        self.beside(&format!("clock {}", expr.to_python()), part.data_type().clone(), Beside::Clock(Box::new(part)))
    }
}

/// Whether it is the date of `now()`, of UTC or of a zone.
fn is_date(expr: &Expr) -> bool {
    let is_now = |expr: &Expr| matches!(expr, Expr::Call { function: Function::Now, .. });
    let in_zone = |expr: &Expr| matches!(expr, Expr::Call { function: Function::Time(Time::ConvertTimeZone), args } if is_now(&args[0]));
    matches!(expr, Expr::Call { function: Function::Time(Time::Date), args } if is_now(&args[0]) || in_zone(&args[0]))
}

/// Whether the clock is all that an expression hangs on.
pub(super) fn is_of_clock(expr: &Expr) -> bool {
    fn only(expr: &Expr, found: &mut bool) -> bool {
        match expr {
            Expr::Column(_) | Expr::Aggregate { .. } => false,
            Expr::Call { function: Function::Now, .. } => {
                *found = true;
                true
            }
            Expr::Call {
                function:
                    Function::Host(_)
                    | Function::Position
                    | Function::RowKey
                    | Function::Rows
                    | Function::Element
                    | Function::Shift { .. }
                    | Function::Variable,
                ..
            } => false,
            other => other.children().all(|child| only(child, found)),
        }
    }
    let mut found = false;
    only(expr, &mut found) && found
}
