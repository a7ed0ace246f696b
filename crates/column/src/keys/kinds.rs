//! What can be a key.

use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

/// Whether cells of this type can be keys: maps and unions have no order and no key form.
pub fn can_be_key(data_type: &DataType) -> bool {
    match data_type {
        DataType::Map(..) | DataType::Union(..) => false,
        DataType::Struct(fields) => fields.iter().all(|field| can_be_key(field.data_type())),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _) => can_be_key(field.data_type()),
        DataType::Dictionary(_, values) => can_be_key(values),
        _ => true,
    }
}

/// Whether cells of a type have an order: keys that compare, which calendar time does not.
pub fn has_order(data_type: &DataType) -> bool {
    match data_type {
        DataType::Interval(_) => false,
        DataType::Struct(fields) => fields.iter().all(|field| has_order(field.data_type())),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _) => has_order(field.data_type()),
        DataType::Dictionary(_, values) => has_order(values),
        other => can_be_key(other),
    }
}

/// Where every key cell of a row is there; none if no key column has a null.
pub fn any_null(keys: &[ArrayRef]) -> Option<NullBuffer> {
    let nulls: Vec<Option<NullBuffer>> = keys.iter().map(|column| column.logical_nulls()).collect();
    NullBuffer::union_many(nulls.iter().map(Option::as_ref)).filter(|nulls| nulls.null_count() > 0)
}
