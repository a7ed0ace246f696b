//! The folder of a log: who owns it, what it says of itself, and files that are there whole or not at all.

use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use crate::disk::{Disk, Guard, Written, write_parts};
use crate::error::Error;

/// The format of records in segments, and that of a folder which may hold a base.
pub(crate) const RECORDS: u32 = 2;
pub(crate) const BASES: u32 = 3;
const MANIFEST: &str = "MANIFEST.json";
const LOCK: &str = "LOCK";
pub(crate) const PART: &str = "part";

/// A folder that belongs to one log, and to a base that is written for it, for as long as one of them lives.
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
    pub(crate) disk: Arc<dyn Disk>,
    /// What the manifest says.
    format: Mutex<u32>,
    /// Whether a base is being written.
    pub(crate) has_base_writer: AtomicBool,
    _lock: Box<dyn Guard>,
}

impl Folder {
    /// Takes the folder, and makes it if it is not there.
    pub(crate) fn take(disk: Arc<dyn Disk>, path: &Path) -> Result<Folder, Error> {
        make(&*disk, path)?;
        let lock = path.join(LOCK);
        let guard = disk.lock(&lock).map_err(Error::io("lock", &lock))?;
        let guard = guard.ok_or_else(|| Error::Locked { path: path.to_path_buf() })?;
        let found = check_manifest(&*disk, path)?;
        if found.is_none() {
            // The folder may have been made by an owner that died before its name was durable.
            settle(&*disk, path)?;
        }
        let folder = Folder {
            path: path.to_path_buf(),
            disk,
            format: Mutex::new(found.unwrap_or(0)),
            has_base_writer: AtomicBool::new(false),
            _lock: guard,
        };
        folder.declare(RECORDS)?;
        Ok(folder)
    }

    /// Says in the manifest, durably, that the folder is of this format, if it does not say so or more.
    pub(crate) fn declare(&self, format: u32) -> Result<(), Error> {
        let mut known = self.format.lock().unwrap_or_else(PoisonError::into_inner);
        if *known < format {
            let manifest = format!("{{\"format\": {format}}}\n");
            self.replace(MANIFEST, std::iter::once(manifest.as_bytes())).map_err(|(error, _)| error)?;
            *known = format;
        }
        Ok(())
    }

    /// Puts a file in the place of another, or of none: after a crash there is the old or the new one. On failure it is
    /// said whether the new one may be there.
    pub(crate) fn replace<'a>(
        &self,
        name: &str,
        content: impl Iterator<Item = &'a [u8]>,
    ) -> Result<Box<dyn Written>, (Error, bool)> {
        let target = self.path.join(name);
        let part = target.with_extension(PART);
        let write = || {
            let mut file = self.disk.create(&part).map_err(Error::io("make", &part))?;
            write_parts(&mut *file, 0, content).map_err(Error::io("write", &part))?;
            file.sync().map_err(Error::io("sync", &part))?;
            Ok(file)
        };
        let file = write().map_err(|error| {
            // Room is given back; what stays is taken away by the next owner.
            let _ = self.disk.remove(&part);
            (error, false)
        })?;
        self.name(&part, &target)?;
        Ok(file)
    }

    /// Gives a synced file its name, durably. On failure it is said whether it may have it.
    pub(crate) fn name(&self, part: &Path, target: &Path) -> Result<(), (Error, bool)> {
        if let Err(source) = self.disk.rename(part, target) {
            let _ = self.disk.remove(part);
            return Err((Error::io("rename", part)(source), true));
        }
        self.sync().map_err(|error| (error, true))
    }

    /// Makes the names in the folder durable.
    pub(crate) fn sync(&self) -> Result<(), Error> {
        self.disk.sync_folder(&self.path).map_err(Error::io("sync", &self.path))
    }

    pub(crate) fn remove(&self, path: &Path) -> Result<(), Error> {
        match self.disk.remove(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io("remove", path)(error)),
            _ => Ok(()),
        }
    }

    /// Takes away what a crash left unfinished.
    pub(crate) fn tidy(&self) -> Result<(), Error> {
        let paths = entries(&*self.disk, &self.path)?;
        paths
            .iter()
            .filter(|path| path.extension().is_some_and(|end| end == PART))
            .try_for_each(|path| self.remove(path))
    }
}

fn above(path: &Path) -> &Path {
    path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes a folder and those above it, durably: a name is only safe once the folder that holds it is.
fn make(disk: &dyn Disk, path: &Path) -> Result<(), Error> {
    if disk.is_folder(path).map_err(Error::io("look at", path))? {
        return Ok(());
    }
    let above = above(path);
    if disk.is_folder(above).map_err(Error::io("look at", above))? {
        settle(disk, above)?;
    } else {
        make(disk, above)?;
    }
    match disk.make_folder(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(Error::io("make the folder", path)(error)),
        _ => disk.sync_folder(above).map_err(Error::io("sync", above)),
    }
}

/// Makes the name of a folder that was there durable. One above it that we may not read was not made by us.
fn settle(disk: &dyn Disk, path: &Path) -> Result<(), Error> {
    if path.parent().is_none() || path == Path::new(".") {
        return Ok(());
    }
    match disk.sync_folder(above(path)) {
        Err(error) if error.kind() != ErrorKind::PermissionDenied => Err(Error::io("sync", above(path))(error)),
        _ => Ok(()),
    }
}

/// The files of a folder, by name.
pub(crate) fn entries(disk: &dyn Disk, folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut paths = disk.list(folder).map_err(Error::io("list", folder))?;
    paths.sort_unstable();
    Ok(paths)
}

/// A small file as it is.
pub(crate) fn content(disk: &dyn Disk, path: &Path) -> Result<Option<Vec<u8>>, Error> {
    let read = || {
        let mut content = Vec::new();
        disk.open(path)?.read_to_end(&mut content)?;
        Ok::<_, io::Error>(content)
    };
    match read() {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("read", path)(error)),
    }
}

/// The format that the folder says it is of, if it is one of those known here; an empty one says nothing.
pub(crate) fn check_manifest(disk: &dyn Disk, folder: &Path) -> Result<Option<u32>, Error> {
    let Some(text) = content(disk, &folder.join(MANIFEST))? else {
        return refuse_foreign(disk, folder).map(|()| None);
    };
    let text = String::from_utf8_lossy(&text).into_owned();
    let after = text.split_once("\"format\"").map_or("", |(_, after)| after);
    let found: String = after.trim_start_matches([':', ' ']).chars().take_while(char::is_ascii_digit).collect();
    match found.parse() {
        Ok(format @ (RECORDS | BASES)) => Ok(Some(format)),
        _ => {
            let found = if found.is_empty() { "no number".into() } else { found };
            Err(Error::Format { path: folder.to_path_buf(), found, known: BASES })
        }
    }
}

fn refuse_foreign(disk: &dyn Disk, folder: &Path) -> Result<(), Error> {
    let ours = |path: &Path| path.extension().is_some_and(|extension| extension == PART) || path.ends_with(LOCK);
    match entries(disk, folder)?.iter().find(|path| !ours(path)) {
        None => Ok(()),
        Some(other) => {
            let found = other.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Err(Error::Foreign { path: folder.to_path_buf(), found })
        }
    }
}
