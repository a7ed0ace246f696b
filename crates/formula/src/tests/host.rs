//! Functions of the host: one call a chunk, anywhere in an expression.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Int64Array, StringArray, types::Int64Type};
use arrow_schema::DataType;

use crate::error::RowError;
use crate::testing::*;
use crate::tree::expr::Expr;
use crate::tree::host::{Host, HostFailure, HostId};
use crate::tree::payload::Payload;

type Body = fn(&[ArrayRef], usize) -> Result<ArrayRef, HostFailure>;

struct Given {
    name: &'static str,
    returns: DataType,
    ordered: bool,
    calls: AtomicUsize,
    body: Body,
}

impl Host for Given {
    fn name(&self) -> &str {
        self.name
    }

    fn returns(&self, args: &[DataType]) -> Result<DataType, String> {
        if args.contains(&DataType::Boolean) { Err("it takes no Boolean".to_owned()) } else { Ok(self.returns.clone()) }
    }

    fn is_ordered(&self) -> Option<bool> {
        Some(self.ordered)
    }

    fn call(&self, args: &[ArrayRef], rows: usize) -> Result<ArrayRef, HostFailure> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        (self.body)(args, rows)
    }
}

fn registered(name: &'static str, returns: DataType, ordered: bool, body: Body) -> (Arc<Given>, HostId) {
    let given = Arc::new(Given { name, returns, ordered, calls: AtomicUsize::new(0), body });
    let function = HostId::register(Arc::clone(&given) as Arc<dyn Host>);
    (given, function)
}

fn sum(args: &[ArrayRef], _: usize) -> Result<ArrayRef, HostFailure> {
    let (a, b) = (args[0].as_primitive::<Int64Type>(), args[1].as_primitive::<Int64Type>());
    let sum = a.iter().zip(b).map(|(a, b)| Some(a? + b?));
    Ok(Arc::new(sum.collect::<Int64Array>()))
}

#[test]
fn a_function_is_called_once_a_chunk_wherever_it_stands() {
    let (given, function) = registered("sum2", DataType::Int64, false, sum);
    let one = function.call(vec![col("n"), lit(10_i64)]).unwrap();
    let columns = [("n", ints([Some(1), None, Some(3)]))];
    let expr = call("+", [call("*", [one.clone(), lit(2_i64)]), one.clone()]);
    check(&expr, &columns, "33 null 39");
    assert_eq!(given.calls.load(Ordering::Relaxed), 1, "equal parts are one node");
    assert_eq!(expr.to_python(), "((sum2(col(\"n\"), lit(10)) * 2) + sum2(col(\"n\"), lit(10)))");
    let constant = function.call(vec![lit(1_i64), lit(2_i64)]).unwrap();
    check(&constant, &columns, "3 3 3");
    assert!(!bound(&expr, &columns).unwrap().is_ordered());
}

#[test]
fn a_function_that_keeps_state_is_called_for_each_place() {
    let (given, function) =
        registered("count", DataType::Int64, true, |_, rows| Ok(Arc::new((0..rows as i64).collect::<Int64Array>())));
    let one = function.call(vec![]).unwrap();
    let expr = call("+", [one.clone(), one]);
    let columns = [("n", ints([Some(1), None, Some(3)]))];
    check(&expr, &columns, "0 2 4");
    assert_eq!(given.calls.load(Ordering::Relaxed), 2);
    assert!(bound(&expr, &columns).unwrap().is_ordered());
}

#[test]
fn results_are_checked_and_made_canonical() {
    let columns = [("n", ints([Some(1), None]))];
    let (_, text) =
        registered("text", DataType::Utf8, false, |_, rows| Ok(Arc::new(StringArray::from(vec!["a"; rows]))));
    check(&call("str.len_chars", [text.call(vec![col("n")]).unwrap()]), &columns, "1 1");
    let (_, short) = registered("short", DataType::Int64, false, |_, _| Ok(ints([Some(1)])));
    let RowError { message, expression, .. } = try_run(&short.call(vec![col("n")]).unwrap(), &columns).unwrap_err();
    assert_eq!((message.as_str(), expression.as_str()), ("short gave 1 values for 2 rows", "short(col(\"n\"))"));
    let error = bound(&short.call(vec![lit(true)]).unwrap(), &columns).unwrap_err().to_string();
    assert_eq!(error, "short: it takes no Boolean");
}

#[test]
fn a_failure_names_its_row_and_keeps_what_the_host_gave() {
    let (_, failing) = registered("failing", DataType::Int64, false, |_, _| {
        Err(HostFailure { row: Some(1), message: "no".to_owned(), payload: Payload(Arc::new(42_u8)) })
    });
    let error = try_run(&failing.call(vec![col("n")]).unwrap(), &[("n", ints([Some(1), None]))]).unwrap_err();
    assert_eq!((error.row, error.message.as_str()), (1, "no"));
    assert_eq!(error.payload.unwrap().0.downcast_ref::<u8>(), Some(&42));
    assert_eq!(
        RowError { payload: None, row: 1, value: String::new(), message: "no".into(), expression: "f(x)".into() }
            .to_string(),
        "no (in f(x))"
    );
}

#[test]
fn a_number_of_another_process_is_refused() {
    let (_, function) = registered("here", DataType::Int64, false, sum);
    let here = serde_json::to_string(&function.call(vec![]).unwrap()).unwrap();
    let digits = here.split("\"number\":").nth(1).unwrap().split(',').next().unwrap();
    let there: Expr = serde_json::from_str(&here.replace(digits, "7")).unwrap();
    let error = bound(&there, &[("n", ints([Some(1)]))]).unwrap_err().to_string();
    assert!(error.contains("here, a function of another process"), "{error}");
    assert_eq!(there.to_python(), "here()");
}

#[test]
fn a_function_goes_with_the_last_expression_that_holds_it() {
    let (given, function) = registered("gone", DataType::Int64, false, sum);
    let number = function.number();
    let expr = function.call(vec![col("n"), col("n")]).unwrap();
    assert_eq!(HostId::known(number), Some(function));
    let written = serde_json::to_string(&expr).unwrap();
    let read: Expr = serde_json::from_str(&written).unwrap();
    assert_eq!(read, expr);
    drop(expr);
    let columns = [("n", ints([Some(1)]))];
    // What was read holds it too.
    check(&read, &columns, "2");
    drop(read);
    assert_eq!(Arc::strong_count(&given), 1);
    drop(given);
    assert_eq!(HostId::known(number), None);
    let late: Expr = serde_json::from_str(&written).unwrap();
    let error = bound(&late, &columns).unwrap_err().to_string();
    assert!(error.contains("gone, a function of another process or one that is gone"), "{error}");
}
