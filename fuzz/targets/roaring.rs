//! 64-bit Roaring portable bytes: what is read is sound, and comes back from its own bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rowset::RowSet;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(rows) = RowSet::from_roaring(bytes) {
        assert_eq!(rows.validate(), Ok(()));
        assert_eq!(RowSet::from_roaring(&rows.to_roaring()), Ok(rows));
    }
});
