//! `update_by`, cumulative and fading values: what is known of the rows of a group from its first one on.
//!
//!   in   + 0 A 1    + 1 B 2    + 2 A 3    s = cum_sum(V) by K
//!   out  + 0 A 1 1  + 1 B 2 2  + 2 A 3 4
//!   in   + 3 A 4    out   + 3 A 4 8
//!   in   - 0        out   - 0    ~ 2 A 3 3    ~ 3 A 4 7
//!   in   ~ 3 A 5    out   ~ 3 A 5 8
//!
//! Stored. Cost of an update: rows that come at the end of their groups are all that is read. Where a row comes, goes or
//! changes in between, the rows of its group are computed from the mark before it until the value is again what it was; cells
//! that come out as they were are not told. Over a table that only grows, or whose rows live for one step, what is known of a
//! group is all that is kept of it.

mod cumulative;
mod decay;
mod fill;
mod groups;
mod kernel;
mod kernels;
mod sweep;
#[cfg(test)]
mod tests;
mod track;
mod weighted;

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use column::types::can_be_key;
use column::{Chunk, ColumnSource, FlatColumn};
use formula::hidden::shown;
use formula::{ColumnName, Expr};
use graph::{Moment, NodeId, Step};
use rowset::RowSet;

use self::groups::{Followed, Groups, Running as Rows, Touches};
use self::sweep::Parts;
use self::track::{Reader, Track};
use super::beside_rows::{outputs, widened};
use super::neighbours::told;
use super::select::Output;
use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::eval::evaluator::Evaluator;
use crate::keys::grouped::GroupedRows;
use crate::ops::asked::Asked;
use crate::ops::held::{HeldGroups, HowHeld};
use crate::ops::made::Made;
use crate::plan::update_by::RunningKind;
use crate::sizes::GROUP_PART_ROWS;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::request::Request;
use crate::table::store::{Columns, Writes};
use crate::table::update::TableUpdate;
use crate::threads::parallel;

/// The columns of a table, then columns that run.
pub struct Running {
    request: Request,
    keys: Vec<usize>,
    columns: Arc<[Column]>,
    held: Option<HowHeld>,
}

/// One column that runs.
struct Column {
    kind: RunningKind,
    name: ColumnName,
    input: DataType,
    output: DataType,
    source: track::Source,
}

impl Running {
    /// `keys`: the columns that make groups, none if all rows are one; `made`: input, kind and name of each new column.
    pub fn new(
        operation: &str,
        table: &Table,
        keys: &[String],
        made: &[(String, RunningKind, ColumnName)],
    ) -> Result<Running, Error> {
        let columns = keys.iter().map(|key| table.column_index(operation, key)).collect::<Result<Vec<_>, _>>()?;
        if let Some((key, column)) = keys.iter().zip(&columns).find(|(_, at)| !can_be_key(table.column_type(**at))) {
            return Err(Error::unkeyable(operation, shown(table.schema(), key), table.column_type(*column)));
        }
        let type_of = |name: &str| -> Result<(usize, DataType), Error> {
            let evaluator = Evaluator::new(&operation.into(), &Expr::column(name), table)?;
            Ok((table.column_index(operation, name)?, evaluator.data_type().clone()))
        };
        let column = |(input, kind, name): &(String, RunningKind, ColumnName)| {
            let (at, data_type) = type_of(input)?;
            let of = shown(table.schema(), input);
            let output = kernels::output(operation, kind, of, &data_type)?;
            let mut columns = vec![(at, data_type.clone())];
            let stamp = kernels::stamp(kind);
            if let Some((stamp, counted)) = stamp {
                let (at, found) = type_of(stamp)?;
                kernels::check_stamp(operation, shown(table.schema(), stamp), &found, counted)?;
                columns.push((at, found));
            }
            let text = format!("{}({of:?})", kind.name());
            let stamp = stamp.map(|(stamp, _)| shown(table.schema(), stamp).to_owned()).unwrap_or_default();
            let source = track::Source { columns, operation: operation.to_owned(), text, stamp };
            Ok(Column { kind: kind.clone(), name: name.clone(), input: data_type, output, source })
        };
        let request = Request::new(operation, &Asked::Running { keys, made });
        let text: Vec<&str> = made.iter().map(|(.., name)| name.shown()).collect();
        let request = request.with_text(text.join(", "));
        let made = made.iter().map(column).collect::<Result<_, Error>>()?;
        Ok(Running { request, keys: columns, columns: made, held: None })
    }

    /// Values over an input whose rows come at its end alone, some groups of which are let go.
    pub(crate) fn holding(mut self, held: Option<HowHeld>) -> Running {
        self.request.timed |= held.as_ref().is_some_and(HowHeld::in_time);
        self.held = held;
        self
    }
}

impl Operation for Running {
    fn request(&self) -> &Request {
        &self.request
    }

    fn remembers(&self, inputs: &[Table]) -> bool {
        inputs[0].attributes().blink || self.held.is_some()
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let Input { table, view } = &inputs[0];
        let rows = view.rows();
        // Of each row the group, and a cell of each column.
        limits::ask_rows(rows.len(), 4 + 8 * self.columns.len() as u64)?;
        let forward = table.attributes().append_only || table.attributes().blink;
        let follows = table.is_live() && !forward;
        let mut groups = match self.keys.is_empty() {
            true => Groups::All,
            false => Groups::Keyed(Box::new(GroupedRows::new(table, &self.keys))),
        };
        let mut parts: Vec<sweep::Part> = Vec::new();
        for part in parallel::parts(rows, GROUP_PART_ROWS.rows()) {
            let slots = match &mut groups {
                Groups::All => Vec::new(),
                Groups::Keyed(groups) => {
                    let slots = groups.slots_of(view, &part)?;
                    if follows {
                        groups.enter(&slots, &part);
                    }
                    slots
                }
            };
            parts.push((part, slots));
        }
        let started = parallel::try_map(self.columns.len() > 1, &self.columns, |_, column| {
            let mut track = kernels::track(column);
            track.grow(groups.slots());
            let mut cells = Vec::with_capacity(parts.len());
            for (part, slots) in &parts {
                let read = column.source.read(view, part)?;
                cells.push((part.clone(), track.append(slots, part, &read, follows)?));
            }
            Ok::<_, Error>((track, cells))
        })?;
        let (tracks, cells): (Vec<Box<dyn Track>>, Vec<Vec<(RowSet, Chunk)>>) = started.into_iter().unzip();
        let held = self.held.as_ref().map(|how| HeldGroups::start(&self.request.name, how, table));
        let mut live = RunningLive {
            outputs: outputs(table, self.columns.len()),
            tracks,
            groups,
            columns: Columns::new(&Schema::empty(), at, &Default::default()),
            forward,
            held: None,
        };
        if let Some(mut held) = held {
            let slots: Vec<u32> = parts.into_iter().flat_map(|(_, slots)| slots).collect();
            live.let_go(&held.begin(inputs, rows, &slots)?);
            live.held = Some(held);
        }
        let canonical = self.columns.iter().map(|of| Field::new(of.name.as_str(), of.output.clone(), true));
        let canonical = Schema::new(canonical.collect::<Vec<_>>());
        let counters = table.graph().map(crate::observe::storage).unwrap_or_default();
        let flat = |cells: Vec<(RowSet, Chunk)>| {
            Ok(Arc::new(FlatColumn::new(cells.into_iter().map(|(_, cells)| cells).collect())?) as Arc<dyn ColumnSource>)
        };
        let (sources, columns) = if !table.is_live() && rows.is_flat() && !rows.is_empty() {
            let sources = cells.into_iter().map(flat).collect::<Result<_, Error>>()?;
            (sources, Columns::new(&canonical, at, &counters))
        } else {
            let columns = Columns::filled(&canonical, at, &counters, &cells)?;
            (columns.sources(), columns)
        };
        let made = self.columns.iter().map(|of| (&of.name, &of.output));
        let parts = widened(table, made, false, sources);
        let owned = columns.owned();
        live.columns = columns;
        Ok(Start { parts, live: Box::new(live), owned })
    }
}

struct RunningLive {
    outputs: Vec<Output>,
    tracks: Vec<Box<dyn Track>>,
    groups: Groups,
    columns: Columns,
    /// Whether rows come at the end alone: no group is followed, and none is ever forgotten.
    forward: bool,
    /// Which groups have a state, if some are let go.
    held: Option<HeldGroups>,
}

impl Live for RunningLive {
    fn joined(&mut self, node: NodeId) {
        if let Some(held) = &mut self.held {
            held.joined(node);
        }
    }

    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let change = &inputs[0];
        let (update, now) = (change.update(), change.now());
        let mut writes = Writes { removed: update.removed.clone(), shifts: update.shifts.clone(), ..Writes::default() };
        let made = if self.forward {
            let slots = self.groups.slots_of(change.now(), &change.update().added)?;
            let made = self.grown(change, &slots)?;
            if let Some(held) = &mut self.held {
                let gone = held.step(inputs, &slots)?;
                self.let_go(&gone);
            }
            made
        } else {
            self.changed(change, step)?
        };
        let mut added = Vec::with_capacity(made.len());
        for Made { fresh, modified } in made {
            added.push(fresh);
            writes.modified.push(modified);
        }
        if !update.added.is_empty() {
            writes.added.push((update.added.clone(), added));
        }
        self.columns.write(step, || change.before().rows().clone(), now.rows().clone(), &writes)?;
        Ok(told(&self.outputs, update, |place| writes.modified[place].as_ref().map(|(rows, _)| rows)))
    }

    fn entries(&self) -> u64 {
        self.groups.len() as u64
    }
}

impl RunningLive {
    /// These groups begin anew if their keys come again.
    fn let_go(&mut self, slots: &[u32]) {
        for slot in slots {
            self.tracks.iter_mut().for_each(|track| track.forget(*slot));
            self.groups.forget(*slot);
        }
    }

    /// The cells of rows that came at the ends of these groups.
    fn grown(&mut self, change: &Change, slots: &[u32]) -> Result<Vec<Made>, Error> {
        let (now, rows, marked) = (change.now(), &change.update().added, !self.forward);
        let capacity = self.groups.slots();
        let one = |track: &mut Box<dyn Track>| {
            track.grow(capacity);
            let cells = track.source().read(now, rows)?;
            Ok(Made { fresh: track.append(slots, rows, &cells, marked)?, modified: None })
        };
        self.tracks.iter_mut().map(one).collect()
    }

    /// The cells of rows whose group has changed before them.
    fn changed(&mut self, change: &Change, step: Step) -> Result<Vec<Made>, Error> {
        let (update, now) = (change.update(), change.now());
        let reads =
            |track: &dyn Track| track.source().columns.iter().any(|(column, _)| update.columns.contains(*column));
        let Touches { gone, moved, change: followed } = match self.groups.follow(change)? {
            Followed::AtEnds(slots) if !self.tracks.iter().any(|track| reads(&**track)) => {
                return self.grown(change, &slots);
            }
            Followed::AtEnds(slots) => self.groups.at_ends(change, &slots),
            Followed::Within(touches) => touches,
        };
        let changed = match !followed.rekeyed && self.tracks.iter().any(|track| reads(&**track)) {
            true => self.groups.changed(change)?,
            false => Vec::new(),
        };
        let rows = Rows { groups: &self.groups, rows: now.rows() };
        let mut reader = Reader::new(now);
        let parts = Parts::new(now, &self.groups);
        let mut made = Vec::with_capacity(self.tracks.len());
        for (at, track) in self.tracks.iter_mut().enumerate() {
            track.grow(self.groups.slots());
            track.leave(&mut gone.iter().copied());
            if !update.shifts.is_empty() {
                track.shift(&moved, &update.shifts);
            }
            let reads = reads(&**track);
            let runs = rows.runs(followed.touched.iter().chain(changed.iter().filter(|_| reads)));
            let old = |rows: &RowSet| self.columns.stored(at, step, &update.shifts.back(rows).0);
            made.push(track.rerun(&rows, &parts, &runs, &update.added, &mut reader, &old)?);
        }
        Ok(made)
    }
}
