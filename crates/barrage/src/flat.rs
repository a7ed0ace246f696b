//! Tables of flatbuffers out of bytes that nobody vouches for. Every access is checked; what is read as a vector is
//! paid for out of an allowance of as many bytes as came, so that a few bytes that are named many times cost no more
//! than they weigh.

use std::cell::Cell;

use crate::BarrageError;

/// The bytes of one buffer.
pub(crate) struct Flat<'a> {
    bytes: &'a [u8],
    allowance: Cell<usize>,
}

/// A table of it.
#[derive(Clone, Copy)]
pub(crate) struct Table<'a, 'b> {
    flat: &'b Flat<'a>,
    at: usize,
    /// Bytes of the table itself.
    size: usize,
    slots: &'a [u8],
}

fn fault<T>(what: &'static str) -> Result<T, BarrageError> {
    Err(BarrageError::Metadata { what })
}

impl<'a> Flat<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Flat<'a> {
        Flat { bytes, allowance: Cell::new(bytes.len()) }
    }

    fn array<const N: usize>(&self, at: usize) -> Result<[u8; N], BarrageError> {
        match self.bytes.get(at..).and_then(|rest| rest.first_chunk::<N>()) {
            Some(found) => Ok(*found),
            None => fault("an offset leads out of the bytes"),
        }
    }

    /// The place that an offset at `at` leads to.
    fn follow(&self, at: usize) -> Result<usize, BarrageError> {
        let to = at.checked_add(u32::from_le_bytes(self.array(at)?) as usize);
        match to.filter(|&to| to < self.bytes.len()) {
            Some(to) => Ok(to),
            None => fault("an offset leads out of the bytes"),
        }
    }

    /// The root table.
    pub(crate) fn root(&self) -> Result<Table<'a, '_>, BarrageError> {
        self.table(self.follow(0)?)
    }

    fn table(&self, at: usize) -> Result<Table<'a, '_>, BarrageError> {
        let back = i32::from_le_bytes(self.array(at)?) as i64;
        let vtable = match usize::try_from(at as i64 - back) {
            Ok(vtable) => vtable,
            Err(_) => return fault("a table of fields lies outside of the bytes"),
        };
        let len = u16::from_le_bytes(self.array(vtable)?) as usize;
        let size = u16::from_le_bytes(self.array(vtable + 2)?) as usize;
        if len < 4 || !len.is_multiple_of(2) {
            return fault("a table of fields has no such size");
        }
        match self.bytes.get(vtable + 4..vtable + len) {
            Some(slots) if at + size <= self.bytes.len() => Ok(Table { flat: self, at, size, slots }),
            _ => fault("a table lies outside of the bytes"),
        }
    }

    /// Pays for what is read.
    fn pay(&self, bytes: usize) -> Result<(), BarrageError> {
        match self.allowance.get().checked_sub(bytes) {
            Some(left) => {
                self.allowance.set(left);
                Ok(())
            }
            None => fault("bytes are named more often than they are there"),
        }
    }

    /// Where the elements of a vector begin, and how many there are.
    fn vector(&self, at: usize, width: usize) -> Result<(usize, usize), BarrageError> {
        let count = u32::from_le_bytes(self.array(at)?) as usize;
        let from = at + 4;
        let bytes = count.saturating_mul(width);
        if from.saturating_add(bytes) > self.bytes.len() {
            return fault("a vector leads out of the bytes");
        }
        self.pay(bytes)?;
        Ok((from, count))
    }
}

impl<'a, 'b> Table<'a, 'b> {
    /// Where a field of so many bytes lies; none if it is absent.
    fn slot(&self, id: usize, width: usize) -> Result<Option<usize>, BarrageError> {
        let Some(slot) = self.slots.get(2 * id..2 * id + 2) else { return Ok(None) };
        match u16::from_le_bytes([slot[0], slot[1]]) as usize {
            0 => Ok(None),
            offset if offset >= 4 && offset + width <= self.size => Ok(Some(self.at + offset)),
            _ => fault("a field lies outside of its table"),
        }
    }

    fn scalar<const N: usize>(&self, id: usize) -> Result<Option<[u8; N]>, BarrageError> {
        self.slot(id, N)?.map(|at| self.flat.array(at)).transpose()
    }

    pub(crate) fn u32(&self, id: usize) -> Result<u32, BarrageError> {
        Ok(self.scalar(id)?.map_or(0, u32::from_le_bytes))
    }

    pub(crate) fn i32(&self, id: usize) -> Result<i32, BarrageError> {
        Ok(self.scalar(id)?.map_or(0, i32::from_le_bytes))
    }

    pub(crate) fn i64(&self, id: usize) -> Result<i64, BarrageError> {
        Ok(self.scalar(id)?.map_or(0, i64::from_le_bytes))
    }

    pub(crate) fn i8(&self, id: usize) -> Result<i8, BarrageError> {
        Ok(self.scalar(id)?.map_or(0, i8::from_le_bytes))
    }

    pub(crate) fn bool(&self, id: usize) -> Result<bool, BarrageError> {
        Ok(self.i8(id)? != 0)
    }

    /// A vector of bytes; none if it is absent.
    pub(crate) fn bytes(&self, id: usize) -> Result<Option<&'a [u8]>, BarrageError> {
        let Some(at) = self.slot(id, 4)? else { return Ok(None) };
        let (from, count) = self.flat.vector(self.flat.follow(at)?, 1)?;
        Ok(Some(&self.flat.bytes[from..from + count]))
    }

    /// A table within the table; none if it is absent.
    pub(crate) fn table(&self, id: usize) -> Result<Option<Table<'a, 'b>>, BarrageError> {
        let Some(at) = self.slot(id, 4)? else { return Ok(None) };
        self.flat.table(self.flat.follow(at)?).map(Some)
    }

    /// How many tables a vector has, and each in turn; none if it is absent.
    pub(crate) fn tables(
        &self,
        id: usize,
    ) -> Result<Option<impl ExactSizeIterator<Item = Result<Table<'a, 'b>, BarrageError>> + use<'a, 'b>>, BarrageError>
    {
        let Some(at) = self.slot(id, 4)? else { return Ok(None) };
        let flat = self.flat;
        let (from, count) = flat.vector(flat.follow(at)?, 4)?;
        Ok(Some((0..count).map(move |index| flat.table(flat.follow(from + 4 * index)?))))
    }
}
