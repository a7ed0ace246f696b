//! What a node of a plan asks for: an operation with its arguments, without its inputs.
//!
//! An [`Op`] is plain data: it knows no table and no graph, is compared by value and is written as JSON. Methods that ask
//! for one thing under several names (`where` and `filter`, `update` and `with_columns`) make one op.

use formula::Expr;
use formula::values::Values;
use serde::{Deserialize, Serialize};

use super::bounds::{GroupBounds, RowBounds};
use super::input::Input;
use super::spec::{
    AsofOptions, EquiOptions, ExplodeOptions, Extent, Keep, Matches, Materialization, Member, NowOptions, PivotOptions,
    RangeOptions, Recent, RollingOptions, SessionOptions, SortBy, WindowOptions,
};
use super::standing::StandingGroups;
use super::update_by::Operator;
use crate::eval::schedule::ExecutionOrder;
use crate::row_errors::OnError;

/// An operation and its arguments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Op {
    /// A table that is given.
    Input(Input),
    /// The rows for which every predicate is true.
    Filter {
        /// Boolean expressions.
        predicates: Vec<Expr>,
        /// The execution order of functions: one for each predicate, or none.
        #[serde(default, rename = "turns", skip_serializing_if = "Vec::is_empty")]
        orders: Vec<ExecutionOrder>,
        /// What becomes of rows whose predicate fails.
        #[serde(default, skip_serializing_if = "is_default")]
        on_error: OnError,
    },
    /// New columns: after those of the input, or only these.
    Columns {
        /// One expression for each column.
        columns: Vec<Expr>,
        /// Whether the columns of the input stay.
        keep: bool,
        /// The execution order of functions: one for each column, or none.
        #[serde(default, rename = "turns", skip_serializing_if = "Vec::is_empty")]
        orders: Vec<ExecutionOrder>,
        /// What becomes of the values.
        #[serde(default, skip_serializing_if = "is_default")]
        materialization: Materialization,
        /// What becomes of rows whose expression fails.
        #[serde(default, skip_serializing_if = "is_default")]
        on_error: OnError,
        /// Whether a column reads those before it in place of the input's.
        #[serde(default, skip_serializing_if = "is_default")]
        sequential: bool,
    },
    /// Some columns, in this order.
    Choose {
        /// Their names.
        names: Vec<String>,
    },
    /// All columns but some.
    Drop {
        /// The names of those.
        names: Vec<String>,
    },
    /// Other names for some columns.
    Rename {
        /// Old and new names.
        names: Vec<(String, String)>,
    },
    /// The first rows.
    Head {
        /// How many.
        rows: u64,
    },
    /// The last rows.
    Tail {
        /// How many.
        rows: u64,
    },
    /// Rows by position.
    Slice {
        /// Where they begin; from the end if negative.
        offset: i64,
        /// How many; all of the rest without it.
        length: Option<u64>,
    },
    /// Rows by position, both ends of which may depend on how many there are.
    Extent(Extent),
    /// The rows in order.
    Sort {
        /// The columns that decide, the first that differs first.
        by: Vec<SortBy>,
    },
    /// The first rows in order.
    TopK {
        /// The columns that decide, the first that differs first.
        by: Vec<SortBy>,
        /// How many.
        rows: u64,
    },
    /// Rows that are in this order already.
    InOrder {
        /// The columns that decide, the first that differs first.
        by: Vec<SortBy>,
        /// Whether each change is looked at; else it is believed.
        checked: bool,
    },
    /// The rows of inputs that are in this order, in this order.
    MergeSorted {
        /// The columns that decide, the first that differs first.
        by: Vec<SortBy>,
    },
    /// The rows in the opposite order.
    Reverse,
    /// The rows at keys that are their positions.
    Flatten,
    /// A row for each value of lists.
    Explode(ExplodeOptions),
    /// The rows of the first input as they were when the second last changed.
    SnapshotWhen {
        /// The columns of the second whose last values stand beside them.
        stamps: Vec<String>,
        /// Whether rows are there before it changes.
        initial: bool,
        /// Whether only what changed since the last time is copied.
        incremental: bool,
        /// Whether earlier copies stay.
        history: bool,
    },
    /// A column that says of each row whether its stamp is recent.
    TimeWindow {
        /// The column of stamps.
        stamp: String,
        /// How long ago the window begins, in nanoseconds.
        span: i64,
        /// The name of the new column.
        flag: String,
    },
    /// Rows of the input as they are, and up to which time they have come.
    Watermark {
        /// The column of stamps.
        stamp: String,
        /// How late rows may come, in nanoseconds.
        delay: i64,
        /// After how long without a row others do not wait for it, in nanoseconds.
        #[serde(default, skip_serializing_if = "is_default")]
        idle_after: Option<i64>,
    },
    /// The last rows that ever came.
    Ring {
        /// How many.
        rows: u64,
    },
    /// A table that only grows, from its recent rows on.
    MostRecent {
        /// The columns that make groups.
        by: Vec<String>,
        /// Which rows of each it begins with.
        recent: Recent,
    },
    /// All rows of a blink table that ever came.
    BlinkToAppendOnly,
    /// The rows of each step, for one step.
    AddOnlyToBlink,
    /// The rows of a blink table as those of any other.
    RemoveBlink,
    /// The rows of all inputs, one after another.
    Concat,
    /// One row a group.
    Aggregate {
        /// The keys.
        keys: Vec<Expr>,
        /// Expressions over aggregates.
        aggregates: Vec<Expr>,
        /// What becomes of rows that cannot be computed.
        #[serde(default, skip_serializing_if = "is_default")]
        on_error: OnError,
    },
    /// One row a group, where groups may be there without rows.
    StandingGroups(StandingGroups),
    /// One row for each group and each window of time that holds a row of it.
    Windows {
        /// Which windows.
        how: WindowOptions,
        /// The keys.
        keys: Vec<Expr>,
        /// Expressions over aggregates.
        aggregates: Vec<Expr>,
        /// What becomes of rows that cannot be computed, or have no time.
        #[serde(default, skip_serializing_if = "is_default")]
        on_error: OnError,
    },
    /// One row for each session of each group.
    Session {
        /// Which sessions.
        how: SessionOptions,
        /// The keys.
        keys: Vec<Expr>,
        /// Expressions over aggregates.
        aggregates: Vec<Expr>,
        /// What becomes of rows that cannot be computed, or have no time.
        #[serde(default, skip_serializing_if = "is_default")]
        on_error: OnError,
    },
    /// One row for each tuple of keys.
    Distinct {
        /// The columns that decide; all if there are none.
        keys: Vec<String>,
        /// Which row stays.
        keep: Keep,
        /// Which of them are held.
        #[serde(default, skip_serializing_if = "is_default")]
        bounds: GroupBounds,
    },
    /// The rows that what stands on them holds.
    HeldRows(RowBounds),
    /// The first rows of each group, or the last, in groups.
    GroupLimit {
        /// The columns that make groups.
        keys: Vec<String>,
        /// How many of each.
        rows: u64,
        /// At which end.
        keep: Keep,
    },
    /// New columns over the rows of each group.
    UpdateBy {
        /// The columns that make groups; all rows are one without any.
        by: Vec<String>,
        /// What each new column is of; behind these, if it resets, the condition.
        inputs: Vec<Expr>,
        /// The new columns.
        operators: Vec<Operator>,
        /// Whether all of them begin anew in each row of its group in which the last input is true.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        resets: bool,
        /// Which groups are held.
        #[serde(default, skip_serializing_if = "is_default")]
        bounds: GroupBounds,
        /// What becomes of rows that cannot be computed.
        #[serde(default, skip_serializing_if = "is_default")]
        on_error: OnError,
    },
    /// Left rows with their one match.
    NaturalJoin {
        /// Left and right names of the keys.
        on: Vec<(String, String)>,
        /// New and old names of right columns; all but the keys without it.
        joins: Option<Vec<(String, String)>>,
        /// What is appended to a right name that the left table has too.
        suffix: Option<String>,
        /// What a second match means.
        matches: Matches,
        /// Whether null equals null.
        nulls_equal: bool,
        /// What becomes of rows with several matches, where one is allowed.
        #[serde(default, skip_serializing_if = "is_default")]
        on_error: OnError,
    },
    /// The rows whose key is in the second input, or is not.
    WhereIn {
        /// Names of the keys: of the rows, and of the set.
        on: Vec<(String, String)>,
        /// Which rows stay.
        member: Member,
        /// Whether null equals null.
        nulls_equal: bool,
    },
    /// A row for each pair of rows with equal keys.
    Join(EquiOptions),
    /// Left rows with the right row nearest in order.
    AsofJoin(AsofOptions),
    /// Left rows, each with the right row that it meets as it comes.
    JoinNow(NowOptions),
    /// Left rows with aggregates of the right rows in their range.
    RangeJoin {
        /// Keys and ranges.
        how: RangeOptions,
        /// Expressions over aggregates of the right table.
        aggregates: Vec<Expr>,
        /// What becomes of right rows that cannot be computed.
        #[serde(default, skip_serializing_if = "is_default")]
        on_error: OnError,
    },
    /// A row for each key, with a column for each aggregate and each listed value.
    Pivot {
        /// Keys, the columns that are turned, and names.
        how: PivotOptions,
        /// For each column that is turned, its values that become columns.
        values: Vec<Values>,
        /// Expressions over aggregates.
        aggregates: Vec<Expr>,
        /// What becomes of rows that cannot be computed.
        #[serde(default, skip_serializing_if = "is_default")]
        on_error: OnError,
    },
    /// The columns of a table, then aggregates of windows that move along with each row.
    Rolling {
        /// Keys and windows.
        how: RollingOptions,
        /// Expressions over aggregates.
        aggregates: Vec<Expr>,
        /// What becomes of rows that cannot be computed.
        #[serde(default, skip_serializing_if = "is_default")]
        on_error: OnError,
    },
    /// The pairs of rows for which every predicate is true.
    JoinWhere {
        /// Boolean expressions over the columns of both tables.
        predicates: Vec<Expr>,
        /// Appended to the name of a right column that the left table has too.
        suffix: String,
        /// What becomes of pairs that cannot be computed.
        #[serde(default, skip_serializing_if = "is_default")]
        on_error: OnError,
    },
    /// A row for each key of any input, with the row that each input has for it.
    MultiJoin {
        /// The keys, which all inputs have.
        on: Vec<String>,
        /// Whether null equals null.
        nulls_equal: bool,
        /// Appended to a name that an earlier input has too; none: such a name is an error.
        #[serde(default, skip_serializing_if = "is_default")]
        suffix: Option<String>,
    },
    /// The rows of one input that have the newest id that all inputs have for their key.
    SyncFilter {
        /// The keys, which all inputs have.
        keys: Vec<String>,
        /// The column of ids of each input.
        ids: Vec<String>,
        /// Of which input.
        which: usize,
    },
    /// The last rows of the first input all of whose ids the others have, or the rows that they want of another.
    SyncLeader {
        /// The keys, which all inputs have.
        keys: Vec<String>,
        /// For each other input, the column of the first and its own.
        ids: Vec<(String, String)>,
        /// Of which input.
        which: usize,
    },
}

fn sorted_by(by: &[SortBy]) -> String {
    let one = |by: &SortBy| {
        let descending = if by.descending { " descending" } else { "" };
        let last = if by.nulls_last { " nulls last" } else { "" };
        format!("{:?}{descending}{last}", by.column)
    };
    by.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Op {
    /// The method that asks for it, where the caller's own is not known.
    pub fn method(&self) -> &'static str {
        match self {
            Op::Input(_) => "input",
            Op::Filter { .. } => "filter",
            Op::Columns { keep: true, .. } => "with_columns",
            Op::Columns { .. } | Op::Choose { .. } => "select",
            Op::Drop { .. } => "drop",
            Op::Rename { .. } => "rename",
            Op::Head { .. } => "head",
            Op::Tail { .. } => "tail",
            Op::Slice { .. } => "slice",
            Op::Extent(extent) => extent.method(),
            Op::Sort { .. } => "sort",
            Op::TopK { .. } => "top_k",
            Op::InOrder { checked: true, .. } => "assert_sorted",
            Op::InOrder { .. } => "with_order_for_column",
            Op::MergeSorted { .. } => "merge_sorted",
            Op::Reverse => "reverse",
            Op::Flatten => "flatten",
            Op::Explode(_) => "explode",
            Op::SnapshotWhen { .. } => "snapshot_when",
            Op::TimeWindow { .. } => "time_window",
            Op::Watermark { .. } => "watermark",
            Op::Ring { .. } => "ring_table",
            Op::MostRecent { recent: Recent::Rows(_), .. } => "most_recent_rows",
            Op::MostRecent { .. } => "most_recent",
            Op::BlinkToAppendOnly => "blink_to_append_only",
            Op::AddOnlyToBlink => "add_only_to_blink",
            Op::RemoveBlink => "remove_blink",
            Op::Concat => "concat",
            Op::Aggregate { .. } | Op::StandingGroups(_) => "agg",
            Op::Windows { .. } => "group_by_dynamic",
            Op::Session { .. } => "session",
            Op::Distinct { .. } => "unique",
            Op::HeldRows(_) => "join",
            Op::GroupLimit { keep: Keep::First, .. } => "head_by",
            Op::GroupLimit { .. } => "tail_by",
            Op::UpdateBy { .. } => "update_by",
            Op::NaturalJoin { .. } => "natural_join",
            Op::WhereIn { member: Member::In, .. } => "where_in",
            Op::WhereIn { .. } => "where_not_in",
            Op::Join(_) => "join",
            Op::AsofJoin(_) => "join_asof",
            Op::JoinNow(NowOptions::Natural { .. }) => "join_now",
            Op::JoinNow(NowOptions::Asof(_)) => "join_asof_now",
            Op::RangeJoin { .. } => "range_join",
            Op::Pivot { .. } => "pivot",
            Op::Rolling { .. } => "rolling",
            Op::JoinWhere { .. } => "join_where",
            Op::MultiJoin { .. } => "multi_join",
            Op::SyncFilter { .. } => "sync_filter",
            Op::SyncLeader { .. } => "sync_to_leader",
        }
    }

    /// How many tables it stands on, besides the sets in its expressions; none if any number does.
    pub fn arity(&self) -> Option<usize> {
        match self {
            Op::Input(_) => Some(0),
            Op::Concat | Op::MultiJoin { .. } | Op::MergeSorted { .. } => None,
            Op::SyncFilter { .. } | Op::SyncLeader { .. } => None,
            Op::NaturalJoin { .. } | Op::WhereIn { .. } | Op::Join(_) | Op::AsofJoin(_) => Some(2),
            Op::StandingGroups(how) => Some(how.arity()),
            Op::RangeJoin { .. } | Op::JoinWhere { .. } | Op::JoinNow(_) | Op::SnapshotWhen { .. } => Some(2),
            _ => Some(1),
        }
    }

    /// Its expressions.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        let (first, second): (&[Expr], &[Expr]) = match self {
            Op::Filter { predicates, .. } | Op::JoinWhere { predicates, .. } => (predicates, &[]),
            Op::Columns { columns, .. } => (columns, &[]),
            Op::Aggregate { keys, aggregates, .. } | Op::StandingGroups(StandingGroups { keys, aggregates, .. }) => {
                (keys, aggregates)
            }
            Op::RangeJoin { aggregates, .. } | Op::Pivot { aggregates, .. } => (aggregates, &[]),
            Op::Rolling { aggregates, .. } => (aggregates, &[]),
            Op::UpdateBy { inputs, .. } => (inputs, &[]),
            Op::Windows { keys, aggregates, .. } | Op::Session { keys, aggregates, .. } => (keys, aggregates),
            _ => (&[], &[]),
        };
        first.iter().chain(second)
    }

    /// Replaces each expression, in the order of [`Op::expressions`].
    pub fn map_expressions(mut self, map: &mut impl FnMut(&Expr) -> Expr) -> Op {
        let mut each = |expressions: &mut Vec<Expr>| expressions.iter_mut().for_each(|one| *one = map(one));
        match &mut self {
            Op::Filter { predicates, .. } | Op::JoinWhere { predicates, .. } => each(predicates),
            Op::Columns { columns, .. } => each(columns),
            Op::RangeJoin { aggregates, .. } | Op::Pivot { aggregates, .. } => each(aggregates),
            Op::Rolling { aggregates, .. } => each(aggregates),
            Op::UpdateBy { inputs, .. } => each(inputs),
            Op::Aggregate { keys, aggregates, .. }
            | Op::StandingGroups(StandingGroups { keys, aggregates, .. })
            | Op::Windows { keys, aggregates, .. }
            | Op::Session { keys, aggregates, .. } => {
                each(keys);
                each(aggregates);
            }
            _ => {}
        }
        self
    }

    /// The arguments as a reader of Python knows them.
    pub fn text(&self) -> String {
        let python = |all: &[Expr]| all.iter().map(Expr::to_python).collect::<Vec<_>>().join(", ");
        let quoted = |all: &[String]| all.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
        let keys = |on: &[(String, String)]| {
            let pair = |(left, right): &(String, String)| {
                if left == right { format!("{left:?}") } else { format!("\"{left} = {right}\"") }
            };
            on.iter().map(pair).collect::<Vec<_>>().join(", ")
        };
        match self {
            Op::Input(input) => input.shown_schema(),
            Op::Filter { predicates, .. } | Op::JoinWhere { predicates, .. } => python(predicates),
            Op::Columns { columns, .. } => python(columns),
            Op::Choose { names } | Op::Drop { names } | Op::MultiJoin { on: names, .. } => quoted(names),
            Op::Rename { names } => {
                names.iter().map(|(old, new)| format!("{old:?} to {new:?}")).collect::<Vec<_>>().join(", ")
            }
            Op::Head { rows } | Op::Tail { rows } | Op::Ring { rows } => rows.to_string(),
            Op::Slice { offset, length: None } => offset.to_string(),
            Op::Slice { offset, length: Some(length) } => format!("{offset}, {length}"),
            Op::Extent(Extent::Between { start, stop }) => format!("start {start}, stop {stop}"),
            Op::Extent(extent) => extent.parts().iter().map(f64::to_string).collect::<Vec<_>>().join(", "),
            Op::SnapshotWhen { stamps, initial, incremental, history } => {
                let flags = [(initial, "initial"), (incremental, "incremental"), (history, "history")];
                let set = flags.iter().filter(|(set, _)| **set).map(|(_, name)| format!("{name}=True"));
                stamps.iter().map(|name| format!("{name:?}")).chain(set).collect::<Vec<_>>().join(", ")
            }
            Op::Watermark { stamp, delay, idle_after: None } => format!("{stamp:?}, delay {delay} ns"),
            Op::Watermark { stamp, delay, idle_after: Some(after) } => {
                format!("{stamp:?}, delay {delay} ns, idle after {after} ns")
            }
            Op::TimeWindow { stamp, span, flag } => format!("{stamp:?}, {span} ns, {flag:?}"),
            Op::Sort { by } | Op::InOrder { by, .. } | Op::MergeSorted { by } => sorted_by(by),
            Op::TopK { by, rows } => format!("{rows}, {}", sorted_by(by)),
            Op::Explode(how) => quoted(&how.columns),
            Op::Reverse | Op::Flatten | Op::Concat => String::new(),
            Op::BlinkToAppendOnly | Op::AddOnlyToBlink | Op::RemoveBlink => String::new(),
            Op::Aggregate { keys, aggregates, .. } => format!("[{}]: {}", python(keys), python(aggregates)),
            Op::StandingGroups(how) => how.text(),
            Op::Windows { how, keys, aggregates, .. } => {
                format!("{:?} every {:?}, [{}]: {}", how.stamp, how.every, python(keys), python(aggregates))
            }
            Op::Session { how, keys, aggregates, .. } => {
                format!("{:?} gap {} ns, [{}]: {}", how.stamp, how.gap, python(keys), python(aggregates))
            }
            Op::Distinct { keys, keep, bounds } => {
                let keep = if *keep == Keep::First { "first" } else { "last" };
                format!("{}{}keep {keep}{}", quoted(keys), if keys.is_empty() { "" } else { ", " }, bounds.text())
            }
            Op::HeldRows(bounds) => bounds.text(),
            Op::MostRecent { by, recent: Recent::Rows(rows) } => format!("{rows}, by {}", quoted(by)),
            Op::MostRecent { by, recent: Recent::Span { stamp, nanos } } => {
                format!("{stamp:?}, {nanos} ns, by {}", quoted(by))
            }
            Op::GroupLimit { keys, rows, .. } => format!("{rows}, {}", quoted(keys)),
            Op::UpdateBy { by, inputs, operators, resets, bounds, .. } => {
                let one = |(operator, input): (&Operator, &Expr)| operator.text(input);
                let mut made = operators.iter().zip(inputs).map(one).collect::<Vec<_>>().join(", ");
                if !by.is_empty() {
                    made = format!("{made}, by {}", quoted(by));
                }
                match inputs.last().filter(|_| *resets) {
                    Some(reset) => format!("{made}, anew at {}{}", reset.to_python(), bounds.text()),
                    None => made + &bounds.text(),
                }
            }
            Op::SyncFilter { keys, ids, which } => format!("table {which}, by {}, ids {}", quoted(keys), quoted(ids)),
            Op::SyncLeader { keys: by, ids, which } => format!("table {which}, by {}, ids {}", quoted(by), keys(ids)),
            Op::NaturalJoin { on, .. } | Op::WhereIn { on, .. } => keys(on),
            Op::JoinNow(NowOptions::Natural { on, .. }) => keys(on),
            Op::Join(how) if how.on.is_empty() => format!("how {}", how.how.name()),
            Op::Join(how) => format!("{}, how {}", keys(&how.on), how.how.name()),
            Op::RangeJoin { how, aggregates, .. } => {
                let by = if how.by.is_empty() { String::new() } else { format!("{}, ", keys(&how.by)) };
                format!("{by}{:?}: {}", how.text(), python(aggregates))
            }
            Op::Pivot { how, aggregates, .. } => {
                format!("{} by {}: {}", quoted(&how.on), quoted(&how.index), python(aggregates))
            }
            Op::Rolling { how, aggregates, .. } => format!("{}: {}", how.text(), python(aggregates)),
            Op::AsofJoin(how) | Op::JoinNow(NowOptions::Asof(how)) => {
                let by = if how.by.is_empty() { String::new() } else { format!(", by {}", keys(&how.by)) };
                format!("{}{by}", keys(std::slice::from_ref(&how.on)))
            }
        }
    }
}
