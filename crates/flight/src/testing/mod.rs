//! What a server reads, without its socket: for tests that give it any bytes.

pub mod bodies;
pub mod credentials;
pub mod pages;
pub mod requests;
pub mod tickets;
