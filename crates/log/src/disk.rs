//! What the log asks of a file system, so that tests can put one in its place that loses power at any moment.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::sizes::GATHERED_BYTES;
use crate::torn::PIECE;

/// What the log asks of a file system. [`real`] is the machine's.
///
/// What is written to a file is durable after [`Written::sync`], a name (of a file that was made, renamed or removed)
/// after [`Disk::sync_folder`]; before that, any part of it may be there or not after a loss of power.
pub trait Disk: Send + Sync {
    /// Whether there is a folder of this name.
    fn is_folder(&self, path: &Path) -> io::Result<bool>;
    /// Makes one folder; the one above is there.
    fn make_folder(&self, path: &Path) -> io::Result<()>;
    /// Takes a lock, a file that is made if it is not there, until the guard is dropped; none if somebody has it.
    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Guard>>>;
    /// A new, empty file in the place of what had its name.
    fn create(&self, path: &Path) -> io::Result<Box<dyn Written>>;
    /// A file that is there, to be written at its end.
    fn append(&self, path: &Path) -> io::Result<Box<dyn Written>>;
    /// Writes over bytes of a file that is there; durable once it is synced.
    fn overwrite(&self, path: &Path, at: u64, bytes: &[u8]) -> io::Result<()>;
    /// A file that is there, to be read.
    fn open(&self, path: &Path) -> io::Result<Box<dyn Readable>>;
    /// The files of a folder, in any order.
    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>>;
    /// Gives a file another name of the same folder, in the place of what had it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Makes the names of a folder durable.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;
}

/// A file that is written at its end.
pub trait Written: Write + Send {
    /// Cuts the file to so many bytes.
    fn set_len(&mut self, len: u64) -> io::Result<()>;
    /// Makes what was written, and the length, durable.
    fn sync(&mut self) -> io::Result<()>;
    /// How long it is.
    fn len(&self) -> io::Result<u64>;
    /// Whether nothing is in it.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
}

/// Writes parts one after the other at this place, the end of a file: small ones gather, large ones are not copied.
///
/// Each write but the last ends where a piece of the disk does. So of a piece a crash leaves all that was written to it or
/// nothing, as [`crate::torn`] has it, and not what the first of two writes put there.
pub(crate) fn write_parts<'a>(
    file: &mut dyn Written,
    mut at: u64,
    parts: impl Iterator<Item = &'a [u8]>,
) -> io::Result<()> {
    let most = GATHERED_BYTES.rows() as usize;
    let mut gathered: Vec<u8> = Vec::new();
    for mut part in parts {
        if part.len() >= most {
            let room = (at + gathered.len() as u64).next_multiple_of(PIECE) - at - gathered.len() as u64;
            let (first, rest) = part.split_at(part.len().min(room as usize));
            gathered.extend_from_slice(first);
            let (whole, last) = rest.split_at(rest.len() - rest.len() % PIECE as usize);
            if !whole.is_empty() {
                file.write_all(&gathered)?;
                file.write_all(whole)?;
                at += (gathered.len() + whole.len()) as u64;
                gathered.clear();
            }
            part = last;
        }
        gathered.extend_from_slice(part);
        let open = ((at + gathered.len() as u64) % PIECE) as usize;
        if gathered.len() >= most && gathered.len() > open {
            let whole = gathered.len() - open;
            file.write_all(&gathered[..whole])?;
            at += whole as u64;
            gathered.drain(..whole);
        }
    }
    file.write_all(&gathered)
}

/// A file that is read.
pub trait Readable: Read + Seek + Send {}

impl<F: Read + Seek + Send> Readable for F {}

/// A lock that is held until this is dropped.
pub trait Guard: Send + Sync {}

impl<G: Send + Sync> Guard for G {}

/// The file system of the machine.
pub fn real() -> Arc<dyn Disk> {
    Arc::new(Real)
}

struct Real;

impl Disk for Real {
    fn is_folder(&self, path: &Path) -> io::Result<bool> {
        Ok(path.is_dir())
    }

    fn make_folder(&self, path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Guard>>> {
        let file = File::options().create(true).truncate(false).write(true).open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Box::new(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn Written>> {
        let file = File::options().create(true).append(true).open(path)?;
        file.set_len(0)?;
        Ok(Box::new(file))
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn Written>> {
        Ok(Box::new(File::options().append(true).open(path)?))
    }

    fn overwrite(&self, path: &Path, at: u64, bytes: &[u8]) -> io::Result<()> {
        let mut file = File::options().write(true).open(path)?;
        file.seek(SeekFrom::Start(at))?;
        file.write_all(bytes)
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Readable>> {
        Ok(Box::new(File::open(path)?))
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }
}

impl Written for File {
    fn set_len(&mut self, len: u64) -> io::Result<()> {
        File::set_len(self, len)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
}
