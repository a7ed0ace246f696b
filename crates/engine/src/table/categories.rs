//! Categories with an order of their own leave in that order: as one dictionary of all of them, whichever order their texts came
//! to lie in where cells of several calls met.

use std::collections::HashMap;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StringArray, UInt32Array, make_array};
use arrow_schema::{DataType, Field};

use crate::error::Error;

/// The cells of a column over the dictionary that its field names; of any other column as they are.
pub(crate) fn in_order(field: &Field, cells: ArrayRef) -> Result<ArrayRef, Error> {
    let (Some(names), Some(dictionary)) = (formula::categories::categories(field), cells.as_any_dictionary_opt())
    else {
        return Ok(cells);
    };
    let DataType::Dictionary(key, value) = cells.data_type() else { return Ok(cells) };
    let wanted = arrow_cast::cast(&StringArray::from_iter_values(&names), value)?;
    if &wanted == dictionary.values() || dictionary.keys().is_empty() && dictionary.values().is_empty() {
        return Ok(cells);
    }
    let places: HashMap<&str, u32> = names.iter().map(String::as_str).zip(0..).collect();
    let texts = texts_of(dictionary.values())?;
    let texts = texts.as_string::<i32>();
    let moved: Vec<Option<&u32>> = texts.iter().map(|text| text.and_then(|text| places.get(text))).collect();
    let rows = cells.logical_nulls();
    let place = |(row, code): (usize, usize)| {
        if rows.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return Ok(None);
        }
        let wrong = || Error::data("export", outside(field.name(), texts.value(code), &names));
        moved[code].copied().map(Some).ok_or_else(wrong)
    };
    let codes = dictionary.normalized_keys().into_iter().enumerate().map(place).collect::<Result<UInt32Array, _>>()?;
    let codes = arrow_cast::cast(&codes, key)?.to_data().into_builder();
    let whole = codes.data_type(cells.data_type().clone()).add_child_data(wanted.to_data()).build()?;
    Ok(make_array(whole))
}

/// A column of which a part has categories with an order of their own has them too, and knows which if all agree.
pub(crate) fn with_order<'a>(field: Field, mut others: impl Iterator<Item = &'a Field> + Clone) -> Field {
    if !others.clone().any(|other| other.dict_is_ordered() == Some(true)) {
        return field;
    }
    let known = formula::categories(&field);
    let mut field = field.with_dict_is_ordered(true);
    if known.is_none() || !others.all(|other| formula::categories(other) == known) {
        field.metadata_mut().retain(|key, _| !key.starts_with("_PL_"));
        field.metadata_mut().insert(formula::CATEGORIES.to_owned(), String::new());
    }
    field
}

/// What is wrong with cells of a column that names its categories: one that is none of them.
pub fn stranger(field: &Field, cells: &ArrayRef) -> Option<String> {
    let names = formula::categories::categories(field)?;
    let dictionary = cells.as_any_dictionary_opt()?;
    let known: std::collections::HashSet<&str> = names.iter().map(String::as_str).collect();
    let texts = texts_of(dictionary.values()).ok()?;
    let texts = texts.as_string::<i32>();
    let odd: Vec<bool> = texts.iter().map(|text| text.is_some_and(|text| !known.contains(text))).collect();
    if !odd.contains(&true) {
        return None;
    }
    let nulls = dictionary.keys().logical_nulls();
    let there = |row: &usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*row));
    let codes = dictionary.normalized_keys();
    let row = (0..codes.len()).filter(there).find(|row| odd[codes[*row]])?;
    Some(format!("row {row}: {}", outside(field.name(), texts.value(codes[row]), &names)))
}

fn outside(column: &str, text: &str, names: &[String]) -> String {
    const SHOWN: usize = 10;
    let mut shown = names.iter().take(SHOWN).map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        shown.push_str(&format!(", … ({} in all)", names.len()));
    }
    format!("{text:?} is none of the categories of column {column:?}: {shown}")
}

/// The names of values, as the metadata of a field has them.
pub fn texts_of(values: &ArrayRef) -> Result<ArrayRef, Error> {
    Ok(arrow_cast::cast(values, &DataType::Utf8)?)
}
