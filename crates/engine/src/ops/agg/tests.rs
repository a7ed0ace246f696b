//! Drawings and laws of aggregations.

use formula::aggregates::{Declaration, Interpolation, Part};
use model::Compare;
use model::ops::{Aggregate as ReadRequest, Aggregator, Between, aggregate, totals};

use super::*;
use crate::driver::attach::attach;
use crate::plan::{ColumnOptions, InputColumns, columns};
use crate::testing::{check_law, check_steps, table_of};

fn aggregates(list: &[(&str, Aggregate, &str)]) -> Result<Vec<Expr>, Error> {
    let one = |(name, kind, input): &(&str, Aggregate, &str)| {
        let input = (!input.is_empty()).then(|| Expr::column(*input));
        Ok(Expr::aggregate(kind.clone(), input)?.alias(*name))
    };
    list.iter().map(one).collect()
}

fn by(table: &Table, keys: &[&str], list: &[(&str, Aggregate, &str)]) -> Result<Table, Error> {
    let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
    attach(&Aggregation::new("group_by", table, &keys, &aggregates(list)?)?, std::slice::from_ref(table))
}

fn sum(min_count: u64) -> Aggregate {
    Aggregate::Sum { min_count }
}

#[test]
fn groups_come_change_empty_and_return_at_the_end() {
    check_steps(
        |table| by(table, &["K"], &[("s", sum(0), "V")]),
        "0 A 1 | 1 B 2 | 2 A 3",
        &[
            ("- 1", "- 1"),
            ("+ 3 B 5", "+ 2 B 5"),
            ("~ 0 . 4", "~ 0 . 7"),
            ("~ 0 . 3 | ~ 2 . 4", ""),
            ("~ 2 B .", "~ 0 . 3 | ~ 2 . 9"),
        ],
    );
}

#[test]
fn a_key_that_goes_and_comes_within_a_step_keeps_its_row() {
    check_steps(
        |table| by(table, &["K"], &[("n", Aggregate::Len, "")]),
        "0 A | 1 B",
        &[("- 0 | + 5 A", ""), ("- 5", "- 0")],
    );
}

#[test]
fn law() {
    let spec = table_of("k:str v:int x:float");
    let list = [
        ("n", Aggregate::Len, ""),
        ("c", Aggregate::Count, "x"),
        ("s", sum(0), "x"),
        ("sv", sum(0), "v"),
        ("s2", sum(2), "v"),
        ("m", Aggregate::Mean, "x"),
        ("mv", Aggregate::Mean, "v"),
    ];
    let wanted = [
        ReadRequest::len("n"),
        ReadRequest::new("c", Aggregator::Count, "x"),
        ReadRequest::new("s", Aggregator::Sum(0), "x"),
        ReadRequest::new("sv", Aggregator::Sum(0), "v"),
        ReadRequest::new("s2", Aggregator::Sum(2), "v"),
        ReadRequest::new("m", Aggregator::Mean, "x"),
        ReadRequest::new("mv", Aggregator::Mean, "v"),
    ];
    check_law(
        &spec,
        300,
        Compare::by_key(&["k"]),
        |table| by(table, &["k"], &list),
        |input| aggregate(input, &["k"], &wanted),
    );
}

#[test]
fn law_of_extremes_and_ends() {
    let spec = table_of("g:int k:str x:float t:time");
    let list = [
        ("a", Aggregate::Min, "x"),
        ("b", Aggregate::Max, "x"),
        ("c", Aggregate::Min, "k"),
        ("d", Aggregate::Max, "t"),
        ("e", Aggregate::First, "x"),
        ("f", Aggregate::Last, "k"),
    ];
    let wanted = [
        ReadRequest::new("a", Aggregator::Min, "x"),
        ReadRequest::new("b", Aggregator::Max, "x"),
        ReadRequest::new("c", Aggregator::Min, "k"),
        ReadRequest::new("d", Aggregator::Max, "t"),
        ReadRequest::new("e", Aggregator::First, "x"),
        ReadRequest::new("f", Aggregator::Last, "k"),
    ];
    check_law(
        &spec,
        300,
        Compare::by_key(&["g"]),
        |table| by(table, &["g"], &list),
        |input| aggregate(input, &["g"], &wanted),
    );
}

#[test]
fn law_of_one_row_for_the_whole_table() {
    let spec = table_of("k:str v:int x:float n:decimal");
    let list = [
        ("len", Aggregate::Len, "", Aggregator::Len),
        ("c", Aggregate::Count, "x", Aggregator::Count),
        ("s", sum(0), "v", Aggregator::Sum(0)),
        ("f", sum(0), "x", Aggregator::Sum(0)),
        ("s2", sum(2), "v", Aggregator::Sum(2)),
        ("m", Aggregate::Mean, "x", Aggregator::Mean),
        ("d", Aggregate::Mean, "n", Aggregator::Mean),
        ("a", Aggregate::Min, "k", Aggregator::Min),
        ("b", Aggregate::Max, "x", Aggregator::Max),
        ("e", Aggregate::First, "v", Aggregator::First),
        ("l", Aggregate::Last, "k", Aggregator::Last),
        ("u", Aggregate::NUnique, "k", Aggregator::NUnique),
        ("w", Aggregate::Var { ddof: 1 }, "v", Aggregator::Var(1)),
        ("i", Aggregate::Implode, "v", Aggregator::Implode),
    ];
    for chosen in [&list[..], &list[..9], &list[9..11], &list[13..]] {
        let asked: Vec<_> = chosen.iter().map(|(name, kind, input, _)| (*name, kind.clone(), *input)).collect();
        let wanted = |(name, _, input, kind): &(&str, _, &str, Aggregator)| ReadRequest::new(name, kind.clone(), input);
        let wanted: Vec<ReadRequest> = chosen.iter().map(wanted).collect();
        check_law(
            &spec,
            150,
            Compare::ByPosition,
            |table| {
                columns(
                    "select",
                    table,
                    &aggregates(&asked)?,
                    ColumnOptions { own: InputColumns::Drop, ..ColumnOptions::STORED },
                )
            },
            |input| totals(input, &wanted),
        );
    }
}

#[test]
fn law_of_means_of_decimals() {
    let spec = table_of("k:str n:decimal");
    check_law(
        &spec,
        200,
        Compare::by_key(&["k"]),
        |table| by(table, &["k"], &[("m", Aggregate::Mean, "n"), ("n", Aggregate::Count, "n")]),
        |input| {
            let wanted = [ReadRequest::new("m", Aggregator::Mean, "n"), ReadRequest::new("n", Aggregator::Count, "n")];
            aggregate(input, &["k"], &wanted)
        },
    );
}

#[test]
fn law_of_spread() {
    let spec = table_of("b:bool x:float v:int");
    let list = [
        ("s", Aggregate::Std { ddof: 1 }, "x"),
        ("v", Aggregate::Var { ddof: 1 }, "x"),
        ("p", Aggregate::Var { ddof: 0 }, "v"),
    ];
    let wanted = [
        ReadRequest::new("s", Aggregator::Std(1), "x"),
        ReadRequest::new("v", Aggregator::Var(1), "x"),
        ReadRequest::new("p", Aggregator::Var(0), "v"),
    ];
    check_law(
        &spec,
        300,
        Compare::by_key(&["b"]),
        |table| by(table, &["b"], &list),
        |input| aggregate(input, &["b"], &wanted),
    );
}

#[test]
fn law_of_distinct_values() {
    let spec = table_of("g:int k:str x:float t:time b:bool");
    let list = [
        ("a", Aggregate::NUnique, "k"),
        ("b", Aggregate::CountDistinct, "k"),
        ("c", Aggregate::NUnique, "x"),
        ("d", Aggregate::CountDistinct, "t"),
        ("e", Aggregate::NUnique, "b"),
    ];
    let wanted = [
        ReadRequest::new("a", Aggregator::NUnique, "k"),
        ReadRequest::new("b", Aggregator::CountDistinct, "k"),
        ReadRequest::new("c", Aggregator::NUnique, "x"),
        ReadRequest::new("d", Aggregator::CountDistinct, "t"),
        ReadRequest::new("e", Aggregator::NUnique, "b"),
    ];
    check_law(
        &spec,
        300,
        Compare::by_key(&["g"]),
        |table| by(table, &["g"], &list),
        |input| aggregate(input, &["g"], &wanted),
    );
}

#[test]
fn law_of_ranks() {
    let spec = table_of("b:bool k:str x:float v:int t:time n:decimal");
    let quantile =
        |part: f64, interpolation| Aggregate::Quantile { part: Part::new(part).expect("a part of one"), interpolation };
    let list = [
        ("a", Aggregate::Median, "x"),
        ("c", Aggregate::Median, "v"),
        ("d", Aggregate::Median, "k"),
        ("e", quantile(0.3, Interpolation::Nearest), "v"),
        ("f", quantile(0.9, Interpolation::Linear), "x"),
        ("g", quantile(0.25, Interpolation::Higher), "t"),
        ("h", quantile(0.75, Interpolation::Midpoint), "n"),
        ("i", quantile(1.0, Interpolation::Lower), "x"),
    ];
    let wanted = [
        ReadRequest::new("a", Aggregator::Median, "x"),
        ReadRequest::new("c", Aggregator::Median, "v"),
        ReadRequest::new("d", Aggregator::Median, "k"),
        ReadRequest::new("e", Aggregator::Quantile(0.3, Between::Nearest), "v"),
        ReadRequest::new("f", Aggregator::Quantile(0.9, Between::Linear), "x"),
        ReadRequest::new("g", Aggregator::Quantile(0.25, Between::Higher), "t"),
        ReadRequest::new("h", Aggregator::Quantile(0.75, Between::Midpoint), "n"),
        ReadRequest::new("i", Aggregator::Quantile(1.0, Between::Lower), "x"),
    ];
    check_law(
        &spec,
        300,
        Compare::by_key(&["b"]),
        |table| by(table, &["b"], &list),
        |input| aggregate(input, &["b"], &wanted),
    );
}

#[test]
fn law_of_products() {
    let spec = table_of("k:str b:bool x:float v:int u:uint");
    let product = |name, of| (name, Aggregate::Product, of);
    let list = [product("p", "x"), product("q", "v"), product("r", "u"), product("s", "b")];
    let wanted = list.clone().map(|(name, _, of)| ReadRequest::new(name, Aggregator::Product, of));
    check_law(
        &spec,
        300,
        Compare::by_key(&["k"]),
        |table| by(table, &["k"], &list),
        |input| aggregate(input, &["k"], &wanted),
    );
}

#[test]
fn law_of_whole_groups() {
    let spec = table_of("g:int k:str x:float v:int");
    let list = [
        ("a", Aggregate::Implode, "k"),
        ("b", Aggregate::Implode, "x"),
        ("c", Aggregate::ArgMin, "x"),
        ("d", Aggregate::ArgMax, "k"),
        ("e", Aggregate::First, "v"),
    ];
    let wanted = [
        ReadRequest::new("a", Aggregator::Implode, "k"),
        ReadRequest::new("b", Aggregator::Implode, "x"),
        ReadRequest::new("c", Aggregator::ArgMin, "x"),
        ReadRequest::new("d", Aggregator::ArgMax, "k"),
        ReadRequest::new("e", Aggregator::First, "v"),
    ];
    check_law(
        &spec,
        300,
        Compare::by_key(&["g"]),
        |table| by(table, &["g"], &list),
        |input| aggregate(input, &["g"], &wanted),
    );
}

/// Whatever is declared, over a column of every type that it takes, is what the model makes of it.
#[test]
fn law_of_every_declared_aggregate() {
    const COLUMNS: [&str; 3] = ["k", "x", "v"];
    let spec = table_of("g:bool k:str x:float v:int");
    // A sketch does not take rows that leave, and what is frozen depends on what was.
    let is_of_rows = |declared: &&Declaration| !declared.only_grows && declared.kind != Aggregate::Freeze;
    for declared in Aggregate::declared().iter().filter(is_of_rows) {
        let aggregator =
            Aggregator::named(declared.name).unwrap_or_else(|| panic!("the model has no {}", declared.name));
        // Each column with the next one, as far as the aggregate is of two.
        let inputs = |at: usize| (at..at + declared.arity).map(|at| COLUMNS[at % COLUMNS.len()]).collect::<Vec<_>>();
        let column = |name: &str| spec.schema().field_with_name(name).expect("a column").data_type().clone();
        let is_taken = |of: &Vec<&str>| of.iter().all(|name| declared.kind.output_type(&column(name)).is_ok());
        let all: Vec<Vec<&str>> = (0..COLUMNS.len()).map(inputs).filter(is_taken).collect();
        assert!(!all.is_empty(), "{} takes nothing", declared.name);
        let built = |table: &Table| {
            let one = |(at, of): (usize, &Vec<&str>)| {
                let of = of.iter().map(|name| Expr::column(*name));
                Ok(Expr::aggregate(declared.kind.clone(), of)?.alias(format!("o{at}")))
            };
            let asked = all.iter().enumerate().map(one).collect::<Result<Vec<_>, Error>>()?;
            attach(&Aggregation::new("group_by", table, &["g".to_owned()], &asked)?, std::slice::from_ref(table))
        };
        let wanted = |(at, of): (usize, &Vec<&str>)| ReadRequest::of(&format!("o{at}"), aggregator.clone(), of);
        let wanted: Vec<ReadRequest> = all.iter().enumerate().map(wanted).collect();
        check_law(&spec, 60, Compare::by_key(&["g"]), built, |input| aggregate(input, &["g"], &wanted));
    }
}

#[test]
fn law_of_wide_sums() {
    let spec = table_of("k:str n:decimal m:duration");
    let list = [("a", sum(0), "n"), ("b", sum(1), "n")];
    let wanted = [ReadRequest::new("a", Aggregator::Sum(0), "n"), ReadRequest::new("b", Aggregator::Sum(1), "n")];
    check_law(
        &spec,
        200,
        Compare::by_key(&["k"]),
        |table| by(table, &["k"], &list),
        |input| aggregate(input, &["k"], &wanted),
    );
}

/// A sum that leaves its type names the group and the column, and is right again once the value has gone.
#[test]
fn a_sum_beyond_its_type_is_told() {
    use arrow_array::{Array, Decimal128Array, DurationNanosecondArray, Int64Array};

    let most = 10i128.pow(38) - 1;
    let decimals = Decimal128Array::from(vec![most, 1, -1, 5]).with_precision_and_scale(38, 2).expect("38 digits");
    let lengths = DurationNanosecondArray::from(vec![i64::MAX, 1, -1, 5]);
    let keys: column::Chunk = Arc::new(Int64Array::from(vec![1, 1, 1, 2]));
    let columns: [column::Chunk; 3] = [keys, Arc::new(decimals), Arc::new(lengths)];
    let fields =
        ["k", "d", "t"].iter().zip(&columns).map(|(name, cells)| Field::new(*name, cells.data_type().clone(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let made = |rows: std::ops::Range<usize>| {
        let part = columns.iter().map(|cells| vec![cells.slice(rows.start, rows.len())]).collect();
        crate::sources::fixed::from_chunks(schema.clone(), part, rows.len() as u64).expect("a table")
    };
    let told = |rows, column| by(&made(rows), &["k"], &[("s", sum(0), column)]).err().map(|error| error.to_string());
    assert_eq!(told(0..4, "d"), None);
    assert_eq!(told(0..4, "t"), None);
    for (column, why) in [("d", "more than 38 digits"), ("t", "beyond the range of durations")] {
        let text = told(0..2, column).expect("one more than there can be");
        let place = format!("col(\"{column}\") in the group k = 1");
        assert!(text.contains(why) && text.contains(&place), "{text}");
        assert_eq!(told(1..4, column), None);
    }
}

#[test]
fn law_without_a_key() {
    let spec = table_of("v:int");
    let wanted = [ReadRequest::len("n"), ReadRequest::new("l", Aggregator::Last, "v")];
    let list = [("n", Aggregate::Len, ""), ("l", Aggregate::Last, "v")];
    check_law(&spec, 200, Compare::ByPosition, |table| by(table, &[], &list), |input| aggregate(input, &[], &wanted));
}
