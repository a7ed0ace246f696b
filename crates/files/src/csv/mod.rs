//! CSV: records of fields, in parallel, with the line and the column of what is wrong.
//!
//! An unquoted empty field is null, a quoted one the empty text.

mod layout;
mod scan;
#[cfg(test)]
mod tests;
mod write;

use std::collections::HashSet;

use arrow_array::{ArrayRef, BooleanArray};
use arrow_schema::{DataType, SchemaRef};

use self::layout::{Head, Layout, dialect, unescaped};
use self::scan::{Records, cuts, scan};
pub use self::write::{CsvFormat, write};
use crate::cells::{Cells, cells};
use crate::error::Error;
use crate::input::{Input, Progress};
use crate::policy::{LONGEST_RECORD, OnError, Reading, Rejected, Wrong, batch};
use crate::sizes::{CSV_PART, LONGEST};
use crate::threads::{map, threads};

/// How CSV is read. Names are those of polars.
#[derive(Clone, Debug)]
pub struct CsvOptions {
    /// Names and types of all columns.
    pub schema: Option<SchemaRef>,
    /// Types of some columns.
    pub schema_overrides: Vec<(String, DataType)>,
    /// The columns that are read, in this order.
    pub columns: Option<Vec<String>>,
    /// Fields that are null, quoted or not.
    pub null_values: Vec<String>,
    /// What stands between fields.
    pub separator: u8,
    /// What fields may stand in.
    pub quote: Option<u8>,
    /// Whether the first record names the columns.
    pub has_header: bool,
    /// Lines that begin with this are passed over.
    pub comment: Option<u8>,
    /// So many lines are passed over before anything else.
    pub skip_lines: usize,
    /// Of so many records types are inferred; None for all of the first megabyte.
    pub infer_rows: Option<usize>,
    /// Whether texts of dates and instants become those.
    pub dates: bool,
    /// So many rows are read.
    pub rows: Option<u64>,
    /// What becomes of records that cannot be taken as they are.
    pub on_error: OnError,
}

impl Default for CsvOptions {
    fn default() -> CsvOptions {
        CsvOptions {
            schema: None,
            schema_overrides: Vec::new(),
            columns: None,
            null_values: Vec::new(),
            separator: b',',
            quote: Some(b'"'),
            has_header: true,
            comment: None,
            skip_lines: 0,
            infer_rows: Some(1000),
            dates: false,
            rows: None,
            on_error: OnError::Fail,
        }
    }
}

/// Reads an input as a whole. Inputs of one table have the schema of the first: `schema`.
pub fn read(
    input: &Input,
    options: &CsvOptions,
    schema: Option<&SchemaRef>,
    progress: Progress,
) -> Result<Reading, Error> {
    let mut flow = input.open()?;
    let mut head = Head::read(&mut flow, options)?;
    let path = flow.name.clone();
    let layout = Layout::new(&path, &head, options, schema)?;
    let mut made = Reading::new(layout.schema.clone());
    let mut block = std::mem::take(&mut head.block);
    let mut consumed = head.consumed;
    // Lines of the file before the block.
    let (mut lines, mut whole) = (0, head.whole);
    let block_bytes = (CSV_PART.get() * threads()).min(LONGEST);
    loop {
        let work = |block: &[u8]| taken_in(&layout, &block[consumed..], whole, options, &path);
        let (taken, next) = match whole {
            true => (work(&block), Ok((Vec::new(), true))),
            false => flow.beside(block_bytes.max(block.len()), || work(&block)),
        };
        let taken = taken?;
        let before = lines + memchr::memchr_iter(b'\n', &block[..consumed]).count() as u64;
        for part in taken.parts {
            part.told(&layout, &block[consumed..], before, options, &path, &mut made)?;
        }
        if let Some(most) = options.rows.filter(|most| made.rows() >= *most) {
            made.shorten(most);
            break;
        }
        if !progress(flow.done(), flow.size) {
            return Err(Error::Ended);
        }
        if whole {
            break;
        }
        let end = consumed + taken.end;
        lines += memchr::memchr_iter(b'\n', &block[..end]).count() as u64;
        block.drain(..end);
        consumed = 0;
        if block.len() > LONGEST {
            let message = format!("a record of more than {} MB: a quote in it is not closed", LONGEST >> 20);
            return Err(Error::Record { path, line: lines + 1, name: None, message });
        }
        let (more, last) = next?;
        block.extend_from_slice(&more);
        whole = last;
    }
    Ok(made)
}

/// What was read of a block.
struct Taken {
    parts: Vec<Part>,
    end: usize,
}

/// What one thread read: rows, and what is wrong with some.
struct Part {
    /// Where in the block it begins.
    from: usize,
    columns: Vec<ArrayRef>,
    rows: usize,
    wrong: Vec<(u32, Wrong, String)>,
    end: usize,
}

fn taken_in(layout: &Layout, text: &[u8], whole: bool, options: &CsvOptions, path: &str) -> Result<Taken, Error> {
    if text.is_empty() {
        return Ok(Taken { parts: Vec::new(), end: 0 });
    }
    limits::ask(text.len() as u64).map_err(Error::exhausted(path))?;
    let part = CSV_PART.get();
    let parts = text.len().div_ceil(part).max(1);
    let parts = if text.len() > part / 4 { parts.max(threads()) } else { 1 };
    let cuts = cuts(text, parts, options.quote);
    let last = cuts.len() - 1;
    let until = |part: usize| if part == last { text.len() } else { cuts[part + 1] };
    let ranges: Vec<std::ops::Range<usize>> = (0..cuts.len()).map(|part| cuts[part]..until(part)).collect();
    let made = map(&ranges, |range| part_of(layout, text, range.clone(), whole, options));
    // A part that does not end where the next was thought to begin: a line break in quotes was taken for an end.
    if made.windows(2).all(|two| two[0].end == two[1].from) {
        let end = made.last().map_or(0, |part| part.end);
        return Ok(Taken { parts: made, end });
    }
    let one = part_of(layout, text, 0..text.len(), whole, options);
    Ok(Taken { end: one.end, parts: vec![one] })
}

fn part_of(layout: &Layout, text: &[u8], range: std::ops::Range<usize>, whole: bool, options: &CsvOptions) -> Part {
    let mut columns: Vec<Box<dyn Cells>> =
        layout.schema.fields().iter().map(|field| cells(field.data_type()).expect("it was looked at")).collect();
    let mut part = Part { from: range.start, columns: Vec::new(), rows: 0, wrong: Vec::new(), end: range.start };
    let mut starts: Vec<u32> = Vec::new();
    while part.end < range.end {
        let until = range.end.min(part.end + layout.piece);
        let records = scan(text, part.end, until, whole, dialect(options), layout.width);
        if records.end == part.end {
            break;
        }
        let from = part.end;
        let whole_text = std::str::from_utf8(&text[from..records.end]).ok().map(|text| (from, text));
        for (row, message) in &records.wrong {
            let shown = shown_record(&records, text, *row);
            part.wrong.push((
                records.starts[*row],
                Wrong { row: part.rows + row, column: None, message: message.clone() },
                shown,
            ));
        }
        for ((place, field), column) in layout.places.iter().zip(layout.schema.fields()).zip(&mut columns) {
            let wrong = decode(&records, (text, whole_text), *place, column.as_mut(), options);
            for (row, message) in wrong {
                let wrong = Wrong { row: part.rows + row, column: Some(field.name().clone()), message };
                part.wrong.push((records.starts[row], wrong, shown_record(&records, text, row)));
            }
        }
        part.rows += records.len();
        starts.extend_from_slice(&records.starts);
        part.end = records.end;
    }
    for (field, column) in layout.schema.fields().iter().zip(&mut columns) {
        let (made, lost) = column.finish();
        for (row, message) in lost {
            let start = starts[row] as usize;
            let end = memchr::memchr(b'\n', &text[start..]).map_or(text.len(), |end| start + end);
            let shown = String::from_utf8_lossy(&text[start..end]).into_owned();
            part.wrong.push((starts[row], Wrong { row, column: Some(field.name().clone()), message }, shown));
        }
        part.columns.push(made);
    }
    part.wrong.sort_by_key(|(start, wrong, _)| (*start, wrong.column.is_some()));
    part
}

fn shown_record(records: &Records, text: &[u8], row: usize) -> String {
    let record = records.record(text, row);
    String::from_utf8_lossy(&record[..record.len().min(LONGEST_RECORD)]).into_owned()
}

/// Appends the cells of a column; what could not be read is null, and told by row.
fn decode(
    records: &Records,
    (text, whole): (&[u8], Option<(usize, &str)>),
    place: usize,
    column: &mut dyn Cells,
    options: &CsvOptions,
) -> Vec<(usize, String)> {
    let mut wrong = Vec::new();
    for row in 0..records.len() {
        let field = records.field(text, row, place);
        if field.bytes.is_empty() && !field.quoted {
            column.null();
            continue;
        }
        if !options.null_values.is_empty() && options.null_values.iter().any(|null| null.as_bytes() == field.bytes) {
            column.null();
            continue;
        }
        // What is UTF-8 as a whole was looked at once.
        if let Some(text) =
            whole.filter(|_| !field.doubled).and_then(|(from, whole)| records.text(whole, from, row, place))
        {
            if let Err(message) = column.text(text) {
                column.null();
                wrong.push((row, message));
            }
            continue;
        }
        let bytes = unescaped(field, options.quote);
        let told = match std::str::from_utf8(&bytes) {
            Ok(text) => column.text(text),
            Err(error) => Err(format!("no UTF-8 at byte {} of the field", error.valid_up_to())),
        };
        if let Err(message) = told {
            column.null();
            wrong.push((row, message));
        }
    }
    wrong
}

impl Part {
    /// Adds the rows to what was read, and judges what is wrong.
    fn told(
        mut self,
        layout: &Layout,
        text: &[u8],
        lines: u64,
        options: &CsvOptions,
        path: &str,
        made: &mut Reading,
    ) -> Result<(), Error> {
        let line_of = |start: u32| lines + 1 + memchr::memchr_iter(b'\n', &text[..start as usize]).count() as u64;
        if options.on_error == OnError::Fail
            && let Some((start, wrong, _)) = self.wrong.first()
        {
            let mut message = wrong.message.clone();
            if wrong.column.is_some() && options.schema.is_none() {
                message.push_str("; schema_overrides= gives the column another type, infer_schema_length=None looks further, on_error=\"null\" or \"drop\" goes on");
            }
            return Err(Error::Record {
                path: path.to_owned(),
                line: line_of(*start),
                name: wrong.column.clone(),
                message,
            });
        }
        let mut dropped: HashSet<usize> = HashSet::new();
        let (mut counted, mut line) = (0_usize, lines + 1);
        for (start, wrong, record) in self.wrong.drain(..) {
            line += memchr::memchr_iter(b'\n', &text[counted..start as usize]).count() as u64;
            counted = start as usize;
            let is_known = !dropped.insert(wrong.row);
            let reason =
                wrong.column.map_or(wrong.message.clone(), |name| format!("column {name:?}: {}", wrong.message));
            match made.rejected.last_mut().filter(|_| is_known) {
                Some(last) => last.reason = format!("{}; {reason}", last.reason),
                None => made.rejected.push(Rejected { source: path.to_owned(), position: line, record, reason }),
            }
        }
        let rows = batch(&layout.schema, self.columns, self.rows);
        let rows = rows.and_then(|rows| {
            if options.on_error == OnError::Null || dropped.is_empty() {
                return Ok(rows);
            }
            let kept: BooleanArray = (0..self.rows).map(|row| Some(!dropped.contains(&row))).collect();
            arrow_select::filter::filter_record_batch(&rows, &kept)
        });
        made.push(rows.map_err(|error| Error::broken(path, error))?);
        Ok(())
    }
}
