//! Several files as one table, and the columns that their directories name.

use std::any::Any;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, UInt64Array, new_empty_array, new_null_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::interleave::interleave;
use column::types::canonical;
use column::{Chunk, Column, ColumnSource, Error as ColumnError, NO_ROW, Nulls, Zones};
use graph::{Moment, Moved};
use rowset::RowSet;

use crate::cells::cells;
use crate::error::Error;
use crate::found::Found;
use crate::infer::Guess;
use crate::input::{Input, Progress};
use crate::policy::{Reading, batch};

/// One of the inputs of a table, and the columns that its directories name.
#[derive(Clone, Debug)]
pub struct Source {
    /// What is read.
    pub input: Input,
    /// Names and values, from the outermost directory.
    pub partitions: Vec<(String, Option<String>)>,
}

impl From<Found> for Source {
    fn from(found: Found) -> Source {
        Source { input: Input::Path(found.path), partitions: found.partitions }
    }
}

/// The columns that directories name: a value for each source.
pub struct Partitions {
    fields: Vec<Field>,
    values: Vec<ArrayRef>,
}

impl Partitions {
    /// Of all sources, which name the same columns. `types`: those that were given; of the others they are inferred.
    pub fn new(sources: &[Source], types: &dyn Fn(&str) -> Option<DataType>) -> Result<Partitions, Error> {
        let mut made = Partitions { fields: Vec::new(), values: Vec::new() };
        let Some(first) = sources.first() else { return Ok(made) };
        let names = |source: &Source| source.partitions.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        let wanted = names(first);
        if let Some(other) = sources.iter().find(|source| names(source) != wanted) {
            let message =
                format!("its directories name {:?}, those of {} name {wanted:?}", names(other), first.input.name());
            return Err(Error::schema(&other.input.name(), message));
        }
        for (at, name) in wanted.into_iter().enumerate() {
            let texts = || sources.iter().map(|source| source.partitions[at].1.as_deref());
            let guess = texts().flatten().map(|text| Guess::of(text, true)).fold(Guess::Nothing, Guess::or);
            let of = types(&name).unwrap_or_else(|| guess.data_type());
            let unreadable = || {
                Error::Options(format!("column {name:?}: no name of a directory becomes {}", formula::type_name(&of)))
            };
            let mut built = cells(&of).ok_or_else(unreadable)?;
            for (source, text) in sources.iter().zip(texts()) {
                match text.map(|text| built.text(text)) {
                    None => built.null(),
                    Some(Ok(())) => {}
                    Some(Err(message)) => {
                        return Err(Error::schema(&source.input.name(), format!("column {name:?}: {message}")));
                    }
                }
            }
            let (values, lost) = built.finish();
            if let Some((row, message)) = lost.first() {
                return Err(Error::schema(&sources[*row].input.name(), format!("column {name:?}: {message}")));
            }
            made.fields.push(Field::new(name, of, true));
            made.values.push(values);
        }
        Ok(made)
    }

    /// Whether directories name this column.
    pub fn has(&self, name: &str) -> bool {
        self.fields.iter().any(|field| field.name() == name)
    }

    /// A schema without these columns.
    pub fn without(&self, schema: &Schema) -> SchemaRef {
        let own = schema.fields().iter().filter(|field| !self.has(field.name())).cloned();
        Arc::new(Schema::new(own.collect::<Vec<_>>()))
    }

    /// The schema of files with these columns after theirs.
    fn after(&self, path: &str, schema: &Schema) -> Result<SchemaRef, Error> {
        if let Some(field) = self.fields.iter().find(|field| schema.index_of(field.name()).is_ok()) {
            let message = format!("column {:?} is in the file, and its directories name it, too", field.name());
            return Err(Error::schema(path, message));
        }
        let fields = schema.fields().iter().map(|field| field.as_ref().clone()).chain(self.fields.iter().cloned());
        Ok(Arc::new(Schema::new(fields.collect::<Vec<_>>())))
    }

    /// The places of the columns that are wanted, in their order.
    fn chosen(path: &str, schema: &SchemaRef, wanted: Option<&[String]>) -> Result<Vec<usize>, Error> {
        let Some(wanted) = wanted else { return Ok((0..schema.fields().len()).collect()) };
        let names = || schema.fields().iter().map(|field| field.name().as_str());
        let at = |name: &String| {
            let at = schema.index_of(name).ok();
            at.ok_or_else(|| Error::no_column(path, name, names()))
        };
        wanted.iter().map(at).collect()
    }
}

/// How one input is read, if its schema is given or not, and so many rows of it.
pub type ReadOne<'a> = &'a mut dyn FnMut(&Input, Option<&SchemaRef>, Option<u64>, Progress) -> Result<Reading, Error>;

/// What is asked for of all files together.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked<'a> {
    /// The columns of the table, of files and directories.
    pub columns: Option<&'a [String]>,
    /// So many rows.
    pub rows: Option<u64>,
    /// The schema that earlier files of the table have.
    pub known: Option<&'a SchemaRef>,
}

/// Reads all sources, one after the other.
pub fn read_all(
    sources: &[Source],
    partitions: &Partitions,
    asked: &Asked,
    read: ReadOne,
    progress: Progress,
) -> Result<Reading, Error> {
    let sizes: Vec<u64> = sources.iter().map(|source| source.input.size()).collect::<Result<_, _>>()?;
    let total = sizes.iter().sum();
    let mut own: Option<SchemaRef> = asked.known.map(|known| partitions.without(known));
    let mut made: Option<(Reading, Vec<usize>)> = None;
    let mut before = 0;
    for (at, source) in sources.iter().enumerate() {
        let path = source.input.name();
        let size = sizes[at];
        let mut told = |done: u64, of: u64| {
            // Some readers tell of their pieces and not of bytes.
            let bytes = if of == 0 { size } else { (u128::from(size) * u128::from(done) / u128::from(of)) as u64 };
            progress(before + bytes, total)
        };
        let rows = asked.rows.map(|most| most - made.as_ref().map_or(0, |(made, _)| made.rows()));
        let reading = read(&source.input, own.as_ref(), rows, &mut told)?;
        before += size;
        let (all, places) = match &mut made {
            Some(made) => made,
            None => {
                let whole = partitions.after(&path, &reading.schema)?;
                let places = Partitions::chosen(&path, &whole, asked.columns)?;
                let schema = Arc::new(whole.project(&places).map_err(|error| Error::broken(&path, error))?);
                own = Some(reading.schema.clone());
                made.insert((Reading::new(schema, asked.rows), places))
            }
        };
        for rows in reading.batches {
            let repeat = || UInt64Array::from(vec![at as u64; rows.num_rows()]);
            let width = rows.num_columns();
            let column = |place: &usize| match place.checked_sub(width) {
                None => Ok(rows.column(*place).clone()),
                Some(named) => arrow_select::take::take(&partitions.values[named], &repeat(), None),
            };
            let columns = places.iter().map(column).collect::<Result<Vec<ArrayRef>, _>>();
            let rows = columns.and_then(|columns| batch(&all.schema, columns, rows.num_rows()));
            all.push(rows.map_err(|error| Error::broken(&path, error))?);
        }
        all.rejected.extend(reading.rejected);
        if all.is_enough() {
            break;
        }
    }
    made.map(|(made, _)| made).ok_or_else(|| Error::Options("no file is there to be read".to_owned()))
}

/// Refuses a file with columns that the first does not have, unless columns were chosen.
pub(crate) fn no_extra<'a>(
    path: &str,
    first: &Schema,
    names: impl Iterator<Item = &'a str>,
    chosen: Option<&[String]>,
) -> Result<(), Error> {
    let mut extra = names.filter(|name| chosen.is_none() && first.index_of(name).is_err());
    match extra.next() {
        None => Ok(()),
        Some(name) => {
            let message = format!("column {name:?} is not in the first file; columns= says which are read of each");
            Err(Error::schema(path, message))
        }
    }
}

/// Columns that stay where they are, with those of directories.
pub fn placed(
    path: &str,
    (schema, columns): (SchemaRef, Vec<Arc<dyn ColumnSource>>),
    partitions: &Partitions,
    rows: &[u64],
    wanted: Option<&[String]>,
) -> Result<(SchemaRef, Vec<Arc<dyn ColumnSource>>), Error> {
    let whole = partitions.after(path, &schema)?;
    let places = Partitions::chosen(path, &whole, wanted)?;
    let named = partitions.fields.iter().zip(&partitions.values);
    let named = named
        .map(|(field, values)| Arc::new(FolderColumn::new(field.data_type(), values, rows)) as Arc<dyn ColumnSource>);
    let columns: Vec<Arc<dyn ColumnSource>> = columns.into_iter().chain(named).collect();
    let schema = Arc::new(whole.project(&places).map_err(|error| Error::broken(path, error))?);
    Ok((schema, places.into_iter().map(|at| columns[at].clone()).collect()))
}

/// A column that is the same in all rows of a file.
#[derive(Clone)]
struct FolderColumn {
    canonical: DataType,
    /// A value for each file that has rows.
    values: ArrayRef,
    starts: Vec<u64>,
    rows: u64,
}

impl FolderColumn {
    fn new(declared: &DataType, values: &ArrayRef, rows: &[u64]) -> FolderColumn {
        let mut starts = Vec::new();
        let mut end = 0;
        for many in rows {
            starts.push(end);
            end += many;
        }
        FolderColumn { canonical: canonical(declared), values: values.clone(), starts, rows: end }
    }

    fn file(&self, key: u64) -> usize {
        // Files without rows begin where the next one does.
        self.starts.partition_point(|start| *start <= key) - 1
    }
}

impl ColumnSource for FolderColumn {
    fn data_type(&self) -> &DataType {
        &self.canonical
    }

    fn at(&self, _moment: Moment) -> Result<Arc<dyn Column>, Moved> {
        Ok(Arc::new(self.clone()))
    }

    fn bytes(&self) -> u64 {
        self.values.get_array_memory_size() as u64
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Column for FolderColumn {
    fn data_type(&self) -> &DataType {
        &self.canonical
    }

    fn read(&self, rows: &RowSet) -> Result<Chunk, ColumnError> {
        self.take(&rows.to_vec())
    }

    fn take(&self, keys: &[u64]) -> Result<Chunk, ColumnError> {
        if keys.is_empty() {
            return Ok(new_empty_array(&self.canonical));
        }
        let null = new_null_array(&self.canonical, 1);
        let picks: Vec<(usize, usize)> = keys
            .iter()
            .map(|key| if *key == NO_ROW || *key >= self.rows { (1, 0) } else { (0, self.file(*key)) })
            .collect();
        Ok(interleave(&[self.values.as_ref(), null.as_ref()], &picks)?)
    }

    fn pieces(&self, rows: &RowSet) -> Result<Vec<Chunk>, ColumnError> {
        Ok(vec![self.read(rows)?])
    }

    fn zones(&self) -> Option<Arc<Zones>> {
        let (least, most) = (self.values.clone(), self.values.clone());
        let nulls = (0..self.values.len()).map(|at| if self.values.is_null(at) { Nulls::All } else { Nulls::None });
        let nulls = nulls.collect();
        Some(Arc::new(Zones { starts: self.starts.clone(), end: self.rows, least, most, nulls, members: None }))
    }
}
