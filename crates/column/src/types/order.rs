//! The types that have an order, and the types that can be keys.

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
