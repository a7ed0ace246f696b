//! Templates, and the functions of formulas that read and write values.

use std::collections::HashMap;

use arrow_array::ArrayRef;
use arrow_schema::{Field, Schema};

use crate::error::Error;
use crate::language::formula::Formula;
use crate::language::names::Names;
use crate::language::parse::Purpose;
use crate::testing::*;

/// What a formula gives over these columns, one word a row.
fn of(text: &str, columns: &[(&str, ArrayRef)]) -> String {
    let fields: Vec<Field> =
        columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
    let schema = Schema::new(fields);
    let nothing = HashMap::new();
    let names = Names { columns: Some(&schema), values: &nothing, functions: &HashMap::new(), sets: &HashMap::new() };
    let expr = Formula::parse(text, Purpose::Column).and_then(|formula| formula.lower(&names));
    let expr = expr.unwrap_or_else(|error| panic!("{error}"));
    let value = try_run(&expr, columns).unwrap_or_else(|error| panic!("{text}: {error}"));
    shown(&value).join(" ")
}

#[test]
fn templates_take_a_value_for_each_place() {
    let x = ints([Some(7), Some(-1234), None]);
    let f = floats([Some(0.125), Some(f64::NAN), Some(1e20)]);
    let s = texts([Some("é"), Some(""), Some("abc")]);
    let over = [("x", x), ("f", f), ("s", s)];
    let format = |template: &str, name: &str| call("format", [lit(template), col(name)]);
    for (template, name, expected) in [
        ("<{}>", "x", "<7> <-1234> null"),
        ("{:d}", "x", "7 -1234 null"),
        ("{:05d}", "x", "00007 -1234 null"),
        ("{:+}", "x", "+7 -1234 null"),
        ("{:,}", "x", "7 -1,234 null"),
        ("{:.1f}", "x", "7.0 -1234.0 null"),
        ("{:>6}|", "x", "     7|  -1234| null"),
        ("{:*^5}", "s", "**é** ***** *abc*"),
        ("{:4}|", "s", "é   |     | abc |"),
        ("{:.2}", "s", "é  ab"),
        ("{:.2f}", "f", "0.12 NaN 100000000000000000000.00"),
        ("{:.1e}", "f", "1.2e-01 NaN 1.0e+20"),
        ("{:.1%}", "f", "12.5% NaN 10000000000000000000000.0%"),
        ("{{{}}}", "s", "{é} {} {abc}"),
    ] {
        check(&format(template, name), &over, expected);
    }
    check(&call("format", [lit("{}-{}"), col("x"), col("s")]), &over, "7-é -1234- null");
    assert_eq!(format("{} of", "x").to_python(), r#"format("{} of", col("x"))"#);
    let wrong = |template: &str, name: &str| bound(&format(template, name), &over).unwrap_err().to_string();
    assert!(wrong("{} {}", "x").contains("places in \"{} {}\": 2, values given: 1"), "{}", wrong("{} {}", "x"));
    assert!(wrong("{:d}", "f").contains("for numbers"), "{}", wrong("{:d}", "f"));
    assert!(wrong("{:q}", "x").contains("{:q}") && wrong("{", "x").contains("without"));
    assert!(matches!(bound(&call("format", [col("s")]), &over), Err(Error::Parameter { .. })));
}

#[test]
fn formulas_read_and_write_values() {
    let x = ints([Some(1_700_000_000), Some(1_700_000_000_123), None]);
    let d = texts([Some("PT1H30M"), Some("-P1DT1S"), None]);
    let over = [("X", x), ("D", d)];
    for (text, expected) in [
        ("epochAuto(X)", "2023-11-14T22:13:20Z 2023-11-14T22:13:20.123Z null"),
        ("epochAuto(X * 1000000)", "2023-11-14T22:13:20Z 2023-11-14T22:13:20.123Z null"),
        ("epochNanos(epochAuto(0))", "0 0 0"),
        ("diffNanos(epochAuto(0), epochAuto(0) + parseDuration(D))", "5400000000000 -86401000000000 null"),
        ("parseDuration(`1h30m`) / parseDuration(`PT1M`)", "90.0 90.0 90.0"),
        ("isNull(nullValueFor(int))", "true true true"),
        ("coalesce(nullValueFor(X), 5)", "5 5 5"),
        ("timeZone(`ET`)", "America/New_York America/New_York America/New_York"),
        ("timeZone()", "UTC UTC UTC"),
        ("hourOfDay(epochAuto(X), timeZone('JP'))", "7 7 null"),
        ("format(`{:.1f} s`, X / 1e9)", "1.7 s 1700.0 s null"),
        ("`{}!`.format(D)", "PT1H30M! -P1DT1S! null"),
    ] {
        assert_eq!(of(text, &over), expected, "{text}");
    }
}

#[test]
fn a_text_that_is_no_duration_names_its_row() {
    let over = [("D", texts([Some("PT1S"), Some("1 hour")]))];
    let read = col("D").cast(crate::tree::types::DURATION, true).unwrap();
    let error = try_run(&read, &over).unwrap_err();
    assert!(error.row == 1 && error.message.contains("PT5H2M1.2S"), "{error}");
    let lenient = col("D").cast(crate::tree::types::DURATION, false).unwrap();
    assert_eq!(run(&lenient, &over).null_count(), 1);
    for text in ["PT1S", "-PT1.5S", "P1D", "1d2h", "-1s", "PT0.000000001S"] {
        assert!(crate::eval::functions::period::duration(text).is_some(), "{text}");
    }
    for text in ["", "P", "PT", "P1Y", "1mo", "--1s", "PT1.0000000001S", "1", "-", "P1.5D", "9999999999999h"] {
        assert_eq!(crate::eval::functions::period::duration(text), None, "{text}");
    }
}
