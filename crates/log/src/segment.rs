//! One file of a log: records one after the other.

use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::disk::{Disk, Readable};
use crate::error::Error;
use crate::folder;
use crate::record::{Content, END, HEAD, Head, Kind, Record};
use crate::torn::is_torn;

const PREFIX: &str = "segment-";
const SUFFIX: &str = ".log";

/// The name of the segment with this place in the log.
pub(crate) fn name(place: u64) -> String {
    format!("{PREFIX}{place:012}{SUFFIX}")
}

/// The segments of a folder in order: their places and paths.
pub(crate) fn all(disk: &dyn Disk, folder: &Path) -> Result<Vec<(u64, PathBuf)>, Error> {
    let place = |path: &Path| {
        let name = path.file_name()?.to_str()?;
        let digits = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
        digits.parse().ok().filter(|place| self::name(*place) == name)
    };
    let paths = folder::entries(disk, folder)?;
    let mut all: Vec<(u64, PathBuf)> = paths.into_iter().filter_map(|path| Some((place(&path)?, path))).collect();
    all.sort_unstable();
    Ok(all)
}

/// The number of the record with all there is that a segment begins with, if it does.
pub(crate) fn whole(disk: &dyn Disk, path: &Path) -> Result<Option<u64>, Error> {
    let mut walk = Walk::open(disk, path, None)?;
    let head = walk.head()?.ok_or_else(|| walk.damaged("the file ends inside a record"))?;
    Ok((head.content == Content::Record(Kind::Whole)).then_some(head.number))
}

/// What was found in a segment.
pub(crate) struct Sound {
    /// Where the last whole write ends, and where it begins.
    pub(crate) end: u64,
    pub(crate) last: u64,
    /// Whether something is behind it.
    pub(crate) is_torn: bool,
}

/// Goes through the records of a segment, and tells of each with its length, write by write. Those of the last one are
/// read whole, and what a crash may have left behind them is passed over; of others the heads are enough: their rows are
/// looked at as they are read.
pub(crate) fn scan(
    disk: &dyn Disk,
    path: &Path,
    is_last: bool,
    mut found: impl FnMut(u64, Kind, u64) -> Result<(), Error>,
) -> Result<Sound, Error> {
    let mut walk = Walk::open(disk, path, None)?;
    let (mut end, mut last) = (0, 0);
    let mut group = Vec::new();
    loop {
        let begun = walk.at;
        let head = if is_last { walk.next().map(|next| next.map(|(head, ..)| head)) } else { walk.passed() };
        match head {
            Ok(Some(head)) => {
                let Content::Record(kind) = head.content else { return Err(walk.is_no_record(begun)) };
                group.push((head.number, kind, walk.at - begun));
                if !head.is_followed {
                    group.drain(..).try_for_each(|(number, kind, bytes)| found(number, kind, bytes))?;
                    (last, end) = (end, walk.at);
                }
            }
            Ok(None) if begun > 0 && group.is_empty() => return Ok(Sound { end, last, is_torn: false }),
            Err(error) if !matches!(error, Error::Damaged { .. }) => return Err(error),
            ended => {
                // A file is there only once its first records are.
                if is_last && end > 0 && is_torn(&walk.left(end)?, end) {
                    return Ok(Sound { end, last, is_torn: true });
                }
                return Err(ended
                    .err()
                    .unwrap_or_else(|| Error::damaged(path, begun, "the file ends inside a record")));
            }
        }
    }
}

/// Tells of each record up to a place of a segment by its number and length.
pub(crate) fn heads(disk: &dyn Disk, path: &Path, end: u64, mut found: impl FnMut(u64, u64)) -> Result<(), Error> {
    let mut walk = Walk::open(disk, path, Some(end))?;
    let mut begun = 0;
    while let Some(head) = walk.passed()? {
        found(head.number, walk.at - begun);
        begun = walk.at;
    }
    Ok(())
}

/// The bytes of a file between two places.
pub(crate) fn bytes(disk: &dyn Disk, path: &Path, begin: u64, end: u64) -> Result<Vec<u8>, Error> {
    Walk::open(disk, path, Some(end))?.left(begin)
}

/// Goes through what stands in one file.
pub(crate) struct Walk {
    pub(crate) path: PathBuf,
    file: BufReader<Box<dyn Readable>>,
    /// Where the next record begins.
    pub(crate) at: u64,
    pub(crate) len: u64,
}

impl Walk {
    /// Opens a file, of which no more than `most` bytes are looked at.
    pub(crate) fn open(disk: &dyn Disk, path: &Path, most: Option<u64>) -> Result<Walk, Error> {
        let open = || {
            let mut file = disk.open(path)?;
            let len = file.seek(SeekFrom::End(0))?;
            file.rewind()?;
            Ok((file, len))
        };
        let (file, len) = open().map_err(Error::io("open", path))?;
        let len = most.map_or(len, |most| len.min(most));
        Ok(Walk { path: path.to_path_buf(), file: BufReader::new(file), at: 0, len })
    }

    pub(crate) fn damaged(&self, what: &str) -> Error {
        Error::damaged(&self.path, self.at, what)
    }

    /// What stands at a place is not what its file is of.
    pub(crate) fn is_no_record(&self, at: u64) -> Error {
        Error::damaged(&self.path, at, "the head of a record is of no known kind")
    }

    fn fill(&mut self, bytes: u64) -> Result<Vec<u8>, Error> {
        let exhausted =
            |exhausted: limits::Exhausted| std::io::Error::new(ErrorKind::OutOfMemory, exhausted.to_string());
        limits::ask(bytes).map_err(exhausted).map_err(Error::io("read", &self.path))?;
        let mut filled = vec![0; bytes as usize];
        self.file.read_exact(&mut filled).map_err(Error::io("read", &self.path))?;
        Ok(filled)
    }

    /// The head of the next record, whose rest is there; the reader stands behind the head.
    pub(crate) fn head(&mut self) -> Result<Option<Head>, Error> {
        let left = self.len.saturating_sub(self.at);
        if left == 0 {
            return Ok(None);
        }
        if left < HEAD as u64 {
            return Err(self.damaged("the file ends inside a record"));
        }
        let mut bytes = [0; HEAD];
        self.file.read_exact(&mut bytes).map_err(Error::io("read", &self.path))?;
        let head = Head::from_bytes(&bytes).map_err(|what| self.damaged(what))?;
        match head.rest() {
            Some(rest) if rest <= left - HEAD as u64 => Ok(Some(head)),
            _ => Err(self.damaged("the file ends inside a record")),
        }
    }

    /// Passes over the rest of a record whose head was read.
    pub(crate) fn pass(&mut self, head: &Head) -> Result<(), Error> {
        let rest = head.rest().unwrap_or_default();
        self.file.seek_relative(rest as i64).map_err(Error::io("seek in", &self.path))?;
        self.at += HEAD as u64 + rest;
        Ok(())
    }

    /// The head of the next record, which is passed over.
    fn passed(&mut self) -> Result<Option<Head>, Error> {
        let head = self.head()?;
        head.map(|head| self.pass(&head).map(|()| head)).transpose()
    }

    /// Note and body of the record whose head was read.
    pub(crate) fn rest(&mut self, head: &Head) -> Result<(String, Vec<u8>), Error> {
        let (note, body) = head.lengths();
        let (note, body) = (self.fill(note)?, self.fill(body)?);
        let mut end = [0; END.len()];
        self.file.read_exact(&mut end).map_err(Error::io("read", &self.path))?;
        head.check([&note, &body], &end).map_err(|what| self.damaged(what))?;
        let note = String::from_utf8(note).map_err(|_| self.damaged("the note of a record is no text"))?;
        self.at += HEAD as u64 + head.rest().unwrap_or_default();
        Ok((note, body))
    }

    /// The next record.
    pub(crate) fn next(&mut self) -> Result<Option<(Head, String, Vec<u8>)>, Error> {
        let Some(head) = self.head()? else { return Ok(None) };
        let (note, body) = self.rest(&head)?;
        Ok(Some((head, note, body)))
    }

    /// All that stands from a place on; nothing else can be read after it.
    fn left(&mut self, at: u64) -> Result<Vec<u8>, Error> {
        self.seek(at)?;
        self.fill(self.len - at)
    }

    /// Goes to a place.
    pub(crate) fn seek(&mut self, at: u64) -> Result<(), Error> {
        self.at = at;
        self.file.seek(SeekFrom::Start(at)).map(drop).map_err(Error::io("seek in", &self.path))
    }
}

impl Record {
    pub(crate) fn of(number: u64, kind: Kind, (note, body): (String, Vec<u8>)) -> Record {
        Record { number, kind, note, body }
    }
}
