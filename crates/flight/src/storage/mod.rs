//! Files that clients keep with the server, in one folder, if it was started with one.
//!
//! Paths are those of the clients: they begin with `/`, which is the folder, and name nothing outside it. Errors tell them, and
//! nothing of where the folder lies.

mod folder;
mod glob;
pub(crate) mod messages;
#[cfg(test)]
mod tests;

use std::io::{Error, ErrorKind};
use std::path::Path;
use std::sync::{Arc, Mutex};

use tonic::Status;

use crate::context::{Context, blocking};
use crate::frames::Answers;
use crate::limits::Limits;
use crate::proto::Empty;
use crate::trouble::{internal, random};
use folder::{Folder, UNFINISHED};
use graph::lock;
use messages::{FetchFile, FetchedFile, Item, ListItems, ListedItems, MoveItem, OfPath, SaveFile, SavedFile};

/// Bytes of a path, and of one name in it.
const PATH: usize = 4096;
const NAME: usize = 255;
/// Folders in folders.
const DEEP: usize = 32;
/// Bytes of a pattern of names.
const PATTERN: usize = 256;

/// The folder of a server.
pub(crate) struct Storage {
    folder: Folder,
    /// Held by who changes something.
    changes: Mutex<()>,
    file: u64,
    files: usize,
    bytes: u64,
}

/// A path, taken apart. No call looks at a path otherwise.
struct Names<'a> {
    path: &'a str,
    names: Vec<&'a str>,
}

impl<'a> Names<'a> {
    fn of(path: &'a str) -> Result<Names<'a>, Status> {
        let wrong = |why: &str| Err(Status::invalid_argument(format!("{path:?} is no path: {why}")));
        if path.len() > PATH {
            return Err(Status::invalid_argument(format!("a path has at most {PATH} bytes, not {}", path.len())));
        }
        let Some(inside) = path.strip_prefix('/') else { return wrong("it begins with /") };
        // One behind the last name says that it is a folder's.
        let names: Vec<&str> = match inside {
            "" => Vec::new(),
            _ => inside.strip_suffix('/').unwrap_or(inside).split('/').collect(),
        };
        if names.len() > DEEP {
            return wrong("it is too deep");
        }
        for name in &names {
            let is_other = |sign: char| sign.is_control() || sign == '\\' || (cfg!(windows) && sign == ':');
            match *name {
                "" => return wrong("a name in it is empty"),
                "." | ".." => return wrong("its names are those of files and folders"),
                name if name.len() > NAME => return wrong("a name in it is too long"),
                name if name.contains(is_other) => return wrong("a name in it has a sign that no name has"),
                name if name.starts_with(UNFINISHED) => return wrong("a name in it is the server's own"),
                _ => {}
            }
        }
        Ok(Names { path, names })
    }

    /// The path of a folder that is listed; none is that of all.
    fn of_folder(path: &'a str) -> Result<Names<'a>, Status> {
        Names::of(if path.is_empty() { "/" } else { path })
    }

    /// The one form of all that name the same.
    fn canonical(&self) -> String {
        format!("/{}", self.names.join("/"))
    }

    /// The folders before the last name, and that.
    fn last(&self) -> Result<(&[&'a str], &'a str), Status> {
        let (last, before) = self
            .names
            .split_last()
            .ok_or_else(|| Status::invalid_argument("the folder of all files stays as it is and where it is"))?;
        Ok((before, last))
    }

    fn told(&self, error: Error) -> Status {
        let path = self.path;
        match error.kind() {
            ErrorKind::NotFound => Status::not_found(format!("there is no {path:?}")),
            ErrorKind::AlreadyExists => Status::already_exists(format!("there is a {path:?} already")),
            ErrorKind::NotADirectory => Status::failed_precondition(format!("{path:?} is in no folder, or is none")),
            ErrorKind::IsADirectory => Status::failed_precondition(format!("{path:?} is a folder")),
            ErrorKind::DirectoryNotEmpty => Status::failed_precondition(format!("the folder {path:?} is not empty")),
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                Status::permission_denied(format!("the server may not do that with {path:?}"))
            }
            ErrorKind::StorageFull => Status::resource_exhausted("the server's disk is full"),
            ErrorKind::QuotaExceeded => Status::resource_exhausted(format!("the folder {path:?} has too many files")),
            ErrorKind::FileTooLarge => Status::resource_exhausted(format!("{path:?} is longer than a file may be")),
            ErrorKind::InvalidInput => Status::invalid_argument(format!("a folder has no place in itself: {path:?}")),
            ErrorKind::InvalidFilename => Status::invalid_argument(format!("{path:?} is no path here")),
            _ => internal(error),
        }
    }
}

impl Storage {
    /// The files of this folder.
    pub(crate) fn open(path: &Path, limits: &Limits) -> Result<Storage, Error> {
        let (file, files, bytes) = (limits.storage_file, limits.storage_files, limits.storage);
        Ok(Storage { folder: Folder::open(path)?, changes: Mutex::default(), file, files, bytes })
    }

    /// Does something with the folder that these names lead to.
    fn within<R>(&self, names: &[&str], work: impl FnOnce(&Folder) -> Result<R, Error>) -> Result<R, Error> {
        work(self.folder.walk(names)?.as_ref().unwrap_or(&self.folder))
    }

    /// How many files and folders there are, and the bytes of the files; no more are counted than there may be.
    fn held(&self) -> (usize, u64) {
        fn count(folder: &Folder, deep: usize, most: usize, held: &mut (usize, u64)) {
            let Ok(entries) = folder.entries(most) else {
                held.0 = most;
                return;
            };
            for entry in entries {
                held.0 += 1;
                held.1 = held.1.saturating_add(entry.bytes);
                if held.0 >= most {
                    return;
                }
                if let Some(below) = (entry.is_folder && deep > 0).then(|| folder.step(&entry.name)) {
                    _ = below.map(|below| count(&below, deep - 1, most, held));
                }
            }
        }
        let mut held = (0, 0);
        count(&self.folder, DEEP, self.files, &mut held);
        held
    }

    /// Whether there is room for one more, of so many bytes instead of those that it had.
    fn room(&self, more: usize, bytes: u64, before: u64) -> Result<(), Status> {
        let (files, all) = self.held();
        if files + more > self.files {
            return Err(Status::resource_exhausted(format!("there are at most {} files and folders", self.files)));
        }
        if all.saturating_sub(before).saturating_add(bytes) > self.bytes {
            return Err(Status::resource_exhausted(format!("all files have at most {} bytes", self.bytes)));
        }
        Ok(())
    }

    fn list(&self, of: &ListItems) -> Result<ListedItems, Status> {
        let names = Names::of_folder(&of.path)?;
        let wanted = match of.filter_glob.as_deref() {
            None | Some("") => None,
            Some(text) if text.len() > PATTERN || text.contains('/') => {
                return Err(Status::invalid_argument(format!("a pattern is of one name, of at most {PATTERN} bytes")));
            }
            Some(text) => {
                let each = glob::patterns(text);
                Some(each.ok_or_else(|| Status::invalid_argument("a pattern has too many braces"))?)
            }
        };
        let found =
            self.within(&names.names, |folder| folder.entries(self.files)).map_err(|error| names.told(error))?;
        let is_wanted = |name: &str| wanted.as_ref().is_none_or(|each| each.iter().any(|one| glob::matches(one, name)));
        let items = found.into_iter().filter(|entry| is_wanted(&entry.name)).map(|entry| Item {
            kind: if entry.is_folder { 1 } else { 2 },
            size: i64::try_from(entry.bytes).unwrap_or(i64::MAX),
            etag: (!entry.is_folder).then_some(entry.etag),
            path: entry.name,
        });
        Ok(ListedItems { items: items.collect(), canonical_path: names.canonical() })
    }

    fn fetch(&self, of: &FetchFile) -> Result<FetchedFile, Status> {
        let names = Names::of(&of.path)?;
        let (before, name) = names.last()?;
        let read = self.within(before, |folder| folder.read(name, self.file)).map_err(|error| names.told(error))?;
        let (contents, etag) = read;
        let is_known = of.etag.as_ref() == Some(&etag);
        let contents = if is_known { bytes::Bytes::new() } else { contents.into() };
        Ok(FetchedFile { contents, etag: Some(etag) })
    }

    fn save(&self, of: &SaveFile) -> Result<SavedFile, Status> {
        let names = Names::of(&of.path)?;
        let (before, name) = names.last()?;
        let bytes = of.contents.len() as u64;
        if bytes > self.file {
            return Err(Status::resource_exhausted(format!("a file has at most {} bytes, not {bytes}", self.file)));
        }
        let aside = random::<8>().map_err(internal)?;
        let _one = lock(&self.changes);
        let told = |error| names.told(error);
        let folder = self.folder.walk(before).map_err(told)?;
        let folder = folder.as_ref().unwrap_or(&self.folder);
        match folder.taken(name).map_err(told)? {
            Some(entry) if entry.is_folder => return Err(told(Error::from(ErrorKind::IsADirectory))),
            Some(_) if !of.allow_overwrite => return Err(told(Error::from(ErrorKind::AlreadyExists))),
            Some(entry) => self.room(0, bytes, entry.bytes)?,
            None => self.room(1, bytes, 0)?,
        }
        folder.write(name, &of.contents, &aside).map_err(told)?;
        Ok(SavedFile { etag: folder.entry(name).ok().map(|entry| entry.etag) })
    }

    fn rename(&self, of: &MoveItem) -> Result<(), Status> {
        let (from, to) = (Names::of(&of.old_path)?, Names::of(&of.new_path)?);
        let ((from_folder, name), (to_folder, new)) = (from.last()?, to.last()?);
        let _one = lock(&self.changes);
        let old = self.folder.walk(from_folder).map_err(|error| from.told(error))?;
        let old = old.as_ref().unwrap_or(&self.folder);
        let moved = old.entry(name).map_err(|error| from.told(error))?;
        let other = self.folder.walk(to_folder).map_err(|error| to.told(error))?;
        let other = other.as_ref().unwrap_or(&self.folder);
        // A folder is not replaced, nor is a file by one.
        let stays = |taken: folder::Entry| !of.allow_overwrite || taken.is_folder || moved.is_folder;
        if other.taken(new).map_err(|error| to.told(error))?.is_some_and(stays) {
            return Err(to.told(Error::from(ErrorKind::AlreadyExists)));
        }
        old.rename(name, other, new).map_err(|error| to.told(error))
    }

    fn create(&self, of: &OfPath) -> Result<(), Status> {
        let names = Names::of(&of.path)?;
        let (before, name) = names.last()?;
        let _one = lock(&self.changes);
        self.room(1, 0, 0)?;
        self.within(before, |folder| folder.create(name)).map_err(|error| names.told(error))
    }

    fn delete(&self, of: &OfPath) -> Result<(), Status> {
        let names = Names::of(&of.path)?;
        let (before, name) = names.last()?;
        let _one = lock(&self.changes);
        self.within(before, |folder| folder.remove(name)).map_err(|error| names.told(error))
    }
}

/// Does something with the files of the server, where it may wait for a disk.
async fn with<R: Send + 'static>(
    context: &Context,
    work: impl FnOnce(&Storage) -> Result<R, Status> + Send + 'static,
) -> Result<R, Status> {
    let storage: Option<Arc<Storage>> = context.shared.storage.clone();
    let storage = storage.ok_or_else(|| Status::unimplemented("this server keeps no files"))?;
    blocking(move || work(&storage)).await
}

pub(crate) async fn list(context: &Context, of: ListItems) -> Result<Answers, Status> {
    Ok(Answers::once(&with(context, move |storage| storage.list(&of)).await?))
}

pub(crate) async fn fetch(context: &Context, of: FetchFile) -> Result<Answers, Status> {
    Ok(Answers::once(&with(context, move |storage| storage.fetch(&of)).await?))
}

pub(crate) async fn save(context: &Context, of: SaveFile) -> Result<Answers, Status> {
    Ok(Answers::once(&with(context, move |storage| storage.save(&of)).await?))
}

pub(crate) async fn rename(context: &Context, of: MoveItem) -> Result<Answers, Status> {
    with(context, move |storage| storage.rename(&of)).await?;
    Ok(Answers::once(&Empty {}))
}

pub(crate) async fn create(context: &Context, of: OfPath) -> Result<Answers, Status> {
    with(context, move |storage| storage.create(&of)).await?;
    Ok(Answers::once(&Empty {}))
}

pub(crate) async fn delete(context: &Context, of: OfPath) -> Result<Answers, Status> {
    with(context, move |storage| storage.delete(&of)).await?;
    Ok(Answers::once(&Empty {}))
}
