//! Canonical types: one physical storage per family, and the conversions at the border.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date64Type, Int64Type, IntervalMonthDayNanoType};
use arrow_array::{Array, ArrayRef, IntervalDayTimeArray, IntervalYearMonthArray, new_null_array};
use arrow_buffer::IntervalDayTime;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};

use crate::error::Error;
use crate::kernels::views::{from_views, to_views};
use crate::sizes::OFFSETS;
use crate::types::views::length;

const MILLISECONDS_A_DAY: i64 = 86_400_000;

/// How cells of a canonical type lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Booleans.
    Bool,
    /// Signed integers of one byte.
    I8,
    /// Signed integers of two bytes.
    I16,
    /// Signed integers of four bytes; dates.
    I32,
    /// Signed integers of eight bytes; timestamps, durations, times of day.
    I64,
    /// Unsigned integers of one byte.
    U8,
    /// Unsigned integers of two bytes.
    U16,
    /// Unsigned integers of four bytes.
    U32,
    /// Unsigned integers of eight bytes.
    U64,
    /// Half precision floats.
    F16,
    /// Single precision floats.
    F32,
    /// Double precision floats.
    F64,
    /// Decimals of 128 bits.
    I128,
    /// Decimals of 256 bits.
    I256,
    /// Byte strings of one fixed length.
    Fixed(i32),
    /// Text, as views.
    Str,
    /// Byte strings, as views.
    Bytes,
    /// Calendar periods: months, days, nanoseconds.
    MonthDayNano,
    /// Lists, structs, maps, dictionaries, unions and nulls: carried as given.
    Opaque,
}

impl Kind {
    /// The kind of a canonical type; a type that is not canonical has the kind of its canonical form.
    pub fn of(data_type: &DataType) -> Kind {
        match canonical(data_type) {
            DataType::Boolean => Kind::Bool,
            DataType::Int8 => Kind::I8,
            DataType::Int16 => Kind::I16,
            DataType::Int32 | DataType::Date32 => Kind::I32,
            DataType::Int64 | DataType::Time64(_) | DataType::Timestamp(..) | DataType::Duration(_) => Kind::I64,
            DataType::UInt8 => Kind::U8,
            DataType::UInt16 => Kind::U16,
            DataType::UInt32 => Kind::U32,
            DataType::UInt64 => Kind::U64,
            DataType::Float16 => Kind::F16,
            DataType::Float32 => Kind::F32,
            DataType::Float64 => Kind::F64,
            DataType::Decimal128(..) => Kind::I128,
            DataType::Decimal256(..) => Kind::I256,
            DataType::FixedSizeBinary(size) => Kind::Fixed(size),
            DataType::Utf8View => Kind::Str,
            DataType::BinaryView => Kind::Bytes,
            DataType::Interval(_) => Kind::MonthDayNano,
            _ => Kind::Opaque,
        }
    }

    /// Bytes of one cell in a block; none for opaque kinds. A Boolean takes a byte there.
    pub fn width(self) -> Option<usize> {
        match self {
            Kind::Bool | Kind::I8 | Kind::U8 => Some(1),
            Kind::I16 | Kind::U16 | Kind::F16 => Some(2),
            Kind::I32 | Kind::U32 | Kind::F32 => Some(4),
            Kind::I64 | Kind::U64 | Kind::F64 => Some(8),
            Kind::I128 | Kind::Str | Kind::Bytes | Kind::MonthDayNano => Some(16),
            Kind::I256 => Some(32),
            Kind::Fixed(size) => usize::try_from(size).ok(),
            Kind::Opaque => None,
        }
    }
}

/// Bytes that a cell of this type takes by itself, at least: what texts and lists hold lies elsewhere.
pub fn width(data_type: &DataType) -> u64 {
    match data_type {
        DataType::Null => 0,
        DataType::Boolean => 1,
        DataType::FixedSizeBinary(width) => u64::try_from(*width).unwrap_or(0),
        DataType::FixedSizeList(item, len) => width(item.data_type()).saturating_mul(u64::try_from(*len).unwrap_or(0)),
        DataType::Struct(fields) => fields.iter().map(|field| width(field.data_type())).sum(),
        DataType::Utf8View | DataType::BinaryView => 16,
        other => other.primitive_width().map_or(8, |width| width as u64),
    }
}

/// The type in which cells of `data_type` are stored.
pub fn canonical(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        DataType::Date64 => DataType::Date32,
        DataType::Time32(_) | DataType::Time64(_) => DataType::Time64(TimeUnit::Nanosecond),
        DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Nanosecond, zone.clone()),
        DataType::Duration(_) => DataType::Duration(TimeUnit::Nanosecond),
        DataType::Interval(_) => DataType::Interval(IntervalUnit::MonthDayNano),
        DataType::Decimal32(precision, scale) | DataType::Decimal64(precision, scale) => {
            DataType::Decimal128(*precision, *scale)
        }
        DataType::RunEndEncoded(_, values) => canonical(values.data_type()),
        other => other.clone(),
    }
}

/// Converts cells to their canonical type. A value that does not fit is an error; nothing is truncated.
pub fn to_canonical(array: &ArrayRef) -> Result<ArrayRef, Error> {
    let wanted = canonical(array.data_type());
    if let DataType::Date64 = array.data_type() {
        refuse_times_of_day(array, &wanted)?;
    }
    if let DataType::RunEndEncoded(_, values) = array.data_type() {
        let decoded = cast(array, values.data_type())?;
        return to_canonical(&decoded);
    }
    match to_views(array) {
        Some(views) => Ok(views),
        None => cast(array, &wanted),
    }
}

/// Whether all cells have a canonical form, without making it.
pub fn check_canonical(array: &ArrayRef) -> Result<(), Error> {
    let wanted = canonical(array.data_type());
    let unit = match array.data_type() {
        DataType::Date64 => return refuse_times_of_day(array, &wanted),
        DataType::Timestamp(unit, _) | DataType::Duration(unit) => *unit,
        _ => return Ok(()),
    };
    let (most, name) = match unit {
        TimeUnit::Second => (i64::MAX / 1_000_000_000, "s"),
        TimeUnit::Millisecond => (i64::MAX / 1_000_000, "ms"),
        TimeUnit::Microsecond => (i64::MAX / 1_000, "µs"),
        TimeUnit::Nanosecond => return Ok(()),
    };
    let ticks = cast(array, &DataType::Int64)?;
    let ticks = ticks.as_primitive::<Int64Type>();
    let far = |&row: &usize| ticks.is_valid(row) && !(-most..=most).contains(&ticks.value(row));
    match (0..ticks.len()).find(far) {
        None => Ok(()),
        Some(row) => Err(Error::Unfit { row, value: format!("{} {name}", ticks.value(row)), to: wanted }),
    }
}

/// Converts cells to the type the schema declares. Fails if a value loses precision, and if the texts take more bytes
/// than one array of that type can hold.
pub fn to_declared(array: &ArrayRef, declared: &DataType) -> Result<ArrayRef, Error> {
    if array.data_type() == declared {
        return Ok(array.clone());
    }
    let narrowed = match declared {
        DataType::Interval(unit) => narrow_interval(array, *unit)?,
        _ => cast(array, declared)?,
    };
    if may_lose(declared) {
        refuse_loss(array, &narrowed, declared)?;
    }
    Ok(narrowed)
}

/// Converts cells to the declared type. Texts that take more bytes than its offsets can address become several arrays.
pub(crate) fn to_declared_pieces(pieces: Vec<ArrayRef>, declared: &DataType) -> Result<Vec<ArrayRef>, Error> {
    let mut converted = Vec::with_capacity(pieces.len());
    for piece in &pieces {
        for (from, len) in within_offsets(piece, declared)? {
            converted.push(to_declared(&piece.slice(from, len), declared)?);
        }
    }
    Ok(converted)
}

/// The lengths of an array's texts, if they are to leave with offsets of 32 bits, and may be more than these reach.
fn lengths_to_count(array: &ArrayRef, declared: &DataType) -> Option<Vec<usize>> {
    if !matches!(declared, DataType::Utf8 | DataType::Binary) {
        return None;
    }
    // What a null says counts too: few columns come near.
    let of_views = |views: &[u128]| {
        let most: usize = views.iter().map(|&view| length(view)).sum();
        (most > OFFSETS.get()).then(|| views.iter().map(|&view| length(view)).collect())
    };
    let of_offsets = |offsets: &[i64]| {
        let most = offsets.last().zip(offsets.first()).map_or(0, |(last, first)| (last - first) as usize);
        (most > OFFSETS.get()).then(|| offsets.windows(2).map(|ends| (ends[1] - ends[0]) as usize).collect())
    };
    let mut lengths: Vec<usize> = match array.data_type() {
        DataType::Utf8View => of_views(array.as_string_view().views()),
        DataType::BinaryView => of_views(array.as_binary_view().views()),
        DataType::LargeUtf8 => of_offsets(array.as_string::<i64>().value_offsets()),
        DataType::LargeBinary => of_offsets(array.as_binary::<i64>().value_offsets()),
        _ => None,
    }?;
    // Of a null nothing leaves.
    lengths.iter_mut().enumerate().filter(|(row, _)| array.is_null(*row)).for_each(|(_, length)| *length = 0);
    Some(lengths)
}

/// Stretches of an array, by start and length, whose texts each fit one array of the declared type.
fn within_offsets(array: &ArrayRef, declared: &DataType) -> Result<Vec<(usize, usize)>, Error> {
    segments(std::slice::from_ref(array), &[declared])
}

/// Stretches of rows, by start and length, in which the texts of each column fit one array of the type declared for it.
///
/// # Errors
/// [`Error::OneArray`] if a single text does not.
pub fn segments(columns: &[ArrayRef], declared: &[&DataType]) -> Result<Vec<(usize, usize)>, Error> {
    let rows = columns.first().map_or(0, |column| column.len());
    let counted = columns.iter().zip(declared).filter_map(|(column, to)| Some((lengths_to_count(column, to)?, *to)));
    let counted: Vec<(Vec<usize>, &DataType)> = counted.collect();
    let limit = OFFSETS.get();
    let (mut segments, mut from, mut bytes) = (Vec::new(), 0, vec![0; counted.len()]);
    for row in 0..if counted.is_empty() { 0 } else { rows } {
        if let Some((lengths, to)) = counted.iter().find(|(lengths, _)| lengths[row] > limit) {
            return Err(Error::OneArray { bytes: lengths[row], to: DataType::clone(to) });
        }
        if counted.iter().zip(&bytes).any(|((lengths, _), bytes)| bytes + lengths[row] > limit) {
            segments.push((from, row - from));
            from = row;
            bytes.fill(0);
        }
        counted.iter().zip(&mut bytes).for_each(|((lengths, _), bytes)| *bytes += lengths[row]);
    }
    segments.push((from, rows - from));
    Ok(segments)
}

/// Casts cells to another type. A value that does not fit is an error with its row; texts that take more bytes than one
/// array of that type can hold are an error with the number of bytes.
pub fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, Error> {
    if array.data_type() == to {
        return Ok(array.clone());
    }
    if array.null_count() == array.len() {
        return Ok(new_null_array(to, array.len()));
    }
    let bytes = lengths_to_count(array, to).map_or(0, |lengths| lengths.iter().sum());
    if bytes > OFFSETS.get() {
        return Err(Error::OneArray { bytes, to: to.clone() });
    }
    if let Some(texts) = from_views(array, to) {
        return Ok(texts);
    }
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    let fails = |from: usize, len: usize| cast_with_options(&array.slice(from, len), to, &strict).is_err();
    cast_with_options(array, to, &strict).map_err(|error| match first_failing(array.len(), fails) {
        Some(row) => Error::Unfit { row, value: text_of(array, row), to: to.clone() },
        None => error.into(),
    })
}

/// The first of so many rows that fails by itself, found by halves; `fails` tells of a range, by its start and length.
fn first_failing(rows: usize, fails: impl Fn(usize, usize) -> bool) -> Option<usize> {
    let (mut from, mut len) = (0, rows);
    while len > 1 {
        let half = len / 2;
        if fails(from, half) {
            len = half;
        } else {
            (from, len) = (from + half, len - half);
        }
    }
    (len == 1 && fails(from, 1)).then_some(from)
}

fn text_of(array: &ArrayRef, row: usize) -> String {
    arrow_cast::display::array_value_to_string(array, row).unwrap_or_default()
}

fn may_lose(declared: &DataType) -> bool {
    matches!(
        declared,
        DataType::Time32(_)
            | DataType::Time64(_)
            | DataType::Timestamp(..)
            | DataType::Duration(_)
            | DataType::Interval(_)
    )
}

fn refuse_loss(array: &ArrayRef, narrowed: &ArrayRef, declared: &DataType) -> Result<(), Error> {
    let back = cast(narrowed, array.data_type())?;
    if back.to_data() == array.to_data() {
        return Ok(());
    }
    let row = (0..array.len()).find(|&row| array.slice(row, 1).to_data() != back.slice(row, 1).to_data());
    match row {
        None => Ok(()),
        Some(row) => Err(loss(array, row, declared)),
    }
}

fn refuse_times_of_day(array: &ArrayRef, wanted: &DataType) -> Result<(), Error> {
    let stamps = array.as_primitive::<Date64Type>();
    let torn = |&row: &usize| stamps.is_valid(row) && stamps.value(row) % MILLISECONDS_A_DAY != 0;
    match (0..stamps.len()).find(torn) {
        None => Ok(()),
        Some(row) => Err(loss(array, row, wanted)),
    }
}

fn loss(array: &ArrayRef, row: usize, to: &DataType) -> Error {
    Error::PrecisionLoss { row, value: text_of(array, row), to: to.clone() }
}

/// Arrow has no cast in this direction; what a narrower unit cannot hold is left for the loss check.
fn narrow_interval(array: &ArrayRef, unit: IntervalUnit) -> Result<ArrayRef, Error> {
    let wide = array.as_primitive::<IntervalMonthDayNanoType>();
    Ok(match unit {
        IntervalUnit::MonthDayNano => array.clone(),
        IntervalUnit::YearMonth => {
            Arc::new(wide.iter().map(|cell| cell.map(|period| period.months)).collect::<IntervalYearMonthArray>())
        }
        IntervalUnit::DayTime => {
            let narrow = |period: arrow_buffer::IntervalMonthDayNano| {
                let milliseconds = i32::try_from(period.nanoseconds / 1_000_000).unwrap_or(i32::MAX);
                IntervalDayTime::new(period.days, milliseconds)
            };
            Arc::new(wide.iter().map(|cell| cell.map(narrow)).collect::<IntervalDayTimeArray>())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::*;

    fn both_ways(declared: ArrayRef) -> ArrayRef {
        let stored = to_canonical(&declared).unwrap();
        assert_eq!(stored.data_type(), &canonical(declared.data_type()));
        assert_eq!(&canonical(stored.data_type()), stored.data_type(), "canonical is its own canonical form");
        assert_eq!(&to_declared(&stored, declared.data_type()).unwrap(), &declared);
        stored
    }

    #[test]
    fn declared_types_come_back_as_they_went() {
        let text = [Some("one"), None, Some("a text of more than twelve bytes")];
        both_ways(Arc::new(StringArray::from_iter(text)));
        both_ways(Arc::new(LargeStringArray::from_iter(text)));
        both_ways(Arc::new(BinaryArray::from_iter(text.map(|cell| cell.map(str::as_bytes)))));
        both_ways(Arc::new(Date64Array::from(vec![Some(-86_400_000), None, Some(0)])));
        both_ways(Arc::new(Time32MillisecondArray::from(vec![Some(1), None])));
        both_ways(Arc::new(TimestampMicrosecondArray::from(vec![Some(-1), None]).with_timezone("Europe/Berlin")));
        both_ways(Arc::new(DurationSecondArray::from(vec![Some(5), None])));
        both_ways(Arc::new(Decimal32Array::from(vec![Some(123), None]).with_precision_and_scale(5, 2).unwrap()));
        both_ways(Arc::new(Decimal64Array::from(vec![Some(-9), None]).with_precision_and_scale(15, 3).unwrap()));
        both_ways(Arc::new(IntervalYearMonthArray::from(vec![Some(14), None])));
        both_ways(Arc::new(IntervalDayTimeArray::from(vec![Some(IntervalDayTime::new(3, -4)), None])));
        both_ways(Arc::new(BooleanArray::from(vec![Some(true), None])));
        both_ways(new_null_array(&DataType::Timestamp(TimeUnit::Second, None), 3));
    }

    #[test]
    fn precision_is_never_cut_silently() {
        let stamps: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![Some(2_000), None, Some(1_999)]));
        let wanted = DataType::Timestamp(TimeUnit::Microsecond, None);
        let error = to_declared(&stamps, &wanted).unwrap_err();
        assert!(matches!(error, Error::PrecisionLoss { row: 2, .. }), "{error}");
        assert!(error.to_string().contains("row 2"), "{error}");

        for at in 0..5 {
            let texts = (0..5).map(|row| if row < at { "1" } else { "one" });
            let texts: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
            let error = cast(&texts, &DataType::Int64).unwrap_err();
            assert_eq!(error.to_string(), format!("row {at}: one does not fit Int64"));
        }

        let torn: ArrayRef = Arc::new(Date64Array::from(vec![0, 86_400_001]));
        assert!(matches!(to_canonical(&torn), Err(Error::PrecisionLoss { row: 1, .. })));
        let far: ArrayRef = Arc::new(TimestampSecondArray::from(vec![i64::MAX / 1000]));
        assert_eq!(
            check_canonical(&far).unwrap_err().to_string(),
            "row 0: 9223372036854775 s does not fit Timestamp(ns)"
        );
        assert!(matches!(to_canonical(&far), Err(Error::Unfit { row: 0, .. })), "beyond the range of nanoseconds");
        let days = arrow_buffer::IntervalMonthDayNano::new(1, 1, 0);
        let period: ArrayRef = Arc::new(IntervalMonthDayNanoArray::from(vec![days]));
        assert!(to_declared(&period, &DataType::Interval(IntervalUnit::YearMonth)).is_err());
    }

    #[test]
    fn every_canonical_kind_has_a_width_but_opaque() {
        for data_type in crate::tests::model::every_type() {
            assert_eq!(canonical(&data_type), data_type);
            assert_eq!(Kind::of(&data_type).width().is_none(), Kind::of(&data_type) == Kind::Opaque, "{data_type}");
        }
    }
}
