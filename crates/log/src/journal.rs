//! The log itself: opening, appending, beginning anew from all there is.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::folder::{self, Folder};
use crate::read::{Records, follows, misplaced};
use crate::record::{self, Kind};
use crate::segment::{self, Found, Walk};
use crate::sizes::SEGMENT_BYTES;

/// An open log. It owns its folder until it is dropped.
pub struct Log {
    folder: Folder,
    /// Living segments by place.
    segments: Vec<(u64, PathBuf)>,
    tail: Option<Tail>,
    last: Option<u64>,
    records: u64,
    /// Bytes of the first record, if it holds all there was, and of those behind it.
    whole: u64,
    changes: u64,
    broken: Option<String>,
}

/// The segment that is appended to.
struct Tail {
    file: File,
    path: PathBuf,
    len: u64,
}

impl Log {
    /// Opens the log of a folder, which is made if it is not there. What a crash left unfinished is taken away: files
    /// that were never named, segments that a later one replaces, a record at the end that is not whole.
    pub fn open(path: &Path) -> Result<Log, Error> {
        let folder = Folder::take(path)?;
        folder.tidy()?;
        let (segments, dead) = segment::living(path)?;
        let (whole, changes) = (0, 0);
        let mut log = Log { folder, segments, tail: None, last: None, records: 0, whole, changes, broken: None };
        for at in 0..log.segments.len() {
            log.walk(at)?;
        }
        for path in dead {
            fs::remove_file(&path).map_err(Error::io("remove", &path))?;
        }
        Ok(log)
    }

    /// Notes the records of one segment. Those of the last one are read whole, and what is torn behind them is cut off;
    /// of others the heads are enough: their rows are looked at as they are read.
    fn walk(&mut self, at: usize) -> Result<(), Error> {
        let (path, is_last) = (self.segments[at].1.clone(), at + 1 == self.segments.len());
        let mut walk = Walk::open(&path)?;
        loop {
            let begun = walk.at;
            let found = match walk.head()? {
                Found::Whole(head) if is_last => match walk.record(&head)? {
                    Found::Whole(_) => Found::Whole(head),
                    _ => Found::Torn,
                },
                Found::Whole(head) => {
                    walk.pass(&head)?;
                    Found::Whole(head)
                }
                other => other,
            };
            match found {
                Found::Whole(head) => {
                    if !follows(self.last, head.number, head.kind) {
                        return Err(misplaced(&path, self.last, head.number));
                    }
                    self.note(head.number, head.kind, walk.at - begun);
                }
                Found::End if begun > 0 && !is_last => return Ok(()),
                Found::End | Found::Torn if begun > 0 && is_last => break,
                _ => return Err(Error::damaged(&path, begun, "the file ends inside a record")),
            }
        }
        let len = walk.at;
        let cut = || {
            let file = File::options().append(true).open(&path)?;
            if file.metadata()?.len() > len {
                file.set_len(len)?;
                file.sync_all()?;
            }
            Ok(file)
        };
        let file = cut().map_err(Error::io("cut the torn tail of", &path))?;
        self.tail = Some(Tail { file, path, len });
        Ok(())
    }

    fn note(&mut self, number: u64, kind: Kind, bytes: u64) {
        self.last = Some(number);
        if kind == Kind::Whole {
            (self.records, self.whole, self.changes) = (0, bytes, 0);
        } else {
            self.changes += bytes;
        }
        self.records += 1;
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.folder.path
    }

    /// The number of the last record.
    pub fn last(&self) -> Option<u64> {
        self.last
    }

    /// How many records there are to be read.
    pub fn len(&self) -> u64 {
        self.records
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Whether so many records have gathered since the last one that holds everything, and more bytes than it has:
    /// writing everything anew then costs each record a constant.
    pub fn wants_whole(&self, records: u64) -> bool {
        self.records >= records && self.changes >= self.whole
    }

    /// Makes a record durable: when this returns it outlives a loss of power. A record that holds all there is takes the
    /// place of those before it.
    pub fn append(&mut self, number: u64, kind: Kind, note: &str, body: &[u8]) -> Result<(), Error> {
        if let Some(cause) = &self.broken {
            return Err(Error::Broken { path: self.folder.path.clone(), cause: cause.clone() });
        }
        if !follows(self.last, number, kind) {
            return Err(misplaced(&self.folder.path, self.last, number));
        }
        let bytes = record::encode(number, kind, note, body);
        let bytes = bytes.ok_or_else(|| Error::damaged(&self.folder.path, 0, "a note of 4 GiB or more"))?;
        match &mut self.tail {
            Some(tail) if kind != Kind::Whole && tail.len < SEGMENT_BYTES.rows() => {
                if let Err((error, undone)) = tail.push(&bytes) {
                    if !undone {
                        self.broken = Some(error.to_string());
                    }
                    return Err(error);
                }
            }
            _ => self.begin(kind, &bytes)?,
        }
        self.note(number, kind, bytes.len() as u64);
        Ok(())
    }

    /// A new segment, there with its first record or not at all.
    fn begin(&mut self, kind: Kind, bytes: &[u8]) -> Result<(), Error> {
        let place = self.segments.last().map_or(0, |(place, _)| place + 1);
        let name = segment::name(place);
        let path = self.folder.path.join(&name);
        let made = self
            .folder
            .replace(&name, bytes)
            .and_then(|()| File::options().append(true).open(&path).map_err(Error::io("open", &path)));
        let file = match made {
            Ok(file) => file,
            Err(error) => {
                // It may be there all the same.
                self.broken = path.exists().then(|| error.to_string());
                return Err(error);
            }
        };
        self.tail = Some(Tail { file, path: path.clone(), len: bytes.len() as u64 });
        let before = if kind == Kind::Whole { std::mem::take(&mut self.segments) } else { Vec::new() };
        self.segments.push((place, path));
        // The record is durable: what it replaces is waste, and the next start takes away what stays of it.
        before.iter().for_each(|(_, path)| drop(fs::remove_file(path)));
        Ok(())
    }

    /// A small file beside the records, put in the place of the one before whole.
    pub fn put_note(&self, name: &str, content: &[u8]) -> Result<(), Error> {
        self.folder.replace(name, content)
    }

    /// Such a file; none if it was never written.
    pub fn get_note(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let path = self.folder.path.join(name);
        match fs::read(&path) {
            Ok(content) => Ok(Some(content)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("read", &path)(error)),
        }
    }

    /// The records in order, checked as they are read.
    pub fn read(&self) -> Records {
        Records::of(self.segments.iter().map(|(_, path)| path.clone()).collect())
    }

    /// Makes the folder's names durable; a start does so, and nobody else needs it.
    pub fn sync(&self) -> Result<(), Error> {
        folder::sync(&self.folder.path)
    }
}

impl Tail {
    /// Appends bytes durably. On failure the file is as before, or it is said that it is not.
    fn push(&mut self, bytes: &[u8]) -> Result<(), (Error, bool)> {
        if let Err(source) = self.file.write_all(bytes) {
            let undone = self.file.set_len(self.len).is_ok();
            return Err((Error::io("write", &self.path)(source), undone));
        }
        // After a failed sync nobody knows what is on disk.
        self.file.sync_data().map_err(|source| (Error::io("sync", &self.path)(source), false))?;
        self.len += bytes.len() as u64;
        Ok(())
    }
}
