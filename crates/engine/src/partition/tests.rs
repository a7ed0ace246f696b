//! Laws of partitioned tables, and what a step wakes.

use std::time::Duration;

use graph::{Settings, UpdateGraph};
use model::{Compare, differences, ops};

use super::*;
use crate::driver::attach::attach;
use crate::ops::Slice;
use crate::testing::oracle::to_model;
use crate::testing::{Drawn, Source, Tape, Watch, any_table, check_law, explore, still_graph};

fn call() -> Call {
    Call::from("partition_by")
}

fn by(table: &Table, keys: &[&str]) -> Result<Partitioned, Error> {
    let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
    Partitioned::split(&call(), table, &keys, false)
}

fn stacked(parts: &[(model::Row, model::Table)], like: &model::Table) -> model::Table {
    let rows = parts.iter().flat_map(|(_, part)| part.rows.iter().map(|(_, row)| row.clone())).collect();
    model::Table::flat(like.names.clone(), rows)
}

#[test]
fn merged_constituents_are_the_table() {
    for keys in [&["k"][..], &["g", "k"]] {
        let build = |table: &Table| by(table, keys)?.merge(&Call::from("merge"));
        let names: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
        check_law(&any_table(), 150, Compare::by_key(keys), build, |table| {
            stacked(&ops::partition(table, &names), table)
        });
    }
}

/// A graph, on one thread or two.
fn graph(tape: &mut Tape) -> UpdateGraph {
    let threads = *tape.choose(&[1, 2]);
    UpdateGraph::new(Settings { period: Duration::ZERO, threads: Some(threads), init_threads: Some(1) })
}

/// Constituents that are held, each of its key, while keys go and come back.
#[test]
fn each_constituent_has_the_rows_of_its_key_in_every_step() {
    explore(200, |tape| {
        let text = |error: Error| error.to_string();
        let graph = graph(tape);
        let (source, mut case) = Source::draw(&graph, &any_table().rows(12), tape).map_err(text)?;
        let keys = ["k".to_owned()];
        let partitioned = by(source.table(), &["k"]).map_err(text)?;
        let set = Watch::attach(partitioned.set()).map_err(text)?;
        let mut held: Vec<(model::Row, Table, Watch)> = Vec::new();
        for _ in 0..12 {
            let step = case.step(tape);
            if !step.is_empty() {
                source.apply(&step, &case.mirror.schema).map_err(text)?;
            }
            graph.step().map_err(|error| error.to_string())?;
            let now = Watch::attach(source.table()).map_err(text)?.now();
            let wanted = ops::partition(&to_model(&now), &keys);
            let of = |key: &model::Row| wanted.iter().find(|(known, _)| same(known, key)).map(|(_, table)| table);
            for (key, table, watch) in &held {
                if let Some(fault) = watch.fault() {
                    return Err(fault);
                }
                if let Some(failure) = table.failure() {
                    return Err(failure.to_string());
                }
                let found = to_model(&watch.now());
                let none = model::Table::flat(found.names.clone(), Vec::new());
                if let Some(text) = differences(of(key).unwrap_or(&none), &found, &Compare::ByPosition) {
                    return Err(format!("{key:?}: {text}"));
                }
            }
            if let Some(fault) = set.fault() {
                return Err(fault);
            }
            // Some are let go, and one of the keys that are there is taken.
            held.retain(|_| !tape.chance(40));
            let tables = partitioned.tables().map_err(text)?;
            if tables.len() != wanted.len() {
                return Err(format!("{} constituents of {} keys", tables.len(), wanted.len()));
            }
            for table in tables {
                let watch = Watch::attach(&table).map_err(text)?;
                let rows = to_model(&watch.now());
                let column = rows.index_of("k");
                let key = rows.rows.first().map(|(_, row)| vec![row[column].clone()]).ok_or("an empty constituent")?;
                let known = held.iter().find(|(known, _, _)| same(known, &key));
                match known {
                    Some((_, held, _)) if !held.same(&table) => return Err(format!("{key:?} is another table now")),
                    Some(_) => {}
                    None if tape.chance(128) => held.push((key, table, watch)),
                    None => {}
                }
            }
        }
        Ok(())
    });
}

fn same(one: &model::Row, other: &model::Row) -> bool {
    one.iter().zip(other).all(|(one, other)| model::same(one, other))
}

fn step(graph: &UpdateGraph, drawn: &Drawn, drawing: &str) {
    drawn.apply(drawing);
    graph.step().expect("the cycle runs");
}

#[test]
fn a_step_wakes_the_constituents_that_change() {
    let graph = still_graph();
    let many = 1_000;
    let rows: Vec<String> = (0..many).map(|row| format!("{row} K{row} {row}")).collect();
    let drawn = Drawn::new(&graph, &rows.join(" | "));
    let partitioned = by(drawn.table(), &["K"]).expect("K is a key");
    let tables = partitioned.tables().expect("they are there");
    let ran = || tables.iter().filter(|table| table.ran().is_some_and(|(runs, _)| runs > 0)).count();
    assert_eq!((tables.len(), ran()), (many, 0));
    step(&graph, &drawn, "~ 3 . 9 | ~ 500 . 9 | - 7");
    assert_eq!(ran(), 3);
    assert_eq!(partitioned.tables().expect("they are there").len(), many - 1);
    let last = graph.last_report().expect("a step has run");
    // The source, the hub, the set, and three constituents.
    assert_eq!(last.ran, 6);
}

#[test]
fn constituents_come_and_go_and_leave_nothing() {
    let graph = still_graph();
    let drawn = Drawn::new(&graph, "0 A 1");
    let partitioned = by(drawn.table(), &["K"]).expect("K is a key");
    let merged = partitioned.merge(&Call::from("merge")).expect("they are of one schema");
    let nodes = graph.counters().nodes;
    for round in 1..=100 {
        step(&graph, &drawn, &format!("+ {round} B{round} 1"));
        assert_eq!((graph.counters().nodes, merged.rows().expect("it lives").len()), (nodes, 2));
        step(&graph, &drawn, &format!("- {round}"));
        assert_eq!((graph.counters().nodes, merged.rows().expect("it lives").len()), (nodes, 1));
    }
    drop((partitioned, merged));
    graph.step().expect("the cycle runs");
    assert_eq!(graph.counters().nodes, 1);
}

#[test]
fn a_merge_tells_what_constituents_tell() {
    let build = |table: &Table| by(table, &["K"])?.merge(&Call::from("merge"));
    crate::testing::check_steps(
        build,
        "0 A 1 | 1 B 2 | 2 A 3",
        &[
            ("~ 2 . 4", "~ 2 . 4"),
            ("- 0", "- 0"),
            ("+ 3 B 5 | + 4 C 6", "+ 65539 B 5 | + 131076 C 6"),
            ("~ 3 A .", "- 65539 | + 3 A 5"),
            ("- 1", "- 65537"),
        ],
    );
}

/// A function of a table.
struct Makes<F>(F);

impl<F: Fn(&Table) -> Result<Table, Error> + Send + Sync> Transformer for Makes<F> {
    fn transform(&self, tables: &[Table]) -> Result<Table, Error> {
        (self.0)(&tables[0])
    }
}

fn first(table: &Table, rows: u64) -> Result<Table, Error> {
    attach(&Slice::head(rows), std::slice::from_ref(table))
}

#[test]
fn a_function_of_each_constituent_is_one_of_groups() {
    let build = |table: &Table| {
        let made = by(table, &["k"])?.transform(
            &Call::from("transform"),
            Arc::new(Makes(|t: &Table| first(t, 2))),
            &[],
            &[],
        )?;
        made.merge(&Call::from("merge"))
    };
    let keys = ["k".to_owned()];
    check_law(&any_table(), 150, Compare::by_key(&["k"]), build, |table| ops::head_by(table, 2, &keys));
}

#[test]
fn functions_of_functions_see_the_rows_of_the_step() {
    let build = |table: &Table| {
        let call = Call::from("transform");
        let lower = by(table, &["g"])?.transform(&call, Arc::new(Makes(|t: &Table| first(t, 3))), &[], &[])?;
        lower.transform(&call, Arc::new(Makes(|t: &Table| first(t, 1))), &[], &[])?.merge(&Call::from("merge"))
    };
    let keys = ["g".to_owned()];
    check_law(&any_table(), 150, Compare::by_key(&["g"]), build, |table| ops::head_by(table, 1, &keys));
}

#[test]
fn a_function_that_fails_fails_its_constituent_alone() {
    let graph = still_graph();
    let drawn = Drawn::new(&graph, "0 A 1");
    let fails = |t: &Table| match t.rows()?.first() {
        Some(row) if row > 1 => Err(Error::Cancelled("too late".into())),
        _ => first(t, 1),
    };
    let made = by(drawn.table(), &["K"]).expect("K is a key");
    let made = made.transform(&Call::from("transform"), Arc::new(Makes(fails)), &[], &[]).expect("A does not fail");
    step(&graph, &drawn, "+ 1 B 2 | + 2 C 3");
    let members = made.now(|when| {
        ids_at(made.set(), when.moment())?
            .into_iter()
            .map(|id| Ok(made.members.clone().member(id, when).and_then(|member| member.table(None))))
            .collect::<Result<Vec<_>, _>>()
    });
    let found: Vec<String> = members
        .expect("the set lives")
        .iter()
        .map(|member| match member {
            Ok(table) => table.rows().map_or_else(|error| error.to_string(), |rows| rows.len().to_string()),
            Err(error) => error.to_string(),
        })
        .collect();
    assert_eq!(found[..2], ["1", "1"]);
    assert!(found[2].contains("transform(K = C)") && found[2].contains("too late"), "{}", found[2]);
}
