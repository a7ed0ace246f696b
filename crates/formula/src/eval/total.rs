//! Which expressions cannot fail, whatever is in their columns: what may be moved past another operation without a change of
//! what a user reads.

use arrow_schema::{DataType, Schema};

use crate::tree::aggregate::Aggregate;
use crate::tree::expr::Expr;
use crate::tree::function::{Bytes, Function, List, Text, Time};
use crate::tree::literal::Literal;
use crate::tree::types::canonical;

/// What is asked of the type of a part: no more than one walk through an expression tells.
#[derive(Clone, Debug, PartialEq)]
enum Class {
    /// A whole number, which wraps, or a float, which follows IEEE.
    Number,
    /// A decimal, which may not fit the type that it is brought to.
    Decimal(DataType),
    /// Any other value.
    Other,
}

impl Expr {
    /// Whether it computes a value for every row of such columns, and never an error. Only what is known to is: a function of
    /// the user, a strict cast or a decimal that may not fit is not.
    pub fn is_total(&self, schema: &Schema) -> bool {
        self.class(schema, false).is_some()
    }

    /// [`Expr::is_total`] of what is computed for each group of such rows: an aggregate of what cannot fail is a value.
    pub fn is_total_of_groups(&self, schema: &Schema) -> bool {
        self.class(schema, true).is_some()
    }

    /// What a total expression computes, of rows or of groups; none of one that may fail.
    fn class(&self, schema: &Schema, of_groups: bool) -> Option<Class> {
        match self {
            Expr::Column(name) => schema.field_with_name(name).ok().map(|field| Class::of(field.data_type())),
            Expr::Literal(literal) => Some(Class::of_literal(literal)),
            Expr::Alias(input, _) => input.class(schema, of_groups),
            Expr::Cast { input, to, strict: false } => input.class(schema, of_groups).map(|_| Class::of(to)),
            Expr::When { branches, otherwise } => {
                let mut values = Vec::with_capacity(branches.len() + 1);
                for (condition, value) in branches {
                    condition.class(schema, of_groups)?;
                    values.push(value.class(schema, of_groups)?);
                }
                values.extend(match otherwise {
                    Some(otherwise) => Some(otherwise.class(schema, of_groups)?),
                    None => None,
                });
                // Numbers and decimals meet in a decimal of neither type.
                Some(met(&values).unwrap_or(Class::Other))
            }
            // A pattern that is written out was read as the expression was bound.
            Expr::Call { function: Function::Text(Text::Contains { literal: false }), args } => match args.as_slice() {
                [text, Expr::Literal(Literal::Str(_))] => text.class(schema, of_groups).map(|_| Class::Other),
                _ => None,
            },
            Expr::Call { function, args } => {
                let args = args.iter().map(|arg| arg.class(schema, of_groups)).collect::<Option<Vec<Class>>>()?;
                of_call(*function, &args)
            }
            // What it is of is computed row by row.
            Expr::Aggregate { kind, inputs } if of_groups => {
                let inputs = inputs.iter().map(|input| input.class(schema, false)).collect::<Option<Vec<Class>>>()?;
                Some(inputs.first().map_or(Class::Number, |input| input.aggregated(kind)))
            }
            Expr::Cast { strict: true, .. }
            | Expr::Host { .. }
            | Expr::Aggregate { .. }
            | Expr::Over { .. }
            | Expr::Eval { .. }
            | Expr::InSet { .. } => None,
        }
    }
}

impl Class {
    fn of(data_type: &DataType) -> Class {
        use DataType::{Decimal32, Decimal64, Decimal128, Decimal256};
        match canonical(data_type) {
            DataType::Dictionary(_, values) => Class::of(&values),
            DataType::RunEndEncoded(_, values) => Class::of(values.data_type()),
            number if number.is_integer() || number.is_floating() => Class::Number,
            decimal @ (Decimal32(..) | Decimal64(..) | Decimal128(..) | Decimal256(..)) => Class::Decimal(decimal),
            _ => Class::Other,
        }
    }

    /// What an aggregate makes of such values.
    fn aggregated(&self, kind: &Aggregate) -> Class {
        let example = match self {
            Class::Number => &DataType::Float64,
            Class::Decimal(decimal) => decimal,
            Class::Other => &DataType::Utf8,
        };
        kind.output_type(example).map_or(Class::Other, |made| Class::of(&made))
    }

    fn of_literal(literal: &Literal) -> Class {
        match literal {
            Literal::Int(_) | Literal::UInt(_) | Literal::Float(_) => Class::Number,
            Literal::TypedNull(data_type) => Class::of(data_type),
            Literal::Decimal { precision, scale, .. } => Class::Decimal(DataType::Decimal128(*precision, *scale)),
            _ => Class::Other,
        }
    }
}

/// What values of these classes are together, if they are brought to one type without a failure.
fn met(classes: &[Class]) -> Option<Class> {
    let first = classes.first()?;
    let alike = classes.iter().all(|one| one == first);
    let decimals = classes.iter().any(|one| matches!(one, Class::Decimal(_)));
    (alike || !decimals).then(|| if alike { first.clone() } else { Class::Other })
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

/// What a function computes of total arguments; none where it may fail.
fn of_call(function: Function, args: &[Class]) -> Option<Class> {
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
        | Function::IsInfinite => Some(Class::Other),
        Function::FillNull | Function::Coalesce | Function::MinHorizontal | Function::MaxHorizontal => met(args),
        comparison if comparison.is_comparison() => met(args).map(|_| Class::Other),
        // Whole numbers wrap, and floats follow IEEE.
        Function::Add
        | Function::Subtract
        | Function::Multiply
        | Function::Divide
        | Function::FloorDivide
        | Function::Modulo
        | Function::Negate
        | Function::Difference
        | Function::RelativeChange
        | Function::Abs
        | Function::Sign
        | Function::Sqrt
        | Function::Floor
        | Function::Ceil => args.iter().all(|one| *one == Class::Number).then_some(Class::Number),
        Function::Text(Text::LenChars | Text::LenBytes) => Some(Class::Number),
        Function::Text(Text::StartsWith | Text::EndsWith | Text::Contains { literal: true }) => Some(Class::Other),
        Function::Time(Time::Year | Time::Quarter | Time::Month) => Some(Class::Number),
        Function::List(List::Len) | Function::Bytes(Bytes::Size) => Some(Class::Number),
        Function::Bytes(Bytes::StartsWith | Bytes::EndsWith) => Some(Class::Other),
        _ => None,
    }
}
