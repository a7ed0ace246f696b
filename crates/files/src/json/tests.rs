//! The reader of JSON beside a parser that makes values, over records that are whole, cut off and bent, in blocks of any size.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use limits::Scope;
use proptest::prelude::*;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{JsonOptions, read};
use crate::input::Input;
use crate::policy::OnError;

/// The two cells of a record, none if it is no sound record of them.
fn wanted(line: &str) -> Option<(Option<i64>, Option<Vec<Option<String>>>)> {
    let Ok(Value::Object(fields)) = serde_json::from_str(line) else { return None };
    // A field that stands twice is refused, which a tree of values forgets.
    if line.matches("\"a\"").count() > 1 || line.matches("\"b\"").count() > 1 {
        return None;
    }
    let number = match fields.get("a") {
        None | Some(Value::Null) => None,
        Some(value) => Some(value.as_i64()?),
    };
    let texts = match fields.get("b") {
        None | Some(Value::Null) => None,
        Some(Value::Array(items)) => {
            let item = |item: &Value| match item {
                Value::Null => Some(None),
                Value::String(text) => Some(Some(text.clone())),
                _ => None,
            };
            Some(items.iter().map(item).collect::<Option<Vec<_>>>()?)
        }
        Some(_) => return None,
    };
    Some((number, texts))
}

fn found(batches: &[RecordBatch]) -> Vec<(Option<i64>, Option<Vec<Option<String>>>)> {
    let row = |batch: &RecordBatch, row: usize| {
        let numbers = batch.column(0).as_primitive::<Int64Type>();
        let lists = batch.column(1).as_list::<i32>();
        let number = numbers.is_valid(row).then(|| numbers.value(row));
        let texts = lists.is_valid(row).then(|| {
            let items = lists.value(row);
            items.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect::<Vec<_>>()
        });
        (number, texts)
    };
    batches.iter().flat_map(|batch| (0..batch.num_rows()).map(move |at| row(batch, at))).collect()
}

fn line() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        Just("1"),
        Just("-7"),
        Just("9223372036854775807"),
        Just("9223372036854775808"),
        Just("1.0"),
        Just("1.5"),
        Just("null"),
        Just("true"),
        Just("\"x\""),
        Just("[]"),
        Just("[\"p\", null]"),
        Just("[\"\\u00e4\\n\"]"),
        Just("[1]"),
        Just("{\"q\": 1}"),
        Just("[[\"p\"]]"),
    ];
    let name = prop_oneof![Just("a"), Just("b"), Just("c")];
    let fields = prop::collection::vec((name, value), 0..4);
    let record = fields.prop_map(|fields| {
        let fields: Vec<String> = fields.iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
        format!("{{{}}}", fields.join(", "))
    });
    (record, 0..8_u8, any::<prop::sample::Index>()).prop_map(|(record, bent, at)| match bent {
        0 => record[..at.index(record.len())].to_owned(),
        1 => format!("{record}]"),
        _ => record,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 4 } else { 2000 }, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn law(lines in prop::collection::vec(line(), 1..30), seed in 0..40_u64) {
        let text = lines.join("\n");
        prop_assume!(!text.trim_start().is_empty() && !text.trim_start().starts_with('['));
        let list = DataType::List(Arc::new(Field::new("item", DataType::Utf8, true)));
        let schema = Schema::new(vec![Field::new("a", DataType::Int64, true), Field::new("b", list, true)]);
        let options = |on_error| JsonOptions { schema: Some(Arc::new(schema.clone())), on_error, ..JsonOptions::default() };
        let input = Input::Bytes("text".into(), text.as_bytes().into());
        let there = || lines.iter().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let made = Scope::drawn(seed).enter(|| read(&input, &options(OnError::Drop), None, &mut |_, _| true));
        let made = made.map_err(|error| TestCaseError::fail(error.to_string()))?;
        let sound: Vec<_> = there().filter_map(|(_, line)| wanted(line)).collect();
        prop_assert_eq!(found(&made.batches), sound);
        let wrong: Vec<u64> = there().filter(|(_, line)| wanted(line).is_none()).map(|(at, _)| at as u64 + 1).collect();
        prop_assert_eq!(made.rejected.iter().map(|one| one.position).collect::<Vec<_>>(), wrong);

        // What is wrong leaves nothing behind in its neighbours.
        let made = Scope::drawn(seed).enter(|| read(&input, &options(OnError::Null), None, &mut |_, _| true));
        let rows = found(&made.map_err(|error| TestCaseError::fail(error.to_string()))?.batches);
        prop_assert_eq!(rows.len(), there().count());
        for ((_, line), row) in there().zip(rows) {
            if let Some(wanted) = wanted(line) {
                prop_assert_eq!(row, wanted);
            }
        }
    }
}

type Flat = (Option<i64>, Option<String>, Option<u64>);

/// The cells of a record of numbers, texts and floats, none if it is no sound record of them.
fn wanted_flat(line: &str) -> Option<Flat> {
    let fields: HashMap<String, &RawValue> = serde_json::from_str(line).ok()?;
    // A name may be escaped, and is the same name.
    let line = line.replace("\\u0061\"", "a\"");
    if ["\"a\"", "\"b\"", "\"c\""].iter().any(|name| line.matches(name).count() > 1) {
        return None;
    }
    let there = |name: &str| fields.get(name).map(|value| value.get()).filter(|value| *value != "null");
    let number = there("a").map(|value| value.parse().ok());
    let text = there("b").map(|value| serde_json::from_str(value).ok());
    let float = there("c").map(|value| value.parse().ok().map(f64::to_bits));
    Some((flipped(number)?, flipped(text)?, flipped(float)?))
}

/// A cell that is there and cannot be read is none.
fn flipped<T>(cell: Option<Option<T>>) -> Option<Option<T>> {
    cell.map_or(Some(None), |cell| cell.map(Some))
}

fn flat_line() -> impl Strategy<Value = String> {
    let value = prop::sample::select(vec![
        "1",
        "-7",
        "0",
        "-0",
        "01",
        "9223372036854775807",
        "9223372036854775808",
        "1.25",
        "-0.1",
        "1e3",
        "1E-7",
        "1.",
        ".5",
        "-",
        "+1",
        "123456789012345678901234567890",
        "0.30000000000000004",
        "null",
        "true",
        "nul",
        "\"\"",
        "\"x\"",
        "\"a longer text, of ä and }\"",
        "\"\\u00e4\\n\"",
        "\"x\\\"y z\"",
        "\"\t\"",
        "[1]",
        "{\"q\": 1}",
    ]);
    let name = prop::sample::select(vec!["a", "b", "c", "d", "\\u0061"]);
    let space = prop::sample::select(vec!["", "", " ", "  \t"]);
    let fields = prop::collection::vec((name, value, space.clone(), space), 0..5);
    let record = fields.prop_map(|fields| {
        let field = |(name, value, before, after): &(&str, &str, &str, &str)| {
            format!("{before}\"{name}\"{after}:{before}{value}{after}")
        };
        format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(","))
    });
    (record, 0..10_u8, any::<prop::sample::Index>()).prop_map(|(record, bent, at)| match bent {
        0 => record.char_indices().take(at.index(record.len())).map(|(_, letter)| letter).collect(),
        1 => format!("{record}]"),
        _ => record,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 4 } else { 2000 }, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn law_of_flat_records(drawn in prop::collection::vec(flat_line(), 1..30), seed in 0..40_u64, array in any::<bool>()) {
        // What does not end as it should is the end of an array.
        let is_kept = |line: &String| !array || serde_json::from_str::<Value>(line).is_ok();
        let lines: Vec<String> = drawn.into_iter().filter(is_kept).collect();
        let text = if array { format!("[{}\n]", lines.join("\n,")) } else { lines.join("\n") };
        prop_assume!(array || (!text.trim_start().is_empty() && !text.trim_start().starts_with('[')));
        let fields = [("a", DataType::Int64), ("b", DataType::Utf8), ("c", DataType::Float64)];
        let schema = Arc::new(Schema::new(fields.map(|(name, of)| Field::new(name, of, true)).to_vec()));
        let options = |on_error| JsonOptions { schema: Some(schema.clone()), on_error, ..JsonOptions::default() };
        let input = Input::Bytes("text".into(), text.as_bytes().into());
        let read = |on_error| Scope::drawn(seed).enter(|| read(&input, &options(on_error), None, &mut |_, _| true));
        let rows = |batches: &[RecordBatch]| {
            let row = |batch: &RecordBatch, row: usize| {
                let (a, c) = (batch.column(0).as_primitive::<Int64Type>(), batch.column(2).as_primitive::<Float64Type>());
                let b = batch.column(1).as_string_view();
                (
                    a.is_valid(row).then(|| a.value(row)),
                    b.is_valid(row).then(|| b.value(row).to_owned()),
                    c.is_valid(row).then(|| c.value(row).to_bits()),
                )
            };
            batches.iter().flat_map(|batch| (0..batch.num_rows()).map(|at| row(batch, at)).collect::<Vec<_>>()).collect::<Vec<_>>()
        };
        let there = || lines.iter().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let made = read(OnError::Drop).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let sound: Vec<_> = there().filter_map(|(_, line)| wanted_flat(line)).collect();
        prop_assert_eq!(rows(&made.batches), sound);
        let wrong: Vec<u64> = there().filter(|(_, line)| wanted_flat(line).is_none()).map(|(at, _)| at as u64 + 1).collect();
        prop_assert_eq!(made.rejected.iter().map(|one| one.position).collect::<Vec<_>>(), wrong.clone());

        let made = read(OnError::Null).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let all = rows(&made.batches);
        prop_assert_eq!(all.len(), there().count());
        for ((_, line), row) in there().zip(all) {
            if let Some(wanted) = wanted_flat(line) {
                prop_assert_eq!(row, wanted);
            }
        }
        if let Some(first) = wrong.first() {
            let error = read(OnError::Fail).expect_err("a record is wrong").to_string();
            prop_assert!(error.starts_with(&format!("text, line {first}")), "{}", error);
        }
    }
}

/// A text of records as it is, or as an array that may end anywhere or have something after its end.
fn lines_or_array() -> impl Strategy<Value = String> {
    let drawn = prop::collection::vec(prop_oneof![4 => flat_line(), 1 => Just(String::new())], 1..20);
    (drawn, 0..6_u8, any::<prop::sample::Index>()).prop_map(|(lines, form, at)| match form {
        0 => lines.join("\n"),
        1 => format!("[{}\n]", lines.join("\n,")).chars().take(at.index(lines.len() * 40)).collect(),
        2 => format!("[{}\n]]", lines.join("\n,")),
        _ => format!("[{}\n]", lines.join("\n,")),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 4 } else { 2000 }, failure_persistence: None, ..ProptestConfig::default() })]

    /// The first that is wrong is told, and what stands after the rows that are wanted is not looked at, whatever the blocks.
    #[test]
    fn law_of_blocks(
        text in lines_or_array(),
        is_utf8 in any::<bool>(),
        seed in 0..400_u64,
        most in prop::option::of(0..20_u64),
    ) {
        let bytes: Vec<u8> = text.bytes().filter(|byte| is_utf8 || *byte != 0xa4).collect();
        let fields = [("a", DataType::Int64), ("b", DataType::Utf8), ("c", DataType::Float64)];
        let schema = Arc::new(Schema::new(fields.map(|(name, of)| Field::new(name, of, true)).to_vec()));
        let input = Input::Bytes("text".into(), bytes.into());
        for on_error in [OnError::Null, OnError::Drop, OnError::Fail] {
            let told = |seed: u64, rows: Option<u64>| {
                let options = JsonOptions { schema: Some(schema.clone()), on_error, rows, ..JsonOptions::default() };
                let made = Scope::drawn(seed).enter(|| read(&input, &options, None, &mut |_, _| true));
                made.map_err(|error| error.to_string()).map(|made| {
                    let of_first = made.batches.first().map(RecordBatch::schema);
                    let all = |schema| arrow_select::concat::concat_batches(&schema, &made.batches).expect("one schema");
                    (of_first.map(all), made.rows(), made.rejected)
                })
            };
            let once = told(0, most);
            prop_assert_eq!(&once, &told(seed, most));
            let all = told(seed, None);
            match (once, all) {
                (Ok((_, rows, rejected)), Ok((_, whole, others))) => {
                    prop_assert_eq!(rows, whole.min(most.unwrap_or(u64::MAX)));
                    prop_assert!(others.starts_with(&rejected));
                }
                (Ok((_, rows, _)), Err(_)) => prop_assert_eq!(Some(rows), most),
                (Err(error), other) => prop_assert_eq!(Err(error), other),
            }
        }
    }
}

#[test]
fn the_first_that_is_wrong_is_told_of_an_array_that_does_not_end() {
    for (text, said) in [
        ("[{\"a\": \"x\"},\n{\"a\": 1", "text, line 1, column \"a\": "),
        ("[{\"a\": 1},\n{\"a\": 1", "text, line 2: the array ends within this element"),
        ("[{\"a\": 1},\n]x", "text, line 2: "),
    ] {
        let input = Input::Bytes("text".into(), text.as_bytes().into());
        let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, true)]));
        let options = JsonOptions { schema: Some(schema), ..JsonOptions::default() };
        let error = read(&input, &options, None, &mut |_, _| true).expect_err("it is wrong").to_string();
        assert!(error.starts_with(said), "{error}");
        // Of the first row alone nothing is wrong.
        let first = read(&input, &JsonOptions { rows: Some(1), ..options }, None, &mut |_, _| true);
        assert_eq!(first.is_ok(), !said.contains("line 1"), "{text}");
    }
}

#[test]
fn an_array_ends_where_progress_says_so_and_has_no_record_without_bound() {
    let text = format!("[{}]", vec![r#"{"a": 1}"#; 200_000].join(","));
    let input = Input::Bytes("text".into(), text.as_bytes().into());
    let mut told = 0;
    let made = read(&input, &JsonOptions::default(), None, &mut |_, _| {
        told += 1;
        false
    });
    assert_eq!(
        (made.expect_err("it was ended").to_string().as_str(), told),
        ("ended by whoever follows its progress", 1)
    );
    let mut told = Vec::new();
    let made = read(&input, &JsonOptions::default(), None, &mut |done, of| {
        told.push((done, of));
        true
    });
    assert_eq!(made.expect("it is sound").rows(), 200_000);
    assert_eq!(told.last(), Some(&(text.len() as u64, text.len() as u64)));
}
