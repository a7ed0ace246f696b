//! The driver, second half: the node of one table. It runs the operation in a step, validates the update, and handles
//! failure, interruption and metrics.
//!
//! Only [`crate::driver::attach`] and this module catch panics and validate updates.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use column::ColumnSource;
use graph::{Moment, Moved, Node, NodeId, Outcome, Size, Step, UpdateGraph, Volume};

use crate::driver::failpoints::{Point, interleave, strike};
use crate::driver::interrupted::Interrupted;
use crate::driver::operation::{Live, Start};
use crate::driver::recorder::Recorded;
use crate::error::{Error, Failure, Location};
use crate::observe::events::{self, Level};
use crate::sizes::FULL_CHECK_ROWS;
use crate::table::change::Change;
use crate::table::handle::{Ends, Table, TableDriver};
use crate::table::parts::Parts;
use crate::table::request::Request;
use crate::table::rows::LiveRows;
use crate::table::settle::Settle;
use crate::table::update::TableUpdate;
use crate::table::view::View;
use crate::threads::interrupt::{self, Uninterrupted};
use crate::threads::lock;
use crate::threads::parallel::{self, Phase};

/// Runs an operation's code, and returns a panic as an error.
pub(crate) fn guarded<R>(request: &Request, run: impl FnOnce() -> Result<R, Error>) -> Result<R, Error> {
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(result) => result.map_err(|error| error.in_operation(&request.name)),
        Err(panic) => Err(Error::internal(&request.label(), panic_text(panic.as_ref()))),
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "a panic without text".into())
}

/// Notifications from a source's node to its queue.
pub(crate) trait Fed: Send + Sync {
    /// A step opens; the calls that are queued now belong to it.
    fn seal(&self);
    /// The step has stored the rows that it took from the queue.
    fn landed(&self, step: Step);
    /// Whether the table was closed and its last step is over.
    fn has_ended(&self) -> bool;
    /// The table has failed; the queued calls are dropped.
    fn failed(&self, failure: &Arc<Failure>);
}

/// The node of one table.
pub(crate) struct TableNode {
    request: Request,
    /// Where the user's code made the table.
    location: OnceLock<Location>,
    inputs: Vec<Table>,
    rows: Arc<LiveRows>,
    graph: UpdateGraph,
    width: usize,
    owned: Vec<Arc<dyn Settle>>,
    live: Mutex<Box<dyn Live>>,
    fed: Option<Arc<dyn Fed>>,
    feed: Mutex<Option<(Step, Arc<TableUpdate>)>>,
    failure: OnceLock<Arc<Failure>>,
    last_step: AtomicU64,
    sources: Arc<[Arc<dyn ColumnSource>]>,
    id: OnceLock<NodeId>,
    interrupted: Mutex<Option<Interrupted>>,
    /// Whether `interrupted` holds a state. Readers test this flag without taking the lock.
    is_interrupted: AtomicBool,
    /// Whether a table downstream also reads a blink table. Such a table cannot wait for this one, because blink rows
    /// are gone after their step; so this node must not be interrupted.
    is_awaited: AtomicBool,
}

impl TableNode {
    /// The table of an operation, and its node, which has not joined the graph yet.
    pub(crate) fn table(
        request: &Request,
        graph: &UpdateGraph,
        inputs: &[Table],
        start: Start,
    ) -> (Table, Arc<TableNode>) {
        let node = TableNode::new(request, graph, inputs.to_vec(), &start.parts, start.live, start.owned, None);
        (Table::live(start.parts, request.clone(), graph.clone(), node.clone()), node)
    }

    /// The table of a source: its node has no inputs, and its queue is sealed when a step opens.
    pub(crate) fn source(request: &Request, graph: &UpdateGraph, start: Start, fed: Option<Arc<dyn Fed>>) -> Table {
        let node = TableNode::new(request, graph, Vec::new(), &start.parts, start.live, start.owned, fed);
        let table = Table::live(start.parts, request.clone(), graph.clone(), node.clone());
        let door: Arc<dyn Node> = node;
        table.registered(graph.source(&door));
        table
    }

    fn new(
        request: &Request,
        graph: &UpdateGraph,
        inputs: Vec<Table>,
        parts: &Parts,
        live: Box<dyn Live>,
        owned: Vec<Arc<dyn Settle>>,
        fed: Option<Arc<dyn Fed>>,
    ) -> Arc<TableNode> {
        let blinks = |input: &Table| input.attributes().blink;
        // Rows for one step, made of rows that stay: whoever reads them misses those of a step that waits.
        let begins = parts.attributes.blink && !inputs.iter().any(blinks);
        if begins || (inputs.len() > 1 && inputs.iter().any(blinks)) {
            await_all(&inputs);
        }
        Arc::new(TableNode {
            request: request.clone(),
            location: OnceLock::new(),
            graph: graph.clone(),
            inputs,
            rows: parts.rows.clone(),
            width: parts.columns.len(),
            owned,
            live: Mutex::new(live),
            fed,
            feed: Mutex::new(None),
            failure: OnceLock::new(),
            last_step: AtomicU64::new(0),
            sources: parts.columns.clone().into(),
            id: OnceLock::new(),
            interrupted: Mutex::new(None),
            is_interrupted: AtomicBool::new(false),
            is_awaited: AtomicBool::new(false),
        })
    }

    /// Whether the operation must run in this step: an input changed, or the node was activated and is a source or
    /// depends on the clock.
    fn is_concerned(&self, step: Step) -> bool {
        let changed = |input: &Table| input.node().is_some_and(|node| node.has_changed_in(step));
        self.request.timed || self.inputs.is_empty() || self.inputs.iter().any(changed)
    }

    /// Notes the node's id in the graph.
    pub(crate) fn joined(&self, id: NodeId) {
        let _ = self.id.set(id);
        lock(&self.live).joined(id);
    }

    /// Brings a node that is not registered yet from `at` to `to`.
    pub(crate) fn catch_up(
        &self,
        recorder: &Recorded,
        at: Moment,
        before: Vec<View>,
        to: Moment,
        now: Vec<View>,
    ) -> Result<Vec<View>, Error> {
        if let Some(steps) = recorder.steps(at, to) {
            let mut live = lock(&self.live);
            for (step, changes) in &steps {
                guarded(&self.request, || live.update(changes, *step))?;
                interleave();
                self.owned.iter().for_each(|owned| owned.settle());
            }
            return Ok(now);
        }
        let merged = recorder.merged(at, to, &before);
        let quiet = merged.iter().all(TableUpdate::is_empty);
        let changes: Vec<Change> = (self.inputs.iter().zip(before).zip(now).zip(merged))
            .map(|(((input, before), now), update)| Change::between(input.clone(), before, now, Arc::new(update)))
            .collect();
        if !quiet {
            let mut live = lock(&self.live);
            guarded(&self.request, || live.update(&changes, Step::ending(to)))?;
            interleave();
            self.owned.iter().for_each(|owned| owned.settle());
        }
        Ok(changes.into_iter().map(Change::into_now).collect())
    }

    /// Calls `look` with the state kept since the table was interrupted; none if it is not interrupted.
    fn look_at_interrupted<R>(&self, look: impl FnOnce(&Interrupted) -> R) -> Option<R> {
        if !self.is_interrupted.load(Ordering::Acquire) {
            return None;
        }
        lock(&self.interrupted).as_ref().map(look)
    }

    /// Interrupts the table in `step`: it keeps showing its previous state until a later step resumes it. False if that
    /// is impossible.
    fn interrupt(&self, step: Step) -> bool {
        // The rows of a blink table would be gone when the table resumes.
        if self.inputs.iter().any(|input| input.attributes().blink) {
            return false;
        }
        let own = View::new(self.rows.clone(), step.before(), self.sources.clone());
        let Ok(mut kept) = Interrupted::begin(own, &self.inputs, step) else { return false };
        kept.push(&self.inputs, step);
        *lock(&self.interrupted) = Some(kept);
        self.is_interrupted.store(true, Ordering::Release);
        self.run_again();
        true
    }

    fn run_again(&self) {
        if let Some(id) = self.id.get() {
            self.graph.activate(*id);
        }
    }

    /// Resumes an interrupted table by one coalesced change, unless the table or an input is interrupted again.
    fn resume(&self, step: Step) -> Outcome {
        let changes = {
            let mut kept = lock(&self.interrupted);
            let Some(kept) = kept.as_mut() else { return Outcome::Quiet };
            kept.push(&self.inputs, step);
            if self.inputs.iter().any(|input| input.node().is_some_and(|node| node.is_interrupted_in(step))) {
                self.run_again();
                return Outcome::Quiet;
            }
            kept.changes(&self.inputs, step)
        };
        let mut live = lock(&self.live);
        // Rows that came and went while the table was interrupted cancel out.
        let quiet = !self.request.timed && changes.iter().all(|change| change.update().is_empty());
        let run = || self.updated(&mut **live, &changes, step);
        let update = if quiet { Ok(TableUpdate::default()) } else { guarded(&self.request, run) };
        let checked = update.and_then(|update| {
            let before = self.look_at_interrupted(|kept| kept.rows().clone()).unwrap_or_default();
            let broken = if cfg!(debug_assertions) && before.len() <= FULL_CHECK_ROWS.rows() {
                update.check_rows(&before, &self.rows.latest())
            } else {
                update.check(self.width)
            };
            broken.map_err(|broken| Error::internal(&self.request.label(), broken)).map(|()| update)
        });
        match checked {
            Ok(update) => {
                if let Some(kept) = lock(&self.interrupted).as_mut() {
                    kept.has_caught_up(step);
                }
                self.told(step, update)
            }
            Err(cause) if cause.is_interrupt() && self.graph.is_by_hand() && live.resumes() => {
                interrupt::note(&self.graph, cause);
                self.run_again();
                Outcome::Quiet
            }
            Err(cause) => self.fail(self.culprit(step, cause.of_the_table())),
        }
    }

    /// Publishes the table's update in `step` to downstream nodes.
    fn told(&self, step: Step, update: TableUpdate) -> Outcome {
        let row_errors = self.request.row_errors.as_ref();
        let told =
            row_errors.is_some_and(|row_errors| row_errors.publish(step.number(), Some((&self.graph, Some(step)))));
        if update.is_empty() {
            // The table of row errors is downstream and has rows to take. All other downstream nodes find no update
            // here and stay quiet.
            return if told { Outcome::Changed } else { Outcome::Quiet };
        }
        *lock(&self.feed) = Some((step, Arc::new(update)));
        self.last_step.store(step.number(), Ordering::Release);
        Outcome::Changed
    }

    /// Handles an operation that stopped with `cause`. An interrupt of a step by hand is returned to the caller of that
    /// step, and the table waits for the next step. In a step of the cycle thread, or if the table cannot wait, the
    /// table fails.
    fn stopped(&self, step: Step, cause: Error) -> Outcome {
        if cause.is_interrupt() && self.graph.is_by_hand() {
            interrupt::note(&self.graph, cause.clone());
            if let Some(row_errors) = &self.request.row_errors {
                row_errors.forget();
            }
            let resumes = lock(&self.live).resumes();
            if resumes && self.interrupt(step) {
                return Outcome::Changed;
            }
        }
        self.fail(self.culprit(step, cause.of_the_table()))
    }

    fn changes(&self, step: Step) -> Vec<Change> {
        self.inputs
            .iter()
            .map(|input| {
                let update = input.node().and_then(|node| node.update_in(step)).unwrap_or_default();
                Change::new(input.clone(), step.before(), step.now(), update)
            })
            .collect()
    }

    fn advance(&self, step: Step) -> Result<TableUpdate, Error> {
        let changes = self.changes(step);
        let mut live = lock(&self.live);
        let node = Some(std::ptr::from_ref(self) as usize);
        let run = || {
            strike(node, Point::BeforeUpdate)?;
            let update = self.updated(&mut **live, &changes, step)?;
            strike(node, Point::AfterUpdate)?;
            Ok(update)
        };
        let update = guarded(&self.request, run)?;
        if !update.is_empty() {
            self.check(&update, step)?;
        }
        Ok(update)
    }

    /// Runs the operation's update. An operation that cannot resume in a later step runs to its end, even if user
    /// functions are interrupted meanwhile.
    fn updated(&self, live: &mut dyn Live, changes: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let waits = live.resumes()
            && !self.is_awaited.load(Ordering::Relaxed)
            && !self.inputs.iter().any(|input| input.attributes().blink);
        let mut run = || parallel::inside(Some(&self.graph), Phase::Update, || live.update(changes, step));
        if waits || !self.graph.is_by_hand() { run() } else { Uninterrupted::of(&self.graph).enter(run) }
    }

    fn check(&self, update: &TableUpdate, step: Step) -> Result<(), Error> {
        let checked = update.check(self.width).and_then(|()| self.rows.check(update, step)).and_then(|()| {
            if !cfg!(debug_assertions) {
                return Ok(());
            }
            let now = self.rows.latest();
            if now.len() > FULL_CHECK_ROWS.rows() {
                return update.check_change(&now);
            }
            let before =
                self.rows.at(step.before()).map_err(|Moved| "the rows before the step are gone".to_string())?;
            update.check_rows(&before, &now)
        });
        checked.map_err(|broken| Error::internal(&self.request.label(), broken))
    }

    fn fail(&self, failure: Arc<Failure>) -> Outcome {
        // Only the first failure counts: a failed node never runs again.
        let _ = self.failure.set(failure);
        if let (Some(fed), Some(failure)) = (&self.fed, self.failure.get()) {
            fed.failed(failure);
        }
        Outcome::Failed
    }

    fn culprit(&self, step: Step, cause: Error) -> Arc<Failure> {
        let failure = Failure {
            step: step.number(),
            culprit: self.request.label(),
            formula: self.request.text.clone(),
            location: self.location.get().cloned(),
            cause,
        };
        events::note(Level::Error, failure.to_string());
        Arc::new(failure)
    }
}

impl TableDriver for TableNode {
    fn inputs(&self) -> &[Table] {
        &self.inputs
    }

    fn failure(&self) -> Option<Arc<Failure>> {
        self.failure.get().cloned()
    }

    fn last_step(&self) -> u64 {
        self.last_step.load(Ordering::Acquire)
    }

    fn update_in(&self, step: Step) -> Option<Arc<TableUpdate>> {
        let feed = lock(&self.feed);
        feed.as_ref().filter(|(at, _)| *at == step).map(|(_, update)| update.clone())
    }

    fn has_changed_in(&self, step: Step) -> bool {
        lock(&self.feed).as_ref().is_some_and(|(at, _)| *at == step)
    }

    fn last_state(&self, moment: Moment) -> Option<View> {
        self.look_at_interrupted(|kept| kept.view(moment)).flatten()
    }

    fn locate(&self, location: Location) {
        // What is known already stands: a table is made in one place.
        let _ = self.location.set(location);
    }

    fn is_interrupted(&self) -> bool {
        self.look_at_interrupted(|kept| kept.caught_up().is_none()).unwrap_or(false)
    }

    fn is_interrupted_in(&self, step: Step) -> bool {
        self.look_at_interrupted(|kept| kept.caught_up() != Some(step)).unwrap_or(false)
    }

    fn ends(&self) -> Ends {
        match &self.fed {
            Some(fed) if fed.has_ended() => Ends::Ended,
            None if !self.inputs.is_empty() && !self.request.timed && !self.is_interrupted() => Ends::WithInputs,
            _ => Ends::Open,
        }
    }

    fn is_awaited_from_now(&self) -> bool {
        self.is_awaited.swap(true, Ordering::Relaxed)
    }
}

impl Node for TableNode {
    fn seal(&self) {
        if let Some(fed) = &self.fed {
            fed.seal();
        }
    }

    fn run(&self, step: Step) -> Outcome {
        if self.failure.get().is_some() {
            return Outcome::Quiet;
        }
        if let Some(failure) = self.inputs.iter().find_map(Table::failure) {
            return self.fail(failure);
        }
        if self.is_interrupted.load(Ordering::Acquire) {
            return self.resume(step);
        }
        if self.inputs.iter().any(|input| input.node().is_some_and(|node| node.is_interrupted_in(step))) {
            let kept = self.interrupt(step);
            let cause =
                || Error::invalid(&self.request.label(), "the step was interrupted, and its blink rows are gone");
            return if kept { Outcome::Changed } else { self.fail(self.culprit(step, cause())) };
        }
        if !self.is_concerned(step) {
            return Outcome::Quiet;
        }
        let advanced = self.advance(step);
        if let (Ok(_), Some(fed)) = (&advanced, &self.fed) {
            fed.landed(step);
        }
        match advanced {
            Ok(update) => self.told(step, update),
            Err(cause) => self.stopped(step, cause),
        }
    }

    fn panicked(&self, step: Step, message: String) {
        self.fail(self.culprit(step, Error::internal(&self.request.label(), message)));
    }

    fn settle(&self, step: Step) {
        lock(&self.feed).take();
        if self.look_at_interrupted(|kept| kept.caught_up() == Some(step)) == Some(true) {
            self.is_interrupted.store(false, Ordering::Release);
            let gone = lock(&self.interrupted).take();
            drop(gone);
        }
        self.owned.iter().for_each(|owned| owned.settle());
    }

    fn label(&self) -> String {
        self.request.label()
    }

    fn volume(&self, step: Step) -> Volume {
        let rows = |node: &dyn TableDriver| node.update_in(step).map_or(0, |update| update.size());
        let items_in = self.inputs.iter().filter_map(Table::node).map(|node| rows(&**node)).sum();
        Volume { items_in, items_out: rows(self) }
    }

    fn size(&self) -> Size {
        // The node may be running; metrics do not wait for it.
        let entries = self.live.try_lock().map_or(0, |live| live.entries());
        let bytes = self.owned.iter().map(|owned| owned.bytes()).sum();
        Size { items: self.rows.latest().len(), bytes, entries }
    }
}

impl Drop for TableNode {
    fn drop(&mut self) {
        graph::release(std::mem::take(&mut self.inputs));
    }
}

/// Marks these tables and all their inputs as awaited: a downstream table needs them in every step.
fn await_all(tables: &[Table]) {
    let mut above: Vec<&Table> = tables.iter().collect();
    while let Some(table) = above.pop() {
        if let Some(node) = table.node().filter(|node| !node.is_awaited_from_now()) {
            above.extend(node.inputs());
        }
    }
}
