//! Columns that stay in their files: pages are read as their cells are touched.

use std::any::Any;
use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use ::column::kernels::{gather, gather_parts, gather_rows};
use ::column::types::{canonical, width};
use ::column::{Chunk, Coded, Column, ColumnSource, Error as ColumnError, NO_ROW, Zones};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, new_empty_array, new_null_array};
use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType};
use arrow_select::concat::concat;
use arrow_select::interleave::interleave;
use arrow_select::take::take;
use graph::{Moment, Moved, lock};
use rowset::RowSet;

use super::blooms::Blooms;
use super::decoder::{Decoder, whole};
use super::flat::Codes;
use super::zones::{Segment, Told, segments};
use super::{ParquetFile, judged};
use crate::error::Error;
use crate::threads::map;

/// The pages that were read last, of all columns of a table: as many as have room.
pub(super) struct Cache {
    room: usize,
    held: Mutex<Held>,
    /// Some thread is done with a page that others may wait for.
    done: Condvar,
}

/// A page, by its column and segment.
pub(super) type Key = (usize, usize);

/// A column of a row group: the column, the file, the group in it.
type InGroup = (usize, usize, usize);

/// Rows that are read at once are decoded side by side, a row group by each thread, from so many on.
const APART_ROWS: usize = 1 << 16;

/// Decoders of a column that wait to go on.
const PARKED: usize = 4;

/// Neighbours of one page that are picked together are so many or more, in the mean.
const STRETCH: usize = 64;

/// What a key of no row picks.
const NO_PAGE: usize = usize::MAX;

#[derive(Default)]
struct Held {
    bytes: usize,
    pages: HashMap<Key, ArrayRef>,
    /// Pages that some thread decodes.
    busy: HashSet<Key>,
    /// The first read first, each with its bytes.
    order: VecDeque<(Key, usize)>,
    /// Decoders that may go on, the one that waits longest first.
    parked: Vec<(InGroup, Decoder)>,
}

/// How long a page is waited for that another thread decodes: a thread that is gone, as in a process that was forked, does not.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is known of a page that a thread wants.
pub(super) enum Wanted {
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
        lock(&self.held)
    }

    /// A page, or the claim to decode it and those after it of a column, which nobody holds or decodes, to `last`.
    pub(super) fn claim(&self, (column, first): Key, last: usize) -> Result<Claim<'_>, Wanted> {
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

    #[cfg(test)]
    pub(super) fn holds(&self, key: Key) -> bool {
        matches!(self.lock().known(key), Wanted::Held(_))
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
        while held.bytes > self.room && !held.parked.is_empty() {
            held.unpark(0);
        }
        while held.bytes > self.room && held.order.len() > 1 {
            let Some((oldest, bytes)) = held.order.pop_front() else { break };
            held.pages.remove(&oldest);
            held.bytes -= bytes;
        }
    }

    /// The decoder that is nearest before a page.
    fn resume(&self, chunk: InGroup, page: usize) -> Option<Decoder> {
        let mut held = self.lock();
        let before = held.parked.iter().enumerate().filter(|(_, (of, one))| *of == chunk && one.next() <= page);
        let (at, _) = before.max_by_key(|(_, (_, one))| one.next())?;
        Some(held.unpark(at))
    }

    /// Keeps a decoder, where there is room beside the pages.
    fn park(&self, chunk: InGroup, decoder: Decoder) {
        let mut held = self.lock();
        let of_column = |(of, _): &(InGroup, Decoder)| of.0 == chunk.0;
        if held.parked.iter().filter(|one| of_column(one)).count() >= PARKED
            && let Some(oldest) = held.parked.iter().position(of_column)
        {
            held.unpark(oldest);
        }
        if held.bytes + decoder.bytes() <= self.room {
            held.bytes += decoder.bytes();
            held.parked.push((chunk, decoder));
        }
    }

    /// Bytes of the pages that are held, and of decoders that may go on.
    fn bytes(&self) -> usize {
        self.lock().bytes
    }
}

impl Held {
    fn unpark(&mut self, at: usize) -> Decoder {
        let (_, decoder) = self.parked.remove(at);
        self.bytes -= decoder.bytes();
        decoder
    }

    fn known(&self, key: Key) -> Wanted {
        match self.pages.get(&key) {
            Some(page) => Wanted::Held(page.clone()),
            None if self.busy.contains(&key) => Wanted::Busy,
            None => Wanted::Nowhere,
        }
    }
}

/// Pages that one thread decodes, which others wait for; let go, also where it fails.
pub(super) struct Claim<'a> {
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
    /// The pages of these segments, ascending. Work is taken, not waited for: each row group is one thread's where there is enough of
    /// it, and what another thread decodes already is left until there is nothing else to do. While that is waited for, the page
    /// after it is decoded where pages are read in order.
    fn pages(&self, wanted: &[usize]) -> Result<Vec<ArrayRef>, ColumnError> {
        let mut pages: Vec<Option<ArrayRef>> = vec![None; wanted.len()];
        let groups: Vec<&[usize]> = wanted.chunk_by(|a, b| self.group(*a) == self.group(*b)).collect();
        // Few rows at the border of two groups are no work for a thread that has to begin first.
        if groups.len() > 2 && self.unread(wanted) >= APART_ROWS {
            let of_group = |group: &&[usize]| {
                let mut own = vec![None; group.len()];
                self.free(group, &mut own).map(|_| own)
            };
            let made = map(&groups, of_group).into_iter().collect::<Result<Vec<_>, _>>()?;
            pages = made.into_iter().flatten().collect();
        }
        while let Some(first) = self.free(wanted, &mut pages)? {
            let at = wanted[first];
            self.ahead(at);
            if !self.cache.wait((self.number, at)) {
                pages[first] = Some(self.run(at, at)?.remove(0));
            }
        }
        Ok(pages.into_iter().flatten().collect())
    }

    /// The rows of those of these segments that nobody holds or decodes.
    fn unread(&self, wanted: &[usize]) -> usize {
        let held = self.cache.lock();
        let unread = wanted.iter().filter(|at| matches!(held.known((self.number, **at)), Wanted::Nowhere));
        unread.map(|at| self.segments[*at].segment.rows).sum()
    }

    fn group(&self, at: usize) -> (usize, usize) {
        (self.segments[at].file, self.segments[at].segment.group)
    }

    /// Takes those of some pages that are held, and decodes those that nobody decodes. The place of the first that another thread
    /// decodes.
    fn free(&self, wanted: &[usize], pages: &mut [Option<ArrayRef>]) -> Result<Option<usize>, ColumnError> {
        let (mut place, mut busy) = (0, None);
        while place < wanted.len() {
            if pages[place].is_some() {
                place += 1;
                continue;
            }
            let follows = |two: &&[usize]| two[0] + 1 == two[1] && self.group(two[0]) == self.group(two[1]);
            let neighbours = wanted[place..].windows(2).take_while(follows).count();
            match self.cache.claim((self.number, wanted[place]), wanted[place] + neighbours) {
                Err(Wanted::Held(page)) => {
                    pages[place] = Some(page);
                    place += 1;
                }
                Err(_) => {
                    busy.get_or_insert(place);
                    place += 1;
                }
                Ok(claim) => {
                    for page in self.run(claim.first, claim.last)? {
                        pages[place] = Some(page);
                        place += 1;
                    }
                }
            }
        }
        Ok(busy)
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
        let pages = self.decoded(first, last);
        let pages = pages.map_err(|error| ColumnError::Arrow(Arc::new(ArrowError::ParquetError(error.to_string()))))?;
        let kept: Vec<_> = (first..=last).map(|at| (self.number, at)).zip(pages.iter().cloned()).collect();
        self.cache.put(&kept, memory_of(&pages));
        Ok(pages)
    }

    /// The cells of neighbouring segments of one row group. A decoder that stopped before them goes on.
    fn decoded(&self, first: usize, last: usize) -> Result<Vec<ArrayRef>, Error> {
        let ((file, group), segment) = (self.group(first), self.segments[first].segment);
        let of = &self.files[file];
        let place = of.places[self.number];
        let Some(page) = segment.page else {
            return Ok(vec![self.sound(of, whole(of, place, group, segment.rows)?, segment.rows)?]);
        };
        let chunk = (self.number, file, group);
        let mut decoder = match self.cache.resume(chunk, page) {
            Some(decoder) => decoder,
            None => Decoder::open(of, place, group)?,
        };
        let mut pages = Vec::with_capacity(last - first + 1);
        for (at, of_page) in self.segments[first..=last].iter().enumerate() {
            pages.push(self.sound(of, decoder.page(of, page + at)?, of_page.segment.rows)?);
        }
        if last + 1 < self.segments.len() && self.group(last + 1) == (file, group) {
            self.cache.park(chunk, decoder);
        }
        Ok(pages)
    }

    /// The cells of a page, looked at.
    fn sound(&self, file: &ParquetFile, cells: ArrayRef, rows: usize) -> Result<ArrayRef, Error> {
        // The decoder looked at codes and their values.
        let cells = if self.codes(&cells).is_some() { cells } else { judged(&file.path, &cells)? };
        match cells.len() == rows {
            true => Ok(cells),
            false => Err(Error::broken(&file.path, "a page has not as many cells as it says")),
        }
    }

    /// The codes of a page that is kept so.
    fn codes<'a>(&self, page: &'a ArrayRef) -> Option<&'a Codes> {
        match self.canonical {
            DataType::Utf8View | DataType::BinaryView => page.as_any().downcast_ref(),
            _ => None,
        }
    }

    /// The cells of part of a page.
    fn cells(&self, part: ArrayRef) -> Result<Chunk, ColumnError> {
        match self.codes(&part) {
            Some(coded) => Ok(take(coded.values(), coded.keys(), None)?),
            None => Ok(part),
        }
    }

    /// The cells of some rows of a page, of which the first is that of key `start`.
    fn gathered(&self, page: &ArrayRef, start: u64, rows: &RowSet) -> Result<Chunk, ColumnError> {
        if let Some(span) = rows.as_span() {
            return self.cells(page.slice((span.first - start) as usize, span.len() as usize));
        }
        let Some(coded) = self.codes(page) else { return gather_rows(page, start, rows) };
        let keys = gather_rows(&(Arc::new(coded.keys().clone()) as ArrayRef), start, rows)?;
        Ok(take(coded.values(), &keys, None)?)
    }

    /// Neighbours among keys whose cells are in one page, with the page; none where few neighbours are. Keys of no row are anywhere.
    fn stretches<'a>(&self, keys: &'a [u64]) -> Option<Vec<(usize, &'a [u64])>> {
        let is_none = |key: u64| key == NO_ROW || key >= self.rows;
        let first = keys.iter().copied().find(|key| !is_none(*key))?;
        let mut stretches = Vec::new();
        let (mut at, mut from) = (self.of(first), 0);
        let mut page = self.keys_of(at);
        for (place, key) in keys.iter().enumerate() {
            if page.contains(key) || is_none(*key) {
                continue;
            }
            stretches.push((at, &keys[from..place]));
            if stretches.len() * STRETCH > keys.len() {
                return None;
            }
            (at, from) = (self.of(*key), place);
            page = self.keys_of(at);
        }
        stretches.push((at, &keys[from..]));
        Some(stretches)
    }

    /// The keys of a segment.
    fn keys_of(&self, at: usize) -> Range<u64> {
        self.starts[at]..self.starts.get(at + 1).copied().unwrap_or(self.rows)
    }

    /// The cells of stretches of keys, one after the other.
    fn taken(&self, stretches: &[(usize, &[u64])]) -> Result<Chunk, ColumnError> {
        let mut wanted: Vec<usize> = stretches.iter().map(|(at, _)| *at).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let pages = self.pages(&wanted)?;
        let cells = stretches.iter().map(|(at, keys)| {
            let (page, own) = (&pages[wanted.partition_point(|one| one < at)], self.keys_of(*at));
            let place = |key: &u64| if own.contains(key) { key - own.start } else { NO_ROW };
            let places: Vec<u64> = keys.iter().map(place).collect();
            match self.codes(page) {
                None => gather(page, &places),
                Some(coded) => {
                    let codes = gather(&(Arc::new(coded.keys().clone()) as ArrayRef), &places)?;
                    Ok(take(coded.values(), &codes, None)?)
                }
            }
        });
        self.joined(&cells.collect::<Result<Vec<_>, _>>()?)
    }

    /// Cells one after the other.
    fn joined(&self, parts: &[Chunk]) -> Result<Chunk, ColumnError> {
        match parts {
            [] => Ok(new_empty_array(&self.canonical)),
            [one] => Ok(one.clone()),
            many => Ok(concat(&many.iter().map(|part| part.as_ref()).collect::<Vec<_>>())?),
        }
    }

    /// The segment that holds a key.
    fn of(&self, key: u64) -> usize {
        self.starts.partition_point(|start| *start <= key) - 1
    }

    /// The pages that hold some of these rows, each with its first key and those rows.
    fn touched(&self, rows: &RowSet) -> Result<Vec<(ArrayRef, u64, RowSet)>, ColumnError> {
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
        let wanted: Vec<usize> = touched.iter().map(|(at, ..)| *at).collect();
        let pages = self.pages(&wanted)?;
        Ok(touched.into_iter().zip(pages).map(|((_, start, own), page)| (page, start, own)).collect())
    }

    fn slices(&self, rows: &RowSet) -> Result<Vec<ArrayRef>, ColumnError> {
        let mut slices = Vec::new();
        for span in rows.spans() {
            if span.last >= self.rows {
                return Err(ColumnError::Length { rows: span.last + 1, cells: self.rows });
            }
            let (first, last) = (self.of(span.first), self.of(span.last));
            let wanted: Vec<usize> = (first..=last).collect();
            for (at, page) in wanted.iter().copied().zip(self.pages(&wanted)?) {
                let start = self.starts[at];
                let from = span.first.max(start) - start;
                let end = self.starts.get(at + 1).copied().unwrap_or(self.rows).min(span.last + 1) - start;
                slices.push(page.slice(from as usize, (end - from) as usize));
            }
        }
        Ok(slices)
    }
}

/// Whether rows lie in so many spans that a slice of each costs more than a copy.
fn is_scattered(rows: &RowSet) -> bool {
    rows.spans().take(64).count() == 64
}

/// Bytes of memory of pages. What several of them share, as the texts of a dictionary, counts once.
fn memory_of(pages: &[ArrayRef]) -> usize {
    fn add(data: &ArrayData, seen: &mut HashSet<*const u8>) -> usize {
        let mut own = |buffer: &Buffer| if seen.insert(buffer.as_ptr()) { buffer.capacity() } else { 0 };
        let cells: usize = data.buffers().iter().map(&mut own).sum();
        let nulls = data.nulls().map_or(0, |nulls| own(nulls.buffer()));
        cells + nulls + data.child_data().iter().map(|child| add(child, seen)).sum::<usize>()
    }
    let mut seen = HashSet::new();
    pages.iter().map(|page| add(&page.to_data(), &mut seen)).sum()
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
        if is_scattered(rows) {
            limits::ask_rows(rows.len(), width(&self.0.canonical))?;
            let touched = self.0.touched(rows)?;
            if !touched.iter().any(|(page, ..)| self.0.codes(page).is_some()) {
                return gather_parts(&touched);
            }
            let parts = touched.iter().map(|(page, start, own)| self.0.gathered(page, *start, own));
            return self.0.joined(&parts.collect::<Result<Vec<_>, _>>()?);
        }
        self.0.joined(&self.pieces(rows)?)
    }

    fn read_coded(&self, rows: &RowSet) -> Result<Option<Coded>, ColumnError> {
        let inner = &*self.0;
        if !matches!(inner.canonical, DataType::Utf8View | DataType::BinaryView) || rows.is_empty() {
            return Ok(None);
        }
        let parts: Vec<(ArrayRef, u64, RowSet)> = match is_scattered(rows) {
            true => inner.touched(rows)?,
            false => {
                inner.slices(rows)?.into_iter().map(|part| (part.clone(), 0, RowSet::flat(part.len() as u64))).collect()
            }
        };
        let coded: Option<Vec<&Codes>> = parts.iter().map(|(page, ..)| inner.codes(page)).collect();
        let Some(coded) = coded.filter(|all| all.windows(2).all(|two| Arc::ptr_eq(two[0].values(), two[1].values())))
        else {
            return Ok(None);
        };
        if let ([coded], [(.., rows)]) = (&coded[..], &parts[..])
            && rows.len() == coded.len() as u64
        {
            return Ok(Some(Coded { codes: coded.keys().clone(), values: coded.values().clone() }));
        }
        let keys = |coded: &Codes| Arc::new(coded.keys().clone()) as ArrayRef;
        let codes = parts.iter().zip(&coded).map(|((_, start, own), coded)| (keys(coded), *start, own.clone()));
        let codes = gather_parts(&codes.collect::<Vec<_>>())?;
        Ok(Some(Coded { codes: codes.as_primitive::<Int32Type>().clone(), values: coded[0].values().clone() }))
    }

    fn take(&self, keys: &[u64]) -> Result<Chunk, ColumnError> {
        let inner = &*self.0;
        // The rows of one side of a join, for example, which are read in their order.
        if keys.last().is_some_and(|last| *last < inner.rows) && keys.is_sorted_by(|one, next| one < next) {
            return self.read(&RowSet::from_sorted_keys(keys));
        }
        if let Some(stretches) = inner.stretches(keys) {
            return inner.taken(&stretches);
        }
        // For each segment its place among the pages that are wanted, from 1 on; those that no key is of have none.
        let mut places = vec![0; inner.segments.len()];
        let mut picks = Vec::with_capacity(keys.len());
        let mut last = (u64::MAX, u64::MAX, 0);
        for key in keys {
            if *key == NO_ROW || *key >= inner.rows {
                picks.push((NO_PAGE, 0));
                continue;
            }
            // Neighbours are of one page, mostly.
            if !(last.0 <= *key && *key < last.1) {
                let at = inner.of(*key);
                places[at] = 1;
                last = (inner.starts[at], inner.starts.get(at + 1).copied().unwrap_or(inner.rows), at);
            }
            picks.push((last.2, (*key - last.0) as usize));
        }
        if picks.is_empty() {
            return Ok(new_empty_array(&inner.canonical));
        }
        let wanted: Vec<usize> = (0..places.len()).filter(|at| places[*at] > 0).collect();
        wanted.iter().zip(1..).for_each(|(at, place)| places[*at] = place);
        picks.iter_mut().for_each(|(at, _)| *at = places.get(*at).copied().unwrap_or(0));
        let null = new_null_array(&inner.canonical, 1);
        let pages = inner.pages(&wanted)?;
        let mut arrays: Vec<&dyn Array> = vec![null.as_ref()];
        // Of codes the values are picked, which many pages share.
        let mut of_page: Vec<(usize, Option<&Codes>)> = vec![(0, None)];
        for page in &pages {
            let coded = inner.codes(page);
            let array = coded.map_or(page, Codes::values).as_ref();
            let known = arrays.iter().rposition(|known| std::ptr::addr_eq(*known, array));
            of_page.push((known.unwrap_or(arrays.len()), coded));
            if known.is_none() {
                arrays.push(array);
            }
        }
        for (page, row) in &mut picks {
            let (at, coded) = of_page[*page];
            (*page, *row) = match coded {
                None => (at, *row),
                Some(coded) => coded.key(*row).map_or((0, 0), |code| (at, code)),
            };
        }
        Ok(interleave(&arrays, &picks)?)
    }

    fn starts(&self) -> &[u64] {
        &self.0.starts
    }

    fn pieces(&self, rows: &RowSet) -> Result<Vec<Chunk>, ColumnError> {
        // Few spans are slices of their pages; the rows of many are gathered, page by page.
        let inner = &*self.0;
        if !is_scattered(rows) {
            return inner.slices(rows)?.into_iter().map(|slice| inner.cells(slice)).collect();
        }
        inner.touched(rows)?.iter().map(|(page, start, own)| inner.gathered(page, *start, own)).collect()
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
