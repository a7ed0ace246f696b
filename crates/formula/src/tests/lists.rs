//! Comparison of lists.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{Array, ArrayRef, ListArray, TimestampNanosecondArray, UInt64Array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field};

use super::nested::{floats, integers};
use crate::testing::*;
use crate::tree::expr::Expr;
use crate::tree::literal::Literal;

/// Lists of one element each.
fn singles(elements: ArrayRef) -> ArrayRef {
    let field = Arc::new(Field::new_list_field(elements.data_type().clone(), true));
    let offsets = OffsetBuffer::from_lengths(std::iter::repeat_n(1, elements.len()));
    Arc::new(ListArray::new(field, offsets, elements, None))
}

fn compared(operator: &str) -> Expr {
    call(operator, [col("a"), col("b")])
}

/// By the first elements that differ; null is the least, a prefix stands before what is longer.
#[test]
fn element_by_element() {
    let a = integers(&[Some(&[Some(1), Some(2)]), Some(&[]), None, Some(&[None]), Some(&[Some(2)]), None]);
    let b = integers(&[
        Some(&[Some(1), Some(2)]),
        Some(&[Some(0)]),
        Some(&[]),
        Some(&[Some(-9)]),
        Some(&[Some(1), None]),
        None,
    ]);
    let lists = [("a", a), ("b", b)];
    check(&compared("=="), &lists, "true false null false false null");
    check(&compared("!="), &lists, "false true null true true null");
    check(&compared("<"), &lists, "false true null true false null");
    check(&compared("<="), &lists, "true true null true false null");
    check(&compared(">"), &lists, "false false null false true null");
    check(&compared(">="), &lists, "true false null false true null");
    check(&compared("eq_missing"), &lists, "true false false false false true");
    check(&compared("ne_missing"), &lists, "false true true true true false");
}

/// One NaN, one zero; elements are compared in the type that holds both.
#[test]
fn elements_are_promoted() {
    let nan = f64::from_bits(f64::NAN.to_bits() | 1);
    let floating = [("a", floats(&[&[nan], &[-0.0, 1.0], &[2.0]])), ("b", floats(&[&[f64::NAN], &[0.0, 1.0], &[nan]]))];
    check(&compared("=="), &floating, "true true false");
    check(&compared("<"), &floating, "false false true");
    let mixed = [("a", floats(&[&[1.0], &[2.5]])), ("b", integers(&[Some(&[Some(1)]), Some(&[Some(3)])]))];
    check(&compared("=="), &mixed, "true false");
    check(&compared("<"), &mixed, "false true");
    // No integer type holds both, and yet the comparison is exact.
    let wide: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX, 7]));
    let mixed = [("a", singles(wide)), ("b", integers(&[Some(&[Some(-1)]), Some(&[Some(7)])]))];
    check(&compared("=="), &mixed, "false true");
    check(&compared(">"), &mixed, "true false");
    let instants = || TimestampNanosecondArray::from(vec![0, 5]);
    let zones = [
        ("a", singles(Arc::new(instants().with_timezone("Asia/Tokyo")))),
        ("b", singles(Arc::new(instants().with_timezone("UTC")))),
    ];
    check(&compared("=="), &zones, "true true");
}

#[test]
fn beside_a_list_that_is_written() {
    let lists = [("a", integers(&[Some(&[Some(1), Some(2)]), Some(&[]), None]))];
    let written = |items: Vec<Literal>| Expr::Literal(Literal::List(items));
    let equals = |list: Expr| call("==", [col("a"), list]);
    check(&equals(written(vec![Literal::Int(1), Literal::Int(2)])), &lists, "true false null");
    check(&equals(written(vec![Literal::Float(1.0), Literal::Float(2.5)])), &lists, "false false null");
    check(&equals(written(vec![])), &lists, "false true null");
    check(&equals(Expr::Literal(Literal::Null)), &lists, "null null null");
    check(&call("eq_missing", [col("a"), Expr::Literal(Literal::Null)]), &lists, "false false true");
}

/// Lists of lists, of any layout and of texts in any of theirs.
#[test]
fn lists_within_lists() {
    let mut texts = ListBuilder::new(ListBuilder::new(StringBuilder::new()));
    for row in [["a", "b"], ["b", "a"]] {
        for text in row {
            texts.values().values().append_value(text);
            texts.values().append(true);
        }
        texts.append(true);
    }
    let texts: ArrayRef = Arc::new(texts.finish());
    let inner = Arc::new(Field::new("x", DataType::Utf8View, true));
    let other = DataType::LargeList(Arc::new(Field::new("y", DataType::List(inner), true)));
    let other = arrow_cast::cast(&texts, &other).expect("the same lists");
    let nested = [
        ("a", texts.clone()),
        ("b", other.slice(0, 2)),
        ("c", arrow_select::take::take(&texts, &UInt64Array::from(vec![1, 0]), None).expect("two rows")),
    ];
    check(&compared("=="), &nested, "true true");
    check(&call("<", [col("b"), col("c")]), &nested, "true false");
}

#[test]
fn what_has_no_order_is_refused() {
    let lists = [("a", integers(&[Some(&[])])), ("b", ints([Some(1)])), ("c", singles(texts([Some("1")])))];
    let error = bound(&compared("=="), &lists).unwrap_err().to_string();
    assert_eq!(
        error,
        "== does not take List(Int64) and Int64: a list is compared with a list; .list.contains(…) looks for a value in one"
    );
    let error = bound(&call("<", [col("a"), col("c")]), &lists).unwrap_err().to_string();
    assert_eq!(error, "< does not take List(Int64) and List(String): they have no common order; cast one side");
}
