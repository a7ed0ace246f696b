//! Functions of structs and maps.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, MapArray, StructArray, UInt64Array};
use arrow_schema::{DataType, Fields};

use super::declared::{ANY, FunctionSpec, Takes, free, method};
use crate::eval::node::{Failure, Whole, failure};
use crate::tree::family::Family;
use crate::tree::function::{Function, Struct};

const NAMES: Takes = (2, 2, "a struct and names");

pub(crate) const FUNCTIONS: &[FunctionSpec] = &[
    free(Function::Struct(Struct::Make), "struct", (2, ANY, "names and as many values"), |b, c| b.structure(c))
        .always(Family::Struct)
        .shown_by(r#"tf.struct("n", "k")"#),
    method(Function::Struct(Struct::Field), "struct.field", NAMES, |b, c| b.field(c))
        .always(Family::Unknown)
        .shown_by(r#"col("p").struct.field("a")"#),
    method(Function::Struct(Struct::RenameFields), "struct.rename_fields", NAMES, |b, c| b.rename_fields(c))
        .always(Family::Struct)
        .shown_by(r#"col("p").struct.rename_fields(["one", "two"])"#),
];

/// A struct a row of one cell of each argument; none of them is null itself.
pub(crate) fn structure(fields: Fields) -> Whole {
    Arc::new(move |args, rows| {
        let cells = args.iter().zip(&fields).map(|(argument, field)| {
            let array = argument.expanded(rows);
            if array.data_type() == field.data_type() { Ok(array) } else { arrow_cast::cast(&array, field.data_type()) }
        });
        let cells = cells.collect::<Result<Vec<ArrayRef>, _>>().map_err(failure)?;
        Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), cells, None, rows).map_err(failure)?))
    })
}

/// A null struct has no fields.
pub(crate) fn field_of(at: usize, to: DataType) -> Whole {
    Arc::new(move |args, _| {
        let array = args[0].array();
        let structs = array.as_any().downcast_ref::<StructArray>().expect("binding checked that it is a struct");
        let mut field = Arc::clone(structs.column(at));
        if let Some(nulls) = structs.nulls() {
            let gone = arrow_array::BooleanArray::new(!nulls.inner(), None);
            field = arrow_select::nullif::nullif(&field, &gone).map_err(failure)?;
        }
        if *field.data_type() == to { Ok(field) } else { arrow_cast::cast(&field, &to).map_err(failure) }
    })
}

/// The value that a map has for a key; null without one.
pub(crate) fn value_of(key: String, to: DataType) -> Whole {
    Arc::new(move |args, rows| {
        let array = args[0].expanded(rows);
        let map = array.as_any().downcast_ref::<MapArray>().expect("binding checked that it is a map");
        let keys = arrow_cast::cast(map.keys(), &DataType::Utf8View).map_err(failure)?;
        let keys = keys.as_string_view();
        let offsets = map.value_offsets();
        let found = |row: usize| {
            let mut range = (offsets[row] as usize..offsets[row + 1] as usize).filter(|_| map.is_valid(row));
            range.find(|at| keys.is_valid(*at) && keys.value(*at) == key).map(|at| at as u64)
        };
        let places: UInt64Array = (0..rows).map(found).collect();
        let taken = arrow_select::take::take(map.values(), &places, None).map_err(failure)?;
        if *taken.data_type() == to { Ok(taken) } else { arrow_cast::cast(&taken, &to).map_err(failure) }
    })
}

pub(crate) fn renamed_fields(fields: Fields) -> Whole {
    Arc::new(move |args, _| -> Result<ArrayRef, Failure> {
        let array = args[0].array();
        let structs = array.as_any().downcast_ref::<StructArray>().expect("binding checked that it is a struct");
        let made = StructArray::try_new(fields.clone(), structs.columns().to_vec(), structs.nulls().cloned());
        Ok(Arc::new(made.map_err(failure)?))
    })
}
