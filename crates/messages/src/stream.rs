//! Messages one after the other.

use arrow_buffer::Buffer;

use crate::check::header;
use crate::error::{Fault, malformed};

/// Before the length of a message, but in the oldest streams.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// The header and the body of the next message of a stream, which is moved behind them; none at its end.
///
/// # Errors
/// [`Fault::Malformed`] where the stream is shorter than a message says, or says it in no sound header.
pub fn next(stream: &mut Buffer) -> Result<Option<(Buffer, Buffer)>, Fault> {
    let word = |at: usize| stream.get(at..at + 4).and_then(|word| <[u8; 4]>::try_from(word).ok());
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
    let there = stream.len() - prefix;
    if there < len {
        return short("header", &len, there);
    }
    // A flatbuffer is read where it is aligned.
    let head = Buffer::from(&stream[prefix..prefix + len]);
    let (body, there) = (header(&head)?.bodyLength(), there - len);
    let Some(body) = usize::try_from(body).ok().filter(|body| *body <= there) else {
        return short("body", &body, there);
    };
    let cells = stream.slice_with_length(prefix + len, body);
    stream.advance(prefix + len + body);
    Ok(Some((head, cells)))
}
