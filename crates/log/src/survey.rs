//! What of a folder counts: the newest base, or the last record with all there is, and the segments behind it.

use std::path::{Path, PathBuf};

use crate::base::{self, Named};
use crate::disk::Disk;
use crate::error::Error;
use crate::segment;

/// What stands in a folder.
pub(crate) struct Survey {
    /// The base that the log stands on.
    pub(crate) base: Option<Named>,
    /// The segments that count, by place. None is missing between them.
    pub(crate) living: Vec<(u64, PathBuf)>,
    /// What something newer replaces.
    pub(crate) dead: Vec<PathBuf>,
}

impl Survey {
    pub(crate) fn of(disk: &dyn Disk, folder: &Path) -> Result<Survey, Error> {
        let mut bases = base::all(disk, folder)?;
        let mut base = bases.pop().map(|(number, path)| Named::open(disk, number, &path)).transpose()?;
        let mut dead: Vec<PathBuf> = bases.into_iter().map(|(_, path)| path).collect();
        let mut all = segment::all(disk, folder)?;
        // From where on segments count, and whether those before are of use.
        let mut first = base.as_ref().map(|base| base.reach.segment);
        for (place, path) in all.iter().rev().take_while(|(place, _)| first.is_none_or(|first| *place >= first)) {
            let Some(whole) = segment::whole(disk, path)? else { continue };
            if base.as_ref().is_none_or(|base| base.reach.is_behind(*place, whole)) {
                dead.extend(base.take().map(|base| base.path));
                first = Some(*place);
            }
            break;
        }
        let begun = first.unwrap_or(0);
        let living = all.split_off(all.partition_point(|(place, _)| *place < begun));
        dead.extend(all.into_iter().map(|(_, path)| path));
        missing(folder, base.as_ref(), first, &living)?;
        Ok(Survey { base, living, dead })
    }
}

/// A segment that is not there and was: the nearest before one that is.
fn missing(folder: &Path, base: Option<&Named>, first: Option<u64>, living: &[(u64, PathBuf)]) -> Result<(), Error> {
    let gone = |place: u64, later: &Path| Error::Missing {
        path: folder.join(segment::name(place)),
        later: later.to_path_buf(),
    };
    let begun = match (first, living.first()) {
        (Some(first), _) => first,
        (None, Some((place, _))) => place.saturating_sub(1),
        (None, None) => 0,
    };
    for (wanted, (place, path)) in (begun..).zip(living) {
        if *place != wanted {
            return Err(gone(wanted, path));
        }
    }
    match base {
        Some(base) if base.reach.has_segment && living.is_empty() => Err(gone(base.reach.segment, &base.path)),
        _ => Ok(()),
    }
}
