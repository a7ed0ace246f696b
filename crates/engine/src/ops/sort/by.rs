//! Sort keys: columns and directions, the comparable form in which the order stores them, and what a change does to them.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;
use column::kernels::{OrderBytes, equal_cells, order_words};
use formula::Expr;
use rowset::RowSet;

use crate::error::Error;
use crate::keys::order::entry::{Entry, RowKey};
use crate::plan::spec::SortBy;
use crate::sizes::SORT_SWEEP;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::Attributes;
use crate::table::view::View;

/// Sort columns, resolved.
pub(super) struct Sorting {
    by: Vec<SortBy>,
    pub(super) columns: Vec<usize>,
    pub(super) descending: Vec<bool>,
    pub(super) nulls_last: Vec<bool>,
    /// The columns as a reader knows them.
    pub(super) text: String,
    bytes: OrderBytes,
}

/// Rows whose sort key changed.
pub(super) struct Rekeyed<K> {
    /// As they were, and as they are.
    pub(super) entries: Vec<(Entry<K>, Entry<K>)>,
    /// Their row keys before.
    pub(super) old_rows: RowSet,
}

impl Sorting {
    /// These columns of a table, all of which must be there and have an order.
    pub(super) fn of(operation: &str, table: &Table, by: &[SortBy]) -> Result<Sorting, Error> {
        if by.is_empty() {
            return Err(Error::schema(operation, "at least one column is needed (by=)"));
        }
        let columns =
            by.iter().map(|by| table.column_index(operation, &by.column)).collect::<Result<Vec<_>, Error>>()?;
        let types: Vec<DataType> = columns.iter().map(|column| table.column_type(*column).clone()).collect();
        let unordered = by.iter().zip(&types).find(|(_, data_type)| !column::types::has_order(data_type));
        if let Some((by, data_type)) = unordered {
            return Err(Error::unordered(operation, &by.column, data_type));
        }
        let by_values =
            |by: &SortBy| formula::refuse_own_order("it", &Expr::column(by.column.as_str()), table.schema());
        by.iter().try_for_each(by_values).map_err(|error| Error::Formula { operation: operation.into(), error })?;
        let text = by.iter().map(|by| {
            let shown = formula::hidden::shown(table.schema(), &by.column);
            format!("{shown}{}", if by.descending { " descending" } else { "" })
        });
        let text = text.collect::<Vec<_>>().join(", ");
        let descending: Vec<bool> = by.iter().map(|by| by.descending).collect();
        let nulls_last: Vec<bool> = by.iter().map(|by| by.nulls_last).collect();
        let bytes = OrderBytes::new(&types, &descending, &nulls_last)?;
        Ok(Sorting { by: by.to_vec(), columns, descending, nulls_last, text, bytes })
    }

    /// What holds of the table in this order.
    pub(super) fn attributes(&self, table: &Table, flat: bool) -> Attributes {
        let plain = self.by.iter().all(|by| !by.nulls_last);
        let sorted_by = self.by.iter().map(|by| (by.column.clone(), by.descending));
        Attributes {
            blink: table.attributes().blink,
            flat,
            sorted_by: if plain { sorted_by.collect() } else { Vec::new() },
            ..Attributes::default()
        }
    }

    /// The entries of some rows.
    pub(super) fn entries<K: SortKey>(&self, view: &View, rows: &RowSet) -> Result<Vec<Entry<K>>, Error> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        K::entries(self, &view.read_columns(&self.columns, rows)?, &rows.to_vec())
    }

    /// Modified rows with another sort key, and (keys after) those with the same.
    pub(super) fn judge_modified<K: SortKey>(&self, change: &Change) -> Result<(Rekeyed<K>, RowSet), Error> {
        let update = change.update();
        let none = Rekeyed { entries: Vec::new(), old_rows: RowSet::new() };
        if update.modified.is_empty() || !update.columns.contains_any(&self.columns) {
            return Ok((none, update.modified.clone()));
        }
        let back = update.shifts.back(&update.modified);
        let old = change.before().read_columns(&self.columns, &back.0)?;
        let new = change.now().read_columns(&self.columns, &update.modified)?;
        let same = old.iter().zip(&new).map(|(old, new)| equal_cells(old, new)).reduce(|a, b| &a & &b);
        let same = same.unwrap_or_else(|| BooleanBuffer::new_set(0));
        let (old_keys, new_keys) = (back.0.to_vec(), update.modified.to_vec());
        let (mut old_rows, mut kept) = (Vec::new(), Vec::new());
        for (row, same) in same.iter().enumerate() {
            if same { kept.push(new_keys[row]) } else { old_rows.push(old_keys[row]) }
        }
        let old = K::entries(self, &old, &old_keys)?;
        let new = K::entries(self, &new, &new_keys)?;
        let pairs = old.into_iter().zip(new).zip(same.iter());
        let entries = pairs.filter(|(_, same)| !same).map(|(pair, _)| pair).collect();
        Ok((Rekeyed { entries, old_rows: RowSet::from_sorted_keys(&old_rows) }, RowSet::from_sorted_keys(&kept)))
    }

    /// The entries of the rows that an upstream shift moves, if they are few beside so many that are kept.
    pub(super) fn moved<K: SortKey>(
        &self,
        change: &Change,
        rekeyed: &RowSet,
        kept: usize,
    ) -> Result<Option<Vec<Entry<K>>>, Error> {
        let update = change.update();
        if update.shifts.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let moved = &change.rekeyed_rows(&update.removed).0 - rekeyed;
        if moved.len() > kept as u64 / SORT_SWEEP.rows() {
            return Ok(None);
        }
        Ok(Some(self.entries(change.before(), &moved)?))
    }
}

/// A sort key that an order keeps.
pub(super) trait SortKey: RowKey + Send + Sync + 'static {
    /// The entries of these rows, given their sort columns and their source keys.
    fn entries(sorting: &Sorting, cells: &[ArrayRef], sources: &[u64]) -> Result<Vec<Entry<Self>>, Error>;
}

/// One column of numbers or times: its word. Null takes the word at its end of the order, and the bit of
/// rank tells it from the cell that has the same.
impl SortKey for u64 {
    fn entries(sorting: &Sorting, cells: &[ArrayRef], sources: &[u64]) -> Result<Vec<Entry<u64>>, Error> {
        let cells = &cells[0];
        let words = order_words(cells, sorting.descending[0])
            .ok_or_else(|| Error::internal("sort", "a column of numbers has words"))?;
        let nulls_last = sorting.nulls_last[0];
        let rank = |last: bool| u64::from(last) << 63;
        let (null_word, null_rank, cell_rank) =
            (if nulls_last { u64::MAX } else { 0 }, rank(nulls_last), rank(!nulls_last));
        let nulls = cells.nulls().filter(|nulls| nulls.null_count() > 0);
        let rows = words.into_iter().zip(sources).enumerate();
        Ok(rows
            .map(|(row, (word, source))| match nulls {
                Some(nulls) if nulls.is_null(row) => Entry { key: null_word, tie: null_rank | source },
                _ => Entry { key: word, tie: cell_rank | source },
            })
            .collect())
    }
}

/// Several columns, or text: encoded bytes, the first eight also as a number, which mostly decides.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Bytes {
    prefix: u64,
    all: Arc<[u8]>,
}

impl RowKey for Bytes {
    fn word(&self) -> u64 {
        self.prefix
    }
}

impl SortKey for Bytes {
    fn entries(sorting: &Sorting, cells: &[ArrayRef], sources: &[u64]) -> Result<Vec<Entry<Bytes>>, Error> {
        let rows = sorting.bytes.encode(cells)?;
        let key = |bytes: &[u8]| {
            let mut prefix = [0; 8];
            let known = bytes.len().min(8);
            prefix[..known].copy_from_slice(&bytes[..known]);
            Bytes { prefix: u64::from_be_bytes(prefix), all: bytes.into() }
        };
        Ok(rows.iter().zip(sources).map(|(row, source)| Entry { key: key(row.data()), tie: *source }).collect())
    }
}
