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
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{Builder, scope};

use graph::lock;

use crate::error::Error;
use crate::input::{Block, Blocks, Done, Flow, Progress};
use crate::sizes::LONGEST;
use crate::threads::threads;

/// A flow that is read in pieces.
pub(crate) struct Pieces<C> {
    flow: Flow,
    /// What was read and is of no piece yet.
    rest: Vec<u8>,
    /// Whether the file ends with it.
    whole: bool,
    /// Whether there is no further piece.
    ended: bool,
    /// The number of the next piece.
    next: usize,
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

/// For each thread so many pieces may wait to be put.
const WAITING: usize = 4;

impl<C: Fn(&[u8]) -> usize + Send> Pieces<C> {
    /// Goes on with a flow of which a block is there, and its first bytes are done with. Pieces have at most so many bytes, if
    /// their records are shorter.
    pub(crate) fn new(flow: Flow, mut block: Vec<u8>, from: usize, whole: bool, most: usize, cut: C) -> Pieces<C> {
        block.drain(..from);
        let last = block.len();
        Pieces {
            flow,
            rest: block,
            whole,
            ended: false,
            next: 0,
            cut,
            last,
            most: most.clamp(1, LONGEST),
            spare: Vec::new(),
        }
    }

    /// Works on all pieces, on several threads, and puts them in order, as far as progress says. `lines` of the file are before
    /// them. What is left if the end of a record was guessed wrong, for blocks of so many bytes. `alone`: the first piece may be
    /// enough, and nothing is begun before it is put.
    pub(crate) fn each<R: Send>(
        self,
        mut lines: u64,
        alone: bool,
        work: impl Fn(Block) -> R + Sync,
        mut put: impl FnMut(Block, R) -> Result<Done, Error>,
        progress: Progress,
        blocks: usize,
    ) -> Result<Option<Blocks>, Error> {
        let size = self.flow.size;
        let mut put_one = |(piece, made): (Piece, R), spare: &mut dyn FnMut(Vec<u8>)| -> Result<Option<End>, Error> {
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
            spare(piece.bytes);
            Ok(None)
        };
        let feed = Mutex::new(self);
        let next = || lock(&feed).next();
        let worked = |piece: Result<Piece, Error>| {
            piece.map(|piece| {
                let made = work(piece.block(0));
                (piece, made)
            })
        };
        let stop = AtomicBool::new(false);
        let share = |send: SyncSender<Made<R>>| {
            while !stop.load(Ordering::Relaxed)
                && let Some((number, piece)) = next()
                && send.send((number, worked(piece))).is_ok()
            {}
        };
        let mut waiting: BTreeMap<usize, Result<(Piece, R), Error>> = BTreeMap::new();
        if alone && let Some((number, piece)) = next() {
            waiting.insert(number, worked(piece));
        }
        let mut at = 0;
        let end = scope(|scope| {
            let mut helpers = Vec::new();
            let (send, receive) = sync_channel(threads() * WAITING);
            let mut send = Some(send);
            let end = loop {
                waiting.extend(receive.try_iter());
                let put = match waiting.remove(&at) {
                    Some(made) => {
                        at += 1;
                        made.and_then(|made| put_one(made, &mut |bytes| lock(&feed).spare.push(bytes)))
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
                    helpers.extend((1..threads()).map_while(start));
                }
                // Where too many wait for one that another thread works on, it is waited for.
                let own = if waiting.len() < threads() * WAITING { next() } else { None };
                match own {
                    Some((number, piece)) => drop(waiting.insert(number, worked(piece))),
                    None => match receive.recv() {
                        Ok((number, made)) => drop(waiting.insert(number, made)),
                        Err(_) => break Ok(End::Done),
                    },
                }
            };
            stop.store(true, Ordering::Relaxed);
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
                let feed = feed.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
                Ok(Some(feed.left(piece, from, waiting, lines, blocks)))
            }
        }
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
        let even = (left / (2 * threads())).max(self.most / 4);
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
