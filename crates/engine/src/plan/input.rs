//! The inputs of a plan: tables that are given, by name and schema.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use column::types::canonical;
use formula::type_name;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A table that is given when a plan runs.
///
/// An input of a table's plan is that very table, by its number in this process. One that was read from text is known by
/// name and schema alone.
#[derive(Clone, Debug)]
pub struct Input {
    /// The name under which it is given; without one it is numbered in order of use.
    pub name: Option<String>,
    /// The table of this process that it is.
    pub source: Option<u128>,
    /// Names and declared types.
    pub schema: Arc<Schema>,
}

impl PartialEq for Input {
    /// One name, the names and types of one schema, and not two tables of this process.
    fn eq(&self, other: &Input) -> bool {
        let one_table = self.source.zip(other.source).is_none_or(|(mine, theirs)| mine == theirs);
        one_table && self.name == other.name && self.fits(&other.schema).is_ok()
    }
}

impl Input {
    /// Whether a table of this schema can be given for it: it has each of the columns, of types that are one type to
    /// expressions. Says what is missing.
    pub fn fits(&self, given: &Schema) -> Result<(), String> {
        for wanted in self.schema.fields() {
            let name = wanted.name();
            let Ok(field) = given.field_with_name(name) else {
                let known: Vec<&str> = given.fields().iter().map(|field| field.name().as_str()).collect();
                return Err(format!(
                    "it has no column {name:?} ({}); its columns are {known:?}",
                    type_name(wanted.data_type())
                ));
            };
            let one_type = canonical(wanted.data_type()) == canonical(field.data_type());
            if !one_type || wanted.dict_is_ordered() != field.dict_is_ordered() {
                let (wanted, found) = (type_name(wanted.data_type()), type_name(field.data_type()));
                return Err(format!(
                    "its column {name:?} is {found}, and the plan was made over {wanted}; cast it first"
                ));
            }
        }
        Ok(())
    }

    /// Names and types, as text.
    pub fn shown_schema(&self) -> String {
        let field = |field: &Arc<Field>| format!("{}: {}", field.name(), type_name(field.data_type()));
        self.schema.fields().iter().map(field).collect::<Vec<_>>().join(", ")
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: Option<String>,
    schema: Vec<WrittenField>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenField {
    name: String,
    #[serde(rename = "type", with = "formula::types::type_text")]
    data_type: DataType,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    ordered: bool,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
}

impl Serialize for Input {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let field = |field: &Arc<Field>| WrittenField {
            name: field.name().clone(),
            data_type: field.data_type().clone(),
            ordered: field.dict_is_ordered() == Some(true),
            metadata: field.metadata().iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
        };
        let schema = self.schema.fields().iter().map(field).collect();
        Written { name: self.name.clone(), schema }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Input {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Input, D::Error> {
        let Written { name, schema } = Written::deserialize(deserializer)?;
        let mut seen = std::collections::HashSet::new();
        if let Some(twice) = schema.iter().find(|field| !seen.insert(field.name.as_str())) {
            return Err(serde::de::Error::custom(format!("the column {:?} is there twice", twice.name)));
        }
        let field = |field: WrittenField| {
            let made = Field::new(field.name, field.data_type, true);
            made.with_dict_is_ordered(field.ordered)
                .with_metadata(field.metadata.into_iter().collect::<std::collections::HashMap<_, _>>())
        };
        let schema = Arc::new(Schema::new(schema.into_iter().map(field).collect::<Vec<_>>()));
        Ok(Input { name, source: None, schema })
    }
}
