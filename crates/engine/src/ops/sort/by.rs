//! Sort keys: columns and directions, and the comparable form in which the order stores them.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use column::kernels::{OrderBytes, order_words};

use crate::error::Error;
use crate::keys::order::entry::{Entry, RowKey};
use crate::plan::spec::SortBy;

/// Sort columns, resolved.
pub(super) struct Sorting {
    pub(super) columns: Vec<usize>,
    pub(super) descending: Vec<bool>,
    pub(super) nulls_last: Vec<bool>,
    bytes: OrderBytes,
}

impl Sorting {
    pub(super) fn new(columns: Vec<usize>, types: &[DataType], by: &[SortBy]) -> Result<Sorting, Error> {
        let descending: Vec<bool> = by.iter().map(|by| by.descending).collect();
        let nulls_last: Vec<bool> = by.iter().map(|by| by.nulls_last).collect();
        let bytes = OrderBytes::new(types, &descending, &nulls_last)?;
        Ok(Sorting { columns, descending, nulls_last, bytes })
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
