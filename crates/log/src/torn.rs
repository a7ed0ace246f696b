//! What a crash leaves of the last write to a file, told from damage.
//!
//! A write that was not synced may be cut, and of what is there any pieces of the disk may never have been written:
//! these are zeros. All before it was synced, or nothing would have been written behind it.

use crate::record::{END, HEAD, Head, MAGIC};

/// Bytes of a disk that are written together.
pub(crate) const PIECE: u64 = 512;

/// The pieces of the disk that bytes at this place of a file lie in.
fn pieces(mut bytes: &[u8], mut at: u64) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (piece, rest) = bytes.split_at(bytes.len().min((PIECE - at % PIECE) as usize));
        (at, bytes) = (at + piece.len() as u64, rest);
        (!piece.is_empty()).then_some(piece)
    })
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().take(8).all(|byte| *byte == 0) && bytes.iter().fold(0, |all, byte| all | byte) == 0
}

/// How many pieces of the disk are nothing but zeros in bytes at this place of a file.
pub(crate) fn zero_pieces(bytes: &[u8], at: u64) -> u64 {
    pieces(bytes, at).filter(|piece| is_zero(piece)).count() as u64
}

/// [`zero_pieces`] of bytes that come in parts.
pub(crate) struct ZeroPieces {
    at: u64,
    /// Whether what there is of the piece that `at` lies in is zeros; none if nothing of it came.
    last: Option<bool>,
    count: u64,
}

impl ZeroPieces {
    /// Of bytes that begin at this place of a file.
    pub(crate) fn from(at: u64) -> ZeroPieces {
        ZeroPieces { at, last: None, count: 0 }
    }

    pub(crate) fn push(&mut self, part: &[u8]) {
        for piece in pieces(part, self.at) {
            let is_zero = self.last.unwrap_or(true) && is_zero(piece);
            self.at += piece.len() as u64;
            let is_whole = self.at.is_multiple_of(PIECE);
            self.count += u64::from(is_whole && is_zero);
            self.last = (!is_whole).then_some(is_zero);
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count + u64::from(self.last == Some(true))
    }
}

fn head_of(bytes: &[u8]) -> Option<Head> {
    Head::from_bytes(bytes.first_chunk::<HEAD>()?).ok()
}

/// Whether what stands at the end of a file, from this place on, may be left of one write that was not synced. It is not
/// whole.
pub(crate) fn is_torn(left: &[u8], at: u64) -> bool {
    let (mut begin, mut is_lost) = (0, false);
    loop {
        let (record, place) = (&left[begin..], at + begin as u64);
        if record.len() < HEAD {
            return true;
        }
        let Some(head) = head_of(record) else {
            let mut begins = place;
            let is_head_lost = pieces(record, place).any(|piece| {
                let is_of_head = begins < place + HEAD as u64;
                begins += piece.len() as u64;
                is_of_head && is_zero(piece)
            });
            return is_head_lost && !has_later_write(record);
        };
        let Some(end) = end_of(&head, record) else { return true };
        let (rest, place) = (&record[HEAD..end], place + HEAD as u64);
        let (rows, mark) = rest.split_at(rest.len() - END.len());
        if head.check([rows, &[]], mark).is_err() {
            let is_end_lost = pieces(rest, place).last().is_some_and(is_zero);
            is_lost |= is_end_lost || head.zeros().is_some_and(|zeros| zero_pieces(rest, place) > zeros);
        }
        begin += end;
        if !head.is_followed {
            return is_lost && is_zero(&left[begin..]);
        }
    }
}

/// Where a record with this head ends, if it is there.
fn end_of(head: &Head, record: &[u8]) -> Option<usize> {
    let end = HEAD as u64 + head.rest().filter(|rest| *rest < record.len() as u64)?;
    (end <= record.len() as u64).then_some(end as usize)
}

/// Whether a record stands behind the end of another write: what is before it was synced.
fn has_later_write(left: &[u8]) -> bool {
    let begins = |begin: &usize| left[*begin..].starts_with(MAGIC) && head_of(&left[*begin..]).is_some();
    let Some(mut begin) = (1..left.len()).find(begins) else { return false };
    let mut has_ended = false;
    while let Some(head) = head_of(&left[begin..]) {
        if has_ended {
            return true;
        }
        let Some(end) = end_of(&head, &left[begin..]) else { return false };
        (begin, has_ended) = (begin + end, !head.is_followed);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_counted_alike_however_bytes_are_parted() {
        let mut bytes = vec![0; 4000];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from(at / 700 % 2 == 0 && at % 89 == 0);
        }
        for at in [0, 1, 40, 511, 512, 700] {
            for (from, to) in [(0, 0), (0, 1), (3, 515), (700, 1400), (650, 4000), (0, 4000)] {
                for step in [1, 2, 7, 300, 512, 5000] {
                    let mut zeros = ZeroPieces::from(at);
                    bytes[from..to].chunks(step).for_each(|part| zeros.push(part));
                    assert_eq!(zeros.count(), zero_pieces(&bytes[from..to], at), "{at} {from} {to} {step}");
                }
            }
        }
    }
}
