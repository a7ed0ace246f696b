//! `group_by(…).agg(…)`, `agg_by`: one row a group, updated by what enters and leaves it.
//!
//!   in    + 0 A 1    + 1 B 2    + 2 A 3     by K, sum(V)
//!   out   + 0 A 4    + 1 B 2
//!   in    - 1                               out   - 1: a group that empties is forgotten
//!   in    + 3 B 5                           out   + 2 B 5: its key comes back at the end
//!
//! A row of the result is modified only if one of its cells changed; there are never shifts. Over a
//! blink table rows accumulate. Cost of an update: one probe a changed row, plus the aggregators;
//! old values of removed and modified rows are taken away, a group is never read again.

pub(crate) mod accumulators;
mod board;
mod chosen;
mod count;
pub(crate) mod extreme;
mod fixed;
mod followed;
mod groups;
mod listed;
mod listed_pairs;
mod live;
mod loading;
#[cfg(test)]
mod loading_tests;
mod moments;
mod product;
mod quickly;
mod ranked;
mod reading;
mod sketched;
mod spans;
mod spec;
mod standing;
#[cfg(test)]
mod standing_tests;
mod state;
mod states;
mod sum;
#[cfg(test)]
mod tests;
mod unique;
mod vacant;
mod vectors;
mod windows;

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use column::types::can_be_key;
use column::{Chunk, NO_ROW};
use formula::aggregates::{Asks, Reads};
use formula::hidden::{is_hidden, renamed, shown_field};
use formula::{Aggregate, Expr};
use graph::Moment;
use rowset::RowSet;

pub(crate) use self::accumulators::{from_order_key, order_key};
pub(crate) use self::followed::{FOLLOWED, Followed};
use self::groups::Groups;
pub(crate) use self::listed::Listed;
use self::live::AggregationLive;
use self::spec::{AggregationSpec, ReadRequest};
use self::standing::{named_columns, named_keys};
pub(crate) use self::state::{Pair, Span, floats, from_integers, integers};
pub(crate) use self::sum::mean_of;
use self::vacant::Vacant;
use self::vectors::Vector;
use crate::driver::operation::{Input, Operation, Start};
use crate::error::Error;
use crate::eval::evaluator::Evaluator;
use crate::eval::selection::Selection;
use crate::keys::touched::Touched;
use crate::ops::asked::{Asked, Expressions};
use crate::ops::held::{HeldGroups, HowHeld};
use crate::plan::standing::Standing;
use crate::row_errors::RowErrors;
use crate::table::handle::Table;
use crate::table::parts::Attributes;
use crate::table::parts::Parts;
use crate::table::request::Request;
use crate::table::store::Store;

/// One row a group.
pub struct Aggregation {
    request: Request,
    /// Column and name of each key.
    keys: Vec<(usize, String)>,
    outputs: Vec<Output>,
    inputs: Arc<[Evaluator]>,
    /// Which groups there are without rows, and the columns of their keys in the second input.
    standing: Standing,
    named: Vec<usize>,
    /// Which groups have a state, if some are let go.
    held: Option<HowHeld>,
}

/// One aggregated column.
#[derive(Clone)]
struct Output {
    kind: Aggregate,
    /// Places among the inputs; `len` has none.
    inputs: Vec<usize>,
    name: String,
    data_type: DataType,
    /// What the column is outside.
    declared: Field,
    /// For what reads the whole group.
    vector: Option<Vector>,
}

impl Aggregation {
    /// `keys`: names of key columns; `aggregates`: aggregate expressions, each named.
    pub fn new(operation: &str, table: &Table, keys: &[String], aggregates: &[Expr]) -> Result<Aggregation, Error> {
        let named: Vec<(String, String)> = keys.iter().map(|key| (key.clone(), key.clone())).collect();
        Aggregation::named(operation, table, &named, aggregates, Standing::default(), None)
    }

    /// An aggregation whose keys have names of their own. `keys`: columns, and what they are called in the result. `initial`:
    /// the table that names groups.
    pub(crate) fn named(
        operation: &str,
        table: &Table,
        keys: &[(String, String)],
        aggregates: &[Expr],
        standing: Standing,
        initial: Option<&Table>,
    ) -> Result<Aggregation, Error> {
        let columns = keys.iter().map(|(column, name)| Ok((table.column_index(operation, column)?, name.clone())));
        let columns: Vec<(usize, String)> = columns.collect::<Result<_, Error>>()?;
        if let Some((column, name)) = columns.iter().find(|(column, _)| !can_be_key(table.column_type(*column))) {
            return Err(Error::unkeyable(operation, name, table.column_type(*column)));
        }
        let mut inputs: Vec<(Expr, Evaluator)> = Vec::with_capacity(aggregates.len());
        let mut outputs = Vec::with_capacity(aggregates.len());
        for aggregate in aggregates {
            let output = output_of(operation, table, aggregate, &mut inputs)?;
            if output.vector.is_some() && table.attributes().blink {
                let message = format!(
                    "{} over a blink table: its rows live for one step, and a list of all that ever were would grow for \
                     ever; append them to an append_table, or aggregate them with first, last, min, max, sum, count",
                    aggregate.unaliased().to_python()
                );
                return Err(Error::invalid(operation, message));
            }
            refuse_leaving(operation, table, aggregate, &output)?;
            outputs.push(output);
        }
        let names = keys.iter().map(|(_, name)| name).chain(outputs.iter().map(|output| &output.name));
        let mut seen = std::collections::HashSet::new();
        if let Some(twice) = names.clone().find(|name| !seen.insert(name.as_str())) {
            return Err(Error::Duplicate { operation: operation.into(), name: twice.clone() });
        }
        let text = aggregates.iter().map(Expr::to_python).collect::<Vec<_>>().join(", ");
        let named = initial.map(|initial| named_columns(operation, table, &columns, initial)).transpose()?;
        let (named, standing) = (named.unwrap_or_default(), Standing { named: initial.is_some(), ..standing });
        let asked = Asked::Aggregate { keys, aggregates: Expressions(aggregates), standing };
        let request = Request::new(operation, &asked).with_text(text);
        let inputs: Vec<Evaluator> = inputs.into_iter().map(|(_, evaluator)| evaluator).collect();
        crate::eval::evaluator::own_row_only(operation, &inputs)?;
        Ok(Aggregation { request, keys: columns, outputs, inputs: inputs.into(), standing, named, held: None })
    }

    /// An aggregation over an input that only grows, some groups of which are let go.
    pub(crate) fn holding(mut self, held: Option<HowHeld>) -> Aggregation {
        self.request.timed |= held.as_ref().is_some_and(HowHeld::in_time);
        self.held = held;
        self
    }

    /// Where the rows that it aggregates were passed over before it.
    pub(crate) fn reporting_to(mut self, row_errors: Option<&RowErrors>) -> Aggregation {
        self.request.row_errors = row_errors.map(RowErrors::sibling);
        self
    }

    fn schema(&self, table: &Table) -> (Schema, Schema) {
        let named = |of: &Schema| {
            let field = |(index, name): &(usize, String)| renamed(of.field(*index), name).with_nullable(true);
            self.keys.iter().map(field).collect::<Vec<Field>>()
        };
        let declared = named(table.schema()).into_iter();
        let declared = declared.chain(self.outputs.iter().map(|output| output.declared.clone()));
        let canonical = named(table.canonical()).into_iter();
        let canonical =
            canonical.chain(self.outputs.iter().map(|output| Field::new(&output.name, output.data_type.clone(), true)));
        (Schema::new(declared.collect::<Vec<_>>()), Schema::new(canonical.collect::<Vec<_>>()))
    }
}

/// The name of a key as messages show it.
fn shown_key(table: &Table, column: usize, name: &str) -> String {
    if is_hidden(name) { shown_field(table.schema().field(column)).to_owned() } else { name.to_owned() }
}

/// Whether rows leave a table, or change.
fn is_retractable(table: &Table) -> bool {
    let attributes = table.attributes();
    table.is_live() && !attributes.add_only && !attributes.blink
}

/// Refuses a sketch of rows that may leave.
fn refuse_leaving(operation: &str, table: &Table, aggregate: &Expr, output: &Output) -> Result<(), Error> {
    if !output.kind.declaration().only_grows || !is_retractable(table) {
        return Ok(());
    }
    let message = format!(
        "{} over a table whose rows may leave or change: no value can be taken from a sketch; n_unique() takes such a table, \
         and a sketch one that only gains rows or a blink table",
        aggregate.unaliased().to_python()
    );
    Err(Error::invalid(operation, message))
}

fn output_of(
    operation: &str,
    table: &Table,
    expression: &Expr,
    inputs: &mut Vec<(Expr, Evaluator)>,
) -> Result<Output, Error> {
    let column = expression.output_column()?;
    let name = column.to_string();
    let Expr::Aggregate { kind, inputs: of } = expression.unaliased() else {
        return Err(Error::invalid(
            operation,
            format!(
                "{} has one value a row, not one a group; aggregate it (sum, mean, first …)",
                expression.to_python()
            ),
        ));
    };
    let declared = kind.declaration();
    if of.len() != declared.arity {
        let message = format!("{} is of {} columns, not of {}", declared.name, declared.arity, of.len());
        return Err(Error::invalid(operation, message));
    }
    if of.is_empty() {
        let (inputs, data_type) = (Vec::new(), DataType::Int64);
        let declared = column.field(data_type.clone());
        return Ok(Output { kind: kind.clone(), inputs, declared, name, data_type, vector: None });
    }
    let places =
        of.iter().map(|input| input_of(operation, table, kind, input, inputs)).collect::<Result<Vec<_>, _>>()?;
    let wrong = |error| Error::Formula { operation: operation.into(), error };
    for place in &places {
        kind.output_type(inputs[*place].1.data_type()).map_err(wrong)?;
    }
    let (input, evaluator) = &inputs[places[0]];
    let of = evaluator.data_type();
    let data_type = match (declared.reads, evaluator.as_column()) {
        // Cells that are picked are read as they are stored, codes of a dictionary too.
        (Reads::End, Some(column)) => table.column_type(column).clone(),
        _ => kind.output_type(of).map_err(wrong)?,
    };
    let vector = Vector::of(kind, of).map_err(wrong)?;
    if declared.asks == Asks::Keys && !can_be_key(of) {
        return Err(Error::unkeyable(operation, &input.output_name()?, of));
    }
    // What is passed on keeps the type its column was declared with.
    let source = match input.unaliased() {
        Expr::Column(column) => Some(table.schema().field(table.column_index(operation, column)?)),
        _ => None,
    };
    let coded = |kind: &DataType| matches!(kind, DataType::Dictionary(..) | DataType::RunEndEncoded(..));
    let kept = source.map(Field::data_type);
    let kept = kept.filter(|kind| declared.passes && !coded(kind) && column::types::canonical(kind) == data_type);
    let field = column.field(kept.cloned().unwrap_or_else(|| super::select::declared_type(&data_type)));
    // Picked cells keep the order of their categories too.
    let field = match source {
        Some(source) if source.dict_is_ordered() == Some(true) && field.dict_is_ordered().is_some() => {
            let mut metadata = source.metadata().clone();
            metadata.extend(field.metadata().clone());
            field.with_dict_is_ordered(true).with_metadata(metadata)
        }
        _ => field,
    };
    Ok(Output { kind: kind.clone(), inputs: places, name, data_type, declared: field, vector })
}

/// The place of an input among those that are read; a new one is added.
fn input_of(
    operation: &str,
    table: &Table,
    kind: &Aggregate,
    input: &Expr,
    inputs: &mut Vec<(Expr, Evaluator)>,
) -> Result<usize, Error> {
    let plain = plain_values(operation, table, kind, input)?;
    let input: &Expr = plain.as_ref().unwrap_or(input);
    if let Some(place) = inputs.iter().position(|(known, _)| known == input) {
        return Ok(place);
    }
    inputs.push((input.clone(), Evaluator::new(&operation.into(), input, table)?));
    Ok(inputs.len() - 1)
}

/// Of a dictionary the values in their place, for aggregates that order them.
fn plain_values(operation: &str, table: &Table, kind: &Aggregate, input: &Expr) -> Result<Option<Expr>, Error> {
    let ordered = kind.declaration().asks == Asks::Ordered;
    if ordered {
        formula::refuse_own_order(kind.name(), input, table.schema()).map_err(formula_error(operation))?;
    }
    let Expr::Column(column) = input.unaliased() else { return Ok(None) };
    Ok(match table.column_type(table.column_index(operation, column)?) {
        DataType::Dictionary(_, values) if ordered => {
            Some(input.clone().cast(DataType::clone(values), true).map_err(formula_error(operation))?)
        }
        _ => None,
    })
}

fn formula_error(operation: &str) -> impl Fn(formula::Error) -> Error {
    let operation = operation.to_owned();
    move |error| Error::Formula { operation: operation.clone(), error }
}

impl Operation for Aggregation {
    fn request(&self) -> &Request {
        &self.request
    }

    fn expressions(&self) -> Option<Arc<[Evaluator]>> {
        Some(self.inputs.clone())
    }

    fn selects(&self) -> bool {
        self.held.is_none()
    }

    // Rows of a blink table are counted as they come. A group that stays tells of rows that were, and so do values that do.
    fn remembers(&self, inputs: &[Table]) -> bool {
        let is_kept = self.standing.preserve || self.outputs.iter().any(|output| output.kind == Aggregate::Freeze);
        inputs[0].attributes().blink || self.held.is_some() || is_kept && inputs[0].is_live()
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let Input { table, view } = &inputs[0];
        let selection = table.selection().and_then(|selection| selection.downcast_ref::<Selection>());
        let attributes = table.attributes();
        let retractable = is_retractable(table);
        let mut maker = AggregationSpec {
            operation: self.request.name.clone(),
            names: self.keys.iter().map(|(column, name)| shown_key(table, *column, name)).collect(),
            keys: self.keys.iter().map(|(index, _)| (*index, table.column_type(*index).clone())).collect(),
            outputs: self.outputs.clone(),
            inputs: self.inputs.clone(),
            retractable,
            still: !table.is_live(),
            standing: self.standing,
            named: named_keys(&self.named, inputs)?,
        };
        if !self.keys.is_empty() {
            // The group of each row.
            limits::ask_rows(view.rows().len(), 4)?;
        }
        let listed = self.outputs.iter().filter(|output| output.vector.is_some()).flat_map(|output| &output.inputs);
        for input in listed {
            // The key of each row, and its cell.
            limits::ask_rows(view.rows().len(), 8 + column::types::width(self.inputs[*input].data_type()))?;
        }
        let mut groups = Groups::start(&maker, view, selection)?;
        if table.attributes().blink {
            groups.renew();
        }
        maker.named.clear();
        let mut held = self.held.as_ref().map(|how| HeldGroups::start(&self.request.name, how, table));
        let mut let_go = Vec::new();
        if let Some(held) = &mut held {
            let keys = ReadRequest { view, rows: view.rows(), keys: true, inputs: &[] }.cells(&maker)?;
            let_go = held.begin(inputs, view.rows(), &groups.find(&keys.keys, keys.rows)?)?;
            if !held.keeps_results() {
                std::mem::take(&mut let_go).into_iter().for_each(|slot| groups.let_go(slot));
            }
        }
        let keeps_results = held.as_ref().is_some_and(HeldGroups::keeps_results);
        let (declared, canonical) = self.schema(table);
        let slots: Vec<u32> = groups.present().collect();
        let mut rows = vec![NO_ROW; groups.slots()];
        let mut next = groups.reserved();
        for slot in &slots {
            rows[*slot as usize] = groups.row_of(*slot, &mut next);
        }
        let present: Vec<u64> = slots.iter().map(|slot| rows[*slot as usize]).collect();
        let present = RowSet::from_sorted_keys(&present);
        let cells = groups.cells(&maker, view, &slots)?;
        let cells: Vec<Vec<(RowSet, Chunk)>> = cells.into_iter().map(|cells| vec![(present.clone(), cells)]).collect();
        let counters = table.graph().map(crate::observe::storage).unwrap_or_default();
        let store = Store::filled(&canonical, at, &counters, present, &cells)?;
        for slot in let_go {
            rows[slot as usize] = NO_ROW;
            groups.let_go(slot);
        }
        let first_only = self.standing == Standing::default()
            && (held.is_none() || keeps_results)
            && self.outputs.iter().all(|output| matches!(output.kind, Aggregate::First | Aggregate::Freeze));
        let attributes = Attributes {
            append_only: first_only && attributes.append_only,
            add_only: first_only && attributes.append_only,
            // A key that comes again after it was let go is a second row.
            key: self.keys.iter().filter(|_| !keeps_results).map(|(_, name)| name.clone()).collect(),
            ..Attributes::default()
        };
        let parts = Parts {
            rows: store.rows().clone(),
            columns: store.columns().sources(),
            schema: Arc::new(declared),
            attributes,
        };
        let owned = store.owned();
        let live = AggregationLive {
            vacant: Vacant::new(&groups, self.standing),
            maker,
            groups,
            rows,
            next,
            store,
            touched: Touched::default(),
            created: Vec::new(),
            blink: table.attributes().blink,
            held,
        };
        Ok(Start { parts, live: Box::new(live), owned })
    }
}

impl Output {
    /// Whether a state keeps values for it: not for the cell of one row, nor for what reads the whole group.
    fn is_kept(&self) -> bool {
        self.kind.declaration().reads == Reads::Values
    }

    /// Whether it is read from rows of the group.
    fn picks(&self) -> bool {
        matches!(self.kind.declaration().reads, Reads::End | Reads::Whole)
    }
}
