//! The corpus of the fuzz targets, each of its files disturbed, and bytes drawn anew: read or refused, never worse.

use std::fs;
use std::path::Path;

#[path = "../fuzz/src/lib.rs"]
mod targets;

use targets::{TARGETS, call, exchange};

/// Files of the corpus of a target, and beginnings that every target has.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let mut paths: Vec<_> =
        fs::read_dir(&folder).expect("a folder of the corpus").map(|entry| entry.expect("a file").path()).collect();
    paths.sort();
    assert!(paths.len() >= 10, "{target} has a corpus of {} files", paths.len());
    paths.iter().map(|path| fs::read(path).expect("a file of the corpus")).collect()
}

/// The next word of a sequence that a seed begins (SplitMix64).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut word = *state;
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// A case, and neighbours of it: cut short, a byte turned, a piece said twice.
fn disturbed(bytes: &[u8], state: &mut u64) -> Vec<Vec<u8>> {
    let mut cases = vec![bytes.to_vec()];
    if bytes.is_empty() {
        return cases;
    }
    for _ in 0..6 {
        let (at, to) = (next(state) as usize % bytes.len(), next(state) as usize % bytes.len());
        let mut turned = bytes.to_vec();
        turned[at] ^= 1 << (next(state) % 8);
        cases.push(turned);
        cases.push(bytes[..at].to_vec());
        let mut twice = bytes.to_vec();
        twice.extend_from_slice(&bytes[at.min(to)..at.max(to)]);
        cases.push(twice);
    }
    cases
}

fn replay(target: &str) {
    let mut state = std::env::var("TICKFRAME_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    let files = corpus(target);
    for bytes in files.iter().flat_map(|bytes| disturbed(bytes, &mut state)) {
        call(target, &bytes);
    }
    for _ in 0..200 {
        let len = next(&mut state) % 400;
        let bytes: Vec<u8> = (0..len).map(|_| next(&mut state) as u8).collect();
        call(target, &bytes);
    }
}

/// What comes over a wire is short and mostly head: cut short everywhere and with every bit turned, it is read or
/// refused, and much of it is read.
#[test]
fn what_comes_over_a_wire_is_read_or_refused_wherever_it_is_disturbed() {
    let readers: [(&str, fn(&[u8]) -> bool); 5] = [
        ("metadata", exchange::metadata),
        ("roaring", exchange::roaring),
        ("rows", exchange::rows),
        ("shifts", exchange::shifts),
        ("updates", exchange::updates),
    ];
    for (target, read) in readers {
        let mut sound = 0;
        for bytes in corpus(target) {
            sound += usize::from(read(&bytes));
            // Behind the head it is looked at here and there.
            for at in (0..bytes.len()).filter(|at| *at < 200 || at % 97 == 0) {
                sound += usize::from(read(&bytes[..at]));
                for bit in 0..8 {
                    let mut turned = bytes.clone();
                    turned[at] ^= 1 << bit;
                    sound += usize::from(read(&turned));
                }
            }
        }
        assert!(sound > 100, "{target}: {sound} were sound");
    }
}

macro_rules! replayed {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            replay(stringify!($name));
        })*

        #[test]
        fn every_target_is_replayed() {
            let replayed = [$(stringify!($name)),*];
            assert_eq!(TARGETS.iter().map(|(name, _)| *name).collect::<Vec<_>>(), replayed);
        }
    };
}

replayed!(
    apply bodies casts credentials expressions files folders formulas logs metadata pages plans requests roaring rows sessions
    shifts tickets trees updates
);
