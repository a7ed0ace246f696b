//! Tests of a graph's diagnostics: timings, drawings, and counters that return to their values.

use super::support::{Bench, Held};
use crate::{Drawing, Moment, Outcome};

#[test]
fn timings_tell_when_a_node_ran_and_when_it_had_something_to_say() {
    let bench = Bench::new(1);
    let a = bench.source("a");
    let odd = |step: crate::Step| if step.number() % 2 == 1 { Outcome::Changed } else { Outcome::Quiet };
    let b = bench.below_with("b", &[&a], odd);
    let bad = bench.below_with("bad", &[&b], |_| Outcome::Failed);
    for _ in 0..2 {
        bench.graph.activate(a.id());
        bench.graph.step().expect("outside");
    }
    let timings = bench.graph.timings();
    let seen: Vec<_> = timings
        .iter()
        .map(|node| (node.label.as_str(), node.last_step, node.last_change, node.runs, node.failed))
        .collect();
    let at = Moment::new;
    assert_eq!(seen, [("a", at(2), at(2), 2, false), ("b", at(2), at(1), 2, false), ("bad", at(1), at(1), 1, true)]);
    assert_eq!(timings[2].parents, [b.id()]);
    assert!(timings.iter().all(|node| node.total_nanos >= node.last_nanos));
    drop(bad);
}

#[test]
fn the_graph_is_drawn_for_graphviz_and_for_mermaid() {
    let bench = Bench::new(1);
    let a = bench.source("append_table");
    let b = bench.below("filter(\"x\" > 1)", &[&a]);
    let _c = bench.below_with("join", &[&a, &b], |_| Outcome::Failed);
    bench.graph.activate(a.id());
    bench.graph.step().expect("outside");
    assert_eq!(
        bench.graph.draw(Drawing::Dot),
        "digraph tickframe {\n  node [shape=box];\n  n0 [label=\"append_table\"];\n  \
         n1 [label=\"filter(\\\"x\\\" > 1)\"];\n  n2 [label=\"join\", color=red];\n  \
         n0 -> n1;\n  n0 -> n2;\n  n1 -> n2;\n}\n"
    );
    assert_eq!(
        bench.graph.draw(Drawing::Mermaid),
        "flowchart TD\n  n0[\"append_table\"]\n  n1[\"filter(#34;x#34; #62; 1)\"]\n  n2[\"join\"]:::failed\n  \
         n0 --> n1\n  n0 --> n2\n  n1 --> n2\n  classDef failed stroke:#c00\n"
    );
    assert_eq!(Bench::new(1).graph.draw(Drawing::Mermaid), "flowchart TD\n");
}

#[test]
fn a_thousand_pipelines_that_come_and_go_leave_nothing() {
    let bench = Bench::new(2);
    let a = bench.source("a");
    let kept = bench.below("kept", &[&a]);
    let step = |expected: usize| {
        bench.graph.activate(a.id());
        bench.graph.step().expect("outside");
        assert_eq!(bench.events().len(), expected);
    };
    step(2);
    let before = bench.graph.counters();
    let shared = std::sync::Arc::strong_count(&kept.node);
    for round in 0..1_000 {
        let mut pipeline: Vec<Held> = vec![bench.below("n", &[&kept])];
        for _ in 1..10 {
            let above = pipeline.last().expect("it has a first node");
            pipeline.push(bench.below("n", &[above]));
        }
        step(12);
        // From the top, from the bottom, and while something is pending.
        match round % 3 {
            0 => pipeline.reverse(),
            1 => bench.graph.activate(pipeline[4].id()),
            _ => {}
        }
        pipeline.into_iter().for_each(drop);
    }
    step(2);
    let after = bench.graph.counters();
    assert_eq!(
        (after.nodes, after.failed_nodes, after.pending, after.timers, after.troubles),
        (before.nodes, before.failed_nodes, before.pending, before.timers, before.troubles)
    );
    assert_eq!(std::sync::Arc::strong_count(&kept.node), shared);
    assert_eq!(bench.graph.timings().len(), 2);
}
