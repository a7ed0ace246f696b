//! Arithmetic and functions of numbers.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float16Array, Float32Array, Int8Array, Int16Array, UInt8Array, UInt64Array};
use arrow_schema::DataType;

use crate::testing::*;
use crate::tree::expr::Expr;

fn pair() -> Vec<(&'static str, ArrayRef)> {
    vec![
        ("a", ints([Some(7), Some(-7), Some(7), Some(-7), Some(i64::MIN), Some(i64::MAX), None, Some(5)])),
        ("b", ints([Some(2), Some(2), Some(-2), Some(-2), Some(-1), Some(1), Some(1), Some(0)])),
    ]
}

#[test]
fn integers_wrap_and_divide_as_decided() {
    let ab = || [col("a"), col("b")];
    check(&call("+", ab()), &pair(), "9 -5 5 -9 9223372036854775807 -9223372036854775808 null 5");
    check(&call("-", ab()), &pair(), "5 -9 9 -5 -9223372036854775807 9223372036854775806 null 5");
    check(&call("*", ab()), &pair(), "14 -14 -14 14 -9223372036854775808 9223372036854775807 null 0");
    check(&call("/", ab()), &pair(), "3.5 -3.5 -3.5 3.5 9.223372036854776e18 9.223372036854776e18 null inf");
    check(&call("//", ab()), &pair(), "3 -4 -4 3 -9223372036854775808 9223372036854775807 null null");
    check(&call("%", ab()), &pair(), "1 1 -1 -1 0 0 null null");
    check(&call("neg", [col("a")]), &pair(), "-7 7 -7 7 -9223372036854775808 -9223372036854775807 null -5");
    check(&call("abs", [col("a")]), &pair(), "7 7 7 7 -9223372036854775808 9223372036854775807 null 5");
    check(&call("sign", [col("a")]), &pair(), "1 -1 1 -1 -1 1 null 1");
    check(&call("**", [col("a"), lit(2_i64)]), &pair(), "49 49 49 49 0 1 null 25");
    check(&call("**", [col("b"), lit(-1_i64)]), &pair(), "0.5 0.5 -0.5 -0.5 -1.0 1.0 1.0 inf");
    check(
        &call("-", [col("a"), col("b"), lit(1_i64)]),
        &pair(),
        "4 -10 8 -6 -9223372036854775808 9223372036854775805 null 4",
    );
}

#[test]
fn small_integers_wrap_in_their_own_width() {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("a", Arc::new(Int8Array::from(vec![Some(i8::MIN), Some(i8::MAX), None]))),
        ("u", Arc::new(UInt8Array::from(vec![0, 255, 3]))),
    ];
    check(&call("+", [col("a"), lit(1_i64)]), &columns, "-127 -128 null");
    check(&call("//", [col("a"), lit(-1_i64)]), &columns, "-128 -127 null");
    check(&call("-", [col("u"), lit(1_i64)]), &columns, "255 254 2");
    // 300 is no Int8: the sum is Int64.
    let sum = call("+", [col("a"), lit(300_i64)]);
    assert_eq!(bound(&sum, &columns).unwrap().data_type(), &DataType::Int64);
    check(&sum, &columns, "172 427 null");
    let mixed = call("+", [col("a"), col("u")]);
    assert_eq!(bound(&mixed, &columns).unwrap().data_type(), &DataType::Int16);
    check(&mixed, &columns, "-128 382 null");
    assert!(bound(&call("neg", [col("u")]), &columns).unwrap_err().to_string().contains("cast"));
}

#[test]
fn floats_follow_ieee() {
    let columns = vec![
        (
            "x",
            floats([
                Some(7.0),
                Some(-7.0),
                Some(1.0),
                Some(0.0),
                Some(f64::NAN),
                Some(f64::INFINITY),
                None,
                Some(-0.0),
            ]),
        ),
        ("y", floats([Some(2.0), Some(2.0), Some(0.0), Some(0.0), Some(1.0), Some(2.0), Some(1.0), Some(5.0)])),
    ];
    let xy = || [col("x"), col("y")];
    check(&call("/", xy()), &columns, "3.5 -3.5 inf NaN NaN inf null -0.0");
    check(&call("//", xy()), &columns, "3.0 -4.0 inf NaN NaN inf null -0.0");
    check(&call("%", xy()), &columns, "1.0 1.0 NaN NaN NaN NaN null -0.0");
    check(&call("sqrt", [col("x")]), &columns, "2.6457513110645907 NaN 1.0 0.0 NaN inf null -0.0");
    check(&call("log", [col("x")]), &columns, "1.9459101490553132 NaN 0.0 -inf NaN inf null -inf");
    check(&call("sign", [col("x")]), &columns, "1.0 -1.0 1.0 0.0 NaN 1.0 null -0.0");
    check(&call("log", [call("abs", [col("x")]), lit(7.0)]), &columns, "1.0 1.0 0.0 -inf NaN inf null -inf");
}

#[test]
fn rounding() {
    let columns = vec![(
        "x",
        floats([
            Some(0.5),
            Some(1.5),
            Some(-2.5),
            Some(2.675),
            Some(f64::NAN),
            Some(f64::NEG_INFINITY),
            Some(1e308),
            None,
        ]),
    )];
    check(&call("round", [col("x")]), &columns, "0.0 2.0 -2.0 3.0 NaN -inf 1e308 null");
    check(&call("round", [col("x"), lit(1_i64)]), &columns, "0.5 1.5 -2.5 2.7 NaN -inf 1e308 null");
    check(&call("floor", [col("x")]), &columns, "0.0 1.0 -3.0 2.0 NaN -inf 1e308 null");
    check(&call("ceil", [col("x")]), &columns, "1.0 2.0 -2.0 3.0 NaN -inf 1e308 null");
    let whole = vec![("n", ints([Some(i64::MAX), None]))];
    check(&call("floor", [col("n")]), &whole, "9223372036854775807 null");
    check(&call("round", [col("n"), lit(2_i64)]), &whole, "9223372036854775807 null");
}

#[test]
fn types_meet_as_in_the_table() {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("h", Arc::new(Float16Array::from_iter_values([1.5, -2.0].map(arrow_array_half)))),
        ("f", Arc::new(Float32Array::from(vec![0.1, 2.0]))),
        ("s", Arc::new(Int16Array::from(vec![3, 4]))),
        ("u", Arc::new(UInt64Array::from(vec![u64::MAX, 1]))),
        ("i", ints([Some(-1), Some(1)])),
    ];
    let of = |expr: &crate::tree::expr::Expr| bound(expr, &columns).map(|bound| bound.data_type().clone());
    assert_eq!(of(&call("+", [col("h"), lit(1_i64)])).unwrap(), DataType::Float16);
    assert_eq!(of(&call("+", [col("f"), col("s")])).unwrap(), DataType::Float32);
    assert_eq!(of(&call("+", [col("f"), col("i")])).unwrap(), DataType::Float64);
    assert_eq!(of(&call("*", [col("f"), lit(0.1)])).unwrap(), DataType::Float32);
    assert_eq!(of(&call("/", [col("s"), lit(2_i64)])).unwrap(), DataType::Float64);
    check(&call("+", [col("h"), lit(1_i64)]), &columns, "2.5 -1");
    check(&call("==", [col("f"), lit(0.1)]), &columns, "true false");
    let error = of(&call("+", [col("u"), col("i")])).unwrap_err().to_string();
    assert_eq!(error, "+ does not take UInt64 and Int64: cast one side so that both are of one kind");
    check(&call("<", [col("i"), col("u")]), &columns, "true false");
    check(&call(">", [col("u"), col("i")]), &columns, "true false");
    check(&call("==", [col("u"), col("i")]), &columns, "false true");
    check(&call("eq_missing", [col("u"), col("i")]), &columns, "false true");
}

fn arrow_array_half(value: f32) -> <arrow_array::types::Float16Type as arrow_array::types::ArrowPrimitiveType>::Native {
    use arrow_array::cast::AsArray;
    let single: ArrayRef = Arc::new(Float32Array::from(vec![value]));
    arrow_cast::cast(&single, &DataType::Float16).unwrap().as_primitive::<arrow_array::types::Float16Type>().value(0)
}

#[test]
fn strings_and_numbers_do_not_add() {
    let columns = vec![("s", texts([Some("a"), None])), ("n", ints([Some(1), Some(2)]))];
    let error = bound(&call("+", [col("s"), col("n")]), &columns).unwrap_err().to_string();
    assert_eq!(error, "+ does not take String and Int64: cast one side, e.g. .cast(String) or .cast(Int64)");
    check(&call("+", [col("s"), lit("é")]), &columns, "aé null");
    let error = bound(&call("+", [col("m"), col("n")]), &columns).unwrap_err().to_string();
    assert_eq!(error, "no column \"m\"; the columns are \"s\", \"n\"");
}

#[test]
fn bits_and_shifts() {
    let columns = vec![("a", ints([Some(12), Some(-1), None])), ("b", ints([Some(10), Some(1), Some(1)]))];
    let ab = || [col("a"), col("b")];
    check(&call("&", ab()), &columns, "8 1 null");
    check(&call("|", ab()), &columns, "14 -1 null");
    check(&call("^", ab()), &columns, "6 -2 null");
    check(&call("~", [col("a")]), &columns, "-13 0 null");
    check(&call("<<", [col("a"), lit(65_i64)]), &columns, "24 -2 null");
    check(&call(">>", [col("a"), lit(1_i64)]), &columns, "6 -1 null");
}

#[test]
fn bins_of_numbers() {
    let lower = |x: Expr, args: Vec<Expr>| call("lower_bin", std::iter::once(x).chain(args));
    let upper = |x: Expr, args: Vec<Expr>| call("upper_bin", std::iter::once(x).chain(args));
    let n = [("n", ints([Some(0), Some(7), Some(-7), None, Some(10), Some(i64::MAX), Some(i64::MIN)]))];
    let max = i64::MAX / 5 * 5;
    let min = i64::MIN.div_euclid(5).wrapping_mul(5);
    check(&lower(col("n"), vec![lit(5_i64)]), &n, &format!("0 5 -10 null 10 {max} {min}"));
    check(&lower(col("n"), vec![lit(5_i64), lit(1_i64)]), &[("n", n[0].1.slice(0, 5))], "-4 6 -9 null 6");
    check(&upper(col("n"), vec![lit(5_i64)]), &[("n", n[0].1.slice(0, 5))], "0 10 -5 null 10");
    check(&lower(col("n"), vec![lit(0_i64)]), &[("n", n[0].1.slice(0, 2))], "null null");
    let v = [("v", floats([Some(-0.5), Some(0.7), Some(f64::NAN), Some(f64::INFINITY), None]))];
    check(&lower(col("v"), vec![lit(0.5)]), &v, "-0.5 0.5 NaN inf null");
    assert!(bound(&lower(lit("x"), vec![lit(5_i64)]), &n).is_err());
    assert!(bound(&lower(col("n"), vec![]), &n).is_err());
}

#[test]
fn what_stands_beside_the_row_is_an_input_of_its_own() {
    let n = [("n", ints([Some(1)])), ("k", ints([Some(5)]))];
    let shifted = bound(&call("shift", [call("+", [col("n"), col("k")])]), &n).unwrap();
    assert!(shifted.inputs().is_empty());
    assert!(
        matches!(shifted.context_inputs(), [crate::eval::beside::ContextInput::Neighbour { by: 1, of }] if of.inputs() == [0, 1])
    );
    assert_eq!(shifted.reach().reads, [(1, 0), (1, 1)]);
    assert_eq!((shifted.reach().back, shifted.reach().ahead), (1, 0));
    let position = Expr::call(crate::tree::function::Function::Position, vec![]).unwrap();
    let both = bound(&call("+", [call("*", [position.clone(), col("n")]), position]), &n).unwrap();
    assert_eq!((both.inputs(), both.context_inputs().len(), both.reach().position), (&[0][..], 1, true));
    let key = Expr::call(crate::tree::function::Function::RowKey, vec![]).unwrap();
    check(&key, &n, "5");
}

#[test]
fn what_hangs_on_the_clock_alone_is_one_value() {
    let now = Expr::call(crate::tree::function::Function::Now, vec![]).unwrap();
    let n = [("n", ints([Some(1)]))];
    let hour = call("dt.hour", [now]);
    let expr = bound(&call("+", [hour.clone(), call("*", [hour, col("n")])]), &n).unwrap();
    let [crate::eval::beside::ContextInput::Clock(part)] = expr.context_inputs() else {
        panic!("{:?}", expr.context_inputs())
    };
    let at: ArrayRef =
        std::sync::Arc::new(arrow_array::TimestampNanosecondArray::from(vec![7_200_000_000_000]).with_timezone("UTC"));
    assert_eq!(crate::eval::bound::text_of(&part.at_time(&at).unwrap()), "2");
    assert!(expr.reach().clock);
}
