//! The corpus of the fuzz targets, and each of its files disturbed: read or refused, never worse.

use std::fs;
use std::path::{Path, PathBuf};

use barrage::{decode_rows, decode_shifts, encode_rows};

/// The bytes of every file of a target's corpus.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).expect("the corpus").map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    assert!(files.len() >= 10, "a corpus of {} files", files.len());
    files.iter().map(|file| fs::read(file).expect("readable")).collect()
}

/// The bytes as they are, cut short everywhere, and with every bit turned.
fn disturbed(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let cut = (0..=bytes.len()).map(|end| bytes[..end].to_vec());
    let turned = (0..bytes.len() * 8).map(|bit| {
        let mut turned = bytes.to_vec();
        turned[bit / 8] ^= 1 << (bit % 8);
        turned
    });
    cut.chain(turned)
}

#[test]
fn rows_are_read_or_refused() {
    let mut read = 0;
    for bytes in corpus("rows").iter().flat_map(|bytes| disturbed(bytes)) {
        if let Ok(rows) = decode_rows(&bytes) {
            assert_eq!(rows.validate(), Ok(()));
            assert_eq!(decode_rows(&encode_rows(&rows)), Ok(rows));
            read += 1;
        }
    }
    assert!(read > 100, "{read} were row sets");
}

#[test]
fn shifts_are_read_or_refused() {
    let mut read = 0;
    for bytes in corpus("shifts").iter().flat_map(|bytes| disturbed(bytes)) {
        if let Ok(shifts) = decode_shifts(&bytes) {
            assert!(shifts.windows(2).all(|pair| pair[0].last < pair[1].first), "{shifts:?}");
            assert!(shifts.iter().all(|shift| shift.first <= shift.last && shift.delta != 0), "{shifts:?}");
            read += 1;
        }
    }
    assert!(read > 100, "{read} were shifts");
}
