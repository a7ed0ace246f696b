//! Names of tables: the bytes of tickets, and the paths of descriptors.

use bytes::Bytes;
use tonic::Status;

use crate::proto::FlightDescriptor;
use crate::tickets::{Named, of_descriptor, of_ticket};

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name(Named);

impl Name {
    /// What a ticket names.
    pub fn of_ticket(ticket: &Bytes) -> Result<Name, Status> {
        of_ticket("ticket", ticket).map(Name)
    }

    /// What a descriptor of this kind names.
    pub fn of_path(kind: i32, path: Vec<String>) -> Result<Name, Status> {
        of_descriptor("descriptor", Some(&FlightDescriptor { kind, cmd: Bytes::new(), path })).map(Name)
    }

    /// The ticket that names it.
    pub fn ticket(&self) -> Bytes {
        self.0.ticket()
    }

    /// The path that names it.
    pub fn path(&self) -> Vec<String> {
        self.0.descriptor().path
    }
}
