//! What clients are told of a table beside its columns: contracts that it keeps, values that its owner gave, and which columns
//! of an input table are keys. All stand in the metadata of its schema.

use arrow_schema::{Field, Schema};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prost::Message;

use crate::catalog::Served;

const ATTRIBUTE: &str = "deephaven:attribute";
const UNSENT: &str = "deephaven:unsent.attribute.InputTable";
const METADATA: &str = "deephaven:tableMetadata";
const COLUMN: &str = "deephaven:inputtable";

/// A value that the owner of a table gave it.
#[derive(Clone, Debug, PartialEq)]
pub enum Attribute {
    /// A text.
    Text(String),
    /// A truth.
    Truth(bool),
    /// A whole number.
    Whole(i64),
    /// A number.
    Number(f64),
}

impl Attribute {
    /// As a text, and the type that it is read as.
    fn written(&self) -> (String, &'static str) {
        match self {
            Attribute::Text(text) => (text.clone(), "java.lang.String"),
            Attribute::Truth(truth) => (truth.to_string(), "java.lang.Boolean"),
            Attribute::Whole(number) => (number.to_string(), "java.lang.Long"),
            Attribute::Number(number) => (number.to_string(), "java.lang.Double"),
        }
    }
}

#[derive(Clone, PartialEq, Message)]
struct TableMetadata {
    #[prost(message, optional, tag = "1")]
    input: Option<InputMetadata>,
}

#[derive(Clone, PartialEq, Message)]
struct InputMetadata {
    /// A map, entry by entry: in the order of the columns.
    #[prost(message, repeated, tag = "1")]
    columns: Vec<ColumnEntry>,
}

#[derive(Clone, PartialEq, Message)]
struct ColumnEntry {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, optional, tag = "2")]
    of: Option<ColumnKind>,
}

#[derive(Clone, PartialEq, Message)]
struct ColumnKind {
    /// 1 for a key, 2 for a value.
    #[prost(int32, tag = "1")]
    kind: i32,
}

/// The schema with what holds of its table.
pub(crate) fn told(schema: &Schema, of: &Served) -> Schema {
    let held = of.table.attributes();
    let contracts = [
        ("IsFlat", held.flat),
        ("AddOnly", held.add_only || held.append_only),
        ("AppendOnly", held.append_only),
        ("BlinkTable", held.blink),
    ];
    let contracts = contracts.into_iter().filter(|(_, holds)| *holds).map(|(name, _)| (name, Attribute::Truth(true)));
    let sorted = held.sorted_by.first().map(|(column, descending)| {
        let order = if *descending { "Descending" } else { "Ascending" };
        ("SortedColumns", Attribute::Text(format!("{column}={order}")))
    });
    let given = of.given.iter().map(|(name, value)| (name.as_str(), value.clone()));
    let mut metadata = schema.metadata().clone();
    metadata.retain(|name, _| !name.starts_with(ATTRIBUTE));
    for (name, value) in given.chain(contracts).chain(sorted) {
        let (text, kind) = value.written();
        metadata.insert(format!("{ATTRIBUTE}.{name}"), text);
        metadata.insert(format!("{ATTRIBUTE}_type.{name}"), kind.to_owned());
    }
    let Some(feed) = &of.feed else { return Schema::new_with_metadata(schema.fields().clone(), metadata) };
    let keys = feed.keys();
    let is_key = |name: &String| keys.contains(name);
    metadata.insert(UNSENT.to_owned(), String::new());
    let (fields, columns) = columns(schema, is_key);
    metadata.insert(METADATA.to_owned(), STANDARD.encode(columns.encode_to_vec()));
    Schema::new_with_metadata(fields, metadata)
}

/// The columns of an input table, each told to be a key or a value: as fields, and as what clients read of the table.
fn columns(schema: &Schema, is_key: impl Fn(&String) -> bool) -> (Vec<Field>, TableMetadata) {
    let told = schema.fields().iter().map(|field| {
        let (kind, word) = if is_key(field.name()) { (1, "isKey") } else { (2, "isValue") };
        let mut metadata = field.metadata().clone();
        metadata.insert(format!("{COLUMN}.{word}"), "true".to_owned());
        let entry = ColumnEntry { name: field.name().clone(), of: Some(ColumnKind { kind }) };
        (field.as_ref().clone().with_metadata(metadata), entry)
    });
    let (fields, columns) = told.unzip();
    (fields, TableMetadata { input: Some(InputMetadata { columns }) })
}

#[cfg(test)]
mod tests {
    use arrow_schema::DataType;

    use super::*;

    #[test]
    fn keys_and_values_are_told_in_the_bytes_that_clients_know() {
        let schema = Schema::new(vec![Field::new("G", DataType::Int64, true), Field::new("V", DataType::Int64, true)]);
        let (fields, told) = columns(&schema, |name| name == "G");
        assert_eq!(STANDARD.encode(told.encode_to_vec()), "ChIKBwoBRxICCAEKBwoBVhICCAI=");
        let said = |at: usize, word: &str| fields[at].metadata().get(&format!("{COLUMN}.{word}")).map(String::as_str);
        assert_eq!([said(0, "isKey"), said(0, "isValue")], [Some("true"), None]);
        assert_eq!([said(1, "isKey"), said(1, "isValue")], [None, Some("true")]);
    }

    #[test]
    fn what_an_owner_gave_is_told_with_its_type() {
        let given = vec![
            ("unit".to_owned(), Attribute::Text("m".to_owned())),
            ("hot".to_owned(), Attribute::Truth(false)),
            ("level".to_owned(), Attribute::Whole(-3)),
            ("share".to_owned(), Attribute::Number(0.5)),
        ];
        let table = engine::sources::empty(2).expect("a table");
        let served = Served { given: given.into(), ..Served::from(table) };
        let made = told(&Schema::empty(), &served);
        let of = |name: &str| {
            let at = |part: &str| made.metadata().get(&format!("{ATTRIBUTE}{part}.{name}")).map(String::as_str);
            (at(""), at("_type"))
        };
        assert_eq!(of("unit"), (Some("m"), Some("java.lang.String")));
        assert_eq!(of("hot"), (Some("false"), Some("java.lang.Boolean")));
        assert_eq!(of("level"), (Some("-3"), Some("java.lang.Long")));
        assert_eq!(of("share"), (Some("0.5"), Some("java.lang.Double")));
        assert_eq!(of("IsFlat"), (Some("true"), Some("java.lang.Boolean")));
        assert_eq!(made.metadata().get(UNSENT), None);
    }
}
