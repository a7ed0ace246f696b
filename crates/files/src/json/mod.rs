//! JSON: a record on each line, or one array of records; told apart by the first byte.
//!
//! A field that a record does not have is null. Integers of 64 bits are exact, and a number that its column does not hold
//! is an error, never another number.

mod decode;
mod infer;
mod records;
#[cfg(test)]
mod tests;
mod write;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow_array::BooleanArray;
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use column::sound;
use serde::de::DeserializeSeed;
use serde_json::Value;

use self::decode::{Notes, Object, Row};
use self::infer::Shape;
use self::records::{Span, elements, lines, spaces};
pub use self::write::{JsonForm, write};
use crate::error::Error;
use crate::input::{Input, Progress};
use crate::policy::{LONGEST_RECORD, OnError, Reading, Rejected, batch};
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
    while is_array && !whole {
        // Where its elements end is known when all of it is there.
        let more = block.len();
        whole = flow.fill(&mut block, more)?;
    }
    // A line of its own length, at least.
    while !whole && memchr::memchr(b'\n', &block[start..]).is_none() {
        too_long(&path, &block, 0)?;
        let more = block.len();
        whole = flow.fill(&mut block, more)?;
    }
    let mut consumed = start;
    let spans = if is_array { elements(&path, &block, start)? } else { whole_lines(&block, start, whole).0 };
    let layout = match schema {
        Some(schema) => Layout { schema: schema.clone(), any_text: options.schema.is_none() },
        None => Layout::new(&path, &block, &spans, options)?,
    };
    let mut made = Reading::new(layout.schema.clone());
    let reader = Reader { layout: &layout, options, path: &path };
    if is_array {
        reader.take(&block, &spans, 0, &mut made)?;
        progress(flow.done(), flow.size);
        if let Some(most) = options.rows {
            made.shorten(most);
        }
        return Ok(made);
    }
    let block_bytes = (JSON_PART.get() * threads() * 2).min(LONGEST);
    let mut counted = 0;
    loop {
        let (spans, end) = whole_lines(&block, consumed, whole);
        let (taken, next) = match whole {
            true => (reader.take(&block, &spans, counted, &mut made), Ok((Vec::new(), true))),
            false => flow.beside(block_bytes.max(block.len()), || reader.take(&block, &spans, counted, &mut made)),
        };
        taken?;
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
        counted += memchr::memchr_iter(b'\n', &block[..end]).count() as u64;
        block.drain(..end);
        consumed = 0;
        too_long(&path, &block, counted)?;
        let (more, last) = next?;
        block.extend_from_slice(&more);
        whole = last;
    }
    Ok(made)
}

fn too_long(path: &str, block: &[u8], lines: u64) -> Result<(), Error> {
    if block.len() <= LONGEST {
        return Ok(());
    }
    let message = format!("a record of more than {} MB", LONGEST >> 20);
    Err(Error::Record { path: path.to_owned(), line: lines + 1, name: None, message })
}

/// The lines that are there as a whole, and where the rest begins.
fn whole_lines(block: &[u8], from: usize, whole: bool) -> (Vec<Span>, usize) {
    let end = if whole { block.len() } else { memchr::memrchr(b'\n', block).map_or(from, |end| end + 1) };
    (lines(block, from, end), end.max(from))
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
                        Some(span) => Err(Reader { layout: &Layout::empty(), options, path }.first_wrong(block, *span)),
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
                let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
                let field = fields.iter().find(|field| field.name() == name).cloned();
                field.ok_or_else(|| Error::schema(path, format!("no column {name:?}; the columns are {names:?}")))
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
    layout: &'a Layout,
    options: &'a JsonOptions,
    path: &'a str,
}

/// What one thread read: an object of all columns, and what is wrong with some records.
struct Part {
    object: Object,
    wrong: Vec<(usize, Notes)>,
}

impl Reader<'_> {
    /// Reads records, whose block has so many lines before it.
    fn take(&self, block: &[u8], spans: &[Span], before: u64, made: &mut Reading) -> Result<(), Error> {
        limits::ask(block.len() as u64).map_err(Error::exhausted(self.path))?;
        let bytes = spans.last().map_or(0, |last| last.1) - spans.first().map_or(0, |first| first.0);
        let share = spans.len().div_ceil((bytes / JSON_PART.get() + 1).max(threads())).max(1);
        let shares: Vec<&[Span]> = spans.chunks(share).collect();
        let parts = map(&shares, |spans| self.part(block, spans)).into_iter().zip(shares);
        for (part, spans) in parts {
            self.told(part, block, spans, before, made)?;
        }
        Ok(())
    }

    fn part(&self, block: &[u8], spans: &[Span]) -> Part {
        let fields: &Fields = self.layout.schema.fields();
        let object = Object::new(fields, self.options.strict, self.layout.any_text).expect("it was looked at");
        let mut part = Part { object, wrong: Vec::new() };
        for (row, span) in spans.iter().enumerate() {
            let mut notes = Notes::new();
            if let Err(message) = self.record(&block[span.0..span.1], &mut part.object, &mut notes) {
                part.object.broken();
                notes.push((String::new(), message));
            }
            if !notes.is_empty() {
                part.wrong.push((row, notes));
            }
            debug_assert_eq!(part.object.rows(), row + 1);
        }
        part
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

    fn told(&self, part: Part, block: &[u8], spans: &[Span], before: u64, made: &mut Reading) -> Result<(), Error> {
        let rows = part.object.rows();
        let mut wrong: BTreeMap<usize, Notes> = part.wrong.into_iter().collect();
        let (columns, lost) = part.object.columns();
        for (row, message) in lost {
            wrong.entry(row).or_default().push((String::new(), message));
        }
        let line_of = |row: usize| before + 1 + memchr::memchr_iter(b'\n', &block[..spans[row].0]).count() as u64;
        if self.options.on_error == OnError::Fail
            && let Some((row, notes)) = wrong.pop_first()
        {
            let (name, message) = notes.into_iter().next().unwrap_or_default();
            let name = Some(name).filter(|name| !name.is_empty());
            let path = self.path.to_owned();
            return Err(Error::Record { path, line: line_of(row), name, message });
        }
        for (row, notes) in &wrong {
            let record = &block[spans[*row].0..spans[*row].1];
            let record = record.trim_ascii();
            let reasons = notes.iter().map(|(name, message)| match name.as_str() {
                "" => message.clone(),
                name => format!("column {name:?}: {message}"),
            });
            made.rejected.push(Rejected {
                source: self.path.to_owned(),
                position: line_of(*row),
                record: String::from_utf8_lossy(&record[..record.len().min(LONGEST_RECORD)]).into_owned(),
                reason: reasons.collect::<Vec<_>>().join("; "),
            });
        }
        let batch = batch(&self.layout.schema, columns, rows).and_then(|rows| {
            if self.options.on_error == OnError::Null || wrong.is_empty() {
                return Ok(rows);
            }
            let kept: BooleanArray = (0..rows.num_rows()).map(|row| Some(!wrong.contains_key(&row))).collect();
            arrow_select::filter::filter_record_batch(&rows, &kept)
        });
        made.push(batch.map_err(|error| Error::broken(self.path, error))?);
        Ok(())
    }
}

/// What a parser says, with the place in the record and a piece of it.
fn shown_error(error: &serde_json::Error, record: &[u8]) -> String {
    let text = error.to_string();
    let message = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message);
    let shown = crate::cells::shown(&String::from_utf8_lossy(record.trim_ascii()));
    format!("{message} at character {} of {shown}", error.column())
}
