//! The server: sessions, tickets, and Arrow Flight over HTTP/2.
//!
//! Nothing below knows of it. No thread, socket or runtime exists before [`Server::start`], and none after the server is
//! dropped. Each call is authenticated in one place, by the table of all calls ([`calls`]), before its service sees it.

mod attributes;
mod begin;
mod calls;
mod catalog;
mod codes;
mod columns;
mod console;
mod context;
mod counters;
mod data_messages;
mod exchange;
mod exports;
mod feed;
mod fields;
mod flight;
mod frames;
#[cfg(test)]
mod golden;
mod ipc;
pub mod limits;
mod lines;
mod listen;
mod logins;
mod logs;
mod objects;
mod pace;
mod partitions;
mod proto;
mod race;
mod remote;
mod scripts;
mod service;
mod sessions;
mod sizes;
mod storage;
mod tables;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod tickets;
mod tls;
mod trouble;

mod web;

pub use attributes::Attribute;
pub use calls::{CALLS, Call};
pub use catalog::{Catalog, GraphOf, Object, Resolve, Served};
pub use codes::CodeError;
pub use listen::{Options, Server, StartError};
pub use remote::{Part, Remote, RemoteError, RemoteOptions, RemoteState, Viewport};
pub use scripts::{Interpreter, Ran, Say, Script, Spoken};
pub use sessions::Access;
pub use tls::{Identity, TlsError, Trust};
