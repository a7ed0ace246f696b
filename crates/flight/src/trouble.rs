//! What is nobody's fault but ours: the client gets a number, and the log what happened.

use std::fmt::Display;

use engine::observe::events::{Level, note};
use tonic::Status;

/// Random bytes of the system, as hexadecimal digits.
pub(crate) fn random<const BYTES: usize>() -> Result<String, getrandom::Error> {
    let mut bytes = [0_u8; BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// An error whose cause the log tells under the number that the client is given.
pub(crate) fn internal(cause: impl Display) -> Status {
    let id = random::<6>().unwrap_or_default();
    note(Level::Error, format!("server: internal error {id}: {cause}"));
    Status::internal(format!("internal error {id}; the server's log says more"))
}
