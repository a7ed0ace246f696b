//! Partitioned tables: a table of constituents, one live table for each key.
//!
//! A partitioned table is a set and its members. The **set** is an ordinary table: a row for each key that is there, its
//! key columns, and a hidden column of ids. The **members** give the constituent of an id. What is done with keys
//! (`filter`, `sort`) is done with the set; what is done with constituents gives other members for the same ids.
//!
//!   trades      0 A 1    1 B 2    2 A 3
//!   set         0 A #0   1 B #1
//!   members     #0: 0 A 1    2 A 3        #1: 1 B 2
//!
//! Where the members are what one plan makes of each key, that plan is *lifted*: one table has the rows of all members, and
//! a merge reads it. So thousands of members cost a step what one table costs it; a member of its own is made for whoever asks.
//!
//! A row of the set never changes: a key that empties leaves, and comes back as a new row with a new id. That rows of a
//! constituent change is told by the constituent alone.

mod constituent;
mod followers;
mod given;
mod hub;
mod keys;
mod lifted;
mod made;
mod mail;
mod member;
mod merge;
mod split;
mod transform;
mod transformer;
mod when;

use std::sync::{Arc, Weak};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use column::Chunk;
use column::keys::{KeyTable, NO_SLOT};
use graph::{Moment, NodeId, Step, UpdateGraph};

use crate::driver::when::When;
use crate::error::Error;
use crate::eval::call::Call;
use crate::table::handle::Table;
use crate::table::view::View;
use crate::threads::making;
use lifted::Lifted;
use member::Member;
use split::Split;
pub use transformer::Transformer;
use when::still;

/// The constituents of a partitioned table, by id.
pub(crate) trait Members: Send + Sync {
    /// The constituent of an id that is in the set at that time.
    fn member(self: Arc<Self>, id: u64, when: When) -> Result<Member, Error>;

    /// Whether there is one table that has the rows of all constituents but those that stand apart.
    fn lifts(&self) -> bool {
        false
    }

    /// Whether the rows of a constituent stand in the order in which they came.
    fn came(&self) -> bool {
        false
    }

    /// That table, if there is one.
    fn lifted(&self, _call: &Call) -> Result<Option<Lifted>, Error> {
        Ok(None)
    }

    /// Whether the constituent of an id stands apart: its rows are its own, and not those of its key in the lifted table.
    fn is_apart(&self, _id: u64) -> bool {
        !self.lifts()
    }

    /// From now on this node waits for every constituent in each step, while that handle lives.
    fn follow(&self, consumer: NodeId, alive: Weak<()>);

    /// From now on this node waits for every constituent that stands apart.
    fn follow_apart(&self, consumer: NodeId, alive: Weak<()>) {
        self.follow(consumer, alive);
    }

    /// A constituent of no key: no row will ever be in it.
    fn template(&self, when: When) -> Result<Table, Error>;
}

/// A live table of constituents, one for each key. Cloning shares it.
#[derive(Clone)]
pub struct Partitioned {
    set: Table,
    members: Arc<dyn Members>,
    /// Where the constituents live, if they do.
    graph: Option<UpdateGraph>,
    changes: bool,
}

impl Partitioned {
    /// A constituent for each tuple of these columns, without the columns if they are dropped.
    pub fn split(call: &Call, table: &Table, keys: &[String], drop_keys: bool) -> Result<Partitioned, Error> {
        let (split, set) = Split::start(call, table, keys, drop_keys)?;
        let graph = table.graph().cloned();
        Ok(Partitioned { set, members: Arc::new(split), graph, changes: table.is_live() })
    }

    /// The set: a row for each key. Its last column, which is hidden, holds ids.
    pub fn set(&self) -> &Table {
        &self.set
    }

    /// The constituents of these rows of the set alone, in this order.
    pub fn over(&self, set: Table) -> Partitioned {
        Partitioned { set, ..self.clone() }
    }

    /// Whether constituents may come and go.
    pub fn changes(&self) -> bool {
        self.changes
    }

    /// The names of the key columns.
    pub fn keys(&self) -> Vec<String> {
        let fields = self.set.schema().fields();
        fields[..fields.len() - 1].iter().map(|field| field.name().clone()).collect()
    }

    /// A constituent of no key, which tells the columns of all.
    pub fn template(&self) -> Result<Table, Error> {
        self.now(|when| self.members.template(when))
    }

    /// All constituents as they are now, in the order of the set.
    pub fn tables(&self) -> Result<Vec<Table>, Error> {
        let members = self.now(|when| {
            let ids = ids_at(&self.set, when.moment())?;
            ids.into_iter().map(|id| self.members.clone().member(id, when)).collect::<Result<Vec<Member>, Error>>()
        })?;
        members.into_iter().map(|member| member.table(self.running())).collect()
    }

    /// The step that this thread makes tables in, if it does.
    fn running(&self) -> Option<(&UpdateGraph, Step)> {
        let graph = self.graph.as_ref()?;
        Some((graph, making::running(graph)?))
    }

    /// The constituent of the key that the one row of this table holds; none if no row has that key.
    pub fn find(&self, key: &Table) -> Result<Option<Table>, Error> {
        let given = self.cells(&key.still_view())?;
        let member = self.now(|when| self.member_of(&given, when))?;
        member.map(|member| member.table(self.running())).transpose()
    }

    /// The constituent of the key of these cells, one for each key column.
    fn member_of(&self, given: &[Chunk], when: When) -> Result<Option<Member>, Error> {
        let view = self.set.view_at(when.moment());
        let types: Vec<_> = (0..self.set.width() - 1).map(|at| self.set.column_type(at).clone()).collect();
        let (mut known, mut slots, mut wanted) = (KeyTable::new(&types), Vec::new(), Vec::new());
        known.insert(&self.cells(&view)?, &mut slots, &mut Vec::new())?;
        known.find(given, &mut wanted);
        let Some(slot) = wanted.first().filter(|slot| **slot != NO_SLOT) else { return Ok(None) };
        let at = slots.iter().position(|known| known == slot);
        let ids = ids_of(&self.set, &view, view.rows())?;
        at.map(|at| self.members.clone().member(ids[at], when)).transpose()
    }

    fn cells(&self, view: &View) -> Result<Vec<Chunk>, Error> {
        keys_of(&self.set, view, view.rows())
    }

    /// All constituents, stacked in the order of the set.
    pub fn merge(&self, call: &Call) -> Result<Table, Error> {
        Ok(merge::merge(call, self)?.located(call.location.clone()))
    }

    fn now<R>(&self, look: impl FnOnce(When) -> Result<R, Error>) -> Result<R, Error> {
        self.set.alive()?;
        still(self.graph.as_ref(), look)
    }
}

/// The ids in a set at a moment, in row order.
fn ids_at(set: &Table, moment: Moment) -> Result<Vec<u64>, Error> {
    let view = set.view_at(moment);
    ids_of(set, &view, view.rows())
}

/// The keys of these rows of a set, a column each.
fn keys_of(set: &Table, view: &View, rows: &rowset::RowSet) -> Result<Vec<Chunk>, Error> {
    (0..set.width() - 1).map(|at| view.read(at, rows)).collect()
}

/// The ids of these rows of a set.
fn ids_of(set: &Table, view: &View, rows: &rowset::RowSet) -> Result<Vec<u64>, Error> {
    let cells = view.read(set.width() - 1, rows)?;
    Ok(cells.as_primitive::<Int64Type>().values().iter().map(|id| *id as u64).collect())
}

#[cfg(test)]
mod lifted_tests;
#[cfg(test)]
mod tests;
