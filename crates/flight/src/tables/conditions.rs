//! Structured filters: conditions as messages, and what they mean as expressions.
//!
//! A condition is true or false, as the clients expect: null equals null and nothing else, and in no other comparison is it
//! true.

use arrow_schema::{DataType, Schema};
use formula::functions::Text;
use formula::{Expr, Function, Literal};
use prost::{Message, Oneof};
use tonic::Status;

use super::formulas::{refused, unknown};

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Condition {
    #[prost(oneof = "Test", tags = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11")]
    pub(crate) test: Option<Test>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Test {
    #[prost(message, tag = "1")]
    And(Several),
    #[prost(message, tag = "2")]
    Or(Several),
    #[prost(message, tag = "3")]
    Not(Box<Negated>),
    #[prost(message, tag = "4")]
    Compare(Compare),
    #[prost(message, tag = "5")]
    In(In),
    #[prost(message, tag = "6")]
    Invoke(crate::proto::Empty),
    #[prost(message, tag = "7")]
    IsNull(OfColumn),
    #[prost(message, tag = "8")]
    Matches(OfText),
    #[prost(message, tag = "9")]
    Contains(OfText),
    #[prost(message, tag = "10")]
    Search(Search),
    #[prost(message, tag = "11")]
    IsNan(OfColumn),
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Several {
    #[prost(message, repeated, tag = "1")]
    pub(crate) filters: Vec<Condition>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Negated {
    #[prost(message, optional, boxed, tag = "1")]
    pub(crate) filter: Option<Box<Condition>>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Compare {
    #[prost(int32, tag = "1")]
    pub(crate) operation: i32,
    #[prost(int32, tag = "2")]
    pub(crate) ignore_case: i32,
    #[prost(message, optional, tag = "3")]
    pub(crate) left: Option<Value>,
    #[prost(message, optional, tag = "4")]
    pub(crate) right: Option<Value>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct In {
    #[prost(message, optional, tag = "1")]
    pub(crate) target: Option<Value>,
    #[prost(message, repeated, tag = "2")]
    pub(crate) candidates: Vec<Value>,
    #[prost(int32, tag = "3")]
    pub(crate) ignore_case: i32,
    #[prost(int32, tag = "4")]
    pub(crate) inverted: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct OfColumn {
    #[prost(message, optional, tag = "1")]
    pub(crate) reference: Option<Named>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct OfText {
    #[prost(message, optional, tag = "1")]
    pub(crate) reference: Option<Named>,
    #[prost(string, tag = "2")]
    pub(crate) text: String,
    #[prost(int32, tag = "3")]
    pub(crate) ignore_case: i32,
    #[prost(int32, tag = "4")]
    pub(crate) inverted: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Search {
    #[prost(string, tag = "1")]
    pub(crate) text: String,
    #[prost(message, repeated, tag = "2")]
    pub(crate) references: Vec<Named>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Named {
    #[prost(string, tag = "1")]
    pub(crate) column: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Value {
    #[prost(oneof = "ValueOf", tags = "1, 2")]
    pub(crate) of: Option<ValueOf>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum ValueOf {
    #[prost(message, tag = "1")]
    Column(Named),
    #[prost(message, tag = "2")]
    Literal(Written),
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Written {
    #[prost(oneof = "Constant", tags = "1, 2, 3, 4, 5")]
    pub(crate) value: Option<Constant>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Constant {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(double, tag = "2")]
    Number(f64),
    #[prost(bool, tag = "3")]
    Bool(bool),
    #[prost(sint64, tag = "4")]
    Whole(i64),
    #[prost(sint64, tag = "5")]
    Nanos(i64),
}

const WHAT: &str = "filter";

fn call(function: Function, args: Vec<Expr>) -> Result<Expr, Status> {
    Expr::call(function, args).map_err(|error| refused(WHAT, error))
}

fn column(named: Option<&Named>) -> Result<Expr, Status> {
    let named = named.filter(|named| !named.column.is_empty());
    named.map(|named| Expr::column(named.column.as_str())).ok_or_else(|| refused(WHAT, "a condition names no column"))
}

fn value(value: Option<&Value>) -> Result<Expr, Status> {
    let of = value.and_then(|value| value.of.as_ref()).ok_or_else(|| refused(WHAT, "a condition has no value"))?;
    Ok(match of {
        ValueOf::Column(named) => column(Some(named))?,
        ValueOf::Literal(written) => {
            Expr::Literal(match written.value.as_ref().ok_or_else(|| refused(WHAT, "a literal has no value"))? {
                Constant::Text(text) => Literal::Str(text.as_str().into()),
                // Clients that know one kind of number write whole ones as it, too.
                Constant::Number(number) if number.fract() == 0.0 && number.abs() <= 2_f64.powi(53) => {
                    Literal::Int(*number as i64)
                }
                Constant::Number(number) => Literal::Float(*number),
                Constant::Bool(truth) => Literal::Bool(*truth),
                Constant::Whole(number) => Literal::Int(*number),
                Constant::Nanos(ns) => Literal::Timestamp { ns: *ns, zone: Some("UTC".into()) },
            })
        }
    })
}

/// The values as they are compared: texts without their case if it does not matter. Other values have none.
fn folded(of: Expr, ignore_case: i32, schema: &Schema) -> Result<Expr, Status> {
    let has_case = match &of {
        Expr::Literal(literal) => matches!(literal, Literal::Str(_)),
        Expr::Column(name) => schema.field_with_name(name).is_ok_and(|field| is_text(field.data_type())),
        _ => true,
    };
    if ignore_case == 0 || !has_case { Ok(of) } else { call(Function::Text(Text::ToLowercase), vec![of]) }
}

fn negated(of: Expr, inverted: i32) -> Result<Expr, Status> {
    if inverted == 0 { Ok(of) } else { call(Function::Not, vec![of]) }
}

/// False where it is unknown.
fn known(of: Expr) -> Result<Expr, Status> {
    call(Function::FillNull, vec![of, Expr::literal(false)])
}

fn all(function: Function, filters: Vec<Expr>) -> Result<Expr, Status> {
    let mut filters = filters;
    match filters.len() {
        0 => Ok(Expr::literal(function == Function::And)),
        1 => Ok(filters.remove(0)),
        _ => call(function, filters),
    }
}

fn text(of: &OfText, pattern: impl Fn(&str) -> String, literal: bool, schema: &Schema) -> Result<Expr, Status> {
    let pattern = pattern(&of.text);
    let pattern = if of.ignore_case == 0 || !literal { pattern } else { pattern.to_lowercase() };
    let cells = column(of.reference.as_ref())?;
    let cells = if literal { folded(cells, of.ignore_case, schema)? } else { cells };
    let found = call(Function::Text(Text::Contains { literal }), vec![cells, Expr::literal(pattern.as_str())])?;
    // Null has no text, neither one that contains nor one that does not.
    known(negated(found, of.inverted)?)
}

/// The expression that a condition over these columns means.
pub(crate) fn meaning(condition: &Condition, schema: &Schema) -> Result<Expr, Status> {
    let several = |several: &Several| -> Result<Vec<Expr>, Status> {
        several.filters.iter().map(|each| meaning(each, schema)).collect()
    };
    match condition.test.as_ref().ok_or_else(|| refused(WHAT, "a condition is empty"))? {
        Test::And(each) => all(Function::And, several(each)?),
        Test::Or(each) => all(Function::Or, several(each)?),
        Test::Not(not) => {
            let filter = not.filter.as_ref().ok_or_else(|| refused(WHAT, "a condition is empty"))?;
            call(Function::Not, vec![meaning(filter, schema)?])
        }
        Test::Compare(compare) => {
            let function = match compare.operation {
                0 => Function::Less,
                1 => Function::LessEqual,
                2 => Function::Greater,
                3 => Function::GreaterEqual,
                4 => Function::EqualMissing,
                5 => Function::NotEqualMissing,
                other => return Err(refused(WHAT, format!("there is no comparison {other}"))),
            };
            let side = |of: &Option<Value>| folded(value(of.as_ref())?, compare.ignore_case, schema);
            known(call(function, vec![side(&compare.left)?, side(&compare.right)?])?)
        }
        Test::In(within) => {
            let target = folded(value(within.target.as_ref())?, within.ignore_case, schema)?;
            let one = |candidate: &Value| {
                let candidate = folded(value(Some(candidate))?, within.ignore_case, schema)?;
                call(Function::EqualMissing, vec![target.clone(), candidate])
            };
            let each: Result<Vec<Expr>, Status> = within.candidates.iter().map(one).collect();
            negated(all(Function::Or, each?)?, within.inverted)
        }
        Test::Invoke(_) => Err(unknown(WHAT, "methods of values cannot be called; a formula may say the same")),
        Test::IsNull(of) => call(Function::IsNull, vec![column(of.reference.as_ref())?]),
        Test::IsNan(of) => call(Function::IsNan, vec![column(of.reference.as_ref())?]),
        Test::Matches(of) => {
            let flags = if of.ignore_case == 0 { "s" } else { "si" };
            text(of, |pattern| format!("(?{flags})^(?:{pattern})$"), false, schema)
        }
        Test::Contains(of) => text(of, str::to_owned, true, schema),
        Test::Search(search) => {
            let named: Vec<&str> = if search.references.is_empty() {
                let texts = schema.fields().iter().filter(|field| is_text(field.data_type()));
                texts.map(|field| field.name().as_str()).collect()
            } else {
                search.references.iter().map(|named| named.column.as_str()).collect()
            };
            let pattern = search.text.to_lowercase();
            let one = |name: &str| {
                let cells = folded(Expr::column(name), 1, schema)?;
                let literal = Function::Text(Text::Contains { literal: true });
                known(call(literal, vec![cells, Expr::literal(pattern.as_str())])?)
            };
            let each: Result<Vec<Expr>, Status> = named.into_iter().map(one).collect();
            all(Function::Or, each?)
        }
    }
}

fn is_text(of: &DataType) -> bool {
    match of {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, of) => is_text(of),
        _ => false,
    }
}
