//! Values that run on from row to row of their group, under polars' names.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use crate::tree::rolling::Reach;

/// A value of a row that is made of the rows of its group before it, or behind it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Runs {
    /// What it is.
    pub of: RunsOf,
    /// Whether it runs from the last row of the group to the first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub backward: bool,
}

/// What is made of the rows so far.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RunsOf {
    /// The sum of the values; null where the row has none.
    Sum,
    /// Their product.
    Prod,
    /// The least.
    Min,
    /// The greatest.
    Max,
    /// Their mean.
    Mean,
    /// How many there are.
    Count,
    /// The last value, for at most so many rows that have none.
    Fill {
        /// Without one, for all of them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
    },
    /// How many rows ago the last value was.
    Since,
    /// What is between the value before and the value behind.
    Interpolate {
        /// The nearer of the two, not what lies on the line between them.
        nearest: bool,
    },
    /// A statistic of values whose weights fade row by row.
    Ewm(Ewm),
    /// The mean of values that fade with time.
    EwmMeanBy {
        /// After so long half of a value is left.
        half_life: Reach,
    },
    /// The sum of values that fade with time.
    EwmSumBy {
        /// As in `EwmMeanBy`.
        half_life: Reach,
    },
    /// The place of the value among those of its group.
    Rank {
        /// Which of the places of equal values.
        method: Ranking,
        /// Whether the greatest is the first.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        descending: bool,
    },
}

/// How weights fade row by row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ewm {
    /// What is computed with them.
    pub of: EwmOf,
    /// How much of the weight a row takes from those before it.
    pub alpha: f64,
    /// Whether weights are divided by their sum, so that the first rows have no more than theirs.
    pub adjust: bool,
    /// Whether a row without a value is passed over, as if it were not there.
    pub ignore_nulls: bool,
    /// Of fewer values there is no result.
    pub min_samples: u64,
    /// Whether a variance is that of the rows as they are, not of what they are drawn from.
    pub bias: bool,
}

/// What is computed with fading weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EwmOf {
    /// The mean.
    Mean,
    /// The variance.
    Var,
    /// The standard deviation.
    Std,
    /// The sum; it has no weights to adjust.
    Sum,
}

/// Which of the places of equal values each of them has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ranking {
    /// The mean of their places.
    Average,
    /// The first.
    Min,
    /// The last.
    Max,
    /// The first, where equal values take one place.
    Dense,
    /// Each its own, in the order of rows.
    Ordinal,
}

impl Runs {
    /// Whether it goes by an order of its own: that of stamps, or of the values.
    pub fn has_own_order(&self) -> bool {
        matches!(self.of, RunsOf::EwmMeanBy { .. } | RunsOf::EwmSumBy { .. } | RunsOf::Rank { .. })
    }

    /// The name of the method that asks for it.
    pub fn name(&self) -> &'static str {
        match self.of {
            RunsOf::Sum => "cum_sum",
            RunsOf::Prod => "cum_prod",
            RunsOf::Min => "cum_min",
            RunsOf::Max => "cum_max",
            RunsOf::Mean => "cum_mean",
            RunsOf::Count => "cum_count",
            RunsOf::Fill { .. } if self.backward => "backward_fill",
            RunsOf::Fill { .. } => "forward_fill",
            RunsOf::Since => "rows_since_value",
            RunsOf::Interpolate { .. } => "interpolate",
            RunsOf::Ewm(Ewm { of: EwmOf::Mean, .. }) => "ewm_mean",
            RunsOf::Ewm(Ewm { of: EwmOf::Var, .. }) => "ewm_var",
            RunsOf::Ewm(Ewm { of: EwmOf::Std, .. }) => "ewm_std",
            RunsOf::Ewm(Ewm { of: EwmOf::Sum, .. }) => "ewm_sum",
            RunsOf::EwmMeanBy { .. } => "ewm_mean_by",
            RunsOf::EwmSumBy { .. } => "ewm_sum_by",
            RunsOf::Rank { .. } => "rank",
        }
    }

    /// The method as Python writes it. `by`: the stamps.
    pub fn text(&self, by: Option<&str>) -> String {
        let mut text = String::new();
        let flag = |set: bool| if set { "True" } else { "False" };
        // Writing to a text cannot fail.
        let _ = match self.of {
            RunsOf::Fill { limit: Some(limit) } => write!(text, "{limit}"),
            RunsOf::Interpolate { nearest: true } => write!(text, "\"nearest\""),
            RunsOf::Ewm(Ewm { of: EwmOf::Sum, alpha, ignore_nulls, min_samples, .. }) => {
                write!(text, "alpha={alpha:?}, min_samples={min_samples}, ignore_nulls={}", flag(ignore_nulls))
            }
            RunsOf::Ewm(Ewm { of, alpha, adjust, ignore_nulls, min_samples, bias }) => {
                let bias = if of == EwmOf::Mean { String::new() } else { format!(", bias={}", flag(bias)) };
                let (adjust, ignore_nulls) = (flag(adjust), flag(ignore_nulls));
                write!(
                    text,
                    "alpha={alpha:?}, adjust={adjust}{bias}, min_samples={min_samples}, ignore_nulls={ignore_nulls}"
                )
            }
            RunsOf::EwmMeanBy { half_life } | RunsOf::EwmSumBy { half_life } => {
                write!(text, "{}, half_life={half_life}", by.unwrap_or_default())
            }
            RunsOf::Rank { method, descending } => {
                let descending = if descending { ", descending=True" } else { "" };
                write!(text, "\"{}\"{descending}", method.name())
            }
            RunsOf::Fill { limit: None } | RunsOf::Since | RunsOf::Interpolate { nearest: false } => Ok(()),
            _ if self.backward => write!(text, "reverse=True"),
            _ => Ok(()),
        };
        format!("{}({text})", self.name())
    }
}

impl Ranking {
    /// Its name in Python.
    pub fn name(self) -> &'static str {
        match self {
            Ranking::Average => "average",
            Ranking::Min => "min",
            Ranking::Max => "max",
            Ranking::Dense => "dense",
            Ranking::Ordinal => "ordinal",
        }
    }
}
