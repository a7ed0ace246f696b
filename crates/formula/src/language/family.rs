//! The family of a value's type, known before binding. It decides what `+` means in a formula: beside a text the other
//! side is cast to text, and beside an instant a whole number is cast to a duration.

use arrow_schema::DataType;

use crate::language::names::Names;
use crate::tree::expr::Expr;
use crate::tree::function::{Function, List, Struct, Text, Time};
use crate::tree::literal::Literal;
use crate::tree::types::{canonical, is_integer, is_text};

/// What is known of a value's type without binding it.
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
    /// The family of what arithmetic, or a choice among values, makes of these.
    pub(crate) fn combined(function: Function, families: &[Family]) -> Family {
        match families {
            found if found.contains(&Family::List) => Family::List,
            [Family::Instant, Family::Instant] if function == Function::Subtract => Family::Other,
            [first, rest @ ..] if rest.iter().all(|next| next == first) => *first,
            found if function == Function::Add && found.contains(&Family::Text) => Family::Text,
            [first @ (Family::Instant | Family::Text), ..] => *first,
            found if found.contains(&Family::Unknown) => Family::Unknown,
            _ => Family::Other,
        }
    }
}

impl Names<'_> {
    /// The family of an expression's values, as far as its shape tells.
    pub(crate) fn family(&self, expr: &Expr) -> Family {
        match expr {
            Expr::Column(name) => {
                let field = self.columns.and_then(|schema| schema.field_with_name(name).ok());
                field.map_or(Family::Unknown, |field| family_of(field.data_type()))
            }
            Expr::Literal(Literal::Null | Literal::TypedNull(_)) => Family::Unknown,
            Expr::Literal(literal) => match literal {
                Literal::Str(_) => Family::Text,
                Literal::Int(_) | Literal::UInt(_) => Family::Integer,
                Literal::Timestamp { .. } => Family::Instant,
                _ => Family::Other,
            },
            Expr::Alias(input, _) => self.family(input),
            Expr::Cast { to, .. } => family_of(to),
            Expr::When { branches, .. } => branches.first().map_or(Family::Unknown, |(_, value)| self.family(value)),
            Expr::Aggregate { .. } => Family::Unknown,
            Expr::InSet { .. } => Family::Other,
            Expr::Host { .. } => Family::Unknown,
            Expr::Over { input, .. } => self.family(input),
            Expr::Call { function, args } => match function {
                Function::Text(text) => match text {
                    Text::LenChars | Text::LenBytes | Text::IndexOf | Text::Find { .. } | Text::CountMatches { .. } => {
                        Family::Integer
                    }
                    Text::Contains { .. } | Text::StartsWith | Text::EndsWith | Text::ToDate { .. } => Family::Other,
                    Text::ToDatetime { .. } => Family::Instant,
                    Text::Split | Text::ExtractAll => Family::List,
                    _ => Family::Text,
                },
                Function::Time(time) => match time {
                    Time::Strftime => Family::Text,
                    Time::Date | Time::Time => Family::Other,
                    Time::Truncate | Time::Round | Time::OffsetBy | Time::MonthStart | Time::MonthEnd => {
                        args.first().map_or(Family::Unknown, |arg| self.family(arg))
                    }
                    Time::ConvertTimeZone | Time::ReplaceTimeZone => Family::Instant,
                    _ => Family::Integer,
                },
                Function::Divide | Function::Power if args.iter().any(|arg| self.family(arg) == Family::List) => {
                    Family::List
                }
                Function::Multiply
                | Function::FloorDivide
                | Function::Modulo
                | Function::Add
                | Function::Subtract
                | Function::Negate
                | Function::Abs
                | Function::FillNull
                | Function::Coalesce
                | Function::MinHorizontal
                | Function::MaxHorizontal
                | Function::Clip
                | Function::Shift { .. } => {
                    let families: Vec<Family> = args.iter().map(|arg| self.family(arg)).collect();
                    Family::combined(*function, &families)
                }
                Function::Element => args.first().map_or(Family::Unknown, |column| self.family(column)),
                Function::Position | Function::RowKey | Function::Rows => Family::Integer,
                Function::Now => Family::Instant,
                Function::List(
                    List::Len | List::Count | List::NUnique | List::CountDistinct | List::ArgMin | List::ArgMax,
                ) => Family::Integer,
                Function::List(List::Join) => Family::Text,
                Function::List(
                    List::Slice
                    | List::Head
                    | List::Tail
                    | List::Sort { .. }
                    | List::ArgSort { .. }
                    | List::Unique
                    | List::DropNulls
                    | List::Reverse,
                )
                | Function::Array => Family::List,
                Function::List(_) | Function::Struct(Struct::Field) => Family::Unknown,
                Function::Struct(Struct::RenameFields) => Family::Struct,
                Function::Variable => Family::Unknown,
                _ => Family::Other,
            },
        }
    }
}

fn family_of(data_type: &DataType) -> Family {
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
        DataType::Dictionary(_, value) => family_of(&value),
        _ => Family::Other,
    }
}
