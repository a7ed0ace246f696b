//! Kernels that make one number of a list: counts, spreads, ranks. Nulls are left out.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, UInt64Array};
use arrow_ord::ord::make_comparator;
use arrow_schema::{DataType, SortOptions};

use super::decimal;
use super::declared::{FunctionSpec, Takes, method, of_list};
use super::list::Lists;
use super::list_order::{comparable, is_nan};
use crate::eval::bind::{ListCall, Made};
use crate::eval::node::failure;
use crate::eval::node::{Argument, Failure, Whole};
use crate::tree::aggregate::Aggregate;
use crate::tree::family::Family;
use crate::tree::function::{Function, List};

const LIST: Takes = (1, 1, "a list");

pub(crate) const FUNCTIONS: &[FunctionSpec] = &[
    method(Function::List(List::Count), "list.count", LIST, |b, c| b.of_list(c, |_| Ok((count(), DataType::Int64))))
        .always(Family::Integer)
        .in_formulas(&[of_list("count", "count(v)", "elements that are not null")]),
    method(Function::List(List::CountPositive), "list.count_positive", LIST, |b, c| {
        b.of_list(c, |l| l.numbers().map(|()| (count_positive(), DataType::Int64)))
    })
    .always(Family::Integer)
    .in_formulas(&[of_list("countPos", "countPos(v)", "elements greater than 0")]),
    method(Function::List(List::NUnique), "list.n_unique", LIST, |b, c| {
        b.of_list(c, |l| l.ordered().map(|()| (distinct(true), DataType::Int64)))
    })
    .always(Family::Integer),
    method(Function::List(List::CountDistinct), "list.count_distinct", LIST, |b, c| {
        b.of_list(c, |l| l.ordered().map(|()| (distinct(false), DataType::Int64)))
    })
    .always(Family::Integer)
    .in_formulas(&[of_list("countDistinct", "countDistinct(v)", "distinct elements that are not null")]),
    method(Function::List(List::AbsMean), "list.abs_mean", LIST, |b, c| b.of_list(c, abs_averaged))
        .always(Family::Unknown)
        .in_formulas(&[of_list("absAvg", "absAvg(v)", "mean without signs")]),
    method(Function::List(List::Product), "list.product", LIST, |b, c| b.of_list(c, multiplied))
        .always(Family::Unknown)
        .in_formulas(&[of_list("product", "product(v)", "product")]),
    method(Function::List(List::Median), "list.median", LIST, |b, c| {
        b.of_list(c, |l| l.numbers().map(|()| (median(), DataType::Float64)))
    })
    .always(Family::Unknown)
    .compares()
    .in_formulas(&[of_list("median", "median(v)", "the value in the middle")]),
    method(Function::List(List::Quantile), "list.quantile", (2, 2, "a list and one argument"), |b, c| {
        b.of_list(c, |l| {
            l.numbers()?;
            l.part()?;
            Ok((quantile(), DataType::Float64))
        })
    })
    .always(Family::Unknown)
    .compares()
    .shown_by(r#"col("v").list.quantile(0.5)"#)
    .in_formulas(&[of_list(
        "percentile",
        "percentile(0.5, v)",
        "the value at a part of the way from the least to the greatest",
    )
    .behind()]),
    method(Function::List(List::Std { ddof: 1 }), "list.std", LIST, |b, c| {
        b.of_list(c, |l| l.numbers().map(|()| (spread(c.number("ddof"), true), DataType::Float64)))
    })
    .always(Family::Unknown)
    .in_formulas(&[of_list("std", "std(v)", "standard deviation, one degree of freedom less")]),
    method(Function::List(List::Var { ddof: 1 }), "list.var", LIST, |b, c| {
        b.of_list(c, |l| l.numbers().map(|()| (spread(c.number("ddof"), false), DataType::Float64)))
    })
    .always(Family::Unknown)
    .in_formulas(&[of_list("var", "var(v)", "variance, one degree of freedom less")]),
    method(Function::List(List::ArgMin), "list.arg_min", LIST, |b, c| {
        b.of_list(c, |l| l.ordered().map(|()| (place_of(false), DataType::Int64)))
    })
    .always(Family::Integer)
    .compares()
    .in_formulas(&[of_list("indexOfMin", "indexOfMin(v)", "position of the least")]),
    method(Function::List(List::ArgMax), "list.arg_max", LIST, |b, c| {
        b.of_list(c, |l| l.ordered().map(|()| (place_of(true), DataType::Int64)))
    })
    .always(Family::Integer)
    .compares()
    .in_formulas(&[of_list("indexOfMax", "indexOfMax(v)", "position of the greatest")]),
];

fn multiplied(list: &mut ListCall<'_, '_>) -> Made {
    let to = match &list.of {
        of if of.is_unsigned_integer() => DataType::UInt64,
        of if of.is_integer() || *of == DataType::Boolean => DataType::Int64,
        _ => list.numbers().map(|()| DataType::Float64)?,
    };
    Ok((product(to.clone()), to))
}

fn abs_averaged(list: &mut ListCall<'_, '_>) -> Made {
    match list.of_decimals(&Aggregate::Mean)? {
        Some(made) => Ok((decimal::of_lists(List::AbsMean, &list.of, &made), made)),
        None => list.numbers().map(|()| (abs_mean(), DataType::Float64)),
    }
}

/// How many elements are not null.
pub(crate) fn count() -> Whole {
    Arc::new(|args, rows| {
        let lists = Lists::of(&args[0]);
        let count = |row| Some(lists.get(row)?.filter(|place| lists.values().is_valid(*place)).count() as i64);
        Ok(Arc::new((0..rows).map(count).collect::<Int64Array>()))
    })
}

/// How many elements are greater than 0; NaN is not.
fn count_positive() -> Whole {
    Arc::new(|args, rows| {
        let lists = Lists::of(&args[0]);
        // A number has the sign of the double that is nearest to it.
        let values = arrow_cast::cast(lists.values(), &DataType::Float64).map_err(failure)?;
        let values = values.as_primitive::<Float64Type>();
        let is_positive = |place: &usize| values.is_valid(*place) && values.value(*place) > 0.0;
        let count = |row| Some(lists.get(row)?.filter(is_positive).count() as i64);
        Ok(Arc::new((0..rows).map(count).collect::<Int64Array>()))
    })
}

/// How many distinct elements there are; null is one of them, or is left out.
pub(crate) fn distinct(nulls: bool) -> Whole {
    Arc::new(move |args, rows| {
        let lists = Lists::of(&args[0]);
        let values = comparable(lists.values());
        let compare = make_comparator(&values, &values, SortOptions::default()).map_err(failure)?;
        let count = |row| {
            let mut places: Vec<usize> = lists.get(row)?.filter(|place| nulls || values.is_valid(*place)).collect();
            places.sort_by(|a, b| compare(*a, *b));
            places.dedup_by(|a, b| compare(*a, *b).is_eq());
            Some(places.len() as i64)
        };
        Ok(Arc::new((0..rows).map(count).collect::<Int64Array>()))
    })
}

/// The product of integers, which wraps, or of floats; of nothing, null.
pub(crate) fn product(to: DataType) -> Whole {
    Arc::new(move |args, rows| {
        let lists = Lists::of(&args[0]);
        let values = arrow_cast::cast(lists.values(), &to).map_err(failure)?;
        macro_rules! multiplied {
            ($type:ident, $multiply:expr) => {{
                let values = values.as_primitive::<$type>();
                (0..rows).map(|row| {
                    let present = lists.get(row)?.filter(|place| values.is_valid(*place));
                    present.map(|place| values.value(place)).reduce($multiply)
                })
            }};
        }
        Ok(match to {
            DataType::Int64 => Arc::new(multiplied!(Int64Type, i64::wrapping_mul).collect::<Int64Array>()) as ArrayRef,
            DataType::UInt64 => Arc::new(multiplied!(UInt64Type, u64::wrapping_mul).collect::<UInt64Array>()),
            _ => Arc::new(multiplied!(Float64Type, |a: f64, b: f64| a * b).collect::<Float64Array>()),
        })
    })
}

/// The elements that are not null as doubles, row by row.
pub(super) fn of_floats(
    args: &[Argument],
    rows: usize,
    of: impl Fn(usize, Vec<f64>) -> Option<f64>,
) -> Result<ArrayRef, Failure> {
    let lists = Lists::of(&args[0]);
    let values = arrow_cast::cast(lists.values(), &DataType::Float64).map_err(failure)?;
    let values = values.as_primitive::<Float64Type>();
    let one = |row| {
        let present: Range<usize> = lists.get(row)?;
        of(row, present.filter(|place| values.is_valid(*place)).map(|place| values.value(place)).collect())
    };
    Ok(Arc::new((0..rows).map(one).collect::<Float64Array>()))
}

/// The variance, or its root; null of no more values than `ddof`. In two passes: the mean is taken away first.
pub(crate) fn spread(ddof: u32, root: bool) -> Whole {
    Arc::new(move |args, rows| {
        of_floats(args, rows, |_, values| {
            let freedom = values.len().checked_sub(ddof as usize).filter(|freedom| *freedom > 0)?;
            // From the first value on: values that are all the same have no spread at all.
            let first = values[0];
            let mean = values.iter().map(|value| value - first).sum::<f64>() / values.len() as f64;
            let squares: f64 = values.iter().map(|value| (value - first - mean) * (value - first - mean)).sum();
            let variance = squares / freedom as f64;
            Some(if root { variance.sqrt() } else { variance })
        })
    })
}

/// The mean of the elements without their signs; of nothing, null.
pub(crate) fn abs_mean() -> Whole {
    Arc::new(|args, rows| {
        of_floats(args, rows, |_, values| {
            let sum: f64 = values.iter().map(|value| value.abs()).sum();
            (!values.is_empty()).then(|| sum / values.len() as f64)
        })
    })
}

/// The value in the middle, or the mean of the two; NaN is the greatest.
pub(crate) fn median() -> Whole {
    Arc::new(|args, rows| {
        of_floats(args, rows, |_, mut values| {
            values.sort_by(by_order);
            let middle = values.len().checked_sub(1)? / 2;
            Some(if values.len() % 2 == 1 { values[middle] } else { values[middle] / 2.0 + values[middle + 1] / 2.0 })
        })
    })
}

/// The value at a part of the way from the least to the greatest, the nearest there is, of two the later.
pub(crate) fn quantile() -> Whole {
    Arc::new(|args, rows| {
        let parts = args[1].expanded(rows);
        let parts = parts.as_primitive::<Float64Type>();
        of_floats(args, rows, |row, mut values| {
            let part = Some(parts.value(row)).filter(|part| parts.is_valid(row) && (0.0..=1.0).contains(part))?;
            values.sort_by(by_order);
            let last = values.len().checked_sub(1)?;
            values.get((part * last as f64 + 0.5).floor() as usize).copied()
        })
    })
}

fn by_order(a: &f64, b: &f64) -> std::cmp::Ordering {
    a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// The place of the least element, or the greatest: the first of equals; NaN only where nothing else is.
pub(crate) fn place_of(greatest: bool) -> Whole {
    Arc::new(move |args, rows| {
        let lists = Lists::of(&args[0]);
        let values = comparable(lists.values());
        let compare = make_comparator(&values, &values, SortOptions::default()).map_err(failure)?;
        let place = |row| {
            let range = lists.get(row)?;
            let start = range.start;
            let better = |best: usize, place: usize| match (is_nan(&values, best), is_nan(&values, place)) {
                (was, is) if was != is => was,
                _ if greatest => compare(place, best).is_gt(),
                _ => compare(place, best).is_lt(),
            };
            let present = range.filter(|place| values.is_valid(*place));
            let best = present.reduce(|best, place| if better(best, place) { place } else { best })?;
            Some((best - start) as i64)
        };
        Ok(Arc::new((0..rows).map(place).collect::<Int64Array>()))
    })
}
