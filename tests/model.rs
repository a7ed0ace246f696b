//! Random expressions against the model: every tree the engine evaluates chunk by chunk, the model
//! evaluates cell by cell.

use std::collections::HashMap;

use engine::ops::{Concat, Project};
use engine::plan::{ColumnOptions, InputColumns, Materialization, columns as computed, filtered};
use engine::testing::{Found, Plain, any_table, run_drawn_law};
use engine::{Error, OnError, Table, attach};
use formula::{Expr, Formula, Function, Names, Purpose};
use model::ops::{Derived, filter, select};
use model::{Compare, Key};

use crate::expressions::{Both, Expressions, Kind, as_formula};
use crate::oracle::{judge, to_model};
use crate::stages::COMMON;

fn columns() -> Vec<(String, Kind)> {
    COMMON.map(|(name, kind)| (name.to_owned(), kind)).to_vec()
}

/// The drawn expression as a formula string says it, named `c0`, `c1`, ….
fn read(at: usize, both: &Both, table: &Table) -> Expr {
    let text = format!("c{at} = {}", as_formula(&both.engine));
    let formula = Formula::parse(&text, Purpose::Column).unwrap_or_else(|wrong| panic!("{wrong}"));
    let names = Names {
        columns: Some(table.schema()),
        values: &HashMap::new(),
        functions: &HashMap::new(),
        sets: &HashMap::new(),
    };
    let expr = formula.lower(&names).unwrap_or_else(|wrong| panic!("{wrong}"));
    assert_eq!(expr, both.engine.clone().alias(format!("c{at}")), "{text}");
    expr
}

#[test]
fn expressions_equal_the_model() {
    law_of(false, Materialization::Stored);
}

#[test]
fn expressions_of_neighbours_equal_the_model() {
    law_of(true, Materialization::Stored);
}

#[test]
fn expressions_computed_on_read_equal_the_model() {
    law_of(true, Materialization::Lazy);
}

fn law_of(far: bool, kept: Materialization) {
    let columns = columns();
    let expressions = Expressions { columns: &columns, far, signed_zeros: true };
    run_drawn_law(
        &[any_table().steps(3)],
        400,
        |tape| [Kind::Int, Kind::Float, Kind::Bool, Kind::Str].map(|kind| expressions.draw(tape, kind, 3)),
        |made: &[Both; 4], tables: &[Table]| {
            // Evaluated as it is read from a formula, which is the tree that was drawn.
            let named: Vec<_> = made.iter().enumerate().map(|(at, both)| read(at, both, &tables[0])).collect();
            computed(
                "select",
                &tables[0],
                &named,
                ColumnOptions { kept, own: InputColumns::Drop, ..ColumnOptions::STORED },
            )
        },
        |made, inputs, found| {
            let named: Vec<_> = made
                .iter()
                .enumerate()
                .map(|(at, both)| Derived::expr(&format!("c{at}"), both.model.clone()))
                .collect();
            let wanted = select(&to_model(&inputs[0]), &named);
            let texts: Vec<String> = made.iter().map(|both| format!("{:?}", both.model)).collect();
            judge(Ok(wanted), found, &Compare::ByPosition)
                .map_err(|text| format!("{text}\n  of {}", texts.join("\n     ")))
        },
    );
}

/// Draws predicates over random tables: what is made of one, and what is wrong with that.
fn law_of_predicates(
    build: impl Fn(&Expr, &Table) -> Result<Table, Error>,
    wrong: impl Fn(&Both, &Plain, &Found<'_>) -> Result<(), String>,
) {
    let columns = columns();
    let expressions = Expressions { columns: &columns, far: true, signed_zeros: true };
    run_drawn_law(
        &[any_table().steps(4)],
        300,
        |tape| expressions.draw(tape, Kind::Bool, 3),
        |made: &Both, tables: &[Table]| build(&made.engine, &tables[0]),
        |made, inputs, found| wrong(made, &inputs[0], found),
    );
}

fn kept(table: &Table, predicate: &Expr) -> Result<Table, Error> {
    filtered("where", table, std::slice::from_ref(predicate), &[], OnError::Fail)
}

/// What is true, what is false and what is null are together all rows, whatever happened to them.
#[test]
fn a_predicate_parts_its_table_in_three() {
    let build = |made: &Expr, table: &Table| {
        let call = |function| Expr::call(function, vec![made.clone()]);
        let predicates = [made.clone(), call(Function::Not)?, call(Function::IsNull)?];
        let parts = predicates.iter().map(|one| kept(table, one)).collect::<Result<Vec<Table>, _>>()?;
        attach(&Concat::new("concat", &parts)?, &parts)
    };
    law_of_predicates(build, |_, input, found| {
        let Found::Rows(rows) = found else { return Err("it has failed".to_owned()) };
        let sorted = |rows: &Plain| {
            let mut cells: Vec<Key> = to_model(rows).rows.into_iter().map(|(_, row)| Key(row)).collect();
            cells.sort();
            cells
        };
        if sorted(rows) == sorted(input) { Ok(()) } else { Err(format!("{rows}\n  are not {input}")) }
    });
}

/// A filter keeps what the same expression, as a column, says is true.
#[test]
fn a_filter_is_the_column_that_says_so() {
    let build = |made: &Expr, table: &Table| {
        let told = computed("update", table, &[made.clone().alias("told")], ColumnOptions::STORED)?;
        let kept = kept(&told, &Expr::column("told"))?;
        attach(&Project::drop(&kept, &["told".to_owned()])?, std::slice::from_ref(&kept))
    };
    law_of_predicates(build, |made, input, found| {
        let wanted = filter(&to_model(input), std::slice::from_ref(&made.model));
        judge(Ok(wanted), found, &Compare::ByPosition)
    });
}
