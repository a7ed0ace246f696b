//! Reading a log from its first living record to its last, one file open at a time.

use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::folder;
use crate::record::{Kind, Record};
use crate::segment::{self, Found, Walk};

/// Whether a record may stand after the one with number `last`.
pub(crate) fn follows(last: Option<u64>, number: u64, kind: Kind) -> bool {
    let next = last.map_or(Some(0), |last| last.checked_add(1));
    match kind {
        Kind::Change => next == Some(number),
        Kind::AfterGap => next.is_some_and(|next| number >= next),
        // It may stand for the record before it as well.
        Kind::Whole => last.is_none_or(|last| number >= last),
    }
}

/// What follows does not: the error names both.
pub(crate) fn misplaced(path: &Path, last: Option<u64>, number: u64) -> Error {
    let path = path.to_path_buf();
    match last {
        Some(last) if number <= last => Error::Order { path, number, last },
        _ => {
            let missing = last.map_or(0, |last| last + 1);
            Error::Gap { path, number, last: last.map_or("nothing".into(), |last| last.to_string()), missing }
        }
    }
}

/// The records of a log in order. The first error ends them.
pub struct Records {
    files: std::vec::IntoIter<PathBuf>,
    walk: Option<Walk>,
    last: Option<u64>,
    ended: bool,
}

impl Records {
    pub(crate) fn of(files: Vec<PathBuf>) -> Records {
        Records { files: files.into_iter(), walk: None, last: None, ended: false }
    }

    fn step(&mut self) -> Result<Option<Record>, Error> {
        loop {
            let Some(walk) = &mut self.walk else {
                let Some(path) = self.files.next() else { return Ok(None) };
                self.walk = Some(Walk::open(&path)?);
                continue;
            };
            let at = walk.at;
            match walk.next()? {
                Found::Whole(record) => {
                    if !follows(self.last, record.number, record.kind) {
                        return Err(misplaced(&walk.path, self.last, record.number));
                    }
                    self.last = Some(record.number);
                    return Ok(Some(record));
                }
                // A file is there only once its first record is.
                Found::End if at > 0 => self.walk = None,
                Found::End => return Err(Error::damaged(&walk.path, 0, "the file is empty")),
                Found::Torn if at > 0 && self.files.len() == 0 => return Ok(None),
                Found::Torn => return Err(Error::damaged(&walk.path, at, "the file ends inside a record")),
            }
        }
    }
}

impl Iterator for Records {
    type Item = Result<Record, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let stepped = self.step().transpose();
        self.ended = !matches!(stepped, Some(Ok(_)));
        stepped
    }
}

/// The records of the log in a folder, which is neither taken nor mended: a torn tail is passed over.
pub fn read_all(folder: &Path) -> Result<Vec<Record>, Error> {
    folder::check_manifest(folder)?;
    let (living, _) = segment::living(folder)?;
    Records::of(living.into_iter().map(|(_, path)| path).collect()).collect()
}
