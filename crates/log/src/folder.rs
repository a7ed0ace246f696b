//! The folder of a log: who owns it, what it says of itself, and files that are there whole or not at all.

use std::fs::{self, File, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::error::Error;

/// The format that this version writes and reads.
pub(crate) const FORMAT: u32 = 2;
const MANIFEST: &str = "MANIFEST.json";
const LOCK: &str = "LOCK";
const PART: &str = "part";

/// A folder that belongs to one log for as long as this lives.
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
    /// Held for its lock.
    _lock: File,
}

impl Folder {
    /// Takes the folder, and makes it if it is not there.
    pub(crate) fn take(path: &Path) -> Result<Folder, Error> {
        make(path)?;
        let lock = path.join(LOCK);
        let file = File::options().create(true).truncate(false).write(true).open(&lock);
        let file = file.map_err(Error::io("open", &lock))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Error::Locked { path: path.to_path_buf() }),
            Err(TryLockError::Error(source)) => return Err(Error::io("lock", &lock)(source)),
        }
        let folder = Folder { path: path.to_path_buf(), _lock: file };
        if !check_manifest(path)? {
            folder.replace(MANIFEST, format!("{{\"format\": {FORMAT}}}\n").as_bytes())?;
        }
        Ok(folder)
    }

    /// Puts a file in the place of another, or of none: after a crash there is the old or the new one.
    pub(crate) fn replace(&self, name: &str, content: &[u8]) -> Result<(), Error> {
        let target = self.path.join(name);
        let part = target.with_extension(PART);
        let mut file = File::create(&part).map_err(Error::io("make", &part))?;
        file.write_all(content).map_err(Error::io("write", &part))?;
        file.sync_all().map_err(Error::io("sync", &part))?;
        fs::rename(&part, &target).map_err(Error::io("rename", &part))?;
        sync(&self.path)
    }

    /// Takes away what a crash left unfinished.
    pub(crate) fn tidy(&self) -> Result<(), Error> {
        for path in entries(&self.path)? {
            if path.extension().is_some_and(|extension| extension == PART) {
                fs::remove_file(&path).map_err(Error::io("remove", &path))?;
            }
        }
        Ok(())
    }
}

/// Makes a folder and those above it, durably: a name is only safe once the folder that holds it is.
fn make(path: &Path) -> Result<(), Error> {
    if path.is_dir() {
        return Ok(());
    }
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    make(above)?;
    match fs::create_dir(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(Error::io("make the folder", path)(error)),
        _ => sync(above),
    }
}

/// Makes the names in a folder durable.
pub(crate) fn sync(folder: &Path) -> Result<(), Error> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(Error::io("sync", folder))
}

/// The files of a folder, by name.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let read = || fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>();
    let mut paths = read().map_err(Error::io("list", folder))?;
    paths.sort_unstable();
    Ok(paths)
}

/// Whether the folder says of itself that it is a log, of the format known here; an empty one says nothing.
pub(crate) fn check_manifest(folder: &Path) -> Result<bool, Error> {
    let path = folder.join(MANIFEST);
    let text = match fs::read(&path) {
        Ok(text) => String::from_utf8_lossy(&text).into_owned(),
        Err(error) if error.kind() == ErrorKind::NotFound => return refuse_foreign(folder).map(|()| false),
        Err(error) => return Err(Error::io("read", &path)(error)),
    };
    let after = text.split_once("\"format\"").map_or("", |(_, after)| after);
    let found: String = after.trim_start_matches([':', ' ']).chars().take_while(char::is_ascii_digit).collect();
    if found.parse() == Ok(FORMAT) {
        return Ok(true);
    }
    let found = if found.is_empty() { "no number".into() } else { found };
    Err(Error::Format { path: folder.to_path_buf(), found, known: FORMAT })
}

fn refuse_foreign(folder: &Path) -> Result<(), Error> {
    let ours = |path: &Path| path.extension().is_some_and(|extension| extension == PART) || path.ends_with(LOCK);
    match entries(folder)?.iter().find(|path| !ours(path)) {
        None => Ok(()),
        Some(other) => {
            let found = other.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Err(Error::Foreign { path: folder.to_path_buf(), found })
        }
    }
}
