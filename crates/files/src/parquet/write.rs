//! Parquet out: row groups whose columns are encoded side by side.

use std::io::Write;
use std::sync::{Arc, Mutex};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use graph::lock;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowColumnWriter, ArrowLeafColumn, compute_leaves};
use parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::SortingColumn;
use parquet::file::properties::WriterProperties;

use super::reader::written;
use crate::error::Error;
use crate::input::Progress;
use crate::threads::map;

/// How Parquet is written.
#[derive(Clone, Debug)]
pub struct ParquetFormat {
    /// `zstd`, `snappy`, `gzip`, `brotli`, `lz4` or `uncompressed`.
    pub compression: String,
    /// How hard the codec tries, where it knows levels.
    pub level: Option<i32>,
    /// Rows of a row group.
    pub group_rows: usize,
    /// The columns by which rows are sorted, each with whether it descends; noted in the file.
    pub sorted_by: Vec<(String, bool)>,
}

impl Default for ParquetFormat {
    fn default() -> ParquetFormat {
        ParquetFormat { compression: "zstd".to_owned(), level: None, group_rows: 1 << 20, sorted_by: Vec::new() }
    }
}

fn codec(format: &ParquetFormat) -> Result<Compression, Error> {
    let wrong = |error: ParquetError| Error::Options(format!("compression_level: {error}"));
    let level = format.level;
    let unsigned = || level.map(|level| u32::try_from(level).unwrap_or(u32::MAX));
    let known = match format.compression.as_str() {
        "zstd" => return Ok(Compression::ZSTD(ZstdLevel::try_new(level.unwrap_or(3)).map_err(wrong)?)),
        "gzip" => return Ok(Compression::GZIP(GzipLevel::try_new(unsigned().unwrap_or(6)).map_err(wrong)?)),
        "brotli" => return Ok(Compression::BROTLI(BrotliLevel::try_new(unsigned().unwrap_or(1)).map_err(wrong)?)),
        "snappy" => Compression::SNAPPY,
        "lz4" => Compression::LZ4_RAW,
        "uncompressed" => Compression::UNCOMPRESSED,
        other => {
            let known = "zstd, snappy, gzip, brotli, lz4 and uncompressed";
            return Err(Error::Options(format!("compression is {other:?}; {known} are known")));
        }
    };
    match level {
        None => Ok(known),
        Some(_) => Err(Error::Options(format!("compression_level: {} has no levels", format.compression))),
    }
}

/// Writes rows.
pub fn write<W: Write + Send>(
    path: &str,
    into: W,
    schema: &SchemaRef,
    batches: &[RecordBatch],
    format: &ParquetFormat,
    progress: Progress,
) -> Result<(), Error> {
    let leaf = |name: &str| {
        let plain =
            schema.fields().iter().take_while(|field| field.name() != name).all(|field| !field.data_type().is_nested());
        schema.index_of(name).ok().filter(|_| plain).and_then(|at| i32::try_from(at).ok())
    };
    let sorted: Option<Vec<SortingColumn>> = format
        .sorted_by
        .iter()
        .map(|(name, descending)| {
            Some(SortingColumn { column_idx: leaf(name)?, descending: *descending, nulls_first: true })
        })
        .collect();
    let properties = WriterProperties::builder()
        .set_compression(codec(format)?)
        .set_max_row_group_row_count(Some(format.group_rows))
        .set_created_by(concat!("tickframe ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_sorting_columns(sorted.filter(|sorted| !sorted.is_empty()))
        .build();
    let groups = groups(path, schema, batches, format.group_rows)?;
    let total = groups.len() as u64;
    let mut ended = false;
    written(path, || {
        let writer = ArrowWriter::try_new(into, schema.clone(), Some(properties))?;
        let (mut file, factory) = writer.into_serialized_writer()?;
        for (number, group) in groups.iter().enumerate() {
            let mut leaves: Vec<Vec<ArrowLeafColumn>> = Vec::new();
            let whole = group.whole(schema)?;
            for (field, column) in schema.fields().iter().zip(whole.columns()) {
                for leaf in compute_leaves(field, column)? {
                    leaves.push(vec![leaf]);
                }
            }
            let writers = factory.create_column_writers(number)?;
            let works = writers.into_iter().zip(leaves);
            let works: Vec<Mutex<Option<Work>>> = works.map(|work| Mutex::new(Some(work))).collect();
            let chunks = map(&works, |work| {
                let work = lock(work).take();
                let (mut writer, leaves) = work.expect("each is done once");
                leaves.iter().try_for_each(|leaf| writer.write(leaf))?;
                writer.close()
            });
            let chunks: Vec<ArrowColumnChunk> = chunks.into_iter().collect::<Result<_, ParquetError>>()?;
            let mut row_group = file.next_row_group()?;
            chunks.into_iter().try_for_each(|chunk| chunk.append_to_row_group(&mut row_group))?;
            row_group.close()?;
            if !progress(number as u64 + 1, total) {
                ended = true;
                return Ok(());
            }
        }
        file.close()?;
        Ok(())
    })?;
    if ended { Err(Error::Ended) } else { Ok(()) }
}

/// A column that is encoded, and its values.
type Work = (ArrowColumnWriter, Vec<ArrowLeafColumn>);

/// The rows of a row group.
struct Group(Vec<RecordBatch>);

impl Group {
    fn whole(&self, schema: &SchemaRef) -> Result<RecordBatch, ParquetError> {
        match &self.0[..] {
            [one] => Ok(one.clone()),
            many => Ok(concat_batches(schema, many)?),
        }
    }
}

fn groups(path: &str, schema: &SchemaRef, batches: &[RecordBatch], rows: usize) -> Result<Vec<Group>, Error> {
    if rows == 0 {
        return Err(Error::Options("row_group_size must be 1 or more".to_owned()));
    }
    let mut groups: Vec<Group> = Vec::new();
    let mut left = 0;
    for batch in batches {
        let batch = RecordBatch::try_new_with_options(
            Arc::clone(schema),
            batch.columns().to_vec(),
            &arrow_array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows())),
        );
        let batch = batch.map_err(|error| Error::broken(path, error))?;
        let mut from = 0;
        while from < batch.num_rows() {
            if left == 0 {
                groups.push(Group(Vec::new()));
                left = rows;
            }
            let many = left.min(batch.num_rows() - from);
            if let Some(group) = groups.last_mut() {
                group.0.push(batch.slice(from, many));
            }
            (from, left) = (from + many, left - many);
        }
    }
    Ok(groups)
}
