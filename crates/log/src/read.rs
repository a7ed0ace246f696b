//! Reading a log from its first living record to its last, one file open at a time.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::Reach;
use crate::disk::{Disk, real};
use crate::error::Error;
use crate::folder;
use crate::record::{Content, Kind, Record};
use crate::segment::{self, Walk};
use crate::survey::Survey;

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

/// The order of records, one after the other, of which those that a base holds are passed over.
#[derive(Clone, Copy)]
pub(crate) struct Chain {
    /// Up to which record there is a base.
    base: Option<u64>,
    /// The last record that was met.
    met: Option<u64>,
}

impl Chain {
    pub(crate) fn of(base: Option<&Reach>) -> Chain {
        Chain { base: base.and_then(|reach| reach.number), met: None }
    }

    /// The number of the last record, or of the base.
    pub(crate) fn last(&self) -> Option<u64> {
        self.met.max(self.base)
    }

    /// Whether it goes as far as the base.
    pub(crate) fn reaches_base(&self) -> bool {
        self.met >= self.base
    }

    /// Whether the next record is to be read, or in the base.
    pub(crate) fn admit(&mut self, path: &Path, number: u64, kind: Kind) -> Result<bool, Error> {
        let is_in_base = self.base.is_some_and(|base| number <= base);
        let last = if self.met.is_some() { self.met } else { self.base };
        // The first segment may begin anywhere before the base.
        let is_first = is_in_base && self.met.is_none();
        if !is_first && !follows(last, number, kind) {
            return Err(misplaced(path, last, number));
        }
        self.met = Some(number);
        Ok(!is_in_base)
    }
}

/// The records of a log in order. The first error ends them.
pub struct Records {
    disk: Arc<dyn Disk>,
    /// Files, and how many bytes of each were there.
    files: std::vec::IntoIter<(PathBuf, u64)>,
    walk: Option<Walk>,
    chain: Chain,
    has_ended: bool,
}

impl Records {
    pub(crate) fn of(disk: Arc<dyn Disk>, base: Option<&Reach>, files: Vec<(PathBuf, u64)>) -> Records {
        Records { disk, files: files.into_iter(), walk: None, chain: Chain::of(base), has_ended: false }
    }

    fn step(&mut self) -> Result<Option<Record>, Error> {
        loop {
            let Some(walk) = &mut self.walk else {
                let Some((path, len)) = self.files.next() else { return Ok(None) };
                let walk = Walk::open(&*self.disk, &path, Some(len))?;
                if walk.len < len {
                    return Err(Error::damaged(&path, walk.len, format!("the file ends before byte {len}")));
                }
                self.walk = Some(walk);
                continue;
            };
            let at = walk.at;
            let Some(head) = walk.head()? else {
                if at == 0 {
                    return Err(walk.damaged("the file ends inside a record"));
                }
                self.walk = None;
                continue;
            };
            let Content::Record(kind) = head.content else { return Err(walk.is_no_record(at)) };
            if self.chain.admit(&walk.path, head.number, kind)? {
                return Ok(Some(Record::of(head.number, kind, walk.rest(&head)?)));
            }
            walk.pass(&head)?;
        }
    }
}

impl Iterator for Records {
    type Item = Result<Record, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        let stepped = self.step().transpose();
        self.has_ended = !matches!(stepped, Some(Ok(_)));
        stepped
    }
}

/// The records of the log in a folder, behind its base if there is one. The folder is neither taken nor mended: a torn
/// tail is passed over.
pub fn read_all(folder: &Path) -> Result<Vec<Record>, Error> {
    let disk = real();
    folder::check_manifest(&*disk, folder)?;
    let survey = Survey::of(&*disk, folder)?;
    let mut files = Vec::new();
    for (at, (_, path)) in survey.living.iter().enumerate() {
        let is_last = at + 1 == survey.living.len();
        files.push((path.clone(), segment::scan(&*disk, path, is_last, |_, _, _| Ok(()))?.end));
    }
    Records::of(disk, survey.base.as_ref().map(|base| &base.reach), files).collect()
}
