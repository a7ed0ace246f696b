//! Parquet: read whole, or left where it is, its pages read as their cells are touched.

mod blooms;
mod column;
mod decoder;
mod flat;
mod hybrid;
mod reader;
#[cfg(test)]
mod tests;
mod write;
mod zones;

use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use ::column::ColumnSource;
use ::column::sound::{self, Memory};
use ::column::types::to_canonical;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::take::take;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};

use self::column::{Cache, FileColumn};
use self::flat::Codes;
use self::reader::{Placed, guarded, metadata};
pub use self::write::{ParquetFormat, write};
use crate::error::Error;
use crate::input::{Input, Progress};
use crate::many::no_extra;
use crate::policy::{Reading, batch};
use crate::threads::{map, threads};

/// How Parquet is read.
#[derive(Clone, Debug, Default)]
pub struct ParquetOptions {
    /// The columns that are read, in this order.
    pub columns: Option<Vec<String>>,
    /// So many rows are read.
    pub rows: Option<u64>,
}

/// A file of which the metadata is known.
pub struct ParquetFile {
    path: String,
    placed: Placed,
    /// With texts as views of the pages they are decoded into.
    metadata: ArrowReaderMetadata,
    /// The columns of a table, for each its place in the file.
    places: Vec<usize>,
}

impl ParquetFile {
    /// Opens a file, of which these columns are wanted. Files of one table have the columns of the first: `schema`. `read`
    /// counts the bytes that are read.
    pub fn open(
        input: &Input,
        options: &ParquetOptions,
        schema: Option<&SchemaRef>,
        read: &Arc<AtomicU64>,
    ) -> Result<(ParquetFile, SchemaRef), Error> {
        let path = input.name();
        let placed = Placed::open(input, read)?;
        let metadata = metadata(&path, &placed)?;
        let found = metadata.schema().clone();
        sound::schema(&found).map_err(|error| Error::broken(&path, error))?;
        let names = || found.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>();
        if let Some(schema) = schema {
            no_extra(&path, schema, names().into_iter(), options.columns.as_deref())?;
        }
        let places: Vec<usize> = match (schema, &options.columns) {
            (Some(schema), _) => {
                schema.fields().iter().map(|field| same(&path, &found, field)).collect::<Result<_, _>>()?
            }
            (None, None) => (0..found.fields().len()).collect(),
            (None, Some(columns)) => columns
                .iter()
                .map(|name| {
                    let at = found.index_of(name).ok();
                    at.ok_or_else(|| Error::no_column(&path, name, names()))
                })
                .collect::<Result<_, _>>()?,
        };
        // What is noted beside fields and files is not the table's.
        let fields = places.iter().map(|at| {
            let field = found.field(*at);
            Field::new(field.name(), field.data_type().clone(), true)
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let metadata = in_views(&path, &metadata).unwrap_or(metadata);
        Ok((ParquetFile { path, placed, metadata, places }, schema))
    }

    /// The rows of the file.
    pub fn rows(&self) -> u64 {
        self.groups().iter().map(|group| u64::try_from(group.num_rows()).unwrap_or(0)).sum()
    }

    /// Bytes of the columns of a row group, unpacked, by their places in the file.
    fn chunk_bytes(&self, group: usize) -> Vec<i64> {
        let leaves = self.metadata.parquet_schema();
        let mut bytes = vec![0; self.metadata.schema().fields().len()];
        for (leaf, chunk) in self.groups()[group].columns().iter().enumerate() {
            bytes[leaves.get_column_root_idx(leaf)] += chunk.uncompressed_size();
        }
        bytes
    }

    fn groups(&self) -> &[parquet::file::metadata::RowGroupMetaData] {
        self.metadata.metadata().row_groups()
    }

    /// Readers over these columns of the file.
    fn builder(&self, columns: &[usize]) -> ParquetRecordBatchReaderBuilder<Placed> {
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(self.placed.clone(), self.metadata.clone());
        let mask = ProjectionMask::roots(builder.parquet_schema(), columns.iter().copied());
        builder.with_projection(mask)
    }
}

/// Texts and bytes are read as views: their cells stay where their pages were unpacked. An error where that cannot be.
fn in_views(path: &str, metadata: &ArrowReaderMetadata) -> Result<ArrowReaderMetadata, Error> {
    let view = |field: &Arc<Field>| {
        let of = match field.data_type() {
            DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
            DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
            _ => return field.clone(),
        };
        Arc::new(field.as_ref().clone().with_data_type(of))
    };
    let fields: Vec<Arc<Field>> = metadata.schema().fields().iter().map(view).collect();
    let schema = Arc::new(Schema::new_with_metadata(fields, metadata.schema().metadata().clone()));
    guarded(path, || {
        let options = ArrowReaderOptions::new().with_schema(schema);
        ArrowReaderMetadata::try_new(metadata.metadata().clone(), options)
    })
}

/// The place of a column that the first file has, with the same type.
fn same(path: &str, found: &Schema, wanted: &Field) -> Result<usize, Error> {
    let name = wanted.name();
    let names = || found.fields().iter().map(|field| field.name().as_str());
    let at = found.index_of(name).map_err(|_| Error::not_as_first(path, name, names()))?;
    let own = found.field(at).data_type();
    if own != wanted.data_type() {
        let (own, wanted) = (formula::type_name(own), formula::type_name(wanted.data_type()));
        return Err(Error::schema(path, format!("column {name:?} holds {own}, in the first file it holds {wanted}")));
    }
    Ok(at)
}

/// The columns of files that stay where they are, and the rows of each file. `room`: for so many bytes pages are kept that
/// were read; `read` counts the bytes that are read.
pub fn scan(
    inputs: &[Input],
    options: &ParquetOptions,
    room: usize,
    read: &Arc<AtomicU64>,
) -> Result<((SchemaRef, Vec<Arc<dyn ColumnSource>>), Vec<u64>), Error> {
    let mut schema: Option<SchemaRef> = None;
    let mut files = Vec::with_capacity(inputs.len());
    for input in inputs {
        let (file, own) = ParquetFile::open(input, options, schema.as_ref(), read)?;
        schema.get_or_insert(own);
        files.push(file);
    }
    let schema = schema.ok_or_else(|| Error::Options("no file is there to be read".to_owned()))?;
    let rows = files.iter().map(ParquetFile::rows).collect();
    let (files, cache): (Arc<[ParquetFile]>, _) = (files.into(), Cache::new(room));
    let column = |(at, field): (usize, &Arc<Field>)| {
        Arc::new(FileColumn::new(at, field.data_type(), &files, &cache)) as Arc<dyn ColumnSource>
    };
    let columns = schema.fields().iter().enumerate().map(column).collect();
    Ok(((schema, columns), rows))
}

/// Reads an input as a whole, its row groups side by side.
pub fn read(
    input: &Input,
    options: &ParquetOptions,
    schema: Option<&SchemaRef>,
    progress: Progress,
) -> Result<Reading, Error> {
    let read = Arc::new(AtomicU64::new(0));
    let (file, schema) = ParquetFile::open(input, options, schema, &read)?;
    let mut made = Reading::new(schema.clone(), options.rows);
    let bytes: u64 = file.groups().iter().map(|group| u64::try_from(group.total_byte_size()).unwrap_or(0)).sum();
    limits::ask(bytes).map_err(Error::exhausted(&file.path))?;
    let many = file.groups().len();
    let mut from = 0;
    while from < many && !made.is_enough() {
        let until = many.min(from + threads() * ROUND);
        let (file, schema) = (&file, &schema);
        // Columns of a group are read side by side, too, as far as there are threads.
        let mut works: Vec<(usize, usize)> =
            (from..until).flat_map(|group| (0..file.places.len()).map(move |at| (group, at))).collect();
        // The longest first, so that no thread is left with one at the end.
        let bytes: Vec<Vec<i64>> = (from..until).map(|group| file.chunk_bytes(group)).collect();
        works.sort_by_key(|(group, at)| Reverse(bytes[group - from][file.places[*at]]));
        let columns = map(&works, |(group, at)| column_of(file, *group, file.places[*at]));
        let mut columns: Vec<_> = works.into_iter().zip(columns).collect();
        columns.sort_unstable_by_key(|(work, _)| *work);
        let mut columns = columns.into_iter().map(|(_, column)| column);
        for group in from..until {
            let rows = usize::try_from(file.groups()[group].num_rows()).unwrap_or(0);
            let own: Vec<Vec<ArrayRef>> = columns.by_ref().take(file.places.len()).collect::<Result<_, _>>()?;
            let pieces = own.first().map_or(0, Vec::len);
            if own.iter().any(|pieces| pieces.iter().map(|piece| piece.len()).sum::<usize>() != rows) {
                return Err(Error::broken(&file.path, format!("row group {group} has fewer cells than rows")));
            }
            for piece in 0..pieces {
                let cells: Vec<ArrayRef> = own.iter().map(|pieces| pieces[piece].clone()).collect();
                let count = cells[0].len();
                made.push(batch(schema, cells, count).map_err(|error| Error::broken(&file.path, error))?);
            }
            if own.is_empty() {
                made.push(batch(schema, Vec::new(), rows).map_err(|error| Error::broken(&file.path, error))?);
            }
        }
        from = until;
        if !progress(from as u64, many as u64) {
            return Err(Error::Ended);
        }
    }
    Ok(made)
}

/// Row groups that are read before progress is told of, for each thread.
const ROUND: usize = 4;

/// Rows of an array that is read of a file.
const PIECE_ROWS: usize = 1 << 20;

fn column_of(file: &ParquetFile, group: usize, place: usize) -> Result<Vec<ArrayRef>, Error> {
    let rows = usize::try_from(file.groups()[group].num_rows()).unwrap_or(0);
    if rows <= PIECE_ROWS
        && let Some(cells) = decoder::flat(file, place, group, rows)?
    {
        let cells = match cells.as_any().downcast_ref::<Codes>() {
            Some(codes) => {
                take(codes.values(), codes.keys(), None).map_err(|error| Error::broken(&file.path, error))?
            }
            None => cells,
        };
        return Ok(vec![judged(&file.path, &cells)?]);
    }
    let arrays = guarded(&file.path, || {
        let reader = file.builder(&[place]).with_row_groups(vec![group]).with_batch_size(PIECE_ROWS).build()?;
        reader
            .map(|batch| Ok(batch?.column(0).clone()))
            .collect::<Result<Vec<ArrayRef>, parquet::errors::ParquetError>>()
    })?;
    arrays.iter().map(|array| judged(&file.path, array)).collect()
}

/// Cells in their canonical type. What the decoder does not look at is looked at: digits of decimals, times of day.
fn judged(path: &str, array: &ArrayRef) -> Result<ArrayRef, Error> {
    let kind = array.data_type();
    let unseen = kind.is_nested() || kind.is_decimal() || matches!(kind, DataType::Time32(_) | DataType::Time64(_));
    let sound = match unseen {
        true => sound::array(array.to_data(), Memory::Shared).map_err(|error| Error::broken(path, error))?,
        false => array.clone(),
    };
    to_canonical(&sound).map_err(|error| Error::broken(path, error))
}
