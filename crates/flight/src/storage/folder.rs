//! A folder, and what has a name in it. Nothing that is done here leaves it.
//!
//! A folder is held open where the system can name what is open (Linux): each step is by one name in the folder before, so that
//! nobody who renames or replaces a folder meanwhile leads a step elsewhere. Links are not followed: they are not there.

use std::fs::{self, File, Metadata};
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// What names of files begin with that are being written.
pub(super) const UNFINISHED: &str = ".tickframe-";

pub(super) struct Folder {
    /// It is its path as long as it is open.
    _held: Option<File>,
    path: PathBuf,
}

/// What has a name.
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) is_folder: bool,
    pub(super) bytes: u64,
    pub(super) etag: String,
}

#[cfg(target_os = "linux")]
fn held(path: &Path) -> Result<(Option<File>, PathBuf)> {
    use std::os::fd::AsRawFd;
    let file = File::open(path)?;
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    Ok((Some(file), path))
}

#[cfg(not(target_os = "linux"))]
fn held(path: &Path) -> Result<(Option<File>, PathBuf)> {
    Ok((None, path.to_owned()))
}

/// Whether what was opened is what was seen: no link, and nothing that took its place.
#[cfg(unix)]
fn is_same(seen: &Metadata, opened: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (seen.dev(), seen.ino()) == (opened.dev(), opened.ino())
}

#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    true
}

fn gone() -> Error {
    Error::from(ErrorKind::NotFound)
}

/// What tells a state of a file from others.
fn etag(of: &Metadata) -> String {
    let changed = of.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    format!("{:x}-{:x}", changed.as_nanos(), of.len())
}

impl Folder {
    /// The folder at a path of this machine.
    pub(super) fn open(path: &Path) -> Result<Folder> {
        let path = fs::canonicalize(path)?;
        if !fs::metadata(&path)?.is_dir() {
            return Err(Error::from(ErrorKind::NotADirectory));
        }
        let (held, path) = held(&path)?;
        Ok(Folder { _held: held, path })
    }

    /// A folder in this one.
    pub(super) fn step(&self, name: &str) -> Result<Folder> {
        let path = self.path.join(name);
        let seen = self.seen(name)?;
        if !seen.is_dir() {
            return Err(Error::from(ErrorKind::NotADirectory));
        }
        let (held, path) = held(&path)?;
        match &held {
            Some(file) if !is_same(&seen, &file.metadata()?) => Err(gone()),
            _ => Ok(Folder { _held: held, path }),
        }
    }

    /// The folder behind these names.
    pub(super) fn walk(&self, names: &[&str]) -> Result<Option<Folder>> {
        let mut at = None;
        for name in names {
            at = Some(at.as_ref().unwrap_or(self).step(name)?);
        }
        Ok(at)
    }

    /// What is known of a file or a folder.
    fn seen(&self, name: &str) -> Result<Metadata> {
        let seen = fs::symlink_metadata(self.path.join(name))?;
        if seen.is_dir() || seen.is_file() { Ok(seen) } else { Err(gone()) }
    }

    /// A file or a folder.
    pub(super) fn entry(&self, name: &str) -> Result<Entry> {
        let seen = self.seen(name)?;
        let bytes = if seen.is_file() { seen.len() } else { 0 };
        Ok(Entry { name: name.to_owned(), is_folder: seen.is_dir(), bytes, etag: etag(&seen) })
    }

    /// What has a name that something else is to have; a link keeps it.
    pub(super) fn taken(&self, name: &str) -> Result<Option<Entry>> {
        match fs::symlink_metadata(self.path.join(name)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
            Ok(seen) if seen.is_dir() || seen.is_file() => self.entry(name).map(Some),
            Ok(_) => Err(Error::from(ErrorKind::AlreadyExists)),
        }
    }

    /// What is in it, by name; more than so many are an error.
    pub(super) fn entries(&self, most: usize) -> Result<Vec<Entry>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            // A name that is no text cannot be sent.
            let Ok(name) = entry?.file_name().into_string() else { continue };
            if name.starts_with(UNFINISHED) {
                continue;
            }
            // What is a link, or gone meanwhile, is not there.
            let Ok(entry) = self.entry(&name) else { continue };
            if found.len() == most {
                return Err(Error::from(ErrorKind::QuotaExceeded));
            }
            found.push(entry);
        }
        found.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(found)
    }

    /// The bytes of a file, which may be so many, and its etag.
    pub(super) fn read(&self, name: &str, most: u64) -> Result<(Vec<u8>, String)> {
        let seen = self.seen(name)?;
        if seen.is_dir() {
            return Err(Error::from(ErrorKind::IsADirectory));
        }
        let file = File::open(self.path.join(name))?;
        let opened = file.metadata()?;
        if !is_same(&seen, &opened) {
            return Err(gone());
        }
        let mut bytes = Vec::new();
        file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most { Err(Error::from(ErrorKind::FileTooLarge)) } else { Ok((bytes, etag(&opened))) }
    }

    /// Writes a file whole: nobody reads half of it. What has the name is replaced.
    pub(super) fn write(&self, name: &str, bytes: &[u8], aside: &str) -> Result<()> {
        let aside = self.path.join(format!("{UNFINISHED}{aside}"));
        let written = File::create_new(&aside).and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()
        });
        let named = written.and_then(|()| fs::rename(&aside, self.path.join(name)));
        if named.is_err() {
            _ = fs::remove_file(&aside);
        }
        named
    }

    /// Gives a file or a folder another name, in another folder. What has that name is replaced.
    pub(super) fn rename(&self, name: &str, to: &Folder, new: &str) -> Result<()> {
        self.seen(name)?;
        fs::rename(self.path.join(name), to.path.join(new))
    }

    pub(super) fn create(&self, name: &str) -> Result<()> {
        fs::create_dir(self.path.join(name))
    }

    /// Removes a file, or a folder that is empty.
    pub(super) fn remove(&self, name: &str) -> Result<()> {
        let path = self.path.join(name);
        if self.seen(name)?.is_dir() { fs::remove_dir(path) } else { fs::remove_file(path) }
    }
}
