//! JSON: a record on each line, or one array of records; told apart by the first byte.
//!
//! A field that a record does not have is null. Integers of 64 bits are exact, and a number that its column does not hold
//! is an error, never another number.

mod decode;
mod infer;
mod quick;
mod records;
#[cfg(test)]
mod tests;
mod write;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use column::sound;
use serde::de::DeserializeSeed;
use serde_json::Value;

use self::decode::{Notes, Object, Row};
use self::infer::Shape;
use self::quick::Names;
use self::records::{Elements, Span, lines, spaces};
pub use self::write::{JsonForm, write};
use crate::error::Error;
use crate::fields::Fields as Places;
use crate::input::{Block, Blocks, Input, Progress};
use crate::pieces::Pieces;
use crate::policy::{Judge, OnError, Part, Reading, Wrong};
use crate::sizes::{JSON_PART, LONGEST, SAMPLE};
use crate::threads::{map, threads};

/// How JSON is read.
#[derive(Clone, Debug)]
pub struct JsonOptions {
    /// Names and types of all columns.
    pub schema: Option<SchemaRef>,
    /// Types of some columns.
    pub schema_overrides: Vec<(String, DataType)>,
    /// The columns that are read, in this order.
    pub columns: Option<Vec<String>>,
    /// Of so many records types are inferred; None for all of the first megabyte.
    pub infer_rows: Option<usize>,
    /// Whether a field that is no column is an error.
    pub strict: bool,
    /// So many rows are read.
    pub rows: Option<u64>,
    /// What becomes of records that cannot be taken as they are.
    pub on_error: OnError,
}

impl Default for JsonOptions {
    fn default() -> JsonOptions {
        JsonOptions {
            schema: None,
            schema_overrides: Vec::new(),
            columns: None,
            infer_rows: Some(1000),
            strict: false,
            rows: None,
            on_error: OnError::Fail,
        }
    }
}

/// Reads an input as a whole. Inputs of one table have the schema of the first: `schema`.
pub fn read(
    input: &Input,
    options: &JsonOptions,
    schema: Option<&SchemaRef>,
    progress: Progress,
) -> Result<Reading, Error> {
    let mut flow = input.open()?;
    let path = flow.name.clone();
    let mut block = Vec::new();
    let mut whole = flow.fill(&mut block, SAMPLE.get())?;
    let start = if block.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let start = start + spaces(&block[start..]);
    let is_array = block.get(start) == Some(&b'[');
    let start = start + usize::from(is_array);
    let mut form = if is_array { Form::Array(Elements::default()) } else { Form::Lines };
    let mut reader = Reader { layout: Layout::empty(), options, path: &path };
    // The first records, however long they are.
    let spans = loop {
        let text = Block { text: &block[start..], lines: 0, whole };
        let found = reader.spans(&mut form.clone(), text);
        if let (Some(error), true) = (found.broken, found.spans.is_empty()) {
            return Err(error);
        }
        if whole || !found.spans.is_empty() {
            break found.spans;
        }
        if block.len() > LONGEST {
            let message = format!("a record of more than {} MB", LONGEST >> 20);
            return Err(Error::Record { path, line: 1, name: None, message });
        }
        let more = block.len();
        whole = flow.fill(&mut block, more)?;
    };
    reader.layout = match schema {
        Some(schema) => Layout { schema: schema.clone(), any_text: options.schema.is_none() },
        None => Layout::new(&path, &block[start..], &spans, options)?,
    };
    drop(spans);
    let mut made = Reading::new(reader.layout.schema.clone(), options.rows);
    let judge = Judge { path: &path, on_error: options.on_error, hint: "" };
    let bytes = JSON_PART.get() * threads() * 2;
    let blocks = match form {
        Form::Array(_) => Some(Blocks::new(flow, block, start, whole, bytes)),
        Form::Lines => {
            let pieces = Pieces::new(flow, block, start, whole, JSON_PART.get(), lines_end);
            let work = |block: Block| reader.part(block.text, &Share { from: 0, end: whole_lines(block), spans: None });
            let put = |block: Block, part: Part| judge.all(block, part.end, [part], &mut made);
            pieces.each(options.rows.is_some(), work, put, progress, bytes)?
        }
    };
    let Some(blocks) = blocks else { return Ok(made) };
    let work = |block: Block| {
        limits::ask(block.text.len() as u64).map_err(Error::exhausted(&path))?;
        let (shares, end, broken) = match &mut form {
            Form::Lines => {
                let (shares, end) = reader.line_shares(block);
                (shares, end, None)
            }
            form => {
                let Found { spans, end, broken } = reader.spans(form, block);
                (element_shares(spans, end), end, broken)
            }
        };
        let parts = map(&shares, |share| reader.part(block.text, share));
        let done = judge.all(block, end, parts, &mut made)?;
        match broken {
            Some(error) if !done.enough => Err(error),
            _ => Ok(done),
        }
    };
    blocks.each(work, progress)?;
    Ok(made)
}

/// How records stand in the text.
#[derive(Clone, Copy)]
enum Form {
    Lines,
    Array(Elements),
}

/// The records that are there as a whole, where the rest begins, and what is wrong with it as an array.
struct Found {
    spans: Vec<Span>,
    end: usize,
    broken: Option<Error>,
}

/// What one thread reads of a block: its bytes, and the records in them, or lines.
struct Share {
    from: usize,
    end: usize,
    spans: Option<Vec<Span>>,
}

/// The elements of an array, shared among threads.
fn element_shares(spans: Vec<Span>, end: usize) -> Vec<Share> {
    let share = spans.len().div_ceil((end / JSON_PART.get() + 1).max(threads())).max(1);
    let mut shares: Vec<Share> = Vec::new();
    for spans in spans.chunks(share) {
        let from = shares.last().map_or(0, |last: &Share| last.end);
        shares.push(Share { from, end: spans[spans.len() - 1].1, spans: Some(spans.to_vec()) });
    }
    match shares.last_mut() {
        Some(last) => last.end = end,
        None => shares.push(Share { from: 0, end, spans: Some(Vec::new()) }),
    }
    shares
}

struct Layout {
    schema: SchemaRef,
    /// Whether a column of texts takes anything, as its JSON text.
    any_text: bool,
}

impl Layout {
    fn new(path: &str, block: &[u8], spans: &[Span], options: &JsonOptions) -> Result<Layout, Error> {
        let mut fields: Vec<Field> = match &options.schema {
            Some(schema) => schema.fields().iter().map(|field| field.as_ref().clone()).collect(),
            None => {
                let mut shapes = Shape::Nothing;
                for span in spans.iter().take(options.infer_rows.unwrap_or(usize::MAX).max(1)) {
                    // What is no JSON is told when it is read.
                    let Ok(value @ Value::Object(_)) = serde_json::from_slice(&block[span.0..span.1]) else { continue };
                    shapes = shapes.or(Shape::of(&value));
                }
                let Shape::Object(shapes) = shapes else {
                    return match spans.first() {
                        None => Err(Error::broken(path, "it is empty; give schema= for a file that may be")),
                        Some(span) => Err(Reader { layout: Layout::empty(), options, path }.first_wrong(block, *span)),
                    };
                };
                // Objects of serde_json are in order of their names, and columns in that of the first record.
                let order = first_names(&block[spans[0].0..spans[0].1]);
                let order: HashMap<String, usize> =
                    order.into_iter().enumerate().map(|(at, name)| (name, at)).collect();
                let mut named: BTreeMap<(usize, String), Shape> = BTreeMap::new();
                for (name, shape) in shapes {
                    named.insert((order.get(&name).copied().unwrap_or(usize::MAX), name), shape);
                }
                named.into_iter().map(|((_, name), shape)| Field::new(name, shape.data_type(), true)).collect()
            }
        };
        for (name, wanted) in &options.schema_overrides {
            match fields.iter_mut().find(|field| field.name() == name) {
                Some(field) => *field = Field::new(name, wanted.clone(), true),
                // A field that no record of the sample has.
                None => fields.push(Field::new(name, wanted.clone(), true)),
            }
        }
        if let Some(columns) = &options.columns {
            let found = |name: &String| {
                let names = || fields.iter().map(|field| field.name().as_str());
                let field = fields.iter().find(|field| field.name() == name).cloned();
                field.ok_or_else(|| Error::no_column(path, name, names()))
            };
            fields = columns.iter().map(found).collect::<Result<_, _>>()?;
        }
        let layout = Layout { schema: Arc::new(Schema::new(fields)), any_text: options.schema.is_none() };
        sound::schema(&layout.schema).map_err(|error| Error::broken(path, error))?;
        for field in layout.schema.fields() {
            if decode::Node::new(field.data_type(), false, false).is_none() {
                let what = formula::type_name(field.data_type());
                return Err(Error::schema(path, format!("column {:?}: no JSON becomes {what}", field.name())));
            }
        }
        Ok(layout)
    }

    fn empty() -> Layout {
        Layout { schema: Arc::new(Schema::empty()), any_text: false }
    }
}

/// The names of an object's fields in order.
fn first_names(record: &[u8]) -> Vec<String> {
    struct Names;
    impl<'de> serde::de::Visitor<'de> for Names {
        type Value = Vec<String>;

        fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Vec<String>, A::Error> {
            let mut names = Vec::new();
            while let Some((name, _)) = map.next_entry::<String, serde::de::IgnoredAny>()? {
                names.push(name);
            }
            Ok(names)
        }
    }
    let mut from = serde_json::Deserializer::from_slice(record);
    serde::de::Deserializer::deserialize_map(&mut from, Names).unwrap_or_default()
}

struct Reader<'a> {
    layout: Layout,
    options: &'a JsonOptions,
    path: &'a str,
}

/// Bytes of records whose values are looked for before their cells are made, so that they are in the processor's cache.
const PIECE: usize = 256 << 10;

impl Reader<'_> {
    /// The records that are there as a whole.
    fn spans(&self, form: &mut Form, block: Block) -> Found {
        match form {
            Form::Lines => {
                let end = whole_lines(block);
                Found { spans: lines(block.text, 0, end).collect(), end, broken: None }
            }
            Form::Array(elements) => {
                let (spans, end, broken) = elements.next(block.text, block.whole);
                let broken = broken.map(|message| {
                    let before = memchr::memchr_iter(b'\n', &block.text[..end]).count() as u64;
                    let (path, line) = (self.path.to_owned(), block.lines + before + 1);
                    Error::Record { path, line, name: None, message: message.to_owned() }
                });
                Found { spans, end, broken }
            }
        }
    }

    /// The lines of a block, shared among threads.
    fn line_shares(&self, block: Block) -> (Vec<Share>, usize) {
        let end = whole_lines(block);
        let parts = (end / JSON_PART.get() + 1).max(if end > JSON_PART.get() / 4 { threads() } else { 1 });
        let mut shares = Vec::with_capacity(parts);
        let mut from = 0;
        for part in 1..=parts {
            let cut = (end as u64 * part as u64 / parts as u64) as usize;
            let until = if part == parts { end } else { from.max(cut) };
            let until = memchr::memchr(b'\n', &block.text[until.min(end)..end]).map_or(end, |at| until + at + 1);
            if until > from {
                shares.push(Share { from, end: until, spans: None });
                from = until;
            }
        }
        (shares, end)
    }

    fn part(&self, text: &[u8], share: &Share) -> Part {
        let columns: &Fields = self.layout.schema.fields();
        let object = Object::new(columns, self.options.strict, self.layout.any_text).expect("it was looked at");
        // Of text that is UTF-8 as a whole plain records are looked through first.
        let sound = std::str::from_utf8(&text[share.from..share.end]).ok().map(|sound| (share.from, sound));
        let quick = sound.filter(|_| object.is_flat());
        let quick = quick.map(|sound| (Names::new(columns, self.options.strict), sound));
        let mut making =
            Making { columns, object, places: Places::new(columns.len()), spans: Vec::new(), wrong: Vec::new() };
        let mut record = |span: Span| {
            if let Some((names, sound)) = &quick {
                let first = making.places.starts.first().map_or(span.0, |first| *first as usize);
                if span.0 - first > PIECE {
                    making.flush(text, *sound);
                }
                if names.record(text, span, &mut making.places) {
                    making.spans.push(span);
                    return;
                }
                making.flush(text, *sound);
            }
            making.spans.push(span);
            let mut notes = Notes::new();
            if let Err(message) = self.record(&text[span.0..span.1], &mut making.object, &mut notes) {
                making.object.broken();
                notes.push((String::new(), message));
            }
            making.told(notes);
        };
        match &share.spans {
            Some(spans) => spans.iter().for_each(|span| record(*span)),
            None => lines(text, share.from, share.end).for_each(record),
        }
        if let Some((_, sound)) = &quick {
            making.flush(text, *sound);
        }
        making.done(text, share)
    }

    fn record(&self, record: &[u8], object: &mut Object, notes: &mut Notes) -> Result<(), String> {
        let mut from = serde_json::Deserializer::from_slice(record);
        let before = object.rows();
        let read = Row { object, notes }.deserialize(&mut from);
        let read = read.and_then(|()| from.end());
        read.map_err(|error| {
            if object.rows() > before {
                // The object was whole, and something stands after it: its cells are those of a row that is wrong.
                object.undo();
            }
            shown_error(&error, record)
        })
    }

    fn first_wrong(&self, block: &[u8], span: Span) -> Error {
        let mut object = Object::new(&Fields::empty(), false, false).expect("no columns");
        let message = self.record(&block[span.0..span.1], &mut object, &mut Notes::new()).err();
        let line = 1 + memchr::memchr_iter(b'\n', &block[..span.0]).count() as u64;
        let message = message.unwrap_or_else(|| "the records have no fields".to_owned());
        Error::Record { path: self.path.to_owned(), line, name: None, message }
    }
}

/// The records that one thread reads, on their way to columns.
struct Making<'a> {
    columns: &'a Fields,
    object: Object,
    /// Where the values stand of plain records that are no cells yet.
    places: Places,
    spans: Vec<Span>,
    wrong: Vec<Wrong>,
}

impl Making<'_> {
    /// Makes cells of the plain records.
    fn flush(&mut self, text: &[u8], sound: (usize, &str)) {
        if self.places.len() == 0 {
            return;
        }
        let before = self.object.rows();
        let mut told = self.object.take(&self.places, text, sound);
        // In the order in which they stand, as the parser tells them.
        told.sort_by_key(|(row, column, _)| self.places.start(*row, *column));
        for (row, column, message) in told {
            let row = before + row;
            let column = Some(self.columns[column].name().clone());
            self.wrong.push(Wrong { row, record: self.spans[row], column, message });
        }
        self.places.clear();
    }

    /// What the parser noted of the last record.
    fn told(&mut self, notes: Notes) {
        let row = self.spans.len() - 1;
        debug_assert_eq!(self.object.rows(), row + 1);
        for (name, message) in notes {
            let column = Some(name).filter(|name| !name.is_empty());
            self.wrong.push(Wrong { row, record: self.spans[row], column, message });
        }
    }

    fn done(mut self, text: &[u8], share: &Share) -> Part {
        let rows = self.object.rows();
        let (columns, lost) = self.object.columns();
        self.wrong.extend(lost.into_iter().map(|(row, message)| Wrong {
            row,
            record: self.spans[row],
            column: None,
            message,
        }));
        self.wrong.sort_by_key(|wrong| wrong.row);
        let lines = memchr::memchr_iter(b'\n', &text[share.from..share.end]).count() as u64;
        Part { from: share.from, columns, rows, wrong: self.wrong, end: share.end, lines }
    }
}

/// The end of the last line that is there as a whole.
fn whole_lines(block: Block) -> usize {
    match block.whole {
        true => block.text.len(),
        false => lines_end(block.text),
    }
}

/// The end of the last line of a text.
fn lines_end(text: &[u8]) -> usize {
    memchr::memrchr(b'\n', text).map_or(0, |end| end + 1)
}

/// What a parser says, with the place in the record and a piece of it.
fn shown_error(error: &serde_json::Error, record: &[u8]) -> String {
    let text = error.to_string();
    let message = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message);
    let shown = crate::cells::shown(&String::from_utf8_lossy(record.trim_ascii()));
    format!("{message} at character {} of {shown}", error.column())
}
