//! The hot expressions on a million rows, each beside a plain loop over a `Vec`.
//!
//! `cargo bench -p tickframe-formula`; minima of many runs, as nanoseconds a row and as a ratio.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array, StringViewArray, TimestampNanosecondArray};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType, Field, Schema};
use formula::{Bound, Expr, Formula, Function, Literal, Names, Purpose, bind};

const ROWS: usize = 1_000_000;

fn main() {
    let columns = Columns::new();
    println!("{:<34}{:>12}{:>12}{:>8}", "on a million rows", "ours ns/row", "loop ns/row", "ratio");
    let (v, q, w) = (&columns.v, &columns.q, &columns.w);
    columns.compare("v * q + w", sum_of_product(), || {
        let out: Vec<f64> = v.iter().zip(q).zip(w).map(|((v, q), w)| v * q + w).collect();
        Arc::new(Float64Array::from(out))
    });
    columns.compare("v > 0.5", above_half("v"), || {
        Arc::new(BooleanArray::new(BooleanBuffer::collect_bool(ROWS, |row| v[row] > 0.5), None))
    });
    let choice = Expr::when(vec![(above_half("v"), col("q"))], Some(col("w"))).expect("small");
    columns.compare("when v > 0.5 then q otherwise w", choice, || {
        let out: Vec<f64> = (0..ROWS).map(|row| if v[row] > 0.5 { q[row] } else { w[row] }).collect();
        Arc::new(Float64Array::from(out))
    });
    for (name, expr) in others() {
        columns.alone(name, expr);
    }
    bind_time();
}

fn col(name: &str) -> Expr {
    Expr::column(name)
}

fn call(name: &str, args: impl IntoIterator<Item = Expr>) -> Expr {
    Expr::call(Function::named(name).expect("a known name"), args.into_iter().collect()).expect("small")
}

fn sum_of_product() -> Expr {
    call("+", [call("*", [col("v"), col("q")]), col("w")])
}

fn above_half(name: &str) -> Expr {
    call(">", [col(name), Expr::literal(0.5)])
}

fn others() -> Vec<(&'static str, Expr)> {
    let nulls = call("+", [call("*", [col("vn"), col("q")]), col("w")]);
    let tenth = call("//", [col("n"), Expr::literal(10_i64)]);
    let both = call("&", [above_half("v"), call("<", [col("n"), Expr::literal(500_000_i64)])]);
    vec![
        ("v * q + w, v with nulls", nulls),
        ("n // 10", tenth),
        ("n % 10", call("%", [col("n"), Expr::literal(10_i64)])),
        ("(v > 0.5) & (n < 500000)", both),
        ("n.cast(Int32)", col("n").cast(DataType::Int32, true).expect("small")),
        ("v.fill_null(0)", call("fill_null", [col("vn"), Expr::literal(0.0)])),
        ("v.round(2)", call("round", [col("v"), Expr::literal(2_i64)])),
        ("v.sqrt()", call("sqrt", [col("v")])),
        ("v.log()", call("log", [col("v")])),
        ("s == \"carrier 3\"", call("==", [col("s"), Expr::literal("carrier 3")])),
        ("s.str.contains(\"r 3\")", call("str.contains", [col("s"), Expr::literal("r 3")])),
        ("s.str.len_chars()", call("str.len_chars", [col("s")])),
        ("s.str.to_uppercase()", call("str.to_uppercase", [col("s")])),
        ("t.dt.hour()", call("dt.hour", [col("t")])),
        ("t.dt.month()", call("dt.month", [col("t")])),
        ("t.dt.truncate(\"1h\")", call("dt.truncate", [col("t"), Expr::literal("1h")])),
        ("t.dt.truncate(\"1d\")", call("dt.truncate", [col("t"), Expr::literal("1d")])),
        ("t.dt.truncate(\"1mo\")", call("dt.truncate", [col("t"), Expr::literal("1mo")])),
        ("t.dt.year()", call("dt.year", [col("t")])),
        ("long.str.to_uppercase()", call("str.to_uppercase", [col("l")])),
        ("long.str.len_chars()", call("str.len_chars", [col("l")])),
        ("s.str.slice(1, 3)", call("str.slice", [col("s"), Expr::literal(1_i64), Expr::literal(3_i64)])),
        (
            "s.str.replace_all(\"r\", \"l\")",
            call("str.replace_all", [col("s"), Expr::literal("r"), Expr::literal("l")]),
        ),
        ("zoned t.dt.truncate(\"1h\")", call("dt.truncate", [col("z"), Expr::literal("1h")])),
        ("zoned t.dt.hour()", call("dt.hour", [col("z")])),
    ]
}

struct Columns {
    schema: Schema,
    arrays: Vec<ArrayRef>,
    v: Vec<f64>,
    q: Vec<f64>,
    w: Vec<f64>,
}

impl Columns {
    fn new() -> Columns {
        let mut state = 42_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut floats = || (0..ROWS).map(|_| random()).collect::<Vec<f64>>();
        let (v, q, w) = (floats(), floats(), floats());
        let with_nulls: Float64Array = v.iter().enumerate().map(|(row, v)| (row % 10 != 0).then_some(*v)).collect();
        let n: Vec<i64> = v.iter().map(|v| (v * 1e6) as i64).collect();
        let s: StringViewArray = n.iter().map(|n| Some(format!("carrier {}", n % 16))).collect();
        let l: StringViewArray = n.iter().map(|n| Some(format!("a text longer than a view holds, {n}"))).collect();
        let t: Vec<i64> = (0..ROWS as i64).map(|row| 1_356_998_400_000_000_000 + row * 31_536_000_000).collect();
        let zoned = TimestampNanosecondArray::from(t.clone()).with_timezone("America/New_York");
        let named: Vec<(&str, ArrayRef)> = vec![
            ("v", Arc::new(Float64Array::from(v.clone()))),
            ("q", Arc::new(Float64Array::from(q.clone()))),
            ("w", Arc::new(Float64Array::from(w.clone()))),
            ("vn", Arc::new(with_nulls)),
            ("n", Arc::new(Int64Array::from(n))),
            ("s", Arc::new(s)),
            ("l", Arc::new(l)),
            ("t", Arc::new(TimestampNanosecondArray::from(t))),
            ("z", Arc::new(zoned)),
        ];
        let fields: Vec<Field> =
            named.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
        Columns { schema: Schema::new(fields), arrays: named.into_iter().map(|(_, array)| array).collect(), v, q, w }
    }

    fn bound(&self, expr: &Expr) -> (Bound, Vec<ArrayRef>) {
        let bound = bind(expr, &self.schema).expect("the bench's own columns");
        let inputs = bound.inputs().iter().map(|index| Arc::clone(&self.arrays[*index])).collect();
        (bound, inputs)
    }

    fn compare(&self, name: &str, expr: Expr, plain: impl Fn() -> ArrayRef) {
        let (bound, inputs) = self.bound(&expr);
        let evaluate = || bound.evaluate(&inputs, ROWS).expect("no row fails");
        assert_eq!(&evaluate(), &plain(), "{name}");
        let (mut ours, mut theirs) = (Duration::MAX, Duration::MAX);
        for _ in 0..40 {
            ours = ours.min(timed(evaluate));
            theirs = theirs.min(timed(&plain));
        }
        println!(
            "{name:<34}{:>12.3}{:>12.3}{:>8.2}",
            per_row(ours),
            per_row(theirs),
            ours.as_secs_f64() / theirs.as_secs_f64()
        );
    }

    fn alone(&self, name: &str, expr: Expr) {
        let (bound, inputs) = self.bound(&expr);
        let least = (0..15).map(|_| timed(|| bound.evaluate(&inputs, ROWS).expect("no row fails"))).min();
        println!("{name:<34}{:>12.3}", per_row(least.unwrap_or_default()));
    }
}

fn bind_time() {
    let schema = Schema::new(["v", "q", "w"].map(|name| Field::new(name, DataType::Float64, true)).to_vec());
    let expr = sum_of_product();
    let least = (0..200).map(|_| timed(|| bind(&expr, &schema))).min();
    println!("{:<34}{:>12.3} µs", "bind v * q + w", least.unwrap_or_default().as_secs_f64() * 1e6);
    let values = HashMap::from([("limit".to_owned(), Literal::Float(0.5))]);
    for text in ["Z = v * q + w", "Z = v > limit && q in 1, 2, 3 ? sqrt(abs(w)) : `no value`.length() * 1.5"] {
        let read = || {
            let names =
                Names { columns: Some(&schema), values: &values, functions: &HashMap::new(), sets: &HashMap::new() };
            Formula::parse(text, Purpose::Column).and_then(|formula| formula.check(&names, &schema)).expect("right")
        };
        let least = (0..200).map(|_| timed(read)).min();
        println!("{:<34}{:>12.3} µs  {text}", "parse, lower, bind", least.unwrap_or_default().as_secs_f64() * 1e6);
    }
    hundred(&schema);
    long(&schema, &values);
    for text in ["(".repeat(65_000), "v+".repeat(32_000), format!("{}q", "v + ".repeat(16_000)), "a.".repeat(32_000)] {
        let names =
            Names { columns: Some(&schema), values: &values, functions: &HashMap::new(), sets: &HashMap::new() };
        let refused =
            || Formula::parse(&text, Purpose::Column).and_then(|formula| formula.check(&names, &schema)).is_err();
        let least = (0..5).map(|_| timed(refused)).min();
        println!(
            "{:<34}{:>12.3} µs",
            format!("64 KiB of {}", &text[..6]),
            least.unwrap_or_default().as_secs_f64() * 1e6
        );
    }
}

/// A hundred formulas that differ in the value of a variable.
fn hundred(schema: &Schema) {
    let all = || {
        for limit in 0..100 {
            let values = HashMap::from([("limit".to_owned(), Literal::Float(f64::from(limit)))]);
            let names =
                Names { columns: Some(schema), values: &values, functions: &HashMap::new(), sets: &HashMap::new() };
            let formula = Formula::parse("v > limit && q < 0.5", Purpose::Filter).expect("a formula");
            black_box(formula.check(&names, schema).expect("right"));
        }
    };
    let least = (0..50).map(|_| timed(all)).min().unwrap_or_default();
    println!("{:<34}{:>12.3} µs", "100 formulas, another value each", least.as_secs_f64() * 1e6);
}

/// Valid formulas as long as they may be: time for each byte should not grow with the length.
fn long(schema: &Schema, values: &HashMap<String, Literal>) {
    let patterns: [(&str, &str, &str); 7] = [
        ("sums of columns", "v + ", "q"),
        ("constants to fold", "(1 + 2) * (3 - 4) + ", "q"),
        ("products in brackets", "(v * q) + ", "w"),
        ("comparisons", "v > 0.5 || ", "q > w"),
        ("functions", "sqrt(abs(v)) + ", "q"),
        ("texts", "`a` + ", "`b`"),
        ("kernels over programs", "round(v + 1.0, 2) + ", "q"),
    ];
    for (name, part, last) in patterns {
        for bytes in [4 << 10, 64 << 10] {
            let text = format!("{}{last}", part.repeat((bytes - 8) / part.len()));
            let names = Names { columns: Some(schema), values, functions: &HashMap::new(), sets: &HashMap::new() };
            let read =
                || Formula::parse(&text, Purpose::Filter).and_then(|formula| formula.check(&names, schema)).is_ok();
            assert!(read(), "{name}");
            let least = (0..5).map(|_| timed(read)).min().unwrap_or_default();
            let (whole, each) = (least.as_secs_f64() * 1e3, least.as_secs_f64() * 1e9 / bytes as f64);
            println!("{:<34}{whole:>12.3} ms  {each:.0} ns a byte", format!("{} KiB of {name}", bytes >> 10));
        }
    }
}

fn timed<R>(run: impl FnOnce() -> R) -> Duration {
    let start = Instant::now();
    black_box(run());
    start.elapsed()
}

fn per_row(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e9 / ROWS as f64
}
