//! The log itself: opening, appending, beginning anew from all there is.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::{self, Base, Finished, Mark, Named, Parts, Reach};
use crate::disk::{Disk, Written, real, write_parts};
use crate::error::Error;
use crate::folder::{self, Folder};
use crate::read::{Chain, Records, follows, misplaced};
use crate::record::{Body, Entry, Framed, Kind};
use crate::segment;
use crate::sizes::SEGMENT_BYTES;
use crate::survey::Survey;

/// An open log. It owns its folder until it is dropped.
pub struct Log {
    folder: Arc<Folder>,
    ground: Ground,
    /// Living segments by place.
    segments: Vec<Segment>,
    /// The last of them, if records still go there.
    tail: Option<Box<dyn Written>>,
    last: Option<u64>,
    /// All that was met, and what of it is in the ground.
    total: Mark,
    floor: Mark,
    broken: Option<Broken>,
}

/// What the records stand on.
enum Ground {
    Nothing,
    /// The first record, of so many bytes, holds all there is up to its number, and begins this segment.
    Whole {
        place: u64,
        number: u64,
        bytes: u64,
    },
    Base(Named),
}

struct Segment {
    place: u64,
    path: PathBuf,
    /// The number of its first record.
    first: u64,
    /// Where its last acknowledged record ends.
    end: u64,
}

struct Broken {
    cause: String,
    /// A segment that may be there and must not.
    segment: Option<PathBuf>,
}

impl Log {
    /// Opens the log of a folder, which is made if it is not there. What a crash left unfinished is taken away: files
    /// that were never named, segments and bases that something later replaces, a write at the end that is not whole.
    /// What is there then is durable.
    pub fn open(path: &Path) -> Result<Log, Error> {
        Log::open_on(real(), path)
    }

    /// [`Log::open`] on a disk of the caller's.
    pub fn open_on(disk: Arc<dyn Disk>, path: &Path) -> Result<Log, Error> {
        let folder = Arc::new(Folder::take(disk, path)?);
        folder.tidy()?;
        let Survey { base, living, dead } = Survey::of(&*folder.disk, path)?;
        let mut log = Log {
            folder,
            ground: Ground::Nothing,
            segments: Vec::new(),
            tail: None,
            last: None,
            total: Mark::default(),
            floor: Mark::default(),
            broken: None,
        };
        log.walk(base, living)?;
        // Names may have been seen that a killed owner did not make durable.
        log.folder.sync()?;
        if let Ground::Base(_) = log.ground {
            log.folder.declare(folder::BASES)?;
        }
        dead.iter().try_for_each(|path| log.folder.remove(path))?;
        Ok(log)
    }

    /// Notes the records of the segments, and makes the last one ready to be written on.
    fn walk(&mut self, base: Option<Named>, living: Vec<(u64, PathBuf)>) -> Result<(), Error> {
        let disk = self.folder.disk.clone();
        let mut chain = Chain::of(base.as_ref().map(|base| &base.reach));
        let segments = living.len();
        for (at, (place, path)) in living.into_iter().enumerate() {
            let mut first = None;
            let sound = segment::scan(&*disk, &path, at + 1 == segments, |number, kind, bytes| {
                let is_behind = chain.admit(&path, number, kind)?;
                if kind == Kind::Whole && is_behind {
                    self.ground = Ground::Whole { place, number, bytes };
                    self.floor = self.total;
                }
                self.count(bytes, is_behind);
                first.get_or_insert(number);
                Ok(())
            })?;
            if at + 1 == segments {
                if !chain.reaches_base() {
                    return Err(Error::damaged(&path, sound.end, "the file ends before the record of the base"));
                }
                self.tail = Some(ready(&*disk, &path, &sound)?);
            }
            self.segments.push(Segment { place, path, first: first.unwrap_or_default(), end: sound.end });
        }
        self.last = chain.last();
        if let Some(base) = base {
            self.ground = Ground::Base(base);
        }
        Ok(())
    }

    fn count(&mut self, bytes: u64, is_behind: bool) {
        for mark in [Some(&mut self.total), (!is_behind).then_some(&mut self.floor)].into_iter().flatten() {
            mark.records += 1;
            mark.bytes += bytes;
        }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.folder.path
    }

    /// The number of the last record, or of that which the base goes up to.
    pub fn last(&self) -> Option<u64> {
        self.last
    }

    /// How many records there are to be read.
    pub fn len(&self) -> u64 {
        self.total.records - self.floor.records
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether so many records have gathered since the last one that holds everything, and more bytes than it has:
    /// writing everything anew then costs each record a constant.
    pub fn wants_whole(&self, records: u64) -> bool {
        self.len() >= records && self.change_bytes() >= self.base_bytes()
    }

    /// Bytes of the base, or of the record that holds all there was.
    pub fn base_bytes(&self) -> u64 {
        match &self.ground {
            Ground::Nothing => 0,
            Ground::Whole { bytes, .. } => *bytes,
            Ground::Base(base) => base.bytes,
        }
    }

    /// Bytes of the records behind the base, or behind the record that holds all there was.
    pub fn change_bytes(&self) -> u64 {
        let whole = if let Ground::Whole { bytes, .. } = self.ground { bytes } else { 0 };
        self.total.bytes - self.floor.bytes - whole
    }

    /// Whether there is a base, and up to which record: `Some(None)` is one from before the first.
    pub fn base_number(&self) -> Option<Option<u64>> {
        if let Ground::Base(base) = &self.ground { Some(base.reach.number) } else { None }
    }

    /// Whether a write failed in such a way that nothing is taken until [`Log::mend`].
    pub fn is_broken(&self) -> bool {
        self.broken.is_some()
    }

    /// Makes a record durable: when this returns it outlives a loss of power. A record that holds all there is takes the
    /// place of those before it, and of a base.
    pub fn append(&mut self, number: u64, kind: Kind, note: &str, body: &[u8]) -> Result<(), Error> {
        self.append_all(&[Entry { number, kind, note, body: Body::Whole(body) }])
    }

    /// Makes several records durable by one write and one sync. All of them are in the log then; if it fails, or the
    /// machine does before it returns, all of them or none.
    ///
    /// ```
    /// # fn main() -> Result<(), log::Error> {
    /// # let folder = std::env::temp_dir().join(format!("tickframe-log-group-{}", std::process::id()));
    /// use log::{Body, Entry, Kind, Log};
    ///
    /// let mut log = Log::open(&folder)?;
    /// let entry = |number, body| Entry { number, kind: Kind::Change, note: "", body };
    /// log.append_all(&[entry(0, Body::Whole(b"a")), entry(1, Body::Parts(&[b"b", b"c"]))])?;
    /// assert_eq!((log.last(), log.len()), (Some(1), 2));
    /// # drop(log);
    /// # let _ = std::fs::remove_dir_all(&folder);
    /// # Ok(())
    /// # }
    /// ```
    pub fn append_all(&mut self, entries: &[Entry<'_>]) -> Result<(), Error> {
        if let Some(Broken { cause, .. }) = &self.broken {
            return Err(Error::Broken { path: self.folder.path.clone(), cause: cause.clone() });
        }
        let mut last = self.last;
        for entry in entries {
            if !follows(last, entry.number, entry.kind) {
                return Err(misplaced(&self.folder.path, last, entry.number));
            }
            last = Some(entry.number);
        }
        // What all there is replaces is not written.
        let whole = entries.iter().rposition(|entry| entry.kind == Kind::Whole);
        let entries = &entries[whole.unwrap_or(0)..];
        let Some(first) = entries.first() else { return Ok(()) };
        let end = self.segments.last().map_or(0, |segment| segment.end);
        let begins = whole.is_some() || self.tail.is_none() || end >= SEGMENT_BYTES.rows();
        let lengths = self.write(entries, if begins { 0 } else { end }, begins)?;
        if begins {
            self.begun(first, lengths[0]);
        }
        for bytes in lengths {
            self.count(bytes, true);
            self.segments.last_mut().into_iter().for_each(|segment| segment.end += bytes);
        }
        self.last = last;
        Ok(())
    }

    /// Writes entries to this place of the tail, or of a new segment, and gives the length of each.
    fn write(&mut self, entries: &[Entry<'_>], at: u64, begins: bool) -> Result<Vec<u64>, Error> {
        let (mut framed, mut end) = (Vec::with_capacity(entries.len()), at);
        for (nth, entry) in entries.iter().enumerate() {
            let one = Framed::at(end, entry, nth + 1 < entries.len());
            let one = one.ok_or_else(|| Error::damaged(&self.folder.path, 0, "a note of 4 GiB or more"))?;
            end += one.bytes;
            framed.push(one);
        }
        let parts = framed.iter().flat_map(Framed::parts);
        let written = if begins { self.begin(parts) } else { self.push(at, parts) };
        written.map(|()| framed.iter().map(|one| one.bytes).collect()).map_err(|(error, broken)| {
            self.broken = broken.map(|segment| Broken { cause: error.to_string(), segment });
            error
        })
    }

    /// A new segment, there with its first records or not at all.
    fn begin<'a>(&mut self, parts: impl Iterator<Item = &'a [u8]>) -> Result<(), (Error, Option<Option<PathBuf>>)> {
        let place = self.next_place();
        let name = segment::name(place);
        let path = self.folder.path.join(&name);
        let replaced = self.folder.replace(&name, parts);
        self.tail = Some(replaced.map_err(|(error, may_be)| (error, may_be.then(|| Some(path.clone()))))?);
        self.segments.push(Segment { place, path, first: 0, end: 0 });
        Ok(())
    }

    fn next_place(&self) -> u64 {
        match (self.segments.last(), &self.ground) {
            (Some(segment), _) => segment.place + 1,
            (None, Ground::Base(base)) => base.reach.segment,
            (None, _) => 0,
        }
    }

    /// Notes what the first record of a new segment is.
    fn begun(&mut self, first: &Entry<'_>, bytes: u64) {
        let Some(segment) = self.segments.last_mut() else { return };
        segment.first = first.number;
        if first.kind == Kind::Whole {
            let ground = Ground::Whole { place: segment.place, number: first.number, bytes };
            self.ground = ground;
            self.floor = self.total;
            self.remove_before(segment_place(&self.segments), None);
        }
    }

    /// Appends bytes durably. On failure the tail is as before, or the log is broken.
    fn push<'a>(
        &mut self,
        end: u64,
        parts: impl Iterator<Item = &'a [u8]>,
    ) -> Result<(), (Error, Option<Option<PathBuf>>)> {
        let (Some(tail), Some(segment)) = (&mut self.tail, self.segments.last()) else { return Ok(()) };
        if let Err(source) = write_parts(&mut **tail, end, parts) {
            // Durably, or what was written and what is written next could mix.
            let undone = tail.set_len(end).and_then(|()| tail.sync());
            return Err((Error::io("write", &segment.path)(source), undone.is_err().then_some(None)));
        }
        // After a failed sync nobody knows what is on disk.
        tail.sync().map_err(|source| (Error::io("sync", &segment.path)(source), Some(None)))
    }

    /// After a write or sync that failed: cuts the tail back to the last acknowledged record and begins a new segment
    /// for what follows, so that the log goes on once the disk does.
    ///
    /// # Errors
    /// The disk does not go on yet: the log is as before, and may be mended later.
    pub fn mend(&mut self) -> Result<(), Error> {
        let Some(broken) = &self.broken else { return Ok(()) };
        if let Some(segment) = &broken.segment {
            self.folder.remove(segment)?;
            self.folder.sync()?;
        }
        self.tail = None;
        if let Some(Segment { path, end, .. }) = self.segments.last() {
            let cut = self.folder.disk.append(path).and_then(|mut file| {
                file.set_len(*end)?;
                file.sync()
            });
            cut.map_err(Error::io("cut the tail of", path))?;
        }
        self.broken = None;
        Ok(())
    }

    /// Begins a base: a file of all there is up to record `number`, or with none of what there was before the first. It
    /// is written in as many parts as wanted, on any thread, while records are appended.
    ///
    /// ```
    /// # fn main() -> Result<(), log::Error> {
    /// # let folder = std::env::temp_dir().join(format!("tickframe-log-base-{}", std::process::id()));
    /// use log::{Kind, Log};
    ///
    /// let mut log = Log::open(&folder)?;
    /// log.append(0, Kind::Change, "", b"a")?;
    /// let mut base = log.begin_base(log.last())?;
    /// base.push("rows", &[b"all", b" of it"])?;
    /// log.append(1, Kind::Change, "", b"b")?;
    /// let base = base.finish()?;
    /// log.adopt(base)?;
    /// assert_eq!(log.base_number(), Some(Some(0)));
    /// assert_eq!(log.parts().next().expect("one part")?.body, b"all of it");
    /// assert_eq!(log.read().next().expect("one record")?.body, b"b");
    /// # drop(log);
    /// # let _ = std::fs::remove_dir_all(&folder);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// There is no such record, or not all that are behind it are there any more; another base is being written.
    pub fn begin_base(&self, number: Option<u64>) -> Result<Base, Error> {
        let ground = match &self.ground {
            Ground::Nothing => None,
            Ground::Whole { number, .. } => Some(*number),
            Ground::Base(base) => base.reach.number,
        };
        if number < ground || number > self.last {
            let shown = |number: Option<u64>| number.map_or("nothing".into(), |number| format!("record {number}"));
            let what = format!("goes up to {}: the log has {} to {}", shown(number), shown(ground), shown(self.last));
            return Err(Error::Base { path: self.folder.path.clone(), what });
        }
        let holding = self.segments.iter().rfind(|segment| Some(segment.first) <= number);
        let segment = holding.or(self.segments.first());
        let reach = Reach {
            number,
            segment: segment.map_or_else(|| self.next_place(), |segment| segment.place),
            has_segment: segment.is_some(),
        };
        let mark = if number == self.last { self.total } else { self.mark_of(&reach)? };
        Base::begin(&self.folder, reach, mark)
    }

    /// What was met up to the record of a base.
    fn mark_of(&self, reach: &Reach) -> Result<Mark, Error> {
        let mut mark = self.total;
        for segment in self.segments.iter().filter(|segment| segment.place >= reach.segment) {
            segment::heads(&*self.folder.disk, &segment.path, segment.end, |number, bytes| {
                if Some(number) > reach.number {
                    mark = Mark { records: mark.records - 1, bytes: mark.bytes - bytes };
                }
            })?;
        }
        Ok(mark)
    }

    /// Goes on from a base: the segments all of whose records are in it, and older bases, are removed. The segment with
    /// the last record of the base stays until the next one. A crash at any point leaves the old or the new state.
    ///
    /// A base that is behind a record that holds all there is was written for nothing, and is removed.
    ///
    /// # Errors
    /// The base is another log's.
    pub fn adopt(&mut self, base: Finished) -> Result<(), Error> {
        if !base.is_of(&self.folder) {
            let what = "of another log, or of an earlier owner of the folder, can be adopted".into();
            return Err(Error::Base { path: self.folder.path.clone(), what });
        }
        match self.ground {
            Ground::Whole { place, number, .. } if base.named.reach.is_behind(place, number) => {
                self.folder.remove(&base.named.path)
            }
            _ => {
                self.remove_before(base.named.reach.segment, Some(&base.named.path));
                self.floor = base.mark;
                self.ground = Ground::Base(base.named);
                Ok(())
            }
        }
    }

    /// Removes the segments before this place, and all bases but one. What replaces them is durable: they are waste, and
    /// the next owner takes away what stays of them.
    fn remove_before(&mut self, place: u64, kept: Option<&Path>) {
        let living = self.segments.partition_point(|segment| segment.place < place);
        let dead = self.segments.drain(..living).map(|segment| segment.path);
        let bases = base::all(&*self.folder.disk, &self.folder.path).unwrap_or_default();
        let bases = bases.into_iter().map(|(_, path)| path).filter(|path| kept != Some(path.as_path()));
        dead.chain(bases).for_each(|path| drop(self.folder.disk.remove(&path)));
    }

    /// The parts of the base in order, checked as they are read, one in memory at a time.
    pub fn parts(&self) -> Parts {
        Parts::of(&*self.folder.disk, if let Ground::Base(base) = &self.ground { Some(base) } else { None })
    }

    /// A small file beside the records, put in the place of the one before whole.
    pub fn put_note(&self, name: &str, content: &[u8]) -> Result<(), Error> {
        self.folder.replace(name, std::iter::once(content)).map(drop).map_err(|(error, _)| error)
    }

    /// Such a file; none if it was never written.
    pub fn get_note(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        folder::content(&*self.folder.disk, &self.folder.path.join(name))
    }

    /// The records behind the base, or all of them if there is none, in order, checked as they are read.
    pub fn read(&self) -> Records {
        let base = if let Ground::Base(base) = &self.ground { Some(&base.reach) } else { None };
        let files = self.segments.iter().map(|segment| (segment.path.clone(), segment.end)).collect();
        Records::of(self.folder.disk.clone(), base, files)
    }

    /// Makes the folder's names durable; a start does so, and nobody else needs it.
    pub fn sync(&self) -> Result<(), Error> {
        self.folder.sync()
    }
}

fn segment_place(segments: &[Segment]) -> u64 {
    segments.last().map_or(0, |segment| segment.place)
}

/// Makes the last segment ready to be written on: what is torn is cut off, and what is whole is made durable.
fn ready(disk: &dyn Disk, path: &Path, sound: &segment::Sound) -> Result<Box<dyn Written>, Error> {
    let mut file = disk.append(path).map_err(Error::io("open", path))?;
    if sound.is_torn {
        file.set_len(sound.end).map_err(Error::io("cut the torn tail of", path))?;
    } else if sound.last > 0 {
        // A sync that failed for an owner before this one may have left the last write in memory alone, where a second
        // sync does not look. The first write of a segment was durable before it had its name.
        let last = segment::bytes(disk, path, sound.last, sound.end)?;
        disk.overwrite(path, sound.last, &last).map_err(Error::io("write again the last record of", path))?;
    }
    // That owner may also have cut it.
    file.sync().map_err(Error::io("sync", path))?;
    Ok(file)
}
