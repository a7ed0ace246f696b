//! The names of columns.
//!
//! A column that an operation makes for itself, between two tables of its own, is hidden: it has a number in place of a
//! name. What stands in it is said beside the name, in expressions, and in its field, so that a message about it reads as
//! the user wrote it.

use std::ops::Deref;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Begins the names of hidden columns, and no other.
const MARK: char = '\u{0}';

/// The key of the metadata under which the field of a hidden column says what stands in it.
const SHOWN: &str = "tickframe:shown";

/// The name of a column.
#[derive(Clone, Debug)]
pub struct ColumnName {
    name: Arc<str>,
    hidden: Option<Arc<Hidden>>,
}

/// What is known of a hidden column.
#[derive(Debug, Serialize)]
struct Hidden {
    /// The user's column that it becomes, or goes into.
    becomes: Option<String>,
    /// The expression that stands in it.
    text: String,
}

impl ColumnName {
    /// The name of a hidden column: its number, the user's column that it becomes or goes into, and the expression that
    /// stands in it, as text.
    pub fn hidden(number: usize, becomes: Option<&str>, text: String) -> ColumnName {
        let hidden = Hidden { becomes: becomes.map(str::to_owned), text };
        ColumnName { name: format!("{MARK}{number}").into(), hidden: Some(Arc::new(hidden)) }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// What a user calls the column: its name, or that of the column that it becomes; none if there is none.
    pub fn becomes(&self) -> Option<&str> {
        let own = self.hidden.as_ref().map_or(Some(&*self.name), |hidden| hidden.becomes.as_deref());
        own.filter(|name| !name.is_empty())
    }

    /// The expression that stands in a hidden column.
    pub fn hidden_text(&self) -> Option<&str> {
        self.hidden.as_ref().map(|hidden| &*hidden.text)
    }

    /// The number of a hidden column.
    pub fn number(&self) -> Option<usize> {
        self.name.strip_prefix(MARK)?.parse().ok()
    }

    /// The name as messages show it: of a hidden column the expression that stands in it.
    pub fn shown(&self) -> &str {
        self.hidden_text().unwrap_or(&self.name)
    }

    /// The field of the column.
    pub fn field(&self, data_type: DataType) -> Field {
        let field = Field::new(self.as_str(), data_type, true);
        match self.hidden_text() {
            Some(text) => field.with_metadata([(SHOWN, text)]),
            None => field,
        }
    }
}

/// Whether a column of this name is hidden.
pub fn is_hidden(name: &str) -> bool {
    name.starts_with(MARK)
}

/// The field of a column under another name. What stood in a hidden column is not said of a user's.
pub fn renamed(field: &Field, name: &str) -> Field {
    let mut metadata = field.metadata().clone();
    if !is_hidden(name) {
        metadata.remove(SHOWN);
    }
    field.clone().with_name(name).with_metadata(metadata)
}

/// The name of a field as messages show it.
pub fn shown_field(field: &Field) -> &str {
    field.metadata().get(SHOWN).filter(|_| is_hidden(field.name())).unwrap_or(field.name())
}

/// The name of a column as messages show it.
pub fn shown<'a>(schema: &'a Schema, name: &'a str) -> &'a str {
    if is_hidden(name) { schema.field_with_name(name).map_or(name, shown_field) } else { name }
}

/// A number above those of the hidden columns that are there.
pub fn next_hidden(schema: &Schema) -> usize {
    let number = |field: &Arc<Field>| field.name().strip_prefix(MARK)?.parse::<usize>().ok();
    schema.fields().iter().filter_map(number).max().map_or(0, |last| last + 1)
}

impl Deref for ColumnName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.name
    }
}

impl Default for ColumnName {
    fn default() -> ColumnName {
        ColumnName::from("")
    }
}

impl From<Arc<str>> for ColumnName {
    fn from(name: Arc<str>) -> ColumnName {
        ColumnName { name, hidden: None }
    }
}

impl From<&str> for ColumnName {
    fn from(name: &str) -> ColumnName {
        Arc::<str>::from(name).into()
    }
}

impl From<String> for ColumnName {
    fn from(name: String) -> ColumnName {
        Arc::<str>::from(name).into()
    }
}

impl From<&ColumnName> for ColumnName {
    fn from(name: &ColumnName) -> ColumnName {
        name.clone()
    }
}

impl PartialEq for ColumnName {
    fn eq(&self, other: &ColumnName) -> bool {
        self.name == other.name
    }
}

impl Serialize for ColumnName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.hidden {
            None => serializer.serialize_str(&self.name),
            Some(hidden) => (&*self.name, &**hidden).serialize(serializer),
        }
    }
}

/// What is read is a user's column.
impl<'de> Deserialize<'de> for ColumnName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ColumnName, D::Error> {
        Ok(ColumnName::from(String::deserialize(deserializer)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::expr::Expr;
    use crate::tree::function::Function;

    #[test]
    fn an_expression_over_a_hidden_column_reads_as_the_user_wrote_it() {
        let sum = ColumnName::hidden(0, Some("total"), "col(\"x\").sum()".to_owned());
        let half = Expr::call(Function::Divide, vec![Expr::column(&sum), Expr::literal(2)]).unwrap();
        assert_eq!(half.alias("half").to_python(), "(col(\"x\").sum() / 2).alias(\"half\")");
        assert_eq!(Expr::column("x").alias(&sum).to_python(), "col(\"x\")");
        assert_eq!((sum.becomes(), ColumnName::from("x").becomes()), (Some("total"), Some("x")));
        assert_eq!(
            (ColumnName::default().becomes(), ColumnName::hidden(3, None, "x".to_owned()).becomes()),
            (None, None)
        );
    }

    #[test]
    fn a_field_says_what_stands_in_it() {
        let name = |number| ColumnName::hidden(number, None, format!("col(\"{number}\")"));
        let schema = Schema::new(vec![name(7).field(DataType::Int64), Field::new("x", DataType::Int64, true)]);
        assert_eq!((shown(&schema, &name(7)), shown(&schema, "x")), ("col(\"7\")", "x"));
        assert_eq!(renamed(schema.field(0), "y"), Field::new("y", DataType::Int64, true));
        assert_eq!(next_hidden(&schema), 8);
        assert_eq!(next_hidden(&Schema::empty()), 0);
    }
}
