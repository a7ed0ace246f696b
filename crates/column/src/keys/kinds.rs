//! The types that can be a key: which can be hashed and compared, and in which form.

use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

/// Whether cells of this type can be keys: maps and unions have no order and no key form.
pub fn can_be_key(data_type: &DataType) -> bool {
    all_within(data_type, &|kind| !matches!(kind, DataType::Map(..) | DataType::Union(..)))
}

/// Whether cells of a type have an order: keys that compare, which calendar time does not.
pub fn has_order(data_type: &DataType) -> bool {
    can_be_key(data_type) && all_within(data_type, &|kind| !matches!(kind, DataType::Interval(_)))
}

/// Whether this is so of a type, or of all that structs, lists and dictionaries of it hold.
fn all_within(data_type: &DataType, is_so: &impl Fn(&DataType) -> bool) -> bool {
    match data_type {
        DataType::Struct(fields) => fields.iter().all(|field| all_within(field.data_type(), is_so)),
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _) => all_within(field.data_type(), is_so),
        DataType::Dictionary(_, values) => all_within(values, is_so),
        other => is_so(other),
    }
}

/// Where every key cell of a row is there; none if no key column has a null.
pub fn any_null(keys: &[ArrayRef]) -> Option<NullBuffer> {
    let nulls: Vec<Option<NullBuffer>> = keys.iter().map(|column| column.logical_nulls()).collect();
    NullBuffer::union_many(nulls.iter().map(Option::as_ref)).filter(|nulls| nulls.null_count() > 0)
}
