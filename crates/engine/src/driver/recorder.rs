//! The recorder of a starting operation: it collects the updates that the inputs send during the initialisation, so
//! that the operation can catch up by one ordinary update.

use std::sync::{Arc, Mutex};

use graph::{Moment, Moved, Node, NodeId, Outcome, Registration, Step, UpdateGraph};

use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::update::{Merged, TableUpdate};
use crate::table::view::View;
use crate::threads::lock;

/// The recorded updates of the inputs: keys only or, if an input is a blink table, whole changes with their rows.
pub(crate) struct Recorder {
    inputs: Vec<Table>,
    entries: Mutex<Vec<(u64, usize, Arc<TableUpdate>)>>,
    /// One change for each input, for each step, if rows are kept.
    steps: Option<Mutex<Vec<(Step, Vec<Change>)>>>,
}

/// The registration of a recorder in the graph; dropping it removes the recorder.
pub(crate) struct Recorded {
    recorder: Arc<Recorder>,
    _registration: Registration,
}

impl Recorder {
    pub(crate) fn install(graph: &UpdateGraph, inputs: &[Table]) -> Recorded {
        let blink = inputs.iter().any(|input| input.attributes().blink);
        let steps = blink.then(Mutex::default);
        let recorder = Arc::new(Recorder { inputs: inputs.to_vec(), entries: Mutex::default(), steps });
        let node: Arc<dyn Node> = recorder.clone();
        let parents: Vec<NodeId> = inputs.iter().filter_map(Table::node_id).collect();
        let registration = graph.snapshot(|moment| graph.join(&node, &parents, moment));
        Recorded { recorder, _registration: registration }
    }
}

impl Recorded {
    /// The changes of each step after `at` up to `to`, if rows are kept.
    pub(crate) fn steps(&self, at: Moment, to: Moment) -> Option<Vec<(Step, Vec<Change>)>> {
        let mut kept = lock(self.recorder.steps.as_ref()?);
        kept.retain(|(step, _)| step.now() > at);
        let until = kept.iter().take_while(|(step, _)| step.now() <= to).count();
        Some(kept.drain(..until).collect())
    }

    /// One coalesced update for each input, from `at` to `to`.
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

impl Recorder {
    /// The change of each input in the step, with its rows.
    fn changes(&self, step: Step) -> Result<Vec<Change>, Moved> {
        let change = |input: &Table| {
            let update = input.node().and_then(|node| node.update_in(step)).unwrap_or_default();
            let change = Change::new(input.clone(), step.before(), step.now(), update);
            change.before().pin_all()?;
            change.now().pin_all()?;
            Ok(change)
        };
        self.inputs.iter().map(change).collect()
    }
}

impl Node for Recorder {
    fn run(&self, step: Step) -> Outcome {
        if let Some(steps) = &self.steps {
            let Ok(changes) = self.changes(step) else { return Outcome::Failed };
            lock(steps).push((step, changes));
            return Outcome::Quiet;
        }
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use arrow_array::{Int64Array, RecordBatch};
    use arrow_schema::{DataType, Field, Schema};
    use formula::{Aggregate, Expr};
    use graph::Settings;
    use graph::env::{ManualTime, TimeSource};

    use super::*;
    use crate::driver::attach::attach;
    use crate::driver::operation::{Input, Operation, Start};
    use crate::error::Error;
    use crate::ops::Aggregation;
    use crate::sources::BlinkTable;
    use crate::table::request::Request;

    /// Steps run while it starts, on another thread: as beside a slow function.
    struct Slow {
        inner: Aggregation,
        meanwhile: Box<dyn Fn() + Send + Sync>,
    }

    impl Operation for Slow {
        fn request(&self) -> &Request {
            self.inner.request()
        }
        fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
            std::thread::scope(|scope| scope.spawn(|| (self.meanwhile)()).join()).expect("no panic");
            self.inner.init(inputs, at)
        }
    }

    #[test]
    fn what_starts_over_a_blink_table_keeps_no_step_waiting_and_misses_none() {
        for started in [true, false] {
            let settings = Settings { period: Duration::from_secs(3600), threads: Some(1), init_threads: Some(1) };
            // The clock stands still: no cycle runs by itself but the first.
            let graph = UpdateGraph::with_time(settings, TimeSource::Manual(ManualTime::starting_at(0)));
            let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::Int64, true)]));
            let blink = Arc::new(BlinkTable::new(&graph, schema.clone()).unwrap());
            let (feed, stepping) = (blink.clone(), graph.clone());
            let step = move |value: i64| {
                let column = Arc::new(Int64Array::from(vec![value]));
                feed.append(&RecordBatch::try_new(schema.clone(), vec![column]).unwrap()).unwrap();
                stepping.step().unwrap();
            };
            step(1);
            if started {
                graph.start();
            }
            let sum = Expr::aggregate(Aggregate::Sum { min_count: 0 }, Some(Expr::column("x"))).unwrap().alias("s");
            let inner = Aggregation::new("agg_by", blink.table(), &[], &[sum]).unwrap();
            let (once, within) = (AtomicBool::new(false), step.clone());
            let meanwhile = move || {
                if !once.swap(true, Ordering::SeqCst) {
                    within(10);
                    within(100);
                }
            };
            let slow = Slow { inner, meanwhile: Box::new(meanwhile) };
            let made = attach(&slow, std::slice::from_ref(blink.table())).unwrap();
            let total = || {
                let view = made.view().unwrap();
                view.read(0, view.rows()).unwrap().as_primitive::<Int64Type>().value(0)
            };
            // Without a recorder from the start it began anew, at a later step.
            let from = if started { 111 } else { 100 };
            assert_eq!(total(), from);
            step(1000);
            assert_eq!(total(), from + 1000);
            graph.stop();
        }
    }
}
