//! `transform`: a function of the user, applied to each constituent.
//!
//!   A    0 A 1    2 A 3        transform(count)        A    0 2
//!   A    - 2                                           A    ~ 0 1
//!   in   + 3 C 7                                       C    0 1        made inside the step
//!
//! The function makes tables; these follow their constituents by themselves. The constituent of a key that comes is
//! transformed inside the step, when it has settled there, and its result has its rows in that step. A function that fails
//! fails the result of its constituent alone. Cost of an update: a call of the function for each key that comes.

use std::any::Any;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, Weak};

use arrow_cast::display::array_value_to_string;
use graph::{NodeId, Step, UpdateGraph};

use super::followers::Followers;
use super::{Members, Partitioned, ids_at, ids_of};
use crate::driver::attach::register;
use crate::driver::operation::{Live, Start};
use crate::driver::when::When;
use crate::error::{Error, Failure, Location};
use crate::eval::call::Call;
use crate::table::change::Change;
use crate::table::handle::{Table, WeakTable};
use crate::table::request::Request;
use crate::table::update::TableUpdate;
use crate::threads::lock;
use crate::threads::making::making;

/// So often constituents are transformed while steps run; then steps wait.
const ROUNDS: usize = 8;

/// A function of the user that makes a table of others.
pub trait Transformer: Send + Sync {
    /// The table that it makes of a constituent, and of that of the same key of each other partitioned table.
    fn transform(&self, tables: &[Table]) -> Result<Table, Error>;
}

/// The results of a function, by the ids of constituents.
pub(super) struct Made {
    method: String,
    location: Option<Location>,
    function: Arc<dyn Transformer>,
    of: Arc<dyn Members>,
    /// Partitioned tables whose constituents of equal keys the function is given too.
    others: Vec<Partitioned>,
    template: Table,
    state: Mutex<State>,
    followers: Followers,
}

#[derive(Default)]
struct State {
    results: HashMap<u64, Result<(Table, Vec<Table>), Arc<Failure>>>,
    /// Of constituents that went: what was made of them, if somebody holds both.
    gone: Vec<(Vec<WeakTable>, WeakTable)>,
    gone_at_most: usize,
}

impl Partitioned {
    /// A function applied to each constituent. It reads these tables and those that it is seen to read.
    pub fn transform(
        &self,
        call: &Call,
        function: Arc<dyn Transformer>,
        others: &[Partitioned],
        dependencies: &[Table],
    ) -> Result<Partitioned, Error> {
        let templates = self.templates(others)?;
        let given = templates.iter().map(Table::identity);
        let (template, read) = making(None, given, || function.transform(&templates))?;
        let mut read = tables_of(read);
        read.extend(dependencies.iter().cloned());
        let graph = self.graph.clone().or_else(|| template.graph().cloned());
        let made = Arc::new(Made {
            method: call.method.to_string(),
            location: call.location.clone(),
            function,
            of: self.members.clone(),
            others: others.to_vec(),
            template,
            state: Mutex::default(),
            followers: Followers::default(),
        });
        let mut result = Partitioned { graph, members: made.clone(), ..self.clone() };
        for round in 0.. {
            let all = |when: When| made.missing(&self.set, when);
            for (id, key, given) in self.now(all)? {
                read.extend(made.make(None, id, &key, &given, self.set.last_step()));
            }
            // The last round is under the lock, so that no key comes meanwhile.
            let joined = self.now(|when| {
                let missing = made.missing(&self.set, when)?;
                if !missing.is_empty() && round < ROUNDS {
                    return Ok(None);
                }
                for (id, key, given) in missing {
                    read.extend(made.make(None, id, &key, &given, self.set.last_step()));
                }
                made.retain(&ids_at(&self.set, when.moment())?);
                made.join(&self.set, &read, when).map(Some)
            })?;
            if let Some(set) = joined {
                result.set = set;
                break;
            }
        }
        Ok(result)
    }

    fn templates(&self, others: &[Partitioned]) -> Result<Vec<Table>, Error> {
        std::iter::once(self).chain(others).map(Partitioned::template).collect()
    }
}

fn tables_of(read: Vec<Box<dyn Any>>) -> Vec<Table> {
    read.into_iter().filter_map(|table| table.downcast().ok().map(|table| *table)).collect()
}

impl Made {
    /// The constituents that have no result yet, each with its key as text.
    fn missing(&self, set: &Table, when: When) -> Result<Vec<(u64, String, Vec<Table>)>, Error> {
        let view = set.view_at(when.moment());
        let ids = ids_of(set, &view, view.rows())?;
        let known: HashSet<u64> = lock(&self.state).results.keys().copied().collect();
        let keys = rowset::RowSet::from_sorted_keys(
            &view.rows().iter().zip(&ids).filter(|(_, id)| !known.contains(id)).map(|(row, _)| row).collect::<Vec<_>>(),
        );
        self.given(set, &view, &keys, when)
    }

    /// The constituents of these rows of the set: id, key as text, and the tables that the function is given.
    fn given(
        &self,
        set: &Table,
        view: &crate::table::view::View,
        rows: &rowset::RowSet,
        when: When,
    ) -> Result<Vec<(u64, String, Vec<Table>)>, Error> {
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
            let mut tables = vec![self.of.member(id, when)?];
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

    /// Applies the function to constituents, and keeps what it gives; the other tables that it read.
    fn make(&self, step: Option<(&UpdateGraph, Step)>, id: u64, key: &str, given: &[Table], now: u64) -> Vec<Table> {
        let own = given.iter().map(Table::identity);
        let made = making(step, own, || self.function.transform(given)).and_then(|(table, read)| {
            self.check(&table)?;
            Ok((table, tables_of(read)))
        });
        let (result, read) = match made {
            Ok((table, read)) => (Ok((table, given.to_vec())), read),
            Err(cause) => {
                let failure = Failure {
                    step: step.map_or(now, |(_, step)| step.number()),
                    culprit: format!("{}({key})", self.method),
                    formula: None,
                    location: self.location.clone(),
                    cause: cause.of_the_table(),
                };
                (Err(Arc::new(failure)), Vec::new())
            }
        };
        let place = result.as_ref().ok().and_then(|(table, _)| table.graph().cloned().zip(table.node_id()));
        lock(&self.state).results.insert(id, result);
        if let Some((graph, node)) = place {
            self.followers.tell(&graph, node);
        }
        read
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
    fn retain(&self, ids: &[u64]) {
        let ids: HashSet<&u64> = ids.iter().collect();
        let gone: Vec<u64> = lock(&self.state).results.keys().filter(|id| !ids.contains(id)).copied().collect();
        self.forget(&gone);
    }

    /// Forgets these results; those that somebody holds are kept in mind, for when their constituents come back.
    fn forget(&self, ids: &[u64]) {
        let mut dropped = Vec::new();
        let mut state = lock(&self.state);
        for id in ids {
            if let Some(Ok((table, given))) = state.results.remove(id) {
                state.gone.push((given.iter().map(Table::downgrade).collect(), table.downgrade()));
                dropped.push((table, given));
            }
        }
        if state.gone.len() > state.gone_at_most {
            state.gone.retain(|(_, table)| table.upgrade().is_some());
            state.gone_at_most = 16.max(2 * state.gone.len());
        }
        drop(state);
        drop(dropped);
    }

    /// What was made of these constituents before, if somebody held it.
    fn known(&self, given: &[Table]) -> Option<Table> {
        let state = lock(&self.state);
        let is = |weak: &WeakTable, table: &Table| weak.upgrade().is_some_and(|known| known.same(table));
        let known = state
            .gone
            .iter()
            .find(|(of, _)| of.len() == given.len() && of.iter().zip(given).all(|(of, table)| is(of, table)));
        known.and_then(|(_, table)| table.upgrade()).filter(|table| table.failure().is_none())
    }

    /// The set of the results, whose node calls the function for constituents that come.
    fn join(self: &Arc<Self>, set: &Table, read: &[Table], when: When) -> Result<Table, Error> {
        let request = Request::unique(&self.method);
        let parts = set.parts().clone();
        let Some(graph) = set.graph() else { return Ok(Table::fixed(parts, request)) };
        let mut kept: Vec<Table> = Vec::new();
        for table in read.iter().filter(|table| table.graph() == Some(graph)) {
            if !kept.iter().any(|known| known.same(table)) {
                kept.push(table.clone());
            }
        }
        let parents = set.node_id().into_iter().chain(kept.iter().filter_map(Table::node_id)).collect::<Vec<_>>();
        let live = TransformLive { graph: graph.clone(), made: self.clone(), alive: Arc::new(()), _read: kept };
        let start = Start { parts, live: Box::new(live), owned: Vec::new() };
        register(&request, graph, std::slice::from_ref(set), start, &parents, when)
            .map(|table| table.located(self.location.clone()))
    }
}

impl Members for Made {
    fn member(&self, id: u64, _: When) -> Result<Table, Error> {
        match lock(&self.state).results.get(&id) {
            Some(Ok((table, _))) => Ok(table.clone()),
            Some(Err(failure)) => Err(Error::TableFailed(failure.clone())),
            None => Err(Error::internal(&self.method, "a key that is not there")),
        }
    }

    fn follow(&self, consumer: NodeId, alive: Weak<()>) {
        let results = lock(&self.state).results.values().flatten().map(|(table, _)| table.clone()).collect::<Vec<_>>();
        let Some(graph) = results.iter().find_map(Table::graph).or(self.template.graph()) else { return };
        let known: Vec<NodeId> = results.iter().filter_map(Table::node_id).collect();
        self.followers.join(graph, consumer, alive, &known);
    }

    fn template(&self, _: When) -> Result<Table, Error> {
        Ok(self.template.clone())
    }
}

struct TransformLive {
    graph: UpdateGraph,
    made: Arc<Made>,
    alive: Arc<()>,
    /// The tables that the function reads: they are brought up to date before it runs.
    _read: Vec<Table>,
}

impl Live for TransformLive {
    fn joined(&mut self, node: NodeId) {
        self.made.of.follow(node, Arc::downgrade(&self.alive));
        self.made.others.iter().for_each(|other| other.members.follow(node, Arc::downgrade(&self.alive)));
    }

    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let set = &inputs[0];
        let made = &self.made;
        made.forget(&ids_of(set.table(), set.before(), &set.update().removed.0)?);
        for (id, key, given) in made.given(set.table(), set.now(), &set.update().added, When::Running(step))? {
            match made.known(&given) {
                Some(table) => _ = lock(&made.state).results.insert(id, Ok((table, given))),
                None => drop(made.make(Some((&self.graph, step)), id, &key, &given, step.number())),
            }
        }
        Ok(set.update().clone())
    }
}
