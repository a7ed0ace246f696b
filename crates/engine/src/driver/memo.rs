//! Memoisation: equal requests over the same live inputs share one table.
//!
//! No lock is held while an operation starts. The first requester makes the table; the others wait for it and check for
//! interrupts every 50 ms. A thread that must not wait makes a table of its own: a user function that requests the very
//! operation it works for, on any thread of the pool, and a thread that has waited for long. The table that is finished
//! first is shared by all.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use graph::UpdateGraph;

use crate::error::Error;
use crate::sizes;
use crate::table::handle::{Table, WeakTable};
use crate::threads::interrupt;
use crate::threads::lock;
use crate::threads::starting::Starting;

/// The interval at which a waiting thread checks for interrupts.
const POLL: Duration = Duration::from_millis(50);

/// After this many polls, a waiting thread makes a table of its own: the maker may be waiting for this very thread,
/// inside a user function.
const POLLS: usize = 200;

/// The deepest nesting of operations that start inside user functions of starting operations.
const DEEPEST: usize = 8;

/// How an input of a request is known.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Known {
    /// A live table is itself.
    Live(usize),
    /// A static table is what was asked for to make it: an operation that stands on several tables makes those anew that it
    /// derives from static ones.
    Static(u128),
}

impl Known {
    pub(crate) fn of(table: &Table) -> Known {
        if table.is_live() { Known::Live(table.identity()) } else { Known::Static(table.request().fingerprint) }
    }
}

/// A request: its fingerprint and its inputs.
pub(crate) type Key = (u128, Vec<Known>);

/// The requests over one table.
#[derive(Default)]
pub(crate) struct Memo {
    slots: HashMap<Key, Arc<Slot>>,
    /// As many slots as the last sweep left.
    left: usize,
}

impl Memo {
    /// The slot of a request. Slots that nobody needs are swept away whenever the memo has doubled, so that a request
    /// costs the same however many stand.
    pub(crate) fn slot(&mut self, key: Key) -> Arc<Slot> {
        if self.slots.len() >= sizes::SWEEP_AT.get().max(2 * self.left) {
            self.slots.retain(|_, slot| Arc::strong_count(slot) > 1 || !slot.is_idle());
            self.left = self.slots.len();
        }
        self.slots.entry(key).or_default().clone()
    }
}

/// The memo entry of one request.
#[derive(Default)]
pub(crate) struct Slot {
    state: Mutex<State>,
    done: Condvar,
}

#[derive(Default)]
struct State {
    made: WeakTable,
    makers: usize,
    /// Threads that wait for them.
    waiting: usize,
}

/// The result of looking up a request.
pub(crate) enum Found {
    Made(Table),
    /// There is no table yet: the caller makes it.
    Make(Making),
}

/// The claim of the thread that makes the table, until dropped.
pub(crate) struct Making(Arc<Slot>);

impl Drop for Making {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.makers -= 1;
        let waited_for = state.waiting > 0;
        drop(state);
        // To wake nobody takes the system a microsecond.
        if waited_for {
            self.0.done.notify_all();
        }
    }
}

impl Making {
    /// Publishes a finished table; returns the table that was finished first.
    pub(crate) fn publish(self, table: Table) -> Table {
        let first = {
            let mut state = self.0.lock();
            let first = state.standing();
            if first.is_none() {
                state.made = table.downgrade();
            }
            first
        };
        first.unwrap_or(table)
    }
}

impl State {
    fn standing(&self) -> Option<Table> {
        self.made.upgrade().filter(|table| table.failure().is_none())
    }
}

impl Slot {
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Whether no thread needs the slot any more.
    fn is_idle(&self) -> bool {
        self.state.try_lock().is_ok_and(|state| state.makers == 0 && state.made.upgrade().is_none())
    }

    /// Returns the table, or a claim to make it. Waits while another thread makes it.
    pub(crate) fn claim(self: &Arc<Self>, graph: &UpdateGraph) -> Result<Found, Error> {
        for polls in 0.. {
            let mut state = self.lock();
            if let Some(table) = state.standing() {
                drop(state);
                return Ok(Found::Made(table));
            }
            if state.makers == 0 || polls == POLLS || is_making(self) || graph.may_wait().is_err() {
                state.makers += 1;
                return Ok(Found::Make(Making(self.clone())));
            }
            state.waiting += 1;
            let (mut state, _) = self.done.wait_timeout(state, POLL).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
            drop(state);
            interrupt::check()?;
        }
        unreachable!("the last poll makes it")
    }
}

fn is_making(slot: &Arc<Slot>) -> bool {
    Starting::current().holds(Arc::as_ptr(slot).cast())
}

/// Starts an operation, nested in those that start on this call path already; refuses endless nesting.
pub(crate) fn start<R>(
    operation: &str,
    slot: Option<&Arc<Slot>>,
    start: impl FnOnce() -> Result<R, Error>,
) -> Result<R, Error> {
    let (below, depth) = Starting::current().below(slot.map(|slot| slot.clone() as Arc<dyn Any + Send + Sync>));
    if depth > DEEPEST {
        let message = format!(
            "a function that it calls starts operations, whose functions start others, and so on, {depth} deep: start \
             them outside of the function"
        );
        return Err(Error::invalid(operation, message));
    }
    below.enter(start)
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::channel;

    use arrow_schema::{DataType, Field, Schema};
    use formula::Expr;

    use super::*;
    use crate::driver::attach::attach;
    use crate::driver::operation::{Input, Operation, Start};
    use crate::ops::Select;
    use crate::sources::InputTable;
    use crate::table::request::Request;

    type Hook = Box<dyn Fn() -> Result<(), Error> + Send + Sync>;

    /// An operation that does something else first, as a user's function may.
    struct Asks {
        inner: Select,
        first: Hook,
    }

    impl Operation for Asks {
        fn request(&self) -> &Request {
            self.inner.request()
        }
        fn init(&self, inputs: &[Input], at: graph::Moment) -> Result<Start, Error> {
            (self.first)()?;
            self.inner.init(inputs, at)
        }
    }

    fn asks(table: &Table, first: impl Fn() -> Result<(), Error> + Send + Sync + 'static) -> Result<Table, Error> {
        let inner = Select::with(table, &[Expr::literal(2).alias("y")])?;
        attach(&Asks { inner, first: Box::new(first) }, std::slice::from_ref(table))
    }

    fn live() -> (UpdateGraph, Table) {
        let graph = UpdateGraph::new(graph::Settings { threads: Some(2), init_threads: Some(3), ..Default::default() });
        let schema = Schema::new(vec![Field::new("x", DataType::Int64, true)]);
        let input = InputTable::new(&graph, Arc::new(schema)).unwrap();
        let table = input.table().clone();
        (graph, table)
    }

    #[test]
    fn slots_that_nobody_needs_go_whenever_the_memo_has_doubled() {
        let (mut memo, mut kept, mut sweeps, mut left) = (Memo::default(), Vec::new(), 0, 0);
        for request in 0..4_000 {
            kept.push(memo.slot((request, Vec::new())));
            sweeps += usize::from(memo.left != left);
            left = memo.left;
        }
        assert!(memo.slots.len() == 4_000 && sweeps < 14, "{sweeps} sweeps of a memo whose slots all stay");
        drop(kept);
        for request in 4_000..8_001 {
            memo.slot((request, Vec::new()));
        }
        assert!(memo.slots.len() < 4_000, "{} slots", memo.slots.len());
    }

    #[test]
    fn a_function_that_asks_for_its_own_operation_gets_it() {
        let (_graph, table) = live();
        let inside: Arc<Mutex<Option<Table>>> = Arc::default();
        let (own, keep) = (table.clone(), inside.clone());
        let made = asks(&table, move || {
            *keep.lock().unwrap() = Some(asks(&own, || Ok(()))?);
            Ok(())
        });
        let inside = inside.lock().unwrap().take().expect("the function got one");
        assert_eq!(made.unwrap().identity(), inside.identity(), "equal requests give one table");
    }

    #[test]
    fn one_that_asks_without_end_is_told_so_also_on_the_threads_of_the_pool() {
        fn endless(table: &Table, pooled: bool) -> Result<(), Error> {
            let own = table.clone();
            let again = move || {
                if !pooled {
                    return endless(&own, pooled);
                }
                let (items, together) = (
                    vec![(); crate::threads::parallel::threads()],
                    std::sync::Barrier::new(crate::threads::parallel::threads()),
                );
                // On each thread of the pool at once, the others of which wait for nobody.
                crate::threads::parallel::try_each(true, &items, |at, ()| {
                    together.wait();
                    if at == 1 { endless(&own, pooled) } else { Ok(()) }
                })
            };
            asks(table, again).map(drop)
        }
        let (_graph, table) = live();
        let error = endless(&table, false).expect_err("it never ends").to_string();
        assert!(error.contains("outside of the function"), "{error}");
    }

    #[test]
    fn another_thread_waits_for_the_one_who_makes_it_and_may_be_interrupted() {
        let (_graph, table) = live();
        let calls = Arc::new(AtomicUsize::new(0));
        let ((tell, told), (open, wait)) = (channel(), channel::<()>());
        let (tell, wait) = (Mutex::new(tell), Mutex::new(wait));
        let (own, counted) = (table.clone(), calls.clone());
        let first = std::thread::spawn(move || {
            asks(&own, move || {
                counted.fetch_add(1, Ordering::SeqCst);
                tell.lock().unwrap().send(()).unwrap();
                wait.lock().unwrap().recv().unwrap();
                Ok(())
            })
        });
        told.recv().unwrap();
        let stop = || Err(Error::Cancelled("enough".into()));
        let counted = calls.clone();
        let interrupted = interrupt::polled(Rc::new(stop), || {
            asks(&table, move || {
                counted.fetch_add(1, Ordering::SeqCst);
                Ok(())
            })
        });
        assert!(matches!(interrupted, Err(Error::Cancelled(_))));
        let polled = Arc::new(AtomicUsize::new(0));
        let seen = polled.clone();
        // The first poll lets the maker go on.
        let second = interrupt::polled(
            Rc::new(move || {
                if seen.fetch_add(1, Ordering::SeqCst) == 0 {
                    open.send(()).unwrap();
                }
                Ok(())
            }),
            || asks(&table, || panic!("it is made")),
        );
        let first = first.join().unwrap().unwrap();
        assert_eq!(first.identity(), second.unwrap().identity());
        assert_eq!((calls.load(Ordering::SeqCst), polled.load(Ordering::SeqCst) > 0), (1, true));
    }

    #[test]
    fn slots_that_nobody_needs_are_swept_when_the_memo_has_doubled() {
        let mut memo = Memo::default();
        let most = sizes::SWEEP_AT.get().max(256);
        let held: Vec<Arc<Slot>> = (0..most).map(|at| memo.slot((at as u128, Vec::new()))).collect();
        assert_eq!(memo.slots.len(), most, "somebody needs each");
        drop(held);
        (most..4 * most).for_each(|at| drop(memo.slot((at as u128, Vec::new()))));
        assert!(memo.slots.len() <= 2 * most, "{} slots of tables that are gone", memo.slots.len());
    }

    #[test]
    fn a_start_that_fails_leaves_the_place_to_the_next() {
        let (_graph, table) = live();
        asks(&table, || Err(Error::Cancelled("no".into()))).map(drop).expect_err("it fails");
        asks(&table, || panic!("no")).map(drop).expect_err("it panics");
        asks(&table, || Ok(())).expect("nobody makes it any more");
    }
}
