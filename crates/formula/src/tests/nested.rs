//! Functions of lists, structs and bytes.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, PrimitiveBuilder};
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{ArrayRef, BinaryViewArray, Int64Array, StructArray};
use arrow_schema::{DataType, Field};

use crate::testing::*;
use crate::tree::expr::Expr;
use crate::tree::function::{Function, List};
use crate::tree::literal::Literal;

pub(super) fn integers(lists: &[Option<&[Option<i64>]>]) -> ArrayRef {
    let mut made = ListBuilder::new(PrimitiveBuilder::<Int64Type>::new());
    for list in lists {
        list.iter().flat_map(|cells| cells.iter()).for_each(|cell| made.values().append_option(*cell));
        made.append(list.is_some());
    }
    Arc::new(made.finish())
}

pub(super) fn floats(lists: &[&[f64]]) -> ArrayRef {
    let mut made = ListBuilder::new(PrimitiveBuilder::<Float64Type>::new());
    for list in lists {
        list.iter().for_each(|cell| made.values().append_value(*cell));
        made.append(true);
    }
    Arc::new(made.finish())
}

fn on_lists(name: &str, rest: impl IntoIterator<Item = Expr>) -> Expr {
    call(name, std::iter::once(col("l")).chain(rest))
}

#[test]
fn elements_and_reductions() {
    let l = [("l", integers(&[Some(&[Some(3), None, Some(1)]), Some(&[]), None, Some(&[Some(i64::MAX), Some(1)])]))];
    check(&on_lists("list.len", []), &l, "3 0 null 2");
    check(&on_lists("list.first", []), &l, "3 null null 9223372036854775807");
    check(&on_lists("list.last", []), &l, "1 null null 1");
    check(&on_lists("list.get", [lit(-1_i64)]), &l, "1 null null 1");
    check(&on_lists("list.get", [lit(2_i64)]), &l, "1 null null null");
    check(&on_lists("list.get", [lit(i64::MIN)]), &l, "null null null null");
    check(&on_lists("list.sum", []), &l, "4 0 null -9223372036854775808");
    check(&on_lists("list.mean", []), &l, "2.0 null null 4.611686018427388e18");
    check(&on_lists("list.min", []), &l, "1 null null 1");
    check(&on_lists("list.max", []), &l, "3 null null 9223372036854775807");
    check(&on_lists("list.contains", [lit(1_i64)]), &l, "true false null true");
    check(&on_lists("list.contains", [Expr::literal(Literal::Null)]), &l, "null null null null");
}

#[test]
fn other_elements() {
    let l = [("l", integers(&[Some(&[Some(3), None, Some(1), Some(3)]), Some(&[]), None]))];
    check(&on_lists("list.reverse", []), &l, "[3, 1, , 3] [] null");
    check(&on_lists("list.unique", []), &l, "[3, , 1] [] null");
    check(&on_lists("list.head", [lit(2_i64)]), &l, "[3, ] [] null");
    check(&on_lists("list.tail", [lit(1_i64)]), &l, "[3] [] null");
    check(&on_lists("list.arg_sort", []), &l, "[1, 2, 0, 3] [] null");
    check(&on_lists("list.head", [lit(-1_i64)]), &l, "[3, , 1, 3] [] null");
    check(&on_lists("list.tail", [lit(-1_i64)]), &l, "[, 1, 3] [] null");
    check(&on_lists("list.tail", [lit(-9_i64)]), &l, "[] [] null");
    check(&on_lists("list.tail", [lit(i64::MIN)]), &l, "[] [] null");
    check(&on_lists("list.slice", [lit(-3_i64), lit(2_i64)]), &l, "[, 1] [] null");
    check(&on_lists("list.slice", [lit(1_i64), lit(-1_i64)]), &l, "[, 1, 3] [] null");
    check(&on_lists("list.slice", [lit(1_i64)]), &l, "[, 1, 3] [] null");
    check(&on_lists("list.slice", [lit(-9_i64), lit(6_i64)]), &l, "[3] [] null");
    let sort = |descending, nulls_last| {
        Expr::call(Function::List(List::Sort { descending, nulls_last }), vec![col("l")]).unwrap()
    };
    check(&sort(false, false), &l, "[, 1, 3, 3] [] null");
    check(&sort(true, true), &l, "[3, 3, 1, ] [] null");
}

#[test]
fn floats_are_in_the_total_order() {
    let l = [("l", floats(&[&[f64::NAN, 2.0, -1.0], &[f64::NAN], &[0.0, -0.0, f64::NAN, -f64::NAN]]))];
    check(&on_lists("list.max", []), &l, "2.0 NaN 0.0");
    check(&on_lists("list.min", []), &l, "-1.0 NaN 0.0");
    check(&on_lists("list.len", []), &l, "3 1 4");
    check(&on_lists("list.unique", []), &l, "[NaN, 2.0, -1.0] [NaN] [0.0, NaN]");
    check(&on_lists("list.contains", [lit(f64::NAN)]), &l, "true true true");
    check(&on_lists("list.sum", []), &l, "NaN NaN NaN");
}

#[test]
fn strings_are_split_searched_and_joined() {
    let s = [("s", texts([Some("b,a,b"), Some(""), None, Some("ü")]))];
    let parts = call("str.split", [col("s"), lit(",")]);
    check(&call("list.len", [parts.clone()]), &s, "3 1 null 1");
    check(&call("list.join", [call("list.unique", [parts.clone()]), lit("+")]), &s, "b+a  null ü");
    check(&call("list.contains", [parts.clone(), lit("a")]), &s, "true false null false");
    check(&call("str.to_uppercase", [call("list.last", [parts])]), &s, "B  null Ü");
    check(&call("list.len", [call("str.split", [col("s"), lit("")])]), &s, "5 0 null 1");
    check(&call("list.join", [call("str.extract_all", [col("s"), lit("[ab]")]), lit("")]), &s, "bab  null ");
}

/// Elements by the places of another list: from the end if negative, null outside and for null.
#[test]
fn elements_by_places() {
    let v = integers(&[Some(&[Some(7), None, Some(9)]), Some(&[]), None]);
    let at = integers(&[Some(&[Some(2), Some(-3), Some(3), None, Some(1)]), Some(&[Some(0)]), Some(&[Some(0)])]);
    let lists = [("v", v), ("at", at)];
    let gathered = |at: Expr| call("list.gather", [col("v"), at]);
    let at = |place: i64| call("list.get", [gathered(col("at")), lit(place)]);
    for (place, shown) in [(0, "9 null null"), (1, "7 null null"), (2, "null null null"), (3, "null null null")] {
        check(&at(place), &lists, shown);
    }
    check(&call("list.len", [gathered(col("at"))]), &lists, "5 1 null");
    let known = Expr::Literal(Literal::List(vec![Literal::Int(-1), Literal::Null]));
    check(&call("list.first", [gathered(known.clone())]), &lists, "9 null null");
    check(&call("list.len", [gathered(known)]), &lists, "2 2 null");
    let texts = Expr::Literal(Literal::List(vec![Literal::Str("a".into())]));
    assert!(bound(&gathered(texts), &lists).unwrap_err().to_string().contains("places are integers"));
}

#[test]
fn structs_of_values() {
    let names = |names: &[&str]| Expr::Literal(Literal::List(names.iter().map(|name| Literal::from(*name)).collect()));
    let columns = [("x", ints([Some(1), None])), ("s", texts([Some("a"), None]))];
    let made = call("struct", [names(&["x", "twice", "s"]), col("x"), call("*", [col("x"), lit(2_i64)]), col("s")]);
    assert_eq!(made.output_name().unwrap(), "x");
    assert_eq!(made.to_python(), "struct(col(\"x\"), (col(\"x\") * 2).alias(\"twice\"), col(\"s\"))");
    check(&call("struct.field", [made.clone(), lit("twice")]), &columns, "2 null");
    check(&call("struct.field", [made.clone(), lit("s")]), &columns, "a null");
    check(&call("is_null", [made]), &columns, "false false");
    for (wrong, why) in [
        (vec![names(&["x", "x"]), col("x"), col("s")], "two fields are called"),
        (vec![names(&["x"]), col("x"), col("s")], "a value for each"),
        (vec![col("x"), col("s")], "a list of names"),
    ] {
        assert!(bound(&call("struct", wrong), &columns).unwrap_err().to_string().contains(why));
    }
}

#[test]
fn fields_of_structs() {
    let x: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]));
    let nulls = Some(vec![true, true, false].into());
    let field = Arc::new(Field::new("x", DataType::Int64, true));
    let p: ArrayRef = Arc::new(StructArray::new(vec![field].into(), vec![x], nulls));
    let p = [("p", p)];
    check(&call("struct.field", [col("p"), lit("x")]), &p, "1 null null");
    let renamed =
        call("struct.rename_fields", [col("p"), Expr::Literal(Literal::List(vec![Literal::Str("y".into())]))]);
    check(&call("struct.field", [renamed, lit("y")]), &p, "1 null null");
    let error = bound(&call("struct.field", [col("p"), lit("z")]), &p).unwrap_err();
    assert!(error.to_string().contains("no column \"z\""), "{error}");
}

#[test]
fn tests_of_bytes() {
    let b: ArrayRef = Arc::new(BinaryViewArray::from(vec![Some(&b"\x00ab"[..]), Some(b""), None]));
    let b = [("b", b)];
    let bytes = |bytes: &[u8]| Expr::Literal(Literal::Binary(bytes.into()));
    check(&call("bin.size", [col("b")]), &b, "3 0 null");
    check(&call("bin.contains", [col("b"), bytes(b"a")]), &b, "true false null");
    check(&call("bin.starts_with", [col("b"), bytes(b"\x00")]), &b, "true false null");
    check(&call("bin.ends_with", [col("b"), bytes(b"")]), &b, "true true null");
}

#[test]
fn spreads_ranks_and_counts() {
    let l = [("l", integers(&[Some(&[Some(3), None, Some(1), Some(3)]), Some(&[]), None, Some(&[Some(i64::MAX)])]))];
    check(&on_lists("list.count", []), &l, "3 0 null 1");
    check(&on_lists("list.count_positive", []), &l, "3 0 null 1");
    check(&on_lists("list.n_unique", []), &l, "3 0 null 1");
    check(&on_lists("list.count_distinct", []), &l, "2 0 null 1");
    check(&on_lists("list.drop_nulls", []), &l, "[3, 1, 3] [] null [9223372036854775807]");
    check(&on_lists("list.product", []), &l, "9 null null 9223372036854775807");
    check(&on_lists("list.median", []), &l, "3.0 null null 9.223372036854776e18");
    check(&on_lists("list.var", []), &l, "1.3333333333333335 null null null");
    check(&on_lists("list.arg_min", []), &l, "2 null null 0");
    check(&on_lists("list.arg_max", []), &l, "0 null null 0");
    check(&on_lists("list.quantile", [lit(0.5)]), &l, "3.0 null null 9.223372036854776e18");
    check(&on_lists("list.quantile", [lit(1.5)]), &l, "null null null null");
    // A constant has no spread at all; NaN is the greatest, and the least only alone.
    let f = [("l", floats(&[&[0.1, 0.1, 0.1], &[1.0, f64::NAN, -0.0], &[f64::NAN]]))];
    check(&on_lists("list.std", []), &f, "0.0 NaN null");
    check(&on_lists("list.count_positive", []), &f, "3 1 0");
    check(&on_lists("list.median", []), &f, "0.1 1.0 NaN");
    check(&on_lists("list.arg_max", []), &f, "0 0 0");
    check(&on_lists("list.arg_min", []), &f, "0 2 0");
}
