//! The server: sessions, tickets, and Arrow Flight over HTTP/2.
//!
//! Nothing below knows of it. No thread, socket or runtime exists before [`Server::start`], and none after the server is
//! dropped. Each call is authenticated in one place, by the table of all calls ([`calls`]), before its service sees it.

mod calls;
mod catalog;
mod console;
mod context;
mod exchange;
mod exports;
mod feed;
mod fields;
mod flight;
mod frames;
mod ipc;
pub mod limits;
mod listen;
mod lock;
mod proto;
mod race;
mod service;
mod sessions;
mod tables;
mod tickets;
mod trouble;
mod uploads;

pub use calls::{CALLS, Call};
pub use catalog::{Catalog, GraphOf, Resolve};
pub use listen::{Options, Server, StartError};
pub use sessions::Access;
