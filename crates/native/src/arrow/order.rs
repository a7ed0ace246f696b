//! Categories with an order of their own at the border: polars' Enum, pandas' ordered Categorical, ordered dictionaries.
//!
//! Their names are noted as they come in. What leaves says that it is ordered where its dictionary is all of them in order, and
//! says so of nothing else.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema};
use formula::categories::{CATEGORIES, categories, has_own_order};

/// What polars calls the metadata of an Enum.
const POLARS: &str = "_PL_ENUM_VALUES";
/// Longer lists of categories are not kept with a field; their order is known to nobody then.
const LONGEST: usize = 1 << 20;

/// The field of a column, with the categories that its cells have, if they have an order.
pub(super) fn noted<'a>(field: Field, mut chunks: impl Iterator<Item = &'a ArrayRef> + Clone) -> Field {
    let told = field.metadata().contains_key(CATEGORIES);
    let polars = field.metadata().iter().find(|(key, _)| key.starts_with(POLARS)).map(|(_, value)| value.clone());
    if !(told || polars.is_some() || field.dict_is_ordered() == Some(true)) {
        return field;
    }
    let mut field = field.with_dict_is_ordered(true);
    if !told && field.dict_is_ordered() == Some(true) {
        let names = polars.as_deref().and_then(polars_names).or_else(|| common_names(&mut chunks));
        let text = names.and_then(|names| serde_json::to_string(&names).ok()).filter(|text| text.len() <= LONGEST);
        field.metadata_mut().insert(CATEGORIES, text.unwrap_or_default());
    }
    field
}

/// The names that polars writes each after its length in bytes: `1;a3;abc`.
fn polars_names(text: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (length, after) = rest.split_once(';')?;
        let (name, next) = after.split_at_checked(length.parse().ok()?)?;
        names.push(name.to_owned());
        rest = next;
    }
    Some(names)
}

/// The values of the dictionary, if all chunks have the same.
fn common_names<'a>(chunks: &mut (impl Iterator<Item = &'a ArrayRef> + Clone)) -> Option<Vec<String>> {
    let first = chunks.next()?.as_any_dictionary_opt()?.values().clone();
    let same =
        |chunk: &ArrayRef| chunk.as_any_dictionary_opt().is_some_and(|other| other.values().as_ref() == first.as_ref());
    if !chunks.all(same) {
        return None;
    }
    let texts = engine::categories::texts_of(&first).ok()?;
    texts.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect()
}

/// The schema as it leaves: ordered is what names its categories, and so leaves in their order.
pub(super) fn leaving(schema: &Schema) -> Cow<'_, Schema> {
    if !schema.fields().iter().any(|field| has_own_order(field)) {
        return Cow::Borrowed(schema);
    }
    let fields = schema.fields().iter().map(|field| Arc::new(leaving_field(field)));
    Cow::Owned(Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone()))
}

pub(super) fn leaving_field(field: &Field) -> Field {
    let known = categories(field).is_some();
    plain(field).with_dict_is_ordered(known && field.dict_is_ordered() == Some(true))
}

/// The field without a word on order, itself and all within.
fn plain(field: &Field) -> Field {
    if !has_own_order(field) {
        return field.clone();
    }
    field.clone().with_dict_is_ordered(false).with_data_type(plain_type(field.data_type()))
}

fn plain_type(data_type: &DataType) -> DataType {
    let of = |field: &FieldRef| Arc::new(plain(field));
    match data_type {
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(of).collect::<Fields>()),
        DataType::List(items) => DataType::List(of(items)),
        DataType::LargeList(items) => DataType::LargeList(of(items)),
        DataType::ListView(items) => DataType::ListView(of(items)),
        DataType::LargeListView(items) => DataType::LargeListView(of(items)),
        DataType::FixedSizeList(items, length) => DataType::FixedSizeList(of(items), *length),
        DataType::Map(entries, sorted) => DataType::Map(of(entries), *sorted),
        DataType::Dictionary(key, values) => DataType::Dictionary(key.clone(), Box::new(plain_type(values))),
        other => other.clone(),
    }
}
