//! Bytes of files: read or refused, whatever they are, and the same in blocks of any size.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use files::csv::CsvOptions;
use files::ipc::IpcOptions;
use files::json::JsonOptions;
use files::parquet::ParquetOptions;
use files::{Error, Input, OnError, Reading};
use limits::Scope;

use super::decoders::reading;

/// What was read, as text: batches are cut as blocks are.
fn told(read: Result<Reading, Error>) -> Result<(String, usize), String> {
    let Reading { schema, batches, rejected, .. } = read.map_err(|error| error.to_string())?;
    let rows: Vec<String> = batches
        .iter()
        .flat_map(|batch: &RecordBatch| {
            (0..batch.num_rows()).map(move |row| format!("{:?}", batch.slice(row, 1).columns()))
        })
        .collect();
    let rejected: Vec<_> = rejected.iter().map(|one| (one.position, &one.record, &one.reason)).collect();
    Ok((format!("{schema:?} {rows:?} {rejected:?}"), rows.len()))
}

fn schema() -> SchemaRef {
    let texts = DataType::List(Arc::new(Field::new("item", DataType::Utf8, true)));
    let object = DataType::Struct(vec![Field::new("x", DataType::Int64, true), Field::new("t", texts, true)].into());
    Arc::new(Schema::new(vec![
        Field::new("a", DataType::Int64, true),
        Field::new("b", DataType::Utf8, true),
        Field::new("o", object, true),
    ]))
}

/// The first byte says which format, what becomes of wrong records and whether only the first rows are wanted, the second the
/// sizes of blocks; the rest is the file.
/// Whether rows were read.
pub fn files(bytes: &[u8]) -> bool {
    let [how, seed, file @ ..] = bytes else { return false };
    let input = Input::Bytes("file".into(), file.into());
    let on_error = [OnError::Fail, OnError::Null, OnError::Drop][usize::from(how / 8) % 3];
    let given = how & 64 != 0;
    let rows = (how & 4 != 0).then_some(u64::from(seed % 4));
    let read = |seed: u64| {
        let mut follow = |_: u64, _: u64| true;
        Scope::drawn(seed).enter(|| match how % 4 {
            0 => {
                let schema = given.then(|| Arc::new(schema().project(&[0, 1]).expect("two columns of three")));
                let options = CsvOptions {
                    schema,
                    has_header: how & 128 == 0,
                    on_error,
                    dates: true,
                    rows,
                    ..CsvOptions::default()
                };
                files::csv::read(&input, &options, None, &mut follow)
            }
            1 => {
                let options = JsonOptions { schema: given.then(schema), on_error, rows, ..JsonOptions::default() };
                files::json::read(&input, &options, None, &mut follow)
            }
            2 => reading(|| files::parquet::read(&input, &ParquetOptions { rows, columns: None }, None, &mut follow)),
            _ => reading(|| files::ipc::read(&input, &IpcOptions { rows, columns: None }, None, &mut follow)),
        })
    };
    let once = told(read(0));
    // What is inferred is inferred of the first block.
    if given && how % 4 < 2 {
        assert_eq!(once, told(read((*seed).into())), "in blocks of other sizes");
    }
    once.is_ok_and(|(_, rows)| rows > 0)
}
