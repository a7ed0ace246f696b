//! Text in pieces that end with a record. A thread that has nothing to do reads the next piece and works on it; what was made of
//! the pieces is put in order by whoever called. Nobody waits for the others before the file ends.
//!
//!   thread 1    read 0, work on 0, read 2, work on 2, put 0, put 1 ...
//!   thread 2            read 1, work on 1, read 3 ...
//!
//! Where a piece ends is guessed, so that the next one can be read. Whoever puts the pieces proves it: the work on one has to come
//! to its end. Where it does not, what is left is worked on as [`Blocks`].

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread::{Builder, scope};

use graph::lock;

use crate::error::Error;
use crate::input::{Block, Blocks, Done, Flow, Progress};
use crate::sizes::LONGEST;
use crate::threads::threads;

/// A flow that is read in pieces.
pub(crate) struct Pieces<C> {
    flow: Flow,
    /// Lines of the file before the first piece.
    lines: u64,
    /// What was read and is of no piece yet.
    rest: Vec<u8>,
    /// Whether the file ends with it.
    whole: bool,
    /// Whether there is no further piece.
    ended: bool,
    /// How many threads work.
    threads: usize,
    /// The number of the next piece, and of the next to be put.
    next: usize,
    put: usize,
    /// Where the last record of a text ends, as is guessed; 0 for none.
    cut: C,
    /// Bytes that the last piece was to have, and that one has at most.
    last: usize,
    most: usize,
    /// Memory of pieces that are done with.
    spare: Vec<Vec<u8>>,
}

/// A piece of the text. Its memory may be longer.
struct Piece {
    bytes: Vec<u8>,
    end: usize,
    whole: bool,
    /// Bytes of the file that were read with it.
    done: u64,
}

impl Piece {
    fn block(&self, lines: u64) -> Block<'_> {
        Block { text: &self.bytes[..self.end], lines, whole: self.whole }
    }
}

/// What one thread made of a piece, by its number.
type Made<R> = (usize, Result<(Piece, R), Error>);

/// What came of the pieces.
enum End {
    /// All were put, or enough of them.
    Done,
    /// What is left of a piece does not end as was guessed.
    Wrong { piece: Piece, from: usize },
}

/// For each thread so many pieces may be read and not be put.
const WAITING: usize = 4;

/// Pieces that several threads take.
struct Shared<C> {
    pieces: Mutex<Pieces<C>>,
    /// Waited for until a piece is put, or none is left.
    room: Condvar,
}

impl<C: Fn(&[u8]) -> usize + Send> Shared<C> {
    /// The next piece, if there is room for it.
    fn try_next(&self) -> Option<(usize, Result<Piece, Error>)> {
        let mut pieces = lock(&self.pieces);
        if pieces.has_room() { pieces.next() } else { None }
    }

    /// The next piece, as soon as there is room for it.
    fn next(&self) -> Option<(usize, Result<Piece, Error>)> {
        let full = |pieces: &mut Pieces<C>| !pieces.ended && !pieces.has_room();
        self.room.wait_while(lock(&self.pieces), full).unwrap_or_else(PoisonError::into_inner).next()
    }

    /// A piece was put: its memory is used again.
    fn put(&self, bytes: Vec<u8>) {
        let mut pieces = lock(&self.pieces);
        pieces.put += 1;
        pieces.spare.push(bytes);
        self.room.notify_all();
    }
}

/// Ends the pieces for all threads when one of them leaves, by a panic too.
struct Ends<'a, C>(&'a Shared<C>);

impl<C> Drop for Ends<'_, C> {
    fn drop(&mut self) {
        lock(&self.0.pieces).ended = true;
        self.0.room.notify_all();
    }
}

impl<C: Fn(&[u8]) -> usize + Send> Pieces<C> {
    /// Goes on with a flow of which a block is there, and its first bytes are done with. Pieces have at most so many bytes, if
    /// their records are shorter.
    pub(crate) fn new(flow: Flow, mut block: Vec<u8>, from: usize, whole: bool, most: usize, cut: C) -> Pieces<C> {
        let lines = memchr::memchr_iter(b'\n', &block[..from]).count() as u64;
        block.drain(..from);
        let last = block.len();
        Pieces {
            flow,
            lines,
            rest: block,
            whole,
            ended: false,
            threads: threads(),
            next: 0,
            put: 0,
            cut,
            last,
            most: most.clamp(1, LONGEST),
            spare: Vec::new(),
        }
    }

    /// Works on all pieces, on several threads, and puts them in order, as far as progress says. What is left if the end of a
    /// record was guessed wrong, for blocks of so many bytes. `alone`: the first piece may be enough, and nothing is begun
    /// before it is put.
    pub(crate) fn each<R: Send>(
        self,
        alone: bool,
        work: impl Fn(Block) -> R + Sync,
        mut put: impl FnMut(Block, R) -> Result<Done, Error>,
        progress: Progress,
        blocks: usize,
    ) -> Result<Option<Blocks>, Error> {
        let (size, mut lines, threads) = (self.flow.size, self.lines, self.threads);
        let shared = Shared { pieces: Mutex::new(self), room: Condvar::new() };
        let mut put_one = |(piece, made): (Piece, R)| -> Result<Option<End>, Error> {
            let done = put(piece.block(lines), made)?;
            if done.enough {
                return Ok(Some(End::Done));
            }
            if !progress(piece.done, size) {
                return Err(Error::Ended);
            }
            if done.bytes < piece.end && !piece.whole {
                return Ok(Some(End::Wrong { piece, from: done.bytes }));
            }
            lines += done.lines;
            shared.put(piece.bytes);
            Ok(None)
        };
        let worked = |piece: Result<Piece, Error>| {
            piece.map(|piece| {
                let made = work(piece.block(0));
                (piece, made)
            })
        };
        let share = |send: Sender<Made<R>>| {
            let _ends = Ends(&shared);
            while let Some((number, piece)) = shared.next()
                && send.send((number, worked(piece))).is_ok()
            {}
        };
        let mut waiting: BTreeMap<usize, Result<(Piece, R), Error>> = BTreeMap::new();
        if alone && let Some((number, piece)) = shared.try_next() {
            waiting.insert(number, worked(piece));
        }
        let mut at = 0;
        let end = scope(|scope| {
            let ends = Ends(&shared);
            let mut helpers = Vec::new();
            let (send, receive) = channel();
            let mut send = Some(send);
            let end = loop {
                waiting.extend(receive.try_iter());
                let put = match waiting.remove(&at) {
                    Some(made) => {
                        at += 1;
                        made.and_then(&mut put_one)
                    }
                    None => Ok(None),
                };
                match put {
                    Ok(None) => {}
                    Ok(Some(end)) => break Ok(end),
                    Err(error) => break Err(error),
                }
                if waiting.contains_key(&at) {
                    continue;
                }
                if let Some(send) = send.take() {
                    let start = |_| {
                        let (share, send) = (&share, send.clone());
                        Builder::new().spawn_scoped(scope, move || share(send)).ok()
                    };
                    helpers.extend((1..threads).map_while(start));
                }
                // Where there is no room, all wait for one that another thread works on.
                match shared.try_next() {
                    Some((number, piece)) => drop(waiting.insert(number, worked(piece))),
                    None => match receive.recv() {
                        Ok((number, made)) => drop(waiting.insert(number, made)),
                        Err(_) => break Ok(End::Done),
                    },
                }
            };
            drop(ends);
            // Where no helper was begun, nobody else sends.
            drop(send);
            if matches!(end, Ok(End::Wrong { .. })) {
                waiting.extend(receive.iter());
            }
            drop(receive);
            for helper in helpers {
                helper.join().unwrap_or_else(|panic| resume_unwind(panic));
            }
            end
        })?;
        match end {
            End::Done => Ok(None),
            End::Wrong { piece, from } => {
                let pieces = shared.pieces.into_inner().unwrap_or_else(PoisonError::into_inner);
                Ok(Some(pieces.left(piece, from, waiting, lines, blocks)))
            }
        }
    }

    /// Whether one more may be read before the next is put.
    fn has_room(&self) -> bool {
        self.next < self.put + self.threads * WAITING
    }

    /// The next piece and its number, None at the end.
    fn next(&mut self) -> Option<(usize, Result<Piece, Error>)> {
        if self.ended {
            return None;
        }
        let number = self.next;
        self.next += 1;
        let piece = self.read();
        self.ended = self.whole || piece.is_err();
        Some((number, piece))
    }

    fn read(&mut self) -> Result<Piece, Error> {
        let mut bytes = self.spare.pop().unwrap_or_default();
        let mut filled = self.rest.len();
        // What is left is divided so that the threads end together, and the first pieces are small.
        let left = usize::try_from(self.flow.size.saturating_sub(self.flow.done())).unwrap_or(usize::MAX);
        let even = (left / (2 * self.threads)).max(self.most / 4);
        self.last = even.min(4 * self.last).clamp((self.most / 16).max(1), self.most);
        let mut more = if self.next == 1 && filled > 0 { 0 } else { self.last };
        if bytes.len() < filled {
            bytes.resize(filled, 0);
        }
        bytes[..filled].copy_from_slice(&self.rest);
        self.rest.clear();
        let end = loop {
            if !self.whole {
                let read = self.flow.read(&mut bytes, filled, more)?;
                filled += read;
                self.whole = read < more;
            }
            let end = if self.whole { filled } else { (self.cut)(&bytes[..filled]) };
            if end > 0 || self.whole {
                break end;
            }
            // A record of so many bytes is an error, which is told by whoever works on what is left.
            if filled > LONGEST {
                break filled;
            }
            more = filled.max(self.last);
        };
        self.rest.extend_from_slice(&bytes[end..filled]);
        Ok(Piece { bytes, end, whole: self.whole, done: self.flow.done() })
    }

    /// What is left from a place in a piece on: those that were read after it, and what was not read.
    fn left<R>(
        mut self,
        piece: Piece,
        from: usize,
        after: BTreeMap<usize, Result<(Piece, R), Error>>,
        lines: u64,
        bytes: usize,
    ) -> Blocks {
        let Piece { bytes: mut block, end, .. } = piece;
        block.truncate(end);
        let mut text = std::mem::take(&mut self.rest);
        let mut failed = None;
        let mut texts = Vec::new();
        for made in after.into_values() {
            match made {
                Ok((Piece { mut bytes, end, .. }, _)) => {
                    bytes.truncate(end);
                    texts.push(bytes);
                }
                Err(error) => failed = Some(error),
            }
        }
        if failed.is_some() {
            text.clear();
        }
        texts.push(text);
        Blocks::new(self.flow.after(texts, failed), block, from, false, bytes).behind(lines)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread::yield_now;

    use super::*;
    use crate::input::Input;

    const THREADS: usize = 4;
    const ROOM: usize = THREADS * WAITING;

    /// Many lines in pieces of one byte or a few, for four threads.
    fn pieces() -> Pieces<impl Fn(&[u8]) -> usize + Send> {
        let text = "1\n".repeat(50 * ROOM);
        let flow = Input::Bytes("text".into(), text.as_bytes().into()).open().expect("bytes");
        let cut = |text: &[u8]| memchr::memrchr(b'\n', text).map_or(0, |at| at + 1);
        Pieces { threads: THREADS, ..Pieces::new(flow, Vec::new(), 0, false, 2, cut) }
    }

    fn each<R: Send>(work: impl Fn(Block) -> R + Sync, mut put: impl FnMut(R)) -> usize {
        let mut bytes = 0;
        let put = |block: Block, made: R| {
            put(made);
            bytes += block.text.len();
            Ok(Done { bytes: block.text.len(), lines: 1, enough: false })
        };
        let left = pieces().each(false, work, put, &mut |_, _| true, 1 << 10).expect("nothing fails");
        assert!(left.is_none());
        bytes
    }

    #[test]
    fn no_more_is_read_than_there_is_room_for_while_one_piece_takes_long() {
        let (begun, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = |_: Block| {
            let number = begun.fetch_add(1, Ordering::SeqCst);
            if number == 0 {
                // All others are worked on meanwhile, and wait to be put.
                while begun.load(Ordering::SeqCst) < ROOM {
                    yield_now();
                }
                std::thread::sleep(std::time::Duration::from_millis(20));
                most.store(begun.load(Ordering::SeqCst), Ordering::SeqCst);
            }
            number
        };
        assert_eq!(each(work, drop), 100 * ROOM);
        let first = most.load(Ordering::SeqCst);
        assert!((ROOM..=ROOM + THREADS).contains(&first), "{first} pieces were begun where {ROOM} have room");
    }

    #[test]
    fn a_panic_of_any_thread_ends_all() {
        for at in [0, 1, ROOM / 2, 3 * ROOM] {
            let begun = AtomicUsize::new(0);
            let work = |_: Block| assert!(begun.fetch_add(1, Ordering::SeqCst) != at, "this one");
            assert!(catch_unwind(AssertUnwindSafe(|| each(work, drop))).is_err(), "work on the {at}th");
            let mut many = 0;
            let put = |()| {
                many += 1;
                assert!(many != at + 1, "this one");
            };
            assert!(catch_unwind(AssertUnwindSafe(|| each(|_| (), put))).is_err(), "the {at}th put");
        }
    }
}
