//! Tests of the performance table: its values, and that nothing is recorded while nobody holds it.

use super::{MOST_ROWS, performance};
use crate::driver::attach::attach;
use crate::ops::Slice;
use crate::testing::{Cell, Drawn, Plain, Watch, still_graph};

fn rows(plain: &Plain) -> Vec<(Cell, String, Cell, Cell)> {
    let row = |(_, row): &(u64, Vec<Cell>)| (row[0].clone(), row[2].to_string(), row[3].clone(), row[4].clone());
    plain.rows.iter().map(row).collect()
}

#[test]
fn each_node_and_each_cycle_is_told_one_step_later() {
    let graph = still_graph();
    let input = Drawn::new(&graph, "0 A 1 | 1 B 2");
    let head = attach(&Slice::head(1), std::slice::from_ref(input.table())).expect("it starts");
    let table = performance(&graph).expect("there is one");
    assert_eq!(graph.last_report().expect("a step ran").nodes, [], "nobody looked on yet");
    input.apply("~ 0 . 5 | ~ 1 . 6");
    graph.step().expect("the cycle runs");
    let watch = Watch::attach(&table).expect("it can be watched");
    assert_eq!(watch.now().rows.len(), 0);
    graph.step().expect("the cycle runs");
    assert_eq!(watch.fault(), None);
    let found = rows(&watch.now());
    let shown: Vec<String> =
        found.iter().map(|(step, name, taken, given)| format!("{step} {name} {taken} {given}")).collect();
    assert_eq!(shown, ["2 input_table 0 2", "2 head 2 1", "2 cycle 2 3"], "{shown:?}");
    let plain = watch.now();
    assert!(plain.rows[..2].iter().all(|(_, row)| matches!(row[1], Cell::Int(_))), "nodes have numbers");
    assert!(matches!(plain.rows[2].1[1], Cell::Null), "the whole cycle has none");
    assert!(performance(&graph).expect("there is one").same(&table), "a graph has one");
    drop((watch, table, head));
    graph.step().expect("the cycle runs");
    assert_eq!(graph.last_report().expect("a step ran").nodes, [], "nobody looks on any more");
}

#[test]
fn figures_alone_start_no_cycle() {
    let graph = still_graph();
    let input = Drawn::new(&graph, "0 A 1");
    let _table = performance(&graph).expect("there is one");
    input.apply("~ 0 . 5");
    graph.step().expect("the cycle runs");
    assert_eq!(graph.counters().pending, 0);
}

#[test]
fn the_oldest_rows_go() {
    let graph = still_graph();
    let input = Drawn::new(&graph, "0 A 1");
    let tables: Vec<_> = (0..1_000)
        .map(|n| attach(&Slice::head(n + 1), std::slice::from_ref(input.table())).expect("it starts"))
        .collect();
    let table = performance(&graph).expect("there is one");
    for step in 0..110 {
        input.apply(&format!("~ 0 . {}", step + 2));
        graph.step().expect("the cycle runs");
    }
    assert_eq!(table.rows().expect("it lives").len(), MOST_ROWS);
    drop(tables);
}
