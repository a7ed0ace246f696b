//! Row sets of Barrage: what is read is sound, and comes back from its own bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(rows) = barrage::decode_rows(bytes) {
        assert_eq!(rows.validate(), Ok(()));
        assert_eq!(barrage::decode_rows(&barrage::encode_rows(&rows)), Ok(rows));
    }
});
