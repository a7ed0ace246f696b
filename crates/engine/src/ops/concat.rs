//! `concat`: tables stacked in order, each in a slot of the key space of its own.
//!
//!   a    0 x    1 y        b    0 z
//!   out  0 x    1 y    131072 z
//!   b    + 1 w             out   + 131073 w
//!
//! Columns are read through the slots: nothing is copied. Cost of an update: the change; a slot
//! that overflows moves the slots after it, once, with room for twice the keys: a shift, never M.

use std::sync::Arc;

use arrow_schema::{Field, Schema};
use graph::{Moment, Pinned, Step};
use rowset::{Before, RowSet, Shifts, Span};

use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::ops::asked::Asked;
use crate::ops::stacked::{Sources, Stack, StackSettle, ends_of, lay_out, slot_moves, stacked_columns};
use crate::table::categories::with_order;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::Attributes;
use crate::table::parts::Parts;
use crate::table::request::Request;
use crate::table::rows::LiveRows;
use crate::table::update::TableUpdate;

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

impl Operation for Concat {
    fn request(&self) -> &Request {
        &self.request
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let slots = lay_out(&self.request.name, inputs.iter().map(|input| ends_of(input.view.rows())))?;
        let parts = inputs.iter().zip(slots.iter()).map(|(input, slot)| input.view.rows().moved(slot.delta()));
        let rows = Arc::new(LiveRows::new(RowSet::union_all(parts.collect::<Vec<_>>().iter()), at));
        let sources = inputs.iter().zip(&self.columns).map(|(input, columns)| {
            columns.iter().map(|column| input.table.parts().columns[*column].clone()).collect::<Sources>()
        });
        let stack = Arc::new(Pinned::new(Stack { slots, sources: sources.collect() }, at));
        let first = &inputs[0].table;
        let types = self.columns[0].iter().map(|column| first.parts().columns[*column].data_type().clone());
        let columns = stacked_columns(types, &stack);
        let blink = inputs.iter().all(|input| input.table.attributes().blink);
        let attributes = Attributes { blink, ..Attributes::default() };
        let parts = Parts { rows: rows.clone(), columns, schema: self.schema.clone(), attributes };
        let operation = self.request.name.clone();
        let live = ConcatLive { operation, columns: self.columns.clone(), stack: stack.clone(), rows: rows.clone() };
        Ok(Start { parts, live: Box::new(live), owned: vec![rows, Arc::new(StackSettle(stack))] })
    }
}

struct ConcatLive {
    operation: String,
    columns: Vec<Vec<usize>>,
    stack: Arc<Pinned<Stack>>,
    rows: Arc<LiveRows>,
}

impl Live for ConcatLive {
    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let Stack { slots: old, sources } = self.stack.latest();
        let fits = inputs.iter().zip(old.iter()).all(|(change, slot)| slot.holds(ends_of(change.now().rows())));
        let new = match fits {
            true => old.clone(),
            false => lay_out(&self.operation, inputs.iter().map(|change| ends_of(change.now().rows())))?,
        };
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
            self.stack.publish(step, Stack { slots: new, sources });
        }
        Ok(result)
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
