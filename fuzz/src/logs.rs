//! Files of a log with any content.

use std::fs;

use log::{Log, Record, read_all};

use super::scratch::Folder;

/// The bytes are cut into segments by their first byte: what is read before and after the log was opened is the same,
/// or both say what is wrong.
///
/// # Panics
/// Where the two differ.
pub fn logs(bytes: &[u8]) {
    let Some((cut, bytes)) = bytes.split_first() else { return };
    let folder = Folder::new();
    drop(Log::open(&folder.0).expect("an empty folder is a log"));
    let at = usize::from(*cut) * bytes.len() / 255;
    for (place, part) in [&bytes[..at], &bytes[at..]].into_iter().enumerate().filter(|(_, part)| !part.is_empty()) {
        fs::write(folder.0.join(format!("segment-{place:012}.log")), part).expect("room on the disk");
    }
    let found = read_all(&folder.0);
    let opened = Log::open(&folder.0).and_then(|log| {
        let records: Result<Vec<Record>, _> = log.read().collect();
        records.map(|records| (log.last(), records))
    });
    match (found, opened) {
        (Ok(found), Ok((last, again))) => {
            assert_eq!(found, again);
            assert_eq!(last, found.last().map(|record| record.number));
        }
        (Err(_), Err(_)) => {}
        (found, opened) => panic!("read: {:?}, opened: {:?}", found.err(), opened.err()),
    }
}
