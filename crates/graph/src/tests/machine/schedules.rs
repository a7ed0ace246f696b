//! Many threads, many orders: each node once, after its parents.

use fastrand::Rng;

use super::support::{Bench, Held};
use crate::{NodeId, Outcome, Schedule};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Barrier};

#[test]
fn siblings_run_at_once() {
    let bench = Bench::new(2);
    let a = bench.source("a");
    let barrier = Arc::new(Barrier::new(2));
    let meet = |barrier: &Arc<Barrier>| {
        let barrier = barrier.clone();
        move |_| {
            barrier.wait();
            Outcome::Changed
        }
    };
    let left = bench.below_with("left", &[&a], meet(&barrier));
    let right = bench.below_with("right", &[&a], meet(&barrier));
    let _end = bench.below("end", &[&left, &right]);
    bench.graph.activate(a.id());
    bench.graph.step().expect("outside");
    let events = bench.events();
    assert_eq!((events.len(), events[3].as_str()), (4, "end 1"));
}

/// What every node of a random graph must do in a step, worked out by hand from the edges.
fn expected(parents: &[Vec<usize>], loud: &[bool], active: &[usize]) -> Vec<bool> {
    let mut runs = vec![false; parents.len()];
    for node in 0..parents.len() {
        runs[node] = active.contains(&node) || parents[node].iter().any(|&parent| runs[parent] && loud[parent]);
    }
    runs
}

fn random_graph(seed: u64, bench: &Bench, nodes: usize) {
    let mut random = Rng::with_seed(seed);
    let (mut parents, mut loud, mut fails) = (Vec::new(), Vec::new(), Vec::new());
    let mut held = Vec::<Held>::new();
    let started: Arc<Vec<AtomicU64>> = Arc::new((0..nodes).map(|_| AtomicU64::new(0)).collect());
    let ended: Arc<Vec<AtomicU64>> = Arc::new((0..nodes).map(|_| AtomicU64::new(0)).collect());
    for node in 0..nodes {
        let mut above: Vec<usize> = Vec::new();
        for _ in 0..if node < 4 { 0 } else { 1 + random.u64(..3) } {
            above.push(random.u64(..node as u64) as usize);
        }
        above.sort_unstable();
        above.dedup();
        let outcome = match random.u64(..8) {
            0 | 1 => Outcome::Quiet,
            2 => Outcome::Failed,
            _ => Outcome::Changed,
        };
        let spin = random.u64(..50);
        let (starts, ends, waits_for) = (started.clone(), ended.clone(), above.clone());
        let work = bench.probe("node", move |step| {
            assert!(starts[node].swap(step.number(), Ordering::SeqCst) < step.number(), "twice in a step");
            for &parent in &waits_for {
                let parent_started = starts[parent].load(Ordering::SeqCst);
                assert_eq!(parent_started, ends[parent].load(Ordering::SeqCst), "before its parent");
            }
            (0..spin).for_each(|_| std::hint::spin_loop());
            ends[node].store(step.number(), Ordering::SeqCst);
            outcome
        });
        let ids: Vec<NodeId> = above.iter().map(|&parent| held[parent].id()).collect();
        let registration = bench.graph.join(&work, &ids, bench.graph.settled()).expect("idle");
        held.push(Held { registration, node: work });
        parents.push(above);
        loud.push(outcome != Outcome::Quiet);
        fails.push(outcome == Outcome::Failed);
    }
    for step in 1..=20 {
        let active: Vec<usize> = (0..nodes).filter(|&node| random.u64(..if node < 4 { 2 } else { 40 }) == 0).collect();
        active.iter().for_each(|&node| bench.graph.activate(held[node].id()));
        bench.graph.step().expect("outside");
        let ran: Vec<bool> = ended.iter().map(|end| end.load(Ordering::SeqCst) == step).collect();
        assert_eq!(ran, expected(&parents, &loud, &active), "seed {seed}, step {step}");
        let report = bench.graph.last_report().expect("a step ran");
        let failed = ran.iter().zip(&fails).filter(|(ran, fails)| **ran && **fails).count();
        assert_eq!(
            (report.failed, report.ran),
            (failed, ran.iter().filter(|ran| **ran).count()),
            "seed {seed}, step {step}"
        );
    }
}

#[test]
fn random_graphs_run_each_node_once_after_its_parents_on_any_number_of_threads() {
    for seed in 0..40 {
        for threads in [1, 2, 4, 8] {
            let bench = Bench::new(threads);
            if seed % 4 > 0 {
                bench.graph.set_schedule(Schedule::Eager);
            }
            random_graph(seed, &bench, 60);
        }
    }
}

#[test]
fn random_graphs_run_each_node_once_after_its_parents_in_any_order() {
    for seed in 0..200 {
        random_graph(seed, &Bench::seeded(seed), 60);
    }
}

/// Edges and places against a plain list of pairs.
#[test]
fn the_topology_keeps_its_edges_under_any_sequence_of_changes() {
    for seed in 0..30 {
        let mut random = Rng::with_seed(seed);
        let bench = Bench::new(1);
        let mut held: Vec<Held> = Vec::new();
        let mut edges: Vec<(NodeId, NodeId)> = Vec::new();
        for _ in 0..300 {
            match random.u64(..5) {
                0 | 1 => {
                    let above: Vec<usize> =
                        (0..random.u64(..4)).map(|_| random.u64(..held.len().max(1) as u64) as usize).collect();
                    let parents: Vec<&Held> = above.iter().filter_map(|&at| held.get(at)).collect();
                    let child = bench.below("node", &parents);
                    edges.extend(parents.iter().map(|parent| (parent.id(), child.id())));
                    held.push(child);
                }
                2 if !held.is_empty() => {
                    let gone = held.swap_remove(random.u64(..held.len() as u64) as usize).id();
                    edges.retain(|(up, down)| *up != gone && *down != gone);
                }
                3 if held.len() > 1 => {
                    let pick = |random: &mut Rng| held[random.u64(..held.len() as u64) as usize].id();
                    let (up, down) = (pick(&mut random), pick(&mut random));
                    if bench.graph.depend(down, up).is_ok() {
                        edges.push((up, down));
                    }
                }
                4 if !edges.is_empty() => {
                    let (up, down) = edges.swap_remove(random.u64(..edges.len() as u64) as usize);
                    edges.retain(|edge| *edge != (up, down));
                    bench.graph.independ(down, up);
                }
                _ => {}
            }
            edges.sort_unstable();
            edges.dedup();
            let mut found: Vec<(NodeId, NodeId)> = Vec::new();
            for node in &held {
                found.extend(bench.graph.parents(node.id()).into_iter().map(|parent| (parent, node.id())));
            }
            found.sort_unstable();
            assert_eq!(found, edges, "seed {seed}");
        }
        held.iter().for_each(|node| bench.graph.activate(node.id()));
        bench.graph.step().expect("outside");
        assert_eq!(bench.events().len(), held.len(), "no loop, each once: seed {seed}");
    }
}

/// Many short fans, each handed out: the leader sleeps and is woken, helpers come late and go home, thousands of times.
#[test]
fn nodes_handed_out_are_run_and_the_leader_wakes() {
    let bench = Bench::new(4);
    bench.graph.set_schedule(Schedule::Eager);
    let a = bench.source("a");
    let mut held = Vec::new();
    for _ in 0..3 {
        let above: Vec<&Held> = held.last().into_iter().chain([&a]).collect();
        let sides: Vec<Held> = (0..3).map(|_| bench.below("side", &above)).collect();
        let end = bench.below("end", &sides.iter().collect::<Vec<_>>());
        held.extend(sides);
        held.push(end);
    }
    for step in 1..=3_000 {
        bench.graph.activate(a.id());
        bench.graph.step().expect("outside");
        let events = bench.events();
        assert_eq!((events.len(), events[12].clone()), (13, format!("end {step}")));
    }
}
