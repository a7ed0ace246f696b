//! Aggregations in the form that older clients send: a kind, columns, and for some a word or a number beside them.

use arrow_schema::Schema;
use formula::Expr;
use tonic::Status;

use super::aggregations;
use super::formulas::{Formulas, refused};
use super::messages::{Combo, ComboPart};
use super::specs::{
    Aggregate, AggregateSpec, Aggregation, AggregationOf, Columns, Median, Named, Percentile, Weighted,
};
use crate::proto::Empty;

pub(super) const METHOD: &str = "combo_agg";

/// How many rows a group has.
const COUNT: i32 = 4;

fn spec(of: &ComboPart) -> Result<AggregateSpec, Status> {
    let empty = Empty {};
    let spec = match of.kind {
        0 => Aggregate::Sum(empty),
        1 => Aggregate::AbsSum(empty),
        2 => Aggregate::Group(empty),
        3 => Aggregate::Avg(empty),
        5 => Aggregate::First(empty),
        6 => Aggregate::Last(empty),
        7 => Aggregate::Min(empty),
        8 => Aggregate::Max(empty),
        9 => Aggregate::Median(Median { mean_of_two: of.mean_of_two }),
        10 => Aggregate::Percentile(Percentile { part: of.percentile, mean_of_two: of.mean_of_two }),
        11 => Aggregate::Std(empty),
        12 => Aggregate::Var(empty),
        13 => Aggregate::WeightedAvg(Weighted { weight: of.column.clone() }),
        other => return Err(refused(METHOD, format!("there is no aggregation {other}"))),
    };
    Ok(AggregateSpec { of: Some(spec) })
}

/// The expressions of all parts. A part without columns is of all that are no keys, if it is the only one.
pub(super) fn aggregates(of: &Combo, formulas: &Formulas<'_>, schema: &Schema) -> Result<Vec<Expr>, Status> {
    if let [part] = &of.aggregates[..]
        && part.pairs.is_empty()
        && part.kind != COUNT
    {
        return aggregations::of_all(Some(&spec(part)?), &of.by, formulas, schema);
    }
    if of.aggregates.is_empty() {
        return Err(refused(METHOD, "there is no aggregation"));
    }
    let one = |part: &ComboPart| {
        let of = match part.kind {
            COUNT => AggregationOf::Count(Named { name: part.column.clone() }),
            _ => AggregationOf::Columns(Columns { spec: Some(spec(part)?), pairs: part.pairs.clone() }),
        };
        Ok(Aggregation { of: Some(of) })
    };
    let each: Vec<Aggregation> = of.aggregates.iter().map(one).collect::<Result<_, Status>>()?;
    aggregations::expressions(&each, formulas)
}
