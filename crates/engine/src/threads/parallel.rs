//! Splitting big work inside a node over the cores of its graph's pool; results never depend on how
//! it was split.
//!
//! The driver sets the pool in which a thread works ([`inside`]): the graph's update pool while a cycle runs, its
//! initialisation pool while an operation starts. Without a graph (static tables) it is the process's own pool.

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use graph::{FunctionScope, UpdateGraph, signals};
use rowset::RowSet;

use crate::threads::interrupt::Uninterrupted;
use crate::threads::lock;
use crate::threads::starting::Starting;

/// Which of a graph's two pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// An operation starts.
    Start,
    /// A step runs.
    Update,
}

thread_local! {
    static POOL: RefCell<Option<(UpdateGraph, Phase)>> = const { RefCell::new(None) };
}

/// Runs `work` with this graph's pool for whatever it splits.
pub fn inside<R>(graph: Option<&UpdateGraph>, phase: Phase, work: impl FnOnce() -> R) -> R {
    /// Puts back what was there, also when `work` panics.
    struct Back(Option<(UpdateGraph, Phase)>);
    impl Drop for Back {
        fn drop(&mut self) {
            POOL.set(self.0.take());
        }
    }
    let _back = Back(POOL.replace(graph.map(|graph| (graph.clone(), phase))));
    work()
}

/// Marks this thread as one that runs a user's function, while an operation starts: the function must not wait for the
/// graph. Inside a step, and on the threads of a pool, that is known already.
pub fn function_scope() -> Option<FunctionScope> {
    POOL.with_borrow(|pool| match pool {
        Some((graph, Phase::Start)) => Some(graph.function_scope()),
        _ => None,
    })
}

/// Rows in parts of so many, in order: what one thread reads or looks up at a time.
pub fn parts(rows: &RowSet, size: u64) -> Vec<RowSet> {
    (0..rows.len()).step_by(size as usize).map(|from| rows.slice(from, size)).collect()
}

/// As [`parts`], of cells that lie in several arrays: a part ends where one of them does, if that makes it no shorter than half.
///
///   arrays     0       20       40       60       starts
///   of 28      |-------|--------|--------|        as they lie: nothing is copied
///   of 28      |----------|-----+----|---+----    by number: every second part lies in two arrays, which are joined
pub(crate) fn parts_of(rows: &RowSet, size: u64, starts: &[u64]) -> Vec<RowSet> {
    if starts.len() < 2 {
        return parts(rows, size);
    }
    let (mut parts, mut from) = (Vec::new(), 0);
    while from < rows.len() {
        let mut end = rows.len().min(from + size);
        let next = rows.key_at(end).and_then(|next| starts.partition_point(|start| *start <= next).checked_sub(1));
        if let Some(at) = next {
            let border = rows.rank(starts[at]);
            if border > from + size / 2 {
                end = border;
            }
        }
        parts.push(rows.slice(from, end - from));
        from = end;
    }
    parts
}

/// The parts of a list, of these lengths, each for the thread that fills it.
pub fn shares<T>(mut list: &mut [T], lengths: impl IntoIterator<Item = usize>) -> Vec<Mutex<&mut [T]>> {
    let share = |length: usize| {
        let (share, rest) = std::mem::take(&mut list).split_at_mut(length);
        list = rest;
        Mutex::new(share)
    };
    lengths.into_iter().map(share).collect()
}

/// A share that is filled by one thread alone.
pub fn of_share<'a, 'b, T>(share: &'a Mutex<&'b mut [T]>) -> std::sync::MutexGuard<'a, &'b mut [T]> {
    lock(share)
}

/// How many threads split work may use here.
pub fn threads() -> usize {
    POOL.with_borrow(|pool| match pool {
        Some((graph, Phase::Update)) => graph.update_threads(),
        Some((graph, Phase::Start)) => graph.init_threads(),
        None => rayon::current_num_threads(),
    })
}

/// Runs `work` here and, in parallel, on `helpers` threads of the pool. The calling thread takes part instead of
/// waiting for others to wake, because its cache is warm. The sizes in force on this thread hold for the helpers, too.
fn with_helpers<W: Fn() + Sync>(helpers: usize, work: &W) {
    fn together<'scope, W: Fn() + Sync>(
        scope: &rayon::Scope<'scope>,
        helpers: usize,
        work: &'scope W,
        others: &'scope Others,
    ) {
        let (sizes, starting, uninterrupted) =
            (limits::Scope::current(), Starting::current(), Uninterrupted::current());
        let call = signals::call();
        for _ in 0..helpers {
            let (starting, uninterrupted) = (starting.clone(), uninterrupted.clone());
            let work = move || sizes.enter(|| starting.enter(|| uninterrupted.enter(work)));
            scope.spawn(move |_| {
                let _gone = others.begin();
                signals::for_call(call, work);
            });
        }
        work();
        others.wait();
    }
    let pool = POOL.with_borrow(Clone::clone);
    let others = Others::new(helpers);
    let together = |scope: &_| together(scope, helpers, work, &others);
    match &pool {
        Some((graph, phase)) => {
            let pool = if *phase == Phase::Update { graph.update_pool() } else { graph.init_pool() };
            match pool {
                Some(pool) => pool.in_place_scope(together),
                // The machine has no thread to give.
                None => work(),
            }
        }
        None => rayon::in_place_scope(together),
    }
}

/// The helpers of a thread that polls for signals while it waits for them. Other threads wait as rayon does.
struct Others {
    left: AtomicUsize,
    /// Whether the waiting thread sleeps until no helper is left.
    asleep: Mutex<bool>,
    gone: Condvar,
}

/// Counts a helper out on drop, also if it panicked.
struct Gone<'a>(&'a Others);

impl Others {
    fn new(helpers: usize) -> Others {
        Others { left: AtomicUsize::new(helpers), asleep: Mutex::new(false), gone: Condvar::new() }
    }

    fn begin(&self) -> Gone<'_> {
        Gone(self)
    }

    /// Waits until all helpers are done, if this thread polls for signals. A pool thread does not wait here: it may
    /// have to do the work itself.
    fn wait(&self) {
        let Some(poll) = signals::poll().filter(|_| rayon::current_thread_index().is_none()) else { return };
        let none_left = || self.left.load(Ordering::Acquire) == 0;
        if !spun(SPINS, none_left) {
            self.sleep(poll, none_left);
        }
        // Rayon waits for the same threads next; it sleeps at once where they have not told it yet.
        spun(SPINS_AFTER, || false);
    }

    #[cold]
    fn sleep(&self, poll: signals::SignalPoll, none_left: impl Fn() -> bool) {
        let lock = || lock(&self.asleep);
        let mut asleep = lock();
        while !none_left() {
            *asleep = true;
            let waited = self.gone.wait_timeout(asleep, signals::POLL_EVERY).unwrap_or_else(PoisonError::into_inner);
            asleep = waited.0;
            *asleep = false;
            if waited.1.timed_out() {
                drop(asleep);
                poll();
                asleep = lock();
            }
        }
    }
}

/// Spins before the thread sleeps, for some ten microseconds: parts of one work end at about the same time.
const SPINS: usize = 2_000;
const SPINS_AFTER: usize = 200;

/// Spins until `so` returns true, for at most `looks` checks.
fn spun(looks: usize, so: impl Fn() -> bool) -> bool {
    (0..looks).any(|_| {
        std::hint::spin_loop();
        so()
    })
}

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        if self.0.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            let asleep = lock(&self.0.asleep);
            if *asleep {
                self.0.gone.notify_one();
            }
        }
    }
}

/// Runs `run` for each item, on several threads if `worth_it`; the first error by position wins.
pub fn try_each<T: Sync, E: Send>(
    worth_it: bool,
    items: &[T],
    run: impl Fn(usize, &T) -> Result<(), E> + Sync,
) -> Result<(), E> {
    try_map(worth_it, items, run).map(drop)
}

/// Maps each item, on several threads if `worth_it`, keeping the order; the first error by position wins.
pub fn try_map<T: Sync, R: Send, E: Send>(
    worth_it: bool,
    items: &[T],
    run: impl Fn(usize, &T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    if !worth_it || items.len() < 2 || threads() < 2 {
        return collected(items.len(), items.iter().enumerate().map(|(index, item)| run(index, item)));
    }
    let outcomes: Vec<Mutex<Option<Result<R, E>>>> = items.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    with_helpers(threads().min(items.len()) - 1, &|| {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { return };
            let outcome = run(index, item);
            if outcome.is_err() {
                // All items before this one have been taken: the first error is among them.
                next.store(items.len(), Ordering::Relaxed);
            }
            *lock(&outcomes[index]) = Some(outcome);
        }
    });
    let taken = outcomes.into_iter().map(|outcome| outcome.into_inner().unwrap_or_else(PoisonError::into_inner));
    // Behind an error items may not have been run.
    collected(
        taken.len(),
        taken.map(|outcome| outcome.expect("every item before an error was run, or a panic went on")),
    )
}

/// At most so many results, or the first error. `collect` does not know how many there will be, and makes room for four, however
/// large one is.
fn collected<R, E>(most: usize, results: impl Iterator<Item = Result<R, E>>) -> Result<Vec<R>, E> {
    let mut made = Vec::with_capacity(most);
    for result in results {
        made.push(result?);
    }
    Ok(made)
}

/// Work that one of several threads does.
struct Once<F, R>(Mutex<Option<F>>, Mutex<Option<R>>);

impl<F: FnOnce() -> R, R> Once<F, R> {
    fn new(work: F) -> Once<F, R> {
        Once(Mutex::new(Some(work)), Mutex::new(None))
    }

    fn run(&self) {
        let work = lock(&self.0).take();
        if let Some(work) = work {
            let done = work();
            *lock(&self.1) = Some(done);
        }
    }

    fn result(self) -> R {
        let done = self.1.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.expect("it was run, or a panic went on")
    }
}

/// The results of both closures, computed in parallel if `worth_it`.
pub fn both<A: Send, B: Send>(
    worth_it: bool,
    one: impl FnOnce() -> A + Send,
    other: impl FnOnce() -> B + Send,
) -> (A, B) {
    let (one, other) = (Once::new(one), Once::new(other));
    let work = || {
        one.run();
        other.run();
    };
    if worth_it && threads() > 1 {
        with_helpers(1, &work)
    } else {
        work()
    }
    (one.result(), other.result())
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Barrier};

    use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    use arrow_schema::{DataType, Field, Schema};
    use formula::{Aggregate, Expr, Function};

    use super::*;
    use crate::driver::attach::attach;
    use crate::ops::{Aggregation, AsofJoin, Select};
    use crate::plan::{AsofOptions, Strategy};
    use crate::sources::{Apply, InputTable};
    use crate::testing::Watch;

    #[test]
    fn parts_are_no_longer_than_asked_and_end_where_arrays_do() {
        let starts = |step: u64| (0..200 / step).map(|at| at * step).collect::<Vec<u64>>();
        let lengths = |rows: &RowSet, size: u64, starts: &[u64]| {
            let parts = parts_of(rows, size, starts);
            assert_eq!(RowSet::union_all(parts.iter()), *rows);
            parts.iter().map(RowSet::len).collect::<Vec<u64>>()
        };
        let all = RowSet::range(0, 199);
        assert_eq!(lengths(&all, 28, &starts(20)), [20; 10]);
        // The array that is longer than a part is cut, and its end is met.
        assert_eq!(lengths(&all, 28, &starts(50)), [28, 22, 28, 22, 28, 22, 28, 22]);
        // No border is near enough.
        assert_eq!(lengths(&all, 28, &[0, 10]), [28, 28, 28, 28, 28, 28, 28, 4]);
        assert_eq!(lengths(&all, 28, &[0]), [28, 28, 28, 28, 28, 28, 28, 4]);
        let some: RowSet = (0..100).map(|at| 2 * at).collect();
        assert_eq!(lengths(&some, 28, &starts(50)), [25; 4]);
        // Rows before the first array, and behind the last.
        assert_eq!(lengths(&all, 60, &[100, 150]), [60, 40, 50, 50]);
        for size in 1..40 {
            for step in 1..60 {
                let longest = lengths(&some, size, &starts(step)).into_iter().max();
                assert!(longest.is_some_and(|longest| longest <= size));
            }
        }
        assert!(lengths(&RowSet::new(), 28, &starts(20)).is_empty());
    }

    #[test]
    fn work_is_split_over_the_pool_of_its_phase() {
        let settings =
            |threads| graph::Settings { threads: Some(threads), init_threads: Some(1), ..Default::default() };
        let graph = UpdateGraph::new(settings(3));
        let names = |phase| {
            inside(Some(&graph), phase, || {
                // As many items as threads, none of which ends before all have begun.
                let (items, together) = (vec![(); threads()], Barrier::new(threads()));
                let name = |_: usize, (): &()| {
                    together.wait();
                    Ok::<_, ()>(std::thread::current().name().map(str::to_owned))
                };
                (threads(), try_map(true, &items, name).unwrap())
            })
        };
        let here = std::thread::current().name().map(str::to_owned);
        assert_eq!(names(Phase::Start), (1, vec![here.clone()]));
        let (count, found) = names(Phase::Update);
        let (own, others): (Vec<_>, Vec<_>) = found.into_iter().partition(|name| *name == here);
        assert_eq!((count, own.len(), others.len()), (3, 1, 2));
        assert!(others.iter().flatten().all(|name| name.starts_with("tf-update")) && others[0] != others[1]);
    }

    /// What an as-of join, a computed column and aggregations tell of many changed rows, in a graph of so many threads.
    fn told(threads: usize) -> Vec<Vec<String>> {
        let settings = graph::Settings { threads: Some(threads), init_threads: Some(1), ..Default::default() };
        let graph = UpdateGraph::new(settings);
        let schema = ["k", "t", "v", "w"].map(|name| Field::new(name, DataType::Int64, true));
        let schema = Arc::new(Schema::new(schema.to_vec()));
        let rows = |rows: std::ops::Range<i64>, salt: i64| {
            let cells =
                |of: &dyn Fn(i64) -> i64| Arc::new(Int64Array::from_iter_values(rows.clone().map(of))) as ArrayRef;
            let columns =
                vec![cells(&|at| at * 7 % 3001), cells(&|at| at), cells(&|at| at % salt), cells(&|at| at * salt)];
            (
                RowSet::range(rows.start as u64, rows.end as u64 - 1),
                RecordBatch::try_new(schema.clone(), columns).unwrap(),
            )
        };
        let (left, right) = (InputTable::new(&graph, schema.clone()), InputTable::new(&graph, schema.clone()));
        let (left, right) = (left.unwrap(), right.unwrap());
        let pair = |name: &str| (name.to_owned(), name.to_owned());
        let options = AsofOptions {
            on: pair("t"),
            by: vec![pair("k")],
            strategy: Strategy::Backward,
            tolerance: None,
            allow_exact_matches: true,
            joins: Some(vec![("match".into(), "w".into())]),
            suffix: None,
        };
        let join = AsofJoin::new("join_asof", left.table(), right.table(), &options).unwrap();
        let joined = attach(&join, &[left.table().clone(), right.table().clone()]).unwrap();
        let ends = [(Aggregate::Last, "v"), (Aggregate::First, "v"), (Aggregate::Last, "w"), (Aggregate::Max, "w")];
        let ends = ends
            .into_iter()
            .enumerate()
            .map(|(at, (kind, of))| Expr::aggregate(kind, Some(Expr::column(of))).unwrap().alias(format!("x{at}")));
        let grouped = Aggregation::new("group_by", right.table(), &["k".into()], &ends.collect::<Vec<_>>()).unwrap();
        let grouped = attach(&grouped, std::slice::from_ref(right.table())).unwrap();
        let doubled = Expr::call(Function::Multiply, vec![Expr::column("w"), Expr::literal(2)]).unwrap().alias("x");
        let doubled = Select::with(right.table(), &[doubled]).unwrap();
        let doubled = attach(&doubled, std::slice::from_ref(right.table())).unwrap();
        let mean = Expr::aggregate(Aggregate::Mean, Some(Expr::column("x"))).unwrap();
        let averaged = Aggregation::new("group_by", &doubled, &["v".into()], &[mean]).unwrap();
        let averaged = attach(&averaged, std::slice::from_ref(&doubled)).unwrap();
        let watches = [joined, grouped, doubled, averaged].map(|table| Watch::attach(&table).unwrap());
        let step = |table: &InputTable, apply: Apply| {
            table.apply(apply).unwrap();
            graph.step().unwrap();
        };
        step(&left, Apply { added: Some(rows(0..9000, 5)), ..Default::default() });
        step(&right, Apply { added: Some(rows(0..8000, 3)), ..Default::default() });
        step(&right, Apply { modified: Some(rows(500..7000, 11)), ..Default::default() });
        step(&right, Apply { removed: RowSet::range(3000, 7500), ..Default::default() });
        step(&right, Apply { added: Some(rows(8000..12_000, 13)), ..Default::default() });
        let apart = RowSet::from_keys((0..3000).chain(7501..12_000).filter(|key| key % 3 != 0).collect());
        let (_, cells) = rows(0..apart.len() as i64, 17);
        step(&right, Apply { modified: Some((apart, cells)), ..Default::default() });
        watches.iter().for_each(|watch| assert_eq!(watch.fault(), None));
        watches.iter().map(Watch::take_drawings).collect()
    }

    #[test]
    fn the_number_of_threads_changes_nothing() {
        let alone = told(1);
        assert_eq!(alone.iter().map(Vec::len).collect::<Vec<_>>(), [6, 5, 5, 5], "updates told");
        assert!(alone == told(3), "what three threads tell is not what one tells");
    }

    #[test]
    fn helpers_work_with_the_sizes_of_whoever_asked_them() {
        static SIZE: limits::Size = limits::Size::new("par.test", 1 << 16);
        let drawn = (1..).map(limits::Scope::drawn).find(|scope| scope.enter(|| SIZE.get()) == 7).unwrap();
        let settings = graph::Settings { threads: Some(3), init_threads: Some(3), ..Default::default() };
        let graph = UpdateGraph::new(settings);
        for (graph, phase) in [(Some(&graph), Phase::Update), (Some(&graph), Phase::Start), (None, Phase::Start)] {
            let seen = inside(graph, phase, || {
                // None ends before all have begun, so each is on a thread of its own.
                let (items, together) = (vec![(); threads()], Barrier::new(threads()));
                let size = |_: usize, (): &()| {
                    together.wait();
                    Ok::<_, ()>(SIZE.get())
                };
                drawn.enter(|| try_map(true, &items, size).unwrap())
            });
            assert!(seen.iter().all(|size| *size == 7), "{phase:?}: {seen:?}");
        }
    }

    #[test]
    fn the_first_error_by_position_wins() {
        let items: Vec<usize> = (0..100).collect();
        let failing = |_: usize, item: &usize| if item % 30 == 29 { Err(*item) } else { Ok(*item) };
        assert_eq!(try_map(true, &items, failing), Err(29));
    }
}
