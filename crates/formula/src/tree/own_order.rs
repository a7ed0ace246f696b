//! Categories with an order of their own: polars' Enum, pandas' ordered Categorical, Arrow's ordered dictionary.
//!
//! Cells of a dictionary stand for their values, and values compare by their type's order: texts by their letters. Of these
//! columns that would be another order than the one that was meant, so whatever compares their cells is refused, with the ways
//! round it. Equality, membership, keys, counts and picked cells are as of any dictionary.
//!
//! A field says that it is one by Arrow's flag, at any depth of a type. A column's field names the categories too, in its
//! metadata, so that they leave in their order however cells came to lie.

use std::borrow::Cow;

use arrow_schema::{DataType, Field, FieldRef, Schema};

use crate::error::Error;
use crate::tree::expr::Expr;
use crate::tree::function::{Function, List, Struct};
use crate::tree::literal::Literal;

/// The key of the metadata under which a field names its categories: a JSON list of texts, empty where they are not known.
pub const CATEGORIES: &str = "tickframe:categories";

/// Whether cells of the field, or cells within them, have an order of their own.
pub fn has_own_order(field: &Field) -> bool {
    field.dict_is_ordered() == Some(true) || within(field.data_type())
}

fn within(data_type: &DataType) -> bool {
    match data_type {
        DataType::Struct(fields) => fields.iter().any(|field| has_own_order(field)),
        DataType::Dictionary(_, values) => within(values),
        other => items(other).is_some_and(|items| has_own_order(items)),
    }
}

fn items(data_type: &DataType) -> Option<&FieldRef> {
    match data_type {
        DataType::List(items)
        | DataType::LargeList(items)
        | DataType::ListView(items)
        | DataType::LargeListView(items)
        | DataType::FixedSizeList(items, _)
        | DataType::Map(items, _) => Some(items),
        _ => None,
    }
}

/// The names of the categories in their order, where the field knows them.
pub fn categories(field: &Field) -> Option<Vec<String>> {
    serde_json::from_str(field.metadata().get(CATEGORIES)?).ok()
}

/// Refuses a function that compares the values of `expr`, if they are categories with an order of their own.
pub fn refuse_own_order(function: &str, expr: &Expr, schema: &Schema) -> Result<(), Error> {
    match values_of(expr, schema).is_some_and(|field| has_own_order(&field)) {
        true => Err(Error::OwnOrder { function: function.to_owned(), values: expr.unaliased().to_python() }),
        false => Ok(()),
    }
}

/// The field whose values these are, as they came; none of what is computed from them.
fn values_of<'a>(expr: &Expr, schema: &'a Schema) -> Option<Cow<'a, Field>> {
    let any = |mut args: &mut dyn Iterator<Item = &Expr>| {
        (&mut args).find_map(|arg| values_of(arg, schema).filter(|field| has_own_order(field)))
    };
    match expr {
        Expr::Column(name) => schema.field_with_name(name).ok().map(Cow::Borrowed),
        Expr::Alias(input, _) | Expr::Over { input, .. } => values_of(input, schema),
        Expr::When { branches, otherwise } => {
            any(&mut branches.iter().map(|(_, value)| value).chain(otherwise.as_deref()))
        }
        Expr::Call { function, args } => match function {
            Function::FillNull
            | Function::Coalesce
            | Function::Shift { .. }
            | Function::Element
            | Function::Variable
            | Function::Array => any(&mut args.iter()),
            Function::Struct(Struct::Field) => match (values_of(args.first()?, schema)?.data_type(), args.get(1)?) {
                (DataType::Struct(fields), Expr::Literal(Literal::Str(name))) => {
                    fields.find(name).map(|(_, field)| Cow::Owned(Field::clone(field)))
                }
                _ => None,
            },
            Function::List(List::Get | List::First | List::Last) => {
                let list = values_of(args.first()?, schema)?;
                items(list.data_type()).map(|items| Cow::Owned(Field::clone(items)))
            }
            Function::List(List::Slice | List::Head | List::Tail | List::Reverse | List::DropNulls | List::Unique) => {
                values_of(args.first()?, schema)
            }
            _ => None,
        },
        _ => None,
    }
}
