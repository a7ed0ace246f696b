//! What a function made of each constituent.
//!
//! A result is a table; or it is *planned*: the function asked for the plan that it asks for of all, so that one table has the
//! rows of all such results, and a table of this one is made when somebody asks for it.

use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, Weak};

use arrow_cast::display::array_value_to_string;
use graph::{NodeId, Step, UpdateGraph};

use super::followers::Followers;
use super::lifted::Lifted;
use super::member::Member;
use super::transformer::Transformer;
use super::{Members, Partitioned, ids_of};
use crate::driver::when::When;
use crate::error::{Error, Failure, Location};
use crate::eval::call::Call;
use crate::plan::lift::Lift;
use crate::table::handle::{Table, WeakTable};
use crate::threads::lock;
use crate::threads::making::{making, running};

/// The results of a function, by the ids of constituents.
pub(crate) struct Made {
    pub(super) method: Arc<str>,
    pub(super) location: Option<Location>,
    function: Arc<dyn Transformer>,
    pub(super) of: Arc<dyn Members>,
    /// Partitioned tables whose constituents of equal keys the function is given too.
    pub(super) others: Vec<Partitioned>,
    template: Table,
    /// The plan of the function, if it can be lifted.
    lift: Option<Lift>,
    state: Mutex<State>,
    followers: Followers,
}

#[derive(Default)]
struct State {
    results: HashMap<u64, Outcome>,
    /// Of constituents that went: what was made of them, if somebody holds both.
    gone: Vec<Shown>,
    gone_at_most: usize,
}

/// What a function made of a constituent.
enum Outcome {
    /// This table, of those.
    Table(Table, Vec<Table>),
    /// A table of the lifted plan, perhaps one that was asked for.
    Planned(Option<Shown>),
    Failed(Arc<Failure>),
}

/// A result that somebody may hold, and what it was made of.
struct Shown {
    of: Vec<WeakTable>,
    table: WeakTable,
    planned: bool,
}

impl Shown {
    fn new(table: &Table, of: &[Table], planned: bool) -> Shown {
        Shown { of: of.iter().map(Table::downgrade).collect(), table: table.downgrade(), planned }
    }
}

/// The tables among what was read.
pub(super) fn tables_of(read: Vec<Box<dyn Any>>) -> Vec<Table> {
    read.into_iter().filter_map(|table| table.downcast().ok().map(|table| *table)).collect()
}

/// A constituent: its id, its key as text, and what the function is given.
pub(super) type Given = (u64, String, Vec<Member>);

impl Made {
    pub(super) fn new(
        call: &Call,
        function: Arc<dyn Transformer>,
        of: Arc<dyn Members>,
        others: Vec<Partitioned>,
        template: Table,
        lift: Option<Lift>,
    ) -> Made {
        let (method, location) = (call.method.clone(), call.location.clone());
        let (state, followers) = (Mutex::default(), Followers::default());
        Made { method, location, function, of, others, template, lift, state, followers }
    }

    /// The constituents that have no result yet, each with its key as text.
    pub(super) fn missing(&self, set: &Table, when: When) -> Result<Vec<Given>, Error> {
        let view = set.view_at(when.moment());
        let ids = ids_of(set, &view, view.rows())?;
        let known: HashSet<u64> = lock(&self.state).results.keys().copied().collect();
        let keys = rowset::RowSet::from_sorted_keys(
            &view.rows().iter().zip(&ids).filter(|(_, id)| !known.contains(id)).map(|(row, _)| row).collect::<Vec<_>>(),
        );
        self.given(set, &view, &keys, when)
    }

    /// The constituents of these rows of the set: id, key as text, and the tables that the function is given.
    pub(super) fn given(
        &self,
        set: &Table,
        view: &crate::table::view::View,
        rows: &rowset::RowSet,
        when: When,
    ) -> Result<Vec<Given>, Error> {
        let ids = ids_of(set, view, rows)?;
        let cells = (0..set.width() - 1).map(|at| view.read(at, rows)).collect::<Result<Vec<_>, _>>()?;
        let names = set.schema().fields();
        let mut given = Vec::with_capacity(ids.len());
        for (at, id) in ids.into_iter().enumerate() {
            let cell = |(column, name): (&column::Chunk, &Arc<arrow_schema::Field>)| {
                let value = array_value_to_string(column, at).unwrap_or_default();
                format!("{} = {}", name.name(), if column.is_null(at) { "null" } else { &value })
            };
            let key: Vec<String> = cells.iter().zip(names).map(cell).collect();
            let mut tables = vec![self.of.clone().member(id, when)?];
            for other in &self.others {
                let own: Vec<column::Chunk> = cells.iter().map(|column| column.slice(at, 1)).collect();
                let found = other.member_of(&own, when)?;
                let missing = || Error::internal(&self.method, "a key that the other partitioned table has not");
                tables.push(found.ok_or_else(missing)?);
            }
            given.push((id, key.join(", "), tables));
        }
        Ok(given)
    }

    /// Applies the function to a constituent while no step runs, and keeps what it gives; the other tables that it read. `now`
    /// is the step that a failure names.
    pub(super) fn make(&self, (id, key, given): Given, now: u64) -> Vec<Table> {
        self.tables(None, id, &key, given, now).map_or_else(Vec::new, |given| self.make_of(None, id, &key, given, now))
    }

    /// The tables that the function is given. Where one has failed, its result has.
    fn tables(
        &self,
        step: Option<(&UpdateGraph, Step)>,
        id: u64,
        key: &str,
        given: Vec<Member>,
        now: u64,
    ) -> Option<Vec<Table>> {
        let tables = given.into_iter().map(|member| member.table(step)).collect::<Result<Vec<Table>, Error>>();
        tables.map_err(|cause| self.fail(id, key, now, cause)).ok()
    }

    fn make_of(
        &self,
        step: Option<(&UpdateGraph, Step)>,
        id: u64,
        key: &str,
        given: Vec<Table>,
        now: u64,
    ) -> Vec<Table> {
        let own = given.iter().map(Table::identity);
        let made = making(step, own, || self.function.transform(&given)).and_then(|(table, read)| {
            self.check(&table)?;
            Ok((table, tables_of(read)))
        });
        let (table, read) = match made {
            Ok(made) => made,
            Err(cause) => {
                self.fail(id, key, now, cause);
                return Vec::new();
            }
        };
        let is_planned = |lift: &Lift| read.is_empty() && !self.of.is_apart(id) && lift.is_of(&table, &given[0]);
        if self.lift.as_ref().is_some_and(is_planned) {
            self.keep(id, Outcome::Planned(None));
            return read;
        }
        let place = table.graph().cloned().zip(table.node_id());
        self.keep(id, Outcome::Table(table, given));
        if let Some((graph, node)) = place {
            self.followers.tell(&graph, node);
        }
        read
    }

    fn keep(&self, id: u64, outcome: Outcome) {
        let old = lock(&self.state).results.insert(id, outcome);
        drop(old);
    }

    /// Keeps that the result of a key has failed, in this step.
    fn fail(&self, id: u64, key: &str, step: u64, cause: Error) {
        let failure = Failure {
            step,
            culprit: format!("{}({key})", self.method),
            formula: None,
            location: self.location.clone(),
            cause: cause.of_the_table(),
        };
        self.keep(id, Outcome::Failed(Arc::new(failure)));
    }

    /// What the lifted plan makes of a constituent, for whoever asks for it.
    pub(super) fn planned(&self, step: Option<(&UpdateGraph, Step)>, id: u64, of: Table) -> Result<Table, Error> {
        let missing = || Error::internal(&self.method, "a result of no plan");
        let lift = self.lift.as_ref().ok_or_else(missing)?;
        let call = Call { method: self.method.clone(), location: self.location.clone(), ..Call::default() };
        let table = match step.filter(|(graph, step)| running(graph) != Some(*step)) {
            // A node of the step asks, and not a function that runs for one.
            Some(step) => making(Some(step), std::iter::once(of.identity()), || lift.run(&call, &of))?.0,
            None => lift.run(&call, &of)?,
        };
        if let Some(Outcome::Planned(shown)) = lock(&self.state).results.get_mut(&id) {
            *shown = Some(Shown::new(&table, std::slice::from_ref(&of), true));
        }
        if let Some((graph, node)) = table.graph().zip(table.node_id()) {
            self.followers.tell(graph, node);
        }
        Ok(table)
    }

    /// A result must have the columns of the others.
    fn check(&self, table: &Table) -> Result<(), Error> {
        let kinds = |table: &Table| -> Vec<(String, arrow_schema::DataType)> {
            let fields = table.canonical().fields();
            fields.iter().map(|field| (field.name().clone(), field.data_type().clone())).collect()
        };
        let (wanted, found) = (kinds(&self.template), kinds(table));
        if wanted == found {
            return Ok(());
        }
        let text = |kinds: &[(String, arrow_schema::DataType)]| {
            kinds
                .iter()
                .map(|(name, kind)| format!("{name:?} {}", formula::type_name(kind)))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let (wanted, found) = (text(&wanted), text(&found));
        let message =
            format!("it gave a table of {found}; of a constituent without rows it gave {wanted}, and all are alike");
        Err(Error::schema(&self.method, message))
    }

    /// Forgets the results of other constituents than these.
    pub(super) fn retain(&self, ids: &[u64]) {
        let ids: HashSet<&u64> = ids.iter().collect();
        let gone: Vec<u64> = lock(&self.state).results.keys().filter(|id| !ids.contains(id)).copied().collect();
        self.forget(&gone);
    }

    /// Forgets these results; those that somebody holds are kept in mind, for when their constituents come back.
    pub(super) fn forget(&self, ids: &[u64]) {
        let mut dropped = Vec::new();
        let mut state = lock(&self.state);
        for id in ids {
            match state.results.remove(id) {
                Some(Outcome::Table(table, given)) => {
                    state.gone.push(Shown::new(&table, &given, false));
                    dropped.push((table, given));
                }
                Some(Outcome::Planned(Some(shown))) => state.gone.push(shown),
                Some(Outcome::Planned(None) | Outcome::Failed(_)) | None => {}
            }
        }
        if state.gone.len() > state.gone_at_most {
            state.gone.retain(|shown| shown.table.upgrade().is_some());
            state.gone_at_most = 16.max(2 * state.gone.len());
        }
        drop(state);
        drop(dropped);
    }

    /// What was made of these constituents before, if somebody held it.
    fn known(&self, given: &[Table]) -> Option<Outcome> {
        let state = lock(&self.state);
        let is = |weak: &WeakTable, table: &Table| weak.upgrade().is_some_and(|known| known.same(table));
        let is_of = |shown: &&Shown| {
            shown.of.len() == given.len() && shown.of.iter().zip(given).all(|(of, table)| is(of, table))
        };
        let shown = state.gone.iter().find(is_of)?;
        let table = shown.table.upgrade().filter(|table| table.failure().is_none())?;
        Some(match shown.planned {
            true => Outcome::Planned(Some(Shown::new(&table, given, true))),
            false => Outcome::Table(table, given.to_vec()),
        })
    }

    /// The constituent of a key that comes in a step: what was made of it before, or what the function makes of it.
    pub(super) fn come(&self, graph: &UpdateGraph, step: Step, (id, key, given): Given) {
        let (within, now) = (Some((graph, step)), step.number());
        let Some(given) = self.tables(within, id, &key, given, now) else { return };
        match self.known(&given) {
            Some(outcome) => self.keep(id, outcome),
            None => drop(self.make_of(within, id, &key, given, now)),
        }
    }
}

impl Members for Made {
    fn member(self: Arc<Self>, id: u64, when: When) -> Result<Member, Error> {
        match lock(&self.state).results.get(&id) {
            Some(Outcome::Table(table, _)) => return Ok(Member::Table(table.clone())),
            Some(Outcome::Failed(failure)) => return Err(Error::TableFailed(failure.clone())),
            Some(Outcome::Planned(shown)) => {
                if let Some(table) = shown.as_ref().and_then(|shown| shown.table.upgrade()) {
                    return Ok(Member::Table(table));
                }
            }
            None => return Err(Error::internal(&self.method, "a key that is not there")),
        }
        let of = Box::new(self.of.clone().member(id, when)?);
        Ok(Member::Planned { made: self, id, of })
    }

    fn lifts(&self) -> bool {
        self.lift.is_some()
    }

    fn came(&self) -> bool {
        self.lift.as_ref().is_some_and(Lift::came)
    }

    fn lifted(&self, call: &Call) -> Result<Option<Lifted>, Error> {
        let Some(lift) = &self.lift else { return Ok(None) };
        let Some(Lifted { table, keys, columns }) = self.of.lifted(call)? else { return Ok(None) };
        let (table, names) = lift.lifted(call, &table, &columns, &keys)?;
        let place = |name: &str| table.column_index(&call.method, name);
        let columns = self.template.schema().fields().iter().map(|field| place(field.name()));
        let (columns, keys) = (columns.collect::<Result<_, _>>()?, names.iter().map(|name| place(name)));
        let keys = keys.collect::<Result<_, _>>()?;
        Ok(Some(Lifted { table, keys, columns }))
    }

    fn is_apart(&self, id: u64) -> bool {
        let is_planned = |outcome: &Outcome| matches!(outcome, Outcome::Planned(_));
        // Of a key that went meanwhile nobody asks any more.
        self.lift.is_none() || lock(&self.state).results.get(&id).is_some_and(|outcome| !is_planned(outcome))
    }

    fn follow(&self, consumer: NodeId, alive: Weak<()>) {
        let shown = |outcome: &Outcome| match outcome {
            Outcome::Table(table, _) => Some(table.clone()),
            Outcome::Planned(shown) => shown.as_ref()?.table.upgrade(),
            Outcome::Failed(_) => None,
        };
        let results: Vec<Table> = lock(&self.state).results.values().filter_map(shown).collect();
        let Some(graph) = results.iter().find_map(Table::graph).or(self.template.graph()) else { return };
        let known: Vec<NodeId> = results.iter().filter_map(Table::node_id).collect();
        self.followers.join(graph, consumer, alive, &known);
    }

    fn template(&self, _: When) -> Result<Table, Error> {
        Ok(self.template.clone())
    }
}
