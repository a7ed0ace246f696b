//! Random expressions against the model: every tree the engine evaluates chunk by chunk, the model
//! evaluates cell by cell.

use std::collections::HashMap;

use engine::ops::Select;
use engine::testing::{any_table, run_drawn_law};
use engine::{Table, attach};
use formula::{Expr, Formula, Names, Purpose};
use model::Compare;
use model::ops::{Derived, select};

use crate::expressions::{Both, Expressions, Kind, as_formula};
use crate::oracle::{judge, to_model};

fn columns() -> Vec<(String, Kind)> {
    let named = [
        ("k", Kind::Str),
        ("g", Kind::Int),
        ("v", Kind::Int),
        ("x", Kind::Float),
        ("t", Kind::Time),
        ("b", Kind::Bool),
    ];
    named.map(|(name, kind)| (name.to_owned(), kind)).to_vec()
}

/// The drawn expression as a formula string says it, named `c0`, `c1`, ….
fn read(at: usize, both: &Both, table: &Table) -> Expr {
    let text = format!("c{at} = {}", as_formula(&both.engine));
    let formula = Formula::parse(&text, Purpose::Column).unwrap_or_else(|wrong| panic!("{wrong}"));
    let names = Names { columns: Some(table.schema()), values: &HashMap::new(), functions: &HashMap::new() };
    let expr = formula.lower(&names).unwrap_or_else(|wrong| panic!("{wrong}"));
    assert_eq!(expr, both.engine.clone().alias(format!("c{at}")), "{text}");
    expr
}

#[test]
fn expressions_equal_the_model() {
    let columns = columns();
    let expressions = Expressions { columns: &columns };
    run_drawn_law(
        &[any_table().steps(3)],
        400,
        |tape| [Kind::Int, Kind::Float, Kind::Bool, Kind::Str].map(|kind| expressions.draw(tape, kind, 3)),
        |made: &[Both; 4], tables: &[Table]| {
            // Evaluated as it is read from a formula, which is the tree that was drawn.
            let named: Vec<_> = made.iter().enumerate().map(|(at, both)| read(at, both, &tables[0])).collect();
            attach(&Select::only(&tables[0], &named)?, tables)
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
