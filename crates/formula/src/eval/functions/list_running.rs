//! Functions that go along a list: running sums and extremes, differences, ranks, and where an element stands.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, Float64Array, Int64Array, PrimitiveArray, UInt64Array};
use arrow_ord::ord::make_comparator;
use arrow_schema::{DataType, SortOptions};

use super::declared::{FunctionSpec, Takes, method, of_list};
use super::list::{Lists, listed};
use super::list_order::{comparable, is_nan};
use crate::eval::bind::{ListCall, Made};
use crate::eval::node::{Failure, Whole, failure};
use crate::tree::family::Family;
use crate::tree::function::{Function, List};
use crate::tree::types::list_of;

const LIST: Takes = (1, 1, "a list");
const AND_ONE: Takes = (2, 2, "a list and one argument");

pub(crate) const FUNCTIONS: &[FunctionSpec] = &[
    method(Function::List(List::CumSum), "list.cum_sum", LIST, |b, c| b.of_list(c, |l| running(l, false)))
        .always(Family::List)
        .in_formulas(&[of_list("cumsum", "cumsum(v)", "running sum")]),
    method(Function::List(List::CumProd), "list.cum_prod", LIST, |b, c| b.of_list(c, |l| running(l, true)))
        .always(Family::List)
        .in_formulas(&[of_list("cumprod", "cumprod(v)", "running product")]),
    method(Function::List(List::CumMin), "list.cum_min", LIST, |b, c| {
        b.of_list(c, |l| l.ordered().map(|()| (extremes(false), l.listed.clone())))
    })
    .always(Family::List)
    .compares()
    .in_formulas(&[of_list("cummin", "cummin(v)", "the least so far")]),
    method(Function::List(List::CumMax), "list.cum_max", LIST, |b, c| {
        b.of_list(c, |l| l.ordered().map(|()| (extremes(true), l.listed.clone())))
    })
    .always(Family::List)
    .compares()
    .in_formulas(&[of_list("cummax", "cummax(v)", "the greatest so far")]),
    method(Function::List(List::Diff), "list.diff", AND_ONE, |b, c| b.of_list(c, differing))
        .always(Family::List)
        .shown_by(r#"col("v").list.diff()"#)
        .in_formulas(&[of_list("diff", "diff(1, v)", "each element less the one so many before").behind()]),
    method(Function::List(List::ForwardFill), "list.forward_fill", LIST, |b, c| {
        b.of_list(c, |l| Ok((forward_filled(), l.listed.clone())))
    })
    .always(Family::List)
    .in_formulas(&[of_list("forwardFill", "forwardFill(v)", "the last that was not null in place of each null")]),
    method(Function::List(List::Rank), "list.rank", LIST, |b, c| {
        b.of_list(c, |l| l.ordered().map(|()| (ranked(), list_of(&DataType::Float64))))
    })
    .always(Family::List)
    .compares()
    .in_formulas(&[of_list("rank", "rank(v)", "the place of each in order, from 1; equal ones share the mean")]),
    method(Function::List(List::IndexOf), "list.index_of", AND_ONE, |b, c| {
        b.of_list(c, |l| {
            l.ordered()?;
            l.item()?;
            Ok((found(first_equal), DataType::Int64))
        })
    })
    .always(Family::Integer)
    .compares()
    .shown_by(r#"col("v").list.index_of(5)"#)
    .in_formulas(&[of_list("firstIndexOf", "firstIndexOf(5, v)", "position of the first that is equal").behind()]),
    method(Function::List(List::BinSearch), "list.bin_search", AND_ONE, |b, c| {
        b.of_list(c, |l| {
            l.ordered()?;
            l.item()?;
            Ok((found(searched), DataType::Int64))
        })
    })
    .always(Family::Integer)
    .compares()
    .shown_by(r#"col("v").list.sort().list.bin_search(5)"#)
    .in_formulas(&[of_list(
        "binSearchIndex",
        "binSearchIndex(sort(v), 5)",
        "position in an ascending list; -1 less where it would stand, if it is not there",
    )]),
];

/// The type in which elements are summed or multiplied.
fn wide(list: &ListCall<'_, '_>) -> Result<DataType, crate::error::Error> {
    Ok(match &list.of {
        of if of.is_unsigned_integer() => DataType::UInt64,
        of if of.is_integer() || *of == DataType::Boolean => DataType::Int64,
        _ => list.numbers().map(|()| DataType::Float64)?,
    })
}

/// Lists of as many elements, each of which is made of those of a list of this type; null where there is none.
fn along<T>(
    lists: &Lists,
    rows: usize,
    mut each: impl FnMut(Range<usize>, &mut Vec<Option<T>>),
) -> (Vec<Option<T>>, Vec<usize>, Vec<bool>) {
    let (mut all, mut lengths, mut valid) = (Vec::new(), Vec::with_capacity(rows), Vec::with_capacity(rows));
    for row in 0..rows {
        let range = lists.get(row);
        valid.push(range.is_some());
        let range = range.unwrap_or(0..0);
        lengths.push(range.len());
        each(range, &mut all);
    }
    (all, lengths, valid)
}

/// For each element what is made of it and of the one that is known so far, beginning with the first that is not null.
fn run<T: ArrowPrimitiveType>(
    lists: &Lists,
    rows: usize,
    operate: impl Fn(T::Native, T::Native) -> T::Native,
) -> Result<ArrayRef, Failure> {
    let values = arrow_cast::cast(lists.values(), &T::DATA_TYPE).map_err(failure)?;
    let values = values.as_primitive::<T>();
    let (all, lengths, valid) = along(lists, rows, |range, all| {
        let mut known = None;
        all.extend(range.map(|place| {
            let value = values.is_valid(place).then(|| values.value(place))?;
            known = Some(known.map_or(value, |known| operate(known, value)));
            known
        }));
    });
    listed(Arc::new(PrimitiveArray::<T>::from_iter(all)), lengths, valid)
}

/// Running sums, or products. Integers wrap; a null stays one, and leaves what was summed as it is.
fn running(list: &mut ListCall<'_, '_>, product: bool) -> Made {
    let to = wide(list)?;
    let made = list_of(&to);
    let kernel: Whole = Arc::new(move |args, rows| {
        let lists = Lists::of(&args[0]);
        match (&to, product) {
            (DataType::Int64, false) => run::<Int64Type>(&lists, rows, i64::wrapping_add),
            (DataType::Int64, true) => run::<Int64Type>(&lists, rows, i64::wrapping_mul),
            (DataType::UInt64, false) => run::<UInt64Type>(&lists, rows, u64::wrapping_add),
            (DataType::UInt64, true) => run::<UInt64Type>(&lists, rows, u64::wrapping_mul),
            (_, false) => run::<Float64Type>(&lists, rows, |known, value| known + value),
            (_, true) => run::<Float64Type>(&lists, rows, |known, value| known * value),
        }
    });
    Ok((kernel, made))
}

/// Each element less the one that stands so many before it; null where there is none.
fn differing(list: &mut ListCall<'_, '_>) -> Made {
    let to = wide(list)?;
    list.integers()?;
    // A difference has a sign.
    let made = list_of(if to == DataType::UInt64 { &DataType::Int64 } else { &to });
    let kernel: Whole = Arc::new(move |args, rows| {
        let lists = Lists::of(&args[0]);
        let by = args[1].expanded(rows);
        let by = by.as_primitive::<Int64Type>();
        let before = |row: usize, place: usize, range: &Range<usize>| {
            let by = by.is_valid(row).then(|| by.value(row))?;
            let other = i64::try_from(place).ok()?.checked_sub(by)?;
            usize::try_from(other).ok().filter(|other| range.contains(other))
        };
        match to {
            DataType::Int64 => less::<Int64Type, Int64Type>(&lists, rows, before, i64::wrapping_sub),
            DataType::UInt64 => less::<UInt64Type, Int64Type>(&lists, rows, before, |value, other| {
                value.wrapping_sub(other).cast_signed()
            }),
            _ => less::<Float64Type, Float64Type>(&lists, rows, before, |value, other| value - other),
        }
    });
    Ok((kernel, made))
}

fn less<T: ArrowPrimitiveType, D: ArrowPrimitiveType>(
    lists: &Lists,
    rows: usize,
    before: impl Fn(usize, usize, &Range<usize>) -> Option<usize>,
    subtract: impl Fn(T::Native, T::Native) -> D::Native,
) -> Result<ArrayRef, Failure> {
    let values = arrow_cast::cast(lists.values(), &T::DATA_TYPE).map_err(failure)?;
    let values = values.as_primitive::<T>();
    let value = |place: usize| values.is_valid(place).then(|| values.value(place));
    let mut row = 0;
    let (all, lengths, valid) = along(lists, rows, |range, all| {
        let one = |place: usize| Some(subtract(value(place)?, value(before(row, place, &range)?)?));
        all.extend(range.clone().map(one));
        row += 1;
    });
    listed(Arc::new(PrimitiveArray::<D>::from_iter(all)), lengths, valid)
}

/// The least so far, or the greatest; NaN only where nothing else was. A null stays one.
fn extremes(greatest: bool) -> Whole {
    Arc::new(move |args, rows| {
        let lists = Lists::of(&args[0]);
        let values = comparable(lists.values());
        let compare = make_comparator(&values, &values, SortOptions::default()).map_err(failure)?;
        let better = |best: usize, place: usize| match (is_nan(&values, best), is_nan(&values, place)) {
            (was, is) if was != is => was,
            _ if greatest => compare(place, best).is_gt(),
            _ => compare(place, best).is_lt(),
        };
        let (places, lengths, valid) = along(&lists, rows, |range, all| {
            let mut best: Option<usize> = None;
            all.extend(range.map(|place| {
                let present = values.is_valid(place).then_some(place)?;
                best = Some(best.filter(|best| !better(*best, present)).unwrap_or(present));
                best.map(|best| best as u64)
            }));
        });
        taken(&lists, places, lengths, valid)
    })
}

fn forward_filled() -> Whole {
    Arc::new(|args, rows| {
        let lists = Lists::of(&args[0]);
        let (places, lengths, valid) = along(&lists, rows, |range, all| {
            let mut last = None;
            all.extend(range.map(|place| {
                last = if lists.values().is_valid(place) { Some(place as u64) } else { last };
                last
            }));
        });
        taken(&lists, places, lengths, valid)
    })
}

/// Lists of the elements at these places.
fn taken(lists: &Lists, places: Vec<Option<u64>>, lengths: Vec<usize>, valid: Vec<bool>) -> Result<ArrayRef, Failure> {
    let elements = arrow_select::take::take(lists.values(), &UInt64Array::from(places), None).map_err(failure)?;
    listed(elements, lengths, valid)
}

/// Ranks from 1 on, of equal ones their mean; null of null.
fn ranked() -> Whole {
    Arc::new(|args, rows| {
        let lists = Lists::of(&args[0]);
        let values = comparable(lists.values());
        let compare = make_comparator(&values, &values, SortOptions::default()).map_err(failure)?;
        let (ranks, lengths, valid) = along(&lists, rows, |range, all| {
            let mut places: Vec<usize> = range.clone().filter(|place| values.is_valid(*place)).collect();
            places.sort_by(|a, b| compare(*a, *b));
            let (start, mut before) = (all.len(), 0);
            all.extend(range.clone().map(|_| None));
            for equal in places.chunk_by(|a, b| compare(*a, *b).is_eq()) {
                let mean = before as f64 + (equal.len() + 1) as f64 / 2.0;
                equal.iter().for_each(|place| all[start + place - range.start] = Some(mean));
                before += equal.len();
            }
        });
        listed(Arc::new(Float64Array::from(ranks)), lengths, valid)
    })
}

/// How the element at a place of a list compares with the one that is looked for; none of null.
type At<'a> = &'a dyn Fn(usize) -> Option<Ordering>;

/// Where a list has the second argument, which is of the type of its elements; of null nowhere.
fn found(of: fn(At<'_>, usize) -> Option<i64>) -> Whole {
    Arc::new(move |args, rows| {
        let (lists, wanted) = (Lists::of(&args[0]), args[1].expanded(rows));
        let compare = make_comparator(&comparable(lists.values()), &comparable(&wanted), SortOptions::default());
        let compare = compare.map_err(failure)?;
        let place = |row: usize| {
            let range = lists.get(row).filter(|_| wanted.is_valid(row))?;
            let at = |at: usize| {
                let place = range.start + at;
                lists.values().is_valid(place).then(|| compare(place, row))
            };
            of(&at, range.len())
        };
        Ok(Arc::new((0..rows).map(place).collect::<Int64Array>()))
    })
}

fn first_equal(at: At<'_>, len: usize) -> Option<i64> {
    (0..len).find(|place| at(*place).is_some_and(Ordering::is_eq)).map(|place| place as i64)
}

/// By halving: nulls stand first.
fn searched(at: At<'_>, len: usize) -> Option<i64> {
    let (mut from, mut to) = (0, len);
    while from < to {
        let middle = from + (to - from) / 2;
        if at(middle).is_none_or(Ordering::is_lt) { from = middle + 1 } else { to = middle }
    }
    let is_there = from < len && at(from).is_some_and(Ordering::is_eq);
    Some(if is_there { from as i64 } else { -1 - from as i64 })
}
