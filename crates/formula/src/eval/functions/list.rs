//! Functions of lists: elements are picked by their place among all elements, and taken at once.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Float32Array, Float64Array, Int64Array, ListArray, UInt64Array};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field};

use super::decimal;
use super::declared::{FunctionSpec, Takes, also_of_list, method, of_list};
use super::text::build;
use crate::eval::bind::{ListCall, Made};
use crate::eval::node::failure;
use crate::eval::node::{Argument, Failure, Whole};
use crate::tree::aggregate::Aggregate;
use crate::tree::family::Family;
use crate::tree::function::{Function, List};
use crate::tree::types::canonical;

const LIST: Takes = (1, 1, "a list");
const AND_ONE: Takes = (2, 2, "a list and one argument");

pub(crate) const FUNCTIONS: &[FunctionSpec] = &[
    method(Function::List(List::Len), "list.len", LIST, |b, c| b.of_list(c, |_| Ok((len(), DataType::Int64))))
        .always(Family::Integer)
        .in_formulas(&[
            of_list("size", "size(v)", "elements, nulls counted"),
            also_of_list("length"),
            also_of_list("len"),
        ]),
    method(Function::List(List::Get), "list.get", AND_ONE, |b, c| {
        b.of_list(c, |l| l.integers().map(|()| (get(), l.of.clone())))
    })
    .always(Family::Unknown)
    .shown_by(r#"col("v").list.get(1)"#)
    .in_formulas(&[of_list("nth", "nth(1, v)", "the element at a position").behind()]),
    method(Function::List(List::Gather), "list.gather", AND_ONE, |b, c| {
        b.of_list(c, |l| l.places().map(|()| (gather(), l.listed.clone())))
    })
    .always(Family::List)
    .shown_by(r#"col("v").list.gather([-1, 0])"#),
    method(Function::List(List::First), "list.first", LIST, |b, c| b.of_list(c, |l| Ok((end(false), l.of.clone()))))
        .always(Family::Unknown)
        .in_formulas(&[of_list("first", "first(v)", "the first element")]),
    method(Function::List(List::Last), "list.last", LIST, |b, c| b.of_list(c, |l| Ok((end(true), l.of.clone()))))
        .always(Family::Unknown)
        .in_formulas(&[of_list("last", "last(v)", "the last element")]),
    method(Function::List(List::Slice), "list.slice", (2, 3, "a list, an offset and maybe a length"), |b, c| {
        b.of_list(c, |l| l.integers().map(|()| (slice(), l.listed.clone())))
    })
    .always(Family::List)
    .shown_by(r#"col("v").list.slice(1, 2)"#),
    method(Function::List(List::Head), "list.head", AND_ONE, |b, c| {
        b.of_list(c, |l| l.integers().map(|()| (head(false), l.listed.clone())))
    })
    .always(Family::List)
    .shown_by(r#"col("v").list.head(1)"#),
    method(Function::List(List::Tail), "list.tail", AND_ONE, |b, c| {
        b.of_list(c, |l| l.integers().map(|()| (head(true), l.listed.clone())))
    })
    .always(Family::List)
    .shown_by(r#"col("v").list.tail(1)"#),
    method(Function::List(List::Sum), "list.sum", LIST, |b, c| b.of_list(c, summed))
        .always(Family::Unknown)
        .in_formulas(&[of_list("sum", "sum(v)", "sum of the elements")]),
    method(Function::List(List::Mean), "list.mean", LIST, |b, c| b.of_list(c, averaged))
        .always(Family::Unknown)
        .in_formulas(&[of_list("avg", "avg(v)", "mean")]),
    method(Function::List(List::Join), "list.join", AND_ONE, |b, c| {
        b.of_list(c, |l| {
            l.texts()?;
            l.text()?;
            Ok((join(), DataType::Utf8View))
        })
    })
    .always(Family::Text)
    .shown_by(r#"col("s").str.split(" ").list.join("+")"#),
    method(Function::List(List::Reverse), "list.reverse", LIST, |b, c| {
        b.of_list(c, |l| Ok((reverse(), l.listed.clone())))
    })
    .always(Family::List)
    .in_formulas(&[also_of_list("reverse")]),
    method(Function::List(List::DropNulls), "list.drop_nulls", LIST, |b, c| {
        b.of_list(c, |l| Ok((drop_nulls(), l.listed.clone())))
    })
    .always(Family::List),
];

fn summed(list: &mut ListCall<'_, '_>) -> Made {
    if let Some(made) = list.of_decimals(&Aggregate::Sum { min_count: 0 })? {
        return Ok((decimal::of_lists(List::Sum, &list.of, &made), made));
    }
    let to = match &list.of {
        of if of.is_unsigned_integer() => DataType::UInt64,
        of if of.is_integer() || matches!(of, DataType::Boolean | DataType::Null) => DataType::Int64,
        DataType::Float64 => DataType::Float64,
        _ => list.numbers().map(|()| DataType::Float32)?,
    };
    Ok((sum(to.clone()), to))
}

fn averaged(list: &mut ListCall<'_, '_>) -> Made {
    match list.of_decimals(&Aggregate::Mean)? {
        Some(made) => Ok((decimal::of_lists(List::Mean, &list.of, &made), made)),
        None => list.numbers().map(|()| (mean(), DataType::Float64)),
    }
}

/// The lists of an argument, row by row.
pub(super) struct Lists {
    array: ArrayRef,
    one: bool,
}

impl Lists {
    pub(super) fn of(argument: &Argument) -> Lists {
        Lists { array: Arc::clone(argument.array()), one: matches!(argument, Argument::One(_)) }
    }

    fn list(&self) -> &ListArray {
        self.array.as_list()
    }

    /// The places of a row's elements; none for a null list.
    pub(super) fn get(&self, row: usize) -> Option<std::ops::Range<usize>> {
        let (list, row) = (self.list(), if self.one { 0 } else { row });
        let offsets = list.value_offsets();
        list.is_valid(row).then(|| offsets[row] as usize..offsets[row + 1] as usize)
    }

    pub(super) fn values(&self) -> &ArrayRef {
        self.list().values()
    }
}

/// Whole numbers, row by row.
pub(super) struct Numbers<'a>(pub(super) &'a Argument);

impl Numbers<'_> {
    pub(super) fn get(&self, row: usize) -> Option<i64> {
        let row = if matches!(self.0, Argument::One(_)) { 0 } else { row };
        let numbers = self.0.array().as_primitive::<Int64Type>();
        numbers.is_valid(row).then(|| numbers.value(row))
    }
}

/// A place counted from the end if negative.
fn place(at: i64, len: usize) -> Option<usize> {
    let at = if at < 0 { at.checked_add(i64::try_from(len).ok()?)? } else { at };
    usize::try_from(at).ok().filter(|at| *at < len)
}

pub(super) fn picked(
    lists: &Lists,
    rows: usize,
    pick: impl Fn(usize, std::ops::Range<usize>) -> Option<usize>,
) -> Result<ArrayRef, Failure> {
    let places: UInt64Array = (0..rows).map(|row| Some(pick(row, lists.get(row)?)? as u64)).collect();
    let taken = arrow_select::take::take(lists.values(), &places, None).map_err(failure)?;
    let wanted = canonical(taken.data_type());
    if *taken.data_type() == wanted { Ok(taken) } else { arrow_cast::cast(&taken, &wanted).map_err(failure) }
}

/// Lists of other elements: for each row the places that it has, none for null.
pub(super) fn rebuilt(
    lists: &Lists,
    rows: usize,
    places: impl Fn(usize, std::ops::Range<usize>) -> Option<Vec<usize>>,
) -> Result<ArrayRef, Failure> {
    let (mut all, mut lengths, mut valid) = (Vec::new(), Vec::with_capacity(rows), Vec::with_capacity(rows));
    for row in 0..rows {
        let found = lists.get(row).and_then(|range| places(row, range));
        valid.push(found.is_some());
        let found = found.unwrap_or_default();
        lengths.push(found.len());
        all.extend(found.into_iter().map(|place| place as u64));
    }
    listed(arrow_select::take::take(lists.values(), &UInt64Array::from(all), None).map_err(failure)?, lengths, valid)
}

/// Elements as lists of these lengths, null where a row is not valid.
pub(super) fn listed(elements: ArrayRef, lengths: Vec<usize>, valid: Vec<bool>) -> Result<ArrayRef, Failure> {
    let field = Arc::new(Field::new_list_field(elements.data_type().clone(), true));
    let nulls = Some(NullBuffer::from(valid)).filter(|nulls| nulls.null_count() > 0);
    let made = ListArray::try_new(field, OffsetBuffer::from_lengths(lengths), elements, nulls);
    Ok(Arc::new(made.map_err(failure)?))
}

pub(crate) fn len() -> Whole {
    Arc::new(|args, rows| {
        let lists = Lists::of(&args[0]);
        Ok(Arc::new((0..rows).map(|row| Some(lists.get(row)?.len() as i64)).collect::<Int64Array>()))
    })
}

/// The element at a place; null outside the list.
pub(crate) fn get() -> Whole {
    Arc::new(|args, rows| {
        let (lists, at) = (Lists::of(&args[0]), Numbers(&args[1]));
        picked(&lists, rows, |row, range| Some(range.start + place(at.get(row)?, range.len())?))
    })
}

/// The elements at the places that another list has; null for a place that is null or outside.
fn gather() -> Whole {
    Arc::new(|args, rows| {
        let (lists, at) = (Lists::of(&args[0]), Lists::of(&args[1]));
        let wanted = arrow_cast::cast(at.values(), &DataType::Int64).map_err(failure)?;
        let wanted = wanted.as_primitive::<Int64Type>();
        let (mut all, mut lengths, mut valid) = (Vec::new(), Vec::with_capacity(rows), Vec::with_capacity(rows));
        for row in 0..rows {
            let both = lists.get(row).zip(at.get(row));
            valid.push(both.is_some());
            let (range, places) = both.unwrap_or_default();
            lengths.push(places.len());
            all.extend(places.map(|number| {
                let at = wanted.is_valid(number).then(|| place(wanted.value(number), range.len())).flatten()?;
                Some((range.start + at) as u64)
            }));
        }
        let elements = arrow_select::take::take(lists.values(), &UInt64Array::from(all), None).map_err(failure)?;
        listed(elements, lengths, valid)
    })
}

pub(crate) fn end(last: bool) -> Whole {
    Arc::new(move |args, rows| {
        picked(&Lists::of(&args[0]), rows, |_, range| if last { range.last() } else { range.into_iter().next() })
    })
}

/// Elements from an offset (negative: from the end), a length of them or all.
pub(crate) fn slice() -> Whole {
    Arc::new(|args, rows| {
        let (lists, offset) = (Lists::of(&args[0]), Numbers(&args[1]));
        let length = args.get(2).map(Numbers);
        rebuilt(&lists, rows, |row, range| {
            let len = i64::try_from(range.len()).ok()?;
            let offset = offset.get(row)?;
            let from = if offset < 0 { offset.saturating_add(len) } else { offset };
            let to = match &length {
                // As in polars a negative length is none at all.
                Some(length) => Some(length.get(row)?)
                    .filter(|length| *length >= 0)
                    .map_or(len, |length| from.saturating_add(length)),
                None => len,
            };
            let (from, to) = (from.clamp(0, len), to.clamp(0, len));
            Some((range.start + from as usize..range.start + to.max(from) as usize).collect())
        })
    })
}

/// The first (or last) so many elements. As in polars a negative count is all of the first, and of the last all but so
/// many at the start.
pub(crate) fn head(tail: bool) -> Whole {
    Arc::new(move |args, rows| {
        let (lists, count) = (Lists::of(&args[0]), Numbers(&args[1]));
        rebuilt(&lists, rows, |row, range| {
            let count = count.get(row)?;
            let size = usize::try_from(count.unsigned_abs()).ok()?.min(range.len());
            Some(
                match (tail, count < 0) {
                    (false, true) => range,
                    (false, false) => range.start..range.start + size,
                    (true, true) => range.start + size..range.end,
                    (true, false) => range.end - size..range.end,
                }
                .collect(),
            )
        })
    })
}

pub(crate) fn drop_nulls() -> Whole {
    Arc::new(|args, rows| {
        let lists = Lists::of(&args[0]);
        rebuilt(&lists, rows, |_, range| Some(range.filter(|place| lists.values().is_valid(*place)).collect()))
    })
}

pub(crate) fn reverse() -> Whole {
    Arc::new(|args, rows| rebuilt(&Lists::of(&args[0]), rows, |_, range| Some(range.rev().collect())))
}

/// The sum of what is not null; of nothing, 0.
pub(crate) fn sum(to: DataType) -> Whole {
    Arc::new(move |args, rows| {
        let lists = Lists::of(&args[0]);
        let wide = match to {
            DataType::Float32 => &DataType::Float64,
            ref other => other,
        };
        let values = arrow_cast::cast(lists.values(), wide).map_err(failure)?;
        macro_rules! summed {
            ($type:ident, $zero:expr, $add:expr) => {{
                let values = values.as_primitive::<$type>();
                (0..rows).map(|row| {
                    let present = lists.get(row)?.filter(|place| values.is_valid(*place));
                    Some(present.fold($zero, |sum, place| $add(sum, values.value(place))))
                })
            }};
        }
        Ok(match to {
            DataType::Int64 => Arc::new(summed!(Int64Type, 0, i64::wrapping_add).collect::<Int64Array>()) as ArrayRef,
            DataType::UInt64 => Arc::new(summed!(UInt64Type, 0, u64::wrapping_add).collect::<UInt64Array>()),
            DataType::Float32 => {
                let sums = summed!(Float64Type, 0.0, |sum: f64, value: f64| sum + value);
                Arc::new(sums.map(|sum| sum.map(|sum| sum as f32)).collect::<Float32Array>())
            }
            _ => Arc::new(summed!(Float64Type, 0.0, |sum: f64, value: f64| sum + value).collect::<Float64Array>()),
        })
    })
}

/// The mean of what is not null; of nothing, null.
pub(crate) fn mean() -> Whole {
    Arc::new(|args, rows| {
        let lists = Lists::of(&args[0]);
        let values = arrow_cast::cast(lists.values(), &DataType::Float64).map_err(failure)?;
        let values = values.as_primitive::<Float64Type>();
        let mean = |row: usize| {
            let (mut sum, mut count) = (0.0, 0_u32);
            for place in lists.get(row)?.filter(|place| values.is_valid(*place)) {
                sum += values.value(place);
                count += 1;
            }
            (count > 0).then(|| sum / f64::from(count))
        };
        Ok(Arc::new((0..rows).map(mean).collect::<Float64Array>()))
    })
}

/// The strings of a list with the second argument between them; nulls are left out.
pub(crate) fn join() -> Whole {
    Arc::new(|args, rows| {
        let lists = Lists::of(&args[0]);
        let texts = arrow_cast::cast(lists.values(), &DataType::Utf8View).map_err(failure)?;
        let (texts, between) = (texts.as_string_view(), args[1].expanded(rows));
        let between = between.as_string_view();
        build(rows, |row, out| {
            let range = lists.get(row).filter(|_| between.is_valid(row))?;
            for (at, part) in range.filter(|place| texts.is_valid(*place)).map(|at| texts.value(at)).enumerate() {
                if at > 0 {
                    out.push_str(between.value(row));
                }
                out.push_str(part);
            }
            Some(())
        })
    })
}
