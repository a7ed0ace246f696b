//! Files that are there as a whole or not at all: written aside, synced, renamed.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Error;
use crate::found::folder;

static NEXT: AtomicU64 = AtomicU64::new(0);

/// A file that is being written. Nobody sees it under its name before [`Whole::commit`]; let go without that, it was never
/// there.
pub struct Whole {
    path: PathBuf,
    aside: PathBuf,
    file: Option<BufWriter<File>>,
}

impl Whole {
    /// Begins a file. Its directory is made if it is not there.
    pub fn create(path: &Path) -> Result<Whole, Error> {
        let name = path.display().to_string();
        if path.is_dir() {
            return Err(Error::io("write", &name)(std::io::ErrorKind::IsADirectory.into()));
        }
        if path.file_name().is_none() {
            return Err(Error::broken(&name, "it is no name of a file"));
        }
        let parent = parent(path);
        if !parent.exists() {
            std::fs::create_dir_all(&parent).map_err(Error::io("create the directory of", &name))?;
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let aside = format!(".{}-{number}.partial", std::process::id());
        let aside = parent.join(aside);
        let file = OpenOptions::new().write(true).create_new(true).open(&aside).map_err(Error::io("write", &name))?;
        Ok(Whole { path: path.to_path_buf(), aside, file: Some(BufWriter::with_capacity(1 << 20, file)) })
    }

    /// Where its bytes go.
    pub fn writer(&mut self) -> &mut (dyn Write + Send) {
        self.file.as_mut().expect("it is committed once, and then gone")
    }

    /// What it will be called, for errors.
    pub fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Puts the file in its place: its bytes are on disk, and so is its name.
    pub fn commit(mut self) -> Result<(), Error> {
        let name = self.name();
        let file = self.file.take().expect("it is committed once");
        let file = file.into_inner().map_err(|error| Error::io("write", &name)(error.into_error()))?;
        file.sync_all().map_err(Error::io("sync", &name))?;
        drop(file);
        std::fs::rename(&self.aside, &self.path).map_err(Error::io("rename into", &name))?;
        synced(&parent(&self.path)).map_err(Error::io("sync the directory of", &name))
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        // After the rename there is nothing by this name.
        let _ = std::fs::remove_file(&self.aside);
    }
}

/// The names of a directory are on disk.
#[cfg(unix)]
fn synced(folder: &Path) -> std::io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Directories are not opened there, and a rename is on disk when the file is.
#[cfg(not(unix))]
fn synced(_folder: &Path) -> std::io::Result<()> {
    Ok(())
}

fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// The directories of a row's values: `day=2024-05-01/venue=X`.
pub fn partition_folders(root: &Path, values: &[(&str, Option<&str>)]) -> PathBuf {
    values.iter().fold(root.to_path_buf(), |path, (key, value)| path.join(folder(key, *value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("tickframe-whole-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        folder
    }

    #[test]
    fn a_file_is_there_once_it_is_committed() {
        let root = scratch("commit");
        let path = root.join("deep/er/a.csv");
        let mut file = Whole::create(&path).expect("it can be made");
        file.writer().write_all(b"a\n1\n").expect("it can be written");
        assert!(!path.exists());
        file.commit().expect("it can be renamed");
        assert_eq!(std::fs::read(&path).expect("it is there"), b"a\n1\n");
        assert_eq!(std::fs::read_dir(root.join("deep/er")).expect("its folder").count(), 1);
        std::fs::remove_dir_all(root).expect("it can be removed");
    }

    #[test]
    fn what_is_let_go_was_never_there() {
        let root = scratch("gone");
        let path = root.join("a.csv");
        std::fs::create_dir_all(&root).expect("a folder");
        std::fs::write(&path, "old").expect("a file");
        let mut file = Whole::create(&path).expect("it can be made");
        file.writer().write_all(b"new").expect("it can be written");
        drop(file);
        assert_eq!(std::fs::read(&path).expect("it is there"), b"old");
        assert_eq!(std::fs::read_dir(&root).expect("its folder").count(), 1);
        std::fs::remove_dir_all(root).expect("it can be removed");
    }
}
