//! What an operation is asked for, as a value: two requests of one method that ask for one thing of the same inputs are one.

use formula::values::Values;
use formula::{ColumnName, Expr};
use serde::{Serialize, Serializer};

use crate::eval::schedule::ExecutionOrder;
use crate::plan::spec::{
    AsofOptions, BandOptions, EquiOptions, ExplodeOptions, Extent, Keep, Matches, Member, NowOptions, PivotOptions,
    RangeOptions, RollingOptions, SortBy,
};
use crate::plan::standing::Standing;
use crate::plan::update_by::RunningKind;

/// The arguments of an operation, as far as they decide what it makes.
#[derive(Serialize)]
pub(crate) enum Asked<'a> {
    Filter {
        predicates: Expressions<'a>,
        orders: &'a [ExecutionOrder],
    },
    Select {
        columns: Expressions<'a>,
        orders: &'a [ExecutionOrder],
    },
    /// Places in the input, and names.
    Project {
        columns: &'a [(usize, String)],
    },
    /// Columns of the keys and their names.
    Aggregate {
        keys: &'a [(String, String)],
        aggregates: Expressions<'a>,
        standing: Standing,
    },
    GroupLimit {
        keys: &'a [String],
        rows: u64,
        keep: Keep,
    },
    GroupedShift {
        keys: &'a [String],
        shifted: &'a [(String, i64, ColumnName)],
    },
    /// Input, kind and name of each column.
    Running {
        keys: &'a [String],
        made: &'a [(String, RunningKind, ColumnName)],
    },
    Rolling {
        how: &'a RollingOptions,
        aggregates: Expressions<'a>,
    },
    Sessions {
        keys: &'a [String],
        stamp: &'a str,
        gap: i64,
        name: &'a ColumnName,
    },
    Sort {
        by: &'a [SortBy],
    },
    RowKeys {
        name: &'a ColumnName,
    },
    ToldRowKeys {
        name: &'a ColumnName,
    },
    BroughtHome {
        home: &'a ColumnName,
        made: &'a [ColumnName],
    },
    TopK {
        by: &'a [SortBy],
        rows: u64,
    },
    InOrder {
        by: &'a [SortBy],
        checked: bool,
        called: &'a str,
    },
    Slice {
        offset: i64,
        length: Option<u64>,
    },
    Extent(Extent),
    Concat,
    Reverse,
    Flatten,
    Explode(&'a ExplodeOptions),
    Ring {
        rows: u64,
    },
    Kind,
    SnapshotWhen {
        stamps: &'a [String],
        initial: bool,
        incremental: bool,
        history: bool,
    },
    TimeWindow {
        stamp: &'a str,
        span: i64,
        flag: &'a str,
    },
    /// `added`: places in the right input, and names.
    NaturalJoin {
        on: &'a [(String, String)],
        added: &'a [(usize, String)],
        matches: Matches,
        nulls_equal: bool,
    },
    Join(&'a EquiOptions),
    Band(&'a BandOptions),
    WhereIn {
        on: &'a [(String, String)],
        member: Member,
        nulls_equal: bool,
    },
    Asof(&'a AsofOptions),
    Now(&'a NowOptions),
    Pivot {
        how: &'a PivotOptions,
        values: &'a [Values],
    },
    Range {
        how: &'a RangeOptions,
        aggregates: Expressions<'a>,
    },
}

/// Expressions, of whose long lists of values only a digest counts.
pub(crate) struct Expressions<'a>(pub(crate) &'a [Expr]);

impl Serialize for Expressions<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(Expr::digested))
    }
}
