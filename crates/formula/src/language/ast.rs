//! A formula as it was written: what the parser makes, before names are looked up.

use std::sync::Arc;

use arrow_schema::DataType;

use crate::language::lex::{Mistake, Span};
use crate::tree::function::Function;
use crate::tree::literal::Literal;

/// A part of a formula.
#[derive(Clone, Debug)]
pub(crate) struct Ast {
    pub(crate) kind: Kind,
    pub(crate) span: Span,
    /// How deeply it nests, itself included.
    pub(crate) depth: u32,
    /// How many parts it has, itself included.
    pub(crate) size: usize,
}

/// What a part is.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// A column, a constant, or a variable of the caller.
    Name(Arc<str>),
    /// A literal, and the type it insists on.
    Literal(Literal, Option<DataType>),
    /// Calendar time, as `offset_by` reads it.
    Period(String),
    /// An operator with one operand, or several of one left-associative operator.
    Operator(Function, Vec<Ast>),
    /// `and`, `or`, `not`, `&&`, `||`, `!`: of conditions only.
    Logic(Function, Vec<Ast>),
    /// `c ? a : b`.
    Choice(Box<[Ast; 3]>),
    /// `(type) x`.
    Cast(DataType, Box<Ast>),
    /// `x in a, b` and its kin.
    Match(Box<Ast>, Match, Vec<Ast>),
    /// `f(a, b)`; for `x.f(a)` with `x` as the first argument.
    Call { name: Arc<str>, at: Span, method: bool, args: Vec<Ast>, named: Vec<(Arc<str>, Ast)> },
    /// `x.name` without brackets.
    Field(Box<Ast>, Arc<str>, Span),
    /// `x[i]`.
    Index(Box<Ast>, Box<Ast>),
}

/// How a value is matched with a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Match {
    pub(crate) how: Matched,
    pub(crate) ignore_case: bool,
    pub(crate) not: bool,
}

/// What it takes to match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Matched {
    /// Equal to one of them.
    In,
    /// One of them is part of it.
    IncludesAny,
    /// All of them are part of it.
    IncludesAll,
}

/// How deeply a formula may nest.
pub(crate) const MAX_DEPTH: u32 = crate::tree::expr::MAX_DEPTH as u32;

impl Ast {
    /// The part, unless it nests too deeply.
    pub(crate) fn new(kind: Kind, span: Span) -> Result<Ast, Mistake> {
        let mut ast = Ast { kind, span, depth: 0, size: 0 };
        ast.depth = 1 + ast.children().map(|child| child.depth).max().unwrap_or(0);
        ast.size = 1 + ast.children().map(|child| child.size).sum::<usize>();
        if ast.depth > MAX_DEPTH { Err(too_deep(span)) } else { Ok(ast) }
    }

    pub(crate) fn children(&self) -> Box<dyn Iterator<Item = &Ast> + '_> {
        match &self.kind {
            Kind::Name(_) | Kind::Literal(_, _) | Kind::Period(_) => Box::new(std::iter::empty()),
            Kind::Operator(_, args) | Kind::Logic(_, args) => Box::new(args.iter()),
            Kind::Choice(parts) => Box::new(parts.iter()),
            Kind::Cast(_, input) | Kind::Field(input, _, _) => Box::new(std::iter::once(&**input)),
            Kind::Match(subject, _, items) => Box::new(std::iter::once(&**subject).chain(items)),
            Kind::Call { args, named, .. } => Box::new(args.iter().chain(named.iter().map(|(_, value)| value))),
            Kind::Index(subject, index) => Box::new([&**subject, &**index].into_iter()),
        }
    }

    /// One more operand of the same operator, if the chain is of that operator.
    pub(crate) fn extended(mut self, function: Function, logic: bool, operand: Ast) -> Result<Ast, Mistake> {
        let span = self.span.to(operand.span);
        let was_logic = matches!(self.kind, Kind::Logic(..));
        match &mut self.kind {
            Kind::Operator(same, args) | Kind::Logic(same, args)
                if *same == function && was_logic == logic && args.len() > 1 && function.is_left_associative() =>
            {
                self.depth = self.depth.max(1 + operand.depth);
                self.span = span;
                self.size += operand.size;
                args.push(operand);
                if self.depth > MAX_DEPTH { Err(too_deep(span)) } else { Ok(self) }
            }
            _ if logic => Ast::new(Kind::Logic(function, vec![self, operand]), span),
            _ => Ast::new(Kind::Operator(function, vec![self, operand]), span),
        }
    }
}

pub(crate) fn too_deep(span: Span) -> Mistake {
    Mistake::new(
        span,
        format!("the formula is nested more than {MAX_DEPTH} deep: name parts of it in columns of their own"),
    )
}
