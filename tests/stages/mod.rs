//! One operation of a random graph: its parameters, drawn where its result is defined, and what engine and model make
//! of it.
//!
//! A stage that depends on row order is not put above a grouped result (whose order depends on history), and no float
//! sum (exact only within bounds) is compared, sorted by or grouped by.

mod build;
pub mod draw;

use std::collections::BTreeSet;

use engine::plan::{Bound, Extent, How, Keep, Matches, Op, RunningKind, Strategy, Validate};
use engine::testing::random::KINDS;
use engine::testing::{TableSpec, Tape, table_of};
use formula::RunsOf;
use model::{Compare, ops};

use crate::expressions::{Both, Expressions, Kind};

/// Name, function and columns of an aggregated output.
pub type Aggregated = (String, ops::Aggregator, Vec<String>);

/// One operation with its parameters.
#[derive(Clone, Debug)]
pub enum Stage {
    Filter(Both),
    WithColumns(String, Both),
    /// `with_columns` of an expression that may read other rows.
    Neighbours(String, Both),
    /// A column that is computed on read: by `update_view`, or by `lazy_update` (once for each distinct input) if true.
    View(String, Both, bool),
    /// Names and expressions of all columns of the result.
    Select(Vec<(String, Both)>),
    /// An operation over one table that has nothing to draw, and the model's.
    Plain(Op, fn(&model::Table) -> model::Table),
    Choose(Vec<String>),
    Drop(String),
    Rename(String, String),
    Head(u64),
    Tail(u64),
    Slice(i64, Option<u64>),
    /// Rows by position, where both ends may go with their number.
    Extent(Extent),
    /// The table, then what of it passes.
    Concat(Both),
    /// The table, then another of the same columns.
    Stack,
    /// Key columns; name, function and column of each output; whether groups have bounds, where the input takes any.
    Group(Vec<String>, Vec<Aggregated>, bool),
    /// Key columns, the column whose values become columns, those values with their names, and the aggregate.
    Pivot(Vec<String>, String, Vec<(model::Value, String)>, Aggregated),
    /// The windows, the key columns and the outputs.
    Windows(ops::TimeWindows, Vec<Aggregated>),
    /// The column of times, the gap, the key columns and the outputs.
    Session(String, i64, Vec<String>, Vec<Aggregated>),
    /// Aggregates as in `Group`, as columns beside the rows of each group.
    Over(Vec<String>, Vec<Aggregated>),
    /// Key columns, the column whose value is taken from a row of the group, how far before, and the name of the result.
    ShiftOver(Vec<String>, String, i64, String),
    /// Key columns; for each new column what it is of, what runs over it here and in the model, and its name; and whether groups
    /// have bounds, as in `Group`.
    UpdateBy(Vec<String>, Vec<(String, RunningKind, ops::Running, String)>, bool),
    /// Key columns, the order in which rows are taken, whether from the last one on, the column that runs, how it does here and in
    /// the model, and the name of the result.
    Runs(Vec<String>, Vec<ops::SortBy>, bool, String, RunsOf, ops::Running, String),
    /// Key columns, the column of stamps of a window between stamps, how far it reaches back and ahead, of how few values there is
    /// no result, and the outputs.
    Rolling(Vec<String>, Option<String>, [i64; 2], u64, Vec<Aggregated>),
    /// All distinct rows.
    Unique,
    /// The first row, or the last, of each key; and whether groups have bounds, as in `Group`.
    Pick(Vec<String>, Keep, bool),
    /// So many rows at one end of each group.
    GroupLimit(Vec<String>, u64, Keep),
    /// Columns of lists; whether an empty list gives a row, whether a null does, whether shorter lists are filled up.
    Explode(Vec<String>, bool, bool, bool),
    /// Columns, each with whether it descends and whether its nulls come last.
    Sort(Vec<(String, bool, bool)>),
    /// As in `Sort`: the rows in this order, which are asserted to be in it.
    InOrder(Vec<(String, bool, bool)>),
    /// As in `Sort`: the rows in this order, and of them those that pass.
    MergeSorted(Vec<(String, bool, bool)>, Both),
    /// As in `Sort`, and how many of the first rows.
    TopK(Vec<(String, bool, bool)>, u64),
    /// Key columns of both sides, the name of what the right's `w` becomes, and what a second match means.
    Natural(Vec<(String, String)>, String, Matches),
    /// Key columns of both sides, the name of what the right's `w` becomes, which rows there are, whether null equals null, and
    /// how many rows a key may have.
    Join(Vec<(String, String)>, String, How, bool, Validate),
    /// What the right's `w` and `g` become, and the predicates.
    JoinWhere([String; 2], Vec<Both>),
    /// Key columns, the name of what the right's `w` becomes, and whether null equals null: over the first rows of each key.
    Multi(Vec<String>, String, bool),
    /// Key columns of both sides, the column of ids of each, whether the left leads, and which of the two results it is.
    Sync(Vec<String>, [String; 2], bool, usize),
    /// Key columns of both sides, the right column that lies in ranges, the left columns of both ends, and the outputs.
    Range(Vec<(String, String)>, String, [Option<(String, Bound)>; 2], Vec<Aggregated>),
    /// Key columns of both sides, whether those are kept that are not in the set, and whether null equals null.
    WhereIn(Vec<(String, String)>, bool, bool),
    /// Key columns of both sides, the left stamp, the name of what the right's `w` becomes.
    Asof(Vec<(String, String)>, String, String, Strategy, bool, Option<u64>),
}

/// What is known of the table while a pipeline is drawn.
#[derive(Clone)]
pub struct Shape {
    pub columns: Vec<(String, Kind)>,
    /// Columns that are known only within bounds.
    pub inexact: BTreeSet<String>,
    /// The columns that tell rows apart, if their order depends on history.
    pub unordered_by: Option<Vec<String>>,
    /// Whether it may have a row for each pair of others. Pairs of pairs would be too many.
    pub paired: bool,
    pub names: u32,
    /// What a join meets on the right.
    pub right: Types,
}

/// The types of those columns of the two input tables that may have any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Types {
    /// Of `p`, which both tables have.
    pub p: &'static str,
    /// Of `o`, which the left one has.
    pub o: &'static str,
    /// Of `w`, which the right one has and joins bring.
    pub w: &'static str,
}

impl Types {
    /// Some types, where others are of no matter.
    pub const PLAIN: Types = Types { p: "i32", o: "date", w: "float" };

    /// Any, but `w` mostly a float: it is what expressions above a join compute with.
    pub fn draw(tape: &mut Tape) -> Types {
        let (p, o) = (*tape.choose(&KINDS), *tape.choose(&KINDS));
        Types { p, o, w: if tape.chance(128) { KINDS[tape.below(KINDS.len() as u64) as usize] } else { "float" } }
    }

    /// The two tables.
    pub fn specs(&self) -> [TableSpec; 2] {
        let Types { p, o, w } = self;
        [
            table_of(&format!("k:str g:int v:int x:float t:time b:bool p:{p} o:{o}")),
            table_of(&format!("k:str g:int t:time w:{w} u:int p:{p}")),
        ]
    }
}

/// The columns that expressions compute with, those of `any_table`: the left table begins with them.
pub const COMMON: [(&str, Kind); 6] =
    [("k", Kind::Str), ("g", Kind::Int), ("v", Kind::Int), ("x", Kind::Float), ("t", Kind::Time), ("b", Kind::Bool)];

impl Shape {
    /// The left table.
    pub fn left(types: Types) -> Shape {
        let more = [("p", Kind::named(types.p)), ("o", Kind::named(types.o))];
        Shape::of(types, &[&COMMON[..], &more].concat())
    }

    /// The right table.
    pub fn right(types: Types) -> Shape {
        let (w, p) = (Kind::named(types.w), Kind::named(types.p));
        Shape::of(types, &[("k", Kind::Str), ("g", Kind::Int), ("t", Kind::Time), ("w", w), ("u", Kind::Int), ("p", p)])
    }

    fn of(right: Types, named: &[(&str, Kind)]) -> Shape {
        Shape {
            columns: named.iter().map(|(name, kind)| ((*name).to_owned(), *kind)).collect(),
            inexact: BTreeSet::new(),
            unordered_by: None,
            paired: false,
            names: 0,
            right,
        }
    }

    pub fn fresh(&mut self) -> String {
        self.names += 1;
        format!("c{}", self.names)
    }

    pub fn exact(&self) -> Vec<(String, Kind)> {
        self.columns.iter().filter(|column| !self.inexact.contains(&column.0)).cloned().collect()
    }

    pub fn is_key(&self, name: &str) -> bool {
        self.unordered_by.as_ref().is_some_and(|key| key.iter().any(|known| known == name))
    }

    pub fn expression(&self, tape: &mut Tape, kind: Kind) -> Both {
        Expressions { columns: &self.exact(), far: false, signed_zeros: false }.draw(tape, kind, 2)
    }

    /// One that may read other rows, for a table whose order does not depend on history.
    pub fn far_expression(&self, tape: &mut Tape, kind: Kind) -> Both {
        Expressions { columns: &self.exact(), far: true, signed_zeros: false }.draw(tape, kind, 2)
    }

    /// A column that is no part of the key of an unordered table.
    pub fn free_column(&self, tape: &mut Tape) -> Option<String> {
        let free: Vec<&String> =
            self.columns.iter().map(|column| &column.0).filter(|name| !self.is_key(name)).collect();
        (free.len() > 1).then(|| (*tape.choose(&free)).clone())
    }

    /// How tables of this shape are laid beside each other.
    pub fn compare(&self) -> Compare {
        self.unordered_by.clone().map_or(Compare::ByPosition, Compare::ByKey)
    }
}
