//! `unique`, `first_by`, `last_by`: one row a key: the first or the last, with all its columns.
//!
//!   in    + 0 A 1    + 1 B 2    + 2 A 3     last_by K    out   0 A 3    1 B 2
//!   in    - 2                                            out   ~ 0 A 1  K {V}
//!   unique over all columns: a row is never modified, only added and removed.
//!
//! It is the aggregation of that name over every other column, with the columns in their old order.

use formula::{Aggregate, Expr};

use super::held::Held;
use crate::error::Error;
use crate::eval::call::Call;
use crate::ops::{Aggregation, Project};
use crate::plan::bounds::GroupBounds;
use crate::plan::spec::Keep;
use crate::table::handle::Table;

/// One row for each tuple of `keys` (all columns if none are named).
pub(in crate::plan) fn distinct(
    call: &Call,
    table: &Table,
    keys: &[String],
    keep: Keep,
    bounds: GroupBounds,
) -> Result<Table, Error> {
    let held = Held::of(call, table, bounds, true)?;
    let names: Vec<String> = table.schema().fields().iter().map(|field| field.name().clone()).collect();
    let keys = if keys.is_empty() { &names } else { keys };
    let kind = if keep == Keep::First { Aggregate::First } else { Aggregate::Last };
    let others = names.iter().filter(|name| !keys.contains(name));
    let picks: Result<Vec<Expr>, formula::Error> =
        others.map(|name| Expr::aggregate(kind.clone(), Some(Expr::column(name.as_str())))).collect();
    let how = held.as_ref().map(|held| held.how(call, table)).transpose()?;
    let inputs: Vec<Table> = std::iter::once(table).chain(held.as_ref().and_then(Held::clock)).cloned().collect();
    let picked = call.attach(&Aggregation::new(&call.method, table, keys, &picks?)?.holding(how), &inputs)?;
    if picked.schema().fields().iter().map(|field| field.name()).eq(names.iter()) {
        return Ok(Held::told(held.as_ref(), picked));
    }
    Ok(Held::told(held.as_ref(), call.attach(&Project::choose(&picked, &names)?, &[picked])?))
}

#[cfg(test)]
mod tests {
    use model::Compare;
    use model::ops::{first_by, last_by, unique};

    use super::*;
    use crate::testing::random::KINDS;
    use crate::testing::values::Style;
    use crate::testing::{check_law, check_steps, table_of};

    fn by(table: &Table, keys: &[&str], keep: Keep) -> Result<Table, Error> {
        let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        distinct(&"unique".into(), table, &keys, keep, GroupBounds::default())
    }

    #[test]
    fn the_row_before_takes_over() {
        let steps = [
            ("+ 3 B 5", "~ 1 . 5"),
            ("- 2", "~ 0 . 1"),
            ("- 1 3", "- 1"),
            ("~ 0 . 7", "~ 0 . 7"),
            ("+ 9 B 1", "+ 2 B 1"),
        ];
        check_steps(|table| by(table, &["K"], Keep::Last), "0 A 1 | 1 B 2 | 2 A 3", &steps);
    }

    /// Whether they come by an added row or by one that changed its key.
    #[test]
    fn groups_new_in_one_step_stand_in_the_order_of_their_first_rows() {
        let steps = [("+ 3 C 4 | ~ 5 D .", "- 1 | + 2 C 4 | + 3 D 2"), ("+ 9 E 1 | ~ 3 E .", "- 2 | + 4 E 4")];
        check_steps(|table| by(table, &["K"], Keep::First), "0 A 1 | 5 B 2", &steps);
    }

    /// Keys and picked cells of every type; a dictionary stays one.
    #[test]
    fn law_of_every_type() {
        for kind in KINDS {
            let spec = table_of(&format!("k:{kind} v:{kind}")).styled("k", &[Style::Skewed, Style::Pool]).steps(6);
            let oracle = |table: &model::Table| last_by(table, &["k"]);
            check_law(&spec, 8, Compare::by_key(&["k"]), |table| by(table, &["k"], Keep::Last), oracle);
        }
    }

    #[test]
    fn law() {
        let spec = table_of("k:str g:int x:float");
        check_law(
            &spec,
            300,
            Compare::by_key(&["k"]),
            |table| by(table, &["k"], Keep::Last),
            |input| last_by(input, &["k"]),
        );
    }

    #[test]
    fn law_of_first() {
        let spec = table_of("g:int x:float k:str");
        check_law(
            &spec,
            300,
            Compare::by_key(&["g", "x"]),
            |table| by(table, &["g", "x"], Keep::First),
            |input| first_by(input, &["g", "x"]),
        );
    }

    #[test]
    fn law_of_whole_rows() {
        let spec = table_of("g:int b:bool");
        check_law(&spec, 200, Compare::by_key(&["g", "b"]), |table| by(table, &[], Keep::First), unique);
    }
}
