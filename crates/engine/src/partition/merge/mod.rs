//! `merge`: all constituents, stacked in the order of their set.
//!
//!   A    0 A 1    2 A 3        B    1 B 2
//!   out  0 A 1    2 A 3    65537 B 2
//!   A    - 0  - 2              out  - 0  - 2        a constituent that goes is R of its rows, one that comes A
//!
//! A constituent has a slot of the key space, as in `concat`, and its columns are read through the slot. Where the
//! constituents are lifted, the rows of each are those of its key in one table; else they are those of a table of its own.
//! Cost of an update: what changed in constituents, and a look at a number of each other one; where constituents come or go,
//! a walk over all of them. A slot that overflows, and a constituent that comes before others, move the slots behind: a shift.

mod live;
mod piece;
mod sum;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use graph::{Moment, NodeId, Pinned, UpdateGraph};
use rowset::RowSet;

use self::live::MergeLive;
use self::piece::{Piece, Rows, shown};
use super::lifted::{Lifted, LiftedRows};
use super::{Members, Partitioned, ids_at, ids_of, keys_of};
use crate::driver::attach::register;
use crate::driver::operation::{Input, Operation, Start};
use crate::driver::when::When;
use crate::error::Error;
use crate::eval::call::Call;
use crate::ops::stacked::{Stack, StackSettle, ends_of, lay_out, stacked_columns};
use crate::table::handle::Table;
use crate::table::parts::{Attributes, Parts};
use crate::table::request::Request;
use crate::table::rows::LiveRows;

/// The constituents of a partitioned table as one table.
pub(super) fn merge(call: &Call, of: &Partitioned) -> Result<Table, Error> {
    let request = Request { timed: true, ..Request::unique(&call.method) };
    let lifted = of.members.lifted(call)?;
    let merge = Merge {
        request,
        members: of.members.clone(),
        graph: of.graph.clone(),
        template: of.template()?,
        lifted,
        met_apart: Arc::default(),
    };
    if let Some(lifted) = &merge.lifted {
        let made = call.attach(&merge, &[of.set.clone(), lifted.table.clone()]);
        // A constituent that stands apart is read while no step runs.
        if !merge.met_apart.load(Ordering::Relaxed) {
            return made;
        }
    }
    of.now(|when| merge.made_at(&of.set, when))
}

/// A merge that is made.
struct Merge {
    request: Request,
    members: Arc<dyn Members>,
    graph: Option<UpdateGraph>,
    /// Its columns are those of all constituents.
    template: Table,
    lifted: Option<Lifted>,
    /// Whether a constituent was met that stands apart, while steps might run.
    met_apart: Arc<AtomicBool>,
}

impl Operation for Merge {
    fn request(&self) -> &Request {
        &self.request
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let [Input { table: set, view: keys }, Input { view, .. }] = inputs else { unreachable!("a set, and a table") };
        let ids = ids_of(set, keys, keys.rows())?;
        if ids.iter().any(|id| self.members.is_apart(*id)) {
            return Err(apart(&self.request.name, &self.met_apart));
        }
        let mut lifted = self.lifted.as_ref().map(|lifted| LiftedRows::new(lifted, view)).transpose()?;
        let slots = slots_of(&mut lifted, &keys_of(set, keys, keys.rows())?)?;
        let pieces = ids.into_iter().zip(slots).map(|(id, slot)| Piece { id, of: Rows::Slot(slot) }).collect();
        self.start(pieces, lifted, When::Settled(at))
    }
}

/// Notes that a constituent was met that stands apart. It cannot be read now: the merge is made again, while no step runs.
fn apart(operation: &str, met: &AtomicBool) -> Error {
    met.store(true, Ordering::Relaxed);
    Error::internal(operation, "a constituent stands apart")
}

/// The slots of these keys in the lifted rows.
fn slots_of(lifted: &mut Option<LiftedRows>, keys: &[column::Chunk]) -> Result<Vec<u32>, Error> {
    lifted.as_mut().map_or_else(|| Ok(Vec::new()), |lifted| lifted.slots_of_keys(keys))
}

impl Merge {
    /// The merge as of a time at which all constituents may be read.
    fn made_at(&self, set: &Table, when: When) -> Result<Table, Error> {
        let keys = set.view_at(when.moment());
        let mut lifted = match &self.lifted {
            Some(lifted) => Some(LiftedRows::new(lifted, &lifted.table.view_at(when.moment()))?),
            None => None,
        };
        let ids = ids_at(set, when.moment())?;
        let slots = slots_of(&mut lifted, &keys_of(set, &keys, keys.rows())?)?;
        let pieces = ids.into_iter().enumerate().map(|(at, id)| match slots.get(at) {
            Some(slot) if !self.members.is_apart(id) => Ok(Piece { id, of: Rows::Slot(*slot) }),
            _ => Piece::table(&self.members, id, when),
        });
        let pieces: Vec<Piece> = pieces.collect::<Result<_, Error>>()?;
        let tables = pieces.iter().filter_map(|piece| piece.of.table()?.node_id());
        let inputs: Vec<Table> =
            std::iter::once(set).chain(self.lifted.as_ref().map(|lifted| &lifted.table)).cloned().collect();
        let parents: Vec<NodeId> = inputs.iter().filter_map(Table::node_id).chain(tables).collect();
        let start = self.start(pieces, lifted, when)?;
        match &self.graph {
            Some(graph) => register(&self.request, graph, &inputs, start, &parents, when),
            None => Ok(Table::fixed(start.parts, self.request.clone())),
        }
    }

    fn start(&self, pieces: Vec<Piece>, mut lifted: Option<LiftedRows>, when: When) -> Result<Start, Error> {
        let operation = &self.request.name;
        let rows = pieces.iter().map(|piece| piece.rows_at(lifted.as_ref(), when));
        let rows: Vec<RowSet> = rows.collect::<Result<_, _>>()?;
        let slots = lay_out(operation, rows.iter().map(ends_of))?;
        let stacked: Vec<RowSet> = rows.iter().zip(slots.iter()).map(|(rows, slot)| rows.moved(slot.delta())).collect();
        let rows = Arc::new(LiveRows::new(RowSet::union_all(stacked.iter()), when.moment()));
        let sources = pieces.iter().map(|piece| piece.sources(lifted.as_ref())).collect();
        let stack = Arc::new(Pinned::new(Stack { slots, sources }, when.moment()));
        let types = self.template.parts().columns.iter().map(|column| column.data_type().clone());
        let (columns, schema) = (stacked_columns(types, &stack), self.template.schema().clone());
        let parts = Parts { rows: rows.clone(), columns, schema, attributes: Attributes::default() };
        if let Some(lifted) = &mut lifted {
            lifted.show(shown(&pieces), &[]);
        }
        let live = MergeLive {
            operation: operation.clone(),
            members: self.members.clone(),
            alive: Arc::new(()),
            joined: false,
            met_apart: self.met_apart.clone(),
            pieces,
            lifted,
            stack: stack.clone(),
            rows: rows.clone(),
        };
        Ok(Start { parts, live: Box::new(live), owned: vec![rows, Arc::new(StackSettle(stack))] })
    }
}
