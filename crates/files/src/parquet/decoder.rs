//! Decoders of one column of one row group: page after page, as they are asked for, with one dictionary. Most are ours (see [`Flat`]);
//! the crate's take what those do not understand.
//!
//!   pages      0 1 2 3 4 5 6        1, 2 and 5 are asked for: 0, 3 and 4 are neither read nor unpacked
//!   decoder    d 1 2     5          the dictionary is read once, with the first page that needs it
//!
//! Texts that are all stored as codes of the row group's dictionary stay codes: they are a quarter of the bytes, and what is asked of
//! each text is asked of the dictionary once. The arrays of one decoder share their values.
//!
//! The reader of the crate `parquet` reads on until it has as many rows as it shall; here it is told that there are no pages but the
//! next one, and told otherwise when another is wanted.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow_array::ArrayRef;
use arrow_select::concat::concat;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, RowGroups};
use parquet::arrow::{ProjectionMask, parquet_to_arrow_field_levels};
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::page_index::offset_index::PageLocation;
use parquet::file::serialized_reader::SerializedPageReader;

use super::ParquetFile;
use super::flat::Flat;
use super::reader::{Placed, guarded};
use super::zones::leaves;
use crate::error::Error;

/// Decodes pages of a column of a row group, in order.
pub(super) struct Decoder {
    place: usize,
    group: usize,
    reader: Reader,
    asked: Arc<Asked>,
    /// After the last page that was decoded.
    next: usize,
    /// About as many bytes does it hold: its dictionary and a page.
    bytes: usize,
}

enum Reader {
    Flat(Flat, Pages),
    Other(ParquetRecordBatchReader),
}

/// One after the number of the page that may be read; 0 for none.
#[derive(Default)]
struct Asked(AtomicUsize);

impl Decoder {
    /// Of a column of one leaf, whose pages the file's index names.
    pub(super) fn open(file: &ParquetFile, place: usize, group: usize) -> Result<Decoder, Error> {
        let chunk = Chunk::of(file, place, group);
        guarded(&file.path, || {
            let locations = chunk.locations()?;
            let reader = match Flat::of(file, place, group, chunk.leaf) {
                Some(flat) => Reader::Flat(flat, chunk.pages()?),
                None => Reader::Other(chunk.reader(place, &locations)?),
            };
            let told = file.metadata.metadata().row_group(group).column(chunk.leaf);
            let size = |bytes: i64| usize::try_from(bytes).unwrap_or(0);
            let packed = size(told.compressed_size()).max(1);
            let dictionary =
                size(locations.first().map_or(0, |first| first.offset)).saturating_sub(told.byte_range().0 as usize);
            let unpacked = size(told.uncompressed_size());
            let bytes = (unpacked / packed + 1).saturating_mul(dictionary) + unpacked / locations.len().max(1);
            Ok(Decoder { place, group, reader, asked: chunk.asked.clone(), next: 0, bytes })
        })
    }

    /// After the last page that was decoded.
    pub(super) fn next(&self) -> usize {
        self.next
    }

    /// About as many bytes of memory does it hold.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The cells of a page, which is none before the last one. After an error it is of no use.
    pub(super) fn page(&mut self, file: &ParquetFile, page: usize) -> Result<ArrayRef, Error> {
        self.asked.0.store(page + 1, Ordering::Relaxed);
        self.next = page + 1;
        if let Reader::Flat(flat, pages) = &mut self.reader {
            if let Some(cells) = guarded(&file.path, || flat.next(pages))? {
                return Ok(cells);
            }
            let chunk = Chunk::of(file, self.place, self.group);
            chunk.asked.0.store(page + 1, Ordering::Relaxed);
            self.asked = chunk.asked.clone();
            self.reader = Reader::Other(guarded(&file.path, || chunk.reader(self.place, &chunk.locations()?))?);
        }
        let Reader::Other(reader) = &mut self.reader else { return Err(no_page(file)) };
        let batch = guarded(&file.path, || reader.next().transpose().map_err(ParquetError::from))?;
        batch.filter(|batch| batch.num_columns() == 1).map(|batch| batch.column(0).clone()).ok_or_else(|| no_page(file))
    }
}

fn no_page(file: &ParquetFile) -> Error {
    Error::broken(&file.path, "a page that its index names is not there")
}

/// The cells of a column of a row group, of which no page is known.
pub(super) fn whole(file: &ParquetFile, place: usize, group: usize, rows: usize) -> Result<ArrayRef, Error> {
    if let Some(cells) = flat(file, place, group, rows)? {
        return Ok(cells);
    }
    let arrays: Vec<ArrayRef> = guarded(&file.path, || {
        let reader = file.builder(&[place]).with_row_groups(vec![group]).with_batch_size(rows).build()?;
        reader.map(|batch| Ok(batch?.column(0).clone())).collect::<Result<_, ParquetError>>()
    })?;
    match &arrays[..] {
        [one] => Ok(one.clone()),
        many => concat(&many.iter().map(|array| array.as_ref()).collect::<Vec<_>>())
            .map_err(|error| Error::broken(&file.path, error)),
    }
}

/// As [`whole`], of a column that [`Flat`] understands; of texts they may be codes.
pub(super) fn flat(file: &ParquetFile, place: usize, group: usize, rows: usize) -> Result<Option<ArrayRef>, Error> {
    let [leaf] = leaves(file, place)[..] else { return Ok(None) };
    let Some(mut flat) = Flat::of(file, place, group, leaf) else { return Ok(None) };
    let chunk = Chunk::of(file, place, group);
    let mut pages = guarded(&file.path, || chunk.unnamed_pages())?;
    let (mut cells, mut so_far): (Vec<ArrayRef>, usize) = (Vec::new(), 0);
    while so_far < rows {
        let Some(page) = guarded(&file.path, || flat.next(&mut pages))? else { return Ok(None) };
        so_far += page.len();
        cells.push(page);
    }
    match &cells[..] {
        [one] => Ok(Some(one.clone())),
        many => Ok(concat(&many.iter().map(|array| array.as_ref()).collect::<Vec<_>>()).ok()),
    }
}

/// A column of a row group, as the reader sees it.
struct Chunk<'a> {
    file: &'a ParquetFile,
    group: usize,
    leaf: usize,
    asked: Arc<Asked>,
}

impl Chunk<'_> {
    /// Of a column of one leaf; no page is asked for.
    fn of(file: &ParquetFile, place: usize, group: usize) -> Chunk<'_> {
        Chunk { file, group, leaf: leaves(file, place).first().copied().unwrap_or(0), asked: Arc::default() }
    }

    /// The crate's decoder of its pages.
    fn reader(&self, place: usize, locations: &[PageLocation]) -> ParquetResult<ParquetRecordBatchReader> {
        let schema = self.file.metadata.parquet_schema();
        let mask = ProjectionMask::roots(schema, [place]);
        let levels = parquet_to_arrow_field_levels(schema, mask, Some(self.file.metadata.schema().fields()))?;
        let starts = locations.iter().map(|page| usize::try_from(page.first_row_index).unwrap_or(0));
        let ends = starts.clone().skip(1).chain([self.num_rows()]);
        let most = starts.zip(ends).map(|(start, end)| end.saturating_sub(start)).max().unwrap_or(0);
        ParquetRecordBatchReader::try_new_with_row_groups(&levels, self, most, None)
    }

    /// The page that is asked for.
    fn pages(&self) -> ParquetResult<Pages> {
        let (file, told) = self.placed();
        let pages = SerializedPageReader::new(file, told, self.num_rows(), Some(self.locations()?))?;
        Ok(Pages { pages, asked: self.asked.clone(), at: 0 })
    }

    /// All pages, of which the file's index does not tell.
    fn unnamed_pages(&self) -> ParquetResult<SerializedPageReader<Placed>> {
        let (file, told) = self.placed();
        SerializedPageReader::new(file, told, self.num_rows(), None)
    }

    fn placed(&self) -> (Arc<Placed>, &ColumnChunkMetaData) {
        let told = self.metadata().row_group(self.group).column(self.leaf);
        (Arc::new(self.file.placed.clone()), told)
    }

    fn locations(&self) -> ParquetResult<Vec<PageLocation>> {
        let index = self.metadata().page_index();
        let locations = index.and_then(|index| index.page_locations(self.group, self.leaf));
        let locations = locations.ok_or_else(|| ParquetError::General("its pages are not named".to_owned()))?;
        Ok(locations.to_vec())
    }
}

impl RowGroups for Chunk<'_> {
    fn num_rows(&self) -> usize {
        usize::try_from(self.metadata().row_group(self.group).num_rows()).unwrap_or(0)
    }

    fn column_chunks(&self, _leaf: usize) -> ParquetResult<Box<dyn PageIterator>> {
        Ok(Box::new(Once(Some(self.pages()?))))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(std::iter::once(self.metadata().row_group(self.group)))
    }

    fn metadata(&self) -> &ParquetMetaData {
        self.file.metadata.metadata()
    }
}

/// The one row group's pages.
struct Once(Option<Pages>);

impl Iterator for Once {
    type Item = ParquetResult<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(Ok(Box::new(self.0.take()?)))
    }
}

impl PageIterator for Once {}

/// The page that is asked for, and no other.
struct Pages {
    pages: SerializedPageReader<Placed>,
    asked: Arc<Asked>,
    /// The page that comes next.
    at: usize,
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> ParquetResult<Option<Page>> {
        let asked = self.asked.0.load(Ordering::Relaxed);
        while self.at + 1 < asked {
            // What goes before the pages is a dictionary, which is kept in mind.
            let is_page = self.pages.peek_next_page()?.is_some_and(|next| !next.is_dict);
            self.pages.skip_next_page()?;
            self.at += usize::from(is_page);
        }
        if self.at + 1 != asked {
            return Ok(None);
        }
        let page = self.pages.get_next_page()?;
        self.at += usize::from(!matches!(page, Some(Page::DictionaryPage { .. })));
        Ok(page)
    }

    fn peek_next_page(&mut self) -> ParquetResult<Option<PageMetadata>> {
        if self.at >= self.asked.0.load(Ordering::Relaxed) { Ok(None) } else { self.pages.peek_next_page() }
    }

    fn skip_next_page(&mut self) -> ParquetResult<()> {
        Err(ParquetError::General("a page is skipped that was asked for".to_owned()))
    }

    fn take_deferred_dictionary(&mut self) -> ParquetResult<Option<Page>> {
        self.pages.take_deferred_dictionary()
    }

    fn at_record_boundary(&mut self) -> ParquetResult<bool> {
        Ok(true)
    }
}

impl Iterator for Pages {
    type Item = ParquetResult<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}
