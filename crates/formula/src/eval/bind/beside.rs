//! Binding of what an expression reads beside its own row.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, TimeUnit};

use super::{Binder, Call, Term, bind_part};
use crate::error::Error;
use crate::eval::beside::ContextInput;
use crate::eval::bound::Bound;
use crate::eval::node::Op;
use crate::tree::expr::Expr;
use crate::tree::function::{Function, Time};
use crate::tree::types::type_name;

/// Ordinals of inputs beside the row, until it is known how many columns are read.
pub(super) const BESIDE: usize = usize::MAX / 2;

impl Binder<'_> {
    pub(super) fn beside(&mut self, key: &str, data_type: DataType, beside: ContextInput) -> Result<Term, Error> {
        let before = self.nodes.len();
        let ordinal = BESIDE + self.context_inputs.len();
        let node = self.node(&format!("beside {key}"), Op::Input(ordinal), vec![], data_type, "")?;
        if self.nodes.len() > before {
            self.context_inputs.push(beside);
        }
        Ok(Term::Node(node))
    }

    /// A part that is evaluated elsewhere: on other rows, or once.
    fn part(&mut self, expr: &Expr, of_clock: bool) -> Result<Bound, Error> {
        if expr.is_volatile() {
            return Err(Error::Unsupported {
                what: format!("a random number that other rows read, as in {},", expr.to_python()),
                advice: "make a column of it first: it would be drawn anew for each row that looks at it",
            });
        }
        let bound = bind_part(expr, self.schema, self.clocked, of_clock)?;
        self.ordered |= bound.ordered;
        self.unsaid |= bound.unsaid;
        self.by_row |= bound.by_row;
        Ok(bound)
    }

    /// The value so many rows earlier.
    pub(crate) fn neighbour(&mut self, c: &Call<'_>) -> Result<Term, Error> {
        let (Function::Shift { by }, [of]) = (c.function, c.args) else { return Err(c.wrong_arguments()) };
        if by == 0 {
            return self.expr(of);
        }
        let of = Box::new(self.part(of, false)?);
        self.beside(&c.text(), of.data_type().clone(), ContextInput::Neighbour { by, of })
    }

    /// `i`, `ii` and `k`, or columns of these names, if there are.
    pub(crate) fn row_number(&mut self, names: &[&str], number: ContextInput) -> Result<Term, Error> {
        let column = names.iter().find(|name| self.schema.fields().iter().any(|field| field.name() == **name));
        match column {
            Some(name) => self.column(name).map(Term::Node),
            None => self.beside(names[0], DataType::Int64, number),
        }
    }

    pub(crate) fn rows(&mut self) -> Result<Term, Error> {
        self.beside("rows", DataType::Int64, ContextInput::Rows)
    }

    /// The cell of a column at a position.
    pub(crate) fn element(&mut self, c: &Call<'_>) -> Result<Term, Error> {
        let [Expr::Column(name), index] = c.args else {
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
        let stored = crate::tree::types::canonical(self.schema.field(column).data_type());
        if stored != data_type {
            return Err(Error::Unsupported {
                what: format!("a position in the column {} of {}", name.as_str(), type_name(&stored)),
                advice: "cast the column first",
            });
        }
        self.beside(&c.text(), data_type, ContextInput::Element { column, index: Box::new(index) })
    }

    /// A function of all cells of a column: one value for all rows, or the part of it that each row asks for.
    pub(super) fn of_whole_column(&mut self, c: &Call<'_>) -> Result<Option<Term>, Error> {
        let Some(name) = c.args.first().and_then(whole_column) else { return Ok(None) };
        let call = c.whole;
        // Found as any column is, so that an unknown one is refused in the same words.
        self.column(name)?;
        let column = self.schema.index_of(name).unwrap_or_default();
        let cells = Arc::new(Field::new_list_field(self.schema.field(column).data_type().clone(), true));
        let key = call.to_python();
        if whole_column(call).is_some() {
            let schema = Schema::new(vec![Field::new(WHOLE, DataType::List(cells), true)]);
            let of = Box::new(bind_part(&over_list(call), &schema, false, false)?);
            return self.beside(&key, of.data_type().clone(), ContextInput::Whole { column, of }).map(Some);
        }
        let [Expr::Call { function: Function::Array, .. }, from, length] = c.args else {
            return Err(Error::Parameter {
                function: c.name.to_owned(),
                message: format!("of the whole column {name} it takes constants, not what differs from row to row"),
            });
        };
        let mut part = |place: &Expr| Ok(Box::new(self.part(&place.clone().cast(DataType::Int64, true)?, false)?));
        let (from, length) = (part(from)?, part(length)?);
        self.beside(&key, DataType::List(cells), ContextInput::Part { column, from, length }).map(Some)
    }

    pub(crate) fn array(&mut self, c: &Call<'_>) -> Result<Term, Error> {
        let name = c.args.first().and_then(|of| if let Expr::Column(name) = of { Some(&**name) } else { None });
        Err(Error::Parameter {
            function: format!("{}_", name.unwrap_or_default()),
            message:
                "all cells of a column in every row: take one value of them, sum(A_), or a part, A_.subVector(0, 3)"
                    .to_owned(),
        })
    }

    pub(crate) fn now(&mut self) -> Result<Term, Error> {
        self.beside("now", DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())), ContextInput::Now)
    }

    /// A part that depends on the clock alone, as one input.
    pub(super) fn clock_alone(&mut self, expr: &Expr) -> Result<Term, Error> {
        let part = Bound { daily: is_date(expr), ..self.part(expr, true)? };
        self.beside(
            &format!("clock {}", expr.to_python()),
            part.data_type().clone(),
            ContextInput::Clock(Box::new(part)),
        )
    }
}

/// In place of the whole column, where a function of it is bound.
const WHOLE: &str = "\0whole";

/// The column of which an expression is a value that is the same in every row.
fn whole_column(expr: &Expr) -> Option<&str> {
    let same = |rest: &Expr| rest.columns().is_empty() && !rest.needs_context() && !rest.calls_host();
    match expr {
        Expr::Call { function: Function::Array, args } => match args.as_slice() {
            [Expr::Column(name)] => Some(name),
            _ => None,
        },
        Expr::Call { function: Function::List(_), args } => {
            let (list, rest) = args.split_first()?;
            whole_column(list).filter(|_| rest.iter().all(same))
        }
        _ => None,
    }
}

fn over_list(expr: &Expr) -> Expr {
    match expr {
        Expr::Call { function: Function::Array, .. } => Expr::column(WHOLE),
        other => other.map_children(&mut over_list),
    }
}

/// Whether it is the date of `now()`, of UTC or of a zone.
fn is_date(expr: &Expr) -> bool {
    let is_now = |expr: &Expr| matches!(expr, Expr::Call { function: Function::Now, .. });
    let in_zone = |expr: &Expr| matches!(expr, Expr::Call { function: Function::Time(Time::ConvertTimeZone), args } if is_now(&args[0]));
    matches!(expr, Expr::Call { function: Function::Time(Time::Date), args } if is_now(&args[0]) || in_zone(&args[0]))
}

/// Whether the clock is all that an expression depends on.
pub(super) fn is_of_clock(expr: &Expr) -> bool {
    fn only(expr: &Expr, found: &mut bool) -> bool {
        match expr {
            Expr::Column(_) | Expr::Aggregate { .. } | Expr::Over { .. } | Expr::InSet { .. } | Expr::Host { .. } => {
                false
            }
            Expr::Call { function: Function::Now, .. } => {
                *found = true;
                true
            }
            Expr::Call {
                function:
                    Function::Position
                    | Function::RowKey
                    | Function::Rows
                    | Function::Element
                    | Function::Array
                    | Function::Shift { .. }
                    | Function::Random { .. }
                    | Function::Variable,
                ..
            } => false,
            other => other.children().all(|child| only(child, found)),
        }
    }
    let mut found = false;
    only(expr, &mut found) && found
}
