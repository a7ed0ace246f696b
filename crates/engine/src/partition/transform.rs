//! `transform`: a function of the user, applied to each constituent.
//!
//!   A    0 A 1    2 A 3        transform(count)        A    0 2
//!   A    - 2                                           A    ~ 0 1
//!   in   + 3 C 7                                       C    0 1        made inside the step
//!
//! The function makes tables; these follow their constituents by themselves. The constituent of a key that comes is
//! transformed inside the step, when it has settled there, and its result has its rows in that step. A function that fails
//! fails the result of its constituent alone. Cost of an update: a call of the function for each key that comes.
//!
//! Most functions ask for one plan of each constituent. If that can be lifted, a result that was made by it is not kept: one
//! table has the rows of all (`lifted`), and a result of its own is made for whoever asks for it (`planned`).

use std::sync::Arc;

use graph::{NodeId, Step, UpdateGraph};

use super::made::{Made, tables_of};
use super::transformer::Transformer;
use super::{Partitioned, ids_at, ids_of};
use crate::driver::attach::register;
use crate::driver::operation::{Live, Start};
use crate::driver::when::When;
use crate::error::Error;
use crate::eval::call::Call;
use crate::plan::lift::Lift;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::request::Request;
use crate::table::update::TableUpdate;
use crate::threads::making::making;

/// So often constituents are transformed while steps run; then steps wait.
const ROUNDS: usize = 8;

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
        // What never changes is read once: there is nothing to gain.
        let may_lift = self.members.lifts() && others.is_empty() && read.is_empty() && graph.is_some();
        let lift = if may_lift { Lift::of(&template, &templates[0], self.members.came()) } else { None };
        let made = Arc::new(Made::new(call, function, self.members.clone(), others.to_vec(), template, lift));
        let mut result = Partitioned { graph, members: made.clone(), ..self.clone() };
        for round in 0.. {
            let all = |when: When| made.missing(&self.set, when);
            for given in self.now(all)? {
                read.extend(made.make(given, self.set.last_step()));
            }
            // The last round is under the lock, so that no key comes meanwhile.
            let joined = self.now(|when| {
                let missing = made.missing(&self.set, when)?;
                if !missing.is_empty() && round < ROUNDS {
                    return Ok(None);
                }
                for given in missing {
                    read.extend(made.make(given, self.set.last_step()));
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

impl Made {
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
        for given in made.given(set.table(), set.now(), &set.update().added, When::Running(step))? {
            made.come(&self.graph, step, given);
        }
        Ok(set.update().clone())
    }
}
