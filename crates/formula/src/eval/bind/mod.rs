//! Binding: names become columns, types are checked and promoted, equal parts become one node,
//! constant parts are computed by the very kernels that would compute them row by row.

mod beside;
mod bin;
mod cast;
mod choice;
mod compare;
mod elementwise;
mod format;
mod host;
mod list;
mod list_eval;
mod lists;
mod literal;
mod nodes;
mod number;
mod random;
mod structs;
mod text;
mod time;
mod time_arithmetic;
mod windows;

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::new_null_array;
use arrow_schema::{DataType, Schema};

use crate::error::Error;
use crate::eval::beside::ContextInput;
use crate::eval::bound::Bound;
use crate::eval::counters;
use crate::eval::lanes::{Check, Kind, LaneOp};
use crate::eval::node::{Node, Op};
use crate::eval::plan::Plan;
use crate::missing::NoColumn;
use crate::tree::expr::Expr;
use crate::tree::function::{Function, OptionValue};
use crate::tree::literal::Literal;
use crate::tree::own_order::refuse_own_order;
use crate::tree::types::{canonical, promote, type_name};

use beside::{BESIDE, is_of_clock};
pub(crate) use cast::to_type;
pub(crate) use list::{ListCall, Made};
use nodes::Key;
pub(crate) use time::Needs;

/// Checks an expression against the columns of a schema (of canonical types) and prepares it to run.
pub fn bind(expr: &Expr, schema: &Schema) -> Result<Bound, Error> {
    expr.check_limits()?;
    counters::count_planned();
    bind_part(expr, schema, expr.reads_clock(), false)
}

/// Binds what is known to be within the limits. `clocked`: `now()` may stand in it; `of_clock`: nothing else does.
fn bind_part(expr: &Expr, schema: &Schema, clocked: bool, of_clock: bool) -> Result<Bound, Error> {
    let mut binder = Binder {
        schema,
        nodes: Vec::new(),
        known: HashMap::default(),
        inputs: Vec::new(),
        context_inputs: Vec::new(),
        clocked,
        of_clock,
        ordered: false,
        unsaid: false,
        by_row: false,
        draws: 0,
    };
    let term = binder.expr(expr)?;
    let root = binder.settled(term)?;
    let columns = binder.inputs.len();
    for node in &mut binder.nodes {
        if let Op::Input(ordinal) = &mut node.op
            && *ordinal >= BESIDE
        {
            *ordinal = *ordinal - BESIDE + columns;
        }
    }
    let plan = Plan::new(&binder.nodes, root);
    Ok(Bound {
        name: expr.output_name()?,
        nodes: binder.nodes.into(),
        inputs: binder.inputs,
        context_inputs: binder.context_inputs.into(),
        plan,
        ordered: binder.ordered,
        unsaid: binder.unsaid,
        by_row: binder.by_row,
        daily: false,
    })
}

/// A bound part: a node, or a literal that has not met the operand that gives it its type.
#[derive(Clone, Debug)]
pub(crate) enum Term {
    Node(usize),
    Literal(Literal),
}

/// A call that is being bound; it has as many arguments as its function takes.
pub(crate) struct Call<'a> {
    /// Which function, with its options.
    pub(crate) function: Function,
    /// The name by which errors tell of it.
    pub(crate) name: &'static str,
    takes: &'static str,
    /// Its arguments, in order.
    pub(crate) args: &'a [Expr],
    whole: &'a Expr,
    text: OnceCell<Arc<str>>,
}

impl Call<'_> {
    /// The call as Python. A chain of thousands of operands is one call, whose text they share.
    pub(crate) fn text(&self) -> Arc<str> {
        Arc::clone(self.text.get_or_init(|| self.whole.to_python().into()))
    }

    /// An option that is yes or no.
    pub(crate) fn flag(&self, name: &str) -> bool {
        let mut function = self.function;
        function.options().iter().any(|(known, value)| *known == name && *value == OptionValue::Flag(&mut true))
    }

    /// An option that is a number; 0 without it.
    pub(crate) fn number(&self, name: &str) -> u32 {
        let mut function = self.function;
        let found = function.options().into_iter().find(|(known, _)| *known == name);
        match found {
            Some((_, OptionValue::Number(number))) => *number,
            Some((_, OptionValue::Small(number))) => u32::from(*number),
            _ => 0,
        }
    }

    /// The error of a parameter that is not acceptable.
    fn refused(&self, message: String) -> Error {
        Error::Parameter { function: self.name.to_owned(), message }
    }

    fn wrong_arguments(&self) -> Error {
        Error::Arguments { function: self.name.to_owned(), takes: self.takes, given: self.args.len() }
    }
}

pub(crate) struct Binder<'a> {
    schema: &'a Schema,
    nodes: Vec<Node>,
    known: HashMap<(Key, DataType, Vec<usize>), usize, foldhash::fast::RandomState>,
    inputs: Vec<usize>,
    context_inputs: Vec<ContextInput>,
    clocked: bool,
    of_clock: bool,
    /// Whether a function keeps state.
    ordered: bool,
    /// Whether a function does not say if it keeps state.
    unsaid: bool,
    /// Whether a function does its work row by row.
    by_row: bool,
    /// Random numbers so far: each call draws its own.
    draws: u64,
}

impl Binder<'_> {
    fn expr(&mut self, expr: &Expr) -> Result<Term, Error> {
        if self.clocked && !self.of_clock && is_of_clock(expr) {
            return self.clock_alone(expr.unaliased());
        }
        match expr {
            Expr::Column(name) => self.column(name).map(Term::Node),
            Expr::Literal(literal) => self.literal(literal),
            Expr::Alias(input, _) => self.expr(input),
            Expr::Host { function, args } => self.host(function, args, &|| expr.to_python().into()),
            Expr::Call { function, args } => self.call(*function, args, expr),
            Expr::Cast { input, to, strict } => self.cast_expr(input, to, *strict, expr).map(Term::Node),
            Expr::When { branches, otherwise } => self.when(branches, otherwise.as_deref()),
            Expr::Aggregate { kind, .. } => Err(Error::UnexpectedAggregate { name: kind.name() }),
            Expr::Eval { input, body, keep } => {
                self.list_eval(input, body, keep.as_deref(), &expr.to_python()).map(Term::Node)
            }
            Expr::Over { .. } | Expr::InSet { .. } => Err(Error::Unsupported {
                what: expr.to_python(),
                advice: "make a column of it with with_columns first",
            }),
        }
    }

    fn column(&mut self, name: &str) -> Result<usize, Error> {
        let found = self.schema.fields().iter().position(|field| field.name() == name);
        let names = || self.schema.fields().iter().map(|field| field.name().as_str());
        let index = found.ok_or_else(|| Error::UnknownColumn(NoColumn::new(name, names())))?;
        let known = self.inputs.iter().position(|input| *input == index);
        let ordinal = known.unwrap_or_else(|| {
            self.inputs.push(index);
            self.inputs.len() - 1
        });
        let data_type = canonical(self.schema.field(index).data_type());
        let node = self.keyed(Key::Column(index), Op::Input(ordinal), vec![], data_type.clone(), "")?;
        // Codes are a matter of storage: expressions see the values.
        let values = match data_type {
            DataType::Dictionary(_, values) => canonical(&values),
            DataType::RunEndEncoded(_, values) => canonical(values.data_type()),
            _ => return Ok(node),
        };
        self.whole("decode", to_type(values.clone(), true), vec![node], values, "")
    }

    fn call(&mut self, function: Function, args: &[Expr], whole: &Expr) -> Result<Term, Error> {
        let declared = function.declared();
        let name = declared.written.text();
        if declared.compares {
            args.iter().try_for_each(|arg| refuse_own_order(name, arg, self.schema))?;
        }
        let (least, most, takes) = declared.takes;
        let call = Call { function, name, takes, args, whole, text: OnceCell::new() };
        if args.len() < least || args.len() > most {
            return Err(call.wrong_arguments());
        }
        (declared.bind)(self, &call)
    }

    /// A name of a formula that was read without a table: a column if there is one, else a value.
    pub(crate) fn variable(&mut self, c: &Call<'_>) -> Result<Term, Error> {
        match c.args {
            [Expr::Column(name), value] => {
                if self.schema.fields().iter().any(|field| field.name() == &**name) {
                    return self.column(name).map(Term::Node);
                }
                match self.expr(value)? {
                    list @ Term::Literal(Literal::List(_) | Literal::Values(_) | Literal::Null) => Ok(list),
                    term => self.settled(term).map(Term::Node),
                }
            }
            _ => Err(c.wrong_arguments()),
        }
    }

    fn terms(&mut self, args: &[Expr]) -> Result<Vec<Term>, Error> {
        args.iter().map(|arg| self.expr(arg)).collect()
    }

    /// The terms of a call that takes exactly so many arguments.
    fn terms_of<const N: usize>(&mut self, c: &Call<'_>) -> Result<[Term; N], Error> {
        self.terms(c.args)?.try_into().map_err(|_| c.wrong_arguments())
    }

    /// The node of a term, a literal having the type it has by itself.
    fn settled(&mut self, term: Term) -> Result<usize, Error> {
        match term {
            Term::Node(node) => Ok(node),
            Term::Literal(literal) => self.constant_of(&literal, &literal::own_type(&literal)),
        }
    }

    /// Nodes of one common type: literals take the others' type where their value fits.
    fn meet(&mut self, terms: &[Term]) -> Result<(Vec<usize>, DataType), Error> {
        let met = self.common_type(terms)?;
        let nodes = terms.iter().map(|term| self.as_type(term, &met)).collect::<Result<_, _>>()?;
        Ok((nodes, met))
    }

    fn common_type(&self, terms: &[Term]) -> Result<DataType, Error> {
        let mut met = DataType::Null;
        for term in terms {
            if let Term::Node(node) = term {
                met = promote(&met, self.type_of(*node))?;
            }
        }
        for term in terms {
            if let Term::Literal(literal) = term
                && !literal::fits(literal, &met)
            {
                met = promote(&met, &literal::own_type(literal))?;
            }
        }
        Ok(met)
    }

    fn as_type(&mut self, term: &Term, data_type: &DataType) -> Result<usize, Error> {
        match term {
            Term::Node(node) => self.promoted(*node, data_type),
            Term::Literal(literal) if literal::fits(literal, data_type) => self.constant_of(literal, data_type),
            Term::Literal(literal) => {
                let node = self.constant_of(literal, &literal::own_type(literal))?;
                self.promoted(node, data_type)
            }
        }
    }

    /// The node's values as a type that promotion gave, which holds them all.
    fn promoted(&mut self, node: usize, to: &DataType) -> Result<usize, Error> {
        let from = self.type_of(node).clone();
        if from == *to {
            return Ok(node);
        }
        if from == DataType::Null {
            return self.constant(new_null_array(to, 1), &format!("null {to}"));
        }
        match (Kind::of(&from), Kind::of(to)) {
            (Some(from), Some(kind)) if from == kind => self.lane(LaneOp::Same(kind), vec![node], to.clone()),
            (Some(from), Some(kind)) => {
                self.lane(LaneOp::Convert { from, to: kind, check: Check::Never }, vec![node], to.clone())
            }
            _ => self.whole(&format!("as {to}"), to_type(to.clone(), true), vec![node], to.clone(), ""),
        }
    }

    fn type_of(&self, node: usize) -> &DataType {
        &self.nodes[node].data_type
    }
}

/// The error of a function that does not take these types.
fn type_error(function: &str, types: &[&DataType], advice: impl Into<String>) -> Error {
    Error::Type {
        function: function.to_owned(),
        types: types.iter().map(|data_type| type_name(data_type)).collect(),
        advice: advice.into(),
    }
}
