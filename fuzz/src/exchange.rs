//! What strangers send of tables: what is read is sound, and comes back from its own bytes.

use arrow_array::Array;
use arrow_buffer::Buffer;
use barrage::{Layout, Metadata, Mirror, Receiver, WireSchema};
use rowset::RowSet;

/// 64-bit Roaring portable bytes; whether they were a row set.
pub fn roaring(bytes: &[u8]) -> bool {
    let Ok(rows) = RowSet::from_roaring(bytes) else { return false };
    assert_eq!(rows.validate(), Ok(()));
    assert_eq!(RowSet::from_roaring(&rows.to_roaring()), Ok(rows));
    true
}

/// Row sets of Barrage; whether the bytes were one.
pub fn rows(bytes: &[u8]) -> bool {
    let Ok(rows) = barrage::decode_rows(bytes) else { return false };
    assert_eq!(rows.validate(), Ok(()));
    assert_eq!(barrage::decode_rows(&barrage::encode_rows(&rows)), Ok(rows));
    true
}

/// Shifts of Barrage: they ascend, do not overlap, and move; whether the bytes were some.
pub fn shifts(bytes: &[u8]) -> bool {
    let Ok(shifts) = barrage::decode_shifts(bytes) else { return false };
    assert!(shifts.windows(2).all(|pair| pair[0].last < pair[1].first), "{shifts:?}");
    assert!(shifts.iter().all(|shift| shift.first <= shift.last && shift.delta != 0), "{shifts:?}");
    true
}

/// Requests and metadata of updates; whether the bytes were some.
pub fn metadata(bytes: &[u8]) -> bool {
    let Ok(read) = Metadata::read(bytes) else { return false };
    assert_eq!(Metadata::read(&read.write()).as_ref(), Ok(&read));
    true
}

/// The next piece, with its length in two bytes before it; cut short where the bytes end.
pub(crate) fn piece<'a>(bytes: &mut &'a [u8]) -> &'a [u8] {
    let Some((len, rest)) = bytes.split_first_chunk::<2>() else { return std::mem::take(bytes) };
    let (piece, rest) = rest.split_at(rest.len().min(u16::from_le_bytes(*len).into()));
    *bytes = rest;
    piece
}

/// A stream of updates: how it is laid out and the header of its schema, then of each message metadata, header and body. A
/// mirror follows it as long as it is sound; whether an update was.
pub fn updates(bytes: &[u8]) -> bool {
    let Some((flags, mut rest)) = bytes.split_first() else { return false };
    let layout = Layout { deephaven_nulls: flags & 1 != 0, columns_as_list: flags & 2 != 0 };
    let Ok(schema) = barrage::read_schema(piece(&mut rest)) else { return false };
    let Ok(schema) = WireSchema::received(&schema, layout.columns_as_list) else { return false };
    let mut receiver = Receiver::new(schema.clone(), layout);
    let mut mirror = Mirror::new(schema.clone(), flags & 4 != 0);
    let mut sound = false;
    while !rest.is_empty() {
        let (metadata, header) = (piece(&mut rest), piece(&mut rest));
        let body = Buffer::from(piece(&mut rest));
        let Ok(received) = receiver.receive(metadata, header, &body) else { return sound };
        let Some(update) = received else { continue };
        if mirror.apply(&update).is_err() {
            return sound;
        }
        let rows = mirror.rows().len();
        for column in (0..schema.width()).filter_map(|column| mirror.column(column)) {
            assert_eq!(column.len() as u64, rows);
            column.to_data().validate_full().expect("cells that are sound");
        }
        sound = true;
    }
    sound
}
