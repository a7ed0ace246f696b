//! Bytes of a file by their place, for many threads, and the metadata of Parquet.

use std::fs::File;
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::PageIndexPolicy;
use parquet::file::reader::{ChunkReader, Length};

use crate::error::Error;
use crate::input::{Input, opened, read_at};

/// A file that is read at places; clones share it.
#[derive(Clone)]
pub(super) struct Placed {
    of: Of,
    len: u64,
    /// Bytes that were read of all files of a table.
    read: Arc<AtomicU64>,
}

#[derive(Clone)]
enum Of {
    File(Arc<File>),
    Bytes(Bytes),
}

impl Placed {
    pub(super) fn open(input: &Input, read: &Arc<AtomicU64>) -> Result<Placed, Error> {
        let (of, len) = match input {
            Input::Path(path) => {
                let (file, len) = opened(path)?;
                (Of::File(Arc::new(file)), len)
            }
            Input::Bytes(_, bytes) => (Of::Bytes(Bytes::from_owner(bytes.clone())), bytes.len() as u64),
        };
        Ok(Placed { of, len, read: read.clone() })
    }

    fn bytes(&self, start: u64, len: usize) -> io::Result<Bytes> {
        let short = || io::Error::new(io::ErrorKind::UnexpectedEof, "the file is shorter than it says");
        if start.checked_add(len as u64).is_none_or(|end| end > self.len) {
            return Err(short());
        }
        self.read.fetch_add(len as u64, Ordering::Relaxed);
        match &self.of {
            Of::Bytes(bytes) => Ok(bytes.slice(start as usize..start as usize + len)),
            Of::File(file) => {
                let mut buffer = vec![0; len];
                read_at(file, &mut buffer, start)?;
                Ok(buffer.into())
            }
        }
    }
}

impl Length for Placed {
    fn len(&self) -> u64 {
        self.len
    }
}

impl ChunkReader for Placed {
    type T = Onward;

    fn get_read(&self, start: u64) -> ParquetResult<Onward> {
        Ok(Onward { of: self.clone(), at: start, held: Bytes::new() })
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        self.bytes(start, length).map_err(|error| ParquetError::External(Box::new(error)))
    }
}

/// The bytes from a place on.
pub(super) struct Onward {
    of: Placed,
    at: u64,
    held: Bytes,
}

impl Read for Onward {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.held.is_empty() {
            let left = self.of.len.saturating_sub(self.at).min(64 << 10);
            self.held = self.of.bytes(self.at, left as usize)?;
            self.at += left;
        }
        let many = into.len().min(self.held.len());
        into[..many].copy_from_slice(&self.held.split_to(many));
        Ok(many)
    }
}

/// What a file says of itself.
pub(super) fn metadata(path: &str, file: &Placed) -> Result<ArrowReaderMetadata, Error> {
    let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Optional);
    guarded(path, || ArrowReaderMetadata::load(file, options))
}

/// What a decoder does with bytes that may be wrong: what it does not catch is its error too.
pub(super) fn guarded<R>(path: &str, work: impl FnOnce() -> ParquetResult<R>) -> Result<R, Error> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(done) => done.map_err(|error| told(path, "read", "it is no sound Parquet", error)),
        Err(_) => Err(Error::broken(path, "it is no sound Parquet: its decoder gave up")),
    }
}

/// What an encoder does.
pub(super) fn written<R>(path: &str, work: impl FnOnce() -> ParquetResult<R>) -> Result<R, Error> {
    work().map_err(|error| told(path, "write", "it cannot be written as Parquet", error))
}

fn told(path: &str, action: &'static str, what: &str, error: ParquetError) -> Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) if error.kind() != io::ErrorKind::UnexpectedEof => Error::io(action, path)(*error),
            Ok(error) => Error::broken(path, format!("it is no whole Parquet file: {error}")),
            Err(error) => Error::broken(path, format!("{what}: {error}")),
        },
        ParquetError::ArrowError(message) | ParquetError::General(message) | ParquetError::EOF(message) => {
            Error::broken(path, format!("{what}: {message}"))
        }
        error => Error::broken(path, format!("{what}: {error}")),
    }
}
