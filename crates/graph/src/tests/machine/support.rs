//! Nodes for tests: they write down what happens to them, and may be held open by a channel.

use crate::{Node, NodeId, Outcome, Registration, Schedule, Settings, Step, UpdateGraph};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What happened, in order, to all nodes of a test.
pub(crate) type Log = Arc<Mutex<Vec<String>>>;

type Work = Box<dyn Fn(Step) -> Outcome + Send + Sync>;

/// A node that does what the test says.
pub(crate) struct Probe {
    name: String,
    log: Log,
    work: Work,
}

impl Node for Probe {
    fn seal(&self) {
        self.log.lock().unwrap().push(format!("seal {}", self.name));
    }
    fn run(&self, step: Step) -> Outcome {
        self.log.lock().unwrap().push(format!("{} {}", self.name, step.number()));
        (self.work)(step)
    }
    fn panicked(&self, _step: Step, message: String) {
        self.log.lock().unwrap().push(format!("{} panicked: {message}", self.name));
    }
    fn settle(&self, step: Step) {
        self.log.lock().unwrap().push(format!("settle {} {}", self.name, step.number()));
    }
    fn label(&self) -> String {
        self.name.clone()
    }
}

/// A node in a graph; dropping it takes it out.
pub(crate) struct Held {
    pub(crate) registration: Registration,
    pub(crate) node: Arc<dyn Node>,
}

impl Held {
    pub(crate) fn id(&self) -> NodeId {
        self.registration.id()
    }
}

/// A graph and what happened in it.
pub(crate) struct Bench {
    pub(crate) graph: UpdateGraph,
    pub(crate) log: Log,
}

impl Bench {
    pub(crate) fn new(threads: usize) -> Bench {
        let settings = Settings { period: Duration::ZERO, threads: Some(threads), init_threads: Some(1) };
        Bench { graph: UpdateGraph::new(settings), log: Log::default() }
    }

    pub(crate) fn seeded(seed: u64) -> Bench {
        let bench = Bench::new(1);
        bench.graph.set_schedule(Schedule::Inline { seed });
        bench
    }

    pub(crate) fn probe(&self, name: &str, work: impl Fn(Step) -> Outcome + Send + Sync + 'static) -> Arc<dyn Node> {
        Arc::new(Probe { name: name.to_owned(), log: self.log.clone(), work: Box::new(work) })
    }

    pub(crate) fn source_with(&self, name: &str, work: impl Fn(Step) -> Outcome + Send + Sync + 'static) -> Held {
        let node = self.probe(name, work);
        Held { registration: self.graph.source(&node), node }
    }

    pub(crate) fn source(&self, name: &str) -> Held {
        self.source_with(name, |_| Outcome::Changed)
    }

    pub(crate) fn below_with(
        &self,
        name: &str,
        parents: &[&Held],
        work: impl Fn(Step) -> Outcome + Send + Sync + 'static,
    ) -> Held {
        let node = self.probe(name, work);
        let parents: Vec<NodeId> = parents.iter().map(|parent| parent.id()).collect();
        let registration = self.graph.join(&node, &parents, self.graph.settled()).expect("idle");
        Held { registration, node }
    }

    pub(crate) fn below(&self, name: &str, parents: &[&Held]) -> Held {
        self.below_with(name, parents, |_| Outcome::Changed)
    }

    /// What happened since the last time somebody asked; `seal` and `settle` only if asked for.
    pub(crate) fn events(&self) -> Vec<String> {
        let all = std::mem::take(&mut *self.log.lock().unwrap());
        all.into_iter().filter(|event| !event.starts_with("seal") && !event.starts_with("settle")).collect()
    }

    pub(crate) fn all_events(&self) -> Vec<String> {
        std::mem::take(&mut *self.log.lock().unwrap())
    }
}

/// A door that a node waits at: `arrived` tells that it is there, `open` lets it through.
pub(crate) struct Door {
    pub(crate) arrived: Receiver<Step>,
    pub(crate) open: Sender<()>,
}

/// A door, and the work of a node that waits at it in every step.
pub(crate) fn door() -> (Door, impl Fn(Step) -> Outcome + Send + Sync + 'static) {
    let (tell, arrived) = channel();
    let (open, wait) = channel();
    let (tell, wait) = (Mutex::new(tell), Mutex::new(wait));
    let work = move |step| {
        tell.lock().unwrap().send(step).expect("the test listens");
        wait.lock().unwrap().recv().expect("the test opens");
        Outcome::Changed
    };
    (Door { arrived, open }, work)
}
