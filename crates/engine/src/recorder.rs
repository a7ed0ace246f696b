//! What the inputs of a starting operation do meanwhile, so that it can catch up by one ordinary update.

use std::sync::{Arc, Mutex};

use graph::{Moment, Node, NodeId, Outcome, Registration, Step, UpdateGraph};

use crate::table::Table;
use crate::table_node::lock;
use crate::update::{Merged, TableUpdate};
use crate::view::View;

/// Keeps what the inputs of a starting operation do meanwhile: keys only.
pub(crate) struct Recorder {
    inputs: Vec<Table>,
    entries: Mutex<Vec<(u64, usize, Arc<TableUpdate>)>>,
}

/// A recorder in the graph. Dropping it takes it out.
pub(crate) struct Recorded {
    recorder: Arc<Recorder>,
    _registration: Registration,
}

impl Recorder {
    pub(crate) fn install(graph: &UpdateGraph, inputs: &[Table]) -> Recorded {
        let recorder = Arc::new(Recorder { inputs: inputs.to_vec(), entries: Mutex::default() });
        let node: Arc<dyn Node> = recorder.clone();
        let parents: Vec<NodeId> = inputs.iter().filter_map(Table::node_id).collect();
        let registration = graph.snapshot(|moment| graph.join(&node, &parents, moment));
        Recorded { recorder, _registration: registration }
    }
}

impl Recorded {
    /// One update for each input from `at` to `to`; what is older or newer stays out.
    pub(crate) fn merged(&self, at: Moment, to: Moment, before: &[View]) -> Vec<TableUpdate> {
        let mut entries = lock(&self.recorder.entries);
        entries.retain(|(step, ..)| *step > at.number());
        let mut merged: Vec<Merged> =
            before.iter().map(|view| Merged::new(view.rows().clone(), view.width())).collect();
        for (_, input, update) in entries.iter().filter(|(step, ..)| *step <= to.number()) {
            merged[*input].push(update);
        }
        merged.iter().map(Merged::update).collect()
    }
}

impl Node for Recorder {
    fn run(&self, step: Step) -> Outcome {
        let mut entries = lock(&self.entries);
        for (index, input) in self.inputs.iter().enumerate() {
            if let Some(update) = input.node().and_then(|node| node.update_in(step)) {
                entries.push((step.number(), index, update));
            }
        }
        Outcome::Quiet
    }

    fn label(&self) -> String {
        "recorder".into()
    }
}
