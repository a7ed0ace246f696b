//! Plain cells and plain tables: what a law's oracle is fed, read out of Arrow and put back.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, DurationNanosecondType, Float16Type, Float32Type, Float64Type, Int64Type,
    Time64NanosecondType, TimestampNanosecondType, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array, DurationNanosecondArray,
    FixedSizeBinaryArray, Float32Array, Float64Array, Int64Array, ListArray, StringViewArray, StructArray,
    Time64NanosecondArray, TimestampNanosecondArray, UInt64Array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Schema, TimeUnit};

/// One cell, outside of any column.
#[derive(Clone, Debug)]
pub enum Cell {
    /// No value.
    Null,
    /// A Boolean.
    Bool(bool),
    /// A signed integer of any width.
    Int(i64),
    /// An unsigned integer of any width.
    UInt(u64),
    /// A Float64.
    Float(f64),
    /// A Float32 or Float16.
    Float32(f32),
    /// Text.
    Str(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// Nanoseconds since the epoch.
    Timestamp(i64),
    /// Days since the epoch.
    Date(i32),
    /// Nanoseconds of the day.
    Time(i64),
    /// Nanoseconds.
    Duration(i64),
    /// Unscaled value and scale.
    Decimal(i128, i8),
    /// Several cells.
    List(Vec<Cell>),
    /// Anything else, as text.
    Opaque(String),
}

impl Cell {
    /// Equal as the engine counts it: NaN is NaN, both zeros are one, null is null.
    pub fn same(&self, other: &Cell) -> bool {
        match (self, other) {
            (Cell::Float(a), Cell::Float(b)) => a == b || (a.is_nan() && b.is_nan()),
            (Cell::Float32(a), Cell::Float32(b)) => a == b || (a.is_nan() && b.is_nan()),
            (Cell::Null, Cell::Null) => true,
            (Cell::Bool(a), Cell::Bool(b)) => a == b,
            (Cell::Int(a), Cell::Int(b)) => a == b,
            (Cell::UInt(a), Cell::UInt(b)) => a == b,
            (Cell::Str(a), Cell::Str(b)) | (Cell::Opaque(a), Cell::Opaque(b)) => a == b,
            (Cell::Bytes(a), Cell::Bytes(b)) => a == b,
            (Cell::Timestamp(a), Cell::Timestamp(b)) => a == b,
            (Cell::Date(a), Cell::Date(b)) => a == b,
            (Cell::Time(a), Cell::Time(b)) => a == b,
            (Cell::Duration(a), Cell::Duration(b)) => a == b,
            (Cell::Decimal(a, p), Cell::Decimal(b, q)) => (a, p) == (b, q),
            (Cell::List(a), Cell::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b)),
            _ => false,
        }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cell::Null => write!(out, "null"),
            Cell::Bool(x) => write!(out, "{x}"),
            Cell::Int(x) => write!(out, "{x}"),
            Cell::UInt(x) => write!(out, "{x}"),
            Cell::Float(x) => write!(out, "{x:?}"),
            Cell::Float32(x) => write!(out, "{x:?}"),
            Cell::Str(x) if is_bare(x) => write!(out, "{x}"),
            Cell::Str(x) => write!(out, "{x:?}"),
            Cell::Bytes(x) => {
                write!(out, "0x")?;
                x.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
            }
            Cell::Timestamp(x) | Cell::Time(x) | Cell::Duration(x) => write!(out, "{x}"),
            Cell::Date(x) => write!(out, "{x}"),
            Cell::Decimal(x, _) => write!(out, "{x}"),
            Cell::List(x) => write!(out, "[{}]", x.iter().map(Cell::to_string).collect::<Vec<_>>().join(",")),
            Cell::Opaque(x) => write!(out, "{x}"),
        }
    }
}

/// Whether text can stand in a drawing without quotes.
pub(super) fn is_bare(text: &str) -> bool {
    let word = text.chars().all(|c| c.is_alphanumeric() || c == '_');
    word && text.chars().next().is_some_and(char::is_alphabetic)
        && !["null", "true", "false", "NaN", "inf"].contains(&text)
}

/// Rows with their keys, in key order.
#[derive(Clone, Debug)]
pub struct Plain {
    /// Names and declared types.
    pub schema: Arc<Schema>,
    /// Row key and cells.
    pub rows: Vec<(u64, Vec<Cell>)>,
}

impl Plain {
    /// From keys and one array a column, in key order.
    pub fn from_arrays(schema: Arc<Schema>, keys: &[u64], columns: &[ArrayRef]) -> Plain {
        let mut rows: Vec<(u64, Vec<Cell>)> = keys.iter().map(|key| (*key, Vec::new())).collect();
        for column in columns {
            assert_eq!(column.len(), rows.len(), "one cell a key");
            rows.iter_mut().zip(cells_of(column)).for_each(|((_, row), cell)| row.push(cell));
        }
        Plain { schema, rows }
    }

    /// Column names, in order.
    pub fn names(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Where a column stands.
    pub fn index_of(&self, name: &str) -> usize {
        self.schema.index_of(name).expect("the test names a column that is there")
    }

    /// The first cell or row that differs, keys included; nothing if all is the same.
    pub fn first_difference(&self, other: &Plain) -> Option<String> {
        self.difference(other, true)
    }

    /// As [`first_difference`](Self::first_difference), but compares row by row and ignores the keys.
    pub fn first_difference_in_order(&self, other: &Plain) -> Option<String> {
        self.difference(other, false)
    }

    fn difference(&self, other: &Plain, with_keys: bool) -> Option<String> {
        for ((key, row), (other_key, other_row)) in self.rows.iter().zip(&other.rows) {
            if with_keys && key != other_key {
                return Some(format!("key {key} against key {other_key}"));
            }
            for (at, (cell, other_cell)) in row.iter().zip(other_row).enumerate() {
                if !cell.same(other_cell) {
                    return Some(format!("key {key}, {}: {cell} against {other_cell}", self.schema.field(at).name()));
                }
            }
        }
        match self.rows.len().cmp(&other.rows.len()) {
            Ordering::Equal => None,
            _ => Some(format!("{} rows against {}", self.rows.len(), other.rows.len())),
        }
    }
}

impl fmt::Display for Plain {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.names().join(" "))?;
        self.rows.iter().try_for_each(|(key, row)| {
            write!(out, " | {key}")?;
            row.iter().try_for_each(|cell| write!(out, " {cell}"))
        })
    }
}

/// The cells of an array of any type.
pub fn cells_of(array: &ArrayRef) -> Vec<Cell> {
    let array = widened(array);
    let some = |read: &dyn Fn(usize) -> Cell| -> Vec<Cell> {
        (0..array.len()).map(|at| if array.is_null(at) { Cell::Null } else { read(at) }).collect()
    };
    match array.data_type() {
        DataType::Null => vec![Cell::Null; array.len()],
        DataType::Boolean => some(&|at| Cell::Bool(array.as_boolean().value(at))),
        DataType::Int64 => some(&|at| Cell::Int(array.as_primitive::<Int64Type>().value(at))),
        DataType::UInt64 => some(&|at| Cell::UInt(array.as_primitive::<UInt64Type>().value(at))),
        DataType::Float16 => some(&|at| Cell::Float32(array.as_primitive::<Float16Type>().value(at).to_f32())),
        DataType::Float32 => some(&|at| Cell::Float32(array.as_primitive::<Float32Type>().value(at))),
        DataType::Float64 => some(&|at| Cell::Float(array.as_primitive::<Float64Type>().value(at))),
        DataType::Utf8View => some(&|at| Cell::Str(array.as_string_view().value(at).to_owned())),
        DataType::BinaryView => some(&|at| Cell::Bytes(array.as_binary_view().value(at).to_vec())),
        DataType::Date32 => some(&|at| Cell::Date(array.as_primitive::<Date32Type>().value(at))),
        DataType::Time64(_) => some(&|at| Cell::Time(array.as_primitive::<Time64NanosecondType>().value(at))),
        DataType::Timestamp(..) => {
            some(&|at| Cell::Timestamp(array.as_primitive::<TimestampNanosecondType>().value(at)))
        }
        DataType::Duration(_) => some(&|at| Cell::Duration(array.as_primitive::<DurationNanosecondType>().value(at))),
        DataType::Decimal128(_, scale) => {
            some(&|at| Cell::Decimal(array.as_primitive::<Decimal128Type>().value(at), *scale))
        }
        DataType::FixedSizeBinary(_) => some(&|at| Cell::Bytes(array.as_fixed_size_binary().value(at).to_vec())),
        DataType::List(_) => some(&|at| Cell::List(cells_of(&array.as_list::<i32>().value(at)))),
        DataType::Struct(_) => {
            let columns: Vec<Vec<Cell>> = array.as_struct().columns().iter().map(cells_of).collect();
            some(&|at| Cell::List(columns.iter().map(|cells| cells[at].clone()).collect()))
        }
        _ => some(&|at| Cell::Opaque(format!("{:?}", array.slice(at, 1)))),
    }
}

/// The one wide type of each family, so that reading knows few types.
fn wide(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Int8 | DataType::Int16 | DataType::Int32 => DataType::Int64,
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 => DataType::UInt64,
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        DataType::Date64 => DataType::Date32,
        DataType::Time32(_) | DataType::Time64(_) => DataType::Time64(TimeUnit::Nanosecond),
        DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Nanosecond, zone.clone()),
        DataType::Duration(_) => DataType::Duration(TimeUnit::Nanosecond),
        DataType::Decimal32(precision, scale) | DataType::Decimal64(precision, scale) => {
            DataType::Decimal128(*precision, *scale)
        }
        DataType::Dictionary(_, values) => wide(values),
        other => other.clone(),
    }
}

fn widened(array: &ArrayRef) -> ArrayRef {
    let wanted = wide(array.data_type());
    if wanted == *array.data_type() {
        return array.clone();
    }
    arrow_cast::cast(array, &wanted).expect("a type widens within its family")
}

/// The cells within a cell; of null so many.
fn parts_of(cell: &Cell, width: usize) -> &[Cell] {
    const NULLS: [Cell; 8] = [const { Cell::Null }; 8];
    match cell {
        Cell::Null => &NULLS[..width],
        Cell::List(parts) => parts,
        other => panic!("{other:?} in a nested column"),
    }
}

fn present(cells: &[Cell]) -> Option<NullBuffer> {
    Some(cells.iter().map(|cell| !matches!(cell, Cell::Null)).collect())
}

/// An array of this type with these cells; a cell of another family is a mistake of the test.
pub fn array_of(data_type: &DataType, cells: &[Cell]) -> ArrayRef {
    macro_rules! gather {
        ($array:ty, $variant:ident) => {
            Arc::new(
                cells
                    .iter()
                    .map(|cell| match cell {
                        Cell::Null => None,
                        Cell::$variant(x) => Some(x.clone()),
                        other => panic!("{other:?} in a column of {data_type}"),
                    })
                    .collect::<$array>(),
            )
        };
    }
    let array: ArrayRef = match wide(data_type) {
        DataType::Null => arrow_array::new_null_array(&DataType::Null, cells.len()),
        DataType::Boolean => gather!(BooleanArray, Bool),
        DataType::Int64 => gather!(Int64Array, Int),
        DataType::UInt64 => gather!(UInt64Array, UInt),
        DataType::Float16 | DataType::Float32 => gather!(Float32Array, Float32),
        DataType::Float64 => gather!(Float64Array, Float),
        DataType::Utf8View => gather!(StringViewArray, Str),
        DataType::BinaryView => gather!(BinaryViewArray, Bytes),
        DataType::Date32 => gather!(Date32Array, Date),
        DataType::Time64(_) => gather!(Time64NanosecondArray, Time),
        DataType::Duration(_) => gather!(DurationNanosecondArray, Duration),
        DataType::Timestamp(_, zone) => {
            let stamps: Arc<TimestampNanosecondArray> = gather!(TimestampNanosecondArray, Timestamp);
            Arc::new(stamps.as_ref().clone().with_timezone_opt(zone))
        }
        DataType::Decimal128(precision, scale) => {
            let unscaled = cells.iter().map(|cell| match cell {
                Cell::Null => None,
                Cell::Decimal(x, _) => Some(*x),
                other => panic!("{other:?} in a column of {data_type}"),
            });
            let decimals = unscaled.collect::<Decimal128Array>().with_precision_and_scale(precision, scale);
            Arc::new(decimals.expect("the test gives decimals that fit"))
        }
        DataType::FixedSizeBinary(width) => {
            let bytes = cells.iter().map(|cell| match cell {
                Cell::Null => None,
                Cell::Bytes(x) => Some(x.as_slice()),
                other => panic!("{other:?} in a column of {data_type}"),
            });
            let array = FixedSizeBinaryArray::try_from_sparse_iter_with_size(bytes, width);
            Arc::new(array.expect("the test gives bytes that fit"))
        }
        DataType::List(item) => {
            let lists: Vec<&[Cell]> = cells.iter().map(|cell| parts_of(cell, 0)).collect();
            let offsets = OffsetBuffer::from_lengths(lists.iter().map(|list| list.len()));
            Arc::new(ListArray::new(item.clone(), offsets, array_of(item.data_type(), &lists.concat()), present(cells)))
        }
        DataType::Struct(fields) => {
            let column = |(at, field): (usize, &Arc<Field>)| {
                let cells: Vec<Cell> = cells.iter().map(|cell| parts_of(cell, fields.len())[at].clone()).collect();
                array_of(field.data_type(), &cells)
            };
            let columns = fields.iter().enumerate().map(column).collect();
            Arc::new(StructArray::new(fields.clone(), columns, present(cells)))
        }
        other => panic!("tests make no column of {other}"),
    };
    if array.data_type() == data_type {
        array
    } else if let DataType::Dictionary(_, values) = data_type {
        let values = arrow_cast::cast(&array, values).expect("a cell fits its column");
        arrow_cast::cast(&values, data_type).expect("values are made a dictionary")
    } else {
        arrow_cast::cast(&array, data_type).expect("a cell fits its column")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_of_every_kind_give_back_their_cells() {
        let cases: Vec<(DataType, Vec<Cell>)> = vec![
            (DataType::Boolean, vec![Cell::Bool(true), Cell::Null, Cell::Bool(false)]),
            (DataType::Int8, vec![Cell::Int(-128), Cell::Null, Cell::Int(127)]),
            (DataType::Int64, vec![Cell::Int(i64::MIN), Cell::Null]),
            (DataType::UInt32, vec![Cell::UInt(u64::from(u32::MAX)), Cell::Null]),
            (DataType::UInt64, vec![Cell::UInt(u64::MAX)]),
            (DataType::Float32, vec![Cell::Float32(f32::NAN), Cell::Float32(-0.0)]),
            (DataType::Float64, vec![Cell::Float(f64::NAN), Cell::Float(f64::NEG_INFINITY), Cell::Null]),
            (DataType::Utf8, vec![Cell::Str(String::new()), Cell::Null, Cell::Str("longer than twelve bytes".into())]),
            (DataType::Utf8View, vec![Cell::Str("é".into())]),
            (DataType::LargeBinary, vec![Cell::Bytes(vec![0, 255]), Cell::Null]),
            (DataType::Date32, vec![Cell::Date(-1), Cell::Null]),
            (DataType::Time64(TimeUnit::Nanosecond), vec![Cell::Time(1)]),
            (
                DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
                vec![Cell::Timestamp(i64::MAX), Cell::Null],
            ),
            (DataType::Timestamp(TimeUnit::Second, None), vec![Cell::Timestamp(5_000_000_000)]),
            (DataType::Duration(TimeUnit::Nanosecond), vec![Cell::Duration(-7)]),
            (DataType::Decimal128(10, 2), vec![Cell::Decimal(-123, 2), Cell::Null]),
        ];
        for (data_type, cells) in cases {
            let array = array_of(&data_type, &cells);
            assert_eq!(array.data_type(), &data_type);
            let back = cells_of(&array);
            assert!(
                back.len() == cells.len() && back.iter().zip(&cells).all(|(a, b)| a.same(b)),
                "{data_type}: {back:?}"
            );
        }
    }

    #[test]
    fn a_difference_is_named_by_key_and_column() {
        let schema = Arc::new(Schema::new(vec![arrow_schema::Field::new("v", DataType::Int64, true)]));
        let plain = |keys: &[u64], cells: &[Cell]| {
            Plain::from_arrays(schema.clone(), keys, &[array_of(&DataType::Int64, cells)])
        };
        let a = plain(&[1, 5], &[Cell::Int(1), Cell::Null]);
        assert_eq!(a.first_difference(&a), None);
        assert_eq!(
            a.first_difference(&plain(&[1, 5], &[Cell::Int(1), Cell::Int(2)])).as_deref(),
            Some("key 5, v: null against 2")
        );
        assert_eq!(a.first_difference(&plain(&[1], &[Cell::Int(1)])).as_deref(), Some("2 rows against 1"));
        assert_eq!(a.to_string(), "v | 1 1 | 5 null");
    }
}
