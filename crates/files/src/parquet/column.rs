//! Columns that stay in their files: pages are read as their cells are touched.

use std::any::Any;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use ::column::types::canonical;
use ::column::{Chunk, Column, ColumnSource, Error as ColumnError, FlatColumn, NO_ROW, Zones};
use arrow_array::{Array, ArrayRef, new_empty_array, new_null_array};
use arrow_schema::{ArrowError, DataType};
use arrow_select::concat::concat;
use arrow_select::interleave::interleave;
use graph::{Moment, Moved};
use parquet::arrow::arrow_reader::{RowSelection, RowSelector};
use rowset::RowSet;

use super::blooms::Blooms;
use super::reader::guarded;
use super::zones::{Segment, Told, segments};
use super::{ParquetFile, judged};
use crate::error::Error;

/// The pages that were read last, of all columns of a table: as many as have room.
pub(super) struct Cache {
    room: usize,
    held: Mutex<Held>,
    /// Some thread is done with a page that others may wait for.
    done: Condvar,
}

/// A page, by its column and segment.
type Key = (usize, usize);

#[derive(Default)]
struct Held {
    bytes: usize,
    pages: HashMap<Key, ArrayRef>,
    /// Pages that some thread decodes.
    busy: HashSet<Key>,
    /// The first read first, each with its bytes.
    order: VecDeque<(Key, usize)>,
}

/// How long a page is waited for that another thread decodes: a thread that is gone, as in a process that was forked, does not.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is known of a page that a thread wants.
enum Wanted {
    Held(ArrayRef),
    Busy,
    Nowhere,
}

impl Cache {
    /// With room for so many bytes.
    pub(super) fn new(room: usize) -> Arc<Cache> {
        Arc::new(Cache { room, held: Mutex::default(), done: Condvar::new() })
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A page, or the claim to decode it and those after it of a column, which nobody holds or decodes, to `last`.
    fn claim(&self, (column, first): Key, last: usize) -> Result<Claim<'_>, Wanted> {
        let mut held = self.lock();
        match held.known((column, first)) {
            Wanted::Nowhere => {}
            known => return Err(known),
        }
        let mut end = first;
        while end < last && matches!(held.known((column, end + 1)), Wanted::Nowhere) {
            end += 1;
        }
        held.busy.extend((first..=end).map(|at| (column, at)));
        Ok(Claim { cache: self, column, first, last: end })
    }

    /// Waits until nobody decodes a page; whether that came to pass.
    fn wait(&self, key: Key) -> bool {
        let is_busy = |held: &mut Held| held.busy.contains(&key);
        let waited = self.done.wait_timeout_while(self.lock(), PATIENCE, is_busy);
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    fn knows(&self, key: Key) -> bool {
        !matches!(self.lock().known(key), Wanted::Nowhere)
    }

    /// Keeps pages that were decoded together, of so many bytes; the oldest go.
    fn put(&self, pages: &[(Key, ArrayRef)], bytes: usize) {
        let mut held = self.lock();
        let each = bytes / pages.len().max(1);
        for (key, page) in pages {
            // Another thread may have read it meanwhile.
            if held.pages.insert(*key, page.clone()).is_none() {
                held.bytes += each;
                held.order.push_back((*key, each));
            }
        }
        while held.bytes > self.room && held.order.len() > 1 {
            let Some((oldest, bytes)) = held.order.pop_front() else { break };
            held.pages.remove(&oldest);
            held.bytes -= bytes;
        }
    }

    /// Bytes of the pages that are held.
    fn bytes(&self) -> usize {
        self.lock().bytes
    }
}

impl Held {
    fn known(&self, key: Key) -> Wanted {
        match self.pages.get(&key) {
            Some(page) => Wanted::Held(page.clone()),
            None if self.busy.contains(&key) => Wanted::Busy,
            None => Wanted::Nowhere,
        }
    }
}

/// Pages that one thread decodes, which others wait for; let go, also where it fails.
struct Claim<'a> {
    cache: &'a Cache,
    column: usize,
    first: usize,
    last: usize,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut held = self.cache.lock();
        held.busy.retain(|(column, at)| *column != self.column || !(self.first..=self.last).contains(at));
        self.cache.done.notify_all();
    }
}

/// A column of a table over files.
#[derive(Clone)]
pub(super) struct FileColumn(Arc<Inner>);

struct Inner {
    number: usize,
    canonical: DataType,
    files: Arc<[ParquetFile]>,
    segments: Vec<Of>,
    /// The first key of each segment.
    starts: Vec<u64>,
    rows: u64,
    cache: Arc<Cache>,
    zones: OnceLock<Option<Arc<Zones>>>,
}

struct Of {
    file: usize,
    segment: Segment,
}

impl FileColumn {
    /// The column of this number over files whose rows follow one another, from key 0.
    pub(super) fn new(
        number: usize,
        declared: &DataType,
        files: &Arc<[ParquetFile]>,
        cache: &Arc<Cache>,
    ) -> FileColumn {
        let (mut all, mut starts, mut rows) = (Vec::new(), Vec::new(), 0);
        for (at, file) in files.iter().enumerate() {
            for segment in segments(file, file.places[number]) {
                starts.push(rows);
                rows += segment.rows as u64;
                all.push(Of { file: at, segment });
            }
        }
        FileColumn(Arc::new(Inner {
            number,
            canonical: canonical(declared),
            files: files.clone(),
            segments: all,
            starts,
            rows,
            cache: cache.clone(),
            zones: OnceLock::new(),
        }))
    }
}

impl Inner {
    fn page(&self, at: usize) -> Result<ArrayRef, ColumnError> {
        Ok(self.pages(at, at)?.remove(0))
    }

    /// The pages of these segments. Neighbours of one row group that are not there are decoded together: they share a
    /// dictionary. What another thread decodes is waited for, and meanwhile the page after it is decoded where pages are read in
    /// order.
    fn pages(&self, first: usize, last: usize) -> Result<Vec<ArrayRef>, ColumnError> {
        let mut pages = Vec::with_capacity(last - first + 1);
        let mut at = first;
        while at <= last {
            match self.cache.claim((self.number, at), self.group_end(at, last)) {
                Err(Wanted::Held(page)) => {
                    pages.push(page);
                    at += 1;
                }
                Err(_) => {
                    self.ahead(at);
                    if !self.cache.wait((self.number, at)) {
                        pages.extend(self.run(at, at)?);
                        at += 1;
                    }
                }
                Ok(claim) => {
                    let end = claim.last;
                    pages.extend(self.run(at, end)?);
                    at = end + 1;
                }
            }
        }
        Ok(pages)
    }

    /// The last segment of a row group, at most this one.
    fn group_end(&self, at: usize, last: usize) -> usize {
        let group = |at: usize| (self.segments[at].file, self.segments[at].segment.group);
        (at..last).find(|end| group(end + 1) != group(at)).unwrap_or(last)
    }

    /// Decodes the page after one that another thread decodes, if the page before that was wanted, too. What fails is told to
    /// whoever wants it.
    fn ahead(&self, at: usize) {
        let next = at + 1;
        let is_in_order = at > 0 && self.cache.knows((self.number, at - 1));
        if is_in_order
            && next < self.segments.len()
            && let Ok(_claim) = self.cache.claim((self.number, next), next)
        {
            let _ = self.run(next, next);
        }
    }

    /// Decodes the pages of neighbouring segments of one row group, and keeps them.
    fn run(&self, first: usize, last: usize) -> Result<Vec<ArrayRef>, ColumnError> {
        let run = self.decoded(first, last);
        let run = run.map_err(|error| ColumnError::Arrow(Arc::new(ArrowError::ParquetError(error.to_string()))))?;
        let mut from = 0;
        let cut: Vec<_> = (first..=last)
            .map(|at| {
                let rows = self.segments[at].segment.rows;
                from += rows;
                ((self.number, at), run.slice(from - rows, rows))
            })
            .collect();
        self.cache.put(&cut, run.get_array_memory_size());
        Ok(cut.into_iter().map(|(_, page)| page).collect())
    }

    /// The cells of neighbouring segments of one row group.
    fn decoded(&self, first: usize, last: usize) -> Result<ArrayRef, Error> {
        let Of { file, segment } = &self.segments[first];
        let file = &self.files[*file];
        let rows = self.segments[first..=last].iter().map(|of| of.segment.rows).sum();
        let selection = RowSelection::from(vec![RowSelector::skip(segment.from), RowSelector::select(rows)]);
        let arrays: Vec<ArrayRef> = guarded(&file.path, || {
            let reader = file.builder(&[file.places[self.number]]).with_row_groups(vec![segment.group]);
            let reader = reader.with_row_selection(selection).with_batch_size(rows).build()?;
            reader.map(|batch| Ok(batch?.column(0).clone())).collect::<Result<_, parquet::errors::ParquetError>>()
        })?;
        let whole = match &arrays[..] {
            [one] => Ok(one.clone()),
            many => concat(&many.iter().map(|array| array.as_ref()).collect::<Vec<_>>()),
        };
        let whole = whole.map_err(|error| Error::broken(&file.path, error))?;
        let whole = judged(&file.path, &whole)?;
        match whole.len() == rows {
            true => Ok(whole),
            false => Err(Error::broken(&file.path, "a page has fewer cells than it says")),
        }
    }

    /// The segment that holds a key.
    fn of(&self, key: u64) -> usize {
        self.starts.partition_point(|start| *start <= key) - 1
    }

    /// The cells of many spans, those of a page together.
    fn gathered(&self, rows: &RowSet) -> Result<Vec<ArrayRef>, ColumnError> {
        let Some((first, last)) = rows.first().zip(rows.last()) else { return Ok(Vec::new()) };
        if last >= self.rows {
            return Err(ColumnError::Length { rows: last + 1, cells: self.rows });
        }
        let mut touched = Vec::new();
        for at in self.of(first)..=self.of(last) {
            let (start, end) = (self.starts[at], self.starts.get(at + 1).copied().unwrap_or(self.rows));
            let own = rows & &RowSet::range(start, end - 1);
            if !own.is_empty() {
                touched.push((at, start, own));
            }
        }
        let mut pieces = Vec::with_capacity(touched.len());
        for run in touched.chunk_by(|a, b| a.0 + 1 == b.0) {
            let pages = self.pages(run[0].0, run[run.len() - 1].0)?;
            for ((_, start, own), page) in run.iter().zip(pages) {
                pieces.push(FlatColumn::at_keys(vec![page], *start)?.read(own)?);
            }
        }
        Ok(pieces)
    }

    fn slices(&self, rows: &RowSet) -> Result<Vec<ArrayRef>, ColumnError> {
        let mut slices = Vec::new();
        for span in rows.spans() {
            if span.last >= self.rows {
                return Err(ColumnError::Length { rows: span.last + 1, cells: self.rows });
            }
            let (first, last) = (self.of(span.first), self.of(span.last));
            for (at, page) in (first..=last).zip(self.pages(first, last)?) {
                let start = self.starts[at];
                let from = span.first.max(start) - start;
                let end = self.starts.get(at + 1).copied().unwrap_or(self.rows).min(span.last + 1) - start;
                slices.push(page.slice(from as usize, (end - from) as usize));
            }
        }
        Ok(slices)
    }
}

impl ColumnSource for FileColumn {
    fn data_type(&self) -> &DataType {
        &self.0.canonical
    }

    fn at(&self, _moment: Moment) -> Result<Arc<dyn Column>, Moved> {
        Ok(Arc::new(self.clone()))
    }

    fn bytes(&self) -> u64 {
        // Pages are the table's: the first of its columns tells of them.
        if self.0.number == 0 { self.0.cache.bytes() as u64 } else { 0 }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Column for FileColumn {
    fn data_type(&self) -> &DataType {
        &self.0.canonical
    }

    fn read(&self, rows: &RowSet) -> Result<Chunk, ColumnError> {
        let slices = self.pieces(rows)?;
        match &slices[..] {
            [] => Ok(new_empty_array(&self.0.canonical)),
            [one] => Ok(one.clone()),
            many => Ok(concat(&many.iter().map(|slice| slice.as_ref()).collect::<Vec<_>>())?),
        }
    }

    fn take(&self, keys: &[u64]) -> Result<Chunk, ColumnError> {
        let inner = &*self.0;
        let null = new_null_array(&inner.canonical, 1);
        let (mut pages, mut places): (Vec<ArrayRef>, HashMap<usize, usize>) = (vec![null], HashMap::new());
        let mut picks = Vec::with_capacity(keys.len());
        let mut last = (u64::MAX, u64::MAX, 0);
        for key in keys {
            if *key == NO_ROW || *key >= inner.rows {
                picks.push((0, 0));
                continue;
            }
            // Neighbours are of one page, mostly.
            if !(last.0 <= *key && *key < last.1) {
                let at = inner.of(*key);
                let place = match places.get(&at) {
                    Some(place) => *place,
                    None => {
                        pages.push(inner.page(at)?);
                        places.insert(at, pages.len() - 1);
                        pages.len() - 1
                    }
                };
                last = (inner.starts[at], inner.starts.get(at + 1).copied().unwrap_or(inner.rows), place);
            }
            picks.push((last.2, (*key - last.0) as usize));
        }
        if picks.is_empty() {
            return Ok(new_empty_array(&inner.canonical));
        }
        let pages: Vec<&dyn Array> = pages.iter().map(|page| page.as_ref()).collect();
        Ok(interleave(&pages, &picks)?)
    }

    fn pieces(&self, rows: &RowSet) -> Result<Vec<Chunk>, ColumnError> {
        // Few spans are slices of their pages; the rows of many are gathered, page by page.
        if rows.spans().take(64).count() < 64 {
            return self.0.slices(rows);
        }
        self.0.gathered(rows)
    }

    fn zones(&self) -> Option<Arc<Zones>> {
        let inner = &*self.0;
        let known = inner.zones.get_or_init(|| {
            let mut told = Told::default();
            for of in inner.segments.chunk_by(|a, b| a.file == b.file) {
                let file = &inner.files[of[0].file];
                let own: Vec<Segment> = of.iter().map(|of| of.segment).collect();
                told.add(file, file.places[inner.number], &inner.canonical, &own);
            }
            let groups = inner.segments.iter().map(|of| (of.file, of.segment.group)).collect();
            let members = Blooms::of(&inner.files, inner.number, &inner.canonical, groups);
            told.zones(inner.starts.clone(), inner.rows, members)
        });
        known.clone()
    }
}
