//! `rolling`: for each row the aggregates of a window of rows of its group: so many before it and after it, or those whose
//! stamp lies within a span of its own.
//!
//!   in   + 0 A 1    + 1 B 2    + 2 A 3    + 3 A 4     by K, the row and one before it, sum(V)
//!   out  + 0 A 1 1  + 1 B 2 2  + 2 A 3 4  + 3 A 4 7
//!   in   ~ 2 . 5    out   ~ 2 . 5 6    ~ 3 . . 9      the windows that see row 2
//!   in   - 0        out   - 0          ~ 2 . . 5
//!   in   > [1..3]+4 out   > [1..3]+4                  nothing is computed
//!
//! Rows and columns are shared, aggregates are stored. A step reads, for all aggregates together, the rows whose windows see
//! what came, went or changed, and the rows that those windows see; a window slides over them, so that a cell enters and
//! leaves it once. Cost of an update: a probe and a search for each row that comes, goes, moves or changes, and the rows
//! of the windows that see it: never the group.

mod groups;
mod live;
mod pieces;
mod spans;
mod spec;
mod stamped;
#[cfg(test)]
mod tests;
mod window;

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{Field, Schema};
use column::{Chunk, ColumnSource, FlatColumn};
use formula::Expr;
use graph::Moment;
use rowset::RowSet;

use self::groups::{Groups, Started};
use self::live::RollingLive;
use self::pieces::Pieces;
use self::spans::{by_rows, by_stamps};
use self::spec::RollingSpec;
use crate::driver::operation::{Input, Operation, Start};
use crate::error::Error;
use crate::keys::frame::Frame;
use crate::ops::asked::{Asked, Expressions};
use crate::ops::select::Output;
use crate::plan::spec::RollingOptions;
use crate::sizes::ROLLING_ROWS;
use crate::table::handle::Table;
use crate::table::parts::{Attributes, Parts};
use crate::table::request::Request;
use crate::table::store::Columns;
use crate::table::view::View;
use crate::threads::parallel;

/// The columns of a table, then aggregates of windows that move along with each row.
pub struct Rolling {
    request: Request,
    spec: Arc<RollingSpec>,
}

impl Rolling {
    /// Checks names, types and windows. `aggregates`: aggregate expressions, each named.
    pub fn new(
        operation: &str,
        table: &Table,
        options: &RollingOptions,
        aggregates: &[Expr],
    ) -> Result<Rolling, Error> {
        if table.attributes().blink {
            return Err(Error::invalid(
                operation,
                "windows of rows over a blink table: its rows live for one step; blink_to_append_only() keeps them, and \
                 windows of that table see them",
            ));
        }
        let spec = RollingSpec::new(operation, table, options, aggregates)?;
        let mut taken: std::collections::HashSet<&String> =
            table.schema().fields().iter().map(|field| field.name()).collect();
        let fields: Vec<(Field, Field)> = spec.aggregates.fields().collect();
        if let Some((twice, _)) = fields.iter().find(|(field, _)| !taken.insert(field.name())) {
            return Err(Error::Duplicate { operation: operation.into(), name: twice.name().clone() });
        }
        let asked = Asked::Rolling { how: options, aggregates: Expressions(aggregates) };
        let request = Request::new(operation, &asked).with_text(options.text());
        Ok(Rolling { request, spec: Arc::new(spec) })
    }

    fn parts(&self, table: &Table, sources: Vec<Arc<dyn ColumnSource>>) -> Parts {
        let own = table.schema().fields().iter().map(|field| Field::clone(field));
        let fields: Vec<Field> = own.chain(self.spec.aggregates.fields().map(|(declared, _)| declared)).collect();
        let kept = table.attributes();
        let append_only = kept.append_only && !self.spec.looks_ahead();
        // A row that comes between others is in the windows of those behind it.
        let attributes = Attributes { append_only, add_only: kept.add_only && append_only, ..kept.clone() };
        let columns = table.parts().columns.iter().cloned().chain(sources).collect();
        Parts { rows: table.parts().rows.clone(), columns, schema: Arc::new(Schema::new(fields)), attributes }
    }

    /// The aggregates of all rows, each as pieces in row order.
    fn cells(&self, view: &View, started: &Started) -> Result<Vec<Vec<(RowSet, Chunk)>>, Error> {
        let Started { ordered, stamps, .. } = started;
        let rows = view.rows();
        // Of rows that are one range from 0 on, keys are positions.
        let keys = (!rows.is_flat()).then(|| rows.to_vec());
        let key = |at: &usize| keys.as_ref().map_or(*at as u64, |keys| keys[*at]);
        let whole = 0..ordered.order.len();
        let step = self.step(started);
        let pieces: Vec<Range<usize>> =
            whole.clone().step_by(step).map(|from| from..(from + step).min(whole.end)).collect();
        let made = parallel::try_map(pieces.len() > 1, &pieces, |_, piece| {
            let mut frames = self.frames(&ordered.starts, stamps, piece.clone());
            let from = frames.first().map_or(0, |frame| frame.start);
            let to = frames.last().map_or(0, |frame| frame.end).max(from);
            frames.iter_mut().for_each(|frame| *frame = frame.start - from..frame.end - from);
            limits::ask_rows((to - from) as u64, 32)?;
            let read: Vec<u64> = ordered.order[from..to].iter().map(key).collect();
            self.spec.aggregates.windows(view, &read, &frames, self.spec.least)
        })?;
        let outputs = self.spec.aggregates.len();
        let in_row_order = ordered.order.len() == rows.len() as usize && ordered.order.is_sorted();
        if in_row_order {
            let of = |at: usize| {
                let cells = pieces
                    .iter()
                    .zip(&made)
                    .map(|(piece, made)| (rows.slice(piece.start as u64, piece.len() as u64), made[at].clone()));
                cells.collect()
            };
            return Ok((0..outputs).map(of).collect());
        }
        let places = started.places(rows.len() as usize);
        let parts = parallel::parts(rows, ROLLING_ROWS.rows());
        let mut cells = Vec::with_capacity(outputs);
        for at in 0..outputs {
            let mut values: Vec<Chunk> = made.iter().map(|made| made[at].clone()).collect();
            if values.is_empty() {
                values.push(self.spec.aggregates.windows(view, &[], &[], 0)?.swap_remove(at));
            }
            let values = Pieces::new(values, step)?;
            let of_part = |part: usize, rows: &RowSet| {
                let from = part * ROLLING_ROWS.get();
                Ok::<_, Error>((rows.clone(), values.take(&places[from..from + rows.len() as usize])?))
            };
            cells.push(parallel::try_map(parts.len() > 1, &parts, of_part)?);
        }
        Ok(cells)
    }

    /// How many rows a thread computes at once: so many that it reads few of them twice.
    fn step(&self, Started { ordered, stamps, .. }: &Started) -> usize {
        /// Windows that are looked at, and how many of the widest of them a thread takes at least.
        const SAMPLES: usize = 16;
        const WINDOWS: usize = 4;
        let len = ordered.order.len();
        let sampled = (0..len).step_by((len / SAMPLES).max(1));
        let widths = sampled.flat_map(|at| self.frames(&ordered.starts, stamps, at..at + 1)).map(|frame| frame.len());
        ROLLING_ROWS.get().max(widths.max().unwrap_or(0).saturating_mul(WINDOWS))
    }

    /// The windows of the rows at some places of all groups, as places of them.
    fn frames(&self, starts: &[usize], stamps: &[u64], piece: Range<usize>) -> Vec<Range<usize>> {
        let mut frames = Vec::with_capacity(piece.len());
        let mut group = starts.partition_point(|start| *start <= piece.start).saturating_sub(1);
        let mut at = piece.start;
        while at < piece.end {
            let (first, end) = (starts[group], starts[group + 1]);
            let last = end.min(piece.end);
            let within = at - first..last - first;
            match self.spec.frame {
                Frame::Rows { back, ahead } => {
                    let len = (end - first) as u64;
                    let from = spans::seen(len, &(within.start as u64..within.end as u64), back, ahead).start as usize;
                    let own = by_rows(len, within.start as u64..within.end as u64, back, ahead);
                    frames.extend(own.map(|frame| frame.start + first + from..frame.end + first + from));
                }
                frame => {
                    let stamps = &stamps[first..end];
                    let least = spans::around(frame, stamps[within.start]).0;
                    let from = stamps.partition_point(|stamp| i128::from(*stamp) < least);
                    let own = by_stamps(frame, &stamps[within.clone()], &stamps[from..]);
                    frames.extend(own.into_iter().map(|frame| frame.start + first + from..frame.end + first + from));
                }
            }
            at = last;
            group += 1;
        }
        frames
    }
}

impl Operation for Rolling {
    fn request(&self) -> &Request {
        &self.request
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let Input { table, view } = &inputs[0];
        let rows = view.rows();
        // Its slot, its place in the group, its key there, the place of its values, and its stamp; and the values.
        limits::ask_rows(rows.len(), 44 + 16 * self.spec.aggregates.len() as u64)?;
        let (groups, started) = Groups::start(&self.spec, table, view)?;
        let cells = self.cells(view, &started)?;
        drop(started);
        let canonical = Schema::new(self.spec.aggregates.fields().map(|(_, stored)| stored).collect::<Vec<_>>());
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
        let shared = |index: usize| Output::Shared(index, table.schema().field(index).name().clone());
        let computed = (0..self.spec.aggregates.len()).map(Output::Computed);
        let outputs = (0..table.width()).map(shared).chain(computed).collect();
        let owned = columns.owned();
        let live = RollingLive { spec: self.spec.clone(), outputs, groups, columns };
        Ok(Start { parts: self.parts(table, sources), live: Box::new(live), owned })
    }
}
