//! Random expressions against the model: every tree the engine evaluates chunk by chunk, the model
//! evaluates cell by cell.

use engine::ops::Select;
use engine::testing::{any_table, run_drawn_law};
use engine::{Table, attach};
use model::Compare;
use model::ops::{Derived, select};

use crate::expressions::{Both, Expressions, Kind};
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

#[test]
fn expressions_equal_the_model() {
    let columns = columns();
    let expressions = Expressions { columns: &columns };
    run_drawn_law(
        &[any_table().steps(3)],
        400,
        |tape| [Kind::Int, Kind::Float, Kind::Bool, Kind::Str].map(|kind| expressions.draw(tape, kind, 3)),
        |made: &[Both; 4], tables: &[Table]| {
            let named: Vec<_> =
                made.iter().enumerate().map(|(at, both)| both.engine.clone().alias(format!("c{at}"))).collect();
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
