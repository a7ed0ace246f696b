//! `group_by(…).agg(…)`, `agg_by`: one row a group. By key; the order of rows is `GroupOrder`'s.
//!
//! Over a blink table the aggregation accumulates: give it the table of all rows ever seen.

use crate::ops::groups::groups;
use crate::ops::pairs::{correlation, weighted_variance};
use crate::ops::shape::{kurtosis, skew};
use crate::ops::spread::{covariance, floats, root, variance};
use crate::sum::{allowance, exact_sum};
use crate::table::{Fault, Row, Table};
use crate::value::{Value, order};

/// What is computed of a group.
#[derive(Clone, Debug, PartialEq)]
pub enum Aggregator {
    /// Number of rows.
    Len,
    /// Number of values that are not null.
    Count,
    /// The sum; null of fewer than so many values.
    Sum(u64),
    /// The mean, a Float64.
    Mean,
    /// The least; NaN only if nothing else is there.
    Min,
    /// The greatest; NaN only if nothing else is there.
    Max,
    /// The least; NaN if there is one.
    NanMin,
    /// The greatest; NaN if there is one.
    NanMax,
    /// The variance with these delta degrees of freedom.
    Var(u64),
    /// The standard deviation with these delta degrees of freedom.
    Std(u64),
    /// The third central moment in standard deviations; as an estimate if it says false.
    Skew(bool),
    /// The fourth central moment over the square of the variance, less 3 if the first says so; as an estimate if the
    /// second says false.
    Kurtosis(bool, bool),
    /// The covariance of two columns with these delta degrees of freedom.
    Cov(u64),
    /// The correlation of two columns.
    Corr,
    /// The variance of the first column, each value of which counts as much as its weight in the second.
    WeightedVar,
    /// The standard deviation of the first column, likewise.
    WeightedStd,
    /// The cell of the first row, null included.
    First,
    /// The cell of the last row, null included.
    Last,
    /// Number of distinct values; null is one of them.
    NUnique,
    /// About the number of distinct values: of few rows that number.
    ApproxNUnique,
    /// Number of distinct values without null.
    CountDistinct,
    /// The value in the middle: of numbers the mean of the two, of others the lower one.
    Median,
    /// The value at this part of the way, and what is taken between two.
    Quantile(f64, Between),
    /// The value at this part of the way, the nearest, within 1/512 of itself.
    ApproxQuantile(f64),
    /// The product; integers wrap.
    Product,
    /// All cells in the order of their rows, null included.
    Implode,
    /// The place of the least value, the first of equals; NaN only if nothing else is there.
    ArgMin,
    /// The place of the greatest value, the first of equals; NaN only if nothing else is there.
    ArgMax,
}

impl Aggregator {
    /// The name under which users call it, and its options in order, as text.
    pub fn call(&self) -> (&'static str, Vec<String>) {
        let named = |flag: bool| if flag { "True".to_owned() } else { "False".to_owned() };
        let plain = match self {
            Aggregator::Sum(least) => return ("sum", vec![least.to_string()]),
            Aggregator::Var(ddof) => return ("var", vec![ddof.to_string()]),
            Aggregator::Std(ddof) => return ("std", vec![ddof.to_string()]),
            Aggregator::Skew(bias) => return ("skew", vec![named(*bias)]),
            Aggregator::Kurtosis(fisher, bias) => return ("kurtosis", vec![named(*fisher), named(*bias)]),
            Aggregator::Cov(ddof) => return ("cov", vec![ddof.to_string()]),
            Aggregator::Quantile(part, between) => {
                return ("quantile", vec![format!("{part:?}"), format!("{between:?}").to_lowercase()]);
            }
            Aggregator::ApproxQuantile(part) => return ("approx_quantile", vec![format!("{part:?}")]),
            Aggregator::Corr => "corr",
            Aggregator::WeightedVar => "weighted_var",
            Aggregator::WeightedStd => "weighted_std",
            Aggregator::ApproxNUnique => "approx_n_unique",
            Aggregator::Len => "len",
            Aggregator::Count => "count",
            Aggregator::Mean => "mean",
            Aggregator::Min => "min",
            Aggregator::Max => "max",
            Aggregator::NanMin => "nan_min",
            Aggregator::NanMax => "nan_max",
            Aggregator::First => "first",
            Aggregator::Last => "last",
            Aggregator::NUnique => "n_unique",
            Aggregator::CountDistinct => "count_distinct",
            Aggregator::Median => "median",
            Aggregator::Product => "product",
            Aggregator::Implode => "implode",
            Aggregator::ArgMin => "arg_min",
            Aggregator::ArgMax => "arg_max",
        };
        (plain, Vec::new())
    }

    /// The one that users call `name`, with the options that it has where none is given.
    pub fn named(name: &str) -> Option<Aggregator> {
        use Aggregator::*;
        let all = [
            Len,
            Count,
            Sum(0),
            Mean,
            Min,
            Max,
            NanMin,
            NanMax,
            Var(1),
            Std(1),
            Skew(true),
            Kurtosis(true, true),
            Cov(1),
            Corr,
            WeightedVar,
            WeightedStd,
            ApproxNUnique,
            ApproxQuantile(0.5),
            First,
            Last,
            NUnique,
            CountDistinct,
            Median,
            Quantile(0.5, Between::Nearest),
            Product,
            Implode,
            ArgMin,
            ArgMax,
        ];
        all.into_iter().find(|one| one.call().0 == name)
    }
}

/// What a quantile is between two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Between {
    /// The nearer, of two as near the later.
    Nearest,
    /// The lesser.
    Lower,
    /// The greater.
    Higher,
    /// Their mean.
    Midpoint,
    /// In proportion.
    Linear,
}

/// An output column of an aggregation: `output` = aggregator of its inputs. `Len` reads no column.
#[derive(Clone, Debug)]
pub struct Aggregate {
    /// The name of the result.
    pub output: String,
    /// The columns it reads.
    pub inputs: Vec<String>,
    /// What it computes.
    pub aggregator: Aggregator,
}

impl Aggregate {
    /// `output` = aggregator of `input`.
    pub fn new(output: &str, aggregator: Aggregator, input: &str) -> Aggregate {
        Aggregate::of(output, aggregator, &[input])
    }

    /// `output` = aggregator of these columns.
    pub fn of(output: &str, aggregator: Aggregator, inputs: &[&str]) -> Aggregate {
        let inputs = inputs.iter().map(|input| (*input).to_owned()).collect();
        Aggregate { output: output.to_owned(), inputs, aggregator }
    }

    /// The number of rows.
    pub fn len(output: &str) -> Aggregate {
        Aggregate::new(output, Aggregator::Len, "")
    }
}

/// One row for each group in first-encounter order: the key columns, then the aggregates. With no
/// key: one row, or none over an empty table.
pub fn aggregate(input: &Table, by: &[&str], aggregates: &[Aggregate]) -> Result<Table, Fault> {
    let by: Vec<String> = by.iter().map(|name| (*name).to_owned()).collect();
    let mut names = by.clone();
    names.extend(aggregates.iter().map(|aggregate| aggregate.output.clone()));
    let row_of = |(key, rows): (crate::value::Key, Vec<Row>)| {
        let mut row = key.0;
        for aggregate in aggregates {
            row.push(compute(input, aggregate, &rows)?);
        }
        Ok(row)
    };
    let rows: Result<Vec<Row>, Fault> = groups(input, &by).into_iter().map(row_of).collect();
    Ok(Table::flat(names, rows?))
}

/// The aggregates of all rows, in one row: over an empty table too, where sums and counts are 0.
pub fn totals(input: &Table, aggregates: &[Aggregate]) -> Result<Table, Fault> {
    let rows: Vec<Row> = input.rows.iter().map(|(_, row)| row.clone()).collect();
    let names = aggregates.iter().map(|aggregate| aggregate.output.clone()).collect();
    let row: Result<Row, Fault> = aggregates.iter().map(|aggregate| compute(input, aggregate, &rows)).collect();
    Ok(Table::flat(names, vec![row?]))
}

fn compute(input: &Table, aggregate: &Aggregate, rows: &[Row]) -> Result<Value, Fault> {
    if aggregate.aggregator == Aggregator::Len {
        return Ok(Value::Int(rows.len() as i64));
    }
    let at = input.index_of(&aggregate.inputs[0]);
    let cells: Vec<&Value> = rows.iter().map(|row| &row[at]).collect();
    let values: Vec<&Value> = cells.iter().copied().filter(|cell| !cell.is_null()).collect();
    Ok(match &aggregate.aggregator {
        Aggregator::Len => unreachable!("answered above"),
        Aggregator::Count => Value::Int(values.len() as i64),
        Aggregator::Sum(min_count) if (values.len() as u64) < *min_count => Value::Null,
        Aggregator::Sum(_) => sum(&values)?,
        Aggregator::Mean => mean(&values),
        Aggregator::Min => extreme(&values, false),
        Aggregator::Max => extreme(&values, true),
        Aggregator::NanMin | Aggregator::NanMax if values.iter().any(|value| value.is_nan()) => {
            values.iter().find(|value| value.is_nan()).map_or(Value::Null, |nan| (*nan).clone())
        }
        Aggregator::NanMin => extreme(&values, false),
        Aggregator::NanMax => extreme(&values, true),
        Aggregator::Var(ddof) => variance(&values, *ddof),
        Aggregator::Std(ddof) => root(&variance(&values, *ddof)),
        Aggregator::Skew(bias) => skew(&values, *bias),
        Aggregator::Kurtosis(fisher, bias) => kurtosis(&values, *fisher, *bias),
        Aggregator::Cov(_) | Aggregator::Corr | Aggregator::WeightedVar | Aggregator::WeightedStd => {
            let other = input.index_of(&aggregate.inputs[1]);
            let pairs: Vec<(&Value, &Value)> = rows.iter().map(|row| (&row[at], &row[other])).collect();
            match &aggregate.aggregator {
                Aggregator::Cov(ddof) => covariance(&pairs, *ddof),
                Aggregator::Corr => correlation(&pairs),
                Aggregator::WeightedVar => weighted_variance(&pairs),
                _ => match weighted_variance(&pairs) {
                    // Whether there is a root depends on the last bits.
                    Value::Near(variance, within) if variance < within => Value::Near(f64::NAN, f64::INFINITY),
                    variance => root(&variance),
                },
            }
        }
        Aggregator::First => cells.first().map_or(Value::Null, |cell| (*cell).clone()),
        Aggregator::Last => cells.last().map_or(Value::Null, |cell| (*cell).clone()),
        Aggregator::NUnique | Aggregator::ApproxNUnique => distinct(&cells),
        Aggregator::CountDistinct => distinct(&values),
        Aggregator::Median => match values.first() {
            Some(first) if first.as_number().is_none() => quantile(&values, 0.5, Between::Lower),
            _ => quantile(&values, 0.5, Between::Midpoint),
        },
        Aggregator::Quantile(part, between) => quantile(&values, *part, *between),
        Aggregator::ApproxQuantile(part) => match quantile(&values, *part, Between::Nearest) {
            Value::Float(value) if value.is_finite() => Value::Near(value, value.abs() / 512.0 + 1e-310),
            other => other,
        },
        Aggregator::Product => product(&values),
        Aggregator::Implode => Value::List(cells.into_iter().cloned().collect()),
        Aggregator::ArgMin => place_of(&cells, &extreme(&values, false)),
        Aggregator::ArgMax => place_of(&cells, &extreme(&values, true)),
    })
}

fn distinct(cells: &[&Value]) -> Value {
    let mut sorted = cells.to_vec();
    sorted.sort_by(|a, b| order(a, b));
    sorted.dedup_by(|a, b| order(a, b).is_eq());
    Value::Int(sorted.len() as i64)
}

/// Of numbers a Float64; of others one of the values.
fn quantile(values: &[&Value], part: f64, between: Between) -> Value {
    if values.is_empty() {
        return Value::Null;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| order(a, b));
    let at = (sorted.len() - 1) as f64 * part;
    let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    let rest = at - at.floor();
    let way = match between {
        Between::Nearest if rest >= 0.5 => 1.0,
        Between::Nearest | Between::Lower => 0.0,
        Between::Higher => rest.ceil(),
        Between::Midpoint if rest > 0.0 => 0.5,
        Between::Midpoint => 0.0,
        Between::Linear => rest,
    };
    let (Some(low), Some(high)) = (below.as_number(), above.as_number()) else {
        return if way < 1.0 { below.clone() } else { above.clone() };
    };
    if way == 0.0 || low == high {
        return Value::Float(low);
    }
    if way == 1.0 {
        return Value::Float(high);
    }
    let value = low * (1.0 - way) + high * way;
    Value::Near(value, 8.0 * f64::EPSILON * (low.abs() + high.abs()) + f64::MIN_POSITIVE)
}

fn product(values: &[&Value]) -> Value {
    let Some(first) = values.first() else { return Value::Null };
    match first {
        Value::Bool(_) => Value::Int(i64::from(!values.iter().any(|value| matches!(value, Value::Bool(false))))),
        Value::Int(_) => Value::Int(
            values.iter().filter_map(|value| value.as_integer()).fold(1, |all, x| all.wrapping_mul(x as i64)),
        ),
        Value::UInt(_) => Value::UInt(
            values.iter().filter_map(|value| value.as_integer()).fold(1, |all, x| all.wrapping_mul(x as u64)),
        ),
        _ => {
            let floats = floats(values);
            let (zero, infinite) = (floats.contains(&0.0), floats.iter().any(|x| x.is_infinite()));
            if floats.iter().any(|x| x.is_nan()) || zero && infinite {
                return Value::Float(f64::NAN);
            }
            if zero {
                return Value::Float(0.0);
            }
            let negative = floats.iter().filter(|x| **x < 0.0).count() % 2 == 1;
            let sign = if negative { -1.0 } else { 1.0 };
            if infinite {
                return Value::Float(sign * f64::INFINITY);
            }
            // By logarithms nothing leaves the range on the way; they tell only about how large it is.
            let log: f64 = floats.iter().map(|x| x.abs().log2()).sum();
            if log.abs() > 1_020.0 {
                return Value::Near(sign, f64::INFINITY);
            }
            let mut sorted: Vec<f64> = floats.iter().map(|x| x.abs()).collect();
            sorted.sort_by(f64::total_cmp);
            // The least with the greatest: what is made on the way stays near one.
            let (mut all, mut from, mut to) = (1.0, 0, sorted.len());
            while from < to {
                if all < 1.0 {
                    to -= 1;
                    all *= sorted[to];
                } else {
                    all *= sorted[from];
                    from += 1;
                }
            }
            Value::Near(sign * all, 4.0 * f64::EPSILON * floats.len() as f64 * all + 1e-290)
        }
    }
}

fn place_of(cells: &[&Value], wanted: &Value) -> Value {
    if wanted.is_null() {
        return Value::Null;
    }
    let place = cells.iter().position(|cell| order(cell, wanted).is_eq());
    place.map_or(Value::Null, |place| Value::Int(place as i64))
}

fn sum(values: &[&Value]) -> Result<Value, Fault> {
    let Some(first) = values.first() else {
        return Ok(Value::Int(0));
    };
    let integers = || values.iter().map(|value| value.as_integer().expect("one kind a column"));
    Ok(match first {
        Value::Bool(_) => Value::Int(values.iter().filter(|value| matches!(value, Value::Bool(true))).count() as i64),
        Value::Int(_) => Value::Int(integers().fold(0, i64_wrapping_add)),
        Value::UInt(_) => Value::UInt(integers().fold(0u64, |sum, x| sum.wrapping_add(x as u64))),
        Value::Duration(_) => {
            let total: i128 = values.iter().map(|value| nanoseconds(value)).sum();
            Value::Duration(i64::try_from(total).map_err(|_| Fault("the sum of durations leaves its range".into()))?)
        }
        Value::Decimal(_, scale) => {
            let mut unscaled = values.iter().map(|value| match value {
                Value::Decimal(x, _) => *x,
                _ => 0,
            });
            let most = 10i128.pow(38);
            let total = unscaled.try_fold(0i128, i128::checked_add);
            let total = total.filter(|total| (1 - most..most).contains(total));
            Value::Decimal(total.ok_or_else(|| Fault("the sum has more than 38 digits".into()))?, *scale)
        }
        Value::Float32(_) => {
            let floats = floats(values);
            let exact = exact_sum(&floats);
            Value::Near(f64::from(exact as f32), f64::from(f32::EPSILON) * exact.abs())
        }
        _ => {
            // Exact until it is read: no more than the last bit may differ.
            let exact = exact_sum(&floats(values));
            Value::Near(exact, f64::EPSILON * exact.abs())
        }
    })
}

fn i64_wrapping_add(sum: i64, x: i128) -> i64 {
    sum.wrapping_add(x as i64)
}

fn nanoseconds(value: &Value) -> i128 {
    match value {
        Value::Duration(x) => i128::from(*x),
        _ => 0,
    }
}

fn mean(values: &[&Value]) -> Value {
    if values.is_empty() {
        return Value::Null;
    }
    if let Value::Decimal(_, scale) = values[0] {
        return mean_of_decimals(values, *scale);
    }
    let count = values.len() as f64;
    if values.iter().all(|value| value.as_integer().is_some()) {
        // Of integers from a 128-bit sum: one rounding into a float, one in the division.
        let total: i128 = values.iter().filter_map(|value| value.as_integer()).sum();
        let mean = total as f64 / count;
        return Value::Near(mean, 2.0 * f64::EPSILON * mean.abs());
    }
    let floats = floats(values);
    let total = exact_sum(&floats);
    if total.is_infinite() && floats.iter().all(|x| x.is_finite()) {
        // A sum beyond the floats has a mean within them; dividing first keeps it there.
        let parts: Vec<f64> = floats.iter().map(|x| x / count).collect();
        let mean = exact_sum(&parts);
        return Value::Near(mean, 8.0 * f64::EPSILON * mean.abs() + allowance(&parts));
    }
    let mean = total / count;
    Value::Near(mean, (allowance(&floats) / count).max(2.0 * f64::EPSILON * mean.abs()))
}

/// With four digits more; what lies in the middle goes away from zero.
fn mean_of_decimals(values: &[&Value], scale: i8) -> Value {
    let unscaled = values.iter().map(|value| match value {
        Value::Decimal(x, _) => *x,
        _ => 0,
    });
    let (total, count) = (unscaled.sum::<i128>() * 10_000, values.len() as i128);
    let nearest = (2 * total.abs() + count) / (2 * count);
    Value::Decimal(nearest * total.signum(), scale + 4)
}

fn extreme(values: &[&Value], greatest: bool) -> Value {
    let better = |a: &Value, b: &Value| {
        if greatest { order(a, b).is_gt() } else { order(a, b).is_lt() }
    };
    let choose = |best: Option<Value>, value: &&Value| match best {
        None => Some((*value).clone()),
        Some(best) if best.is_nan() && !value.is_nan() => Some((*value).clone()),
        Some(best) if !value.is_nan() && better(value, &best) => Some((*value).clone()),
        best => best,
    };
    values.iter().fold(None, choose).unwrap_or(Value::Null)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Compare, differences};
    use crate::table::table;

    fn of(aggregator: Aggregator, cells: &[Value]) -> Value {
        let rows: Vec<&[Value]> = cells.chunks(1).collect();
        let result = aggregate(&table(&["x"], &rows), &[], &[Aggregate::new("y", aggregator, "x")]).expect("no fault");
        result.rows[0].1[0].clone()
    }

    fn is(found: Value, wanted: f64) -> bool {
        let cell = |value: Value| table(&["y"], &[&[value]]);
        differences(&cell(found), &cell(wanted.into()), &Compare::ByPosition).is_none()
    }

    #[test]
    fn of_no_value_the_sum_is_zero_the_count_zero_and_all_else_null() {
        let nulls = [Value::Null, Value::Null];
        assert_eq!(of(Aggregator::Sum(0), &nulls).to_string(), "0");
        assert!(of(Aggregator::Sum(1), &nulls).is_null());
        assert_eq!(of(Aggregator::Count, &nulls).to_string(), "0");
        assert_eq!(of(Aggregator::Len, &nulls).to_string(), "2");
        for aggregator in [Aggregator::Mean, Aggregator::Min, Aggregator::Max, Aggregator::Std(1), Aggregator::Var(0)] {
            assert!(of(aggregator, &nulls).is_null());
        }
    }

    #[test]
    fn min_count_counts_values_not_rows() {
        assert!(of(Aggregator::Sum(2), &[1i64.into(), Value::Null]).is_null());
        assert_eq!(of(Aggregator::Sum(2), &[1i64.into(), Value::Null, 2i64.into()]).to_string(), "3");
    }

    #[test]
    fn integer_sums_wrap_and_float_sums_do_not_drift() {
        assert_eq!(of(Aggregator::Sum(0), &[i64::MAX.into(), 1i64.into()]).to_string(), i64::MIN.to_string());
        assert_eq!(of(Aggregator::Sum(0), &[Value::UInt(u64::MAX), Value::UInt(2)]).to_string(), "1u");
        assert!(is(of(Aggregator::Sum(0), &[1e16.into(), 1.0.into(), (-1e16).into()]), 1.0));
        assert_eq!(of(Aggregator::Sum(0), &[true.into(), false.into(), true.into()]).to_string(), "2");
        assert_eq!(of(Aggregator::Sum(0), &[Value::Decimal(105, 2), Value::Decimal(95, 2)]).to_string(), "200e-2");
    }

    #[test]
    fn a_sum_of_durations_out_of_range_is_a_fault() {
        let t = table(&["x"], &[&[Value::Duration(i64::MAX)], &[Value::Duration(1)]]);
        assert!(aggregate(&t, &[], &[Aggregate::new("y", Aggregator::Sum(0), "x")]).is_err());
    }

    #[test]
    fn nan_and_infinities_rule_sums_but_not_extremes() {
        let cells: Vec<Value> = vec![f64::NAN.into(), 2.0.into(), 1.0.into()];
        assert!(is(of(Aggregator::Sum(0), &cells), f64::NAN));
        assert!(is(of(Aggregator::Mean, &cells), f64::NAN));
        assert!(is(of(Aggregator::Var(1), &cells), f64::NAN));
        assert!(is(of(Aggregator::Min, &cells), 1.0));
        assert!(is(of(Aggregator::Max, &cells), 2.0));
        assert!(is(of(Aggregator::Max, &[f64::NAN.into()]), f64::NAN));
        assert!(is(of(Aggregator::NanMax, &[f64::NAN.into(), 1.0.into()]), f64::NAN));
        assert!(is(of(Aggregator::NanMin, &[2.0.into(), 1.0.into()]), 1.0));
        assert!(is(of(Aggregator::Min, &[f64::NAN.into(), f64::INFINITY.into()]), f64::INFINITY));
        assert!(is(of(Aggregator::Sum(0), &[f64::INFINITY.into(), 1.0.into()]), f64::INFINITY));
        assert!(is(of(Aggregator::Std(1), &[f64::INFINITY.into(), 1.0.into()]), f64::NAN));
    }

    #[test]
    fn spread_needs_more_values_than_ddof() {
        assert!(of(Aggregator::Std(1), &[5.0.into()]).is_null());
        assert!(is(of(Aggregator::Std(0), &[5.0.into()]), 0.0));
        assert!(is(of(Aggregator::Var(1), &[1i64.into(), 2i64.into(), 3i64.into(), 4i64.into()]), 5.0 / 3.0));
        assert!(is(of(Aggregator::Var(0), &[1i64.into(), 2i64.into(), 3i64.into(), 4i64.into()]), 1.25));
        assert!(is(of(Aggregator::Std(1), &[2.0.into(), 4.0.into()]), 2f64.sqrt()));
        assert!(of(Aggregator::Var(2), &[2.0.into(), 4.0.into()]).is_null());
    }

    #[test]
    fn constant_values_have_exactly_no_spread() {
        assert_eq!(of(Aggregator::Std(1), &[0.1.into(), 0.1.into(), 0.1.into()]).to_string(), "0.0");
        assert!(is(of(Aggregator::Var(1), &[1e9.into(), (1e9 + 1.0).into(), (1e9 + 2.0).into()]), 1.0));
    }

    #[test]
    fn means_do_not_overflow() {
        assert!(is(of(Aggregator::Mean, &[i64::MAX.into(), i64::MAX.into()]), i64::MAX as f64));
        assert!(is(of(Aggregator::Mean, &[f64::MAX.into(), f64::MAX.into()]), f64::MAX));
        assert!(is(of(Aggregator::Mean, &[true.into(), false.into(), Value::Null, false.into(), false.into()]), 0.25));
    }

    #[test]
    fn means_of_decimals_go_away_from_zero_in_the_middle() {
        let decimals = |numbers: &[i128]| numbers.iter().map(|x| Value::Decimal(*x, 2)).collect::<Vec<Value>>();
        for (numbers, wanted) in
            [(&[100, 200, 200][..], "1666667e-6"), (&[-1, 0], "-5000e-6"), (&[-100, -200, -200], "-1666667e-6")]
        {
            assert_eq!(of(Aggregator::Mean, &decimals(numbers)).to_string(), wanted);
        }
        let half = decimals(&[1].into_iter().chain([0; 31]).collect::<Vec<i128>>());
        assert_eq!(of(Aggregator::Mean, &half).to_string(), "313e-6");
    }

    #[test]
    fn all_rows_are_in_one_row_also_where_there_is_none() {
        let wanted = [
            Aggregate::len("n"),
            Aggregate::new("s", Aggregator::Sum(0), "x"),
            Aggregate::new("m", Aggregator::Max, "x"),
        ];
        let totals = totals(&table(&["x"], &[]), &wanted).expect("no fault");
        assert_eq!(totals.rows[0].1.iter().map(ToString::to_string).collect::<Vec<_>>(), ["0", "0", "null"]);
    }

    #[test]
    fn first_and_last_go_by_row_and_take_nulls() {
        let cells = [Value::Null, 1i64.into(), 2i64.into()];
        assert!(of(Aggregator::First, &cells).is_null());
        assert_eq!(of(Aggregator::Last, &cells).to_string(), "2");
    }

    #[test]
    fn without_a_key_an_empty_table_has_no_row() {
        assert_eq!(aggregate(&table(&["x"], &[]), &[], &[Aggregate::len("n")]).expect("no fault").len(), 0);
    }

    #[test]
    fn a_group_a_row_null_among_them() {
        let t = table(
            &["k", "x"],
            &[
                &["b".into(), 1i64.into()],
                &[Value::Null, 2i64.into()],
                &["b".into(), 3i64.into()],
                &[Value::Null, Value::Null],
            ],
        );
        let found = aggregate(&t, &["k"], &[Aggregate::len("n"), Aggregate::new("s", Aggregator::Sum(0), "x")]);
        assert_eq!(found.expect("no fault").to_string(), "k n s\n0: \"b\" 2 4\n1: null 2 2\n");
    }
}
