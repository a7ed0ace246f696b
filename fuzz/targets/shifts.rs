//! Shifts of Barrage: what is read ascends, does not overlap, and moves.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(shifts) = barrage::decode_shifts(bytes) {
        assert!(shifts.windows(2).all(|pair| pair[0].last < pair[1].first));
        assert!(shifts.iter().all(|shift| shift.first <= shift.last && shift.delta != 0));
    }
});
