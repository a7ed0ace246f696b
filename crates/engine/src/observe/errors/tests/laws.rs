//! Every operation that can fail on a row, told to pass over it: what is left equals what a recomputation gives.

use std::collections::BTreeMap;

use arrow_schema::DataType;
use formula::{Aggregate, Expr, Frame, Function, Rolling};

use crate::error::Error;
use crate::ops::NaturalJoin;
use crate::plan::{
    ColumnOptions, Cumulative, GroupBounds, InputColumns, Matches, Materialization, Op, Operator, OperatorKind,
    RollingOptions, RunningKind, aggregate, apply, columns, natural_join,
};
use crate::row_errors::OnError;
use crate::table::handle::Table;
use crate::testing::{Cell, Drawn, Found, Plain, any_table, run_law, still_graph, table_of};

const WAYS: [OnError; 2] = [OnError::Null, OnError::Drop];

fn narrow(expression: Expr) -> Expr {
    expression.cast(DataType::Int8, true).expect("a small tree")
}

fn sum(of: Expr) -> Expr {
    Expr::aggregate(Aggregate::Sum { min_count: 0 }, Some(of)).expect("no aggregate within")
}

fn count() -> Expr {
    Expr::aggregate(Aggregate::Len, None).expect("of nothing").alias("n")
}

/// The number, null where there is none; none where it does not fit.
fn fits(cell: &Cell) -> Option<Option<i64>> {
    match cell {
        Cell::Int(x) => i8::try_from(*x).is_ok().then_some(Some(*x)),
        _ => Some(None),
    }
}

fn number(cell: &Cell) -> i64 {
    if let Cell::Int(x) = cell { *x } else { 0 }
}

/// The rows, in any order.
fn compare(found: &Found<'_>, mut wanted: Vec<String>) -> Result<(), String> {
    let Found::Rows(rows) = found else { return Err("it failed".into()) };
    let text = |(_, row): &(u64, Vec<Cell>)| row.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let mut found: Vec<String> = rows.rows.iter().map(text).collect();
    found.sort_unstable();
    wanted.sort_unstable();
    if found == wanted { Ok(()) } else { Err(format!("wanted {wanted:?}, found {found:?}")) }
}

fn columns_of<'a>(input: &'a Plain, names: [&str; 2]) -> Vec<[&'a Cell; 2]> {
    let places = names.map(|name| input.index_of(name));
    input.rows.iter().map(|(_, row)| places.map(|at| &row[at])).collect()
}

#[test]
fn law_of_what_is_aggregated() {
    for way in WAYS {
        let total = || sum(narrow(Expr::column("v"))).alias("s");
        let build =
            |tables: &[Table]| aggregate("group_by", &tables[0], &[Expr::column("g")], &[count(), total()], way);
        run_law(&[any_table()], 150, build, |inputs, found| {
            let mut groups: BTreeMap<String, (i64, i64)> = BTreeMap::new();
            for [key, value] in columns_of(&inputs[0], ["g", "v"]) {
                if fits(value).is_some() || way == OnError::Null {
                    let group = groups.entry(key.to_string()).or_default();
                    *group = (group.0 + 1, group.1 + fits(value).flatten().unwrap_or(0));
                }
            }
            compare(found, groups.into_iter().map(|(key, (n, s))| format!("{key} {n} {s}")).collect())
        });
    }
}

#[test]
fn law_of_keys() {
    for way in WAYS {
        let key = || narrow(Expr::column("v")).alias("key");
        let build = |tables: &[Table]| aggregate("group_by", &tables[0], &[key()], &[count()], way);
        run_law(&[any_table()], 150, build, |inputs, found| {
            let mut groups: BTreeMap<Option<i64>, i64> = BTreeMap::new();
            for [value, _] in columns_of(&inputs[0], ["v", "g"]) {
                match fits(value) {
                    Some(key) => *groups.entry(key).or_default() += 1,
                    None if way == OnError::Null => *groups.entry(None).or_default() += 1,
                    None => {}
                }
            }
            let text = |(key, n): (Option<i64>, i64)| match key {
                Some(key) => format!("{key} {n}"),
                None => format!("null {n}"),
            };
            compare(found, groups.into_iter().map(text).collect())
        });
    }
}

#[test]
fn law_of_expressions_over_aggregates() {
    for way in WAYS {
        let least = Expr::aggregate(Aggregate::Max, Some(Expr::column("v"))).expect("no aggregate within");
        let build = |tables: &[Table]| {
            aggregate("group_by", &tables[0], &[Expr::column("g")], &[narrow(least.clone()).alias("m"), count()], way)
        };
        run_law(&[any_table()], 150, build, |inputs, found| {
            let mut groups: BTreeMap<String, (Option<i64>, i64)> = BTreeMap::new();
            for [key, value] in columns_of(&inputs[0], ["g", "v"]) {
                let group = groups.entry(key.to_string()).or_insert((None, 0));
                let value = (!matches!(value, Cell::Null)).then(|| number(value));
                *group = (group.0.max(value), group.1 + 1);
            }
            let wanted = groups.into_iter().filter_map(|(key, (most, n))| {
                let fits = most.is_none_or(|most| i8::try_from(most).is_ok());
                match most.filter(|_| fits) {
                    Some(most) => Some(format!("{key} {most} {n}")),
                    None if fits || way == OnError::Null => Some(format!("{key} null {n}")),
                    None => None,
                }
            });
            compare(found, wanted.collect())
        });
    }
}

/// What `update_by` and windows over rows make of them: rows as they stand, each with its group, its value and those up to it.
fn run_on(
    input: &Plain,
    way: OnError,
    of: impl Fn(&[Option<i64>]) -> Option<i64>,
) -> Vec<(String, String, Option<i64>)> {
    let mut groups: BTreeMap<String, Vec<Option<i64>>> = BTreeMap::new();
    let rows = columns_of(input, ["g", "v"]).into_iter().filter_map(|[key, value]| {
        let fitting = fits(value);
        if fitting.is_none() && way == OnError::Drop {
            return None;
        }
        let so_far = groups.entry(key.to_string()).or_default();
        so_far.push(fitting.flatten());
        Some((key.to_string(), value.to_string(), of(so_far)))
    });
    rows.collect()
}

fn text_of(rows: Vec<(String, String, Option<i64>)>) -> Vec<String> {
    let text = |value: Option<i64>| value.map_or("null".to_owned(), |value| value.to_string());
    rows.into_iter().map(|(key, value, made)| format!("{key} {value} {}", text(made))).collect()
}

fn sum_of(values: &[Option<i64>]) -> Option<i64> {
    values.iter().flatten().copied().reduce(|sum, value| sum + value)
}

#[test]
fn law_of_what_runs_on() {
    for (way, reset) in WAYS.into_iter().flat_map(|way| [(way, false), (way, true)]) {
        let build = |tables: &[Table]| {
            let thin = columns(
                "select",
                &tables[0],
                &[Expr::column("g"), Expr::column("v")],
                ColumnOptions { own: InputColumns::Drop, ..ColumnOptions::STORED },
            )?;
            let kind = RunningKind::Cumulative { of: Cumulative::Sum, null_at_null: false };
            let operators = vec![Operator { output: "c".into(), kind: OperatorKind::Running(kind) }];
            // Begins anew where the value is 1.
            let again = Expr::call(Function::Equal, vec![narrow(Expr::column("v")), Expr::literal(1_i64)]).ok();
            let inputs = std::iter::once(narrow(Expr::column("v"))).chain(again.filter(|_| reset)).collect();
            let (by, bounds) = (vec!["g".to_owned()], GroupBounds::default());
            apply(Op::UpdateBy { by, inputs, operators, resets: reset, bounds, on_error: way }, "update_by", &[thin])
        };
        run_law(&[any_table()], 150, build, |inputs, found| {
            let from = |values: &[Option<i64>]| match reset {
                true => values.iter().rposition(|value| *value == Some(1)).unwrap_or(0),
                false => 0,
            };
            compare(found, text_of(run_on(&inputs[0], way, |values| sum_of(&values[from(values)..]))))
        });
    }
}

#[test]
fn law_of_windows() {
    for way in WAYS {
        let build = |tables: &[Table]| {
            let thin = columns(
                "select",
                &tables[0],
                &[Expr::column("g"), Expr::column("v")],
                ColumnOptions { own: InputColumns::Drop, ..ColumnOptions::STORED },
            )?;
            let window = Rolling { frame: Frame::Rows { back: 1, ahead: 0 }, least: 1 };
            let how = RollingOptions { by: vec!["g".to_owned()], on: None, window, chosen: None };
            let aggregates = vec![sum(narrow(Expr::column("v"))).alias("s")];
            apply(Op::Rolling { how, aggregates, on_error: way }, "rolling", &[thin])
        };
        run_law(&[any_table()], 150, build, |inputs, found| {
            let of = |values: &[Option<i64>]| sum_of(&values[values.len().saturating_sub(2)..]);
            compare(found, text_of(run_on(&inputs[0], way, of)))
        });
    }
}

fn joined(tables: &[Table], way: OnError) -> Result<Table, Error> {
    let on = [("k".to_owned(), "k".to_owned())];
    let join = NaturalJoin::new("natural_join", &tables[0], &tables[1], &on, None, None, Matches::Error, false)?;
    natural_join(join, &tables[0], &tables[1], &on, way)
}

#[test]
fn law_of_second_matches() {
    for way in WAYS {
        let specs = [table_of("k:str v:int"), table_of("k:str w:int").rows(6)];
        run_law(
            &specs,
            200,
            |tables| joined(tables, way),
            |inputs, found| {
                let right = columns_of(&inputs[1], ["k", "w"]);
                let wanted = columns_of(&inputs[0], ["k", "v"]).into_iter().filter_map(|[key, value]| {
                    let met: Vec<&Cell> = right
                        .iter()
                        .filter(|[other, _]| !matches!(key, Cell::Null) && key.same(other))
                        .map(|[_, w]| *w)
                        .collect();
                    match met.as_slice() {
                        [one] => Some(format!("{key} {value} {one}")),
                        [_, _, ..] if way == OnError::Drop => None,
                        _ => Some(format!("{key} {value} null")),
                    }
                });
                compare(found, wanted.collect())
            },
        );
    }
}

#[test]
fn law_of_lazy_columns() {
    let how = ColumnOptions { kept: Materialization::Memoized, on_error: OnError::Null, ..ColumnOptions::STORED };
    let build = |tables: &[Table]| {
        let thin = columns(
            "select",
            &tables[0],
            &[Expr::column("v")],
            ColumnOptions { own: InputColumns::Drop, ..ColumnOptions::STORED },
        )?;
        columns("lazy_update", &thin, &[narrow(Expr::column("v")).alias("n")], how)
    };
    run_law(&[any_table()], 100, build, |inputs, found| {
        let text = |[value, _]: [&Cell; 2]| match fits(value).flatten() {
            Some(fits) => format!("{value} {fits}"),
            None => format!("{value} null"),
        };
        compare(found, columns_of(&inputs[0], ["v", "g"]).into_iter().map(text).collect())
    });
}

fn told(table: &Table) -> Vec<String> {
    let told = crate::testing::Watch::attach(&table.errors().expect("there are errors")).expect("it can be watched");
    let text = |row: &[Cell]| row.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    told.now().rows.iter().map(|(_, row)| text(row)).collect()
}

/// A left row is told of when it begins to meet several right rows, whichever side brought that about.
#[test]
fn second_matches_are_told_when_they_begin() {
    let graph = still_graph();
    let left = Drawn::new(&graph, "k:str v:int: 0 A 1 | 1 B 2");
    let right = Drawn::new(&graph, "k:str w:int: 0 A 10");
    let tables = [left.table().clone(), right.table().clone()];
    let table = joined(&tables, OnError::Null).expect("it starts");
    let mut seen = 0;
    for (of_left, of_right, fresh) in [
        ("", "+ 1 A 11", vec!["natural_join null 0"]),
        ("", "~ 1 . 12", vec![]),
        ("+ 2 A 3", "", vec!["natural_join null 2"]),
        ("", "- 1", vec![]),
        ("", "+ 3 B 1 | + 4 B 2", vec!["natural_join null 1"]),
        ("~ 0 B .", "", vec!["natural_join null 0"]),
    ] {
        if !of_left.is_empty() {
            left.apply(of_left);
        }
        if !of_right.is_empty() {
            right.apply(of_right);
        }
        graph.step().expect("the cycle runs");
        let rows = told(&table);
        assert_eq!(rows.len() - seen, fresh.len(), "after {of_left:?} {of_right:?}: {rows:?}");
        for (row, wanted) in rows[seen..].iter().zip(&fresh) {
            assert!(row.starts_with(wanted) && row.contains("has several rows"), "{row}");
        }
        seen = rows.len();
    }
    assert!(table.failure().is_none());
}

/// All that goes wrong on the way to one table is told by it: keys, what is aggregated, and what is made of aggregates.
#[test]
fn one_table_tells_of_all_its_steps_by_the_names_its_user_gave() {
    let graph = still_graph();
    let input = Drawn::new(&graph, "K:str V:int W:int: 0 A 1 1 | 1 A 1000 1 | 2 A 1 1000");
    let keys = [narrow(Expr::column("W")).alias("key")];
    let made = [sum(narrow(Expr::column("V"))).alias("s"), narrow(sum(Expr::column("W"))).alias("all")];
    let table = aggregate("group_by", input.table(), &keys, &made, OnError::Null).expect("it starts");
    graph.step().expect("the cycle runs");
    let rows = told(&table);
    let places: Vec<String> = rows.iter().map(|row| row.split(' ').take(3).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(places, ["group_by all 1", "group_by key 2", "group_by s 1"], "{rows:?}");
    assert!(rows[0].replace('\\', "").contains("col(\"W\").sum().cast(Int8)"), "as the user wrote it: {rows:?}");
    assert!(table.request().text.as_deref().is_some_and(|text| text.contains("col(\"W\").sum().cast(Int8)")));
}
