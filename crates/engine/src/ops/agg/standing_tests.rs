//! Drawings and laws of groups that are there without rows.

use model::Compare;
use model::ops::{Aggregate as ReadRequest, Aggregator, aggregate_onto};

use super::*;
use crate::driver::attach::attach;
use crate::testing::{Drawn, check_law, check_steps, still_graph, table_of};

const PRESERVE: Standing = Standing { whole: false, preserve: true, named: false };
const NAMED: Standing = Standing { whole: false, preserve: false, named: false };

fn by(
    table: &Table,
    key: &str,
    list: &[(&str, Aggregate, &str)],
    standing: Standing,
    initial: Option<&Table>,
) -> Result<Table, Error> {
    let one = |(name, kind, input): &(&str, Aggregate, &str)| {
        let input = (!input.is_empty()).then(|| Expr::column(*input));
        Ok(Expr::aggregate(kind.clone(), input)?.alias(*name))
    };
    let aggregates: Vec<Expr> = list.iter().map(one).collect::<Result<_, Error>>()?;
    let keys = [(key.to_owned(), key.to_owned())];
    let keys = if key.is_empty() { &[][..] } else { &keys };
    let made = Aggregation::named("agg_by", table, keys, &aggregates, standing, initial)?;
    let inputs: Vec<Table> = std::iter::once(table).chain(initial).cloned().collect();
    attach(&made, &inputs)
}

fn sum() -> Aggregate {
    Aggregate::Sum { min_count: 0 }
}

fn named(text: &str) -> Table {
    Drawn::new(&still_graph(), text).table().snapshot().expect("a table")
}

#[test]
fn a_group_that_empties_stays_with_what_nothing_gives() {
    let list = [("s", sum(), "V"), ("m", Aggregate::Max, "V"), ("f", Aggregate::First, "V")];
    check_steps(
        |table| by(table, "K", &list, PRESERVE, None),
        "0 A 1 | 1 B 2",
        &[
            ("- 1", "~ 1 . 0 null null"),
            ("+ 3 B 5", "~ 1 . 5 5 5"),
            ("- 3 | + 4 C 6", "~ 1 . 0 null null | + 2 C 6 6 6"),
        ],
    );
}

#[test]
fn named_groups_have_their_places() {
    let initial = named("0 B 0 | 1 C 0 | 2 B 0");
    check_steps(
        |table| by(table, "K", &[("s", sum(), "V")], NAMED, Some(&initial)),
        "0 A 1 | 1 B 2",
        &[
            ("+ 3 C 5", "+ 1 C 5"),
            ("- 1", "- 0"),
            ("+ 4 D 1 | + 5 B 1", "+ 3 D 1 | + 0 B 1"),
            ("- 0 | - 5", "- 2 | - 0"),
        ],
    );
    check_steps(
        |table| by(table, "K", &[("s", sum(), "V"), ("f", Aggregate::First, "V")], PRESERVE, Some(&initial)),
        "0 A 1",
        &[("+ 3 C 5", "~ 1 . 5 5"), ("- 3", "~ 1 . 0 null"), ("- 0", "~ 2 . 0 null")],
    );
}

#[test]
fn law_of_named_groups() {
    let spec = table_of("b:bool x:float v:int");
    let list = [("n", Aggregate::Len, ""), ("s", sum(), "v"), ("l", Aggregate::Last, "x"), ("m", Aggregate::Max, "x")];
    let wanted = [
        ReadRequest::len("n"),
        ReadRequest::new("s", Aggregator::Sum(0), "v"),
        ReadRequest::new("l", Aggregator::Last, "x"),
        ReadRequest::new("m", Aggregator::Max, "x"),
    ];
    let groups: column::Chunk = Arc::new(arrow_array::BooleanArray::from(vec![Some(true), None, Some(false)]));
    let schema = Arc::new(Schema::new(vec![Field::new("b", DataType::Boolean, true)]));
    let initial = crate::sources::fixed::from_chunks(schema, vec![vec![groups]], 3).expect("a table");
    let known =
        model::Table::flat(vec!["b".into()], vec![vec![true.into()], vec![model::Value::Null], vec![false.into()]]);
    for standing in [NAMED, PRESERVE] {
        check_law(
            &spec,
            200,
            Compare::ByPosition,
            |table| by(table, "b", &list, standing, Some(&initial)),
            |input| aggregate_onto(input, &["b"], &wanted, &known, standing.preserve),
        );
    }
}

#[test]
fn a_table_of_groups_that_does_not_fit_is_told() {
    let graph = still_graph();
    let drawn = Drawn::new(&graph, "0 A 1");
    let told = |key: &str, initial: &Table| {
        let made = by(drawn.table(), key, &[("n", Aggregate::Len, "")], NAMED, Some(initial));
        made.err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert!(told("", &named("0 A 1")).contains("give by= too"), "{}", told("", &named("0 A 1")));
    assert!(told("K", drawn.table()).contains("snapshot()"), "{}", told("K", drawn.table()));
}
