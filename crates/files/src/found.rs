//! Files of a path, a pattern or a directory, and what the names of their directories say (`day=2024-05-01`).

use std::path::{Path, PathBuf};

use crate::error::Error;

/// A file, and the columns that its directories name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    /// The file.
    pub path: PathBuf,
    /// `key=value`, from the outermost; None where the value is `__HIVE_DEFAULT_PARTITION__`.
    pub partitions: Vec<(String, Option<String>)>,
}

/// A null among the values of directories.
pub(crate) const NO_VALUE: &str = "__HIVE_DEFAULT_PARTITION__";

/// The files that a text stands for, in order of their names: a file, a pattern (`*`, `?`, `[..]`, `**`), or a directory, of
/// which files with these endings are found at any depth. Names that begin with `.` or `_` are passed over.
pub fn find(text: &str, endings: &[&str]) -> Result<Vec<Found>, Error> {
    let path = Path::new(text);
    if path.is_dir() {
        let mut found = Vec::new();
        walk(path, endings, &mut Vec::new(), &mut found)?;
        found.sort_unstable();
        return Ok(found);
    }
    if path.exists() || !text.contains(['*', '?', '[']) {
        return Ok(vec![Found { path: path.to_path_buf(), partitions: Vec::new() }]);
    }
    let pattern =
        glob::glob(text).map_err(|error| Error::Options(format!("{text:?} is no pattern of files: {error}")))?;
    let root =
        Path::new(text).components().take_while(|part| !part.as_os_str().to_string_lossy().contains(['*', '?', '[']));
    let root: PathBuf = root.collect();
    let mut found = Vec::new();
    for path in pattern {
        let path = path.map_err(|error| Error::Io {
            path: error.path().display().to_string(),
            action: "list",
            source: error.into(),
        })?;
        if path.is_dir() {
            continue;
        }
        let between = path.strip_prefix(&root).ok().and_then(Path::parent).map(Path::to_path_buf).unwrap_or_default();
        let partitions = between.iter().filter_map(|part| partition(&part.to_string_lossy())).collect();
        found.push(Found { path, partitions });
    }
    found.sort_unstable();
    Ok(found)
}

fn walk(
    folder: &Path,
    endings: &[&str],
    partitions: &mut Vec<(String, Option<String>)>,
    found: &mut Vec<Found>,
) -> Result<(), Error> {
    let name = folder.display().to_string();
    for entry in std::fs::read_dir(folder).map_err(Error::io("list", &name))? {
        let entry = entry.map_err(Error::io("list", &name))?;
        let (path, own) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if own.starts_with(['.', '_']) {
            continue;
        }
        // A link to a directory may lead back here, and is not followed.
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            let named = partition(&own);
            let deeper = named.is_some();
            partitions.extend(named);
            walk(&path, endings, partitions, found)?;
            if deeper {
                partitions.pop();
            }
        } else if endings.iter().any(|ending| own.ends_with(ending)) {
            found.push(Found { path, partitions: partitions.clone() });
        }
    }
    Ok(())
}

fn partition(name: &str) -> Option<(String, Option<String>)> {
    let (key, value) = name.split_once('=')?;
    let value = (value != NO_VALUE).then(|| decoded(value));
    (!key.is_empty()).then(|| (decoded(key), value))
}

/// A text in which bytes are written as `%2F`.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).filter(|_| *first == b'%').and_then(|two| std::str::from_utf8(two).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => (bytes.push(byte), rest = &after[2..]),
            None => (bytes.push(*first), rest = after),
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The name of a directory for a value, which [`find`] reads back.
pub(crate) fn folder(key: &str, value: Option<&str>) -> String {
    let encoded = |text: &str| {
        let mut out = String::with_capacity(text.len());
        for byte in text.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b' ' | b'+' | b',' | b'@' => {
                    out.push(char::from(byte))
                }
                _ => out.push_str(&format!("%{byte:02X}")),
            }
        }
        out
    };
    format!("{}={}", encoded(key), value.map_or_else(|| NO_VALUE.to_owned(), encoded))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_directories_come_back() {
        for value in ["a", "a/b", "2024-01-01 10:00", "=%", "ä", ""] {
            assert_eq!(partition(&folder("k/1", Some(value))), Some(("k/1".into(), Some(value.into()))), "{value:?}");
        }
        assert_eq!(partition(&folder("k", None)), Some(("k".into(), None)));
        assert_eq!(partition("plain"), None);
    }
}
