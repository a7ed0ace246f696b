//! The nodes of a bound expression: equal ones are one, and those of constants alone become their value.

use std::sync::Arc;

use arrow_array::{ArrayRef, new_null_array};
use arrow_schema::DataType;

use super::{Binder, Term, literal};
use crate::error::Error;
use crate::eval::bound::{NodeFailure, evaluate};
use crate::eval::lanes::LaneOp;
use crate::eval::node::{Node, Op, Whole};
use crate::eval::plan::Plan;
use crate::tree::literal::Literal;
use crate::tree::types::type_name;

/// The text of a part that may fail; nothing where none can.
pub(super) trait Said {
    fn said(self) -> Arc<str>;
}

impl Said for &Arc<str> {
    fn said(self) -> Arc<str> {
        Arc::clone(self)
    }
}

impl Said for &str {
    fn said(self) -> Arc<str> {
        if self.is_empty() { Arc::default() } else { self.into() }
    }
}

impl Said for &String {
    fn said(self) -> Arc<str> {
        self.as_str().said()
    }
}

/// What tells nodes of the same type and arguments apart.
#[derive(PartialEq, Eq, Hash)]
pub(super) enum Key {
    Column(usize),
    Lane(LaneOp),
    Other(String),
}

impl Binder<'_> {
    pub(super) fn lane(&mut self, op: LaneOp, args: Vec<usize>, data_type: DataType) -> Result<usize, Error> {
        self.fallible_lane(op, args, data_type, "")
    }

    pub(super) fn fallible_lane(
        &mut self,
        op: LaneOp,
        args: Vec<usize>,
        data_type: DataType,
        text: impl Said,
    ) -> Result<usize, Error> {
        self.keyed(Key::Lane(op), Op::Lane(op), args, data_type, text)
    }

    pub(super) fn whole(
        &mut self,
        key: &str,
        kernel: Whole,
        args: Vec<usize>,
        data_type: DataType,
        text: impl Said,
    ) -> Result<usize, Error> {
        self.node(key, Op::Whole(kernel), args, data_type, text)
    }

    pub(super) fn constant(&mut self, value: ArrayRef, key: &str) -> Result<usize, Error> {
        let data_type = value.data_type().clone();
        self.node(&format!("constant {key}"), Op::Constant(value), vec![], data_type, "")
    }

    pub(super) fn constant_of(&mut self, literal: &Literal, data_type: &DataType) -> Result<usize, Error> {
        let value = literal::array_of(literal, data_type)?;
        self.constant(value, &format!("{literal:?} {data_type}"))
    }

    /// The value of a term that must be known now: a pattern, a format, a number of places.
    pub(super) fn known(&self, function: &str, term: &Term, what: &str) -> Result<ArrayRef, Error> {
        let value = match term {
            Term::Literal(literal) => Some(literal::array_of(literal, &literal::own_type(literal))?),
            Term::Node(node) => match &self.nodes[*node].op {
                Op::Constant(value) => Some(Arc::clone(value)),
                _ => None,
            },
        };
        value.ok_or_else(|| Error::Parameter {
            function: function.to_owned(),
            message: format!("{what} must be a literal, not a column"),
        })
    }

    pub(super) fn known_text(&self, function: &str, term: &Term, what: &str) -> Result<String, Error> {
        let value = self.known(function, term, what)?;
        literal::text(&value).ok_or_else(|| Error::Parameter {
            function: function.to_owned(),
            message: format!("{what} must be a string, not {}", type_name(value.data_type())),
        })
    }

    pub(super) fn known_integer(&self, function: &str, term: &Term, what: &str) -> Result<i64, Error> {
        let value = self.known(function, term, what)?;
        literal::integer(&value).ok_or_else(|| Error::Parameter {
            function: function.to_owned(),
            message: format!("{what} must be an integer, not {}", type_name(value.data_type())),
        })
    }

    /// Adds a node, or finds the equal one; a node of constants alone becomes their value.
    pub(super) fn node(
        &mut self,
        key: &str,
        op: Op,
        args: Vec<usize>,
        data_type: DataType,
        text: impl Said,
    ) -> Result<usize, Error> {
        self.keyed(Key::Other(key.to_owned()), op, args, data_type, text)
    }

    pub(super) fn keyed(
        &mut self,
        key: Key,
        op: Op,
        args: Vec<usize>,
        data_type: DataType,
        text: impl Said,
    ) -> Result<usize, Error> {
        let key = (key, data_type, args);
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let (data_type, args) = (key.1.clone(), key.2.clone());
        let text = text.said();
        let foldable = !args.is_empty()
            && !matches!(op, Op::Host(_))
            && args.iter().all(|arg| matches!(self.nodes[*arg].op, Op::Constant(_)));
        self.nodes.push(Node { op, args, data_type, text });
        let mut index = self.nodes.len() - 1;
        if foldable {
            let value = self.folded(index)?;
            let node = self.nodes.pop().expect("it was pushed above");
            let same_type =
                if value.data_type() == &node.data_type { value } else { new_null_array(&node.data_type, 1) };
            self.nodes.push(Node { op: Op::Constant(same_type), args: vec![], ..node });
            index = self.nodes.len() - 1;
        }
        self.known.insert(key, index);
        Ok(index)
    }

    fn folded(&self, node: usize) -> Result<ArrayRef, Error> {
        // Only the node and its arguments: looking through all nodes at each constant would take quadratic time.
        let mut nodes: Vec<Node> = self.nodes[node].args.iter().map(|arg| self.nodes[*arg].clone()).collect();
        let args = (0..nodes.len()).collect();
        nodes.push(Node { args, ..self.nodes[node].clone() });
        let value = evaluate(&nodes, &Plan::new(&nodes, nodes.len() - 1), &[], 1);
        let value = value.map_err(|NodeFailure { message, payload, .. }| {
            if payload.is_some_and(|payload| payload.0.is::<limits::Exhausted>()) {
                return Error::Exhausted { expression: self.nodes[node].text.to_string(), message };
            }
            let given: Vec<String> = self.nodes[node]
                .args
                .iter()
                .filter_map(|arg| match &self.nodes[*arg].op {
                    Op::Constant(value) => Some(crate::eval::bound::text_of(value)),
                    _ => None,
                })
                .collect();
            Error::Constant {
                expression: self.nodes[node].text.to_string(),
                message: format!("{message} (value {})", given.join(", ")),
            }
        })?;
        Ok(value.expanded(1))
    }
}
