//! Folders of cases that are read from disk.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

/// A folder that nobody made yet, and that goes with its case.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Folder {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let name = format!("tickframe-fuzz-{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        Folder(std::env::temp_dir().join(name))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
