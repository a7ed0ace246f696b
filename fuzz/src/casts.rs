//! Casts and parsers: text and numbers of any content to every type.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, StringViewArray};
use arrow_schema::{Field, Schema};
use column::types;
use formula::{Expr, Function, bind};

use super::reader::Reader;
use super::world::TYPES;

/// Cells out of the bytes, cast strictly and not, and read by every function that parses a text.
pub fn casts(bytes: &[u8]) {
    let mut reader = Reader::new(bytes);
    let cells: ArrayRef = match reader.below(3) {
        0 => Arc::new((0..4).map(|_| Some(reader.integer())).collect::<Int64Array>()),
        1 => Arc::new((0..4).map(|_| Some(reader.float())).collect::<Float64Array>()),
        _ => {
            let text = String::from_utf8_lossy(reader.rest()).into_owned();
            let cells: StringViewArray = text.lines().take(8).map(Some).chain([None]).collect();
            parsed(&cells);
            Arc::new(cells)
        }
    };
    for to in TYPES.iter() {
        if let Ok(cast) = types::cast(&cells, to) {
            sound(&cast, cells.len());
        }
        for strict in [false, true] {
            let cast = Expr::column("x").cast(to.clone(), strict);
            if let Ok(cast) = cast {
                evaluated(&cast, &cells);
            }
        }
    }
}

fn parsed(cells: &StringViewArray) {
    let cells: ArrayRef = Arc::new(cells.clone());
    for name in ["str.to_date", "str.to_datetime", "str.to_integer", "str.to_decimal", "parse_duration"] {
        if let Some(call) = Function::named(name).and_then(|f| Expr::call(f, vec![Expr::column("x")]).ok()) {
            evaluated(&call, &cells);
        }
    }
}

fn evaluated(expr: &Expr, cells: &ArrayRef) {
    let schema = Schema::new(vec![Field::new("x", cells.data_type().clone(), true)]);
    let Ok(bound) = bind(expr, &schema) else { return };
    let inputs: Vec<ArrayRef> = bound.inputs().iter().map(|_| cells.clone()).collect();
    if let Ok(result) = bound.evaluate(&inputs, cells.len()) {
        sound(&result, cells.len());
    }
}

fn sound(array: &ArrayRef, rows: usize) {
    assert_eq!(array.len(), rows);
    array.to_data().validate_full().expect("a cast gives sound cells");
}
