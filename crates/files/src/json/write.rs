//! JSON out: a record on each line, or one array of records.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_json::WriterBuilder;
use arrow_json::writer::LineDelimited;

use crate::error::Error;
use crate::input::Progress;
use crate::threads::in_order;

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
    into: &mut (dyn Write + Send),
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
    let wrong = || Error::io("write", path);
    if form == JsonForm::Array {
        into.write_all(b"[").map_err(wrong())?;
    }
    let mut first = true;
    let put = |text: Vec<u8>| {
        if form == JsonForm::Lines {
            return into.write_all(&text).map_err(wrong());
        }
        // A record holds no line break, so each of them ends a record.
        for line in text.strip_suffix(b"\n").unwrap_or(&text).split(|byte| *byte == b'\n') {
            into.write_all(if first { b"\n" } else { b",\n" }).and_then(|()| into.write_all(line)).map_err(wrong())?;
            first = false;
        }
        Ok(())
    };
    in_order(&parts, |part| encoded(path, part), put, progress)?;
    if form == JsonForm::Array {
        into.write_all(b"\n]\n").map_err(wrong())?;
    }
    Ok(())
}

fn encoded(path: &str, batch: &RecordBatch) -> Result<Vec<u8>, Error> {
    let mut writer = WriterBuilder::new().with_explicit_nulls(true).build::<_, LineDelimited>(Vec::new());
    writer.write(batch).and_then(|()| writer.finish()).map_err(|error| Error::broken(path, error))?;
    Ok(writer.into_inner())
}
