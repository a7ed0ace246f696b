//! Row sets and shifts as Barrage has them on the wire, and back; no sockets.
//!
//! A row set is a stream of commands, each with one or many signed steps: a step up opens a key, a
//! step written as its negative closes the range that the last key opened. All integers are
//! little-endian. What is read may be cut into commands in any way; what is written is cut as the
//! other implementations cut it, byte for byte. Reading is safe on any bytes and takes no more memory
//! than they do, times a constant.
//!
//! ```
//! use rowset::RowSet;
//!
//! let rows: RowSet = [1, 2, 7, 8, 9].into_iter().collect();
//! let bytes = barrage::encode_rows(&rows);
//! assert_eq!(bytes, [0x1c, 4, 1, 0xff, 5, 0xfe, 0x20]);
//! assert_eq!(barrage::decode_rows(&bytes)?, rows);
//! # Ok::<(), barrage::BarrageError>(())
//! ```
#![deny(unsafe_code)]

mod rowset_codec;
mod shifts;

pub use rowset_codec::{decode_rows, encode_rows};
pub use shifts::{decode_shifts, encode_shifts};

/// Why bytes are not what they should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BarrageError {
    /// The bytes end before the set does.
    #[error("the bytes end at {at}, before the set does")]
    Short {
        /// Where the bytes end.
        at: usize,
    },
    /// Something at this byte is not as the format has it.
    #[error("at byte {at}: {what}")]
    Malformed {
        /// Where.
        at: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// A step leads out of the space of row keys.
    #[error("at byte {at}: a key outside the space of row keys")]
    OutOfKeys {
        /// Where.
        at: usize,
    },
    /// The three sets of a list of shifts do not belong together.
    #[error("shifts: {what}")]
    Shifts {
        /// What is wrong.
        what: &'static str,
    },
}
