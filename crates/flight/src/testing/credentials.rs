//! Who is let in, by headers and by handshakes.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use tonic::Status;

use crate::flight::introduced;
use crate::limits::Limits;
use crate::sessions::{Access, Caller, Session, Sessions};

/// All sessions of a server.
pub struct Door(Sessions);

/// A caller that was let in.
#[derive(Clone)]
pub struct Guest(Arc<Session>);

impl Guest {
    /// The token of its session.
    pub fn token(&self) -> &str {
        &self.0.token
    }

    /// Whether both came in by one login.
    pub fn is(&self, other: &Guest) -> bool {
        Arc::ptr_eq(&self.0.login, &other.0.login)
    }
}

impl Door {
    /// A door that these may pass.
    pub fn new(access: Access) -> Door {
        Door(Sessions::new(access, Limits::default()))
    }

    /// Who calls with these headers.
    pub fn caller(&self, headers: &HeaderMap) -> Result<Guest, Status> {
        self.0.caller(headers).map(guest)
    }

    /// Who says so in the message of a handshake.
    pub fn introduced(&self, payload: Bytes) -> Result<Guest, Status> {
        introduced(&self.0, payload).map(guest)
    }

    /// Ends the session of a guest.
    pub fn close(&self, guest: &Guest) {
        self.0.close(&guest.0);
    }
}

fn guest(caller: Caller) -> Guest {
    Guest(caller.session)
}
