//! Where bytes come from: a file, which may be compressed, or memory.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Error;

/// Something to read.
#[derive(Clone, Debug)]
pub enum Input {
    /// A file by its path.
    Path(PathBuf),
    /// Bytes, and what they are called in errors.
    Bytes(String, Arc<[u8]>),
}

/// Who is told how many bytes are done, of how many; false ends the work.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64) -> bool;

impl Input {
    /// What it is called in errors.
    pub fn name(&self) -> String {
        match self {
            Input::Path(path) => path.display().to_string(),
            Input::Bytes(name, _) => name.clone(),
        }
    }

    /// Its bytes as they lie, compressed or not.
    pub fn size(&self) -> Result<u64, Error> {
        match self {
            Input::Path(path) => Ok(opened(path)?.1),
            Input::Bytes(_, bytes) => Ok(bytes.len() as u64),
        }
    }

    /// Its bytes, decompressed if they are gzip or zstd.
    pub(crate) fn open(&self) -> Result<Flow, Error> {
        let done = Arc::new(AtomicU64::new(0));
        let counted = done.clone();
        let raw: Box<dyn Read + Send> = match self {
            Input::Path(path) => Box::new(Counted { of: opened(path)?.0, done: counted }),
            Input::Bytes(_, bytes) => Box::new(Counted { of: Cursor::new(bytes.clone()), done: counted }),
        };
        let name = self.name();
        let mut raw = raw;
        let mut first = [0; 4];
        let mut many = 0;
        while many < first.len() {
            match raw.read(&mut first[many..]).map_err(Error::io("read", &name))? {
                0 => break,
                more => many += more,
            }
        }
        let whole: Box<dyn Read + Send> = Box::new(Cursor::new(first[..many].to_vec()).chain(raw));
        // Names lie: what is compressed begins so.
        let bytes: Box<dyn Read + Send> = match first {
            [0x1f, 0x8b, ..] => Box::new(flate2::read::MultiGzDecoder::new(whole)),
            [0x28, 0xb5, 0x2f, 0xfd] => {
                Box::new(zstd::stream::read::Decoder::new(whole).map_err(Error::io("read", &name))?)
            }
            _ => whole,
        };
        Ok(Flow { name, bytes, done, size: self.size()? })
    }
}

/// A file that can be read, and its size.
pub(crate) fn opened(path: &Path) -> Result<(File, u64), Error> {
    let name = path.display().to_string();
    // A pipe without a writer would be waited for.
    let told = std::fs::metadata(path).map_err(Error::io("open", &name))?;
    if !told.is_file() {
        let what = if told.is_dir() { "a directory" } else { "neither a file nor a directory" };
        return Err(Error::broken(&name, format!("it is {what}, and a file is read")));
    }
    let file = File::open(path).map_err(Error::io("open", &name))?;
    Ok((file, told.len()))
}

/// The bytes of an input as they come.
pub(crate) struct Flow {
    pub(crate) name: String,
    bytes: Box<dyn Read + Send>,
    done: Arc<AtomicU64>,
    pub(crate) size: u64,
}

impl Flow {
    /// Appends at most so many bytes; whether that was all there are.
    pub(crate) fn fill(&mut self, block: &mut Vec<u8>, most: usize) -> Result<bool, Error> {
        limits::ask(most as u64).map_err(Error::exhausted(&self.name))?;
        block.reserve(most);
        let read = (&mut self.bytes).take(most as u64).read_to_end(block).map_err(Error::io("read", &self.name))?;
        Ok(read < most)
    }

    /// Works on what is there while the next bytes are read, at most so many: what the work gave, the bytes, and whether they
    /// were all that was left.
    pub(crate) fn beside<R>(&mut self, most: usize, work: impl FnOnce() -> R) -> (R, Result<(Vec<u8>, bool), Error>) {
        let slot = Mutex::new(Some(self));
        let read = || {
            let flow = slot.lock().unwrap_or_else(PoisonError::into_inner).take().expect("it is read once");
            let mut next = Vec::new();
            let whole = flow.fill(&mut next, most)?;
            Ok((next, whole))
        };
        std::thread::scope(|scope| {
            // Without a thread for it, it is read afterwards.
            let reading = std::thread::Builder::new().spawn_scoped(scope, read).ok();
            let done = work();
            let next = match reading {
                Some(reading) => reading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                None => read(),
            };
            (done, next)
        })
    }

    /// How many bytes of the file were read.
    pub(crate) fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }
}

struct Counted<R> {
    of: R,
    done: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let read = self.of.read(into)?;
        self.done.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}
