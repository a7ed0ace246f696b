//! How much a client may ask for, each by name.

use std::time::Duration;

/// What a server allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at one time.
    pub connections: usize,
    /// Calls that run at one time on a connection.
    pub streams: u32,
    /// Bytes of a call's headers.
    pub header_list: u32,
    /// Calls that a client reset and the server has not yet seen.
    pub pending_resets: usize,
    /// Bytes of a message that carries no rows.
    pub control_message: usize,
    /// Bytes of a message that carries rows.
    pub data_message: usize,
    /// How often a silent client is asked whether it lives.
    pub keepalive_interval: Duration,
    /// How long it may take to answer.
    pub keepalive_timeout: Duration,
    /// How long a client may take until it speaks HTTP/2.
    pub handshake: Duration,
    /// How long a call of one answer may take.
    pub unary: Duration,
    /// How long a script of a console may take, with what it waits for its turn.
    pub script: Duration,
    /// Sessions at one time.
    pub sessions: usize,
    /// How long a session lives after its last call.
    pub session: Duration,
    /// How long a follower may leave a message before the step that it is read from is let go.
    pub patience: Duration,
    /// Exports of a session at one time.
    pub exports: usize,
    /// Bytes that one upload may hold.
    pub upload: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 2048,
            streams: 100,
            header_list: 16 << 10,
            pending_resets: 20,
            control_message: 16 << 20,
            data_message: 64 << 20,
            keepalive_interval: Duration::from_secs(20),
            keepalive_timeout: Duration::from_secs(10),
            handshake: Duration::from_secs(5),
            unary: Duration::from_secs(300),
            script: Duration::from_secs(3600),
            sessions: 4096,
            session: Duration::from_secs(300),
            patience: Duration::from_secs(5),
            exports: 100_000,
            upload: 16 << 30,
        }
    }
}
