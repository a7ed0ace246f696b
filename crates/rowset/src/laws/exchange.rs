//! Roaring portable bytes: the `roaring` crate reads ours, we read theirs, and bad bytes are refused.

use proptest::prelude::*;
use roaring::RoaringTreemap;

use super::worlds::*;
use crate::rowset::RowSet;

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bytes_round_trip_and_are_theirs(rows in rows()) {
        let rows = rows.slice(0, 300_000);
        let bytes = rows.to_roaring();
        prop_assert_eq!(RowSet::from_roaring(&bytes), Ok(rows.clone()));
        prop_assert!(bytes.len() as u64 <= rows.roaring_bytes_at_most());
        let theirs = RoaringTreemap::deserialize_from(&bytes[..]).expect("they read ours");
        prop_assert!(theirs.iter().eq(rows.iter()));
        let mut plain = RoaringTreemap::new();
        rows.spans().for_each(|span| { plain.insert_range(span.first..=span.last); });
        let mut written = Vec::new();
        plain.serialize_into(&mut written).expect("memory");
        prop_assert_eq!(RowSet::from_roaring(&written), Ok(rows));
    }

    #[test]
    fn any_bytes_are_refused_or_read(rows in rows(), cut in any::<u64>(), flips in prop::collection::vec((any::<u64>(), any::<u8>()), 0..6), noise in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = RowSet::from_roaring(&noise);
        let mut bytes = rows.slice(0, 3000).to_roaring();
        for (at, value) in flips {
            let at = (at % bytes.len() as u64) as usize;
            bytes[at] ^= value;
        }
        bytes.truncate((cut % (bytes.len() as u64 * 2)) as usize);
        if let Ok(read) = RowSet::from_roaring(&bytes) {
            prop_assert_eq!(read.validate(), Ok(()));
        }
    }
}

#[test]
fn the_size_is_known_beforehand() {
    let wide = RowSet::range(5, 1 << 36);
    let bytes = wide.to_roaring().len() as u64;
    assert!(bytes <= wide.roaring_bytes_at_most() && wide.roaring_bytes_at_most() < 2 * bytes);
    assert!(RowSet::range(0, crate::key::MAX_KEY).roaring_bytes_at_most() > 1 << 50);
}
