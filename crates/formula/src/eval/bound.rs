//! A bound expression: names resolved, types checked, constants folded, ready to run on chunks.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray, types};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_schema::{DataType, TimeUnit};

use crate::error::RowError;
use crate::eval::beside::ContextInput;
use crate::eval::lanes::{Lane, Leaf, Output, Program, Values, words_of};
use crate::eval::node::{Argument, Node, Op, repeat};
use crate::eval::plan::{Plan, Step};
use crate::tree::payload::Payload;

/// An expression bound to a schema.
#[derive(Clone, Debug)]
pub struct Bound {
    pub(crate) name: String,
    pub(crate) nodes: Arc<[Node]>,
    pub(crate) inputs: Vec<usize>,
    pub(crate) context_inputs: Arc<[ContextInput]>,
    pub(crate) plan: Plan,
    pub(crate) ordered: bool,
    pub(crate) unsaid: bool,
    pub(crate) by_row: bool,
    /// Whether it is the date of the clock, which grows once a day.
    pub(crate) daily: bool,
}

/// A part of the expression, by node, that has no value in one row.
#[derive(Debug)]
pub(crate) struct NodeFailure {
    pub(crate) node: usize,
    pub(crate) row: usize,
    pub(crate) message: String,
    pub(crate) payload: Option<Payload>,
}

impl Bound {
    /// The type of the result.
    pub fn data_type(&self) -> &DataType {
        &self.nodes[self.plan.root].data_type
    }

    /// The name of the result.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The columns of the schema that are read, in the order in which `evaluate` takes them.
    pub fn inputs(&self) -> &[usize] {
        &self.inputs
    }

    /// Whether a function in it keeps state, so that its chunks must be evaluated one after the other.
    pub fn is_ordered(&self) -> bool {
        self.ordered
    }

    /// Whether it is one pass over its columns, without chunks in between: rows enough for large pages
    /// may then be evaluated at once.
    pub fn is_one_pass(&self) -> bool {
        match self.plan.steps.as_slice() {
            [Step::Fused { .. }] => true,
            [Step::Whole { node, .. }] => matches!(self.nodes[*node].op, Op::Whole(_)),
            _ => false,
        }
    }

    /// Whether a function in it leaves open if it keeps state: the operation's own setting decides.
    pub fn leaves_order_open(&self) -> bool {
        self.unsaid
    }

    /// Whether a function in it does its work row by row.
    pub fn is_by_row(&self) -> bool {
        self.by_row
    }

    /// Whether a function of the host stands in it.
    pub fn calls_host(&self) -> bool {
        self.nodes.iter().any(|node| matches!(node.op, Op::Host(_)))
            || self.context_inputs.iter().any(|beside| match beside {
                ContextInput::Neighbour { of: part, .. } | ContextInput::Element { index: part, .. } => {
                    part.calls_host()
                }
                ContextInput::Part { from, length, .. } => from.calls_host() || length.calls_host(),
                _ => false,
            })
    }

    /// The one value (an array of one row) that stands in every row, if the expression is constant.
    pub fn constant(&self) -> Option<&ArrayRef> {
        match &self.nodes[self.plan.root].op {
            Op::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// Evaluates `rows` rows of the columns named by [`Bound::inputs`], one array for each, then one for each of
    /// [`Bound::context_inputs`].
    pub fn evaluate(&self, inputs: &[ArrayRef], rows: usize) -> Result<ArrayRef, RowError> {
        self.run(inputs, rows).map(|value| value.expanded(rows))
    }

    /// Evaluates a Boolean expression as a filter sees it: the rows that are true, null being not true.
    pub fn evaluate_mask(&self, inputs: &[ArrayRef], rows: usize) -> Result<BooleanBuffer, RowError> {
        if *self.data_type() == DataType::Null {
            // `lit(None)` is true in no row; what it reads may fail all the same.
            return self.evaluate(inputs, rows).map(|_| BooleanBuffer::new_unset(rows));
        }
        debug_assert_eq!(*self.data_type(), DataType::Boolean);
        let Some((Step::Fused { program, leaves, .. }, before)) = self.plan.steps.split_last() else {
            let value = self.evaluate(inputs, rows)?;
            return Ok(mask_of(value.as_ref()));
        };
        let failed = |failure| self.row_error(failure, inputs);
        let values = execute(&self.nodes, before, inputs, rows).map_err(failed)?;
        let output = run_program(program, leaves, &self.nodes, &values, inputs, rows).map_err(failed)?;
        Ok(output.into_mask(rows))
    }

    fn run(&self, inputs: &[ArrayRef], rows: usize) -> Result<Argument, RowError> {
        debug_assert_eq!(inputs.len(), self.inputs.len() + self.context_inputs.len());
        debug_assert!(inputs.iter().all(|input| input.len() == rows));
        evaluate(&self.nodes, &self.plan, inputs, rows).map_err(|failure| self.row_error(failure, inputs))
    }

    /// Finds the value that failed by evaluating what the failing part reads, on its row alone.
    fn row_error(&self, failure: NodeFailure, inputs: &[ArrayRef]) -> RowError {
        let NodeFailure { node, row, message, payload } = failure;
        if payload.is_some() {
            // The host has said what it was given.
            return RowError {
                row,
                value: String::new(),
                message,
                expression: self.nodes[node].text.to_string(),
                payload,
            };
        }
        let one_row: Vec<ArrayRef> = inputs.iter().map(|input| input.slice(row, 1)).collect();
        let values: Vec<String> = self.nodes[node]
            .args
            .iter()
            .filter_map(|arg| evaluate(&self.nodes, &Plan::new(&self.nodes, *arg), &one_row, 1).ok())
            .map(|value| text_of(value.array()))
            .collect();
        RowError {
            row,
            value: values.join(", "),
            message,
            expression: self.nodes[node].text.to_string(),
            payload: None,
        }
    }
}

fn mask_of(value: &dyn Array) -> BooleanBuffer {
    let value = value.as_any().downcast_ref::<BooleanArray>().expect("the type was checked to be Boolean");
    match value.nulls() {
        Some(nulls) => value.values() & nulls.inner(),
        None => value.values().clone(),
    }
}

/// The first value of an array as a person reads it.
pub(crate) fn text_of(array: &ArrayRef) -> String {
    if array.is_null(0) {
        return "null".to_owned();
    }
    let text = arrow_cast::display::array_value_to_string(array, 0).unwrap_or_else(|error| error.to_string());
    if matches!(array.data_type(), DataType::Utf8View) { format!("{text:?}") } else { text }
}

/// Evaluates a plan whole.
pub(crate) fn evaluate(nodes: &[Node], plan: &Plan, inputs: &[ArrayRef], rows: usize) -> Result<Argument, NodeFailure> {
    let values = execute(nodes, &plan.steps, inputs, rows)?;
    Ok(argument(nodes, &values, inputs, plan.root))
}

/// The results of steps so far, by node, ascending.
type Computed = Vec<(usize, ArrayRef)>;

fn execute(nodes: &[Node], steps: &[Step], inputs: &[ArrayRef], rows: usize) -> Result<Computed, NodeFailure> {
    let mut values = Computed::with_capacity(steps.len());
    for step in steps {
        let (node, value) = match step {
            Step::Whole { node, kernel } => {
                let args: Vec<Argument> =
                    nodes[*node].args.iter().map(|arg| argument(nodes, &values, inputs, *arg)).collect();
                let value = kernel(&args, rows);
                (
                    *node,
                    value.map_err(|failure| NodeFailure {
                        node: *node,
                        row: failure.row,
                        message: failure.message,
                        payload: failure.payload,
                    })?,
                )
            }
            Step::Fused { node, program, leaves } => {
                let mut output = run_program(program, leaves, nodes, &values, inputs, rows)?;
                let nulls = output.nulls(rows);
                (*node, array_of(&nodes[*node].data_type, output.lane, nulls, rows))
            }
        };
        values.push((node, value));
    }
    Ok(values)
}

fn argument(nodes: &[Node], values: &Computed, inputs: &[ArrayRef], node: usize) -> Argument {
    match &nodes[node].op {
        Op::Input(ordinal) => Argument::Many(Arc::clone(&inputs[*ordinal])),
        Op::Constant(value) => Argument::One(Arc::clone(value)),
        Op::Lane(_) | Op::Whole(_) | Op::Host(_) => {
            let found = values.binary_search_by_key(&node, |(computed, _)| *computed);
            Argument::Many(Arc::clone(&values[found.expect("steps come after the steps they read")].1))
        }
    }
}

fn run_program(
    program: &Program,
    leaves: &[usize],
    nodes: &[Node],
    values: &Computed,
    inputs: &[ArrayRef],
    rows: usize,
) -> Result<Output, NodeFailure> {
    let leaves: Vec<Leaf> = leaves
        .iter()
        .map(|leaf| {
            let array = argument(nodes, values, inputs, *leaf).expanded(rows);
            let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
            Leaf { values: Values::of(&array), valid: nulls.map(|nulls| words_of(nulls.inner())) }
        })
        .collect();
    program.run(&leaves, rows).map_err(|failed| NodeFailure {
        node: failed.node,
        row: failed.row,
        message: crate::eval::plan::message(&nodes[failed.node]),
        payload: None,
    })
}

fn array_of(data_type: &DataType, lane: Lane, nulls: Option<NullBuffer>, rows: usize) -> ArrayRef {
    macro_rules! primitive {
        ($arrow:ident, $values:expr) => {
            Arc::new(PrimitiveArray::<types::$arrow>::new($values.into(), nulls).with_data_type(data_type.clone()))
        };
    }
    match lane {
        Lane::I8(values) => primitive!(Int8Type, values),
        Lane::I16(values) => primitive!(Int16Type, values),
        Lane::I32(values) if *data_type == DataType::Date32 => primitive!(Date32Type, values),
        Lane::I32(values) => primitive!(Int32Type, values),
        Lane::I64(values) => match data_type {
            DataType::Timestamp(TimeUnit::Nanosecond, _) => primitive!(TimestampNanosecondType, values),
            DataType::Duration(_) => primitive!(DurationNanosecondType, values),
            DataType::Time64(_) => primitive!(Time64NanosecondType, values),
            _ => primitive!(Int64Type, values),
        },
        Lane::U8(values) => primitive!(UInt8Type, values),
        Lane::U16(values) => primitive!(UInt16Type, values),
        Lane::U32(values) => primitive!(UInt32Type, values),
        Lane::U64(values) => primitive!(UInt64Type, values),
        Lane::F32(values) => primitive!(Float32Type, values),
        Lane::F64(values) => primitive!(Float64Type, values),
        Lane::Bits(words) => Arc::new(BooleanArray::new(BooleanBuffer::new(Buffer::from_vec(words), 0, rows), nulls)),
        Lane::Opaque => repeat(&arrow_array::new_null_array(data_type, 1), rows),
    }
}
