//! A table: a row set, columns and a schema over time, and the graph node that maintains them.

use std::any::Any;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use arrow_schema::{DataType, Field, Schema};
use column::ColumnSource;
use graph::{Moment, Moved, Node, NodeId, Registration, Size, Step, UpdateGraph};
use rowset::RowSet;

use crate::driver::memo::{Key, Memo, Slot};
use crate::error::{Error, Failure, Location};
use crate::plan::input::Input;
use crate::plan::node::Plan;
use crate::table::parts::{Attributes, Parts};
use crate::table::request::Request;
use crate::table::update::TableUpdate;
use crate::table::view::View;
use crate::threads::lock;
use crate::threads::making;

/// Whether a live table may still change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ends {
    /// It may, at any time.
    Open,
    /// It may as long as one of its inputs may.
    WithInputs,
    /// It was closed.
    Ended,
}

/// What keeps a live table true: the node of its operation or of its source.
pub(crate) trait TableDriver: Node {
    /// The tables it stands on.
    fn inputs(&self) -> &[Table];
    /// Why it failed.
    fn failure(&self) -> Option<Arc<Failure>>;
    /// The last step in which the table changed; 0 if it never did.
    fn last_step(&self) -> u64;
    /// Whether the table changed in `step`.
    fn has_changed_in(&self, step: Step) -> bool;
    /// The update of the table in `step`; none if the table did not change.
    fn update_in(&self, step: Step) -> Option<Arc<TableUpdate>>;
    /// The state that an interrupted table shows at `moment`.
    fn last_state(&self, moment: Moment) -> Option<View>;
    /// Notes where the user's code made the table.
    fn locate(&self, location: Location);
    /// Whether the table was interrupted and has not caught up.
    fn is_interrupted(&self) -> bool;
    /// Whether the table still shows a state before `step`, while its inputs may be newer.
    fn is_interrupted_in(&self, step: Step) -> bool;
    /// Whether it may still change.
    fn ends(&self) -> Ends;
    /// From now on a table below waits for it in each step; whether one did before.
    fn is_awaited_from_now(&self) -> bool;
}

/// A handle of a static or live table. Cloning shares the table; dropping the last handle removes its node, and frees
/// the inputs that nothing else uses.
#[derive(Clone)]
pub struct Table {
    inner: Arc<Inner>,
    /// What was asked for; none for a source.
    plan: Option<Plan>,
    /// What is known beside its rows, if anything.
    beside: Option<Known>,
}

struct Inner {
    parts: Parts,
    canonical: Arc<Schema>,
    sources: Arc<[Arc<dyn ColumnSource>]>,
    request: Request,
    live: Option<LiveParts>,
    selection: Option<Selected>,
    /// What was asked for over this table and others: by the print of the request, and the identities of the inputs.
    memo: Mutex<Memo>,
}

/// What says which rows of a table are meant; only who knows it can read it.
pub(crate) type Selected = Arc<dyn Any + Send + Sync>;

/// What a handle knows beside its table; only who put it there can read it.
pub(super) type Known = Arc<dyn Any + Send + Sync>;

struct LiveParts {
    graph: UpdateGraph,
    node: Arc<dyn TableDriver>,
    registration: OnceLock<Registration>,
}

/// A weak handle of a table, which does not keep it alive.
#[derive(Clone, Default)]
pub struct WeakTable(Weak<Inner>);

impl WeakTable {
    /// The table, if a handle still lives.
    pub fn upgrade(&self) -> Option<Table> {
        self.0.upgrade().map(|inner| Table { inner, plan: None, beside: None })
    }
}

impl Table {
    /// A table that never changes.
    pub(crate) fn fixed(parts: Parts, request: Request) -> Table {
        Table::build(parts, request, None, None)
    }

    /// A table that never changes, of those of its rows that a selection finds while they are read. It is no result: only an
    /// operation that says so (`Operation::selects`) stands on it.
    pub(crate) fn selecting(parts: Parts, request: Request, selection: Selected) -> Table {
        Table::build(parts, request, None, Some(selection))
    }

    /// What finds the rows that are meant, where these are not all.
    pub(crate) fn selection(&self) -> Option<&Selected> {
        self.inner.selection.as_ref()
    }

    /// A live table whose node is not registered yet.
    pub(crate) fn live(parts: Parts, request: Request, graph: UpdateGraph, node: Arc<dyn TableDriver>) -> Table {
        let live = LiveParts { graph, node, registration: OnceLock::new() };
        Table::build(parts, request, Some(live), None)
    }

    fn build(parts: Parts, request: Request, live: Option<LiveParts>, selection: Option<Selected>) -> Table {
        let canonical = Arc::new(canonical_schema(&parts.schema));
        let sources: Arc<[Arc<dyn ColumnSource>]> = parts.columns.clone().into();
        let inner = Arc::new(Inner { parts, canonical, sources, request, live, selection, memo: Mutex::default() });
        Table { inner, plan: None, beside: None }
    }

    pub(crate) fn registered(&self, registration: Registration) {
        if let Some(live) = &self.inner.live {
            // A second registration would be a bug of the driver; the first one is kept.
            let _ = live.registration.set(registration);
        }
    }

    /// Names and declared types.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.inner.parts.schema
    }

    /// Names and the types that expressions see.
    pub fn canonical(&self) -> &Arc<Schema> {
        &self.inner.canonical
    }

    /// Where its cells are.
    pub(crate) fn column_sources(&self) -> &[Arc<dyn ColumnSource>] {
        &self.inner.sources
    }

    /// How many columns there are.
    pub fn width(&self) -> usize {
        self.inner.sources.len()
    }

    /// The position of a column, or an error that names `operation` and the nearest column.
    pub fn column_index(&self, operation: &str, name: &str) -> Result<usize, Error> {
        let fields = self.schema().fields();
        let found = fields.iter().position(|field| field.name() == name);
        found.ok_or_else(|| Error::no_column(operation, name, fields.iter().map(|field| field.name().as_str())))
    }

    /// The canonical type of a column.
    pub fn column_type(&self, index: usize) -> &DataType {
        self.inner.canonical.field(index).data_type()
    }

    /// The contracts this table keeps.
    pub fn attributes(&self) -> &Attributes {
        &self.inner.parts.attributes
    }

    /// The request that made the table: its operation and arguments.
    pub fn request(&self) -> &Request {
        &self.inner.request
    }

    /// This table, made at this place of the user's code. Whoever makes it says so at once; later it is too late.
    pub fn located(self, location: Option<Location>) -> Table {
        if let (Some(node), Some(location)) = (self.node(), location) {
            node.locate(location);
        }
        self
    }

    /// What was asked for, down to the sources. A source is an input.
    pub fn plan(&self) -> Plan {
        let source = || Input { name: None, source: Some(self.request().fingerprint), schema: self.schema().clone() };
        self.plan.clone().unwrap_or_else(|| Plan::input(source()))
    }

    /// This table, as an input of plans by this name.
    pub fn named(self, name: String) -> Table {
        let (source, schema) = (Some(self.request().fingerprint), self.schema().clone());
        self.with_plan(Plan::input(Input { name: Some(name), source, schema }))
    }

    /// This table, as what a plan asked for.
    pub(crate) fn with_plan(self, plan: Plan) -> Table {
        Table { plan: Some(plan), ..self }
    }

    pub(super) fn beside(&self) -> Option<&Known> {
        self.beside.as_ref()
    }

    pub(super) fn with_beside(self, beside: Known) -> Table {
        Table { beside: Some(beside), ..self }
    }

    /// This table, as an input of what follows.
    pub(crate) fn without_plan(self) -> Table {
        Table { plan: None, ..self }
    }

    /// The input tables; none for sources and static tables.
    pub fn inputs(&self) -> &[Table] {
        self.inner.live.as_ref().map(|live| live.node.inputs()).unwrap_or_default()
    }

    /// Whether the table may change.
    pub fn is_live(&self) -> bool {
        self.inner.live.is_some()
    }

    /// The graph of a live table; none for a static one.
    pub fn graph(&self) -> Option<&UpdateGraph> {
        self.inner.live.as_ref().map(|live| &live.graph)
    }

    /// The cause of failure, if the table has failed.
    pub fn failure(&self) -> Option<Arc<Failure>> {
        self.inner.live.as_ref().and_then(|live| live.node.failure())
    }

    /// Fails with the root cause if the table has failed; every use of a failed table does.
    pub fn alive(&self) -> Result<(), Error> {
        self.failure().map_or(Ok(()), |failure| Err(Error::TableFailed(failure)))
    }

    /// The number of the last step in which the table changed; 0 if there was none.
    pub fn last_step(&self) -> u64 {
        self.inner.live.as_ref().map_or(0, |live| live.node.last_step())
    }

    /// The table's size: rows, bytes it owns, and entries of state in its operation.
    pub fn size(&self) -> Size {
        match self.node() {
            Some(node) => node.size(),
            None => Size { items: self.inner.parts.rows.latest().len(), ..Size::default() },
        }
    }

    /// Rows, columns, schema.
    pub fn parts(&self) -> &Parts {
        &self.inner.parts
    }

    pub(crate) fn node(&self) -> Option<&Arc<dyn TableDriver>> {
        self.inner.live.as_ref().map(|live| &live.node)
    }

    pub(crate) fn node_id(&self) -> Option<NodeId> {
        self.inner.live.as_ref().and_then(|live| live.registration.get()).map(Registration::id)
    }

    /// How often its operation was brought up to date, and for how many nanoseconds in all; none of a static table.
    pub fn ran(&self) -> Option<(u64, u64)> {
        self.graph()?.ran(self.node_id()?)
    }

    /// Whether two handles refer to the same table.
    pub fn same(&self, other: &Table) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// A number that no other living table has.
    pub fn identity(&self) -> usize {
        Arc::as_ptr(&self.inner).cast::<u8>() as usize
    }

    /// A handle that keeps nothing alive.
    pub fn downgrade(&self) -> WeakTable {
        WeakTable(Arc::downgrade(&self.inner))
    }

    pub(crate) fn memo_slot(&self, key: Key) -> Arc<Slot> {
        lock(&self.inner.memo).slot(key)
    }

    /// Whether a signal interrupted the last step by hand at this table or at one of its inputs. Such a table still
    /// shows its previous state; the next step brings it up to date.
    pub fn is_interrupted(&self) -> bool {
        self.node().is_some_and(|node| node.is_interrupted())
    }

    /// Whether the table will never change again, because all sources that it stands on were closed. A static table
    /// has not ended.
    pub fn has_ended(&self) -> bool {
        let (mut above, mut seen) = (vec![self], HashSet::new());
        while let Some(table) = above.pop() {
            match table.node().filter(|_| seen.insert(table.identity())).map(|node| (node.ends(), node.inputs())) {
                Some((Ends::Open, _)) => return false,
                Some((Ends::WithInputs, inputs)) => above.extend(inputs),
                Some((Ends::Ended, _)) | None => {}
            }
        }
        self.is_live()
    }

    /// The row set at a moment; `Moved` if the table no longer knows that moment.
    pub fn rows_at(&self, moment: Moment) -> Result<RowSet, Moved> {
        match self.node().and_then(|node| node.last_state(moment)) {
            Some(view) => Ok(view.rows().clone()),
            None => self.inner.parts.rows.at(moment),
        }
    }

    /// A view of the table at a moment. It pins rows and columns on first use.
    pub(crate) fn view_at(&self, moment: Moment) -> View {
        let kept = self.node().and_then(|node| node.last_state(moment));
        kept.unwrap_or_else(|| View::new(self.inner.parts.rows.clone(), moment, self.inner.sources.clone()))
    }

    /// A view of a table that never changes.
    pub(crate) fn still_view(&self) -> View {
        self.view_at(Moment::new(0))
    }

    /// Fails if the table had failed by this moment: its content has not changed since, and is out of date.
    pub(super) fn alive_at(&self, moment: Moment) -> Result<(), Error> {
        match self.failure().filter(|failure| failure.step <= moment.number()) {
            Some(failure) => Err(Error::TableFailed(failure)),
            None => Ok(()),
        }
    }

    /// The row set at the last settled moment; for a function that makes tables inside a step, as it is in that step.
    pub fn rows(&self) -> Result<RowSet, Error> {
        let Some(graph) = self.graph() else { return Ok(self.inner.parts.rows.latest()) };
        if let Some(moment) = made_at(graph, std::slice::from_ref(self)) {
            self.alive_at(moment)?;
            return self
                .rows_at(moment)
                .map_err(|Moved| Error::internal("rows", "the rows of a running step are gone"));
        }
        let (moment, rows) = graph.snapshot(|moment| Ok::<_, Moved>((moment, self.rows_at(moment)?)));
        self.alive_at(moment)?;
        Ok(rows)
    }

    /// A view of the table at the last settled moment, with rows and all columns pinned.
    pub fn view(&self) -> Result<View, Error> {
        let (moment, mut views) = views(std::slice::from_ref(self));
        self.alive_at(moment)?;
        Ok(views.pop().expect("one table, one view"))
    }
}

/// Views of several tables at one settled moment, those of live ones pinned.
pub(crate) fn views(tables: &[Table]) -> (Moment, Vec<View>) {
    let pin = |moment: Moment| {
        let views: Result<Vec<View>, Moved> = tables
            .iter()
            .map(|table| {
                let view = table.view_at(moment);
                // What never changes is there at any moment.
                if table.is_live() {
                    view.pin_all()?;
                }
                Ok(view)
            })
            .collect();
        views.map(|views| (moment, views))
    };
    match tables.iter().find_map(Table::graph) {
        Some(graph) => {
            let inside = made_at(graph, tables).and_then(|moment| pin(moment).ok());
            inside.unwrap_or_else(|| graph.snapshot(pin))
        }
        None => pin(Moment::new(0)).unwrap_or_else(|Moved| unreachable!("a static table has every moment")),
    }
}

/// The moment at which a function that makes tables inside a step reads these, if they have settled in it.
fn made_at(graph: &UpdateGraph, tables: &[Table]) -> Option<Moment> {
    let step = making::running(graph)?;
    let settled = |table: &Table| table.node_id().is_none_or(|node| graph.has_settled_in(node, step));
    tables.iter().all(settled).then(|| step.now())
}

/// The one graph of the live tables among these, none if all are static.
pub(crate) fn common_graph(operation: &str, tables: &[Table]) -> Result<Option<UpdateGraph>, Error> {
    let mut graphs = tables.iter().filter_map(Table::graph);
    let Some(first) = graphs.next() else { return Ok(None) };
    if graphs.any(|other| other != first) {
        return Err(Error::invalid(
            operation,
            "the inputs live in two graphs; a table can only join tables of its own graph or static ones (take a snapshot of one of them)",
        ));
    }
    Ok(Some(first.clone()))
}

pub(crate) fn canonical_schema(declared: &Schema) -> Schema {
    let fields = declared.fields().iter().map(|field| {
        let canonical = Field::new(field.name(), column::types::canonical(field.data_type()), true);
        // The order of ordered categories is part of the field, so it is copied with it.
        match field.dict_is_ordered() {
            Some(true) => canonical.with_dict_is_ordered(true).with_metadata(field.metadata().clone()),
            _ => canonical,
        }
    });
    Schema::new(fields.collect::<Vec<_>>())
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Dropped through the graph's queue: a long chain of tables would otherwise recurse once for each table.
        graph::release(self.live.take());
    }
}
