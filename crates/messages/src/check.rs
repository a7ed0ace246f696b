//! What a message declares, beside the bytes that came.

use arrow_ipc::{CompressionType, Message, RecordBatch};

use crate::error::{Fault, malformed};

/// Tables within a header, at most: field nodes of a schema count, those of batches do not.
const TABLES: usize = 8 << 20;
/// A compressed buffer begins with the number of bytes that it becomes.
const PREFIX: usize = 8;
/// Said in its place of a buffer that is not compressed.
const PLAIN: i64 = -1;
/// So many times its length a block of LZ4 becomes at most: a byte says so many.
const LZ4_TIMES: u64 = 255;
/// So many times its length a block of Zstandard becomes at most: four bytes become 128 KiB.
const ZSTD_TIMES: u64 = (128 << 10) / 4;

/// Whether a flatbuffer that begins here is read where it lies.
pub(crate) fn is_aligned(bytes: &[u8]) -> bool {
    bytes.as_ptr().addr().is_multiple_of(8)
}

/// A header that was checked: whatever it says lies within it. Its bytes are aligned to eight.
///
/// # Errors
/// [`Fault::Malformed`] where it is no sound flatbuffer.
pub fn header(bytes: &[u8]) -> Result<Message<'_>, Fault> {
    let options = flatbuffers::VerifierOptions {
        max_depth: 128,
        max_tables: TABLES.min(bytes.len()),
        // What is named twice is walked twice.
        max_apparent_size: bytes.len().saturating_mul(2).max(1 << 16),
        ..Default::default()
    };
    arrow_ipc::root_as_message_with_opts(&options, bytes).or_else(malformed)
}

/// Checks the rows that a batch declares and where its buffers lie, and asks for the memory that they become.
pub(crate) fn batch(batch: RecordBatch, body: &[u8]) -> Result<(), Fault> {
    // Rows may take no bytes.
    let Ok(rows) = u64::try_from(batch.length()) else { return malformed("a negative number of rows") };
    limits::ask_rows(rows, 1)?;
    let times = match batch.compression().map(|compression| compression.codec()) {
        None => None,
        Some(CompressionType::LZ4_FRAME) => Some(LZ4_TIMES),
        Some(CompressionType::ZSTD) => Some(ZSTD_TIMES),
        Some(other) => return malformed(format!("an unknown compression, {other:?}")),
    };
    // Where buffers lie over each other, the same bytes may be copied for each of them.
    let (mut own, mut all) = (0_u64, 0_u64);
    for buffer in batch.buffers().iter().flatten() {
        let (from, len) = (usize::try_from(buffer.offset()), usize::try_from(buffer.length()));
        let end = from.ok().zip(len.ok()).and_then(|(from, len)| Some((from, from.checked_add(len)?)));
        let Some(bytes) = end.and_then(|(from, end)| body.get(from..end)) else {
            let (at, len) = (buffer.offset(), buffer.length());
            return malformed(format!("a buffer of {len} bytes at {at}, in a body of {}", body.len()));
        };
        own = own.saturating_add(bytes.len() as u64);
        if let Some(times) = times.filter(|_| !bytes.is_empty()) {
            all = all.saturating_add(unpacked(bytes, times)?);
        }
    }
    Ok(limits::ask(all.saturating_add(own.saturating_sub(body.len() as u64)))?)
}

/// How many bytes a compressed buffer becomes, at most so many times its own.
fn unpacked(bytes: &[u8], times: u64) -> Result<u64, Fault> {
    let Some((prefix, packed)) = bytes.split_first_chunk::<PREFIX>() else {
        return malformed(format!("a compressed buffer of {} bytes, which has no length", bytes.len()));
    };
    let most = packed.len() as u64 * times;
    match i64::from_le_bytes(*prefix) {
        PLAIN => Ok(0),
        len => match u64::try_from(len).ok().filter(|len| *len <= most) {
            Some(len) => Ok(len),
            None => malformed(format!("{} compressed bytes become {len}, as they say", packed.len())),
        },
    }
}
