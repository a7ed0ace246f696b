//! Files of a log with any content.

use std::fs;
use std::path::PathBuf;

use log::{Log, Record, read_all};

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

struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        use std::sync::atomic::{AtomicU64, Ordering};
        static MADE: AtomicU64 = AtomicU64::new(0);
        let name = format!("tickframe-logs-{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        Folder(std::env::temp_dir().join(name))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
