//! `concat`: tables stacked in order, each in a slot of the key space of its own.
//!
//!   a    0 x    1 y        b    0 z
//!   out  0 x    1 y    131072 z
//!   b    + 1 w             out   + 131073 w
//!
//! Columns are read through the slots: nothing is copied. Cost of an update: the change; a slot
//! that overflows moves the slots after it, once, with room for twice the keys: a shift, never M.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, Schema};
use column::{Chunk, Column, ColumnSource, NO_ROW};
use graph::{Moment, Moved, Pinned, Step};
use rowset::{Before, RowSet, Shifts, Span};

use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::ops::asked::Asked;
use crate::table::categories::with_order;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::Attributes;
use crate::table::parts::Parts;
use crate::table::request::Request;
use crate::table::rows::LiveRows;
use crate::table::settle::Settle;
use crate::table::update::TableUpdate;

/// Slots start and end at multiples of this, so that whole blocks of row sets move by renumbering.
const ALIGNMENT: u64 = 1 << 16;

/// Tables of one schema, one after another.
pub struct Concat {
    request: Request,
    schema: Arc<Schema>,
    /// For each input the position of each output column.
    columns: Vec<Vec<usize>>,
}

impl Concat {
    /// Checks that all tables have the same column names and types.
    pub fn new(operation: &str, tables: &[Table]) -> Result<Concat, Error> {
        let Some(first) = tables.first() else {
            return Err(Error::schema(operation, "at least one table is needed"));
        };
        let schema = first.schema();
        let mut columns = Vec::with_capacity(tables.len());
        for (at, table) in tables.iter().enumerate() {
            columns.push(fit(operation, schema, first, at, table)?);
        }
        let stacked = |(index, field): (usize, &Arc<Field>)| {
            let others = tables.iter().zip(&columns).map(|(table, columns)| table.schema().field(columns[index]));
            with_order(Field::clone(field).with_nullable(true), others)
        };
        let fields: Vec<Field> = schema.fields().iter().enumerate().map(stacked).collect();
        Ok(Concat { request: Request::new(operation, &Asked::Concat), schema: Arc::new(Schema::new(fields)), columns })
    }
}

fn fit(operation: &str, schema: &Schema, first: &Table, at: usize, table: &Table) -> Result<Vec<usize>, Error> {
    if let Some(extra) = table.schema().fields().iter().find(|field| schema.index_of(field.name()).is_err()) {
        return Err(Error::schema(
            operation,
            format!("table {at} has a column {:?} that table 0 has not", extra.name()),
        ));
    }
    (schema.fields().iter().enumerate())
        .map(|(index, field)| {
            let own = table.schema().index_of(field.name());
            let own = own.map_err(|_| {
                Error::schema(operation, format!("table {at} has no column {:?}, as table 0 has", field.name()))
            })?;
            if table.column_type(own) != first.column_type(index) {
                let wanted = formula::type_name(field.data_type());
                let given = formula::type_name(table.schema().field(own).data_type());
                return Err(Error::schema(
                    operation,
                    format!(
                        "column {:?} is {wanted} in table 0, {given} in table {at}; cast one of them",
                        field.name()
                    ),
                ));
            }
            Ok(own)
        })
        .collect()
}

/// Where an input's keys `low ..` stand in the result: `base ..`, with room for `capacity` keys.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Slot {
    low: u64,
    base: u64,
    capacity: u64,
}

impl Slot {
    fn delta(&self) -> i64 {
        self.base as i64 - self.low as i64
    }

    fn holds(&self, rows: &RowSet) -> bool {
        match (rows.first(), rows.last()) {
            (Some(first), Some(last)) => first >= self.low && last - self.low < self.capacity,
            _ => true,
        }
    }

    fn span(&self) -> Span {
        Span { first: self.base, last: self.base + (self.capacity - 1) }
    }
}

type Slots = Arc<[Slot]>;

/// Slots for these row sets, each with room for twice the keys it spans.
fn lay_out<'a>(operation: &str, inputs: impl Iterator<Item = &'a RowSet>) -> Result<Slots, Error> {
    let exhausted = || Error::Resource {
        operation: operation.into(),
        message: "the keys of the inputs span more than the key space of the result; flatten them first".into(),
    };
    let mut base = 0u64;
    inputs
        .map(|rows| {
            let low = rows.first().unwrap_or(0) / ALIGNMENT * ALIGNMENT;
            let spanned = rows.last().unwrap_or(0) - low;
            let roomy = (spanned + 1)
                .checked_next_power_of_two()
                .and_then(|room| room.checked_mul(2))
                .unwrap_or(u64::MAX)
                .max(ALIGNMENT);
            let capacity = if roomy > 1 << 60 { (spanned / ALIGNMENT + 1) * ALIGNMENT } else { roomy };
            let slot = Slot { low, base, capacity };
            base = base.checked_add(capacity).filter(|end| *end <= rowset::MAX_KEY + 1).ok_or_else(exhausted)?;
            Ok(slot)
        })
        .collect()
}

impl Operation for Concat {
    fn request(&self) -> &Request {
        &self.request
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let slots = lay_out(&self.request.name, inputs.iter().map(|input| input.view.rows()))?;
        let parts = inputs.iter().zip(slots.iter()).map(|(input, slot)| input.view.rows().moved(slot.delta()));
        let rows = Arc::new(LiveRows::new(RowSet::union_all(parts.collect::<Vec<_>>().iter()), at));
        let slots = Arc::new(Pinned::new(slots, at));
        let columns = (0..self.schema.fields().len()).map(|index| {
            let sources: Vec<Arc<dyn ColumnSource>> = inputs
                .iter()
                .zip(&self.columns)
                .map(|(input, columns)| input.table.parts().columns[columns[index]].clone())
                .collect();
            let data_type = sources[0].data_type().clone();
            Arc::new(StackedColumn { data_type, sources, slots: slots.clone() }) as Arc<dyn ColumnSource>
        });
        let blink = inputs.iter().all(|input| input.table.attributes().blink);
        let attributes = Attributes { blink, ..Attributes::default() };
        let parts = Parts { rows: rows.clone(), columns: columns.collect(), schema: self.schema.clone(), attributes };
        let operation = self.request.name.clone();
        let live = ConcatLive { operation, columns: self.columns.clone(), slots: slots.clone(), rows: rows.clone() };
        Ok(Start { parts, live: Box::new(live), owned: vec![rows, Arc::new(SlotsSettle(slots))] })
    }
}

struct SlotsSettle(Arc<Pinned<Slots>>);

impl Settle for SlotsSettle {
    fn settle(&self) {
        self.0.settle();
    }

    fn bytes(&self) -> u64 {
        size_of_val(&*self.0.latest()) as u64
    }
}

struct ConcatLive {
    operation: String,
    columns: Vec<Vec<usize>>,
    slots: Arc<Pinned<Slots>>,
    rows: Arc<LiveRows>,
}

impl Live for ConcatLive {
    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let old = self.slots.latest();
        let fits = inputs.iter().zip(old.iter()).all(|(change, slot)| slot.holds(change.now().rows()));
        let new =
            if fits { old.clone() } else { lay_out(&self.operation, inputs.iter().map(|change| change.now().rows()))? };
        let mut result = TableUpdate::default();
        let mut moves: Vec<(Span, i64)> = Vec::new();
        for ((change, columns), (from, to)) in inputs.iter().zip(&self.columns).zip(old.iter().zip(new.iter())) {
            let update = change.update();
            result.removed.0 |= &update.removed.0.moved(from.delta());
            result.added |= &update.added.moved(to.delta());
            let changed = super::project::mapped(&update.columns, columns);
            if !changed.is_empty() {
                result.modified |= &update.modified.moved(to.delta());
                changed.iter().for_each(|column| result.columns.insert(column));
            }
            slot_moves(&update.shifts, from, to, &mut moves);
        }
        if !moves.is_empty() {
            let survivors = Before(&self.rows.latest() - &result.removed.0);
            result.shifts = Shifts::from_moves(&survivors, moves.into_iter());
        }
        if !result.is_empty() {
            self.rows.apply(step, &result.removed, &result.shifts, &result.added)?;
        }
        if !fits {
            self.slots.publish(step, new);
        }
        Ok(result)
    }
}

/// How the keys of one slot move: the input's own shifts, and the slot's.
fn slot_moves(shifts: &Shifts, from: &Slot, to: &Slot, moves: &mut Vec<(Span, i64)>) {
    // The slot of an emptied input may slide over more than half of the key space, where it moves no row; what moves a
    // row, the two together, never goes so far.
    let slide = to.delta().wrapping_sub(from.delta());
    if shifts.is_empty() && slide == 0 {
        return;
    }
    let whole = from.span();
    let mut at = whole.first;
    for shift in shifts.iter() {
        let first = (shift.first as i64 + from.delta()) as u64;
        let last = (shift.last as i64 + from.delta()) as u64;
        if slide != 0 && first > at {
            moves.push((Span { first: at, last: first - 1 }, slide));
        }
        let delta = shift.delta.wrapping_add(slide);
        if delta != 0 {
            moves.push((Span { first, last }, delta));
        }
        at = last + 1;
    }
    if slide != 0 && at <= whole.last {
        moves.push((Span { first: at, last: whole.last }, slide));
    }
}

/// A column of the result: the inputs' columns behind the slots.
struct StackedColumn {
    data_type: DataType,
    sources: Vec<Arc<dyn ColumnSource>>,
    slots: Arc<Pinned<Slots>>,
}

impl ColumnSource for StackedColumn {
    fn data_type(&self) -> &DataType {
        &self.data_type
    }

    fn at(&self, moment: Moment) -> Result<Arc<dyn Column>, Moved> {
        let slots = self.slots.at(moment)?;
        let columns: Result<Vec<_>, Moved> = self.sources.iter().map(|source| source.at(moment)).collect();
        Ok(Arc::new(Stacked { data_type: self.data_type.clone(), columns: columns?, slots }))
    }

    fn bytes(&self) -> u64 {
        0
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

struct Stacked {
    data_type: DataType,
    columns: Vec<Arc<dyn Column>>,
    slots: Slots,
}

impl Stacked {
    /// The rows of each slot, in the keys of its input.
    fn parts(&self, rows: &RowSet) -> Vec<(usize, RowSet)> {
        let part = |(at, slot): (usize, &Slot)| {
            let span = slot.span();
            let rows = rows.between(span.first, span.last);
            (!rows.is_empty()).then(|| (at, rows.moved(-slot.delta())))
        };
        self.slots.iter().enumerate().filter_map(part).collect()
    }
}

impl Column for Stacked {
    fn data_type(&self) -> &DataType {
        &self.data_type
    }

    fn read(&self, rows: &RowSet) -> Result<Chunk, column::Error> {
        let mut parts = self.parts(rows);
        if let [(at, rows)] = parts.as_slice() {
            return self.columns[*at].read(rows);
        }
        if parts.is_empty() {
            return Ok(arrow_array::new_empty_array(&self.data_type));
        }
        let chunks: Result<Vec<ArrayRef>, column::Error> =
            parts.drain(..).map(|(at, rows)| self.columns[at].read(&rows)).collect();
        let chunks = chunks?;
        let arrays: Vec<&dyn Array> = chunks.iter().map(|chunk| chunk.as_ref()).collect();
        Ok(arrow_select::concat::concat(&arrays)?)
    }

    fn take(&self, keys: &[u64]) -> Result<Chunk, column::Error> {
        let mut wanted: Vec<Vec<u64>> = vec![Vec::new(); self.columns.len()];
        let mut places = Vec::with_capacity(keys.len());
        for key in keys {
            let at = if *key == NO_ROW { 0 } else { self.slots.partition_point(|slot| slot.base <= *key) - 1 };
            places.push((at, wanted[at].len()));
            let slot = &self.slots[at];
            wanted[at].push(if *key == NO_ROW { NO_ROW } else { *key - slot.base + slot.low });
        }
        let chunks: Result<Vec<Chunk>, column::Error> =
            self.columns.iter().zip(&wanted).map(|(column, keys)| column.take(keys)).collect();
        let chunks = chunks?;
        let arrays: Vec<&dyn Array> = chunks.iter().map(|chunk| chunk.as_ref()).collect();
        Ok(arrow_select::interleave::interleave(&arrays, &places)?)
    }

    fn pieces(&self, rows: &RowSet) -> Result<Vec<Chunk>, column::Error> {
        let parts = self.parts(rows).into_iter().map(|(at, rows)| self.columns[at].pieces(&rows));
        Ok(parts.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }
}

#[cfg(test)]
mod tests {
    use model::Compare;

    use super::*;
    use crate::driver::attach::attach;
    use crate::testing::check::check_steps_of_two;
    use crate::testing::{any_table, check_law_of_two};

    fn stacked(a: &Table, b: &Table) -> Result<Table, Error> {
        let both = [a.clone(), b.clone()];
        attach(&Concat::new("concat", &both)?, &both)
    }

    #[test]
    fn each_input_keeps_its_slot() {
        check_steps_of_two(
            stacked,
            ("0 A | 1 B", "0 C"),
            &[(("", "+ 1 D"), "+ 65537 D"), (("- 0", ""), "- 0"), (("~ 1 E", "~ 0 F"), "~ 1 E | ~ 65536 F")],
        );
    }

    #[test]
    fn a_slot_that_overflows_moves_those_after_it() {
        check_steps_of_two(stacked, ("0 A", "0 C"), &[(("+ 70000 B", ""), "> [65536..65536]+196608 | + 70000 B")]);
    }

    #[test]
    fn law() {
        check_law_of_two((&any_table(), &any_table()), 300, Compare::ByPosition, stacked, |a, b| {
            model::ops::concat(&[a, b])
        });
    }
}
