//! Row sets and shifts from strangers: what is read is sound, and comes back from its own bytes.

use rowset::RowSet;

/// 64-bit Roaring portable bytes.
pub fn roaring(bytes: &[u8]) {
    if let Ok(rows) = RowSet::from_roaring(bytes) {
        assert_eq!(rows.validate(), Ok(()));
        assert_eq!(RowSet::from_roaring(&rows.to_roaring()), Ok(rows));
    }
}

/// Row sets of Barrage.
pub fn rows(bytes: &[u8]) {
    if let Ok(rows) = barrage::decode_rows(bytes) {
        assert_eq!(rows.validate(), Ok(()));
        assert_eq!(barrage::decode_rows(&barrage::encode_rows(&rows)), Ok(rows));
    }
}

/// Shifts of Barrage: they ascend, do not overlap, and move.
pub fn shifts(bytes: &[u8]) {
    if let Ok(shifts) = barrage::decode_shifts(bytes) {
        assert!(shifts.windows(2).all(|pair| pair[0].last < pair[1].first));
        assert!(shifts.iter().all(|shift| shift.first <= shift.last && shift.delta != 0));
    }
}
