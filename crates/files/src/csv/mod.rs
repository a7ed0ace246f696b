//! CSV: records of fields, in parallel, with the line and the column of what is wrong.
//!
//! An unquoted empty field is null, a quoted one the empty text.

mod layout;
mod scan;
#[cfg(test)]
mod tests;
mod write;

use arrow_schema::{DataType, SchemaRef};

use self::layout::{Head, Layout, column_of, dialect};
use self::scan::{Records, cuts, records_end, scan_into, shares};
pub use self::write::{CsvFormat, write};
use crate::cells::{Cells, cells_of};
use crate::error::Error;
use crate::fields::Column;
use crate::input::{Block, Input, Progress};
use crate::pieces::Pieces;
use crate::policy::{Judge, OnError, Part, Reading, Wrong};
use crate::sizes::CSV_PART;
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

/// What may help where a cell is not of the type that was inferred.
const HINT: &str = "; schema_overrides= gives the column another type, infer_schema_length=None looks further, \
                    on_error=\"null\" or \"drop\" goes on";

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
    let mut made = Reading::new(layout.schema.clone(), options.rows);
    let block = std::mem::take(&mut head.block);
    let part = CSV_PART.get();
    let pieces = Pieces::new(flow, block, head.consumed, head.whole, part, |text| records_end(text, options.quote));
    let hint = if options.schema.is_none() { HINT } else { "" };
    let judge = Judge { path: &path, on_error: options.on_error, hint };
    let work = |block: Block| part_of(&layout, block.text, 0..block.text.len(), block.whole, options);
    let put = |block: Block, part: Part| judge.all(block, part.end, [part], &mut made);
    let left = pieces.each(options.rows.is_some(), work, put, progress, part * threads() * 2)?;
    let Some(blocks) = left else { return Ok(made) };
    let work = |block: Block| {
        let taken = taken_in(&layout, block.text, block.whole, options, &path)?;
        judge.all(block, taken.end, taken.parts, &mut made)
    };
    blocks.each(work, progress)?;
    Ok(made)
}

/// What was read of a block.
struct Taken {
    parts: Vec<Part>,
    end: usize,
}

fn taken_in(layout: &Layout, text: &[u8], whole: bool, options: &CsvOptions, path: &str) -> Result<Taken, Error> {
    if text.is_empty() {
        return Ok(Taken { parts: Vec::new(), end: 0 });
    }
    limits::ask(text.len() as u64).map_err(Error::exhausted(path))?;
    let part = CSV_PART.get();
    let starts = match text.len() > part / 4 {
        true => shares(text.len(), threads(), (part / 4).min(text.len() / (2 * threads()))),
        false => vec![0],
    };
    let cuts = cuts(text, &starts, options.quote);
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

/// Columns without cells, and with room for so many.
fn with_room(layout: &Layout, room: usize) -> Vec<Box<dyn Cells>> {
    let fields = layout.schema.fields().iter();
    fields.map(|field| cells_of(field.data_type(), false, room).expect("it was looked at")).collect()
}

fn part_of(layout: &Layout, text: &[u8], range: std::ops::Range<usize>, whole: bool, options: &CsvOptions) -> Part {
    let mut columns: Vec<Box<dyn Cells>> = Vec::new();
    let mut part =
        Part { from: range.start, columns: Vec::new(), rows: 0, wrong: Vec::new(), end: range.start, lines: 0 };
    let mut starts: Vec<u32> = Vec::new();
    let mut records = Records::default();
    while part.end < range.end {
        let until = range.end.min(part.end + layout.piece);
        scan_into(&mut records, text, (part.end, until), whole, dialect(options), layout.width);
        if records.end == part.end {
            break;
        }
        if columns.is_empty() {
            // As many rows as the rest has, if they are as long as these.
            let (own, all) = (records.end - part.end, range.end - part.end);
            let room = (records.fields.len() as u64 * all as u64 / own as u64) as usize;
            columns = with_room(layout, room + room / 32);
        }
        let from = part.end;
        // What is UTF-8 as a whole is looked at once.
        let sound = std::str::from_utf8(&text[from..records.end]).ok().map(|text| (from, text));
        let told = |part: &Part, row: usize, column: Option<&String>, message: String| Wrong {
            row: part.rows + row,
            record: records.place(row),
            column: column.cloned(),
            message,
        };
        for (row, message) in &records.wrong {
            part.wrong.push(told(&part, *row, None, message.clone()));
        }
        for ((place, field), column) in layout.places.iter().zip(layout.schema.fields()).zip(&mut columns) {
            let mut wrong = Vec::new();
            column.take(&Column { sound, ..column_of(&records, text, *place, options) }, &mut wrong);
            for (row, message) in wrong {
                part.wrong.push(told(&part, row, Some(field.name()), message));
            }
        }
        part.rows += records.fields.len();
        starts.extend_from_slice(&records.fields.starts);
        part.lines += memchr::memchr_iter(b'\n', &text[part.end..records.end]).count() as u64;
        part.end = records.end;
    }
    if columns.is_empty() {
        columns = with_room(layout, 0);
    }
    for (field, column) in layout.schema.fields().iter().zip(&mut columns) {
        let (made, lost) = column.finish();
        for (row, message) in lost {
            let start = starts[row] as usize;
            let end = starts.get(row + 1).map_or(part.end, |next| *next as usize);
            part.wrong.push(Wrong { row, record: (start, end), column: Some(field.name().clone()), message });
        }
        part.columns.push(made);
    }
    part.wrong.sort_by_key(|wrong| (wrong.row, wrong.column.is_some()));
    part
}
