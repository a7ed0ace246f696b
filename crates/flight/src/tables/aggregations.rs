//! Aggregations of requests as the expressions that they mean.
//!
//! Where the clients expect something else than this project's own calls, it is said here: the sum of nothing is null, the
//! least and the greatest of what holds a NaN is NaN, and a percentile is of the type of its column.

use arrow_schema::{DataType, Schema, TimeUnit};
use formula::aggregates::{Interpolation, Part};
use formula::functions::List;
use formula::{Aggregate as Kind, Expr, Function, Literal};
use tonic::Status;

use super::formulas::{Formulas, pair, refused, unknown};
use super::specs::{Aggregate, AggregateSpec, Aggregation, AggregationOf, Percentile, SentinelOf, Sorted};

fn call(function: Function, args: Vec<Expr>) -> Result<Expr, Status> {
    Expr::call(function, args).map_err(|error| refused("agg_by", error))
}

fn aggregate(kind: Kind, of: Expr) -> Result<Expr, Status> {
    Expr::aggregate(kind, [of]).map_err(|error| refused("agg_by", error))
}

fn list(function: List, args: Vec<Expr>) -> Result<Expr, Status> {
    call(Function::List(function), args)
}

/// The value where the condition holds, else null.
fn only_where(condition: Expr, value: Expr) -> Result<Expr, Status> {
    Expr::when(vec![(condition, value)], None).map_err(|error| refused("agg_by", error))
}

/// In how many rows all conditions hold.
pub(super) fn counted(condition: Expr) -> Result<Expr, Status> {
    aggregate(Kind::Count, only_where(condition, Expr::literal(true))?)
}

fn part_of(how: &Percentile) -> Result<Part, Status> {
    let wrong = || refused("agg_by", format!("a percentile lies between 0 and 1: {}", how.part));
    Part::new(how.part).ok_or_else(wrong)
}

/// The value at this part of the way. `how.mean_of_two`: of two in the middle their mean, not the lesser.
fn percentile(of: Expr, given: Option<&DataType>, how: &Percentile) -> Result<Expr, Status> {
    let part = part_of(how)?;
    let is_middle = part == Part::HALF;
    let number = given.is_some_and(|of| of.is_numeric() || *of == DataType::Null);
    let interpolation = if is_middle && how.mean_of_two && number {
        Interpolation::Midpoint
    } else if is_middle {
        Interpolation::Lower
    } else {
        Interpolation::Nearest
    };
    let cast = |of: Expr, to: DataType| of.cast(to, true).map_err(|error| refused("agg_by", error));
    let kind = Kind::Quantile { part, interpolation };
    match given {
        Some(narrow @ (DataType::Float16 | DataType::Float32)) => cast(aggregate(kind, of)?, narrow.clone()),
        // As spans of time numbers are what they were; those of quantiles are rounded to what a Float64 holds.
        Some(whole) if interpolation != Interpolation::Midpoint && fits_span(whole) => {
            let span = cast(cast(of, DataType::Int64)?, DataType::Duration(TimeUnit::Nanosecond))?;
            cast(cast(aggregate(kind, span)?, DataType::Int64)?, whole.clone())
        }
        _ => aggregate(kind, of),
    }
}

/// Whether each value of this type is a whole number of 64 bits with a sign.
fn fits_span(of: &DataType) -> bool {
    of.is_signed_integer() || (of.is_unsigned_integer() && *of != DataType::UInt64)
}

fn in_order(of: Expr, by: &Sorted, place: i64) -> Result<Expr, Status> {
    let [by] = &by.columns[..] else {
        return Err(unknown("agg_by", "sorted_first and sorted_last go by one column"));
    };
    let order = aggregate(Kind::Implode, Expr::column(by.name.as_str()))?;
    let places = list(List::ArgSort { descending: false, nulls_last: false }, vec![order])?;
    let place = list(List::Get, vec![places, Expr::literal(place)])?;
    list(List::Get, vec![aggregate(Kind::Implode, of)?, place])
}

/// Of whole numbers a whole number.
fn weighted_sum(of: Expr, weight: &str, whole: bool) -> Result<Expr, Status> {
    let wide = if whole { DataType::Int64 } else { DataType::Float64 };
    let wide = of.cast(wide, true).map_err(|error| refused("agg_by", error))?;
    aggregate(Kind::Sum { min_count: 1 }, call(Function::Multiply, vec![wide, Expr::column(weight)])?)
}

/// The mean in which each value counts as much as its weight.
pub(super) fn weighted_mean(of: Expr, weight: &str) -> Result<Expr, Status> {
    let weights = only_where(call(Function::IsNotNull, vec![of.clone()])?, Expr::column(weight))?;
    let weights = aggregate(Kind::Sum { min_count: 0 }, weights)?;
    call(Function::Divide, vec![weighted_sum(of, weight, false)?, weights])
}

fn unique(of: Expr, given: Option<&DataType>, with_nulls: bool, sentinel: Option<&SentinelOf>) -> Result<Expr, Status> {
    let sentinel = Expr::Literal(match sentinel {
        // So do clients write truths.
        Some(SentinelOf::Long(number @ (0 | 1))) if given == Some(&DataType::Boolean) => Literal::Bool(*number == 1),
        None | Some(SentinelOf::Null(_)) => Literal::Null,
        Some(SentinelOf::Text(text)) => Literal::Str(text.as_str().into()),
        Some(
            SentinelOf::Int(number) | SentinelOf::Byte(number) | SentinelOf::Short(number) | SentinelOf::Char(number),
        ) => Literal::Int((*number).into()),
        Some(SentinelOf::Long(number)) => Literal::Int(*number),
        Some(SentinelOf::Float(number)) => Literal::Float((*number).into()),
        Some(SentinelOf::Double(number)) => Literal::Float(*number),
        Some(SentinelOf::Bool(truth)) => Literal::Bool(*truth),
    });
    let kind = if with_nulls { Kind::NUnique } else { Kind::CountDistinct };
    let distinct = aggregate(kind, of.clone())?;
    let is_one = call(Function::Equal, vec![distinct.clone(), Expr::literal(1)])?;
    let several = call(Function::Greater, vec![distinct, Expr::literal(1)])?;
    let branches = vec![(is_one, aggregate(Kind::Min, of)?), (several, sentinel.clone())];
    // Nothing but nulls has no value that is the only one.
    let default = (!with_nulls).then_some(sentinel);
    Expr::when(branches, default).map_err(|error| refused("agg_by", error))
}

/// One aggregate of the column of this name.
fn one(spec: &Aggregate, formulas: &Formulas<'_>, name: &str) -> Result<Expr, Status> {
    let (of, given) = (Expr::column(name), formulas.type_of(name));
    let has_nan = given.is_some_and(DataType::is_floating);
    let is_whole = |name: &str| formulas.type_of(name).is_some_and(fits_span);
    match spec {
        Aggregate::AbsSum(_) => aggregate(Kind::Sum { min_count: 1 }, call(Function::Abs, vec![of])?),
        Aggregate::ApproxPercentile(how) => aggregate(Kind::ApproxQuantile { part: part_of(how)? }, of),
        Aggregate::Avg(_) => aggregate(Kind::Mean, of),
        Aggregate::CountDistinct(how) => aggregate(if how.nulls { Kind::NUnique } else { Kind::CountDistinct }, of),
        Aggregate::Distinct(how) => {
            let values = aggregate(Kind::Implode, of)?;
            let values = if how.nulls { values } else { list(List::DropNulls, vec![values])? };
            let sort = List::Sort { descending: false, nulls_last: false };
            list(sort, vec![list(List::Unique, vec![values])?])
        }
        Aggregate::First(_) => aggregate(Kind::First, of),
        Aggregate::Formula(how) => {
            if how.token.is_empty() {
                return Err(refused("agg_by", "a formula over columns names the word that stands for each"));
            }
            formulas.over_groups(&replaced(&how.formula, &how.token, name))
        }
        Aggregate::Freeze(_) => aggregate(Kind::Freeze, of),
        Aggregate::Group(_) => aggregate(Kind::Implode, of),
        Aggregate::Last(_) => aggregate(Kind::Last, of),
        Aggregate::Max(_) => aggregate(if has_nan { Kind::NanMax } else { Kind::Max }, of),
        Aggregate::Median(how) => {
            percentile(of, given, &Percentile { part: Part::HALF.get(), mean_of_two: how.mean_of_two })
        }
        Aggregate::Min(_) => aggregate(if has_nan { Kind::NanMin } else { Kind::Min }, of),
        Aggregate::Percentile(how) => percentile(of, given, how),
        Aggregate::SortedFirst(by) => in_order(of, by, 0),
        Aggregate::SortedLast(by) => in_order(of, by, -1),
        Aggregate::Std(_) => aggregate(Kind::Std { ddof: 1 }, of),
        Aggregate::Sum(_) => aggregate(Kind::Sum { min_count: 1 }, of),
        Aggregate::Digest(_) => Err(unknown("agg_by", "there are no digests; approx_percentile gives their values")),
        Aggregate::Unique(how) => {
            unique(of, given, how.nulls, how.sentinel.as_ref().and_then(|sentinel| sentinel.of.as_ref()))
        }
        Aggregate::WeightedAvg(by) => weighted_mean(of, &by.weight),
        Aggregate::WeightedSum(by) => weighted_sum(of, &by.weight, is_whole(name) && is_whole(&by.weight)),
        Aggregate::Var(_) => aggregate(Kind::Var { ddof: 1 }, of),
    }
}

/// A formula in which a word stands for a column.
pub(super) fn replaced(formula: &str, token: &str, name: &str) -> String {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let (mut made, mut end) = (String::new(), 0);
    for (at, _) in formula.match_indices(token) {
        let behind = &formula[at + token.len()..];
        let alone = !formula[..at].ends_with(is_word) && !behind.starts_with(is_word);
        made.push_str(&formula[end..at]);
        made.push_str(if alone { name } else { token });
        end = at + token.len();
    }
    made + &formula[end..]
}

fn spec_of(spec: Option<&AggregateSpec>) -> Result<&Aggregate, Status> {
    spec.and_then(|spec| spec.of.as_ref()).ok_or_else(|| refused("agg_by", "an aggregation is empty"))
}

/// The expressions of several aggregations.
pub(super) fn expressions(given: &[Aggregation], formulas: &Formulas<'_>) -> Result<Vec<Expr>, Status> {
    let mut made = Vec::new();
    for aggregation in given {
        let of = aggregation.of.as_ref().ok_or_else(|| refused("agg_by", "an aggregation is empty"))?;
        match of {
            AggregationOf::Columns(columns) => {
                let spec = spec_of(columns.spec.as_ref())?;
                if columns.pairs.is_empty() {
                    return Err(refused("agg_by", "an aggregation names no columns; agg_all_by takes all"));
                }
                for text in &columns.pairs {
                    let (new, old) = pair("agg_by", text)?;
                    made.push(one(spec, formulas, &old)?.alias(new));
                }
            }
            AggregationOf::Count(of) if of.name.is_empty() => {
                return Err(refused("agg_by", "count_ has no name for its column"));
            }
            AggregationOf::Count(of) => {
                let count = Expr::aggregate(Kind::Len, []).map_err(|error| refused("agg_by", error))?;
                made.push(count.alias(of.name.as_str()));
            }
            AggregationOf::CountWhere(how) if how.name.is_empty() => {
                return Err(refused("agg_by", "count_where has no name for its column"));
            }
            AggregationOf::CountWhere(how) => {
                made.push(counted(formulas.all_of(&how.filters)?)?.alias(how.name.as_str()));
            }
            AggregationOf::Formula(of) => {
                let text = of.selectable.as_ref().map(|given| given.raw.as_str()).unwrap_or_default();
                let expr = formulas.over_groups(text)?;
                if !matches!(expr, Expr::Alias(..)) {
                    return Err(refused("agg_by", format!("a new column needs a name: New = {text}")));
                }
                made.push(expr);
            }
            AggregationOf::FirstRowKey(_) | AggregationOf::LastRowKey(_) => {
                return Err(unknown("agg_by", "row keys are no values of a table here"));
            }
            AggregationOf::Partition(_) => return Err(unknown("agg_by", "a group is no table here; see partition_by")),
        }
    }
    Ok(made)
}

/// One aggregate of every column that is no key.
pub(super) fn of_all(
    spec: Option<&AggregateSpec>,
    keys: &[String],
    formulas: &Formulas<'_>,
    schema: &Schema,
) -> Result<Vec<Expr>, Status> {
    let spec = spec_of(spec)?;
    let numeric = matches!(
        spec,
        Aggregate::AbsSum(_)
            | Aggregate::ApproxPercentile(_)
            | Aggregate::Avg(_)
            | Aggregate::Std(_)
            | Aggregate::Sum(_)
            | Aggregate::WeightedAvg(_)
            | Aggregate::WeightedSum(_)
            | Aggregate::Var(_)
    );
    let extra = match spec {
        Aggregate::WeightedAvg(by) | Aggregate::WeightedSum(by) => Some(&by.weight),
        _ => None,
    };
    let takes = |of: &DataType| !numeric || of.is_numeric() || *of == DataType::Boolean;
    let fields = schema
        .fields()
        .iter()
        .filter(|field| !keys.contains(field.name()) && extra != Some(field.name()) && takes(field.data_type()));
    let each = fields.map(|field| {
        let name = field.name().as_str();
        Ok(one(spec, formulas, name)?.alias(name))
    });
    let each: Vec<Expr> = each.collect::<Result<_, Status>>()?;
    if each.is_empty() { Err(refused("agg_all_by", "no column is left to aggregate")) } else { Ok(each) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_replaced_where_it_stands_alone() {
        assert_eq!(replaced("sum(each) + each * 2", "each", "x"), "sum(x) + x * 2");
        assert_eq!(replaced("max(x)", "x", "Price"), "max(Price)");
        assert_eq!(replaced("reach + _each + each_", "each", "x"), "reach + _each + each_");
        assert_eq!(replaced("eacheach * each", "each", "x"), "eacheach * x");
        assert_eq!(replaced("", "each", "x"), "");
    }
}
