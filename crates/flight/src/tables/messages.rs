//! The requests of tables, by field numbers. Requests of one form share a message.

use bytes::Bytes;
use prost::{Message, Oneof};

use super::conditions::{Condition, Written};
use super::specs::{AggregateSpec, Aggregation, UpdateByOperation};
use crate::proto::Ticket;

/// A table: by its ticket, or by its place among the operations of a batch.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TableReference {
    #[prost(oneof = "Reference", tags = "1, 2")]
    pub(crate) reference: Option<Reference>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Reference {
    #[prost(message, tag = "1")]
    Ticket(Ticket),
    #[prost(sint32, tag = "2")]
    Place(i32),
}

/// What is said of a table that was made, or could not be.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Created {
    #[prost(message, optional, tag = "1")]
    pub(crate) result_id: Option<TableReference>,
    #[prost(bool, tag = "2")]
    pub(crate) success: bool,
    #[prost(string, tag = "3")]
    pub(crate) error_info: String,
    #[prost(bytes = "bytes", tag = "4")]
    pub(crate) schema_header: Bytes,
    #[prost(bool, tag = "5")]
    pub(crate) is_static: bool,
    /// The number of rows; -1 for a step of a batch of which no table is made.
    #[prost(sint64, tag = "6")]
    pub(crate) size: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Batch {
    #[prost(message, repeated, tag = "1")]
    pub(crate) ops: Vec<Request>,
}

/// One operation: of a batch, or by itself.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Request {
    #[prost(
        oneof = "Operation",
        tags = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 21, 22, 23, 24, 25, 26, 27, 28, 30, 31, \
                32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44"
    )]
    pub(crate) operation: Option<Operation>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Operation {
    #[prost(message, tag = "1")]
    Empty(Empty),
    #[prost(message, tag = "2")]
    Time(Time),
    #[prost(message, tag = "3")]
    Drop(OfTexts),
    #[prost(message, tag = "4")]
    Update(OfTexts),
    #[prost(message, tag = "5")]
    LazyUpdate(OfTexts),
    #[prost(message, tag = "6")]
    View(OfTexts),
    #[prost(message, tag = "7")]
    UpdateView(OfTexts),
    #[prost(message, tag = "8")]
    Select(OfTexts),
    #[prost(message, tag = "9")]
    SelectDistinct(OfTexts),
    #[prost(message, tag = "10")]
    Filter(Filter),
    #[prost(message, tag = "11")]
    Where(OfTexts),
    #[prost(message, tag = "12")]
    Sort(Sort),
    #[prost(message, tag = "13")]
    Head(OfRows),
    #[prost(message, tag = "14")]
    Tail(OfRows),
    #[prost(message, tag = "15")]
    HeadBy(OfRows),
    #[prost(message, tag = "16")]
    TailBy(OfRows),
    #[prost(message, tag = "17")]
    Ungroup(Ungroup),
    #[prost(message, tag = "18")]
    Merge(Merge),
    #[prost(message, tag = "19")]
    ComboAggregate(Combo),
    #[prost(message, tag = "21")]
    Flatten(Plain),
    #[prost(message, tag = "22")]
    Downsample(Plain),
    #[prost(message, tag = "23")]
    CrossJoin(Join),
    #[prost(message, tag = "24")]
    NaturalJoin(Join),
    #[prost(message, tag = "25")]
    ExactJoin(Join),
    #[prost(message, tag = "26")]
    LeftJoin(Join),
    #[prost(message, tag = "27")]
    AsOfJoin(Join),
    #[prost(message, tag = "28")]
    Fetch(Fetch),
    #[prost(message, tag = "30")]
    Preview(Fetch),
    #[prost(message, tag = "31")]
    InputTable(InputTable),
    #[prost(message, tag = "32")]
    UpdateBy(UpdateBy),
    #[prost(message, tag = "33")]
    WhereIn(WhereIn),
    #[prost(message, tag = "34")]
    AggregateAll(AggregateAll),
    #[prost(message, tag = "35")]
    Aggregate(Aggregate),
    #[prost(message, tag = "36")]
    Snapshot(Plain),
    #[prost(message, tag = "37")]
    SnapshotWhen(SnapshotWhen),
    #[prost(message, tag = "38")]
    Meta(Plain),
    #[prost(message, tag = "39")]
    RangeJoin(RangeJoin),
    #[prost(message, tag = "40")]
    Aj(Ordered),
    #[prost(message, tag = "41")]
    Raj(Ordered),
    #[prost(message, tag = "42")]
    Statistics(Statistics),
    #[prost(message, tag = "43")]
    MultiJoin(MultiJoin),
    #[prost(message, tag = "44")]
    Slice(Slice),
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Empty {
    #[prost(message, optional, tag = "1")]
    pub(crate) result: Option<Ticket>,
    #[prost(sint64, tag = "2")]
    pub(crate) size: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Time {
    #[prost(message, optional, tag = "1")]
    pub(crate) result: Option<Ticket>,
    #[prost(sint64, tag = "2")]
    pub(crate) start_nanos: i64,
    #[prost(sint64, tag = "3")]
    pub(crate) period_nanos: i64,
    #[prost(bool, tag = "4")]
    pub(crate) blink: bool,
    #[prost(string, tag = "5")]
    pub(crate) start: String,
    #[prost(string, tag = "6")]
    pub(crate) period: String,
}

/// A table, and nothing else that matters.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Plain {
    #[prost(message, optional, tag = "1")]
    pub(crate) result: Option<Ticket>,
    #[prost(message, optional, tag = "2")]
    pub(crate) source: Option<TableReference>,
}

/// A table, with names or formulas.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct OfTexts {
    #[prost(message, optional, tag = "1")]
    pub(crate) result: Option<Ticket>,
    #[prost(message, optional, tag = "2")]
    pub(crate) source: Option<TableReference>,
    #[prost(string, repeated, tag = "3")]
    pub(crate) texts: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Filter {
    #[prost(message, optional, tag = "1")]
    pub(crate) result: Option<Ticket>,
    #[prost(message, optional, tag = "2")]
    pub(crate) source: Option<TableReference>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) filters: Vec<Condition>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Sort {
    #[prost(message, optional, tag = "1")]
    pub(crate) result: Option<Ticket>,
    #[prost(message, optional, tag = "2")]
    pub(crate) source: Option<TableReference>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) sorts: Vec<SortBy>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct SortBy {
    #[prost(string, tag = "1")]
    pub(crate) column: String,
    #[prost(bool, tag = "2")]
    pub(crate) absolute: bool,
    /// -1: descending, 1: ascending, 2: the rows as they stand, in the opposite order.
    #[prost(int32, tag = "3")]
    pub(crate) direction: i32,
}

/// A table and a number of rows, of each group if there are keys.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct OfRows {
    #[prost(message, optional, tag = "1")]
    pub(crate) result: Option<Ticket>,
    #[prost(message, optional, tag = "2")]
    pub(crate) source: Option<TableReference>,
    #[prost(sint64, tag = "3")]
    pub(crate) rows: i64,
    #[prost(string, repeated, tag = "4")]
    pub(crate) by: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Ungroup {
    #[prost(message, optional, tag = "1")]
    pub(crate) result: Option<Ticket>,
    #[prost(message, optional, tag = "2")]
    pub(crate) source: Option<TableReference>,
    #[prost(bool, tag = "3")]
    pub(crate) null_fill: bool,
    #[prost(string, repeated, tag = "4")]
    pub(crate) columns: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Merge {
    #[prost(message, optional, tag = "1")]
    pub(crate) result: Option<Ticket>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) sources: Vec<TableReference>,
    #[prost(string, tag = "3")]
    pub(crate) key: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Join {
    #[prost(message, optional, tag = "1")]
    pub(crate) result: Option<Ticket>,
    #[prost(message, optional, tag = "2")]
    pub(crate) left: Option<TableReference>,
    #[prost(message, optional, tag = "3")]
    pub(crate) right: Option<TableReference>,
    #[prost(string, repeated, tag = "4")]
    pub(crate) on: Vec<String>,
    #[prost(string, repeated, tag = "5")]
    pub(crate) add: Vec<String>,
    /// Of a natural join, what several matches mean.
    #[prost(int32, tag = "6")]
    pub(crate) kind: i32,
    /// Of a join in order, which match is taken.
    #[prost(int32, tag = "7")]
    pub(crate) rule: i32,
}

/// A join in order.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Ordered {
    #[prost(message, optional, tag = "1")]
    pub(crate) result: Option<Ticket>,
    #[prost(message, optional, tag = "2")]
    pub(crate) left: Option<TableReference>,
    #[prost(message, optional, tag = "3")]
    pub(crate) right: Option<TableReference>,
    #[prost(string, repeated, tag = "4")]
    pub(crate) on: Vec<String>,
    #[prost(string, tag = "5")]
    pub(crate) as_of: String,
    #[prost(string, repeated, tag = "6")]
    pub(crate) add: Vec<String>,
}

/// Its source stands before its result.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Fetch {
    #[prost(message, optional, tag = "1")]
    pub(crate) source: Option<TableReference>,
    #[prost(message, optional, tag = "2")]
    pub(crate) result: Option<Ticket>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct InputTable {
    #[prost(message, optional, tag = "1")]
    pub(crate) result: Option<Ticket>,
    #[prost(message, optional, tag = "2")]
    pub(crate) source: Option<TableReference>,
    #[prost(bytes = "bytes", tag = "3")]
    pub(crate) schema: Bytes,
    #[prost(message, optional, tag = "4")]
    pub(crate) kind: Option<InputKind>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct InputKind {
    #[prost(message, optional, tag = "1")]
    pub(crate) append: Option<crate::proto::Empty>,
    #[prost(message, optional, tag = "2")]
    pub(crate) keyed: Option<Keys>,
    #[prost(message, optional, tag = "3")]
    pub(crate) blink: Option<crate::proto::Empty>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Keys {
    #[prost(string, repeated, tag = "1")]
    pub(crate) columns: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct UpdateBy {
    #[prost(message, optional, tag = "1")]
    pub(crate) result: Option<Ticket>,
    #[prost(message, optional, tag = "2")]
    pub(crate) source: Option<TableReference>,
    #[prost(message, repeated, tag = "4")]
    pub(crate) operations: Vec<UpdateByOperation>,
    #[prost(string, repeated, tag = "5")]
    pub(crate) by: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct WhereIn {
    #[prost(message, optional, tag = "1")]
    pub(crate) result: Option<Ticket>,
    #[prost(message, optional, tag = "2")]
    pub(crate) left: Option<TableReference>,
    #[prost(message, optional, tag = "3")]
    pub(crate) right: Option<TableReference>,
    #[prost(bool, tag = "4")]
    pub(crate) inverted: bool,
    #[prost(string, repeated, tag = "5")]
    pub(crate) on: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct AggregateAll {
    #[prost(message, optional, tag = "1")]
    pub(crate) result: Option<Ticket>,
    #[prost(message, optional, tag = "2")]
    pub(crate) source: Option<TableReference>,
    #[prost(message, optional, tag = "3")]
    pub(crate) spec: Option<AggregateSpec>,
    #[prost(string, repeated, tag = "4")]
    pub(crate) by: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Aggregate {
    #[prost(message, optional, tag = "1")]
    pub(crate) result: Option<Ticket>,
    #[prost(message, optional, tag = "2")]
    pub(crate) source: Option<TableReference>,
    #[prost(message, optional, tag = "3")]
    pub(crate) initial: Option<TableReference>,
    #[prost(bool, tag = "4")]
    pub(crate) preserve_empty: bool,
    #[prost(message, repeated, tag = "5")]
    pub(crate) aggregations: Vec<Aggregation>,
    #[prost(string, repeated, tag = "6")]
    pub(crate) by: Vec<String>,
}

/// Aggregations in the older form.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Combo {
    #[prost(message, optional, tag = "1")]
    pub(crate) result: Option<Ticket>,
    #[prost(message, optional, tag = "2")]
    pub(crate) source: Option<TableReference>,
    #[prost(message, repeated, tag = "3")]
    pub(crate) aggregates: Vec<ComboPart>,
    #[prost(string, repeated, tag = "4")]
    pub(crate) by: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ComboPart {
    /// In the order of [`combos`](super::combos).
    #[prost(int32, tag = "1")]
    pub(crate) kind: i32,
    #[prost(string, repeated, tag = "2")]
    pub(crate) pairs: Vec<String>,
    /// Of a count its name, of a weighted mean its weight.
    #[prost(string, tag = "3")]
    pub(crate) column: String,
    #[prost(double, tag = "4")]
    pub(crate) percentile: f64,
    #[prost(bool, tag = "5")]
    pub(crate) mean_of_two: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Statistics {
    #[prost(message, optional, tag = "1")]
    pub(crate) result: Option<Ticket>,
    #[prost(message, optional, tag = "2")]
    pub(crate) source: Option<TableReference>,
    #[prost(string, tag = "3")]
    pub(crate) column: String,
    #[prost(int32, optional, tag = "4")]
    pub(crate) values: Option<i32>,
}

/// Where a value is looked for.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Seek {
    #[prost(message, optional, tag = "1")]
    pub(crate) source: Option<Ticket>,
    #[prost(sint64, tag = "2")]
    pub(crate) from: i64,
    #[prost(string, tag = "3")]
    pub(crate) column: String,
    #[prost(message, optional, tag = "4")]
    pub(crate) value: Option<Written>,
    #[prost(bool, tag = "5")]
    pub(crate) ignore_case: bool,
    #[prost(bool, tag = "6")]
    pub(crate) contains: bool,
    #[prost(bool, tag = "7")]
    pub(crate) backward: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Found {
    #[prost(sint64, tag = "1")]
    pub(crate) row: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct SnapshotWhen {
    #[prost(message, optional, tag = "1")]
    pub(crate) result: Option<Ticket>,
    #[prost(message, optional, tag = "2")]
    pub(crate) base: Option<TableReference>,
    #[prost(message, optional, tag = "3")]
    pub(crate) trigger: Option<TableReference>,
    #[prost(bool, tag = "4")]
    pub(crate) initial: bool,
    #[prost(bool, tag = "5")]
    pub(crate) incremental: bool,
    #[prost(bool, tag = "6")]
    pub(crate) history: bool,
    #[prost(string, repeated, tag = "7")]
    pub(crate) stamps: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct RangeJoin {
    #[prost(message, optional, tag = "1")]
    pub(crate) result: Option<Ticket>,
    #[prost(message, optional, tag = "2")]
    pub(crate) left: Option<TableReference>,
    #[prost(message, optional, tag = "3")]
    pub(crate) right: Option<TableReference>,
    #[prost(string, repeated, tag = "4")]
    pub(crate) on: Vec<String>,
    #[prost(string, tag = "5")]
    pub(crate) start: String,
    #[prost(int32, tag = "6")]
    pub(crate) start_rule: i32,
    #[prost(string, tag = "7")]
    pub(crate) at: String,
    #[prost(int32, tag = "8")]
    pub(crate) end_rule: i32,
    #[prost(string, tag = "9")]
    pub(crate) end: String,
    #[prost(message, repeated, tag = "10")]
    pub(crate) aggregations: Vec<Aggregation>,
    #[prost(string, tag = "11")]
    pub(crate) range: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct MultiJoin {
    #[prost(message, optional, tag = "1")]
    pub(crate) result: Option<Ticket>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) inputs: Vec<MultiJoinInput>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct MultiJoinInput {
    #[prost(message, optional, tag = "1")]
    pub(crate) source: Option<TableReference>,
    #[prost(string, repeated, tag = "2")]
    pub(crate) on: Vec<String>,
    #[prost(string, repeated, tag = "3")]
    pub(crate) add: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Slice {
    #[prost(message, optional, tag = "1")]
    pub(crate) result: Option<Ticket>,
    #[prost(message, optional, tag = "2")]
    pub(crate) source: Option<TableReference>,
    #[prost(sint64, tag = "3")]
    pub(crate) from: i64,
    #[prost(sint64, tag = "4")]
    pub(crate) to: i64,
}
