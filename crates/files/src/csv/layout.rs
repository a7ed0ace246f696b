//! The columns of a file of CSV: what its begin says of them, and what was asked for.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::{Field, Schema, SchemaRef};

use super::CsvOptions;
use super::scan::{Dialect, Records, scan};
use crate::cells::cells;
use crate::error::Error;
use crate::fields::{Column, Raw};
use crate::infer::Guess;
use crate::input::Flow;
use crate::many::no_extra;
use crate::sizes::{CSV_PIECE, LONGEST, SAMPLE};

/// The begin of a file: its columns, and texts of which their types are inferred.
pub(super) struct Head {
    names: Vec<String>,
    guesses: Vec<Guess>,
    pub(super) block: Vec<u8>,
    /// Where the first record of data begins.
    pub(super) consumed: usize,
    pub(super) whole: bool,
}

impl Head {
    pub(super) fn read(flow: &mut Flow, options: &CsvOptions) -> Result<Head, Error> {
        let mut block = Vec::new();
        let mut whole = flow.fill(&mut block, SAMPLE.get())?;
        let mut at = if block.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        if block[at..].starts_with(b"\xff\xfe") || block[at..].starts_with(b"\xfe\xff") {
            return Err(Error::broken(&flow.name, "it is UTF-16; CSV is read as UTF-8"));
        }
        let mut left = options.skip_lines;
        while left > 0 {
            match memchr::memchr(b'\n', &block[at..]) {
                Some(end) => (at += end + 1, left -= 1).0,
                None if whole => {
                    at = block.len();
                    break;
                }
                None => {
                    if block.len() > LONGEST {
                        return Err(Error::broken(
                            &flow.name,
                            "more lines are to be passed over than are taken at once",
                        ));
                    }
                    let more = block.len();
                    whole = flow.fill(&mut block, more)?;
                }
            }
        }
        let dialect = dialect(options);
        let mut names = Vec::new();
        // The first record, however long it is.
        let first = loop {
            let first = first_record(&block, at, whole, dialect);
            if first.is_some() || whole {
                break first;
            }
            if block.len() > LONGEST {
                return Err(Error::broken(&flow.name, "its first record does not end; is it CSV?"));
            }
            let more = block.len();
            whole = flow.fill(&mut block, more)?;
        };
        let Some(first) = first else {
            if options.schema.is_some() && !options.has_header {
                return Ok(Head { names, guesses: Vec::new(), consumed: block.len(), block, whole });
            }
            return Err(Error::broken(
                &flow.name,
                "it is empty; give schema= and has_header=False for a file that may be",
            ));
        };
        if first.fields.width > limits::bounds::COLUMNS {
            return Err(Error::broken(
                &flow.name,
                format!("{} columns, at most {} are taken", first.fields.width, limits::bounds::COLUMNS),
            ));
        }
        if options.has_header {
            let line = 1 + memchr::memchr_iter(b'\n', &block[..first.fields.starts[0] as usize]).count() as u64;
            if let Some((_, message)) = first.wrong.first() {
                return Err(Error::Record { path: flow.name.clone(), line, name: None, message: message.clone() });
            }
            for column in 0..first.fields.width {
                let name = column_of(&first, &block, column, options).name(0, &flow.name, line)?;
                if name.len() > limits::bounds::NAME_BYTES {
                    return Err(Error::broken(&flow.name, "a name of a column is longer than 64 KB; is it CSV?"));
                }
                names.push(name);
            }
            let mut seen = HashSet::new();
            if let Some(twice) = names.iter().find(|name| !seen.insert(name.as_str())) {
                let message = format!(
                    "column {twice:?} stands twice in the header; skip_rows=1, has_header=False and a schema name them anew"
                );
                return Err(Error::schema(&flow.name, message));
            }
            at = first.end;
        } else {
            names = (1..=first.fields.width).map(|column| format!("column_{column}")).collect();
            at = first.fields.starts[0] as usize;
        }
        let mut head = Head { guesses: Vec::new(), names, block, consumed: at, whole };
        head.guesses = head.guess(dialect, options);
        Ok(head)
    }

    fn guess(&self, dialect: Dialect, options: &CsvOptions) -> Vec<Guess> {
        let width = self.names.len();
        let mut guesses = vec![Guess::Nothing; width];
        if options.schema.is_some() {
            return guesses;
        }
        let until = self.block.len().min(self.consumed + SAMPLE.get());
        let records = scan(&self.block, self.consumed, until, self.whole, dialect, width);
        let many = records.fields.len().min(options.infer_rows.unwrap_or(usize::MAX));
        for (column, guess) in guesses.iter_mut().enumerate() {
            let of = column_of(&records, &self.block, column, options);
            for row in 0..many {
                let text = match of.raw(row) {
                    Raw::Null => continue,
                    // What is no UTF-8 is told when it is read.
                    _ => of.odd(row).unwrap_or_default(),
                };
                *guess = guess.or(Guess::of(&text, options.dates));
                if *guess == Guess::Text {
                    break;
                }
            }
        }
        guesses
    }
}

fn first_record(block: &[u8], at: usize, whole: bool, dialect: Dialect) -> Option<Records> {
    let mut until = at;
    while until < block.len() {
        until += 1;
        let records = scan(block, at, until, whole, dialect, 0);
        if !records.fields.starts.is_empty() {
            return Some(records);
        }
        // Comments and empty lines before it.
        if records.end < until {
            return None;
        }
        until = until.max(records.end);
    }
    None
}

pub(super) fn dialect(options: &CsvOptions) -> Dialect {
    Dialect { separator: options.separator, quote: options.quote, comment: options.comment }
}

/// The fields of a column of some records.
pub(super) fn column_of<'a>(
    records: &'a Records,
    text: &'a [u8],
    column: usize,
    options: &'a CsvOptions,
) -> Column<'a> {
    Column { fields: &records.fields, text, sound: None, column, nulls: &options.null_values, quote: options.quote }
}

/// Where the columns of the table stand in a file.
pub(super) struct Layout {
    pub(super) schema: SchemaRef,
    /// Columns of the file, for each of the table.
    pub(super) places: Vec<usize>,
    pub(super) width: usize,
    /// Bytes that are scanned and then decoded.
    pub(super) piece: usize,
}

impl Layout {
    pub(super) fn new(
        path: &str,
        head: &Head,
        options: &CsvOptions,
        fixed: Option<&SchemaRef>,
    ) -> Result<Layout, Error> {
        if let Some(schema) = fixed {
            no_extra(path, schema, head.names.iter().map(String::as_str), options.columns.as_deref())?;
            let places =
                schema.fields().iter().map(|field| place(path, head, field.name())).collect::<Result<_, _>>()?;
            return Ok(Layout { schema: schema.clone(), places, width: head.names.len(), piece: CSV_PIECE.get() });
        }
        let mut fields: Vec<Field> = match &options.schema {
            None => {
                let guessed = head.names.iter().zip(&head.guesses);
                guessed.map(|(name, guess)| Field::new(name, guess.data_type(), true)).collect()
            }
            Some(schema) if options.has_header => {
                let known = |name: &str| schema.field_with_name(name).is_ok();
                let extra: Vec<&String> = head.names.iter().filter(|name| !known(name)).collect();
                let missing: Vec<&String> = schema
                    .fields()
                    .iter()
                    .map(|field| field.name())
                    .filter(|name| !head.names.contains(name))
                    .collect();
                if !(extra.is_empty() && missing.is_empty()) {
                    let said = [("missing", missing), ("extra", extra)];
                    let said = said
                        .iter()
                        .filter(|(_, names)| !names.is_empty())
                        .map(|(what, names)| format!("{what} {names:?}"));
                    let said = said.collect::<Vec<_>>().join(" and ");
                    return Err(Error::schema(path, format!("the header and the schema differ: {said}")));
                }
                head.names
                    .iter()
                    .map(|name| schema.field_with_name(name).cloned())
                    .collect::<Result<_, _>>()
                    .unwrap_or_default()
            }
            Some(schema) => {
                let wide = schema.fields().len();
                if !head.names.is_empty() && head.names.len() != wide {
                    let message = format!("the schema has {wide} columns, the file {}", head.names.len());
                    return Err(Error::schema(path, message));
                }
                schema.fields().iter().map(|field| field.as_ref().clone()).collect()
            }
        };
        for (name, wanted) in &options.schema_overrides {
            let field = fields.iter_mut().find(|field| field.name() == name);
            let field = field.ok_or_else(|| Error::no_column(path, name, head.names.iter().map(String::as_str)))?;
            *field = Field::new(name, wanted.clone(), true);
        }
        let width = fields.len();
        let mut places: Vec<usize> = (0..width).collect();
        if let Some(columns) = &options.columns {
            let names: Vec<String> = fields.iter().map(|field| field.name().clone()).collect();
            places = columns
                .iter()
                .map(|name| {
                    names
                        .iter()
                        .position(|own| own == name)
                        .ok_or_else(|| Error::no_column(path, name, names.iter().map(String::as_str)))
                })
                .collect::<Result<_, _>>()?;
            fields = places.iter().map(|at| fields[*at].clone()).collect();
        }
        if let Some(field) = fields.iter().find(|field| cells(field.data_type()).is_none()) {
            let what = formula::type_name(field.data_type());
            return Err(Error::schema(path, format!("column {:?}: no text of CSV becomes {what}", field.name())));
        }
        Ok(Layout { schema: Arc::new(Schema::new(fields)), places, width, piece: CSV_PIECE.get() })
    }
}

fn place(path: &str, head: &Head, name: &str) -> Result<usize, Error> {
    let at = head.names.iter().position(|own| own == name);
    at.ok_or_else(|| Error::not_as_first(path, name, head.names.iter().map(String::as_str)))
}
