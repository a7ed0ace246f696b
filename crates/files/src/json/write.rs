//! JSON out: a record on each line, or one array of records.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_json::WriterBuilder;
use arrow_json::writer::LineDelimited;

use crate::error::Error;
use crate::input::Progress;
use crate::threads::{map, threads};

/// Rows that one thread writes at a time.
const ROWS: usize = 32 << 10;

/// Which form of JSON is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonForm {
    /// A record on each line.
    Lines,
    /// One array.
    Array,
}

/// Writes rows; a null is `null`, and so is a float that is no number.
pub fn write(
    path: &str,
    into: &mut dyn Write,
    batches: &[RecordBatch],
    form: JsonForm,
    progress: Progress,
) -> Result<(), Error> {
    let parts: Vec<RecordBatch> = batches
        .iter()
        .flat_map(|batch| {
            (0..batch.num_rows()).step_by(ROWS).map(|from| batch.slice(from, ROWS.min(batch.num_rows() - from)))
        })
        .collect();
    let mut put = |bytes: &[u8]| into.write_all(bytes).map_err(Error::io("write", path));
    let (mut done, total) = (0, parts.len() as u64);
    if form == JsonForm::Array {
        put(b"[")?;
    }
    for group in parts.chunks(threads() * 2) {
        let texts: Vec<Result<Vec<u8>, Error>> = map(group, |part| encoded(path, part));
        for (at, text) in texts.into_iter().enumerate() {
            let text = text?;
            match form {
                JsonForm::Lines => put(&text)?,
                JsonForm::Array => {
                    // A record holds no line break, so each of them ends a record.
                    let lines = text.strip_suffix(b"\n").unwrap_or(&text);
                    put(if done == 0 && at == 0 { b"\n" } else { b",\n" })?;
                    for (number, line) in lines.split(|byte| *byte == b'\n').enumerate() {
                        if number > 0 {
                            put(b",\n")?;
                        }
                        put(line)?;
                    }
                }
            }
        }
        done += group.len() as u64;
        if !progress(done, total) {
            return Err(Error::Ended);
        }
    }
    if form == JsonForm::Array {
        put(b"\n]\n")?;
    }
    Ok(())
}

fn encoded(path: &str, batch: &RecordBatch) -> Result<Vec<u8>, Error> {
    let mut writer = WriterBuilder::new().with_explicit_nulls(true).build::<_, LineDelimited>(Vec::new());
    writer.write(batch).and_then(|()| writer.finish()).map_err(|error| Error::broken(path, error))?;
    Ok(writer.into_inner())
}
