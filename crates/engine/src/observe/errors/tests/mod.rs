//! Rows that cannot be computed: null, left out, told of; and what is left after all of them went.

mod laws;

use arrow_schema::DataType;
use formula::Expr;

use super::errors;
use crate::driver::attach::attach;
use crate::error::Error;
use crate::ops::Filter;
use crate::plan::{ColumnOptions, columns};
use crate::row_errors::OnError;
use crate::table::handle::Table;
use crate::testing::{Cell, Drawn, Found, Plain, Watch, any_table, run_law, still_graph};

/// A strict cast to Int8: most large numbers have no value.
fn narrow(column: &str) -> Expr {
    Expr::column(column).cast(DataType::Int8, true).expect("a small tree")
}

fn made(table: &Table, on_error: OnError) -> Result<Table, Error> {
    columns("with_columns", table, &[narrow("v").alias("n")], ColumnOptions { on_error, ..ColumnOptions::STORED })
}

fn fits(cell: &Cell) -> Option<Cell> {
    match cell {
        Cell::Int(x) if i8::try_from(*x).is_ok() => Some(Cell::Int(*x)),
        Cell::Null => Some(Cell::Null),
        _ => None,
    }
}

fn rows_of(table: &Table) -> Vec<String> {
    let plain = Watch::attach(table).expect("it can be watched").now();
    plain.rows.iter().map(|(_, row)| row.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn a_cell_without_a_value_is_null_and_told_in_the_step_it_happens() {
    let graph = still_graph();
    let input = Drawn::new(&graph, "0 A 1 | 1 B 1000");
    let table = columns(
        "update",
        input.table(),
        &[narrow("V").alias("n")],
        ColumnOptions { on_error: OnError::Null, ..ColumnOptions::STORED },
    )
    .expect("it starts");
    let (all, mine) = (errors(&graph).expect("there are errors"), table.errors().expect("there are errors"));
    graph.step().expect("the cycle runs");
    let first = "update n 1 1 ";
    assert!(rows_of(&all)[0].starts_with(first), "{:?}", rows_of(&all));
    input.apply("+ 2 C 500 | ~ 0 . 3");
    let step = graph.step().expect("the cycle runs");
    assert_eq!(rows_of(&table), ["A 3 3", "B 1000 null", "C 500 null"]);
    let told = rows_of(&all);
    assert!(told.len() == 2 && told[1].starts_with(&format!("update n 2 {}", step.number())), "{told:?}");
    assert!(told[1].contains("500"), "{told:?}");
    assert_eq!(rows_of(&mine), told);
    input.apply("~ 1 . 5");
    graph.step().expect("the cycle runs");
    assert_eq!(rows_of(&table), ["A 3 3", "B 5 5", "C 500 null"]);
    assert_eq!(rows_of(&mine).len(), 2, "what was told stays");
    assert!(table.failure().is_none() && mine.attributes().append_only);
}

#[test]
fn a_row_that_is_left_out_comes_back_when_it_can_be_computed() {
    let graph = still_graph();
    let input = Drawn::new(&graph, "0 A 1 | 1 B 1000");
    let table = columns(
        "with_columns",
        input.table(),
        &[narrow("V").alias("n")],
        ColumnOptions { on_error: OnError::Drop, ..ColumnOptions::STORED },
    )
    .expect("starts");
    let watch = Watch::attach(&table).expect("it can be watched");
    assert_eq!(rows_of(&table), ["A 1 1"]);
    for (step, wanted) in [
        ("~ 1 . 7", "+ 1 B 7 7"),
        ("~ 0 . 700", "- 0"),
        ("~ 0 Z .", ""),
        ("+ 2 C 900", ""),
        ("- 1 | > [2..2]-1 | ~ 1 . 9", "- 1 | + 1 C 9 9"),
    ] {
        input.apply(step);
        graph.step().expect("the cycle runs");
        assert_eq!(watch.take_drawings().pop().unwrap_or_default(), wanted, "after {step:?}");
    }
    let told = rows_of(&table.errors().expect("there are errors"));
    let keys: Vec<&str> = told.iter().filter_map(|row| row.split(' ').nth(2)).collect();
    assert_eq!(keys, ["1", "0", "2"], "{told:?}");
}

#[test]
fn a_predicate_without_a_value_does_not_pass() {
    let graph = still_graph();
    let input = Drawn::new(&graph, "0 A 1 | 1 B 1000 | 2 C 2");
    let above = Expr::call(formula::Function::Greater, vec![narrow("V"), Expr::literal(1)]).expect("a small tree");
    let filter = Filter::new(input.table(), &[above]).expect("it is Boolean").with_on_error(OnError::Null);
    let table = attach(&filter, std::slice::from_ref(input.table())).expect("it starts");
    assert_eq!(rows_of(&table), ["C 2"]);
    input.apply("~ 1 . 9");
    graph.step().expect("the cycle runs");
    assert_eq!(rows_of(&table), ["B 9", "C 2"]);
    let told = rows_of(&table.errors().expect("there are errors"));
    assert!(told.len() == 1 && told[0].starts_with("filter null 1 "), "{told:?}");
}

#[test]
fn a_static_table_tells_its_errors_too() {
    let graph = still_graph();
    let still = Drawn::new(&graph, "0 A 1 | 1 B 1000").table().snapshot().expect("it lives");
    let table = made_of_drawing(&still);
    assert_eq!(rows_of(&table), ["A 1 1", "B 1000 null"]);
    let told = table.errors().expect("there are errors");
    assert!(!told.is_live() && rows_of(&told).len() == 1);
    assert_eq!(rows_of(&still.errors().expect("there are none")), Vec::<String>::new());
}

fn made_of_drawing(table: &Table) -> Table {
    columns(
        "with_columns",
        table,
        &[narrow("V").alias("n")],
        ColumnOptions { on_error: OnError::Null, ..ColumnOptions::STORED },
    )
    .expect("it starts")
}

#[test]
fn errors_of_the_errors_are_counted_only() {
    let graph = still_graph();
    let input = Drawn::new(&graph, "0 A 1");
    let table = made_of_drawing(input.table());
    let all = errors(&graph).expect("there are errors");
    let fails = Expr::column("message").cast(DataType::Int64, true).expect("a small tree").alias("n");
    let over =
        columns("with_columns", &all, &[fails], ColumnOptions { on_error: OnError::Null, ..ColumnOptions::STORED })
            .expect("it starts");
    input.apply("+ 1 B 1000");
    for _ in 0..5 {
        graph.step().expect("the cycle runs");
    }
    assert_eq!((rows_of(&all).len(), rows_of(&over).len()), (1, 1));
    assert_eq!(super::error_count(&graph), 2);
    drop(table);
}

#[test]
fn the_table_of_errors_goes_with_those_that_need_it() {
    let graph = still_graph();
    let input = Drawn::new(&graph, "0 A 1");
    let before = graph.counters().nodes;
    let table = made_of_drawing(input.table());
    let mine = table.errors().expect("there are errors");
    assert!(graph.counters().nodes > before);
    drop((table, mine));
    assert_eq!(graph.counters().nodes, before);
}

fn judge(inputs: &[Plain], found: &Found<'_>, on_error: OnError) -> Result<(), String> {
    let Found::Rows(rows) = found else { return Err("it failed".into()) };
    let at = inputs[0].index_of("v");
    let wanted = inputs[0].rows.iter().filter_map(|(_, row)| match (fits(&row[at]), on_error) {
        (Some(cell), _) => Some((row, cell)),
        (None, OnError::Null) => Some((row, Cell::Null)),
        (None, _) => None,
    });
    let wanted: Vec<Vec<Cell>> = wanted.map(|(row, cell)| row.iter().cloned().chain([cell]).collect()).collect();
    let found: Vec<&Vec<Cell>> = rows.rows.iter().map(|(_, row)| row).collect();
    let same = |(a, b): (&Vec<Cell>, &&Vec<Cell>)| a.iter().zip(b.iter()).all(|(a, b)| a.same(b));
    if wanted.len() != found.len() || !wanted.iter().zip(&found).all(same) {
        return Err(format!("{} rows wanted, found {rows}", wanted.len()));
    }
    Ok(())
}

#[test]
fn law_of_null() {
    let build = |tables: &[Table]| made(&tables[0], OnError::Null);
    run_law(&[any_table()], 300, build, |inputs, found| judge(inputs, found, OnError::Null));
}

#[test]
fn law_of_rows_left_out() {
    let build = |tables: &[Table]| made(&tables[0], OnError::Drop);
    run_law(&[any_table()], 300, build, |inputs, found| judge(inputs, found, OnError::Drop));
}

/// U1–U8 hold for the errors as for any table, and a row is told once for each time it could not be computed.
#[test]
fn law_of_the_errors_themselves() {
    let build = |tables: &[Table]| made(&tables[0], OnError::Null)?.errors();
    run_law(&[any_table()], 300, build, |inputs, found| {
        let Found::Rows(rows) = found else { return Err("it failed".into()) };
        let at = inputs[0].index_of("v");
        let none = |row: &Vec<Cell>| fits(&row[at]).is_none();
        let failing = inputs[0].rows.iter().filter(|(_, row)| none(row)).count();
        let told = |of: &Cell| matches!(of, Cell::Str(text) if text == "with_columns");
        if !rows.rows.iter().all(|(_, row)| told(&row[0])) {
            return Err(format!("another operation is named: {rows}"));
        }
        // What failed as the table was made comes with the next step.
        if rows.rows.is_empty() || rows.rows.len() >= failing {
            return Ok(());
        }
        Err(format!("{failing} rows fail, {} are told", rows.rows.len()))
    });
}
