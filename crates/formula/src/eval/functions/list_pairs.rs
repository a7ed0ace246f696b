//! Functions of lists of numbers that tell of their spread, alone or beside weights: standard errors, weighted means, variances,
//! covariances. A null is left out, of a pair the other value too. Of too few values they are null.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array};
use arrow_schema::DataType;

use super::declared::{FunctionSpec, Takes, method, of_list};
use super::list::Lists;
use super::reduce::of_floats;
use crate::eval::node::{Argument, Failure, Whole, failure};
use crate::tree::family::Family;
use crate::tree::function::{Function, List};

const LIST: Takes = (1, 1, "a list");
const TWO: Takes = (2, 2, "two lists of equal length");

/// A function of one list of numbers.
macro_rules! of_one {
    ($function:ident, $name:literal, $kernel:expr, $to:ident, $family:ident, $formula:literal, $gives:literal) => {
        method(Function::List(List::$function), $name, LIST, |b, c| {
            b.of_list(c, |l| l.numbers().map(|()| ($kernel, DataType::$to)))
        })
        .always(Family::$family)
        .in_formulas(&[of_list($formula, concat!($formula, "(v)"), $gives)])
    };
}

/// A function of a list of numbers and another.
macro_rules! of_two {
    ($function:ident, $name:literal, $kernel:expr, $formula:literal, $gives:literal) => {
        method(Function::List(List::$function), $name, TWO, |b, c| {
            b.of_list(c, |l| {
                l.numbers()?;
                l.numbers_beside()?;
                Ok((paired($kernel), DataType::Float64))
            })
        })
        .always(Family::Unknown)
        .shown_by(concat!("col(\"v\").", $name, "(col(\"v\"))"))
        .in_formulas(&[of_list($formula, concat!($formula, "(v, v)"), $gives)])
    };
}

pub(crate) const FUNCTIONS: &[FunctionSpec] = &[
    of_one!(
        CountNegative,
        "list.count_negative",
        counted(|x| x < 0.0),
        Int64,
        Integer,
        "countNeg",
        "elements less than 0"
    ),
    of_one!(CountZero, "list.count_zero", counted(|x| x == 0.0), Int64, Integer, "countZero", "elements that are 0"),
    of_one!(Sem, "list.sem", of_spread(|_, error| error), Float64, Unknown, "ste", "standard error of the mean"),
    of_one!(
        TStat,
        "list.t_stat",
        of_spread(|mean, error| mean / error),
        Float64,
        Unknown,
        "tstat",
        "the mean in standard errors"
    ),
    of_two!(WeightedMean, "list.weighted_mean", |p| Weighted::of(p).mean(), "wavg", "mean, by the second's weights"),
    of_two!(
        WeightedSum,
        "list.weighted_sum",
        |p| (!p.is_empty()).then(|| p.iter().map(|(x, w)| x * w).sum()),
        "wsum",
        "sum of products with weights"
    ),
    of_two!(WeightedVar, "list.weighted_var", |p| Weighted::of(p).variance(), "wvar", "variance, by weights"),
    of_two!(
        WeightedStd,
        "list.weighted_std",
        |p| Weighted::of(p).variance().map(f64::sqrt),
        "wstd",
        "standard deviation, by weights"
    ),
    of_two!(
        WeightedSem,
        "list.weighted_sem",
        |p| Weighted::of(p).error(),
        "wste",
        "standard error of the mean, by weights"
    ),
    of_two!(
        WeightedTStat,
        "list.weighted_t_stat",
        |p| Some(Weighted::of(p).mean()? / Weighted::of(p).error()?),
        "wtstat",
        "the mean in standard errors, by weights"
    ),
    of_two!(Cov, "list.cov", covariance, "cov", "covariance, one degree of freedom less"),
    of_two!(Corr, "list.corr", correlation, "cor", "correlation, from -1 to 1"),
];

/// How many numbers are so; NaN is neither.
fn counted(is: fn(f64) -> bool) -> Whole {
    Arc::new(move |args, rows| {
        let lists = Lists::of(&args[0]);
        // A number has the sign of the double that is nearest to it.
        let values = arrow_cast::cast(lists.values(), &DataType::Float64).map_err(failure)?;
        let values = values.as_primitive::<Float64Type>();
        let is = |place: &usize| values.is_valid(*place) && is(values.value(*place));
        let count = |row| Some(lists.get(row)?.filter(is).count() as i64);
        Ok(Arc::new((0..rows).map(count).collect::<Int64Array>()))
    })
}

/// What is made of the mean and its standard error; null of fewer than two.
fn of_spread(make: fn(f64, f64) -> f64) -> Whole {
    Arc::new(move |args, rows| {
        of_floats(args, rows, |_, values| {
            let pairs: Vec<(f64, f64)> = values.into_iter().map(|value| (value, 1.0)).collect();
            let weighted = Weighted::of(&pairs);
            Some(make(weighted.mean()?, weighted.error()?))
        })
    })
}

/// One number of the pairs of a row.
fn paired(of: fn(&[(f64, f64)]) -> Option<f64>) -> Whole {
    Arc::new(move |args, rows| {
        let pairs = Pairs::of(args)?;
        let values = (0..rows).map(|row| Ok(pairs.get(row)?.and_then(|pairs| of(&pairs))));
        Ok(Arc::new(values.collect::<Result<Float64Array, Failure>>()?) as ArrayRef)
    })
}

/// Two lists of numbers, row by row.
struct Pairs {
    lists: [Lists; 2],
    values: [Float64Array; 2],
}

impl Pairs {
    fn of(args: &[Argument]) -> Result<Pairs, Failure> {
        let lists = [Lists::of(&args[0]), Lists::of(&args[1])];
        let numbers = |list: &Lists| {
            let values = arrow_cast::cast(list.values(), &DataType::Float64).map_err(failure)?;
            Ok::<_, Failure>(values.as_primitive::<Float64Type>().clone())
        };
        let values = [numbers(&lists[0])?, numbers(&lists[1])?];
        Ok(Pairs { lists, values })
    }

    /// The pairs without a null; none of a null list.
    fn get(&self, row: usize) -> Result<Option<Vec<(f64, f64)>>, Failure> {
        let Some((first, second)) = self.lists[0].get(row).zip(self.lists[1].get(row)) else { return Ok(None) };
        if first.len() != second.len() {
            let message =
                format!("the lists have {} and {} elements; they must have as many", first.len(), second.len());
            return Err(Failure { row, message, payload: None });
        }
        let value = |of: usize, at: usize| self.values[of].is_valid(at).then(|| self.values[of].value(at));
        Ok(Some(first.zip(second).filter_map(|(one, other)| value(0, one).zip(value(1, other))).collect()))
    }
}

/// Values and their weights.
struct Weighted<'a> {
    pairs: &'a [(f64, f64)],
    weights: f64,
    squares: f64,
}

impl Weighted<'_> {
    fn of(pairs: &[(f64, f64)]) -> Weighted<'_> {
        let weights = pairs.iter().map(|(_, weight)| weight).sum();
        Weighted { pairs, weights, squares: pairs.iter().map(|(_, weight)| weight * weight).sum() }
    }

    fn mean(&self) -> Option<f64> {
        // From the first value on: the mean of values that are all the same is that value.
        let first = self.pairs.first()?.0;
        Some(first + self.pairs.iter().map(|(value, weight)| (value - first) * weight).sum::<f64>() / self.weights)
    }

    /// By reliability: equal weights give the variance of the values.
    fn variance(&self) -> Option<f64> {
        let mean = self.mean().filter(|_| self.pairs.len() > 1)?;
        let squares: f64 = self.pairs.iter().map(|(value, weight)| weight * (value - mean) * (value - mean)).sum();
        Some(squares / (self.weights - self.squares / self.weights))
    }

    fn error(&self) -> Option<f64> {
        Some((self.variance()? * self.squares).sqrt() / self.weights.abs())
    }
}

fn covariance(pairs: &[(f64, f64)]) -> Option<f64> {
    let freedom = pairs.len().checked_sub(1).filter(|freedom| *freedom > 0)?;
    Some(comoment(pairs) / freedom as f64)
}

fn correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    covariance(pairs)?;
    let with_itself = |of: fn(&(f64, f64)) -> f64| comoment(&pairs.iter().map(|p| (of(p), of(p))).collect::<Vec<_>>());
    Some((comoment(pairs) / with_itself(|p| p.0).sqrt() / with_itself(|p| p.1).sqrt()).clamp(-1.0, 1.0))
}

/// The sum of products of what is left without the means. From the first pair on: constant values leave nothing.
fn comoment(pairs: &[(f64, f64)]) -> f64 {
    let (count, (one, other)) = (pairs.len() as f64, pairs[0]);
    let (first, second) = pairs.iter().fold((0.0, 0.0), |sums, (x, y)| (sums.0 + (x - one), sums.1 + (y - other)));
    pairs.iter().map(|(x, y)| (x - one - first / count) * (y - other - second / count)).sum()
}
