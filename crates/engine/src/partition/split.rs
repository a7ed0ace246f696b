//! `partition_by`: the rows of each key, and who is told of them.
//!
//!   in   0 A 1    1 B 2    2 A 3          A: 0 2      B: 1
//!   in   ~ 2 . 4                          A: ~ 2      B is not woken
//!   in   ~ 2 B .                          A: - 2      B: + 2
//!   in   - 0                              A: - 0, and its key leaves the set
//!
//! The hub is a node without rows that stands between the table and its constituents. It follows the rows of each key,
//! leaves each constituent that has changes its part of them, and wakes it; it is quiet itself, so that no other one runs.
//! Constituents exist while somebody holds them. Cost of an update: a probe for each row that comes, goes, moves or
//! changes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use arrow_schema::Schema;
use column::types::can_be_key;
use graph::{Moment, NodeId, Step};
use rowset::RowSet;

use super::followers::Followers;
use super::hub::{Held, Hub, News, State};
use super::lifted::Lifted;
use super::mail::Part;
use super::member::Member;
use super::{Members, constituent, keys};
use crate::driver::operation::{Input, Live, Operation, Start};
use crate::driver::when::When;
use crate::error::Error;
use crate::eval::call::Call;
use crate::keys::grouped::GroupedRows;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::{Attributes, Parts};
use crate::table::request::Request;
use crate::table::rows::LiveRows;
use crate::table::update::TableUpdate;
use crate::threads::lock;

const BLINKS: &str = "the rows of a blink table live for one step, and no constituent would keep any; remove_blink or an \
                      append_table gives rows that stay";

/// The constituents of a table.
pub(super) struct Split {
    hub: Arc<Hub>,
    node: Table,
}

impl Split {
    /// Splits a table by some columns; the constituents and their set.
    pub(super) fn start(call: &Call, table: &Table, keys: &[String], drop_keys: bool) -> Result<(Split, Table), Error> {
        let operation = &call.method;
        if table.attributes().blink {
            return Err(Error::invalid(operation, BLINKS));
        }
        if keys.is_empty() {
            return Err(Error::invalid(operation, "at least one key column is needed"));
        }
        let columns = keys.iter().map(|key| table.column_index(operation, key)).collect::<Result<Vec<_>, _>>()?;
        if let Some((key, column)) = keys.iter().zip(&columns).find(|(_, at)| !can_be_key(table.column_type(**at))) {
            return Err(Error::unkeyable(operation, key, table.column_type(*column)));
        }
        if let Some((_, twice)) = keys.iter().enumerate().find(|(at, key)| keys[..*at].contains(key)) {
            return Err(Error::Duplicate { operation: operation.to_string(), name: twice.clone() });
        }
        let request = Request::unique(operation).with_text(keys.join(", "));
        let kept = (0..table.width()).filter(|column| !drop_keys || !columns.contains(column)).collect();
        let state = Mutex::new(State::of(GroupedRows::new(table, &columns)));
        let hub = Arc::new(Hub {
            source: table.clone(),
            keys: columns,
            columns: kept,
            request,
            state,
            followers: Followers::default(),
        });
        let node = call.attach(&Splitter(hub.clone()), std::slice::from_ref(table))?;
        let split = Split { hub, node };
        let set = super::still(table.graph(), |when| keys::set(&split.hub, &split.node, when))?;
        Ok((split, set.located(call.location.clone())))
    }

    /// The constituent of a slot; a new one if nobody holds it.
    fn constituent(&self, slot: u32, when: When) -> Result<Table, Error> {
        let known = |state: &State| state.held[slot as usize].as_ref().and_then(|held| held.table.upgrade());
        let rows = {
            let state = lock(&self.hub.state);
            if let Some(table) = known(&state) {
                return Ok(table);
            }
            state.groups.rows().to_rows(slot)
        };
        let (table, mail) = constituent::make(&self.hub, &self.node, rows, when)?;
        let mut state = lock(&self.hub.state);
        // Another thread may have been first.
        if let Some(first) = known(&state) {
            drop(state);
            return Ok(first);
        }
        state.held[slot as usize] = Some(Held { table: table.downgrade(), mail });
        state.any_held = true;
        drop(state);
        if let Some((graph, node)) = table.graph().zip(table.node_id()) {
            self.hub.followers.tell(graph, node);
        }
        Ok(table)
    }
}

impl Members for Split {
    fn member(self: Arc<Self>, id: u64, when: When) -> Result<Member, Error> {
        let slot = lock(&self.hub.state).slots.get(&id).copied();
        let slot = slot.ok_or_else(|| Error::internal(&self.hub.request.name, "a key that is not there"))?;
        self.constituent(slot, when).map(Member::Table)
    }

    fn lifts(&self) -> bool {
        true
    }

    fn lifted(&self, _: &Call) -> Result<Option<Lifted>, Error> {
        let Hub { source, keys, columns, .. } = &*self.hub;
        Ok(Some(Lifted { table: source.clone(), keys: keys.clone(), columns: columns.clone() }))
    }

    fn follow(&self, consumer: NodeId, alive: Weak<()>) {
        let Some(graph) = self.hub.source.graph() else { return };
        let known = lock(&self.hub.state).nodes();
        self.hub.followers.join(graph, consumer, alive, &known);
    }

    fn follow_apart(&self, _: NodeId, _: Weak<()>) {
        // None does.
    }

    fn template(&self, when: When) -> Result<Table, Error> {
        Ok(constituent::make(&self.hub, &self.node, RowSet::new(), when)?.0)
    }
}

struct Splitter(Arc<Hub>);

impl Operation for Splitter {
    fn request(&self) -> &Request {
        &self.0.request
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let Input { table, view } = &inputs[0];
        // The row in its group, and its slot.
        limits::ask_rows(view.rows().len(), 16)?;
        let (groups, slots) = GroupedRows::filled(table, &self.0.keys, view, true)?;
        let mut state = State::of(groups);
        state.arrive(&slots);
        *lock(&self.0.state) = state;
        let rows = Arc::new(LiveRows::new(RowSet::new(), at));
        let (schema, attributes) = (Arc::new(Schema::empty()), Attributes::default());
        let parts = Parts { rows, columns: Vec::new(), schema, attributes };
        Ok(Start { parts, live: Box::new(SplitterLive(self.0.clone())), owned: Vec::new() })
    }
}

struct SplitterLive(Arc<Hub>);

impl Live for SplitterLive {
    fn entries(&self) -> u64 {
        lock(&self.0.state).slots.len() as u64
    }

    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let change = &inputs[0];
        let state = &mut *lock(&self.0.state);
        let regroups = state.groups.read(change)?;
        let parts = state.parts(&regroups, change)?;
        let (gone, fresh) = (regroups.gone_slots.clone(), regroups.fresh_slots.clone());
        let State { groups, held, .. } = state;
        let keeps = |slot: u32| held.get(slot as usize).is_some_and(|held| held.as_ref().is_some_and(Held::lives));
        groups.take_keeping(regroups, change, keeps);
        let departed = state.depart(&gone);
        let arrived = state.arrive(&fresh);
        self.tell(state, parts, News { departed, arrived }, step);
        Ok(TableUpdate::default())
    }
}

impl SplitterLive {
    /// Leaves each constituent its part, the set what came and went, and wakes them.
    fn tell(&self, state: &mut State, parts: HashMap<u32, Part>, news: News, step: Step) {
        let Some(graph) = self.0.source.graph() else { return };
        for (slot, part) in parts {
            let place = &mut state.held[slot as usize];
            let known = place.as_ref().and_then(|held| Some((&held.mail, held.table.upgrade()?.node_id()?)));
            let Some((mail, node)) = known else {
                *place = None;
                continue;
            };
            mail.leave(step, part);
            graph.wake_in_step(node);
        }
        if news.is_empty() {
            return;
        }
        state.news = Some((step, news));
        if let Some(set) = state.set {
            graph.wake_in_step(set);
        }
    }
}
