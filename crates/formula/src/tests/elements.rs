//! Arithmetic of lists, element by element.

use arrow_array::ArrayRef;
use arrow_schema::DataType;

use super::nested::{floats as float_lists, integers};
use crate::testing::*;
use crate::tree::expr::Expr;
use crate::tree::literal::Literal;

fn lists() -> [(&'static str, ArrayRef); 5] {
    [
        ("a", integers(&[Some(&[Some(1), Some(2)]), Some(&[]), None, Some(&[None, Some(-7)])])),
        ("b", integers(&[Some(&[Some(10), Some(20)]), Some(&[]), Some(&[Some(1)]), Some(&[Some(1), Some(2)])])),
        ("f", float_lists(&[&[0.5, 1.5], &[], &[1.0], &[f64::NAN, 2.0]])),
        ("x", ints([Some(2), Some(3), Some(4), None])),
        ("s", texts([Some("a"), None, Some("b"), Some("c")])),
    ]
}

#[test]
fn lists_of_equal_length_meet_element_by_element() {
    let over = lists();
    check(&call("+", [col("a"), col("b")]), &over, "[11, 22] [] null [, -5]");
    check(&call("*", [col("a"), col("f")]), &over, "[0.5, 3.0] [] null [, -14.0]");
    check(&call("/", [col("b"), col("a")]), &over, "[10.0, 10.0] [] null [, -0.2857142857142857]");
    check(&call("-", [col("b"), col("a"), col("a")]), &over, "[8, 16] [] null [, 16]");
}

#[test]
fn a_value_meets_every_element() {
    let over = lists();
    check(&call("*", [col("a"), lit(2_i64)]), &over, "[2, 4] [] null [, -14]");
    check(&call("-", [lit(1_i64), col("a")]), &over, "[0, -1] [] null [, 8]");
    check(&call("%", [col("a"), lit(3_i64)]), &over, "[1, 2] [] null [, 2]");
    check(&call("**", [col("a"), lit(2_i64)]), &over, "[1, 4] [] null [, 49]");
    check(&call("//", [col("a"), lit(0_i64)]), &over, "[, ] [] null [, ]");
    check(&call("+", [col("a"), col("x")]), &over, "[3, 4] [] null [, ]");
    check(&call("+", [col("x"), col("b")]), &over, "[12, 22] [] [5] [, ]");
    check(&call("+", [col("a"), Expr::Literal(Literal::Null)]), &over, "[, ] [] null [, ]");
    check(&call("neg", [col("a")]), &over, "[-1, -2] [] null [, 7]");
    let nested = call("list.sum", [call("+", [col("a"), lit(0.5)])]);
    check(&nested, &over, "4.0 0.0 null -6.5");
}

#[test]
fn a_list_of_the_user_is_one_for_all_rows() {
    let over = [("a", integers(&[Some(&[Some(1), Some(2)]), None]))];
    let given = Expr::Literal(Literal::List(vec![Literal::Int(10), Literal::Null]));
    check(&call("+", [col("a"), given]), &over, "[11, ] null");
    let half = Expr::Literal(Literal::List(vec![Literal::Int(1), Literal::Float(0.5)]));
    check(&call("*", [col("a"), half]), &over, "[1.0, 1.0] null");
}

#[test]
fn strings_in_lists_are_joined() {
    let over = lists();
    let parts = call("str.split", [col("s"), lit("")]);
    check(&call("+", [parts, lit("!")]), &over, "[a!] null [b!] [c!]");
}

#[test]
fn unequal_lengths_name_the_row() {
    let over = [
        ("a", integers(&[Some(&[Some(1)]), None, Some(&[Some(1), Some(2)])])),
        ("b", integers(&[Some(&[Some(1)]), Some(&[Some(1)]), Some(&[Some(1), Some(2), Some(3)])])),
    ];
    let error = try_run(&call("+", [col("a"), col("b")]), &over).unwrap_err();
    assert_eq!(error.row, 2);
    assert!(error.message.contains("2 and 3 elements"), "{error}");
    assert!(error.expression.contains("col(\"a\") + col(\"b\")"), "{error}");
}

#[test]
fn an_element_that_fails_names_the_row_of_its_list() {
    let lengths = [("a", integers(&[Some(&[Some(1), Some(2)]), None, Some(&[Some(3), Some(i64::MAX)])]))];
    let hours = Expr::Literal(Literal::Duration(3_600_000_000_000));
    let error = try_run(&call("*", [col("a"), hours]), &lengths).unwrap_err();
    assert_eq!(error.row, 2, "{error}");
}

#[test]
fn what_has_no_arithmetic_is_told_as_lists() {
    let over = lists();
    let error = bound(&call("*", [col("a"), col("s")]), &over).unwrap_err().to_string();
    assert!(error.contains("List(Int64)") && error.contains("element by element"), "{error}");
    let sum = bound(&call("+", [col("a"), col("x")]), &over).unwrap();
    assert_eq!(*sum.data_type(), crate::tree::types::list_of(&DataType::Int64));
}
