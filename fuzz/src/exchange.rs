//! Row sets and shifts from strangers: what is read is sound, and comes back from its own bytes.

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
