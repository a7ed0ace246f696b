//! Which arithmetic a column has: by what is asked for, and by the types of its input and its result.

use arrow_schema::DataType;
use formula::Aggregate;

use super::Column;
use super::cumulative::{Counts, DecimalSums, FloatProducts, FloatSums, Kept, LastCell, Whole, WholeMeans, WholeOf};
use super::decay::{ByTicks, ByTime, Fading};
use super::fill::{Limited, Since};
use super::kernel::Kernel;
use super::track::{Track, Tracked};
use super::weighted::Weighted;
use crate::error::Error;
use crate::ops::agg::accumulators::End;
use crate::ops::agg::extreme::{Decimals, Floats, Integers, Texts, WideDecimals};
use crate::plan::update_by::{Clock, Cumulative, RunningKind};

/// The type of a column, or why there is none. `name`: of its input, as messages show it.
pub(super) fn output(operation: &str, kind: &RunningKind, name: &str, input: &DataType) -> Result<DataType, Error> {
    let call = kind.name();
    let refused = |advice: &str| {
        let holds = formula::type_name(input);
        Err(Error::types(operation, format!("{call} of the column {name:?}, which holds {holds}: {advice}")))
    };
    let aggregate = |of: Aggregate| match of.output_type(input) {
        Ok(output) => Ok(output),
        Err(formula::Error::Type { advice, .. }) => refused(&advice),
        Err(other) => Err(other.into()),
    };
    match kind {
        RunningKind::Cumulative { of, .. } => match of {
            Cumulative::Sum if matches!(input, DataType::Decimal256(..)) => {
                refused("cast it to Decimal(38, scale) first")
            }
            Cumulative::Sum => aggregate(Aggregate::Sum { min_count: 1 }),
            Cumulative::Product => aggregate(Aggregate::Product),
            Cumulative::Min => aggregate(Aggregate::Min),
            Cumulative::Max => aggregate(Aggregate::Max),
            Cumulative::Mean if !is_plain_number(input) => refused("a mean is of numbers; cast it to Float64 first"),
            Cumulative::Mean => Ok(DataType::Float64),
            Cumulative::CountTrue if *input != DataType::Boolean => refused("a condition is Boolean"),
            Cumulative::Count | Cumulative::CountTrue => Ok(DataType::Int64),
        },
        RunningKind::ForwardFill | RunningKind::Fill { .. } => Ok(input.clone()),
        RunningKind::Since => Ok(DataType::Int64),
        RunningKind::Ewm(ewm) => {
            if !(ewm.alpha > 0.0 && ewm.alpha <= 1.0) {
                let message =
                    format!("{call} of the column {name:?}: alpha must be above 0 and at most 1, not {}", ewm.alpha);
                return Err(Error::invalid(operation, message));
            }
            if !is_number(input) {
                return refused("what fades is a number; cast it to Float64 first");
            }
            Ok(DataType::Float64)
        }
        RunningKind::Decay { clock, .. } => {
            let span = match clock {
                Clock::Ticks(ticks) => *ticks,
                Clock::Time { nanos, .. } => *nanos,
            };
            if span.is_nan() || span <= 0.0 {
                let message =
                    format!("{call} of the column {name:?}: what it fades by must be greater than 0, not {span}");
                return Err(Error::invalid(operation, message));
            }
            if !is_number(input) {
                return refused("what fades is a number; cast it to Float64 first");
            }
            Ok(DataType::Float64)
        }
    }
}

fn is_number(input: &DataType) -> bool {
    is_plain_number(input) || matches!(input, DataType::Decimal128(..) | DataType::Decimal256(..))
}

fn is_plain_number(input: &DataType) -> bool {
    input.is_integer() || input.is_floating() || matches!(input, DataType::Boolean | DataType::Null)
}

/// The column of stamps of a kind, if it has one, and whether its time was given as a number.
pub(super) fn stamp(kind: &RunningKind) -> Option<(&str, bool)> {
    match kind {
        RunningKind::Decay { clock: Clock::Time { stamp, counted, .. }, .. } => Some((stamp, *counted)),
        _ => None,
    }
}

/// Refuses stamps that are neither instants nor whole numbers, and these beside a time that is no number.
pub(super) fn check_stamp(operation: &str, name: &str, found: &DataType, counted: bool) -> Result<(), Error> {
    let is_whole = found.is_integer() && *found != DataType::UInt64;
    if matches!(found, DataType::Timestamp(..) | DataType::Date32) || is_whole && counted {
        return Ok(());
    }
    let holds = formula::type_name(found);
    if is_whole {
        let message = format!(
            "the column {name:?} holds {holds}, and stamps of whole numbers know no seconds: give the time as a number of \
             theirs"
        );
        return Err(Error::types(operation, message));
    }
    let message =
        format!("the column {name:?} holds {holds}, and time runs by instants, dates or whole numbers; cast it first");
    Err(Error::types(operation, message))
}

/// How many nanoseconds one of a stamp's own units has.
fn unit(stamp: &DataType) -> f64 {
    use arrow_schema::TimeUnit;
    match stamp {
        DataType::Date32 => 86_400e9,
        DataType::Timestamp(TimeUnit::Second, _) => 1e9,
        kind if kind.is_integer() => 1e9,
        DataType::Timestamp(TimeUnit::Millisecond, _) => 1e6,
        DataType::Timestamp(TimeUnit::Microsecond, _) => 1e3,
        _ => 1.0,
    }
}

/// The column, without rows.
pub(super) fn track(column: &Column) -> Box<dyn Track> {
    let Column { kind, input, output, .. } = column;
    let output = output.clone();
    let is_float = matches!(output, DataType::Float16 | DataType::Float32 | DataType::Float64);
    match kind {
        RunningKind::Cumulative { of, null_at_null } => {
            let null_at_null = *null_at_null;
            match of {
                Cumulative::Sum if is_float => of_kernel(FloatSums { mean: false, null_at_null, output }, column),
                Cumulative::Sum if matches!(output, DataType::Decimal128(..)) => {
                    of_kernel(DecimalSums { null_at_null, output }, column)
                }
                Cumulative::Sum => of_kernel(Whole { of: WholeOf::Sum, null_at_null, output }, column),
                Cumulative::Product if is_float => of_kernel(FloatProducts { null_at_null, output }, column),
                Cumulative::Product => of_kernel(Whole { of: WholeOf::Product, null_at_null, output }, column),
                Cumulative::Min => kept(Some(End::Least), null_at_null, None, column),
                Cumulative::Max => kept(Some(End::Greatest), null_at_null, None, column),
                Cumulative::Mean if input.is_floating() => {
                    of_kernel(FloatSums { mean: true, null_at_null, output }, column)
                }
                Cumulative::Mean => {
                    of_kernel(WholeMeans { unsigned: *input == DataType::UInt64, null_at_null }, column)
                }
                Cumulative::Count | Cumulative::CountTrue => {
                    of_kernel(Counts { only_true: *of == Cumulative::CountTrue, null_at_null }, column)
                }
            }
        }
        RunningKind::ForwardFill => kept(None, false, None, column),
        RunningKind::Fill { limit } => kept(None, false, Some(*limit), column),
        RunningKind::Since => of_kernel(Since, column),
        RunningKind::Ewm(ewm) => of_kernel(Weighted(*ewm), column),
        RunningKind::Decay { of, clock, control } => {
            let fading = Fading { of: *of, control: *control };
            match clock {
                Clock::Ticks(ticks) => of_kernel(ByTicks { fading, left: (-1.0 / ticks).exp() }, column),
                Clock::Time { nanos, .. } => {
                    let unit = column.source.columns.get(1).map_or(1.0, |(_, stamp)| unit(stamp));
                    of_kernel(ByTime { fading, nanos: nanos / unit }, column)
                }
            }
        }
    }
}

fn of_kernel<K: Kernel>(kernel: K, column: &Column) -> Box<dyn Track> {
    Tracked::boxed(kernel, column.source.clone())
}

/// Whether a cell that is no number is one word.
fn is_word(kind: &DataType) -> bool {
    kind.is_temporal() && !matches!(kind, DataType::Interval(_)) || *kind == DataType::Boolean
}

/// One of the values of any type: an extreme, or the last, which is known for so many rows without a value.
fn kept(end: Option<End>, null_at_null: bool, limit: Option<u64>, column: &Column) -> Box<dyn Track> {
    let cells = column.input.clone();
    match &column.input {
        DataType::Float16 | DataType::Float32 | DataType::Float64 => {
            // NaN loses.
            let family = Floats { cells, nan_first: end == Some(End::Greatest) };
            limited(Kept { family, end, null_at_null }, limit, column)
        }
        DataType::Decimal128(..) => limited(Kept { family: Decimals { cells }, end, null_at_null }, limit, column),
        DataType::Decimal256(..) => limited(Kept { family: WideDecimals { cells }, end, null_at_null }, limit, column),
        DataType::Utf8View | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            limited(Kept { family: Texts { cells }, end, null_at_null }, limit, column)
        }
        kind if kind.is_integer() || is_word(kind) => {
            limited(Kept { family: Integers { cells }, end, null_at_null }, limit, column)
        }
        _ => limited(LastCell { output: column.output.clone() }, limit, column),
    }
}

fn limited<T, K>(kernel: K, limit: Option<u64>, column: &Column) -> Box<dyn Track>
where
    T: Clone + Send + Sync + 'static,
    K: Kernel<In = Option<T>>,
{
    match limit {
        Some(limit) => of_kernel(Limited { inner: kernel, limit }, column),
        None => of_kernel(kernel, column),
    }
}
