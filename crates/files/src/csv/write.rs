//! CSV out: a header and a line for each row.
//!
//! A null is the null word, the empty text stands in quotes, so that both come back.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};

use crate::error::Error;
use crate::input::Progress;
use crate::shown::Shown;
use crate::threads::in_order;

/// Rows that one thread writes at a time.
const ROWS: usize = 64 << 10;

/// How CSV is written.
#[derive(Clone, Debug)]
pub struct CsvFormat {
    /// What stands between fields.
    pub separator: u8,
    /// What fields stand in that hold a separator, a quote or a line break.
    pub quote: u8,
    /// Whether the first line names the columns.
    pub header: bool,
    /// What a null is written as.
    pub null: String,
    /// Whether texts that a spreadsheet would run as a formula begin with an apostrophe.
    pub escape_formulas: bool,
}

impl Default for CsvFormat {
    fn default() -> CsvFormat {
        CsvFormat { separator: b',', quote: b'"', header: true, null: String::new(), escape_formulas: false }
    }
}

/// Writes rows.
pub fn write(
    path: &str,
    into: &mut (dyn Write + Send),
    schema: &SchemaRef,
    batches: &[RecordBatch],
    format: &CsvFormat,
    progress: Progress,
) -> Result<(), Error> {
    if let Some(field) = schema.fields().iter().find(|field| field.data_type().is_nested()) {
        let what = formula::type_name(field.data_type());
        let message = format!(
            "column {:?} holds {what}, which is no field of CSV; write_ndjson and write_parquet take it",
            field.name()
        );
        return Err(Error::schema(path, message));
    }
    if format.header {
        let mut line = String::new();
        for (at, field) in schema.fields().iter().enumerate() {
            separated(&mut line, at, format);
            quoted(&mut line, field.name(), format, true);
        }
        line.push('\n');
        into.write_all(line.as_bytes()).map_err(Error::io("write", path))?;
    }
    let parts: Vec<RecordBatch> = batches
        .iter()
        .flat_map(|batch| {
            (0..batch.num_rows()).step_by(ROWS).map(|from| batch.slice(from, ROWS.min(batch.num_rows() - from)))
        })
        .collect();
    let put = |text: String| into.write_all(text.as_bytes()).map_err(Error::io("write", path));
    in_order(&parts, |part| lines(path, part, format), put, progress)
}

fn separated(line: &mut String, at: usize, format: &CsvFormat) {
    if at > 0 {
        line.push(char::from(format.separator));
    }
}

fn lines(path: &str, batch: &RecordBatch, format: &CsvFormat) -> Result<String, Error> {
    let columns: Vec<Shown> = batch
        .columns()
        .iter()
        .map(|column| Shown::new(column).map_err(|error| Error::broken(path, error)))
        .collect::<Result<_, _>>()?;
    // A separator that stands in numbers and times: all is looked at.
    let odd = format.separator.is_ascii_alphanumeric() || b"-+.: ".contains(&format.separator);
    let texts: Vec<bool> = batch.columns().iter().map(|column| is_text(column.data_type())).collect();
    let nulls: Vec<_> = batch.columns().iter().map(|column| column.logical_nulls()).collect();
    let mut out = String::with_capacity(batch.num_rows() * batch.num_columns() * 12);
    let mut cell = String::new();
    for row in 0..batch.num_rows() {
        for (at, column) in columns.iter().enumerate() {
            separated(&mut out, at, format);
            if nulls[at].as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                out.push_str(&format.null);
            } else if let Some(text) = column.text(row) {
                quoted(&mut out, text, format, true);
            } else if odd || texts[at] {
                cell.clear();
                column.write(row, &mut cell).map_err(|_| Error::broken(path, "a text cannot be shown"))?;
                quoted(&mut out, &cell, format, texts[at]);
            } else {
                column.write(row, &mut out).map_err(|_| Error::broken(path, "a cell cannot be shown"))?;
            }
        }
        out.push('\n');
    }
    Ok(out)
}

fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_text(values),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Boolean | DataType::Binary | DataType::LargeBinary | DataType::BinaryView => false,
        other => !other.is_primitive(),
    }
}

fn quoted(out: &mut String, text: &str, format: &CsvFormat, is_text: bool) {
    let quote = char::from(format.quote);
    let formula = format.escape_formulas && is_text && text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let special = |byte: u8| (byte == format.separator) | (byte == format.quote) | (byte == b'\n') | (byte == b'\r');
    let plain = !text.bytes().fold(false, |any, byte| any | special(byte)) && !text.is_empty() && text != format.null;
    if plain && !formula && !text.starts_with('#') {
        out.push_str(text);
        return;
    }
    out.push(quote);
    if formula {
        out.push('\'');
    }
    for part in text.split_inclusive(quote) {
        out.push_str(part);
        if part.ends_with(quote) {
            out.push(quote);
        }
    }
    out.push(quote);
}
