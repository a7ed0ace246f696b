//! Folded constants equal what the same kernels give row by row; equal parts are one node.

use arrow_array::{Array, ArrayRef};

use crate::testing::*;
use crate::tree::expr::Expr;
use crate::tree::literal::Literal;

const INTS: [i64; 8] = [i64::MIN, -7, -1, 0, 1, 2, 63, i64::MAX];
const FLOATS: [f64; 9] = [f64::NEG_INFINITY, -2.5, -0.0, 0.0, 0.5, 2.5, f64::MAX, f64::INFINITY, f64::NAN];
const BINARY: &[&str] = &[
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "eq_missing",
    "ne_missing",
    "max_horizontal",
    "min_horizontal",
];

fn same(folded: &Expr, run_on: &Expr, columns: &[(&str, ArrayRef)]) {
    let bound = bound(folded, columns).unwrap();
    assert!(bound.constant().is_some(), "{} is folded", folded.to_python());
    assert_eq!(shown(&run(folded, columns)), shown(&run(run_on, columns)), "{}", folded.to_python());
}

#[test]
fn folding_is_evaluation() {
    for name in BINARY {
        for a in INTS {
            for b in INTS {
                let columns = [("a", ints([Some(a)])), ("b", ints([Some(b)]))];
                same(&call(name, [lit(a), lit(b)]), &call(name, [col("a"), col("b")]), &columns);
            }
        }
        for a in FLOATS {
            for b in FLOATS {
                let columns = [("a", floats([Some(a)])), ("b", floats([Some(b)]))];
                same(&call(name, [lit(a), lit(b)]), &call(name, [col("a"), col("b")]), &columns);
                let half = call(name, [col("a"), lit(b)]);
                assert_eq!(shown(&run(&half, &columns)), shown(&run(&call(name, [col("a"), col("b")]), &columns)));
            }
        }
    }
    for name in ["neg", "abs", "sign", "sqrt", "exp", "log", "floor", "is_nan", "is_null"] {
        for a in FLOATS {
            let (a, column) = (call("+", [lit(a), lit(0.0)]), [("a", floats([Some(a + 0.0)]))]);
            same(&call(name, [a]), &call(name, [col("a")]), &column);
        }
    }
}

#[test]
fn a_constant_stands_in_every_row() {
    let columns = [("a", ints([Some(1), None, Some(3)]))];
    check(&lit(2_i64), &columns, "2 2 2");
    check(&lit("x"), &columns, "x x x");
    check(&Expr::Literal(Literal::Null), &columns, "null null null");
    check(&call("+", [lit(1_i64), lit(2_i64)]), &[("a", ints([]))], "");
}

#[test]
fn equal_parts_are_one_node() {
    let part = || call("*", [col("a"), col("b")]);
    let columns = [("a", ints([Some(2)])), ("b", ints([Some(3)]))];
    let bound = bound(&call("+", [part(), call("-", [part(), part()])]), &columns).unwrap();
    assert_eq!(bound.nodes.len(), 5, "two columns, one product, one difference, one sum");
}

#[test]
fn chunks_of_any_length_and_offset_give_the_same() {
    let rows = 3_000;
    let a: Vec<Option<i64>> = (0..rows).map(|row| (row % 7 != 3).then_some(row)).collect();
    let x: Vec<Option<f64>> = (0..rows).map(|row| (row % 1_100 < 1_050).then_some(row as f64 / 3.0)).collect();
    let b: Vec<Option<bool>> = (0..rows).map(|row| (row % 5 != 1).then_some(row % 3 == 0)).collect();
    let columns = [("a", ints(a)), ("x", floats(x)), ("b", bools(b))];
    let condition = call("|", [call(">", [col("x"), lit(100_i64)]), col("b")]);
    let sum = call("+", [call("*", [col("a"), col("x")]), call("//", [col("a"), lit(3_i64)])]);
    let whole_expr = Expr::when(vec![(condition, sum)], Some(call("fill_null", [col("x"), lit(-1.0)]))).unwrap();
    let whole = run(&whole_expr, &columns);
    for (start, length) in
        [(0, 0), (0, 1), (1, 63), (1, 64), (63, 65), (5, 1_019), (5, 1_024), (1_000, 1_025), (7, 2_993)]
    {
        let part: Vec<(&str, ArrayRef)> =
            columns.iter().map(|(name, array)| (*name, array.slice(start, length))).collect();
        assert_eq!(&run(&whole_expr, &part), &whole.slice(start, length), "{start} {length}");
    }
}
