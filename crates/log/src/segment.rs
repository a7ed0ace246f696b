//! One file of a log: records one after the other.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::folder;
use crate::record::{END, HEAD, Head, Kind, Record};

const PREFIX: &str = "segment-";
const SUFFIX: &str = ".log";

/// The name of the segment with this place in the log.
pub(crate) fn name(place: u64) -> String {
    format!("{PREFIX}{place:012}{SUFFIX}")
}

/// The segments of a folder in order: their places and paths.
pub(crate) fn all(folder: &Path) -> Result<Vec<(u64, PathBuf)>, Error> {
    let place = |path: &Path| {
        let name = path.file_name()?.to_str()?;
        let digits = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
        digits.parse().ok().filter(|place| self::name(*place) == name)
    };
    let paths = folder::entries(folder)?;
    Ok(paths.into_iter().filter_map(|path| Some((place(&path)?, path))).collect())
}

/// Those that count: from the last one that begins with all there is. None may be missing between them.
pub(crate) fn living(folder: &Path) -> Result<(Vec<(u64, PathBuf)>, Vec<PathBuf>), Error> {
    let mut all = all(folder)?;
    let mut first = 0;
    for (at, (_, path)) in all.iter().enumerate().rev() {
        let begins = Walk::open(path)?.head()?;
        if matches!(begins, Found::Whole(head) if head.kind == Kind::Whole) {
            first = at;
            break;
        }
    }
    let living = all.split_off(first);
    let dead = all.into_iter().map(|(_, path)| path).collect();
    let begins_anew =
        |path: &Path| Ok(matches!(Walk::open(path)?.head()?, Found::Whole(head) if head.kind == Kind::Whole));
    let first = living.first();
    // One that needs those before it names the nearest that is gone.
    let begun = match first {
        Some((place, path)) if *place == 0 || begins_anew(path)? => *place,
        Some((place, _)) => place - 1,
        None => 0,
    };
    for (wanted, (place, path)) in (begun..).zip(&living) {
        if *place != wanted {
            return Err(Error::Missing { path: folder.join(name(wanted)), later: path.clone() });
        }
    }
    Ok((living, dead))
}

/// What stands at a place of a segment.
pub(crate) enum Found<T> {
    /// A whole one.
    Whole(T),
    /// The end of the file.
    End,
    /// A piece, which the end of the file cuts off, or zeros up to it.
    Torn,
}

/// Goes through the records of one file.
pub(crate) struct Walk {
    pub(crate) path: PathBuf,
    file: BufReader<File>,
    /// Where the next record begins.
    pub(crate) at: u64,
    len: u64,
}

impl Walk {
    pub(crate) fn open(path: &Path) -> Result<Walk, Error> {
        let open = || {
            let file = File::open(path)?;
            let len = file.metadata()?.len();
            Ok((file, len))
        };
        let (file, len) = open().map_err(Error::io("open", path))?;
        Ok(Walk { path: path.to_path_buf(), file: BufReader::new(file), at: 0, len })
    }

    fn damaged(&self, what: &str) -> Error {
        Error::damaged(&self.path, self.at, what)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        self.file.read_exact(bytes).map_err(Error::io("read", &self.path))
    }

    /// The head of the next record, whose rest is there; the reader stands behind the head.
    pub(crate) fn head(&mut self) -> Result<Found<Head>, Error> {
        let left = self.len.saturating_sub(self.at);
        if left == 0 {
            return Ok(Found::End);
        }
        if left < HEAD as u64 {
            return Ok(Found::Torn);
        }
        let mut bytes = [0; HEAD];
        self.fill(&mut bytes)?;
        let head = match Head::from_bytes(&bytes) {
            Ok(head) => head,
            Err(_) if bytes == [0; HEAD] && self.is_zero_from_here()? => return Ok(Found::Torn),
            Err(what) => return Err(self.damaged(what)),
        };
        match head.rest() {
            Some(rest) if rest <= left - HEAD as u64 => Ok(Found::Whole(head)),
            _ => Ok(Found::Torn),
        }
    }

    /// Passes over a record whose head was read.
    pub(crate) fn pass(&mut self, head: &Head) -> Result<(), Error> {
        let rest = head.rest().unwrap_or_default();
        self.file.seek_relative(rest as i64).map_err(Error::io("seek in", &self.path))?;
        self.at += HEAD as u64 + rest;
        Ok(())
    }

    /// The record whose head was read.
    pub(crate) fn record(&mut self, head: &Head) -> Result<Found<Record>, Error> {
        let rest = head.rest().unwrap_or_default();
        let mut bytes = vec![0; rest as usize];
        self.fill(&mut bytes)?;
        let end = bytes.split_off(bytes.len() - END.len());
        if end != END {
            let last = self.at + HEAD as u64 + rest == self.len;
            if last && end.iter().all(|byte| *byte == 0) {
                return Ok(Found::Torn);
            }
            return Err(self.damaged("a record does not end as one"));
        }
        let record = head.split(bytes).map_err(|what| self.damaged(what))?;
        self.at += HEAD as u64 + rest;
        Ok(Found::Whole(record))
    }

    /// The next record.
    pub(crate) fn next(&mut self) -> Result<Found<Record>, Error> {
        match self.head()? {
            Found::Whole(head) => self.record(&head),
            Found::End => Ok(Found::End),
            Found::Torn => Ok(Found::Torn),
        }
    }

    fn is_zero_from_here(&mut self) -> Result<bool, Error> {
        let mut piece = [0; 4096];
        loop {
            let read = self.file.read(&mut piece).map_err(Error::io("read", &self.path))?;
            if read == 0 {
                self.file.seek(SeekFrom::Start(self.at)).map_err(Error::io("seek in", &self.path))?;
                return Ok(true);
            }
            if piece[..read].iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
        }
    }
}
