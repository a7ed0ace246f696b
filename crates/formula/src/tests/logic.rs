//! Comparison by the total order, Kleene logic, tests of one value, membership.

use arrow_array::ArrayRef;

use crate::testing::*;
use crate::tree::expr::Expr;
use crate::tree::function::{Closed, Function};
use crate::tree::literal::Literal;

fn extremes() -> Vec<(&'static str, ArrayRef)> {
    let values = [
        Some(f64::NEG_INFINITY),
        Some(-1.0),
        Some(-0.0),
        Some(0.0),
        Some(f64::INFINITY),
        Some(f64::NAN),
        Some(-f64::NAN),
        None,
    ];
    vec![("x", floats(values))]
}

#[test]
fn one_total_order() {
    let order = [0, 1, 2, 2, 3, 4, 4];
    let values = [f64::NEG_INFINITY, -1.0, -0.0, 0.0, f64::INFINITY, f64::NAN, -f64::NAN];
    for (name, holds) in [
        ("==", (|a, b| a == b) as fn(i32, i32) -> bool),
        ("!=", |a, b| a != b),
        ("<", |a, b| a < b),
        ("<=", |a, b| a <= b),
        (">", |a, b| a > b),
        (">=", |a, b| a >= b),
    ] {
        for (i, value) in values.iter().enumerate() {
            let expected: Vec<Option<bool>> =
                order.iter().map(|other| Some(holds(*other, order[i]))).chain([None]).collect();
            let by_literal = run(&call(name, [col("x"), lit(*value)]), &extremes());
            assert_eq!(&by_literal, &bools(expected.clone()), "x {name} {value}");
            let columns = vec![extremes().remove(0), ("y", floats(vec![Some(*value); 8]))];
            assert_eq!(&run(&call(name, [col("x"), col("y")]), &columns), &bools(expected), "x {name} {value}");
        }
    }
}

#[test]
fn kleene_logic() {
    let three = [Some(true), Some(false), None];
    let a = bools(three.iter().flat_map(|a| [*a; 3]));
    let b = bools(three.iter().cycle().take(9).copied());
    let columns = vec![("a", a), ("b", b)];
    let ab = || [col("a"), col("b")];
    check(&call("&", ab()), &columns, "true false null false false false null false null");
    check(&call("|", ab()), &columns, "true true true true false null true null null");
    check(&call("^", ab()), &columns, "false true null true false null null null null");
    check(&call("~", [col("a")]), &columns, "false false false true true true null null null");
    check(&call("&", [col("a"), lit(false)]), &columns, "false false false false false false false false false");
    check(&call("|", [Expr::literal_null(), col("a")]), &columns, "true true true null null null null null null");
    check(&call("<", ab()), &columns, "false false null true false null null null null");
    check(&call("eq_missing", ab()), &columns, "true false false false true false false false true");
    check(&call("ne_missing", ab()), &columns, "false true true true false true true true false");
}

impl Expr {
    fn literal_null() -> Expr {
        Expr::Literal(Literal::Null)
    }
}

#[test]
fn tests_of_one_value() {
    check(&call("is_null", [col("x")]), &extremes(), "false false false false false false false true");
    check(&call("is_not_null", [col("x")]), &extremes(), "true true true true true true true false");
    check(&call("is_nan", [col("x")]), &extremes(), "false false false false false true true null");
    check(&call("is_finite", [col("x")]), &extremes(), "false true true true false false false null");
    check(&call("is_infinite", [col("x")]), &extremes(), "true false false false true false false null");
    let columns = vec![("n", ints([Some(1), None])), ("s", texts([None, Some("")]))];
    check(&call("is_nan", [col("n")]), &columns, "false null");
    check(&call("is_finite", [col("n")]), &columns, "true null");
    check(&call("is_null", [col("s")]), &columns, "true false");
    assert!(bound(&call("is_nan", [col("s")]), &columns).is_err());
}

#[test]
fn membership_follows_the_total_order_and_never_matches_null() {
    let list = |items: Vec<Literal>| Expr::Literal(Literal::List(items));
    let x = |items| call("is_in", [col("x"), list(items)]);
    check(
        &x(vec![Literal::Float(f64::NAN), Literal::Float(0.0)]),
        &extremes(),
        "false false true true false true true null",
    );
    check(&x(vec![Literal::Null, Literal::Int(-1)]), &extremes(), "false true false false false false false null");
    check(&x(vec![]), &extremes(), "false false false false false false false null");
    let nulls_equal = |items| Expr::call(Function::IsIn { nulls_equal: true }, vec![col("x"), list(items)]).unwrap();
    check(&nulls_equal(vec![Literal::Null]), &extremes(), "false false false false false false false true");
    check(&nulls_equal(vec![Literal::Int(0)]), &extremes(), "false false true true false false false false");
    let columns = vec![
        ("n", ints([Some(1), Some(i64::MIN), None, Some(9)])),
        ("s", texts([Some("a"), None, Some("a string of more than twelve bytes"), Some("")])),
    ];
    check(
        &call("is_in", [col("n"), list(vec![Literal::Int(1), Literal::UInt(u64::MAX)])]),
        &columns,
        "true false null false",
    );
    check(&call("is_in", [col("n"), list((0..20).map(Literal::Int).collect())]), &columns, "true false null true");
    let words = list(vec!["a string of more than twelve bytes".into(), "".into()]);
    check(&call("is_in", [col("s"), words]), &columns, "false null true true");
    check(
        &call("is_in", [col("n"), list(vec![Literal::Float(1.0), Literal::Float(0.5)])]),
        &columns,
        "true false null false",
    );
    let error = bound(&call("is_in", [col("n"), list(vec!["a".into()])]), &columns).unwrap_err().to_string();
    assert_eq!(error, "is_in does not take Int64 and String: cast the column or the values of the list");
}

#[test]
fn ranges_have_two_ends() {
    let columns = vec![("n", ints([Some(1), Some(2), Some(3), None]))];
    let between = |closed| Expr::call(Function::IsBetween { closed }, vec![col("n"), lit(1_i64), lit(3_i64)]).unwrap();
    check(&between(Closed::Both), &columns, "true true true null");
    check(&between(Closed::Left), &columns, "true true false null");
    check(&between(Closed::Right), &columns, "false true true null");
    check(&between(Closed::None), &columns, "false true false null");
}

#[test]
fn strings_compare_by_bytes() {
    let columns = vec![("s", texts([Some(""), Some("Z"), Some("a"), Some("é"), None]))];
    check(&call("<", [col("s"), lit("a")]), &columns, "true true false false null");
    check(&call("==", [col("s"), col("s")]), &columns, "true true true true null");
    check(&call("ne_missing", [col("s"), Expr::literal_null()]), &columns, "true true true true false");
    let error = bound(&call("==", [col("s"), lit(1_i64)]), &columns).unwrap_err().to_string();
    assert!(error.starts_with("== does not take String and Int64: cast one side"), "{error}");
}
