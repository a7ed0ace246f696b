//! `sort`: the rows in the order of some columns.
//!
//!   in   0 A 3    1 B 1           sort V      out   B 1    A 3
//!   in   + 2 C 2                              out   + C 2 at a free key between them
//!   in   ~ 0 D 3                              out   ~ D 3    K {K}
//!   in   ~ 1 B 9                              out   - B 1    + B 9
//!   in   > [0..2]+5                           out   nothing
//!
//! Stable in both directions. Own keys, three in four of them free at first, so that a new row moves others
//! seldom; columns are read through an index. A static table is sorted onto flat keys. Cost of an
//! update: a search a changed row, and the rows that an upstream shift moves.

mod by;

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;
use column::ColumnSource;
use column::kernels::{equal_cells, order_words, sort_to_positions};
use formula::Expr;
use graph::{Moment, Step};
use rowset::RowSet;

use by::{Bytes, SortKey, Sorting};

use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::keys::order::Edits;
use crate::keys::order::entry::Entry;
use crate::keys::ordered::{OrderedRows, Still, through};
use crate::ops::asked::Asked;
use crate::plan::spec::SortBy;
use crate::sizes::SORT_SWEEP;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::Attributes;
use crate::table::parts::Parts;
use crate::table::request::Request;
use crate::table::rows::LiveRows;
use crate::table::update::TableUpdate;
use crate::table::view::View;

/// The rows of a table in another order.
pub struct Sort {
    request: Request,
    by: Vec<SortBy>,
    sorting: Arc<Sorting>,
}

impl Sort {
    /// By one column or several, the first that differs decides.
    pub fn new(table: &Table, by: &[SortBy]) -> Result<Sort, Error> {
        if by.is_empty() {
            return Err(Error::schema("sort", "at least one column is needed (by=)"));
        }
        let columns = by.iter().map(|by| table.column_index("sort", &by.column)).collect::<Result<Vec<_>, Error>>()?;
        let types: Vec<DataType> = columns.iter().map(|column| table.column_type(*column).clone()).collect();
        let unordered = by.iter().zip(&types).find(|(_, data_type)| !column::types::has_order(data_type));
        if let Some((by, data_type)) = unordered {
            return Err(Error::unordered("sort", &by.column, data_type));
        }
        let by_values =
            |by: &SortBy| formula::refuse_own_order("it", &Expr::column(by.column.as_str()), table.schema());
        by.iter().try_for_each(by_values).map_err(|error| Error::Formula { operation: "sort".into(), error })?;
        let text = by.iter().map(|by| {
            format!(
                "{}{}",
                formula::hidden::shown(table.schema(), &by.column),
                if by.descending { " descending" } else { "" }
            )
        });
        let request = Request::new("sort", &Asked::Sort { by }).with_text(text.collect::<Vec<_>>().join(", "));
        Ok(Sort { request, by: by.to_vec(), sorting: Arc::new(Sorting::new(columns, &types, by)?) })
    }

    fn attributes(&self, table: &Table, flat: bool) -> Attributes {
        let plain = self.by.iter().all(|by| !by.nulls_last);
        let sorted_by = self.by.iter().map(|by| (by.column.clone(), by.descending));
        Attributes {
            blink: table.attributes().blink,
            flat,
            sorted_by: if plain { sorted_by.collect() } else { Vec::new() },
            ..Attributes::default()
        }
    }

    fn start<K: SortKey>(
        &self,
        input: &Input,
        cells: &[ArrayRef],
        positions: &[u32],
        at: Moment,
    ) -> Result<Start, Error> {
        let Input { table, view } = input;
        let sources = view.rows().to_vec();
        let entries = K::entries(&self.sorting, cells, &sources)?;
        let sorted: Vec<Entry<K>> = positions.iter().map(|&at| entries[at as usize].clone()).collect();
        let counters = table.graph().map(crate::observe::storage).unwrap_or_default();
        let sorted = OrderedRows::start(&sorted, at, &counters)?;
        let parts = self.parts(table, sorted.rows().clone(), &sorted.index(0), false);
        let owned = sorted.owned();
        Ok(Start { parts, live: Box::new(SortLive { sorting: self.sorting.clone(), sorted }), owned })
    }

    /// The table's columns, read through an index.
    fn parts(&self, table: &Table, rows: Arc<LiveRows>, index: &Arc<dyn ColumnSource>, flat: bool) -> Parts {
        let (columns, schema) = (through(table, index), table.schema().clone());
        Parts { rows, columns, schema, attributes: self.attributes(table, flat) }
    }
}

impl Operation for Sort {
    fn request(&self) -> &Request {
        &self.request
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let Input { table, view } = &inputs[0];
        // A position and a key; a live one an entry and a place in the order too.
        limits::ask_rows(view.rows().len(), if table.is_live() { 48 } else { 20 })?;
        let cells = view.read_columns(&self.sorting.columns, view.rows())?;
        let positions = sort_to_positions(&cells, &self.sorting.descending, &self.sorting.nulls_last)?;
        if !table.is_live() {
            let sources = view.rows().to_vec();
            let index: Vec<u64> = positions.iter().map(|&at| sources[at as usize]).collect();
            let (rows, index) = Still::rows(index, at)?;
            let parts = self.parts(table, rows, &index, true);
            return Ok(Start { parts, live: Box::new(Still), owned: Vec::new() });
        }
        match cells.as_slice() {
            [one] if order_words(&one.slice(0, 0), false).is_some() => {
                self.start::<u64>(&inputs[0], &cells, &positions, at)
            }
            _ => self.start::<Bytes>(&inputs[0], &cells, &positions, at),
        }
    }
}

struct SortLive<K: SortKey> {
    sorting: Arc<Sorting>,
    sorted: OrderedRows<K>,
}

impl<K: SortKey> Live for SortLive<K> {
    fn entries(&self) -> u64 {
        self.sorted.len() as u64
    }

    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let change = &inputs[0];
        let update = change.update();
        let (changed, kept) = self.judge_modified(change)?;
        let moved = self.moved(change, &changed.old_rows)?;
        let edits = Edits {
            removed: self.entries(change.before(), &update.removed.0)?,
            changed: changed.entries,
            added: self.entries(change.now(), &update.added)?,
            shifts: &update.shifts,
            moved,
        };
        let kept = self.entries(change.now(), &kept)?;
        self.sorted.apply(step, edits, &kept, &update.columns)
    }
}

/// Rows whose sort key changed.
struct Rekeyed<K> {
    entries: Vec<(Entry<K>, Entry<K>)>,
    old_rows: RowSet,
}

impl<K: SortKey> SortLive<K> {
    fn entries(&self, view: &View, rows: &RowSet) -> Result<Vec<Entry<K>>, Error> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        K::entries(&self.sorting, &view.read_columns(&self.sorting.columns, rows)?, &rows.to_vec())
    }

    /// Modified rows with another sort key, and (keys after) those with the same.
    fn judge_modified(&self, change: &Change) -> Result<(Rekeyed<K>, RowSet), Error> {
        let update = change.update();
        let none = Rekeyed { entries: Vec::new(), old_rows: RowSet::new() };
        if update.modified.is_empty() || !update.columns.contains_any(&self.sorting.columns) {
            return Ok((none, update.modified.clone()));
        }
        let back = update.shifts.back(&update.modified);
        let old = change.before().read_columns(&self.sorting.columns, &back.0)?;
        let new = change.now().read_columns(&self.sorting.columns, &update.modified)?;
        let same = old.iter().zip(&new).map(|(old, new)| equal_cells(old, new)).reduce(|a, b| &a & &b);
        let same = same.unwrap_or_else(|| BooleanBuffer::new_set(0));
        let (old_keys, new_keys) = (back.0.to_vec(), update.modified.to_vec());
        let (mut old_rows, mut kept) = (Vec::new(), Vec::new());
        for (row, same) in same.iter().enumerate() {
            if same { kept.push(new_keys[row]) } else { old_rows.push(old_keys[row]) }
        }
        let old = K::entries(&self.sorting, &old, &old_keys)?;
        let new = K::entries(&self.sorting, &new, &new_keys)?;
        let pairs = old.into_iter().zip(new).zip(same.iter());
        let entries = pairs.filter(|(_, same)| !same).map(|(pair, _)| pair).collect();
        Ok((Rekeyed { entries, old_rows: RowSet::from_sorted_keys(&old_rows) }, RowSet::from_sorted_keys(&kept)))
    }

    /// The entries of the rows that an upstream shift moves, if they are few.
    fn moved(&self, change: &Change, rekeyed: &RowSet) -> Result<Option<Vec<Entry<K>>>, Error> {
        let update = change.update();
        if update.shifts.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let moved = &change.rekeyed_rows(&update.removed).0 - rekeyed;
        if moved.len() > self.sorted.len() as u64 / SORT_SWEEP.rows() {
            return Ok(None);
        }
        Ok(Some(self.entries(change.before(), &moved)?))
    }
}

#[cfg(test)]
mod tests;
