//! The reader of CSV beside one that goes letter by letter, over texts of the letters that matter, in blocks of any size.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use limits::Scope;
use proptest::prelude::*;

use super::scan::shares;
use super::{CsvOptions, read};
use crate::input::Input;
use crate::policy::OnError;

/// A record as it should be read: its line, its two cells, and whether something is wrong with it.
type Wanted = (u64, Vec<Option<String>>, bool);

fn letter_by_letter(text: &str) -> Vec<Wanted> {
    let text: Vec<char> = text.chars().collect();
    let line = |at: usize| 1 + text[..at].iter().filter(|one| **one == '\n').count() as u64;
    let mut records = Vec::new();
    let mut at = 0;
    while at < text.len() {
        match text[at..] {
            ['\n', ..] => {
                at += 1;
                continue;
            }
            ['\r', '\n', ..] => {
                at += 2;
                continue;
            }
            _ => {}
        }
        let (begin, mut cells, mut wrong) = (at, Vec::new(), false);
        loop {
            let quoted = text.get(at) == Some(&'"');
            let mut cell = String::new();
            let mut closed = true;
            if quoted {
                at += 1;
                closed = false;
                while at < text.len() {
                    if text[at] == '"' && text.get(at + 1) == Some(&'"') {
                        cell.push('"');
                        at += 2;
                    } else if text[at] == '"' {
                        at += 1;
                        closed = true;
                        break;
                    } else {
                        cell.push(text[at]);
                        at += 1;
                    }
                }
            }
            let mut rest = String::new();
            while at < text.len() && text[at] != ',' && text[at] != '\n' {
                rest.push(text[at]);
                at += 1;
            }
            if text.get(at) != Some(&',') && rest.ends_with('\r') {
                rest.pop();
            }
            wrong |= !closed || (quoted && !rest.is_empty());
            cells.push(match quoted {
                true => Some(cell),
                false => Some(rest).filter(|rest| !rest.is_empty()),
            });
            if text.get(at) != Some(&',') {
                at += 1;
                break;
            }
            at += 1;
        }
        wrong |= cells.len() != 2;
        cells.resize(2, None);
        records.push((line(begin), cells, wrong));
    }
    records
}

fn cells(batches: &[RecordBatch]) -> Vec<Vec<Option<String>>> {
    let cell = |batch: &RecordBatch, column: usize, row: usize| {
        let texts = batch.column(column).as_string_view();
        texts.is_valid(row).then(|| texts.value(row).to_owned())
    };
    let rows = |batch| (0..RecordBatch::num_rows(batch)).map(move |row| vec![cell(batch, 0, row), cell(batch, 1, row)]);
    batches.iter().flat_map(rows).collect()
}

fn options(on_error: OnError) -> CsvOptions {
    let fields = ["a", "b"].map(|name| Field::new(name, DataType::Utf8, true));
    let schema = Some(Arc::new(Schema::new(fields.to_vec())));
    CsvOptions { schema, has_header: false, on_error, ..CsvOptions::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 4 } else { 3000 }, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn law(text in "([ab,\"\"\n\n\räé]|\"\"|\"[a,\n]*\"[,\n]|ab,){0,40}", seed in 0..40_u64, most in 0..20_u64) {
        // The first record says how wide a file is.
        let text = format!("a,b\n{text}");
        let wanted = letter_by_letter(&text);
        let input = Input::Bytes("text".into(), text.as_bytes().into());
        let made = Scope::drawn(seed).enter(|| read(&input, &options(OnError::Null), None, &mut |_, _| true));
        let made = made.map_err(|error| TestCaseError::fail(error.to_string()))?;
        let all: Vec<Vec<Option<String>>> = wanted.iter().map(|(_, cells, _)| cells.clone()).collect();
        prop_assert_eq!(cells(&made.batches), all);
        let lines: Vec<u64> = wanted.iter().filter(|(_, _, wrong)| *wrong).map(|(line, _, _)| *line).collect();
        prop_assert_eq!(made.rejected.iter().map(|one| one.position).collect::<Vec<_>>(), lines);

        let kept: Vec<Vec<Option<String>>> =
            wanted.iter().filter(|(_, _, wrong)| !wrong).map(|(_, cells, _)| cells.clone()).collect();
        let made = Scope::drawn(seed).enter(|| read(&input, &options(OnError::Drop), None, &mut |_, _| true));
        prop_assert_eq!(cells(&made.expect("it was read before").batches), kept);

        let made = Scope::drawn(seed).enter(|| read(&input, &options(OnError::Fail), None, &mut |_, _| true));
        match (made, wanted.iter().find(|(_, _, wrong)| *wrong)) {
            (Ok(_), None) => {}
            (Err(error), Some((line, _, _))) => prop_assert!(error.to_string().starts_with(&format!("text, line {line}: ")), "{}", error),
            (made, wrong) => prop_assert!(false, "{:?} for {:?}", made, wrong),
        }

        // Where the first rows are wanted, nothing after them is looked at.
        for on_error in [OnError::Null, OnError::Drop, OnError::Fail] {
            let options = CsvOptions { rows: Some(most), ..options(on_error) };
            let made = Scope::drawn(seed).enter(|| read(&input, &options, None, &mut |_, _| true));
            let (mut first, mut wrong) = (Vec::new(), Vec::new());
            for (line, cells, is_wrong) in &wanted {
                if first.len() as u64 == most {
                    break;
                }
                if *is_wrong {
                    wrong.push(*line);
                }
                if !is_wrong || on_error == OnError::Null {
                    first.push(cells.clone());
                }
            }
            match made {
                Err(error) => {
                    prop_assert_eq!(on_error, OnError::Fail);
                    let line = wrong.first().map(|line| format!("text, line {line}: "));
                    prop_assert!(line.is_some_and(|line| error.to_string().starts_with(&line)), "{}", error);
                }
                Ok(made) => {
                    prop_assert!(on_error != OnError::Fail || wrong.is_empty());
                    prop_assert_eq!(cells(&made.batches), first);
                    prop_assert_eq!(made.rejected.iter().map(|one| one.position).collect::<Vec<_>>(), wrong);
                }
            }
        }
    }
}

#[test]
fn parts_of_a_block_begin_long_and_end_short() {
    assert_eq!(shares(0, 2, 1), [0]);
    assert_eq!(shares(10, 2, 100), [0]);
    for (len, threads, least) in [(32 << 20, 2, 2 << 20), (33_000_001, 3, 1 << 20), (64, 4, 2), (5, 1, 1)] {
        let starts = shares(len, threads, least);
        let lengths: Vec<usize> = starts.windows(2).map(|two| two[1] - two[0]).collect();
        assert!(lengths.is_sorted_by(|a, b| a >= b) && lengths.iter().all(|length| *length >= least), "{lengths:?}");
        let last = len - starts[starts.len() - 1];
        assert!((1..=least).contains(&last) && starts.len() >= 2 * threads, "{starts:?}");
    }
}
