//! The two pools of threads: for updates inside a step, and for initialisation outside.

use crate::env;
use crate::marks::{self, Mark};
use crate::sync::{CHECKED, OnceLock};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Built when first asked for: a graph that runs on one thread never starts another.
pub(crate) struct Pools {
    graph: u64,
    pub(crate) update_threads: usize,
    pub(crate) init_threads: usize,
    update: OnceLock<ThreadPool>,
    init: OnceLock<ThreadPool>,
}

impl Pools {
    pub(crate) fn new(graph: u64, update: Option<usize>, init: Option<usize>) -> Pools {
        let threads = |asked: Option<usize>| asked.unwrap_or_else(env::cores).max(1);
        Pools {
            graph,
            update_threads: threads(update),
            init_threads: threads(init),
            update: OnceLock::new(),
            init: OnceLock::new(),
        }
    }

    pub(crate) fn update(&self) -> &ThreadPool {
        self.update.get_or_init(|| build(self.graph, "update", self.update_threads))
    }

    /// Hands a task to the update pool. A checker has no pool of its own: there each task is a thread.
    pub(crate) fn spawn_update(&self, task: impl FnOnce() + Send + 'static) {
        let scope = limits::Scope::current();
        let task = move || scope.enter(task);
        if CHECKED {
            let graph = self.graph;
            let body = move || {
                marks::stay(graph, Mark::Step);
                task();
            };
            drop(env::spawn("helper".to_owned(), body).expect("a checker refuses no thread"));
            return;
        }
        self.update().spawn(task);
    }

    pub(crate) fn init(&self) -> &ThreadPool {
        self.init.get_or_init(|| build(self.graph, "init", self.init_threads))
    }
}

fn build(graph: u64, kind: &'static str, threads: usize) -> ThreadPool {
    // Tasks of a pool never wait for the graph: a cycle may be waiting for them.
    let builder = |threads| {
        ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(move |number| format!("tf-{kind}-{graph}-{number}"))
            .start_handler(move |_| marks::stay(graph, Mark::Step))
            .build()
    };
    // The machine may refuse so many threads; a graph that is slow is better than none.
    builder(threads).or_else(|_| builder(1)).expect("the machine can start one thread")
}
