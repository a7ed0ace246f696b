//! Conditionals, replacement of null and NaN, the least and greatest of several.

use crate::testing::*;
use crate::tree::expr::Expr;
use crate::tree::literal::Literal;

#[test]
fn the_first_true_branch_gives_the_value() {
    let columns = vec![
        ("c", bools([Some(true), Some(false), None, Some(false)])),
        ("d", bools([Some(true), Some(true), Some(true), None])),
        ("x", floats([Some(1.0), Some(2.0), Some(3.0), Some(4.0)])),
        ("s", texts([Some("a"), None, Some("c"), Some("d")])),
    ];
    let when = |branches, otherwise| Expr::when(branches, otherwise).unwrap();
    check(&when(vec![(col("c"), lit(1_i64)), (col("d"), lit(2_i64))], Some(lit(3_i64))), &columns, "1 2 2 3");
    check(&when(vec![(col("c"), col("x"))], None), &columns, "1.0 null null null");
    check(&when(vec![(col("c"), lit(1_i64))], Some(col("x"))), &columns, "1.0 2.0 3.0 4.0");
    check(&when(vec![(col("d"), col("s"))], Some(lit("else"))), &columns, "a null c else");
    check(&when(vec![(col("c"), lit("yes"))], Some(lit("no"))), &columns, "yes no no no");
    check(&when(vec![(col("c"), col("d"))], Some(col("c"))), &columns, "true false null false");
    let error = bound(&when(vec![(col("x"), lit(1_i64))], None), &columns).unwrap_err().to_string();
    assert_eq!(error, "when does not take Float64: a condition is Boolean; compare it with something");
    let error = bound(&when(vec![(col("c"), lit(1_i64))], Some(col("s"))), &columns).unwrap_err().to_string();
    assert!(error.starts_with("when does not take"), "{error}");
}

#[test]
fn replacing_null_and_nan() {
    let columns = vec![
        ("x", floats([Some(1.0), None, Some(f64::NAN), None])),
        ("y", floats([Some(5.0), Some(6.0), None, None])),
        ("s", texts([Some("a"), None, None, Some("")])),
        ("n", ints([None, Some(2), Some(3), None])),
    ];
    check(&call("fill_null", [col("x"), lit(0_i64)]), &columns, "1.0 0.0 NaN 0.0");
    check(&call("fill_nan", [col("x"), lit(0_i64)]), &columns, "1.0 null 0.0 null");
    check(&call("fill_nan", [col("x"), Expr::Literal(Literal::Null)]), &columns, "1.0 null null null");
    check(&call("coalesce", [col("x"), col("y"), lit(-1_i64)]), &columns, "1.0 6.0 NaN -1.0");
    check(&call("coalesce", [col("x"), col("y")]), &columns, "1.0 6.0 NaN null");
    check(&call("fill_null", [col("s"), lit("?")]), &columns, "a ? ? ");
    check(&call("fill_null", [col("n"), lit(0.5)]), &columns, "0.5 2.0 3.0 0.5");
}

#[test]
fn least_and_greatest_skip_null_and_nan() {
    let columns = vec![
        ("x", floats([Some(1.0), None, Some(f64::NAN), Some(f64::NAN), None])),
        ("y", floats([Some(2.0), Some(2.0), Some(2.0), Some(f64::NAN), None])),
        ("s", texts([Some("a"), None, Some("c"), None, Some("")])),
    ];
    check(&call("max_horizontal", [col("x"), col("y")]), &columns, "2.0 2.0 2.0 NaN null");
    check(&call("min_horizontal", [col("x"), col("y")]), &columns, "1.0 2.0 2.0 NaN null");
    check(&call("max_horizontal", [col("y"), col("x"), lit(1.5)]), &columns, "2.0 2.0 2.0 1.5 1.5");
    check(&call("max_horizontal", [col("s"), lit("b")]), &columns, "b b c b b");
    check(&call("min_horizontal", [lit("b"), col("s")]), &columns, "a b b b ");
}

#[test]
fn clipping_leaves_null_and_nan() {
    let columns = vec![("x", floats([Some(-5.0), Some(0.5), Some(f64::INFINITY), Some(f64::NAN), None]))];
    check(&call("clip", [col("x"), lit(0_i64), lit(1_i64)]), &columns, "0.0 0.5 1.0 NaN null");
    check(&call("clip", [col("x"), Expr::Literal(Literal::Null), lit(1_i64)]), &columns, "-5.0 0.5 1.0 NaN null");
}
