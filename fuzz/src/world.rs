//! The table that formulas and expressions are evaluated over: eight rows of every family, with edges and nulls.

use std::sync::{Arc, LazyLock};

use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_array::{
    Array, ArrayRef, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array, DurationNanosecondArray,
    Float64Array, Int32Array, Int64Array, StringViewArray, Time64NanosecondArray, TimestampNanosecondArray,
    UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use formula::Bound;

/// Rows of the table.
pub const ROWS: usize = 8;

/// Its columns.
pub static COLUMNS: LazyLock<Vec<(&'static str, ArrayRef)>> = LazyLock::new(columns);

/// Its schema.
pub static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    let field = |(name, cells): &(&'static str, ArrayRef)| Field::new(*name, cells.data_type().clone(), true);
    Schema::new(COLUMNS.iter().map(field).collect::<Vec<_>>())
});

fn columns() -> Vec<(&'static str, ArrayRef)> {
    let words = [0, 1, -1, i64::MAX, i64::MIN, 7, 1 << 31, 1_700_000_000_000_000_000];
    let words = || words.into_iter().enumerate().map(|(at, word)| (at != 5).then_some(word));
    let floats = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1.0, 1e308, 5e-324];
    let texts = ["", "a", "é😀", "2024-02-30", "1e400", "null", "\u{0}x", "12:30:00.5"];
    let some = |at: usize| at != 3;
    let decimals = words().map(|word| word.map(|word| i128::from(word) * 10)).collect::<Decimal128Array>();
    let mut lists = ListBuilder::new(Int64Builder::new());
    for at in 0..ROWS {
        (0..at % 4).for_each(|item| lists.values().append_option((item != 2).then_some(item as i64 - 1)));
        lists.append(some(at));
    }
    vec![
        ("i", Arc::new(words().collect::<Int64Array>())),
        ("n", Arc::new(words().map(|word| word.map(|word| word as i32)).collect::<Int32Array>())),
        ("u", Arc::new(words().map(|word| word.map(|word| word as u64)).collect::<UInt64Array>())),
        ("f", Arc::new(floats.into_iter().enumerate().map(|(at, x)| some(at).then_some(x)).collect::<Float64Array>())),
        (
            "s",
            Arc::new(texts.into_iter().enumerate().map(|(at, x)| some(at).then_some(x)).collect::<StringViewArray>()),
        ),
        ("b", Arc::new((0..ROWS).map(|at| some(at).then_some(at % 2 == 0)).collect::<BooleanArray>())),
        ("t", Arc::new(words().collect::<TimestampNanosecondArray>())),
        ("z", Arc::new(words().collect::<TimestampNanosecondArray>().with_timezone("Europe/Berlin"))),
        ("d", Arc::new(words().map(|word| word.map(|word| word as i32)).collect::<Date32Array>())),
        ("p", Arc::new(words().collect::<DurationNanosecondArray>())),
        (
            "c",
            Arc::new(
                (0..ROWS)
                    .map(|at| some(at).then_some(at as i64 * 10_000_000_000_000))
                    .collect::<Time64NanosecondArray>(),
            ),
        ),
        ("m", Arc::new(decimals.with_precision_and_scale(38, 2).expect("a precision that Arrow has"))),
        ("x", Arc::new(texts.into_iter().map(|text| Some(text.as_bytes())).collect::<BinaryViewArray>())),
        ("l", Arc::new(lists.finish())),
    ]
}

/// Evaluates over the table: a result has a cell a row, in the type it was bound to, and is sound. What reads
/// other rows is evaluated by operations alone.
pub fn evaluate(bound: &Bound) {
    if !bound.context_inputs().is_empty() {
        return;
    }
    let inputs: Vec<ArrayRef> = bound.inputs().iter().map(|at| COLUMNS[*at].1.clone()).collect();
    match bound.evaluate(&inputs, ROWS) {
        Ok(result) => {
            assert_eq!((result.len(), result.data_type()), (ROWS, bound.data_type()));
            result.to_data().validate_full().expect("a result is sound");
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// The types a value can be cast to.
pub static TYPES: LazyLock<Vec<DataType>> = LazyLock::new(|| {
    let own = COLUMNS.iter().map(|(_, cells)| cells.data_type().clone());
    own.chain([DataType::Int8, DataType::Int16, DataType::UInt8, DataType::UInt32, DataType::Float32]).collect()
});
