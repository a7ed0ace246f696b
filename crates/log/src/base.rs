//! A base: a file of all there is up to a record, in parts, written while records go on.
//!
//! Its first record says which record it goes up to and which segment holds that one, its last how many parts there are
//! and how many bytes stand before it. It gets its name when it is whole on disk.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::disk::{Disk, Written};
use crate::error::Error;
use crate::folder::{self, Folder, PART};
use crate::record::{Content, END, HEAD, Head};
use crate::segment::Walk;
use crate::sizes::BASE_SYNC_BYTES;

const PREFIX: &str = "base-";
const SUFFIX: &str = ".log";
const BEFORE_ALL: &str = "start";
/// Bytes of the last record.
const END_BYTES: u64 = (HEAD + 8 + END.len()) as u64;
/// Pieces of a body that are smaller are gathered.
const GATHERED: usize = 256 << 10;

/// What a base goes up to, and where the records behind it are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Reach {
    /// The last record that is in it; none: it is before the first.
    pub(crate) number: Option<u64>,
    /// The segment with that record, or the first one.
    pub(crate) segment: u64,
    /// Whether that segment was there.
    pub(crate) has_segment: bool,
}

impl Reach {
    /// Whether a segment that begins with all there is up to a record takes the place of the base.
    pub(crate) fn is_behind(&self, place: u64, whole: u64) -> bool {
        self.number.is_none_or(|number| whole > number) || place > self.segment
    }

    fn bytes(&self) -> [u8; 24] {
        let flags = u64::from(self.number.is_some()) | u64::from(self.has_segment) << 1;
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&flags.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.number.unwrap_or(0).to_le_bytes());
        bytes[16..].copy_from_slice(&self.segment.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Reach> {
        let bytes: &[u8; 24] = bytes.try_into().ok()?;
        let long = |at: usize| bytes[at..at + 8].iter().rev().fold(0, |long, byte| long << 8 | u64::from(*byte));
        let number = (long(0) & 1 != 0).then_some(long(8));
        (long(0) < 4).then_some(Reach { number, segment: long(16), has_segment: long(0) & 2 != 0 })
    }
}

fn name(number: Option<u64>) -> String {
    match number {
        Some(number) => format!("{PREFIX}{number:020}{SUFFIX}"),
        None => format!("{PREFIX}{BEFORE_ALL}{SUFFIX}"),
    }
}

/// The bases of a folder, the newest last.
pub(crate) fn all(disk: &dyn Disk, folder: &Path) -> Result<Vec<(Option<u64>, PathBuf)>, Error> {
    let number = |path: &Path| {
        let name = path.file_name()?.to_str()?;
        let middle = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
        let number = if middle == BEFORE_ALL { None } else { Some(middle.parse().ok()?) };
        (self::name(number) == name).then_some(number)
    };
    let paths = folder::entries(disk, folder)?;
    let mut all: Vec<_> = paths.into_iter().filter_map(|path| Some((number(&path)?, path))).collect();
    all.sort_unstable();
    Ok(all)
}

/// A base that has its name.
#[derive(Clone, Debug)]
pub(crate) struct Named {
    pub(crate) reach: Reach,
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
}

impl Named {
    /// A base of the folder: its begin and its end are looked at, its parts as they are read.
    pub(crate) fn open(disk: &dyn Disk, number: Option<u64>, path: &Path) -> Result<Named, Error> {
        let mut walk = Walk::open(disk, path, None)?;
        let reach = begin(&mut walk)?;
        if reach.number != number {
            return Err(Error::damaged(path, 0, "a base that is named after another record"));
        }
        let end = walk.len.saturating_sub(END_BYTES).max(walk.at);
        walk.seek(end)?;
        match walk.next()? {
            Some((head, _, body)) if head.content == Content::End && body == end.to_le_bytes() => {}
            _ => return Err(Error::damaged(path, end, "the base does not end as one")),
        }
        Ok(Named { reach, path: path.to_path_buf(), bytes: walk.len })
    }
}

fn begin(walk: &mut Walk) -> Result<Reach, Error> {
    let reach = match walk.next()? {
        Some((head, _, body)) if head.content == Content::Begin => Reach::from_bytes(&body),
        _ => None,
    };
    reach.ok_or_else(|| Error::damaged(&walk.path, 0, "the base does not begin as one"))
}

/// How many records, and bytes of them, a log ever had up to some record.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Mark {
    pub(crate) records: u64,
    pub(crate) bytes: u64,
}

/// A base that is being written. It needs the log no more: it may go to another thread, and records may be appended.
/// Dropped before it is finished, it leaves nothing. The folder stays in use until it is finished and adopted, or
/// dropped; one base is written at a time.
pub struct Base {
    turn: Turn,
    reach: Reach,
    mark: Mark,
    part: PathBuf,
    /// None once a write failed.
    file: Option<BufWriter<Box<dyn Written>>>,
    parts: u64,
    bytes: u64,
    unsynced: u64,
}

/// The right to write the one base that is written.
struct Holder(Arc<Folder>);

type Turn = Arc<Holder>;

impl Drop for Holder {
    fn drop(&mut self) {
        self.0.has_base_writer.store(false, Ordering::Release);
    }
}

impl Base {
    pub(crate) fn begin(folder: &Arc<Folder>, reach: Reach, mark: Mark) -> Result<Base, Error> {
        if folder.has_base_writer.swap(true, Ordering::AcqRel) {
            let what = "is begun while another one is being written, or waits to be adopted".into();
            return Err(Error::Base { path: folder.path.clone(), what });
        }
        let turn = Arc::new(Holder(folder.clone()));
        let part = folder.path.join(name(reach.number)).with_extension(PART);
        let file = folder.disk.create(&part).map_err(Error::io("make", &part))?;
        let file = Some(BufWriter::with_capacity(GATHERED, file));
        let mut base = Base { turn, reach, mark, part, file, parts: 0, bytes: 0, unsynced: 0 };
        base.put(Content::Begin, 0, "", &[&reach.bytes()])?;
        Ok(base)
    }

    /// Adds a part, whose body is the pieces one after the other. After an error the base takes nothing more.
    pub fn push(&mut self, note: &str, body: &[&[u8]]) -> Result<(), Error> {
        self.put(Content::Part, self.parts, note, body)?;
        self.parts += 1;
        Ok(())
    }

    /// Bytes of what was added.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    fn put(&mut self, content: Content, number: u64, note: &str, body: &[&[u8]]) -> Result<(), Error> {
        let head = Head::new(content, number, note, body);
        let head = head.ok_or_else(|| Error::damaged(&self.part, self.bytes, "a note of 4 GiB or more"))?;
        let bytes = HEAD as u64 + head.rest().unwrap_or_default();
        let Some(mut file) = self.file.take() else {
            let what = "can be finished whose writing has failed".into();
            return Err(Error::Base { path: self.turn.0.path.clone(), what });
        };
        let head = head.bytes();
        let mut pieces = [&head[..], note.as_bytes()].into_iter().chain(body.iter().copied()).chain([&END[..]]);
        let written = pieces.try_for_each(|piece| file.write_all(piece));
        if let Err(error) = written.map_err(Error::io("write", &self.part)) {
            self.discard(file);
            return Err(error);
        }
        self.bytes += bytes;
        self.unsynced += bytes;
        if self.unsynced >= BASE_SYNC_BYTES.rows() {
            // What gathered in memory would hold up the syncs of records.
            self.unsynced = 0;
            let synced = file.flush().and_then(|()| file.get_mut().sync());
            if let Err(error) = synced.map_err(Error::io("sync", &self.part)) {
                self.discard(file);
                return Err(error);
            }
        }
        self.file = Some(file);
        Ok(())
    }

    /// Gives the room back; what cannot be removed is taken away by the next owner.
    fn discard(&self, file: BufWriter<Box<dyn Written>>) {
        // Its buffer is not written.
        drop(file.into_parts());
        let _ = self.turn.0.disk.remove(&self.part);
    }

    /// Makes it durable and gives it its name: from now on a log that is opened stands on it.
    pub fn finish(mut self) -> Result<Finished, Error> {
        self.put(Content::End, self.parts, "", &[&self.bytes.to_le_bytes()])?;
        let folder = self.turn.0.clone();
        let path = folder.path.join(name(self.reach.number));
        if let Some(file) = &mut self.file {
            file.flush().map_err(Error::io("write", &self.part))?;
            file.get_mut().sync().map_err(Error::io("sync", &self.part))?;
        }
        // Versions that know no base must not believe the segments alone.
        folder.declare(folder::BASES)?;
        self.file = None;
        folder.name(&self.part, &path).map_err(|(error, _)| error)?;
        let named = Named { reach: self.reach, path, bytes: self.bytes };
        Ok(Finished { named, mark: self.mark, turn: self.turn.clone() })
    }
}

impl Drop for Base {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            self.discard(file);
        }
    }
}

/// A base that is durable, and not yet what its log stands on.
pub struct Finished {
    pub(crate) named: Named,
    pub(crate) mark: Mark,
    turn: Turn,
}

impl Finished {
    /// Bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.named.bytes
    }

    /// The last record that is in it.
    pub fn number(&self) -> Option<u64> {
        self.named.reach.number
    }

    pub(crate) fn is_of(&self, folder: &Arc<Folder>) -> bool {
        Arc::ptr_eq(&self.turn.0, folder)
    }
}

/// A part of a base as it was given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// What it says of itself.
    pub note: String,
    /// Its rows.
    pub body: Vec<u8>,
}

/// The parts of a base in order, checked as they are read. The first error ends them.
pub struct Parts {
    /// None: there is nothing more to read. It was opened at once, so that the file is there until it is read.
    walk: Option<Result<Walk, Error>>,
    read: u64,
}

impl Parts {
    pub(crate) fn of(disk: &dyn Disk, base: Option<&Named>) -> Parts {
        let open = |base: &Named| {
            let mut walk = Walk::open(disk, &base.path, None)?;
            begin(&mut walk)?;
            Ok(walk)
        };
        Parts { walk: base.map(open), read: 0 }
    }

    fn step(&mut self, walk: &mut Walk) -> Result<Option<Part>, Error> {
        let at = walk.at;
        let Some((head, note, body)) = walk.next()? else {
            return Err(walk.damaged("the base ends without its end"));
        };
        match head.content {
            Content::Part if head.number == self.read => {
                self.read += 1;
                Ok(Some(Part { note, body }))
            }
            Content::End if head.number == self.read && body == at.to_le_bytes() && walk.at == walk.len => Ok(None),
            _ => Err(Error::damaged(&walk.path, at, "a part of the base is missing or stands in another's place")),
        }
    }
}

impl Iterator for Parts {
    type Item = Result<Part, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.walk.take()? {
            Err(error) => Some(Err(error)),
            Ok(mut walk) => {
                let stepped = self.step(&mut walk).transpose()?;
                self.walk = stepped.is_ok().then_some(Ok(walk));
                Some(stepped)
            }
        }
    }
}
