//! Which expressions cannot fail, whatever is in their columns: what may be moved past another operation without a change of
//! what a user reads.

use arrow_schema::{DataType, Schema};

use crate::eval::bind::bind;
use crate::tree::expr::Expr;
use crate::tree::function::{Bytes, Function, List, Text, Time};

impl Expr {
    /// Whether it computes a value for every row of such columns, and never an error. Only what is known to is: a function of
    /// the user, a strict cast or a decimal that may not fit is not.
    pub fn is_total(&self, schema: &Schema) -> bool {
        match self {
            Expr::Column(_) | Expr::Literal(_) => true,
            Expr::Alias(input, _) => input.is_total(schema),
            Expr::Cast { input, strict, .. } => !strict && input.is_total(schema),
            Expr::When { branches, otherwise } => {
                let holds = |(condition, value): &(Expr, Expr)| condition.is_total(schema) && value.is_total(schema);
                branches.iter().all(holds) && otherwise.as_ref().is_none_or(|value| value.is_total(schema))
            }
            Expr::Call { function, args } => {
                args.iter().all(|arg| arg.is_total(schema)) && function_is_total(*function, args, schema)
            }
            Expr::Host { .. } | Expr::Aggregate { .. } | Expr::Over { .. } | Expr::InSet { .. } => false,
        }
    }
}

impl Function {
    /// Whether it says how values stand to each other: values that are one key to groups and joins are one to it.
    pub fn is_comparison(self) -> bool {
        matches!(
            self,
            Function::Equal
                | Function::NotEqual
                | Function::Less
                | Function::LessEqual
                | Function::Greater
                | Function::GreaterEqual
                | Function::EqualMissing
                | Function::NotEqualMissing
                | Function::IsIn { .. }
                | Function::IsBetween { .. }
        )
    }
}

fn function_is_total(function: Function, args: &[Expr], schema: &Schema) -> bool {
    let types =
        || args.iter().map(|arg| Some(bind(arg, schema).ok()?.data_type().clone())).collect::<Option<Vec<DataType>>>();
    match function {
        Function::And
        | Function::Or
        | Function::Xor
        | Function::Not
        | Function::IsNull
        | Function::IsNotNull
        | Function::IsNan
        | Function::IsNotNan
        | Function::IsFinite
        | Function::IsInfinite => true,
        Function::FillNull | Function::Coalesce | Function::MinHorizontal | Function::MaxHorizontal => {
            types().is_some_and(|types| meet_without_loss(&types))
        }
        comparison if comparison.is_comparison() => types().is_some_and(|types| meet_without_loss(&types)),
        // Whole numbers wrap, and floats follow IEEE.
        Function::Add
        | Function::Subtract
        | Function::Multiply
        | Function::Divide
        | Function::FloorDivide
        | Function::Modulo
        | Function::Negate
        | Function::Abs
        | Function::Sign
        | Function::Sqrt
        | Function::Floor
        | Function::Ceil => types().is_some_and(|types| types.iter().all(is_plain_number)),
        Function::Text(Text::LenChars | Text::LenBytes | Text::StartsWith | Text::EndsWith) => true,
        Function::Text(Text::Contains { literal }) => literal,
        Function::Time(Time::Year | Time::Quarter | Time::Month) => true,
        Function::List(List::Len) | Function::Bytes(Bytes::Size | Bytes::StartsWith | Bytes::EndsWith) => true,
        _ => false,
    }
}

/// Numbers that a comparison may have to bring to a type that they do not fit.
fn is_wide(data_type: &DataType) -> bool {
    use DataType::{Decimal32, Decimal64, Decimal128, Decimal256};
    matches!(data_type, Decimal32(..) | Decimal64(..) | Decimal128(..) | Decimal256(..))
}

/// Whether values of these types are brought to one type without a failure.
fn meet_without_loss(types: &[DataType]) -> bool {
    !types.iter().any(is_wide) || types.iter().all(|one| *one == types[0])
}

fn is_plain_number(data_type: &DataType) -> bool {
    data_type.is_integer() || data_type.is_floating()
}
