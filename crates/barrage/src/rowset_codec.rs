//! A row set as steps from key to key.

use rowset::{MAX_KEY, RowSet, Span};

use crate::BarrageError;

const OFFSET: u8 = 0x08;
const SHORT_ARRAY: u8 = 0x10;
const BYTE_ARRAY: u8 = 0x18;
const END: u8 = 0x20;
/// The low bits of a command say how wide its value is.
const WIDTH: u8 = 0x07;
const WIDTHS: [(u8, usize); 4] = [(1, 2), (2, 4), (3, 8), (4, 1)];

/// A step of so much is never queued.
const AT_ONCE: u64 = i16::MAX as u64;
/// So many steps of one byte in a row are worth a command of their own.
const BYTES_FROM: usize = 4;

/// The bytes of a row set.
pub fn encode_rows(rows: &RowSet) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_rows(rows, &mut bytes);
    bytes
}

/// A row set out of its bytes; safe on any bytes.
pub fn decode_rows(bytes: &[u8]) -> Result<RowSet, BarrageError> {
    let mut reader = Reader { bytes, at: 0 };
    let rows = reader.rows()?;
    reader.end()?;
    Ok(rows)
}

/// Appends a row set.
pub(crate) fn write_rows(rows: &RowSet, bytes: &mut Vec<u8>) {
    let mut writer = Writer { bytes, queue: Vec::new(), small: 0 };
    let mut from = 0;
    for span in rows.spans() {
        writer.step(span.first - from, false);
        if span.last > span.first {
            writer.step(span.last - span.first, true);
        }
        from = span.last;
    }
    writer.flush();
    bytes.push(END);
}

struct Writer<'a> {
    bytes: &'a mut Vec<u8>,
    /// Steps that have not been written.
    queue: Vec<i16>,
    /// How many at the end of the queue fit one byte.
    small: usize,
}

impl Writer<'_> {
    fn step(&mut self, size: u64, closes: bool) {
        if size >= AT_ONCE {
            self.flush();
            // A step is at most `MAX_KEY`, which fits.
            let size = size as i64;
            self.value(OFFSET, if closes { -size } else { size });
            return;
        }
        let step = if closes { -(size as i16) } else { size as i16 };
        if i8::try_from(step).is_ok() {
            self.small += 1;
        } else {
            if self.small >= BYTES_FROM {
                self.flush();
            }
            self.small = 0;
        }
        self.queue.push(step);
    }

    /// Writes the queue: what fits one byte at its end as bytes, what is in front of that as shorts.
    fn flush(&mut self) {
        let queue = std::mem::take(&mut self.queue);
        let (shorts, bytes) = queue.split_at(queue.len() - self.small);
        self.part(SHORT_ARRAY, shorts);
        self.part(BYTE_ARRAY, bytes);
        self.small = 0;
    }

    fn part(&mut self, array: u8, steps: &[i16]) {
        match steps {
            [] => {}
            [step] => self.value(OFFSET, *step as i64),
            steps => {
                self.value(array, steps.len() as i64);
                match array {
                    BYTE_ARRAY => self.bytes.extend(steps.iter().map(|&step| step as u8)),
                    _ => self.bytes.extend(steps.iter().flat_map(|step| step.to_le_bytes())),
                }
            }
        }
    }

    /// A command with its value in the narrowest form.
    fn value(&mut self, command: u8, value: i64) {
        let (width, bytes) = match value {
            _ if i8::try_from(value).is_ok() => (4, 1),
            _ if i16::try_from(value).is_ok() => (1, 2),
            _ if i32::try_from(value).is_ok() => (2, 4),
            _ => (3, 8),
        };
        self.bytes.push(command | width);
        self.bytes.extend_from_slice(&value.to_le_bytes()[..bytes]);
    }
}

/// Bytes from a place on.
pub(crate) struct Reader<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], BarrageError> {
        let taken = self.bytes[self.at..].get(..len).ok_or(BarrageError::Short { at: self.bytes.len() })?;
        self.at += len;
        Ok(taken)
    }

    /// There is nothing more.
    pub(crate) fn end(&self) -> Result<(), BarrageError> {
        match self.at == self.bytes.len() {
            true => Ok(()),
            false => Err(BarrageError::Malformed { at: self.at, what: "bytes after the end" }),
        }
    }

    /// The value of a command.
    fn value(&mut self, command: u8) -> Result<i64, BarrageError> {
        let at = self.at;
        let width = WIDTHS.iter().find(|(width, _)| *width == command & WIDTH);
        let Some((_, len)) = width else {
            return Err(BarrageError::Malformed { at: at - 1, what: "a command whose value has no width" });
        };
        Ok(signed(self.take(*len)?))
    }

    /// The bytes of an array's steps.
    fn array(&mut self, command: u8, width: usize) -> Result<&'a [u8], BarrageError> {
        let at = self.at;
        let count = usize::try_from(self.value(command)?)
            .map_err(|_| BarrageError::Malformed { at, what: "an array of less than nothing" })?;
        let len = count.checked_mul(width).ok_or(BarrageError::Short { at: self.bytes.len() })?;
        self.take(len)
    }

    /// The next row set. It is walked twice: nothing is kept before all of it is known to be sound, and no list of
    /// ranges stands beside the set.
    pub(crate) fn rows(&mut self) -> Result<RowSet, BarrageError> {
        let mut walk = Walk::of(Reader { bytes: self.bytes, at: self.at });
        while walk.span()?.is_some() {}
        let mut again = Walk::of(Reader { bytes: self.bytes, at: self.at });
        self.at = walk.reader.at;
        Ok(RowSet::from_spans(std::iter::from_fn(|| again.span().ok().flatten())))
    }
}

/// Little-endian, with its sign.
fn signed(bytes: &[u8]) -> i64 {
    let sign = if bytes.last().is_some_and(|byte| byte & 0x80 != 0) { -1 } else { 0 };
    bytes.iter().rev().fold(sign, |value, &byte| value << 8 | byte as i64)
}

/// The way from key to key.
struct Walk<'a> {
    reader: Reader<'a>,
    /// What is left of an array, the bytes of one step, and where its command stands.
    array: (&'a [u8], usize, usize),
    current: u64,
    open: Option<u64>,
    /// The end of the last range.
    last: Option<u64>,
    ended: bool,
}

impl<'a> Walk<'a> {
    fn of(reader: Reader<'a>) -> Walk<'a> {
        Walk { reader, array: (&[], 1, 0), current: 0, open: None, last: None, ended: false }
    }

    /// The next step and where its command stands; none at the end.
    fn next_step(&mut self) -> Result<Option<(i64, usize)>, BarrageError> {
        loop {
            let (rest, width, at) = self.array;
            if let Some((step, rest)) = rest.split_at_checked(width) {
                self.array.0 = rest;
                return Ok(Some((signed(step), at)));
            }
            let at = self.reader.at;
            let command = self.reader.take(1)?[0];
            match command & !WIDTH {
                OFFSET => return Ok(Some((self.reader.value(command)?, at))),
                SHORT_ARRAY => self.array = (self.reader.array(command, 2)?, 2, at),
                BYTE_ARRAY => self.array = (self.reader.array(command, 1)?, 1, at),
                END if command == END => return Ok(None),
                _ => return Err(BarrageError::Malformed { at, what: "no command" }),
            }
        }
    }

    /// The next range; ranges ascend and may touch.
    fn span(&mut self) -> Result<Option<Span>, BarrageError> {
        while !self.ended {
            let Some((step, at)) = self.next_step()? else {
                self.ended = true;
                break;
            };
            let to = self.current.checked_add(step.unsigned_abs()).filter(|&key| key <= MAX_KEY);
            let to = to.ok_or(BarrageError::OutOfKeys { at })?;
            self.current = to;
            if step < 0 {
                let Some(first) = self.open.take() else {
                    return Err(BarrageError::Malformed { at, what: "a range is closed that was not opened" });
                };
                self.last = Some(to);
                return Ok(Some(Span { first, last: to }));
            }
            // A key that was opened and not closed is a single one.
            let single = self.open.replace(to);
            self.last = single.or(self.last);
            if self.last.is_some_and(|last| to <= last) {
                return Err(BarrageError::Malformed { at, what: "keys do not ascend" });
            }
            if let Some(key) = single {
                return Ok(Some(Span { first: key, last: key }));
            }
        }
        Ok(self.open.take().map(|key| Span { first: key, last: key }))
    }
}
