//! `multi_join`: one row a key that any of the inputs has, with the columns of the row that each input has for it.
//!
//!   a    0 A 1    1 B 2      b    0 B 7    1 C 8        out  0 A 1 –    1 B 2 7    2 C – 8
//!   a    - 1                                           out  ~ 1 B – 7   K {a}
//!   b    - 0                                           out  - 1
//!
//! The keys are those of all inputs, one input after the other, each once; each input is a natural join on them, in which a
//! second row of a key is an error. Cost of an update: one probe a changed row in the keys and in the join of its input.

use arrow_schema::DataType;
use formula::{Expr, type_name};

use super::computed::{ColumnOptions, Columns};
use super::distinct::distinct;
use crate::error::Error;
use crate::eval::call::Call;
use crate::ops::{Concat, NaturalJoin, Project, meeting_type};
use crate::plan::bounds::GroupBounds;
use crate::plan::spec::{InputColumns, Keep, Matches};
use crate::table::handle::Table;

/// The table of a join of several tables on columns that all of them have.
pub(in crate::plan) fn multi_join(
    call: &Call,
    inputs: &[Table],
    on: &[String],
    nulls_equal: bool,
    suffix: Option<&str>,
    columns: Columns,
) -> Result<Table, Error> {
    let method = &*call.method;
    if inputs.is_empty() {
        return Err(Error::schema(method, "at least one table is needed"));
    }
    if on.is_empty() {
        return Err(Error::schema(method, "at least one key column is needed (on=)"));
    }
    let mut seen = std::collections::HashSet::new();
    if let Some(twice) = on.iter().find(|name| !seen.insert(name.as_str())) {
        return Err(Error::Duplicate { operation: method.into(), name: twice.clone() });
    }
    if inputs.iter().all(|input| input.attributes().blink) {
        let message = "blink tables alone, whose rows live for one step while their keys would be kept; keep the rows in \
                       a table first";
        return Err(Error::invalid(method, message));
    }
    let meets = on.iter().map(|name| meeting(method, inputs, name)).collect::<Result<Vec<_>, Error>>()?;
    let keys = inputs.iter().map(|input| keys_of(call, input, on, &meets, columns));
    let stacked = keys.collect::<Result<Vec<_>, Error>>()?;
    let stacked = match stacked.as_slice() {
        [one] => one.clone(),
        all => call.attach(&Concat::new(method, all)?, all)?,
    };
    let mut joined = distinct(call, &stacked, &[], Keep::First, GroupBounds::default())?;
    let pairs: Vec<(String, String)> = on.iter().map(|name| (name.clone(), name.clone())).collect();
    for (at, input) in inputs.iter().enumerate() {
        let join = NaturalJoin::new(method, &joined, input, &pairs, None, suffix, Matches::Error, nulls_equal)?;
        let both = [joined, input.clone()];
        joined = call.attach(&join.of_several(at), &both)?;
    }
    Ok(joined)
}

/// The type in which the key columns of all inputs compare.
fn meeting(method: &str, inputs: &[Table], name: &str) -> Result<DataType, Error> {
    let mut meet: Option<(usize, DataType)> = None;
    for (at, input) in inputs.iter().enumerate() {
        let column = input.column_index(&format!("{method}: table {at}"), name)?;
        let own = input.column_type(column);
        let (first, so_far) = meet.unwrap_or_else(|| (at, own.clone()));
        let both = meeting_type(&so_far, own).ok_or_else(|| {
            let (one, other) = (type_name(&so_far), type_name(own));
            let message = format!(
                "the key {name:?} is {one} in table {first}, {other} in table {at}, which do not compare; cast one of \
                 them"
            );
            Error::types(method, message)
        })?;
        if !column::types::can_be_key(&both) {
            return Err(Error::unkeyable(method, name, &both));
        }
        meet = Some((first, both));
    }
    meet.map(|(_, meet)| meet).ok_or_else(|| Error::schema(method, "at least one table is needed"))
}

/// The key columns of an input, in the types in which all inputs meet.
fn keys_of(call: &Call, input: &Table, on: &[String], meets: &[DataType], columns: Columns) -> Result<Table, Error> {
    let chosen = call.attach(&Project::choose(input, on)?, std::slice::from_ref(input))?;
    let own = |at: usize| chosen.column_type(at);
    if meets.iter().enumerate().all(|(at, meet)| own(at) == meet) {
        return Ok(chosen);
    }
    let cast = |(name, meet): (&String, &DataType)| {
        Ok::<Expr, Error>(Expr::column(name.as_str()).cast(meet.clone(), true)?.alias(name.as_str()))
    };
    let cast = on.iter().zip(meets).map(cast).collect::<Result<Vec<_>, _>>()?;
    columns(call, &chosen, &cast, ColumnOptions { own: InputColumns::Drop, ..ColumnOptions::STORED })
}

#[cfg(test)]
mod tests {
    use model::Compare;

    use super::*;
    use crate::plan::lower::columns::columns;
    use crate::testing::check::{Drawn, check_steps_of_two, still_graph};
    use crate::testing::{check_law_of_two, table_of};

    fn joined(one: &Table, other: &Table, on: &[&str], nulls_equal: bool) -> Result<Table, Error> {
        let on: Vec<String> = on.iter().map(|name| (*name).to_owned()).collect();
        multi_join(&"multi_join".into(), &[one.clone(), other.clone()], &on, nulls_equal, Some("_right"), columns)
    }

    #[test]
    fn rows_of_a_key_come_change_and_go() {
        check_steps_of_two(
            |one, other| joined(one, other, &["k"], false),
            ("k:str a:int: 0 A 1 | 1 B 2", "k:str b:int: 0 B 7 | 1 C 8"),
            &[
                (("- 1", ""), "~ 1 . null ."),
                (("", "- 0"), "- 1"),
                (("", "~ 1 . 9"), "~ 2 . . 9"),
                (("> [0..0]+5", ""), ""),
                (("- 5", "+ 4 A 3"), "~ 0 . null 3"),
                (("+ 2 B 5 | + 3 D 6", "+ 6 B 4"), "+ 3 B 5 4 | + 4 D 6 null"),
                (("+ 7 null 5", "+ 7 null 6"), "+ 5 null null null"),
                (("+ 8 B 9", ""), "! the key (B) has several rows in table 0"),
            ],
        );
    }

    #[test]
    fn a_name_of_two_tables_has_the_suffix() {
        check_steps_of_two(
            |one, other| {
                let table = joined(one, other, &["k"], false)?;
                assert_eq!(table.schema().field(2).name(), "a_right");
                Ok(table)
            },
            ("k:str a:int: 0 A 1", "k:str a:int: 0 A 7"),
            &[(("", "~ 0 . 8"), "~ 0 . . 8")],
        );
    }

    #[test]
    fn a_second_row_of_a_key_names_its_table() {
        check_steps_of_two(
            |one, other| joined(one, other, &["k"], true),
            ("k:str a:int: 0 A 1 | 1 null 2", "k:str b:int: 0 B 7"),
            &[
                (("", "+ 1 null 3"), "~ 1 . . 3"),
                (("", "- 0 | + 5 B 1"), "~ 2 . . 1"),
                (("", "+ 6 null 1"), "! the key (null) has several rows in table 1; multi_join takes at most one"),
            ],
        );
    }

    #[test]
    fn equal_requests_over_a_static_and_a_live_table_are_one() {
        let graph = still_graph();
        let (live, other) = (Drawn::new(&graph, "k:str a:int: 0 A 1"), Drawn::new(&graph, "k:str b:int: 0 B 7"));
        let still = || other.table().snapshot().expect("its rows now");
        let join = |still: &Table| joined(live.table(), still, &["k"], false).expect("it joins");
        let (rows, others) = (still(), still());
        let made = join(&rows);
        assert!(made.same(&join(&rows)), "one node");
        assert!(!made.same(&join(&others)), "these rows might be others");
    }

    #[test]
    fn law() {
        let (one, other) = (table_of("k:str v:int").rows(6), table_of("k:str w:int").rows(6));
        for nulls_equal in [false, true] {
            check_law_of_two(
                (&one, &other),
                200,
                Compare::by_key(&["k"]),
                |one, other| joined(one, other, &["k"], nulls_equal),
                |one, other| model::ops::multi_join(&[one, other], &["k"], nulls_equal),
            );
        }
    }
}
