//! Listeners: a listener receives each change of its table, once the step has settled.
//!
//! A change that waits for a slow listener pins the blocks of its step until the next step opens. Then it is
//! materialized ([`UpdateEvent::materialize`]): its rows are copied. So a slow listener costs memory in proportion to the
//! changes, and never forces the engine to copy blocks. [`crate::follow::waiting`] keeps the waiting changes.

use std::sync::{Arc, Mutex, OnceLock, Weak};

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_data::ArrayData;
use arrow_schema::DataType;
use column::Chunk;
use graph::{Moved, Node, NodeId, Outcome, Registration, Step, UpdateGraph, Volume};
use rowset::RowSet;

use crate::error::{Error, Failure};
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::update::TableUpdate;
use crate::threads::lock;

/// A listener of a table. It is called on the thread that runs the cycle, after the step has settled and without an
/// engine lock. It must return quickly and hand long work to another thread.
pub trait Listener: Send + Sync {
    /// The table changed.
    fn on_update(&self, delivered: Arc<UpdateEvent>);
    /// The table failed; this is the last call.
    fn on_failure(&self, failure: Arc<Failure>);
    /// The sources of the table were closed: no update comes any more; this is the last call.
    fn on_end(&self) {}
    /// Whether each update keeps the rows before it.
    fn wants_rows_before(&self) -> bool {
        false
    }
}

/// One change of one table, which may be read after its step.
pub struct UpdateEvent {
    step: u64,
    update: Arc<TableUpdate>,
    /// The rows before the change, kept only if rows move, because coalescing needs them, or if a listener asked for them.
    before: OnceLock<RowSet>,
    rows: Mutex<Rows>,
}

enum Rows {
    Pinned(Box<Change>),
    Materialized(Arc<Materialized>),
}

/// The cells of one column of one part: none if no listener requested the column, an error if it could not be read.
pub(crate) type Cells = Option<Result<Chunk, Error>>;

/// A materialized change: the cells of the requested columns.
pub(crate) struct Materialized {
    added: Vec<Cells>,
    removed: Vec<Cells>,
    modified: Vec<Cells>,
    modified_before: Vec<Cells>,
}

/// A part of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Rows that came, after the step.
    Added,
    /// Rows that went, before the step.
    Removed,
    /// Rows that changed, after the step.
    Modified,
    /// Rows that changed, before the step: row n here is row n of `Modified`.
    ModifiedBefore,
}

impl UpdateEvent {
    fn new(step: Step, change: Change, wants_rows_before: bool) -> UpdateEvent {
        let keeps = wants_rows_before || !change.update().shifts.is_empty();
        let before = keeps.then(|| change.before().rows().clone());
        UpdateEvent::pinned(step.number(), change, before)
    }

    fn pinned(step: u64, change: Change, before: Option<RowSet>) -> UpdateEvent {
        let before = before.map_or_else(OnceLock::new, OnceLock::from);
        UpdateEvent { step, update: change.shared_update(), before, rows: Mutex::new(Rows::Pinned(Box::new(change))) }
    }

    /// A change that is materialized from the start.
    pub(crate) fn owned(step: u64, update: TableUpdate, before: Option<RowSet>, owned: Materialized) -> UpdateEvent {
        let before = before.map_or_else(OnceLock::new, OnceLock::from);
        UpdateEvent { step, update: Arc::new(update), before, rows: Mutex::new(Rows::Materialized(Arc::new(owned))) }
    }

    /// The rows before the change, if they were kept.
    pub fn before(&self) -> Option<&RowSet> {
        self.before.get()
    }

    /// Keeps the rows before the change as another event of it does.
    pub(crate) fn keep_before(&self, other: &UpdateEvent) {
        if let Some(before) = other.before() {
            self.before.get_or_init(|| before.clone());
        }
    }

    /// The materialized cells; none while the change still pins its step.
    pub(crate) fn detached(&self) -> Option<Arc<Materialized>> {
        match &*lock(&self.rows) {
            Rows::Pinned(_) => None,
            Rows::Materialized(owned) => Some(owned.clone()),
        }
    }

    /// The step that made the change.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Rows added, removed, modified; columns; shifts.
    pub fn update(&self) -> &TableUpdate {
        &self.update
    }

    /// How many rows a part has.
    pub fn rows_in(&self, part: Part) -> u64 {
        match part {
            Part::Added => self.update.added.len(),
            Part::Removed => self.update.removed.0.len(),
            Part::Modified | Part::ModifiedBefore => self.update.modified.len(),
        }
    }

    /// The cells of one column of one part, in key order. Fails if the change was materialized without this column.
    pub fn read(&self, part: Part, column: usize) -> Result<Chunk, Error> {
        match &*lock(&self.rows) {
            Rows::Pinned(change) => read(change, part, column),
            Rows::Materialized(detached) => detached.column(part, column).unwrap_or_else(|| {
                Err(Error::invalid(
                    "update",
                    format!("column {column} was not subscribed to (columns=), and the change has left its step"),
                ))
            }),
        }
    }

    /// Materializes the change: copies its rows, of all columns or of `columns`, and releases the pins on its step. If
    /// a column cannot be read, its error is kept and returned to whoever reads it.
    pub fn materialize(&self, columns: Option<&[usize]>) {
        let mut rows = lock(&self.rows);
        let Rows::Pinned(change) = &*rows else { return };
        let wanted = |column: usize| columns.is_none_or(|columns| columns.contains(&column));
        let gather = |part: Part| -> Vec<Cells> {
            let cells = |column| wanted(column).then(|| read(change, part, column).and_then(|chunk| owned(&chunk)));
            (0..change.table().width()).map(cells).collect()
        };
        let parts = [Part::Added, Part::Removed, Part::Modified, Part::ModifiedBefore].map(gather);
        let left = std::mem::replace(&mut *rows, Rows::Materialized(Arc::new(Materialized::new(parts))));
        drop(rows);
        // The pins may be the last handle of the table; dropping a table takes time and locks.
        drop(left);
    }

    /// Bytes of the materialized rows; 0 while the change still pins its step.
    pub fn bytes(&self) -> u64 {
        let Some(owned) = self.detached() else { return 0 };
        let read = owned.parts().into_iter().flatten().flatten().flatten();
        read.map(|cells| cells.get_array_memory_size() as u64).sum()
    }
}

impl Materialized {
    /// The cells of the rows added, removed, modified, and of the modified ones before, by column.
    pub(crate) fn new([added, removed, modified, modified_before]: [Vec<Cells>; 4]) -> Materialized {
        Materialized { added, removed, modified, modified_before }
    }

    /// How many columns the table has.
    pub(crate) fn width(&self) -> usize {
        self.added.len()
    }

    /// The cells of one column, if a listener requested it.
    pub(crate) fn column(&self, part: Part, column: usize) -> Cells {
        self.of(part).get(column).cloned().flatten()
    }

    fn parts(&self) -> [&[Cells]; 4] {
        [&self.added, &self.removed, &self.modified, &self.modified_before]
    }

    fn of(&self, part: Part) -> &[Cells] {
        match part {
            Part::Added => &self.added,
            Part::Removed => &self.removed,
            Part::Modified => &self.modified,
            Part::ModifiedBefore => &self.modified_before,
        }
    }
}

fn read(change: &Change, part: Part, column: usize) -> Result<Chunk, Error> {
    let update = change.update();
    match part {
        Part::Added => change.now().read(column, &update.added),
        Part::Removed => change.before().read(column, &update.removed.0),
        Part::Modified => change.now().read(column, &update.modified),
        Part::ModifiedBefore => change.before().read(column, &update.shifts.back(&update.modified).0),
    }
}

/// A copy of a chunk that shares no memory with a block. A slice would keep the whole block alive.
fn owned(chunk: &Chunk) -> Result<Chunk, Error> {
    if chunk.is_empty() {
        return Ok(arrow_array::new_empty_array(chunk.data_type()));
    }
    let data = chunk.to_data();
    let mut copy = arrow_data::transform::MutableArrayData::new(vec![&data], false, chunk.len());
    copy.try_extend(0, 0, chunk.len())?;
    Ok(compact(&arrow_array::make_array(copy.freeze())))
}

/// Compacts string and binary views: the result holds only the bytes it shows. A view otherwise keeps the whole buffers
/// of its writer alive.
pub(crate) fn compact(chunk: &Chunk) -> Chunk {
    match chunk.data_type() {
        DataType::Utf8View => Arc::new(chunk.as_string_view().gc()),
        DataType::BinaryView => Arc::new(chunk.as_binary_view().gc()),
        DataType::List(_)
        | DataType::LargeList(_)
        | DataType::FixedSizeList(..)
        | DataType::Struct(_)
        | DataType::Map(..) => {
            let data = chunk.to_data();
            let inner = |child: &ArrayData| compact(&arrow_array::make_array(child.clone())).into_data();
            let inner: Vec<ArrayData> = data.child_data().iter().map(inner).collect();
            match data.into_builder().child_data(inner).build() {
                Ok(data) => arrow_array::make_array(data),
                Err(_) => chunk.clone(),
            }
        }
        _ => chunk.clone(),
    }
}

/// The registration of a listener; dropping it unsubscribes.
pub struct Subscription {
    node: Arc<ListenerNode>,
    _registration: Registration,
}

impl Subscription {
    /// Unsubscribes: nothing more is delivered, not even changes that are under way.
    pub fn cancel(&self) {
        lock(&self.node.gate).cancelled = true;
    }
}

impl Table {
    /// Subscribes a listener. With `initial`, the listener first receives all rows of one settled step as added rows,
    /// before this returns; after that it receives every change exactly once.
    pub fn subscribe(&self, listener: Arc<dyn Listener>, initial: bool) -> Result<Subscription, Error> {
        self.alive()?;
        let Some(graph) = self.graph().cloned() else {
            return Err(Error::invalid("subscribe", "the table is static; it will never change"));
        };
        let gate = Gate { opened: !initial, cancelled: false, waiting: Vec::new() };
        let node = Arc::new(ListenerNode {
            table: self.clone(),
            graph: graph.clone(),
            listener,
            gate: Mutex::new(gate),
            told: OnceLock::new(),
            ended: OnceLock::new(),
            me: OnceLock::new(),
        });
        let _ = node.me.set(Arc::downgrade(&node));
        Subscribed::of(&graph).enter(&node);
        let door: Arc<dyn Node> = node.clone();
        let parents: Vec<NodeId> = self.node_id().into_iter().collect();
        let (view, registration) = graph.snapshot(|moment| {
            let view = self.view_at(moment);
            if initial {
                view.pin_all()?;
            }
            Ok::<_, Moved>((view, graph.join(&door, &parents, moment)?))
        });
        self.alive()?;
        if initial {
            let update = Arc::new(TableUpdate::of_added(view.rows().clone()));
            let nothing = crate::table::view::View::empty_like(&view);
            let step = view.moment().number();
            let change = Change::between(self.clone(), nothing, view, update);
            let before = node.listener.wants_rows_before().then(RowSet::new);
            node.open(Arc::new(UpdateEvent::pinned(step, change, before)));
        }
        node.tell_end();
        Ok(Subscription { node, _registration: registration })
    }
}

/// The listeners of a graph, to be told when sources are closed.
#[derive(Default)]
struct Subscribed(Mutex<(Vec<Weak<ListenerNode>>, usize)>);

impl Subscribed {
    fn of(graph: &UpdateGraph) -> Arc<Subscribed> {
        graph.extension(Subscribed::default)
    }

    fn enter(&self, node: &Arc<ListenerNode>) {
        let mut entered = lock(&self.0);
        let (nodes, most) = &mut *entered;
        if nodes.len() >= *most {
            nodes.retain(|node| node.strong_count() > 0);
            *most = 2 * nodes.len() + 16;
        }
        nodes.push(Arc::downgrade(node));
    }
}

/// Tells the listeners of tables that have ended, after the step that was their last.
pub(crate) fn tell_ended(graph: &UpdateGraph) {
    let nodes: Vec<_> = lock(&Subscribed::of(graph).0).0.iter().filter_map(Weak::upgrade).collect();
    nodes.iter().for_each(|node| node.tell_end());
}

struct ListenerNode {
    table: Table,
    graph: UpdateGraph,
    listener: Arc<dyn Listener>,
    gate: Mutex<Gate>,
    told: OnceLock<()>,
    ended: OnceLock<()>,
    me: OnceLock<Weak<ListenerNode>>,
}

/// Holds deliveries back until the initial delivery has been made.
struct Gate {
    opened: bool,
    cancelled: bool,
    waiting: Vec<Arc<UpdateEvent>>,
}

impl ListenerNode {
    /// Tells the listener, once, if its table has ended. Before the initial delivery is made it is too early: then whoever
    /// makes it tells.
    fn tell_end(&self) {
        let heard = {
            let gate = lock(&self.gate);
            gate.opened && !gate.cancelled
        };
        if heard && self.table.has_ended() && self.ended.set(()).is_ok() {
            self.listener.on_end();
        }
    }

    fn open(&self, first: Arc<UpdateEvent>) {
        self.listener.on_update(first);
        loop {
            let waiting = {
                let mut gate = lock(&self.gate);
                let waiting = std::mem::take(&mut gate.waiting);
                gate.opened = waiting.is_empty();
                waiting
            };
            if waiting.is_empty() {
                return;
            }
            waiting.into_iter().for_each(|delivered| self.listener.on_update(delivered));
        }
    }

    fn deliver(&self, delivered: Arc<UpdateEvent>) {
        {
            let mut gate = lock(&self.gate);
            if gate.cancelled {
                return;
            }
            if !gate.opened {
                gate.waiting.push(delivered);
                return;
            }
        }
        self.listener.on_update(delivered);
    }
}

impl Node for ListenerNode {
    fn run(&self, step: Step) -> Outcome {
        if let Some(failure) = self.table.failure() {
            if self.told.set(()).is_ok() {
                let listener = self.listener.clone();
                self.graph.after_step(Box::new(move |_| listener.on_failure(failure)));
            }
            return Outcome::Quiet;
        }
        let Some(update) = self.table.node().and_then(|node| node.update_in(step)) else { return Outcome::Quiet };
        let change = Change::new(self.table.clone(), step.before(), step.now(), update);
        if change.pin_columns().is_err() {
            return Outcome::Failed;
        }
        let Some(me) = self.me.get().and_then(Weak::upgrade) else { return Outcome::Quiet };
        let delivered = Arc::new(UpdateEvent::new(step, change, self.listener.wants_rows_before()));
        self.graph.after_step(Box::new(move |_| me.deliver(delivered)));
        Outcome::Quiet
    }

    fn abandoned(&self, step: Step) {
        // If the table ran before it failed, its change of this step is still delivered.
        let _ = self.run(step);
    }

    fn label(&self) -> String {
        "listener".into()
    }

    fn volume(&self, step: Step) -> Volume {
        let update = self.table.node().and_then(|node| node.update_in(step));
        Volume { items_in: update.map_or(0, |update| update.size()), items_out: 0 }
    }
}
