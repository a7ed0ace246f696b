//! What is asked of groups and of running rows, as messages.

use prost::{Message, Oneof};

use crate::proto::Empty;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct AggregateSpec {
    #[prost(
        oneof = "Aggregate",
        tags = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23"
    )]
    pub(crate) of: Option<Aggregate>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Aggregate {
    #[prost(message, tag = "1")]
    AbsSum(Empty),
    #[prost(message, tag = "2")]
    ApproxPercentile(Percentile),
    #[prost(message, tag = "3")]
    Avg(Empty),
    #[prost(message, tag = "4")]
    CountDistinct(WithNulls),
    #[prost(message, tag = "5")]
    Distinct(WithNulls),
    #[prost(message, tag = "6")]
    First(Empty),
    #[prost(message, tag = "7")]
    Formula(FormulaOfEach),
    #[prost(message, tag = "8")]
    Freeze(Empty),
    #[prost(message, tag = "9")]
    Group(Empty),
    #[prost(message, tag = "10")]
    Last(Empty),
    #[prost(message, tag = "11")]
    Max(Empty),
    #[prost(message, tag = "12")]
    Median(Median),
    #[prost(message, tag = "13")]
    Min(Empty),
    #[prost(message, tag = "14")]
    Percentile(Percentile),
    #[prost(message, tag = "15")]
    SortedFirst(Sorted),
    #[prost(message, tag = "16")]
    SortedLast(Sorted),
    #[prost(message, tag = "17")]
    Std(Empty),
    #[prost(message, tag = "18")]
    Sum(Empty),
    #[prost(message, tag = "19")]
    Digest(Empty),
    #[prost(message, tag = "20")]
    Unique(Unique),
    #[prost(message, tag = "21")]
    WeightedAvg(Weighted),
    #[prost(message, tag = "22")]
    WeightedSum(Weighted),
    #[prost(message, tag = "23")]
    Var(Empty),
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct WithNulls {
    #[prost(bool, tag = "1")]
    pub(crate) nulls: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Percentile {
    #[prost(double, tag = "1")]
    pub(crate) part: f64,
    /// Whether it is the mean of the two values in the middle, where there are two.
    #[prost(bool, tag = "2")]
    pub(crate) mean_of_two: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Median {
    #[prost(bool, tag = "1")]
    pub(crate) mean_of_two: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct FormulaOfEach {
    #[prost(string, tag = "1")]
    pub(crate) formula: String,
    #[prost(string, tag = "2")]
    pub(crate) token: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Sorted {
    #[prost(message, repeated, tag = "1")]
    pub(crate) columns: Vec<SortedBy>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct SortedBy {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Weighted {
    #[prost(string, tag = "1")]
    pub(crate) weight: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Unique {
    #[prost(bool, tag = "1")]
    pub(crate) nulls: bool,
    #[prost(message, optional, tag = "2")]
    pub(crate) sentinel: Option<Sentinel>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Sentinel {
    #[prost(oneof = "SentinelOf", tags = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10")]
    pub(crate) of: Option<SentinelOf>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum SentinelOf {
    #[prost(int32, tag = "1")]
    Null(i32),
    #[prost(string, tag = "2")]
    Text(String),
    #[prost(sint32, tag = "3")]
    Int(i32),
    #[prost(sint64, tag = "4")]
    Long(i64),
    #[prost(float, tag = "5")]
    Float(f32),
    #[prost(double, tag = "6")]
    Double(f64),
    #[prost(bool, tag = "7")]
    Bool(bool),
    #[prost(sint32, tag = "8")]
    Byte(i32),
    #[prost(sint32, tag = "9")]
    Short(i32),
    #[prost(sint32, tag = "10")]
    Char(i32),
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Aggregation {
    #[prost(oneof = "AggregationOf", tags = "1, 2, 3, 4, 5, 6, 7")]
    pub(crate) of: Option<AggregationOf>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum AggregationOf {
    #[prost(message, tag = "1")]
    Columns(Columns),
    #[prost(message, tag = "2")]
    Count(Named),
    #[prost(message, tag = "3")]
    FirstRowKey(Named),
    #[prost(message, tag = "4")]
    LastRowKey(Named),
    #[prost(message, tag = "5")]
    Partition(Named),
    #[prost(message, tag = "6")]
    Formula(Selected),
    #[prost(message, tag = "7")]
    CountWhere(CountWhere),
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Columns {
    #[prost(message, optional, tag = "1")]
    pub(crate) spec: Option<AggregateSpec>,
    #[prost(string, repeated, tag = "2")]
    pub(crate) pairs: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Named {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Selected {
    #[prost(message, optional, tag = "1")]
    pub(crate) selectable: Option<Raw>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Raw {
    #[prost(string, tag = "1")]
    pub(crate) raw: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct CountWhere {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(string, repeated, tag = "2")]
    pub(crate) filters: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct UpdateByOperation {
    #[prost(message, optional, tag = "1")]
    pub(crate) column: Option<UpdateByColumn>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct UpdateByColumn {
    #[prost(message, optional, tag = "1")]
    pub(crate) spec: Option<UpdateBySpec>,
    #[prost(string, repeated, tag = "2")]
    pub(crate) pairs: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct UpdateBySpec {
    #[prost(
        oneof = "Running",
        tags = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23"
    )]
    pub(crate) of: Option<Running>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Running {
    #[prost(message, tag = "1")]
    Sum(Empty),
    #[prost(message, tag = "2")]
    Min(Empty),
    #[prost(message, tag = "3")]
    Max(Empty),
    #[prost(message, tag = "4")]
    Product(Empty),
    #[prost(message, tag = "5")]
    Fill(Empty),
    #[prost(message, tag = "6")]
    Ema(Fading),
    #[prost(message, tag = "7")]
    RollingSum(Rolling),
    #[prost(message, tag = "8")]
    RollingGroup(Rolling),
    #[prost(message, tag = "9")]
    RollingAvg(Rolling),
    #[prost(message, tag = "10")]
    RollingMin(Rolling),
    #[prost(message, tag = "11")]
    RollingMax(Rolling),
    #[prost(message, tag = "12")]
    RollingProduct(Rolling),
    #[prost(message, tag = "13")]
    Delta(Delta),
    #[prost(message, tag = "14")]
    Ems(Fading),
    #[prost(message, tag = "15")]
    EmMin(Fading),
    #[prost(message, tag = "16")]
    EmMax(Fading),
    #[prost(message, tag = "17")]
    EmStd(Fading),
    #[prost(message, tag = "18")]
    RollingCount(Rolling),
    #[prost(message, tag = "19")]
    RollingStd(Rolling),
    #[prost(message, tag = "20")]
    RollingWeighted(RollingNamed),
    #[prost(message, tag = "21")]
    RollingFormula(RollingNamed),
    #[prost(message, tag = "22")]
    RollingCountWhere(RollingWhere),
    #[prost(message, tag = "23")]
    CountWhere(CountWhere),
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Fading {
    #[prost(message, optional, tag = "1")]
    pub(crate) options: Option<FadingOptions>,
    #[prost(message, optional, tag = "2")]
    pub(crate) window: Option<Scale>,
}

/// What bad data does: 0 is the default, 1 the table fails, 2 begins anew, 3 is passed over, 4 is NaN from there on.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct FadingOptions {
    #[prost(int32, tag = "1")]
    pub(crate) on_null: i32,
    #[prost(int32, tag = "2")]
    pub(crate) on_nan: i32,
    #[prost(int32, tag = "3")]
    pub(crate) on_null_time: i32,
    #[prost(int32, tag = "4")]
    pub(crate) on_negative_time: i32,
    #[prost(int32, tag = "5")]
    pub(crate) on_zero_time: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Scale {
    #[prost(oneof = "ScaleOf", tags = "1, 2")]
    pub(crate) of: Option<ScaleOf>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum ScaleOf {
    #[prost(message, tag = "1")]
    Ticks(Ticks),
    #[prost(message, tag = "2")]
    Time(TimeScale),
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Ticks {
    #[prost(double, tag = "1")]
    pub(crate) ticks: f64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TimeScale {
    #[prost(string, tag = "1")]
    pub(crate) column: String,
    #[prost(sint64, tag = "2")]
    pub(crate) nanos: i64,
    #[prost(string, tag = "3")]
    pub(crate) text: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Rolling {
    #[prost(message, optional, tag = "1")]
    pub(crate) reverse: Option<Scale>,
    #[prost(message, optional, tag = "2")]
    pub(crate) forward: Option<Scale>,
}

/// A window, with the name of a column or a formula.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct RollingNamed {
    #[prost(message, optional, tag = "1")]
    pub(crate) reverse: Option<Scale>,
    #[prost(message, optional, tag = "2")]
    pub(crate) forward: Option<Scale>,
    #[prost(string, tag = "3")]
    pub(crate) text: String,
    #[prost(string, tag = "4")]
    pub(crate) token: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct RollingWhere {
    #[prost(message, optional, tag = "1")]
    pub(crate) reverse: Option<Scale>,
    #[prost(message, optional, tag = "2")]
    pub(crate) forward: Option<Scale>,
    #[prost(string, tag = "3")]
    pub(crate) name: String,
    #[prost(string, repeated, tag = "4")]
    pub(crate) filters: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Delta {
    #[prost(message, optional, tag = "1")]
    pub(crate) options: Option<DeltaOptions>,
}

/// 0 and 1: null where the row before has no value; 2: the value itself, 3: zero.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct DeltaOptions {
    #[prost(int32, tag = "1")]
    pub(crate) nulls: i32,
}
