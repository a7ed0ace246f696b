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
    /// How long a client may take to say what it asks: the one message of its call, or the first of many.
    pub request: Duration,
    /// How long a call of one answer may take.
    pub unary: Duration,
    /// How long a script of a console may take, with what it waits for its turn.
    pub script: Duration,
    /// Sessions at one time.
    pub sessions: usize,
    /// How long a session lives after its last call.
    pub session: Duration,
    /// Codes that wait to be used.
    pub codes: usize,
    /// How long a code waits.
    pub code: Duration,
    /// How long a client may leave a message before the step that it is read from is let go.
    pub patience: Duration,
    /// How long the rows of one step may be on their way, before it is let go.
    pub hold: Duration,
    /// Exports of a session at one time.
    pub exports: usize,
    /// Bytes that one upload may hold.
    pub upload: u64,
    /// Bytes of a file that a client keeps with the server: as many as clients take in one message.
    pub storage_file: u64,
    /// Files and folders that clients keep.
    pub storage_files: usize,
    /// Bytes of all these files.
    pub storage: u64,
    /// Sessions of a login at one time.
    pub login_sessions: usize,
    /// Exports of a login at one time, in all its sessions.
    pub login_exports: usize,
    /// Tables that a login follows at one time, in all its sessions.
    pub login_subscriptions: usize,
    /// Bytes of a login's uploads, and of what it is owed and does not read; all logins together never have more than half of what the process may hold.
    pub login_memory: u64,
}

impl Limits {
    /// What each of so many logins has: never more than its share of all sessions, and of half of what the process may hold.
    pub(crate) fn shared_by(self, logins: usize) -> Limits {
        let logins = logins.max(1);
        Limits {
            login_sessions: self.login_sessions.min((self.sessions / logins).max(1)),
            login_memory: self.login_memory.min(limits::limit() / 2 / logins as u64),
            ..self
        }
    }
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
            request: Duration::from_secs(300),
            unary: Duration::from_secs(300),
            script: Duration::from_secs(3600),
            sessions: 4096,
            session: Duration::from_secs(300),
            codes: 64,
            code: Duration::from_secs(60),
            patience: Duration::from_secs(5),
            hold: Duration::from_secs(300),
            exports: 100_000,
            upload: 16 << 30,
            storage_file: 4_000_000,
            storage_files: 10_000,
            storage: 1 << 30,
            login_sessions: 1024,
            login_exports: 200_000,
            login_subscriptions: 4096,
            login_memory: 16 << 30,
        }
    }
}
