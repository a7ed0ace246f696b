//! The columns that `update_by` makes beside the rows of a table, as values.

use formula::{Ewm, EwmOf, Expr};
use serde::{Deserialize, Serialize};

/// One new column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Operator {
    /// Its name.
    pub output: String,
    /// What it is of the input that stands at its place among the inputs of the call.
    pub kind: OperatorKind,
}

/// What a new column is, by the node that makes it. All of one kind are made by one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperatorKind {
    /// A value that runs from the first row of the group on.
    Running(RunningKind),
    /// The input itself, whose neighbours and aggregates are those of the group.
    Value,
}

/// What runs on from row to row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RunningKind {
    /// What is known of the values so far.
    Cumulative {
        /// What that is.
        of: Cumulative,
        /// Whether a row without a value has none; else it has that of the row before.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        null_at_null: bool,
    },
    /// The last value that is not null.
    ForwardFill,
    /// The last value that is not null, for at most so many rows that have none.
    Fill {
        /// How many.
        limit: u64,
    },
    /// How many rows ago the last value was that is not null.
    Since,
    /// A statistic of values whose weights fade with each row.
    Ewm(Ewm),
    /// A value that fades.
    Decay {
        /// How values that come meet it.
        of: Decay,
        /// By what it fades.
        clock: Clock,
        /// What null and NaN do.
        #[serde(default)]
        control: Control,
    },
}

/// What is known of the values so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cumulative {
    /// Their sum.
    Sum,
    /// Their product.
    Product,
    /// The least.
    Min,
    /// The greatest.
    Max,
    /// Their mean.
    Mean,
    /// How many there are.
    Count,
    /// How many of them are true.
    CountTrue,
}

/// How values meet one that fades.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decay {
    /// A mean, in which a value weighs what has faded.
    Mean,
    /// A sum.
    Sum,
    /// The lesser of both.
    Min,
    /// The greater of both.
    Max,
    /// The standard deviation about the fading mean.
    Std,
}

/// By what a value fades to the e-th part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Clock {
    /// So many rows.
    Ticks(f64),
    /// So much time.
    Time {
        /// The column of stamps.
        stamp: String,
        /// In nanoseconds; of whole numbers a thousand millionth of one is one.
        nanos: f64,
        /// Whether it was given as a number, which stamps of whole numbers need.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        counted: bool,
    },
}

/// What a null and a NaN do to a value that fades.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Control {
    /// What a null does.
    #[serde(default)]
    pub on_null: BadData,
    /// What a NaN does.
    #[serde(default)]
    pub on_nan: BadData,
}

/// What a cell without a number does to a value that fades.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BadData {
    /// It is passed over.
    #[default]
    Skip,
    /// The value begins anew behind it.
    Reset,
    /// The table fails.
    Throw,
    /// The value is NaN from there on.
    Poison,
    /// It is passed over, and its row has no value.
    Null,
}

impl RunningKind {
    /// The name of the function of `tf.update_by` that asks for it.
    pub fn name(&self) -> &'static str {
        match self {
            RunningKind::Cumulative { of, .. } => match of {
                Cumulative::Sum => "cum_sum",
                Cumulative::Product => "cum_prod",
                Cumulative::Min => "cum_min",
                Cumulative::Max => "cum_max",
                Cumulative::Mean => "cum_mean",
                Cumulative::Count => "cum_count",
                Cumulative::CountTrue => "cum_count_where",
            },
            RunningKind::ForwardFill | RunningKind::Fill { .. } => "forward_fill",
            RunningKind::Since => "rows_since_value",
            RunningKind::Ewm(Ewm { of: EwmOf::Mean, .. }) => "ewm_mean",
            RunningKind::Ewm(Ewm { of: EwmOf::Var, .. }) => "ewm_var",
            RunningKind::Ewm(Ewm { of: EwmOf::Std, .. }) => "ewm_std",
            RunningKind::Ewm(Ewm { of: EwmOf::Sum, .. }) => "ewm_sum",
            RunningKind::Decay { of, clock, .. } => match (of, clock) {
                (Decay::Mean, Clock::Ticks(_)) => "ema_tick",
                (Decay::Mean, Clock::Time { .. }) => "ema_time",
                (Decay::Sum, Clock::Ticks(_)) => "ems_tick",
                (Decay::Sum, Clock::Time { .. }) => "ems_time",
                (Decay::Min, Clock::Ticks(_)) => "emmin_tick",
                (Decay::Min, Clock::Time { .. }) => "emmin_time",
                (Decay::Max, Clock::Ticks(_)) => "emmax_tick",
                (Decay::Max, Clock::Time { .. }) => "emmax_time",
                (Decay::Std, Clock::Ticks(_)) => "emstd_tick",
                (Decay::Std, Clock::Time { .. }) => "emstd_time",
            },
        }
    }
}

impl Operator {
    /// The column as a reader of Python knows it: `total = cum_sum(col("x"))`.
    pub(super) fn text(&self, input: &Expr) -> String {
        let Operator { output, kind } = self;
        match kind {
            OperatorKind::Running(kind) => format!("{output} = {}({})", kind.name(), input.to_python()),
            OperatorKind::Value => format!("{output} = {}", input.to_python()),
        }
    }
}
