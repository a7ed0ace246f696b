//! The table of aggregators: which state each has.

use arrow_schema::DataType;
use formula::Aggregate;

use super::accumulators::{Comoments, Correlation, Spread, Weighted};
use super::count::Counting;
use super::extreme;
use super::moments::{Pairs, Spreads};
use super::sketched::{Bucketed, Hashed};
use super::state::{PerGroup, State};
use super::unique::Distinct;
use super::{product, ranked, sum};
use crate::error::Error;

/// The state of an aggregator over cells of this type. `retractable`: whether cells may leave. `still`: whether all enter before
/// the first result is read, and none leaves.
pub(crate) fn state_of(
    kind: &Aggregate,
    input: &DataType,
    retractable: bool,
    still: bool,
) -> Result<Box<dyn State>, Error> {
    let output = kind.output_type(input)?;
    Ok(match kind {
        Aggregate::Count => PerGroup::boxed(Counting),
        Aggregate::Sum { min_count } => sum::state(input, &output, *min_count),
        Aggregate::Mean => sum::mean(input, &output),
        Aggregate::Std { ddof } => PerGroup::boxed(Spreads(Spread { ddof: *ddof, root: true })),
        Aggregate::Var { ddof } => PerGroup::boxed(Spreads(Spread { ddof: *ddof, root: false })),
        Aggregate::Cov { ddof } => PerGroup::boxed(Pairs::<Comoments>(*ddof)),
        Aggregate::Corr => PerGroup::boxed(Pairs::<Correlation>(())),
        Aggregate::WeightedVar => PerGroup::boxed(Pairs::<Weighted>(false)),
        Aggregate::WeightedStd => PerGroup::boxed(Pairs::<Weighted>(true)),
        Aggregate::ApproxNUnique => PerGroup::boxed(Hashed::new(input)?),
        Aggregate::ApproxQuantile { part } => PerGroup::boxed(Bucketed { part: part.get() }),
        Aggregate::Min | Aggregate::Max | Aggregate::NanMin | Aggregate::NanMax => {
            extreme::state(kind, input, retractable)
        }
        Aggregate::NUnique | Aggregate::CountDistinct => {
            Box::new(Distinct::new(input, *kind == Aggregate::NUnique, still))
        }
        Aggregate::Median => ranked::median(input, &output),
        Aggregate::Quantile { part, interpolation } => ranked::state(input, &output, *part, *interpolation),
        Aggregate::Product => product::state(&output),
        Aggregate::Len
        | Aggregate::First
        | Aggregate::Last
        | Aggregate::Freeze
        | Aggregate::Implode
        | Aggregate::Skew { .. }
        | Aggregate::Kurtosis { .. }
        | Aggregate::ArgMin
        | Aggregate::ArgMax => {
            return Err(Error::internal("group_by", format!("{} has no state of its own", kind.name())));
        }
    })
}
