//! The bridge from plain tables to the model, and laws stated by it. Tests alone know this file.

use model::{Compare, Fault, Row, Value, differences};

use super::check::{Found, run_law};
use super::plain::{Cell, Plain};
use super::random::TableSpec;
use super::{Error, Table};

/// What a model answers: rows, or that there is no answer.
pub trait Answer {
    /// The rows, or the fault.
    fn rows(self) -> Result<model::Table, Fault>;
}

impl Answer for model::Table {
    fn rows(self) -> Result<model::Table, Fault> {
        Ok(self)
    }
}

impl Answer for Result<model::Table, Fault> {
    fn rows(self) -> Result<model::Table, Fault> {
        self
    }
}

/// `build` over a random table equals `oracle` over its rows, whatever happened to it.
pub fn check_law<A: Answer>(
    spec: &TableSpec,
    runs: u64,
    compare: Compare,
    build: impl Fn(&Table) -> Result<Table, Error>,
    oracle: impl Fn(&model::Table) -> A,
) {
    let one = std::slice::from_ref(spec);
    run_law(
        one,
        runs,
        |tables| build(&tables[0]),
        |inputs, found| judge(oracle(&to_model(&inputs[0])).rows(), found, &compare),
    );
}

/// As [`check_law`], but over two inputs.
pub fn check_law_of_two<A: Answer>(
    specs: (&TableSpec, &TableSpec),
    runs: u64,
    compare: Compare,
    build: impl Fn(&Table, &Table) -> Result<Table, Error>,
    oracle: impl Fn(&model::Table, &model::Table) -> A,
) {
    let two = [specs.0.clone(), specs.1.clone()];
    run_law(
        &two,
        runs,
        |tables| build(&tables[0], &tables[1]),
        |inputs, found| judge(oracle(&to_model(&inputs[0]), &to_model(&inputs[1])).rows(), found, &compare),
    );
}

/// What is wrong with what was found, given what the model says.
pub fn judge(wanted: Result<model::Table, Fault>, found: &Found<'_>, compare: &Compare) -> Result<(), String> {
    match (wanted, found) {
        (Err(_), Found::Failed(_)) => Ok(()),
        (Err(fault), Found::Rows(rows)) => Err(format!("the table should have failed ({fault}), it has {rows}")),
        (Ok(_), Found::Failed(text)) => Err(format!("the table failed: {text}")),
        (Ok(wanted), Found::Rows(rows)) => match differences(&wanted, &to_model(rows), compare) {
            None => Ok(()),
            Some(text) => Err(format!("{text}\n  wanted {}\n  found  {rows}", wanted.to_string().replace('\n', " | "))),
        },
    }
}

/// A plain table as the model's.
pub fn to_model(plain: &Plain) -> model::Table {
    let cells = |row: &Vec<Cell>| -> Row { row.iter().map(value_of).collect() };
    model::Table { names: plain.names(), rows: plain.rows.iter().map(|(key, row)| (*key, cells(row))).collect() }
}

/// A plain cell as the model's.
pub fn value_of(cell: &Cell) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Bool(x) => Value::Bool(*x),
        Cell::Int(x) => Value::Int(*x),
        Cell::UInt(x) => Value::UInt(*x),
        Cell::Float(x) => Value::Float(*x),
        Cell::Float32(x) => Value::Float32(*x),
        Cell::Str(x) => Value::Str(x.clone()),
        Cell::Bytes(x) => Value::Bytes(x.clone()),
        Cell::Timestamp(x) => Value::Timestamp(*x),
        Cell::Date(x) => Value::Date(*x),
        Cell::Time(x) => Value::Time(*x),
        Cell::Duration(x) => Value::Duration(*x),
        Cell::Decimal(x, scale) => Value::Decimal(*x, *scale),
        Cell::List(x) => Value::List(x.iter().map(value_of).collect()),
        Cell::Opaque(x) => Value::Opaque(x.clone()),
    }
}
