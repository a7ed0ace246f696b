//! A disk in memory that knows what was written and what is durable, that fails, and that loses power.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Cursor, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use fastrand::Rng;

use crate::disk::{Disk, Guard, Readable, Written};

/// Fewer bytes than this.
pub fn bytes(dice: &mut Rng, most: u64) -> Vec<u8> {
    (0..dice.u64(..most)).map(|_| dice.u8(..)).collect()
}

/// Bytes that are written together.
const PIECE: usize = 512;

/// What was done to a file since it was synced.
#[derive(Clone)]
enum Edit {
    /// Whole pieces as they are in memory: a disk writes no less.
    Write(usize, Vec<u8>),
    Cut(usize),
}

#[derive(Clone, Default)]
struct File {
    /// What a reader sees.
    seen: Vec<u8>,
    durable: Vec<u8>,
    waiting: Vec<Edit>,
}

/// What has a name: a folder, or a file by its number.
type Named = Option<usize>;

/// What was done to names since their folder was synced.
#[derive(Clone)]
enum Naming {
    Make(PathBuf, Named),
    Rename(PathBuf, PathBuf, Named),
    Remove(PathBuf, Named),
}

/// How a disk fails.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Faults {
    /// It does not.
    None,
    /// One operation in so many.
    OneIn(u64),
}

/// What is on a disk, and what waits to be.
#[derive(Clone)]
pub struct State {
    files: Vec<Arc<File>>,
    seen: BTreeMap<PathBuf, Named>,
    durable: BTreeMap<PathBuf, Named>,
    waiting: Vec<Naming>,
}

struct Inner {
    state: State,
    locked: BTreeSet<PathBuf>,
    faults: Faults,
    dice: Rng,
    /// The disk before each operation, for those who ask.
    moments: Option<Vec<State>>,
}

/// The disk.
#[derive(Clone)]
pub struct Simulated(Arc<Mutex<Inner>>);

fn put(bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    let end = at + piece.len();
    bytes.resize(bytes.len().max(end), 0);
    bytes[at..end].copy_from_slice(piece);
}

/// Brings what memory holds of pieces to the disk: behind the end of the file these are zeros.
fn settle(bytes: &mut Vec<u8>, at: usize, held: &[u8]) {
    put(bytes, at, held);
    let (end, len) = (at + held.len(), bytes.len());
    bytes[end..len.min(end.next_multiple_of(PIECE))].fill(0);
}

/// A write piece by piece of the disk.
fn pieces(at: usize, bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let to = bytes.len().min(((at + from) / PIECE + 1) * PIECE - at);
        let piece = (at + from, &bytes[from..to]);
        from = to;
        (!piece.1.is_empty()).then_some(piece)
    })
}

impl File {
    fn write(&mut self, at: usize, bytes: &[u8]) {
        put(&mut self.seen, at, bytes);
        let begin = at / PIECE * PIECE;
        let end = self.seen.len().min((at + bytes.len()).next_multiple_of(PIECE));
        self.waiting.push(Edit::Write(begin, self.seen[begin..end].to_vec()));
    }

    fn cut(&mut self, len: usize) {
        self.seen.resize(len, 0);
        self.waiting.push(Edit::Cut(len));
    }

    fn sync(&mut self) {
        for edit in self.waiting.drain(..) {
            match edit {
                Edit::Write(at, bytes) => settle(&mut self.durable, at, &bytes),
                Edit::Cut(len) => self.durable.resize(len, 0),
            }
        }
        // What an earlier sync dropped is a hole.
        self.durable.resize(self.seen.len(), 0);
    }

    /// A sync that failed: some pieces are on disk, and the others are never tried again.
    fn drop_writes(&mut self, dice: &mut Rng) {
        for edit in std::mem::take(&mut self.waiting) {
            match edit {
                Edit::Write(at, bytes) => {
                    let lucky: Vec<_> = pieces(at, &bytes).filter(|_| dice.u64(..2) == 0).collect();
                    lucky.into_iter().for_each(|(at, piece)| settle(&mut self.durable, at, piece));
                }
                cut => self.waiting.push(cut),
            }
        }
    }

    /// What a loss of power leaves: any pieces of what waits.
    fn crashed(&self, dice: &mut Rng, luck: u64) -> File {
        let mut durable = self.durable.clone();
        for edit in &self.waiting {
            match edit {
                Edit::Write(at, bytes) => {
                    for (at, piece) in pieces(*at, bytes) {
                        if dice.u64(..4) < luck {
                            settle(&mut durable, at, piece);
                        }
                    }
                }
                Edit::Cut(len) if dice.u64(..4) < luck => durable.resize(*len, 0),
                Edit::Cut(_) => {}
            }
        }
        if !self.waiting.is_empty() && durable.len() < self.seen.len() {
            let len = durable.len() + dice.u64(..(self.seen.len() - durable.len()) as u64 + 1) as usize;
            durable.resize(if dice.u64(..2) == 0 { len } else { self.seen.len() }, 0);
        }
        // A length between: the last piece is cut off.
        if !self.waiting.is_empty() && durable.len() > self.durable.len() && dice.u64(..4) == 0 {
            let len = self.durable.len() + dice.u64(..(durable.len() - self.durable.len()) as u64) as usize;
            durable.truncate(len);
        }
        File { seen: durable.clone(), durable, waiting: Vec::new() }
    }
}

fn name(names: &mut BTreeMap<PathBuf, Named>, naming: &Naming) {
    let mut forget = |path: &PathBuf, named: &Named| {
        if names.get(path) == Some(named) {
            names.remove(path);
        }
    };
    match naming {
        Naming::Make(path, named) => drop(names.insert(path.clone(), *named)),
        Naming::Remove(path, named) => forget(path, named),
        Naming::Rename(from, to, named) => {
            forget(from, named);
            names.insert(to.clone(), *named);
        }
    }
}

impl Naming {
    fn folder(&self) -> Option<&Path> {
        match self {
            Naming::Make(path, _) | Naming::Rename(path, ..) | Naming::Remove(path, _) => path.parent(),
        }
    }
}

impl Default for State {
    fn default() -> State {
        State::new()
    }
}

impl State {
    /// An empty disk.
    pub fn new() -> State {
        let names = BTreeMap::from([(PathBuf::from("/"), None)]);
        State { files: Vec::new(), seen: names.clone(), durable: names, waiting: Vec::new() }
    }

    fn name(&mut self, naming: Naming) {
        name(&mut self.seen, &naming);
        self.waiting.push(naming);
    }

    fn number(&self, path: &Path) -> io::Result<usize> {
        let named = self.seen.get(path).ok_or(ErrorKind::NotFound)?;
        named.ok_or_else(|| ErrorKind::IsADirectory.into())
    }

    fn file(&mut self, number: usize) -> &mut File {
        Arc::make_mut(&mut self.files[number])
    }

    /// What a loss of power leaves: of names, too, any of those that wait.
    pub fn crashed(&self, dice: &mut Rng) -> State {
        let luck = dice.u64(..5);
        let mut names = self.durable.clone();
        for naming in &self.waiting {
            if dice.u64(..4) < luck {
                name(&mut names, naming);
            }
        }
        // A folder that is gone takes what is in it along; the names are in order, so it comes first.
        let mut seen: BTreeMap<PathBuf, Named> = BTreeMap::new();
        for (path, named) in names {
            if path.parent().is_none_or(|above| seen.contains_key(above)) {
                seen.insert(path, named);
            }
        }
        let luck = dice.u64(..5);
        let mut file = |file: &Arc<File>| {
            if file.waiting.is_empty() && file.seen == file.durable {
                file.clone()
            } else {
                Arc::new(file.crashed(dice, luck))
            }
        };
        let files = self.files.iter().map(&mut file).collect();
        State { files, durable: seen.clone(), seen, waiting: Vec::new() }
    }
}

impl Simulated {
    /// A disk with this on it, whose faults are drawn by `seed`.
    pub fn new(state: State, seed: u64) -> Simulated {
        let inner =
            Inner { state, locked: BTreeSet::new(), faults: Faults::None, dice: Rng::with_seed(seed), moments: None };
        Simulated(Arc::new(Mutex::new(inner)))
    }

    fn inner<R>(&self, run: impl FnOnce(&mut Inner) -> R) -> R {
        run(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How it fails from now on.
    pub fn set_faults(&self, faults: Faults) {
        self.inner(|inner| inner.faults = faults);
    }

    /// What is on it, and what waits to be.
    pub fn state(&self) -> State {
        self.inner(|inner| inner.state.clone())
    }

    /// Keeps what is on the disk before each operation from now on.
    pub fn record(&self) {
        self.inner(|inner| inner.moments = Some(Vec::new()));
    }

    /// What was kept, and the disk as it is.
    pub fn recorded(&self) -> Vec<State> {
        self.inner(|inner| {
            let mut moments = inner.moments.take().unwrap_or_default();
            moments.push(inner.state.clone());
            moments
        })
    }
}

impl Inner {
    /// Whether the operation that is now begun fails.
    fn begin(&mut self) -> bool {
        if let Some(moments) = &mut self.moments {
            moments.push(self.state.clone());
        }
        matches!(self.faults, Faults::OneIn(most) if self.dice.u64(..most) == 0)
    }

    fn change<R>(&mut self, run: impl FnOnce(&mut State) -> io::Result<R>) -> io::Result<R> {
        if self.begin() { Err(broken()) } else { run(&mut self.state) }
    }

    fn write(&mut self, number: usize, at: Option<usize>, bytes: &[u8]) -> io::Result<()> {
        let fails = self.begin();
        let room = if fails { self.dice.u64(..bytes.len() as u64 + 1) as usize } else { bytes.len() };
        let file = self.state.file(number);
        file.write(at.unwrap_or(file.seen.len()), &bytes[..room]);
        if fails { Err(ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn sync(&mut self, number: usize) -> io::Result<()> {
        let fails = self.begin();
        let file = self.state.file(number);
        if !fails {
            file.sync();
            return Ok(());
        }
        if self.dice.u64(..2) == 0 {
            file.drop_writes(&mut self.dice);
        }
        Err(broken())
    }
}

fn broken() -> io::Error {
    io::Error::from_raw_os_error(5)
}

impl Disk for Simulated {
    fn is_folder(&self, path: &Path) -> io::Result<bool> {
        Ok(self.inner(|inner| inner.state.seen.get(path) == Some(&None)))
    }

    fn make_folder(&self, path: &Path) -> io::Result<()> {
        self.inner(|inner| {
            inner.change(|state| {
                assert!(path.parent().is_some_and(|above| state.seen.contains_key(above)));
                state.name(Naming::Make(path.to_path_buf(), None));
                Ok(())
            })
        })
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Guard>>> {
        let is_free = self.inner(|inner| inner.locked.insert(path.to_path_buf()));
        Ok(is_free.then(|| Box::new(Held(self.clone(), path.to_path_buf())) as Box<dyn Guard>))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn Written>> {
        self.inner(|inner| {
            inner.change(|state| {
                match state.number(path) {
                    Ok(number) => state.file(number).cut(0),
                    Err(_) => {
                        state.files.push(Arc::default());
                        state.name(Naming::Make(path.to_path_buf(), Some(state.files.len() - 1)));
                    }
                }
                Ok(())
            })
        })?;
        self.append(path)
    }

    fn append(&self, path: &Path) -> io::Result<Box<dyn Written>> {
        let number = self.inner(|inner| inner.state.number(path))?;
        Ok(Box::new(Opened(self.clone(), number)))
    }

    fn overwrite(&self, path: &Path, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.inner(|inner| {
            let number = inner.state.number(path)?;
            inner.write(number, Some(at as usize), bytes)
        })
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn Readable>> {
        let bytes = self.inner(|inner| {
            let number = inner.state.number(path)?;
            Ok::<_, io::Error>(inner.state.files[number].seen.clone())
        })?;
        Ok(Box::new(Reader(self.clone(), Cursor::new(bytes))))
    }

    fn list(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let is_in = |path: &&PathBuf| path.parent() == Some(folder);
        Ok(self.inner(|inner| inner.state.seen.keys().filter(is_in).cloned().collect()))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner(|inner| {
            inner.change(|state| {
                let named = *state.seen.get(from).ok_or(ErrorKind::NotFound)?;
                state.name(Naming::Rename(from.to_path_buf(), to.to_path_buf(), named));
                Ok(())
            })
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.inner(|inner| {
            inner.change(|state| {
                let named = *state.seen.get(path).ok_or(ErrorKind::NotFound)?;
                state.name(Naming::Remove(path.to_path_buf(), named));
                Ok(())
            })
        })
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.inner(|inner| {
            inner.change(|state| {
                let (now, later) =
                    std::mem::take(&mut state.waiting).into_iter().partition(|naming| naming.folder() == Some(folder));
                state.waiting = later;
                let now: Vec<Naming> = now;
                now.iter().for_each(|naming| name(&mut state.durable, naming));
                Ok(())
            })
        })
    }
}

struct Held(Simulated, PathBuf);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.inner(|inner| inner.locked.remove(&self.1));
    }
}

/// A file that is written.
struct Opened(Simulated, usize);

impl Write for Opened {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.inner(|inner| inner.write(self.1, None, bytes)).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Written for Opened {
    fn set_len(&mut self, len: u64) -> io::Result<()> {
        self.0.inner(|inner| {
            inner.change(|state| {
                state.file(self.1).cut(len as usize);
                Ok(())
            })
        })
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.inner(|inner| inner.sync(self.1))
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.inner(|inner| inner.state.files[self.1].seen.len() as u64))
    }
}

struct Reader(Simulated, Cursor<Vec<u8>>);

impl Read for Reader {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let fails =
            self.0.inner(|inner| matches!(inner.faults, Faults::OneIn(most) if inner.dice.u64(..most * 4) == 0));
        if fails { Err(broken()) } else { self.1.read(bytes) }
    }
}

impl Seek for Reader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.1.seek(to)
    }
}
