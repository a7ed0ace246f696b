//! Instants and dates as nanoseconds since 1970.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use arrow_schema::{DataType, TimeUnit};
use rowset::RowSet;

use crate::error::Error;
use crate::table::view::View;

const DAY: i64 = 86_400_000_000_000;

/// The stamps of these rows, in nanoseconds; beyond what these reach, the last that they do.
pub(super) fn stamps(view: &View, column: usize, rows: &RowSet) -> Result<Vec<Option<i64>>, Error> {
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let cells = view.read(column, rows)?;
    let scaled = |stamps: &mut dyn Iterator<Item = Option<i64>>, by: i64| -> Vec<Option<i64>> {
        stamps.map(|stamp| stamp.map(|stamp| stamp.saturating_mul(by))).collect()
    };
    match cells.data_type() {
        DataType::Timestamp(TimeUnit::Second, _) => {
            Ok(scaled(&mut cells.as_primitive::<TimestampSecondType>().iter(), 1_000_000_000))
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            Ok(scaled(&mut cells.as_primitive::<TimestampMillisecondType>().iter(), 1_000_000))
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            Ok(scaled(&mut cells.as_primitive::<TimestampMicrosecondType>().iter(), 1_000))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            Ok(cells.as_primitive::<TimestampNanosecondType>().iter().collect())
        }
        DataType::Date32 => {
            Ok(scaled(&mut cells.as_primitive::<Date32Type>().iter().map(|days| days.map(i64::from)), DAY))
        }
        other => Err(Error::internal("stamps", format!("stamps of type {other}"))),
    }
}
