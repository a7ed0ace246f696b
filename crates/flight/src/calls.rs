//! All calls that the server answers: what is not here does not exist, and what needs a login says so here.

use Call::*;

/// One call of one service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Call {
    Handshake,
    ListFlights,
    GetFlightInfo,
    PollFlightInfo,
    GetSchema,
    DoGet,
    DoPut,
    DoExchange,
    DoAction,
    ListActions,
    NewSession,
    RefreshSessionToken,
    CloseSession,
    Release,
    ExportFromTicket,
    PublishFromTicket,
    ExportNotifications,
    TerminationNotification,
    GetAuthenticationConstants,
    GetConfigurationConstants,
}

const FLIGHT: &str = "arrow.flight.protocol.FlightService";
const SESSION: &str = "io.deephaven.proto.backplane.grpc.SessionService";
const CONFIG: &str = "io.deephaven.proto.backplane.grpc.ConfigService";

/// Service, method, the call, and whether it may come before a login.
pub const CALLS: &[(&str, &str, Call, bool)] = &[
    (FLIGHT, "Handshake", Handshake, true),
    (FLIGHT, "ListFlights", ListFlights, false),
    (FLIGHT, "GetFlightInfo", GetFlightInfo, false),
    (FLIGHT, "PollFlightInfo", PollFlightInfo, false),
    (FLIGHT, "GetSchema", GetSchema, false),
    (FLIGHT, "DoGet", DoGet, false),
    (FLIGHT, "DoPut", DoPut, false),
    (FLIGHT, "DoExchange", DoExchange, false),
    (FLIGHT, "DoAction", DoAction, false),
    (FLIGHT, "ListActions", ListActions, false),
    (SESSION, "NewSession", NewSession, false),
    (SESSION, "RefreshSessionToken", RefreshSessionToken, false),
    (SESSION, "CloseSession", CloseSession, false),
    (SESSION, "Release", Release, false),
    (SESSION, "ExportFromTicket", ExportFromTicket, false),
    (SESSION, "PublishFromTicket", PublishFromTicket, false),
    (SESSION, "ExportNotifications", ExportNotifications, false),
    (SESSION, "TerminationNotification", TerminationNotification, false),
    (CONFIG, "GetAuthenticationConstants", GetAuthenticationConstants, true),
    (CONFIG, "GetConfigurationConstants", GetConfigurationConstants, false),
];

/// The call behind a path, and whether it may come before a login.
pub(crate) fn behind(path: &str) -> Option<(Call, bool)> {
    let (service, method) = path.strip_prefix('/')?.split_once('/')?;
    let known = CALLS.iter().find(|known| known.0 == service && known.1 == method)?;
    Some((known.2, known.3))
}

impl Call {
    /// Whether it answers once, and therefore has a deadline.
    pub(crate) fn is_unary(self) -> bool {
        !matches!(
            self,
            Handshake
                | ListFlights
                | DoGet
                | DoPut
                | DoExchange
                | DoAction
                | ListActions
                | ExportNotifications
                | TerminationNotification
        )
    }
}
