//! The requests of files, and their answers, by field numbers.

use bytes::Bytes;
use prost::Message;

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ListItems {
    #[prost(string, tag = "1")]
    pub(crate) path: String,
    /// Names that match: `?` is any character, `*` any of them, `{a,b}` one of these.
    #[prost(string, optional, tag = "4")]
    pub(crate) filter_glob: Option<String>,
}

/// A file or a folder, by its name in the folder that was listed.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct Item {
    #[prost(string, tag = "1")]
    pub(crate) path: String,
    /// 1 is a folder, 2 a file.
    #[prost(int32, tag = "2")]
    pub(crate) kind: i32,
    #[prost(sint64, tag = "3")]
    pub(crate) size: i64,
    #[prost(string, optional, tag = "4")]
    pub(crate) etag: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ListedItems {
    #[prost(message, repeated, tag = "1")]
    pub(crate) items: Vec<Item>,
    #[prost(string, tag = "2")]
    pub(crate) canonical_path: String,
}

/// A file, unless it is still the one of this etag.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct FetchFile {
    #[prost(string, tag = "1")]
    pub(crate) path: String,
    #[prost(string, optional, tag = "2")]
    pub(crate) etag: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct FetchedFile {
    #[prost(bytes = "bytes", tag = "1")]
    pub(crate) contents: Bytes,
    #[prost(string, optional, tag = "2")]
    pub(crate) etag: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct SaveFile {
    #[prost(bool, tag = "1")]
    pub(crate) allow_overwrite: bool,
    #[prost(string, tag = "2")]
    pub(crate) path: String,
    #[prost(bytes = "bytes", tag = "3")]
    pub(crate) contents: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct SavedFile {
    #[prost(string, optional, tag = "1")]
    pub(crate) etag: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct MoveItem {
    #[prost(string, tag = "1")]
    pub(crate) old_path: String,
    #[prost(string, tag = "2")]
    pub(crate) new_path: String,
    #[prost(bool, tag = "3")]
    pub(crate) allow_overwrite: bool,
}

/// A folder that is to be, or an item that is to go.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct OfPath {
    #[prost(string, tag = "1")]
    pub(crate) path: String,
}
