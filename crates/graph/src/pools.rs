//! The two pools of threads: for updates inside a step, and for initialisation outside.

use crate::env;
use crate::failpoints::{Point, Strikes};
use crate::node::panic_message;
use crate::report::trouble;
use crate::role::{self, ThreadRole};
use crate::signals;
use crate::sync::{CHECKED, OnceLock};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

/// The pools, each built on first use: a graph that runs on one thread never starts another. If the machine has no
/// thread to give there is no pool, and the caller works alone.
pub(crate) struct Pools {
    graph: u64,
    pub(crate) update_threads: usize,
    pub(crate) init_threads: usize,
    update: OnceLock<ThreadPool>,
    init: OnceLock<ThreadPool>,
    building: Mutex<()>,
    pub(crate) strikes: Strikes,
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
            building: Mutex::new(()),
            strikes: Strikes::default(),
        }
    }

    /// `None` if the machine has no thread for it now.
    pub(crate) fn update(&self) -> Option<&ThreadPool> {
        self.get(&self.update, "update", self.update_threads)
    }

    /// `None` if the machine has no thread for it now.
    pub(crate) fn init(&self) -> Option<&ThreadPool> {
        self.get(&self.init, "init", self.init_threads)
    }

    /// Starts a task on the update pool; false if there is no pool. Model checkers have no pool: there each task is a
    /// thread.
    pub(crate) fn spawn_update(&self, task: impl FnOnce() + Send + 'static) -> bool {
        let (scope, call) = (limits::Scope::current(), signals::call());
        let task = move || signals::for_call(call, || scope.enter(task));
        if CHECKED {
            let graph = self.graph;
            let body = move || {
                role::stay(graph, ThreadRole::Step);
                task();
            };
            drop(env::spawn("helper".to_owned(), body).expect("a checker refuses no thread"));
            return true;
        }
        match self.update() {
            Some(pool) => {
                pool.spawn(task);
                true
            }
            None => false,
        }
    }

    fn get<'a>(
        &'a self,
        place: &'a OnceLock<ThreadPool>,
        kind: &'static str,
        threads: usize,
    ) -> Option<&'a ThreadPool> {
        if place.get().is_none() {
            let _alone = self.building.lock().unwrap_or_else(PoisonError::into_inner);
            if place.get().is_none() {
                let built = catch_unwind(AssertUnwindSafe(|| {
                    self.strikes.pass(Point::Pools);
                    build(self.graph, kind, threads)
                }));
                match built.unwrap_or_else(|payload| Err(panic_message(payload))) {
                    Ok(pool) => drop(place.set(pool)),
                    Err(why) => trouble(&format!("graph {} works on one thread for now: {why}", self.graph)),
                }
            }
        }
        place.get()
    }
}

/// Builds a pool of `threads` threads, or of half as many, and so on: a slow graph is better than none.
fn build(graph: u64, kind: &'static str, threads: usize) -> Result<ThreadPool, String> {
    // Tasks of a pool never wait for the graph: a cycle may be waiting for them.
    let builder = |threads| {
        ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(move |number| format!("tf-{kind}-{graph}-{number}"))
            .start_handler(move |_| role::stay(graph, ThreadRole::Step))
            .panic_handler(move |payload| {
                trouble(&format!("a task of graph {graph} panicked: {}", panic_message(payload)));
            })
            .build()
    };
    let mut wanted = threads;
    loop {
        match builder(wanted) {
            Ok(pool) => return Ok(pool),
            Err(why) if wanted == 1 => return Err(why.to_string()),
            Err(_) => wanted /= 2,
        }
    }
}
