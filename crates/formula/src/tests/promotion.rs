//! The table of the README is what the code does.

use arrow_schema::DataType;

use crate::tree::types::{promote, type_name};

fn type_of(name: &str) -> DataType {
    use DataType::*;
    let simple = [
        Null, Boolean, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64, Float16, Float32, Float64, Utf8View,
        BinaryView,
    ];
    if let Some(found) = simple.into_iter().find(|data_type| type_name(data_type) == name) {
        return found;
    }
    if let Some(width) = name.strip_prefix("FixedBinary(").and_then(|rest| rest.strip_suffix(')')) {
        return FixedSizeBinary(width.parse().expect("a width"));
    }
    let digits = name.strip_prefix("Decimal(").and_then(|rest| rest.strip_suffix(')')).expect("a type of the table");
    let (precision, scale) = digits.split_once(", ").expect("precision and scale");
    Decimal128(precision.parse().expect("digits"), scale.parse().expect("digits"))
}

#[test]
fn promotion_is_as_documented() {
    let text = include_str!("../../README.md");
    let rows: Vec<[&str; 3]> = text
        .lines()
        .skip_while(|line| !line.starts_with("| one "))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            cells.try_into().expect("three cells")
        })
        .collect();
    assert!(rows.len() > 20);
    for [one, other, together] in rows {
        for (a, b) in [(one, other), (other, one)] {
            let met = promote(&type_of(a), &type_of(b)).map_or_else(|_| "error".to_owned(), |met| type_name(&met));
            assert_eq!(met, together, "{a} and {b}");
        }
    }
}
