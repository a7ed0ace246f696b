//! Where bytes come from: a file, which may be compressed, or memory.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use graph::lock;

use crate::error::Error;
use crate::sizes::LONGEST;
use crate::threads::{beside, map};

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
        Ok(Flow { name, bytes, done, size: self.size()?, failed: None })
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

/// Reads the bytes at a place, all of them.
#[cfg(unix)]
pub(crate) fn read_at(file: &File, into: &mut [u8], at: u64) -> std::io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, into, at)
}

/// Reads the bytes at a place, all of them.
#[cfg(windows)]
pub(crate) fn read_at(file: &File, mut into: &mut [u8], mut at: u64) -> std::io::Result<()> {
    while !into.is_empty() {
        let read = std::os::windows::fs::FileExt::seek_read(file, into, at)?;
        if read == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        into = &mut into[read..];
        at += read as u64;
    }
    Ok(())
}

/// Bytes of a file that one thread reads at a time.
const SHARE: usize = 4 << 20;

/// All bytes of a file, read by several threads.
pub(crate) fn all_bytes(path: &Path) -> Result<Vec<u8>, Error> {
    let name = path.display().to_string();
    let (file, len) = opened(path)?;
    limits::ask(len).map_err(Error::exhausted(&name))?;
    let mut bytes = vec![0; usize::try_from(len).unwrap_or(usize::MAX)];
    let shares: Vec<Mutex<&mut [u8]>> = bytes.chunks_mut(SHARE).map(Mutex::new).collect();
    let numbered: Vec<usize> = (0..shares.len()).collect();
    let read = map(&numbered, |at| {
        let mut share = lock(&shares[*at]);
        read_at(&file, &mut share, (at * SHARE) as u64)
    });
    read.into_iter().collect::<std::io::Result<()>>().map_err(Error::io("read", &name))?;
    Ok(bytes)
}

/// The bytes of an input as they come.
pub(crate) struct Flow {
    pub(crate) name: String,
    bytes: Box<dyn Read + Send>,
    done: Arc<AtomicU64>,
    pub(crate) size: u64,
    /// What is told at the end.
    failed: Option<Error>,
}

impl Flow {
    /// Appends at most so many bytes; whether that was all there are.
    pub(crate) fn fill(&mut self, block: &mut Vec<u8>, most: usize) -> Result<bool, Error> {
        limits::ask(most as u64).map_err(Error::exhausted(&self.name))?;
        block.reserve(most);
        let read = (&mut self.bytes).take(most as u64).read_to_end(block).map_err(Error::io("read", &self.name))?;
        match self.failed.take_if(|_| read < most) {
            Some(error) => Err(error),
            None => Ok(read < most),
        }
    }

    /// Reads so many bytes, fewer at the end, to a place in memory that is made longer where it has to be.
    pub(crate) fn read(&mut self, into: &mut Vec<u8>, from: usize, many: usize) -> Result<usize, Error> {
        if into.len() < from + many {
            limits::ask((from + many - into.len()) as u64).map_err(Error::exhausted(&self.name))?;
            // With room for a longer rest of the piece before it, so that memory is not moved for a few bytes.
            into.reserve_exact(from + many + GAP - into.len());
            into.resize(from + many, 0);
        }
        let mut read = 0;
        while read < many {
            match self.bytes.read(&mut into[from + read..from + many]) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io("read", &self.name)(error)),
            }
        }
        Ok(read)
    }

    /// The flow with texts before what is not read yet; after them nothing but an error, if there was one.
    pub(crate) fn after(mut self, texts: Vec<Vec<u8>>, failed: Option<Error>) -> Flow {
        if failed.is_some() {
            self.bytes = Box::new(std::io::empty());
        }
        for text in texts.into_iter().rev() {
            self.bytes = Box::new(Cursor::new(text).chain(self.bytes));
        }
        Flow { failed, ..self }
    }

    /// How many bytes of the file were read.
    pub(crate) fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }
}

/// Room before what is read, into which what is left of the block before it is copied.
const GAP: usize = 64 << 10;

/// A text that is worked on in blocks while the next one is read; what one leaves begins the next.
pub(crate) struct Blocks {
    flow: Flow,
    block: Vec<u8>,
    /// Where in the block the text begins that is not done.
    from: usize,
    /// Lines of the file before it.
    lines: u64,
    /// Whether the block ends with the file.
    whole: bool,
    spare: Vec<u8>,
    /// Bytes that are read at a time.
    bytes: usize,
}

/// The text of a block that is to be worked on.
#[derive(Clone, Copy)]
pub(crate) struct Block<'a> {
    pub(crate) text: &'a [u8],
    /// Lines of the file before it.
    pub(crate) lines: u64,
    /// Whether it ends with the file.
    pub(crate) whole: bool,
}

/// How far the work on a block came.
pub(crate) struct Done {
    /// Bytes of the text that are done with.
    pub(crate) bytes: usize,
    /// Line breaks in them.
    pub(crate) lines: u64,
    /// Whether the rest of the file is of no interest.
    pub(crate) enough: bool,
}

impl Blocks {
    /// Goes on with a flow of which a block is there and its first bytes are done with. A record of more than `LONGEST` bytes
    /// is an error.
    pub(crate) fn new(flow: Flow, block: Vec<u8>, from: usize, whole: bool, bytes: usize) -> Blocks {
        let lines = memchr::memchr_iter(b'\n', &block[..from]).count() as u64;
        Blocks { flow, block, from, lines, whole, spare: Vec::new(), bytes: bytes.min(LONGEST) }
    }

    /// With so many lines of the file before all this.
    pub(crate) fn behind(mut self, lines: u64) -> Blocks {
        self.lines += lines;
        self
    }

    /// Works on block after block to the end, or as far as progress says.
    pub(crate) fn each(
        mut self,
        mut work: impl FnMut(Block) -> Result<Done, Error>,
        progress: Progress,
    ) -> Result<(), Error> {
        loop {
            // The first blocks are small, so that no thread waits for the next one to be read.
            let own = self.block.len() - self.from;
            let next = self.bytes.min(4 * own.max(GAP)).max(own);
            let Blocks { flow, block, from, lines, whole, spare, .. } = &mut self;
            let now = Block { text: &block[*from..], lines: *lines, whole: *whole };
            let mut done = None;
            let mut worked = || done = Some(work(now));
            let read = match *whole {
                true => {
                    worked();
                    Ok(true)
                }
                false => beside(
                    || {
                        spare.clear();
                        spare.resize(GAP, 0);
                        flow.fill(spare, next)
                    },
                    worked,
                ),
            };
            let Some(done) = done.transpose()? else { return Ok(()) };
            if done.enough {
                return Ok(());
            }
            if !progress(self.flow.done(), self.flow.size) {
                return Err(Error::Ended);
            }
            if self.whole {
                return Ok(());
            }
            self.lines += done.lines;
            self.from += done.bytes;
            if self.block.len() - self.from > LONGEST {
                let message = format!("a record of more than {} MB; is a quote in it not closed?", LONGEST >> 20);
                let (path, line) = (self.flow.name, self.lines + 1);
                return Err(Error::Record { path, line, name: None, message });
            }
            self.whole = read?;
            self.go_on();
        }
    }

    /// What was read comes after what is left.
    fn go_on(&mut self) {
        let left = self.block.len() - self.from;
        if left <= GAP {
            self.spare[GAP - left..GAP].copy_from_slice(&self.block[self.from..]);
            std::mem::swap(&mut self.block, &mut self.spare);
            self.from = GAP - left;
        } else {
            self.block.drain(..self.from);
            self.block.extend_from_slice(&self.spare[GAP..]);
            self.from = 0;
        }
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
