//! Random numbers: what a seed fixes, and what nothing does.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef};

use crate::eval::beside::ContextInput;
use crate::eval::bound::Bound;
use crate::testing::*;
use crate::tree::expr::Expr;
use crate::tree::function::{Function, Random};

fn drawn(kind: Random, seed: Option<i64>, bounds: Vec<Expr>) -> Bound {
    let made = Expr::call(Function::Random { kind, seed }, bounds).unwrap();
    assert!(made.is_volatile() && made.needs_context() && made.is_unseeded() == seed.is_none());
    let bound = bound(&made, &[("x", ints([Some(1)]))]).unwrap();
    assert!(matches!(bound.context_inputs(), [ContextInput::Draw]));
    bound
}

/// The numbers of the rows with these keys.
fn numbers(bound: &Bound, keys: std::ops::Range<i64>) -> ArrayRef {
    let rows = keys.clone().count();
    bound.evaluate(&[ints(keys.map(Some))], rows).unwrap()
}

#[test]
fn a_seed_gives_a_row_its_number_whatever_the_chunk() {
    let one = drawn(Random::Int, Some(7), vec![lit(0_i64), lit(1000_i64)]);
    let all = numbers(&one, 0..100);
    assert_eq!(&numbers(&one, 40..60), &all.slice(40, 20));
    assert_eq!(&numbers(&drawn(Random::Int, Some(7), vec![lit(0_i64), lit(1000_i64)]), 0..100), &all);
    assert_ne!(&numbers(&drawn(Random::Int, Some(8), vec![lit(0_i64), lit(1000_i64)]), 0..100), &all);
    let free = drawn(Random::Float, None, vec![lit(0.0), lit(1.0)]);
    assert_ne!(&numbers(&free, 0..100), &numbers(&free, 0..100));
}

#[test]
fn bounds_hold_at_the_ends_of_the_range() {
    let all = drawn(Random::Int, Some(1), vec![lit(i64::MIN), lit(i64::MAX)]);
    let cells = numbers(&all, 0..1000);
    let cells = cells.as_primitive::<Int64Type>();
    assert!(cells.values().iter().any(|cell| *cell < -(1 << 62)) && cells.values().iter().any(|cell| *cell > 1 << 62));
    let one = drawn(Random::Int, Some(1), vec![lit(i64::MAX - 1), lit(i64::MAX)]);
    assert_eq!(&numbers(&one, 0..3), &ints([Some(i64::MAX - 1); 3]));
    let none = drawn(Random::Int, Some(1), vec![lit(3_i64), lit(3_i64)]);
    let error = none.evaluate(&[ints([Some(0)])], 1).unwrap_err();
    assert!(error.message.contains("no whole number from 3 to before 3"), "{error}");
}

#[test]
fn each_call_draws_its_own() {
    let draw =
        || Expr::call(Function::Random { kind: Random::Float, seed: Some(1) }, vec![lit(0.0), lit(1.0)]).unwrap();
    let twice = bound(&call("-", [draw(), draw()]), &[("x", ints([Some(1)]))]).unwrap();
    assert_eq!(twice.context_inputs().len(), 1);
    let zero = super::super::testing::floats([Some(0.0)]);
    assert_ne!(&numbers(&twice, 5..6), &zero);
}
