//! Casts: what fits, what does not, and how the error names it.

use std::sync::Arc;

use arrow_array::{ArrayRef, Decimal128Array};
use arrow_schema::{DataType, TimeUnit};

use crate::testing::*;
use crate::tree::expr::Expr;

fn cast(to: DataType, strict: bool) -> Expr {
    col("x").cast(to, strict).unwrap()
}

#[test]
fn floats_to_integers_are_cut_and_checked() {
    let good = [("x", floats([Some(1.9), Some(-1.9), Some(-0.0), None, Some(127.9)]))];
    check(&cast(DataType::Int8, true), &good, "1 -1 0 null 127");
    check(&cast(DataType::Boolean, true), &good, "true true false null true");
    let bad = [(
        "x",
        floats([Some(1.0), Some(f64::NAN), Some(f64::INFINITY), Some(128.0), Some(-129.0), Some(-128.9), None]),
    )];
    check(&cast(DataType::Int8, false), &bad, "1 null null null null -128 null");
    let error = try_run(&cast(DataType::Int8, true), &bad).unwrap_err();
    assert_eq!((error.row, error.value.as_str(), error.expression.as_str()), (1, "NaN", "col(\"x\").cast(Int8)"));
    assert_eq!(
        error.to_string(),
        "the value does not fit Int8; cast with strict=False for null instead (value NaN, in col(\"x\").cast(Int8))"
    );
    let edges = [(
        "x",
        floats([
            Some(9_223_372_036_854_774_784.0),
            Some(9_223_372_036_854_775_808.0),
            Some(-9_223_372_036_854_775_808.0),
        ]),
    )];
    check(&cast(DataType::Int64, false), &edges, "9223372036854774784 null -9223372036854775808");
    check(&cast(DataType::UInt64, false), &edges, "9223372036854774784 9223372036854775808 null");
}

#[test]
fn integers_to_integers() {
    let columns = [("x", ints([Some(-1), Some(255), Some(256), Some(i64::MIN), Some(i64::MAX), None]))];
    check(&cast(DataType::UInt8, false), &columns, "null 255 null null null null");
    check(&cast(DataType::Int16, false), &columns, "-1 255 256 null null null");
    check(&cast(DataType::UInt64, false), &columns, "null 255 256 null 9223372036854775807 null");
    check(&cast(DataType::Float64, true), &columns, "-1.0 255.0 256.0 -9.223372036854776e18 9.223372036854776e18 null");
    let error = try_run(&cast(DataType::UInt64, true), &columns).unwrap_err();
    assert_eq!((error.row, error.value.as_str()), (0, "-1"));
}

#[test]
fn a_value_that_does_not_fit_is_no_error_where_it_is_null() {
    let x = floats([Some(1e300), Some(1.0)]);
    let nulled = Expr::when(vec![(call("<", [col("x"), lit(2.0)]), col("x"))], None).unwrap();
    let expr = nulled.cast(DataType::Int64, true).unwrap();
    check(&expr, &[("x", x)], "null 1");
}

#[test]
fn text_to_and_fro() {
    let columns = [("x", texts([Some("1"), Some("-9223372036854775808"), Some("1.5"), Some(""), None, Some("é")]))];
    check(&cast(DataType::Int64, false), &columns, "1 -9223372036854775808 null null null null");
    let error = try_run(&cast(DataType::Int64, true), &columns).unwrap_err();
    assert_eq!((error.row, error.value.as_str()), (2, "\"1.5\""));
    assert!(error.message.contains("no Int64"), "{error}");
    check(&cast(DataType::Float64, false), &columns, "1.0 -9.223372036854776e18 1.5 null null null");
    let numbers = [("x", ints([Some(1), None]))];
    assert_eq!(bound(&cast(DataType::Utf8, true), &numbers).unwrap().data_type(), &DataType::Utf8View);
    check(&cast(DataType::Utf8, true), &numbers, "1 null");
    check(&cast(DataType::LargeUtf8, true), &[("x", bools([Some(true), None]))], "true null");
    check(&cast(DataType::Utf8View, true), &[("x", floats([Some(0.1), Some(f64::NAN)]))], "0.1 NaN");
}

#[test]
fn whole_numbers_count_in_the_unit_named() {
    let columns = [("x", ints([Some(1_357_000_000), Some(-1), None]))];
    let seconds = DataType::Timestamp(TimeUnit::Second, Some("UTC".into()));
    check(&cast(seconds.clone(), true), &columns, "2013-01-01T00:26:40Z 1969-12-31T23:59:59Z null");
    let bad = [("x", ints([Some(1), Some(i64::MAX)]))];
    let error = try_run(&cast(seconds, true), &bad).unwrap_err();
    assert_eq!(error.row, 1);
    check(&cast(DataType::Date32, true), &[("x", ints([Some(0), Some(366)]))], "1970-01-01 1971-01-02");
}

#[test]
fn constants_that_do_not_fit_are_errors_at_binding() {
    let columns = [("x", ints([Some(1)]))];
    let error = bound(&lit("abc").cast(DataType::Int64, true).unwrap(), &columns).unwrap_err().to_string();
    assert_eq!(
        error,
        "in lit(\"abc\").cast(Int64): the value is no Int64; cast with strict=False for null instead (value \"abc\")"
    );
    check(&lit("abc").cast(DataType::Int64, false).unwrap(), &columns, "null");
    check(&call("+", [col("x"), lit(5_i64).cast(DataType::Int8, true).unwrap()]), &columns, "6");
}

#[test]
fn decimals_are_exact() {
    let decimals = |values: Vec<Option<i128>>, precision, scale| -> ArrayRef {
        Arc::new(Decimal128Array::from(values).with_precision_and_scale(precision, scale).unwrap())
    };
    let columns = vec![
        ("x", decimals(vec![Some(1_05), Some(-2_50), None, Some(7_00)], 10, 2)),
        ("y", decimals(vec![Some(3), Some(2), Some(1), Some(0)], 5, 1)),
        ("n", ints([Some(2), Some(-2), Some(1), Some(0)])),
    ];
    check(&call("+", [col("x"), col("y")]), &columns, "1.35 -2.30 null 7.00");
    check(&call("-", [col("x"), col("n")]), &columns, "-0.95 -0.50 null 7.00");
    check(&call("*", [col("x"), col("y")]), &columns, "0.315 -0.500 null 0.000");
    check(&call("/", [col("x"), col("n")]), &columns, "0.525000 1.250000 null null");
    check(&call("//", [col("x"), col("n")]), &columns, "0 1 null null");
    check(&call("%", [col("x"), col("n")]), &columns, "1.05 -0.50 null null");
    check(&call("neg", [col("x")]), &columns, "-1.05 2.50 null -7.00");
    check(&call("round", [col("x"), lit(1_i64)]), &columns, "1.00 -2.50 null 7.00");
    check(&call("floor", [col("x")]), &columns, "1.00 -3.00 null 7.00");
    check(&call(">", [col("x"), col("n")]), &columns, "false false null true");
    check(&call("==", [col("x"), lit(7_i64)]), &columns, "false false null true");
    check(&call("*", [col("x"), lit(0.5)]), &columns, "0.525 -1.25 null 3.5");
    let wide = vec![("x", decimals(vec![Some(10_i128.pow(37)), Some(1)], 38, 0))];
    let error = try_run(&call("*", [col("x"), col("x")]), &wide).unwrap_err();
    assert_eq!(error.row, 0);
    assert!(error.message.contains("more digits"), "{error}");
}
