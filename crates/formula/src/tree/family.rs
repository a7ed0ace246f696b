//! The family of a value's type, as far as it is known without binding the expression.

use arrow_schema::DataType;

use crate::tree::types::{canonical, is_integer, is_text};

/// What is known of a value's type before binding. It decides what `+` means in a formula.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Family {
    Text,
    Instant,
    Integer,
    List,
    Struct,
    Other,
    Unknown,
}

impl Family {
    /// The family of the values of a type.
    pub(crate) fn of(data_type: &DataType) -> Family {
        match canonical(data_type) {
            text if is_text(&text) => Family::Text,
            integer if is_integer(&integer) => Family::Integer,
            DataType::Timestamp(_, _) => Family::Instant,
            DataType::Null => Family::Unknown,
            DataType::Struct(_) | DataType::Map(_, _) => Family::Struct,
            DataType::List(_)
            | DataType::LargeList(_)
            | DataType::FixedSizeList(_, _)
            | DataType::ListView(_)
            | DataType::LargeListView(_) => Family::List,
            DataType::Dictionary(_, value) => Family::of(&value),
            _ => Family::Other,
        }
    }
}

/// The rule by which the family of a call follows from those of its arguments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Gives {
    /// This family, whatever the arguments.
    Always(Family),
    /// The family of the first argument.
    AsFirst,
    /// What arithmetic, or a choice among values, makes of the arguments.
    Combined,
    /// A list where one of the arguments is one, else something of no other family.
    ListOfLists,
}
