//! The gate for Arrow data from outside: whether a schema has bounded size, whether an array is what its type says.
//!
//! Nobody looks at these again. Kernels read offsets, views and keys unchecked, and take a time of day for one. Who made the
//! memory decides whether it is shared: a copy is made before the array is judged, so what was judged stays.

mod copy;
pub use copy::copy_bytes;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::error::Error;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType,
    Time32MillisecondType, Time32SecondType, Time64MicrosecondType, Time64NanosecondType,
};
use arrow_array::{ArrayRef, OffsetSizeTrait, make_array};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use limits::bounds::{COLUMNS, FIELDS, METADATA_BYTES, NAME_BYTES, NAMES_BYTES, NESTING};

/// Why data from outside is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsound {
    /// The column, if it is one column's fault.
    pub column: Option<String>,
    /// What is wrong.
    pub why: String,
    /// Whether the data may be sound, but there is no memory for a copy of it.
    pub exhausted: bool,
}

impl Unsound {
    /// A fault of no column in particular.
    pub fn new(why: impl Into<String>) -> Unsound {
        Unsound { column: None, why: why.into(), exhausted: false }
    }

    /// Names the column in which the fault was found.
    #[must_use]
    pub fn of(self, column: &str) -> Unsound {
        Unsound { column: Some(shortened(column)), ..self }
    }
}

impl fmt::Display for Unsound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.column {
            Some(column) => write!(f, "column {column:?}: {}", self.why),
            None => f.write_str(&self.why),
        }
    }
}

impl std::error::Error for Unsound {}

impl From<Error> for Unsound {
    fn from(error: Error) -> Unsound {
        Unsound { exhausted: matches!(error, Error::Exhausted(_)), ..Unsound::new(error.to_string()) }
    }
}

/// A name, or as much of it as a message can show.
pub fn shortened(name: &str) -> String {
    const LONGEST: usize = 60;
    if name.chars().nth(LONGEST).is_none() {
        return name.to_owned();
    }
    name.chars().take(LONGEST).chain(['…']).collect()
}

/// Counts what a schema holds, and refuses it as soon as it is too much.
#[derive(Default)]
pub struct Tally {
    fields: usize,
    name_bytes: usize,
    metadata_bytes: usize,
}

impl Tally {
    /// So many columns.
    pub fn columns(columns: usize) -> Result<(), Unsound> {
        if columns > COLUMNS {
            return Err(Unsound::new(format!("{columns} columns, but a table has at most {COLUMNS}")));
        }
        Ok(())
    }

    /// A field so many types below its column, with bytes of a name and of metadata.
    pub fn field(&mut self, depth: usize, name: usize, metadata: usize) -> Result<(), Unsound> {
        Tally::nested(depth)?;
        Tally::name(name)?;
        self.fields += 1;
        self.name_bytes += name;
        self.metadata_bytes += metadata;
        let over = |what: &str, most: usize| Err(Unsound::new(format!("the schema has more than {most} {what}")));
        if self.fields > FIELDS {
            return over("fields, those of structs and lists counted", FIELDS);
        }
        if self.name_bytes > NAMES_BYTES {
            return over("bytes of names", NAMES_BYTES);
        }
        if self.metadata_bytes > METADATA_BYTES {
            return over("bytes of metadata", METADATA_BYTES);
        }
        Ok(())
    }

    /// Types so deep within types.
    pub fn nested(depth: usize) -> Result<(), Unsound> {
        if depth > NESTING {
            return Err(Unsound::new(format!("types are nested more than {NESTING} deep")));
        }
        Ok(())
    }

    /// A name of so many bytes.
    pub fn name(bytes: usize) -> Result<(), Unsound> {
        if bytes > NAME_BYTES {
            return Err(Unsound::new(format!("a name of {bytes} bytes; one has at most {NAME_BYTES}")));
        }
        Ok(())
    }
}

/// Refuses a schema that is too wide, too deep or too long, and types that are none.
pub fn schema(schema: &Schema) -> Result<(), Unsound> {
    Tally::columns(schema.fields().len())?;
    let mut tally = Tally::default();
    tally.field(0, 0, schema.metadata().iter().map(|(key, value)| key.len() + value.len()).sum())?;
    schema.fields().iter().try_for_each(|column| {
        let told = |unsound: Unsound| unsound.of(column.name());
        field(column, 0, &mut tally).map_err(told)
    })
}

fn field(field: &Field, depth: usize, tally: &mut Tally) -> Result<(), Unsound> {
    let metadata = field.metadata().iter().map(|(key, value)| key.len() + value.len()).sum();
    tally.field(depth, field.name().len(), metadata)?;
    data_type(field.data_type(), depth, tally)
}

/// Refuses a type that nests too deep, or is none.
pub fn one_type(kind: &DataType) -> Result<(), Unsound> {
    data_type(kind, 0, &mut Tally::default())
}

fn data_type(kind: &DataType, depth: usize, tally: &mut Tally) -> Result<(), Unsound> {
    Tally::nested(depth)?;
    let no_type = || Err(Unsound::new(format!("{kind} is no type")));
    let mut inner = |item: &Field| field(item, depth + 1, tally);
    match kind {
        DataType::Decimal32(precision, scale) => decimal(kind, *precision, *scale, 9),
        DataType::Decimal64(precision, scale) => decimal(kind, *precision, *scale, 18),
        DataType::Decimal128(precision, scale) => decimal(kind, *precision, *scale, 38),
        DataType::Decimal256(precision, scale) => decimal(kind, *precision, *scale, 76),
        DataType::Time32(TimeUnit::Microsecond | TimeUnit::Nanosecond) => no_type(),
        DataType::Time64(TimeUnit::Second | TimeUnit::Millisecond) => no_type(),
        DataType::FixedSizeBinary(width) if *width < 0 => no_type(),
        DataType::FixedSizeList(_, width) if *width < 0 => no_type(),
        DataType::Timestamp(_, Some(zone)) => Tally::name(zone.len()),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _) => inner(item),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(pair) if pair.len() == 2 => inner(entries),
            _ => no_type(),
        },
        DataType::Struct(fields) => fields.iter().try_for_each(|item| inner(item)),
        DataType::Union(fields, _) => fields.iter().try_for_each(|(_, item)| inner(item)),
        DataType::Dictionary(key, value) if key.is_integer() => data_type(value, depth + 1, tally),
        DataType::Dictionary(..) => no_type(),
        DataType::RunEndEncoded(ends, values) => match ends.data_type() {
            DataType::Int16 | DataType::Int32 | DataType::Int64 => inner(values),
            _ => no_type(),
        },
        _ => Ok(()),
    }
}

fn decimal(kind: &DataType, precision: u8, scale: i8, most: u8) -> Result<(), Unsound> {
    let fits = (1..=most).contains(&precision) && i16::from(scale).unsigned_abs() <= u16::from(precision.max(most));
    if fits && i16::from(scale) <= i16::from(precision) {
        return Ok(());
    }
    Err(Unsound::new(format!("{kind} is no type: digits are 1 to {most}, those after the point not more")))
}

/// What becomes of the memory of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// It stays where it is: nobody writes to it while somebody reads it.
    Shared,
    /// It is copied, all of it, and only the part that the array has of it.
    Copied,
}

/// Cells that a decoder of Arrow IPC gave. It looks at its buffers; what it does not look at is looked at here.
///
/// # Errors
/// They are not what their type says.
pub fn decoded(cells: &ArrayRef) -> Result<ArrayRef, Unsound> {
    let kind = cells.data_type();
    let is_seen = !kind.is_nested() && !kind.is_decimal() && !matches!(kind, DataType::Time32(_) | DataType::Time64(_));
    if is_seen { Ok(cells.clone()) } else { array(cells.to_data(), Memory::Shared) }
}

/// The array of this data, if it is what its type says: offsets, views and keys lead somewhere, text is UTF-8, decimals have
/// their digits, times are of a day, nulls are counted right.
///
/// The type has been through [`schema`] or [`one_type`]. A copy is judged after it was made: what somebody writes to the
/// original meanwhile makes it wrong, but not unsound.
pub fn array(data: ArrayData, memory: Memory) -> Result<ArrayRef, Unsound> {
    let data = match memory {
        Memory::Shared => data,
        Memory::Copied => copy::copied(&data)?,
    };
    if !is_sound_ascii(&data) {
        data.validate_full().map_err(|wrong| Unsound::new(wrong.to_string()))?;
    }
    cells(&data)?;
    Ok(make_array(data))
}

/// Whether the data is of sound texts of nothing but ASCII, which may be cut anywhere: what Arrow asks of each text is then
/// known of all at once. Whatever is not is judged by Arrow.
fn is_sound_ascii(data: &ArrayData) -> bool {
    match data.data_type() {
        DataType::Utf8 => has_ascii::<i32>(data),
        DataType::LargeUtf8 => has_ascii::<i64>(data),
        _ => false,
    }
}

fn has_ascii<O: OffsetSizeTrait>(data: &ArrayData) -> bool {
    if data.is_empty() || data.validate().is_err() || data.validate_nulls().is_err() {
        return false;
    }
    let (offsets, bytes) = (&data.buffer::<O>(0)[..=data.len()], data.buffers()[1].as_slice());
    let (Some(first), Some(last)) = (offsets[0].to_usize(), offsets[data.len()].to_usize()) else { return false };
    simd::widest(Ascend(offsets)) && bytes.get(first..last).is_some_and(<[u8]>::is_ascii)
}

/// Whether no offset is less than the one before it.
struct Ascend<'a, O>(&'a [O]);

impl<O: OffsetSizeTrait> simd::Loop for Ascend<'_, O> {
    type Made = bool;

    #[inline(always)]
    fn run<const BITS: usize>(self) -> bool {
        self.0.windows(2).fold(true, |ascend, pair| ascend & (pair[0] <= pair[1]))
    }
}

fn cells(data: &ArrayData) -> Result<(), Unsound> {
    const SECONDS: i64 = 86_400;
    match data.data_type() {
        DataType::Decimal32(precision, _) => digits::<Decimal32Type>(data, *precision)?,
        DataType::Decimal64(precision, _) => digits::<Decimal64Type>(data, *precision)?,
        DataType::Decimal128(precision, _) => digits::<Decimal128Type>(data, *precision)?,
        DataType::Decimal256(precision, _) => digits::<Decimal256Type>(data, *precision)?,
        DataType::Time32(TimeUnit::Second) => {
            within::<Time32SecondType>(data, |time| (0..SECONDS).contains(&i64::from(time)))?;
        }
        DataType::Time32(_) => {
            within::<Time32MillisecondType>(data, |time| (0..SECONDS * 1000).contains(&i64::from(time)))?;
        }
        DataType::Time64(TimeUnit::Microsecond) => {
            within::<Time64MicrosecondType>(data, |time| (0..SECONDS * 1_000_000).contains(&time))?;
        }
        DataType::Time64(_) => {
            within::<Time64NanosecondType>(data, |time| (0..SECONDS * 1_000_000_000).contains(&time))?;
        }
        _ => {}
    }
    data.child_data().iter().try_for_each(cells)
}

fn digits<T: DecimalType>(data: &ArrayData, precision: u8) -> Result<(), Unsound> {
    within::<T>(data, |cell| T::is_valid_decimal_precision(cell, precision))
}

fn within<T: ArrowPrimitiveType>(data: &ArrayData, fits: impl Fn(T::Native) -> bool) -> Result<(), Unsound> {
    let cells = &data.buffer::<T::Native>(0)[..data.len()];
    match (0..cells.len()).find(|&row| !fits(cells[row]) && data.is_valid(row)) {
        None => Ok(()),
        Some(row) => Err(Unsound::new(format!("the value {:?} in row {row} is no {}", cells[row], data.data_type()))),
    }
}
