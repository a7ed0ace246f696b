//! The bound form of an expression: a list of typed nodes in which equal parts are one node.

use std::fmt;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Datum, Scalar};
use arrow_schema::{ArrowError, DataType};

use crate::eval::lanes::LaneOp;
use crate::tree::payload::Payload;

/// One step of the computation. Arguments come before it in the list.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) op: Op,
    pub(crate) args: Vec<usize>,
    pub(crate) data_type: DataType,
    /// The part of the expression it came from, where it can fail.
    pub(crate) text: Arc<str>,
}

#[derive(Clone)]
pub(crate) enum Op {
    /// The input of this ordinal.
    Input(usize),
    /// One value for every row.
    Constant(ArrayRef),
    /// Part of a program over lanes.
    Lane(LaneOp),
    /// A kernel over whole chunks.
    Whole(Whole),
    /// A function of the host over whole chunks; it is called for constants too, chunk by chunk.
    Host(Whole),
}

/// A kernel over whole chunks: arguments and the number of rows in, one array of that many rows out
/// (or of one row, when every argument is constant and `rows` is 1).
pub(crate) type Whole = Arc<dyn Fn(&[Argument], usize) -> Result<ArrayRef, Failure> + Send + Sync>;

impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::Input(ordinal) => write!(f, "Input({ordinal})"),
            Op::Constant(value) => write!(f, "Constant({value:?})"),
            Op::Lane(op) => op.fmt(f),
            Op::Whole(_) => write!(f, "Whole"),
            Op::Host(_) => write!(f, "Host"),
        }
    }
}

/// A row without a value, and why.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) row: usize,
    pub(crate) message: String,
    /// What a function of the host wants back.
    pub(crate) payload: Option<Payload>,
}

/// A kernel of Arrow that failed, for no row in particular.
pub(crate) fn failure(error: ArrowError) -> Failure {
    Failure { row: 0, message: error.to_string(), payload: None }
}

/// What a test of Arrow gives, as a kernel gives it.
pub(crate) fn array(result: Result<BooleanArray, ArrowError>) -> Result<ArrayRef, Failure> {
    result.map(|array| Arc::new(array) as ArrayRef).map_err(failure)
}

/// What a kernel over whole chunks reads.
#[derive(Clone, Debug)]
pub(crate) enum Argument {
    /// A value for each row.
    Many(ArrayRef),
    /// One value (an array of one row) that stands in every row.
    One(ArrayRef),
}

impl Argument {
    pub(crate) fn array(&self) -> &ArrayRef {
        match self {
            Argument::Many(array) | Argument::One(array) => array,
        }
    }

    /// As arrow's kernels take it.
    pub(crate) fn datum(&self) -> Box<dyn Datum> {
        match self {
            Argument::Many(array) => Box::new(Arc::clone(array)),
            Argument::One(array) => Box::new(Scalar::new(Arc::clone(array))),
        }
    }

    /// As one value for each of `rows` rows.
    pub(crate) fn expanded(&self, rows: usize) -> ArrayRef {
        match self {
            Argument::Many(array) => Arc::clone(array),
            Argument::One(array) => repeat(array, rows),
        }
    }
}

/// An array in which the one value of `array` stands `rows` times.
pub(crate) fn repeat(array: &ArrayRef, rows: usize) -> ArrayRef {
    if rows == 1 {
        return Arc::clone(array);
    }
    let zeros = arrow_array::UInt32Array::from(vec![0; rows]);
    arrow_select::take::take(array, &zeros, None).expect("index 0 is inside an array of one row")
}
