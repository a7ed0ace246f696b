//! Functions of lists that compare elements: the least, the greatest, their order, those that are equal.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, ListArray};
use arrow_ord::ord::make_comparator;
use arrow_schema::{DataType, SortOptions};

use super::declared::{FunctionSpec, Takes, also_of_list, method, of_list};
use super::list::{Lists, listed, picked, rebuilt};
use crate::eval::node::{Whole, failure};
use crate::tree::family::Family;
use crate::tree::function::{Function, List};
use crate::tree::types::list_of;

const LIST: Takes = (1, 1, "a list");
const AND_ONE: Takes = (2, 2, "a list and one argument");

pub(crate) const FUNCTIONS: &[FunctionSpec] = &[
    method(Function::List(List::Min), "list.min", LIST, |b, c| {
        b.of_list(c, |l| l.ordered().map(|()| (extreme(false), l.of.clone())))
    })
    .always(Family::Unknown)
    .compares()
    .in_formulas(&[also_of_list("min")]),
    method(Function::List(List::Max), "list.max", LIST, |b, c| {
        b.of_list(c, |l| l.ordered().map(|()| (extreme(true), l.of.clone())))
    })
    .always(Family::Unknown)
    .compares()
    .in_formulas(&[also_of_list("max")]),
    method(Function::List(List::Contains), "list.contains", AND_ONE, |b, c| {
        b.of_list(c, |l| {
            l.ordered()?;
            l.item()?;
            Ok((contains(), DataType::Boolean))
        })
    })
    .always(Family::Unknown)
    .shown_by(r#"col("v").list.contains(5)"#)
    .in_formulas(&[also_of_list("contains")]),
    method(Function::List(List::Sort { descending: false, nulls_last: false }), "list.sort", LIST, |b, c| {
        b.of_list(c, |l| l.ordered().map(|()| (sort(c.flag("descending"), c.flag("nulls_last")), l.listed.clone())))
    })
    .always(Family::List)
    .compares()
    .in_formulas(&[
        of_list("sort", "sort(v)", "ascending"),
        of_list("sortDescending", "sortDescending(v)", "descending")
            .meaning(Function::List(List::Sort { descending: true, nulls_last: false })),
    ]),
    method(Function::List(List::ArgSort { descending: false, nulls_last: false }), "list.arg_sort", LIST, |b, c| {
        b.of_list(c, |l| {
            l.ordered().map(|()| (arg_sort(c.flag("descending"), c.flag("nulls_last")), list_of(&DataType::Int64)))
        })
    })
    .always(Family::List)
    .compares(),
    method(Function::List(List::Unique), "list.unique", LIST, |b, c| {
        b.of_list(c, |l| l.ordered().map(|()| (unique(), l.listed.clone())))
    })
    .always(Family::List),
];

/// Elements as the total order compares them: one zero, one NaN.
pub(super) fn comparable(values: &ArrayRef) -> ArrayRef {
    match values.data_type() {
        DataType::Float32 => {
            let one = |value: f32| if value.is_nan() { f32::NAN } else { value + 0.0 };
            Arc::new(values.as_primitive::<Float32Type>().unary::<_, Float32Type>(one))
        }
        DataType::Float64 => {
            let one = |value: f64| if value.is_nan() { f64::NAN } else { value + 0.0 };
            Arc::new(values.as_primitive::<Float64Type>().unary::<_, Float64Type>(one))
        }
        DataType::List(_) => {
            let (field, offsets, elements, nulls) = values.as_list::<i32>().clone().into_parts();
            Arc::new(ListArray::new(field, offsets, comparable(&elements), nulls))
        }
        _ => Arc::clone(values),
    }
}

pub(super) fn is_nan(values: &ArrayRef, place: usize) -> bool {
    match values.data_type() {
        DataType::Float32 => values.as_primitive::<Float32Type>().value(place).is_nan(),
        DataType::Float64 => values.as_primitive::<Float64Type>().value(place).is_nan(),
        _ => false,
    }
}

/// The least or the greatest; NaN only where nothing else is.
pub(crate) fn extreme(greatest: bool) -> Whole {
    Arc::new(move |args, rows| {
        let lists = Lists::of(&args[0]);
        let values = comparable(lists.values());
        let compare = make_comparator(&values, &values, SortOptions::default()).map_err(failure)?;
        picked(&lists, rows, |_, range| {
            let mut best: Option<usize> = None;
            for place in range.filter(|place| values.is_valid(*place)) {
                let wins = best.is_none_or(|best| match (is_nan(&values, best), is_nan(&values, place)) {
                    (was, is) if was != is => was,
                    _ if greatest => compare(place, best).is_gt(),
                    _ => compare(place, best).is_lt(),
                });
                if wins {
                    best = Some(place);
                }
            }
            best
        })
    })
}

/// Whether the second argument, of the type of the elements, is one of them.
pub(crate) fn contains() -> Whole {
    Arc::new(|args, rows| {
        let lists = Lists::of(&args[0]);
        let wanted = args[1].expanded(rows);
        let compare = make_comparator(&comparable(lists.values()), &comparable(&wanted), SortOptions::default());
        let compare = compare.map_err(failure)?;
        let found = |row: usize| {
            let range = lists.get(row).filter(|_| wanted.is_valid(row))?;
            Some(range.into_iter().any(|place| lists.values().is_valid(place) && compare(place, row).is_eq()))
        };
        Ok(Arc::new((0..rows).map(found).collect::<BooleanArray>()))
    })
}

pub(crate) fn sort(descending: bool, nulls_last: bool) -> Whole {
    Arc::new(move |args, rows| {
        let lists = Lists::of(&args[0]);
        let values = comparable(lists.values());
        let options = SortOptions { descending, nulls_first: !nulls_last };
        let compare = make_comparator(&values, &values, options).map_err(failure)?;
        rebuilt(&lists, rows, |_, range| {
            let mut places: Vec<usize> = range.collect();
            places.sort_by(|a, b| compare(*a, *b));
            Some(places)
        })
    })
}

/// The places of the elements in order; equal ones as they stand.
pub(crate) fn arg_sort(descending: bool, nulls_last: bool) -> Whole {
    Arc::new(move |args, rows| {
        let lists = Lists::of(&args[0]);
        let values = comparable(lists.values());
        let options = SortOptions { descending, nulls_first: !nulls_last };
        let compare = make_comparator(&values, &values, options).map_err(failure)?;
        let (mut all, mut lengths, mut valid) = (Vec::new(), Vec::with_capacity(rows), Vec::with_capacity(rows));
        for row in 0..rows {
            let range = lists.get(row);
            valid.push(range.is_some());
            let range = range.unwrap_or(0..0);
            let mut places: Vec<usize> = range.clone().collect();
            places.sort_by(|a, b| compare(*a, *b));
            lengths.push(places.len());
            all.extend(places.into_iter().map(|place| (place - range.start) as i64));
        }
        listed(Arc::new(Int64Array::from(all)), lengths, valid)
    })
}

/// Each distinct element once, where it first stands; null is one of them.
pub(crate) fn unique() -> Whole {
    Arc::new(|args, rows| {
        let lists = Lists::of(&args[0]);
        let values = comparable(lists.values());
        let compare = make_comparator(&values, &values, SortOptions::default()).map_err(failure)?;
        rebuilt(&lists, rows, |_, range| {
            let mut places: Vec<usize> = range.collect();
            // Stable: of equal ones the first comes first, and is kept.
            places.sort_by(|a, b| compare(*a, *b));
            places.dedup_by(|later, kept| compare(*later, *kept).is_eq());
            places.sort_unstable();
            Some(places)
        })
    })
}
