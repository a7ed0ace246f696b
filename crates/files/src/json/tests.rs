//! The reader of JSON beside a parser that makes values, over records that are whole, cut off and bent, in blocks of any size.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use limits::Scope;
use proptest::prelude::*;
use serde_json::Value;

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
