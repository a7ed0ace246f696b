//! Expressions over one row, as a small tree, for random expression tests.

use std::cmp::Ordering;

use crate::table::Table;
use crate::value::{Value, order, same};

/// An arithmetic operator. Integers are 64 bits wide here; narrower ones are the engine's matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arith {
    /// `+`, wrapping
    Add,
    /// `-`, wrapping
    Subtract,
    /// `*`, wrapping
    Multiply,
    /// `/`, always a Float64
    Divide,
    /// `//`, floors
    FloorDivide,
    /// `%`, the sign of the divisor
    Remainder,
}

/// A comparison, by the total order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// An expression over the cells of one row.
#[derive(Clone, Debug)]
pub enum ModelExpr {
    /// The cell of a column.
    Column(String),
    /// A constant.
    Literal(Value),
    /// Two numbers.
    Arith(Arith, Box<ModelExpr>, Box<ModelExpr>),
    /// The negative, wrapping for integers.
    Negate(Box<ModelExpr>),
    /// The absolute value, wrapping for integers.
    Abs(Box<ModelExpr>),
    /// Two values; null if either is.
    Compare(Comparison, Box<ModelExpr>, Box<ModelExpr>),
    /// Kleene and.
    And(Box<ModelExpr>, Box<ModelExpr>),
    /// Kleene or.
    Or(Box<ModelExpr>, Box<ModelExpr>),
    /// Kleene not.
    Not(Box<ModelExpr>),
    /// The second if the first is true, else the third; a null condition takes the third.
    When(Box<ModelExpr>, Box<ModelExpr>, Box<ModelExpr>),
    /// Never null.
    IsNull(Box<ModelExpr>),
    /// Never null.
    IsNotNull(Box<ModelExpr>),
    /// The first that is not null.
    Coalesce(Vec<ModelExpr>),
    /// Whether it is among the constants. Null matches nothing, unless null is told to equal null.
    IsIn(Box<ModelExpr>, Vec<Value>, bool),
    /// The value so many rows earlier (negative: later), by position; null where there is none.
    Shift(Box<ModelExpr>, i64),
    /// Both ends included; null if the answer depends on a null.
    IsBetween(Box<ModelExpr>, Box<ModelExpr>, Box<ModelExpr>),
}

impl ModelExpr {
    /// A column by name.
    pub fn column(name: &str) -> ModelExpr {
        ModelExpr::Column(name.to_owned())
    }

    /// A constant.
    pub fn literal(value: impl Into<Value>) -> ModelExpr {
        ModelExpr::Literal(value.into())
    }

    /// Its value in one row of a table with these columns.
    pub fn value(&self, table: &Table, row: &[Value]) -> Value {
        let of = |part: &ModelExpr| part.value(table, row);
        match self {
            ModelExpr::Column(name) => row[table.index_of(name)].clone(),
            ModelExpr::Literal(value) => value.clone(),
            ModelExpr::Arith(operator, left, right) => arith(*operator, &of(left), &of(right)),
            ModelExpr::Negate(part) => arith(Arith::Subtract, &zero_like(&of(part)), &of(part)),
            ModelExpr::Abs(part) => abs(&of(part)),
            ModelExpr::Compare(operator, left, right) => compare(*operator, &of(left), &of(right)),
            ModelExpr::And(left, right) => kleene(&of(left), &of(right), false),
            ModelExpr::Or(left, right) => kleene(&of(left), &of(right), true),
            ModelExpr::Not(part) => not(&of(part)),
            ModelExpr::When(condition, then, otherwise) => match of(condition) {
                Value::Bool(true) => of(then),
                _ => of(otherwise),
            },
            ModelExpr::IsNull(part) => Value::Bool(of(part).is_null()),
            ModelExpr::IsNotNull(part) => Value::Bool(!of(part).is_null()),
            ModelExpr::Coalesce(parts) => parts.iter().map(of).find(|value| !value.is_null()).unwrap_or(Value::Null),
            ModelExpr::IsIn(part, list, nulls_equal) => is_in(&of(part), list, *nulls_equal),
            ModelExpr::Shift(part, by) => {
                // A row is a row of the table: it is found by where it lies.
                let here = table.rows.iter().position(|(_, other)| std::ptr::eq(other.as_slice(), row));
                let there = here.and_then(|here| usize::try_from(i64::try_from(here).ok()?.checked_sub(*by)?).ok());
                match there.and_then(|there| table.rows.get(there)) {
                    Some((_, other)) => part.value(table, other),
                    None => Value::Null,
                }
            }
            ModelExpr::IsBetween(part, low, high) => {
                let part = of(part);
                let from = compare(Comparison::GreaterOrEqual, &part, &of(low));
                kleene(&from, &compare(Comparison::LessOrEqual, &part, &of(high)), false)
            }
        }
    }

    /// Whether it is true in one row; null counts as false, as in every filter.
    pub fn holds(&self, table: &Table, row: &[Value]) -> bool {
        matches!(self.value(table, row), Value::Bool(true))
    }
}

fn zero_like(value: &Value) -> Value {
    match value {
        // −0.0 − x is −x for every float, zeros included.
        Value::Float(_) | Value::Float32(_) | Value::Near(..) => Value::Float(-0.0),
        _ => Value::Int(0),
    }
}

fn abs(value: &Value) -> Value {
    match value {
        Value::Int(x) => Value::Int(x.wrapping_abs()),
        Value::Float(x) => Value::Float(x.abs()),
        Value::Float32(x) => Value::Float32(x.abs()),
        other => other.clone(),
    }
}

fn arith(operator: Arith, left: &Value, right: &Value) -> Value {
    match (left, right) {
        (Value::Null, _) | (_, Value::Null) => Value::Null,
        (Value::Int(a), Value::Int(b)) => arith_integers(operator, *a, *b),
        _ => {
            let number = |value: &Value| value.as_number().expect("arithmetic is between numbers");
            Value::Float(arith_floats(operator, number(left), number(right)))
        }
    }
}

fn arith_integers(operator: Arith, a: i64, b: i64) -> Value {
    match operator {
        Arith::Add => Value::Int(a.wrapping_add(b)),
        Arith::Subtract => Value::Int(a.wrapping_sub(b)),
        Arith::Multiply => Value::Int(a.wrapping_mul(b)),
        Arith::Divide => Value::Float(a as f64 / b as f64),
        Arith::FloorDivide | Arith::Remainder if b == 0 => Value::Null,
        Arith::FloorDivide => {
            let cut = a.wrapping_div(b);
            let exact = a.wrapping_rem(b) == 0;
            Value::Int(if !exact && (a < 0) != (b < 0) { cut - 1 } else { cut })
        }
        Arith::Remainder => {
            let rest = a.wrapping_rem(b);
            Value::Int(if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest })
        }
    }
}

fn arith_floats(operator: Arith, a: f64, b: f64) -> f64 {
    match operator {
        Arith::Add => a + b,
        Arith::Subtract => a - b,
        Arith::Multiply => a * b,
        Arith::Divide => a / b,
        Arith::FloorDivide => (a / b).floor(),
        Arith::Remainder => {
            let rest = a % b;
            if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest }
        }
    }
}

fn compare(operator: Comparison, left: &Value, right: &Value) -> Value {
    if left.is_null() || right.is_null() {
        return Value::Null;
    }
    let found = order(left, right);
    Value::Bool(match operator {
        Comparison::Equal => found == Ordering::Equal,
        Comparison::NotEqual => found != Ordering::Equal,
        Comparison::Less => found == Ordering::Less,
        Comparison::LessOrEqual => found != Ordering::Greater,
        Comparison::Greater => found == Ordering::Greater,
        Comparison::GreaterOrEqual => found != Ordering::Less,
    })
}

/// `and` is settled by a false, `or` by a true; what is not settled is null if either side is.
fn kleene(left: &Value, right: &Value, settles: bool) -> Value {
    let settled = |value: &Value| matches!(value, Value::Bool(x) if *x == settles);
    if settled(left) || settled(right) {
        Value::Bool(settles)
    } else if left.is_null() || right.is_null() {
        Value::Null
    } else {
        Value::Bool(!settles)
    }
}

fn not(value: &Value) -> Value {
    match value {
        Value::Bool(x) => Value::Bool(!x),
        _ => Value::Null,
    }
}

fn is_in(value: &Value, list: &[Value], nulls_equal: bool) -> Value {
    if value.is_null() && !nulls_equal {
        return Value::Null;
    }
    Value::Bool(list.iter().any(|member| same(member, value)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::table;

    fn lit(value: impl Into<Value>) -> Box<ModelExpr> {
        Box::new(ModelExpr::literal(value))
    }

    fn null() -> Box<ModelExpr> {
        Box::new(ModelExpr::Literal(Value::Null))
    }

    fn value(expr: ModelExpr) -> String {
        expr.value(&table(&[], &[]), &[]).to_string()
    }

    #[test]
    fn integers_wrap_floor_and_answer_null_for_zero() {
        let int = |operator, a: i64, b: i64| value(ModelExpr::Arith(operator, lit(a), lit(b)));
        assert_eq!(int(Arith::Add, i64::MAX, 1), i64::MIN.to_string());
        assert_eq!(int(Arith::Multiply, i64::MIN, -1), i64::MIN.to_string());
        assert_eq!(int(Arith::FloorDivide, -7, 2), "-4");
        assert_eq!(int(Arith::FloorDivide, 7, -2), "-4");
        assert_eq!(int(Arith::FloorDivide, -8, 2), "-4");
        assert_eq!(int(Arith::FloorDivide, i64::MIN, -1), i64::MIN.to_string());
        assert_eq!(int(Arith::FloorDivide, 1, 0), "null");
        assert_eq!(int(Arith::Remainder, -7, 2), "1");
        assert_eq!(int(Arith::Remainder, 7, -2), "-1");
        assert_eq!(int(Arith::Remainder, i64::MIN, -1), "0");
        assert_eq!(int(Arith::Remainder, 1, 0), "null");
        assert_eq!(int(Arith::Divide, 1, 0), "inf");
        assert_eq!(int(Arith::Divide, 0, 0), "NaN");
        assert_eq!(int(Arith::Divide, 7, 2), "3.5");
    }

    #[test]
    fn floats_follow_ieee_and_the_divisor() {
        let float = |operator, a: f64, b: f64| value(ModelExpr::Arith(operator, lit(a), lit(b)));
        assert_eq!(float(Arith::Remainder, -7.5, 2.0), "0.5");
        assert_eq!(float(Arith::Remainder, 1.0, 0.0), "NaN");
        assert_eq!(float(Arith::FloorDivide, 1.0, 0.0), "inf");
        assert_eq!(float(Arith::FloorDivide, -7.5, 2.0), "-4.0");
        assert_eq!(value(ModelExpr::Negate(lit(0.0))), "-0.0");
        assert_eq!(value(ModelExpr::Negate(lit(i64::MIN))), i64::MIN.to_string());
        assert_eq!(value(ModelExpr::Abs(lit(i64::MIN))), i64::MIN.to_string());
    }

    #[test]
    fn null_spreads_through_arithmetic_and_comparison() {
        assert_eq!(value(ModelExpr::Arith(Arith::Add, lit(1i64), null())), "null");
        assert_eq!(value(ModelExpr::Compare(Comparison::Equal, null(), null())), "null");
        assert_eq!(value(ModelExpr::Not(null())), "null");
        assert_eq!(value(ModelExpr::IsNull(null())), "true");
        assert_eq!(value(ModelExpr::IsNotNull(null())), "false");
    }

    #[test]
    fn nan_equals_nan_and_is_the_greatest() {
        let nan = || lit(f64::NAN);
        assert_eq!(value(ModelExpr::Compare(Comparison::Equal, nan(), nan())), "true");
        assert_eq!(value(ModelExpr::Compare(Comparison::Greater, nan(), lit(f64::INFINITY))), "true");
        assert_eq!(value(ModelExpr::Compare(Comparison::Less, lit(-0.0), lit(0.0))), "false");
    }

    #[test]
    fn logic_is_kleenes() {
        let (t, f) = (|| lit(true), || lit(false));
        assert_eq!(value(ModelExpr::And(f(), null())), "false");
        assert_eq!(value(ModelExpr::And(null(), t())), "null");
        assert_eq!(value(ModelExpr::And(t(), t())), "true");
        assert_eq!(value(ModelExpr::Or(null(), t())), "true");
        assert_eq!(value(ModelExpr::Or(f(), null())), "null");
        assert_eq!(value(ModelExpr::Or(f(), f())), "false");
    }

    #[test]
    fn a_null_condition_takes_the_else_branch() {
        assert_eq!(value(ModelExpr::When(null(), lit(1i64), lit(2i64))), "2");
        assert_eq!(value(ModelExpr::When(lit(true), lit(1i64), lit(2i64))), "1");
        assert_eq!(value(ModelExpr::Coalesce(vec![*null(), *lit(3i64)])), "3");
        assert_eq!(value(ModelExpr::Coalesce(vec![*null()])), "null");
    }

    #[test]
    fn membership_and_ranges() {
        let list = vec![Value::Null, Value::Float(f64::NAN), Value::Int(2)];
        assert_eq!(value(ModelExpr::IsIn(null(), list.clone(), false)), "null");
        assert_eq!(value(ModelExpr::IsIn(null(), list.clone(), true)), "true");
        assert_eq!(value(ModelExpr::IsIn(lit(f64::NAN), list.clone(), false)), "true");
        assert_eq!(value(ModelExpr::IsIn(lit(3i64), list, false)), "false");
        assert_eq!(value(ModelExpr::IsBetween(lit(2i64), lit(2i64), lit(2i64))), "true");
        assert_eq!(value(ModelExpr::IsBetween(lit(1i64), lit(2i64), null())), "false");
        assert_eq!(value(ModelExpr::IsBetween(lit(2i64), lit(2i64), null())), "null");
    }

    #[test]
    fn neighbours_are_by_position() {
        let t = table(&["x"], &[&[1i64.into()], &[2i64.into()], &[3i64.into()]]);
        let at = |by, row: usize| {
            ModelExpr::Shift(Box::new(ModelExpr::column("x")), by).value(&t, &t.rows[row].1).to_string()
        };
        assert_eq!([at(1, 0), at(1, 1), at(-2, 0), at(-1, 2), at(i64::MIN, 1)], ["null", "1", "3", "null", "null"]);
    }

    #[test]
    fn a_filter_keeps_only_true() {
        let t = table(&["x"], &[&[Value::Null]]);
        let expr = ModelExpr::Compare(Comparison::Equal, Box::new(ModelExpr::column("x")), lit(1i64));
        assert!(!expr.holds(&t, &t.rows[0].1));
    }
}
