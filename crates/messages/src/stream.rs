//! Messages one after the other.

use std::collections::VecDeque;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_schema::SchemaRef;

use crate::check::{header, is_aligned};
use crate::error::{Fault, malformed};
use crate::reader::Reader;

/// Before the length of a message, but in the oldest streams.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// A stream, in pieces as they lie in memory. What is taken from its front is not copied.
#[derive(Clone, Debug, Default)]
pub struct Pieces {
    /// None is empty.
    pieces: VecDeque<Buffer>,
    len: usize,
}

impl Pieces {
    /// How many bytes are left.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All that is left, in one piece: it is copied where it lies in several.
    #[must_use]
    pub fn whole(mut self) -> Buffer {
        match self.pieces.pop_front() {
            Some(only) if self.pieces.is_empty() => only,
            None => Buffer::default(),
            Some(first) => {
                let all: Vec<u8> = std::iter::once(first).chain(self.pieces).flat_map(|piece| piece.to_vec()).collect();
                Buffer::from_vec(all)
            }
        }
    }

    /// Takes so many bytes, or all if there are fewer.
    fn take(&mut self, len: usize) -> Pieces {
        let mut taken = Pieces::default();
        while taken.len < len {
            let Some(mut front) = self.pieces.pop_front() else { break };
            if front.len() > len - taken.len {
                let rest = front.slice(len - taken.len);
                front = front.slice_with_length(0, len - taken.len);
                self.pieces.push_front(rest);
            }
            self.len -= front.len();
            taken.extend([front]);
        }
        taken
    }
}

impl Extend<Buffer> for Pieces {
    fn extend<T: IntoIterator<Item = Buffer>>(&mut self, pieces: T) {
        for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
            self.len += piece.len();
            self.pieces.push_back(piece);
        }
    }
}

impl FromIterator<Buffer> for Pieces {
    fn from_iter<T: IntoIterator<Item = Buffer>>(pieces: T) -> Pieces {
        let mut all = Pieces::default();
        all.extend(pieces);
        all
    }
}

impl From<Buffer> for Pieces {
    fn from(only: Buffer) -> Pieces {
        Pieces::from_iter([only])
    }
}

impl IntoIterator for Pieces {
    type Item = Buffer;
    type IntoIter = std::collections::vec_deque::IntoIter<Buffer>;

    fn into_iter(self) -> Self::IntoIter {
        self.pieces.into_iter()
    }
}

/// The header and the body of the next message of a stream, which is moved behind them; none at its end. The header is
/// aligned: it is copied only where it lies otherwise, or in several pieces.
///
/// # Errors
/// [`Fault::Malformed`] where the stream is shorter than a message says, or says it in no sound header.
pub fn next(stream: &mut Pieces) -> Result<Option<(Buffer, Pieces)>, Fault> {
    let start: Vec<u8> = stream.pieces.iter().flat_map(|piece| piece.as_slice()).copied().take(8).collect();
    let word = |at: usize| start.get(at..at + 4).and_then(|word| <[u8; 4]>::try_from(word).ok());
    let (prefix, len) = match (word(0), word(4)) {
        _ if stream.is_empty() => return Ok(None),
        (Some(CONTINUATION), Some(len)) => (8, len),
        (Some(len), _) if len != CONTINUATION => (4, len),
        _ => return malformed("it ends within the length of a message"),
    };
    let len = match i32::from_le_bytes(len) {
        0 => return Ok(None),
        len => usize::try_from(len).or_else(|_| malformed("a header of a negative length"))?,
    };
    let short = |what: &str, wanted: &dyn std::fmt::Display, there: usize| {
        malformed(format!("it ends within the {what} of a message: of {wanted} bytes {there} are there"))
    };
    stream.take(prefix);
    if stream.len < len {
        return short("header", &len, stream.len);
    }
    let head = stream.take(len).whole();
    // A flatbuffer is read where it is aligned.
    let head = if is_aligned(&head) { head } else { Buffer::from(head.as_slice()) };
    let body = header(&head)?.bodyLength();
    let Some(body) = usize::try_from(body).ok().filter(|body| *body <= stream.len) else {
        return short("body", &body, stream.len);
    };
    Ok(Some((head, stream.take(body))))
}

/// The schema and the rows of a stream that is there as a whole. Cells lie where they lie in the stream.
///
/// # Errors
/// As [`next`] and [`Reader::read`], or it has no schema.
pub fn batches(stream: Buffer) -> Result<(SchemaRef, Vec<RecordBatch>), Fault> {
    let (mut rest, mut reader, mut batches) = (stream.into(), Reader::default(), Vec::new());
    while let Some((header, body)) = next(&mut rest)? {
        batches.extend(reader.read(&header, &body.whole())?);
    }
    let Some(schema) = reader.schema() else { return malformed("it has no schema") };
    Ok((schema.clone(), batches))
}
