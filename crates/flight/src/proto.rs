//! The messages, by field numbers. Bodies are slices of what came, never copies.

use std::collections::HashMap;

use bytes::Bytes;
use prost::Message;

/// The words of `arrow.flight.protocol`.
#[derive(Clone, PartialEq, Message)]
pub struct FlightDescriptor {
    /// 1: a path, 2: a command.
    #[prost(int32, tag = "1")]
    pub kind: i32,
    #[prost(bytes = "bytes", tag = "2")]
    pub cmd: Bytes,
    #[prost(string, repeated, tag = "3")]
    pub path: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct FlightData {
    #[prost(message, optional, tag = "1")]
    pub flight_descriptor: Option<FlightDescriptor>,
    #[prost(bytes = "bytes", tag = "2")]
    pub data_header: Bytes,
    #[prost(bytes = "bytes", tag = "3")]
    pub app_metadata: Bytes,
    #[prost(bytes = "bytes", tag = "1000")]
    pub data_body: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub struct Ticket {
    #[prost(bytes = "bytes", tag = "1")]
    pub ticket: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub struct PutResult {
    #[prost(bytes = "bytes", tag = "1")]
    pub app_metadata: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub struct Criteria {
    #[prost(bytes = "bytes", tag = "1")]
    pub expression: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub struct Action {
    #[prost(string, tag = "1")]
    pub kind: String,
    #[prost(bytes = "bytes", tag = "2")]
    pub body: Bytes,
}

/// What an action gives.
#[derive(Clone, PartialEq, Message)]
pub struct ActionResult {
    #[prost(bytes = "bytes", tag = "1")]
    pub body: Bytes,
}

/// An action that there is.
#[derive(Clone, PartialEq, Message)]
pub struct ActionType {
    #[prost(string, tag = "1")]
    pub kind: String,
    #[prost(string, tag = "2")]
    pub description: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct SchemaResult {
    #[prost(bytes = "bytes", tag = "1")]
    pub schema: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub struct FlightEndpoint {
    #[prost(message, optional, tag = "1")]
    pub ticket: Option<Ticket>,
}

#[derive(Clone, PartialEq, Message)]
pub struct FlightInfo {
    #[prost(bytes = "bytes", tag = "1")]
    pub schema: Bytes,
    #[prost(message, optional, tag = "2")]
    pub flight_descriptor: Option<FlightDescriptor>,
    #[prost(message, repeated, tag = "3")]
    pub endpoint: Vec<FlightEndpoint>,
    #[prost(int64, tag = "4")]
    pub total_records: i64,
    #[prost(int64, tag = "5")]
    pub total_bytes: i64,
    #[prost(bool, tag = "6")]
    pub ordered: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct PollInfo {
    #[prost(message, optional, tag = "1")]
    pub info: Option<FlightInfo>,
}

/// Flight's own, for request and response.
#[derive(Clone, PartialEq, Message)]
pub struct FlightHandshake {
    #[prost(uint64, tag = "1")]
    pub protocol_version: u64,
    #[prost(bytes = "bytes", tag = "2")]
    pub payload: Bytes,
}

/// The payload of a handshake by name and password.
#[derive(Clone, PartialEq, Message)]
pub struct BasicAuth {
    #[prost(string, tag = "2")]
    pub username: String,
    #[prost(string, tag = "3")]
    pub password: String,
}

/// The payload of a handshake by any of the forms of the header.
#[derive(Clone, PartialEq, Message)]
pub struct WrappedAuthentication {
    #[prost(string, tag = "4")]
    pub kind: String,
    #[prost(bytes = "bytes", tag = "5")]
    pub payload: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub struct Empty {}

/// The session service's.
#[derive(Clone, PartialEq, Message)]
pub struct HandshakeRequest {
    #[prost(sint32, tag = "1")]
    pub auth_protocol: i32,
    #[prost(bytes = "bytes", tag = "2")]
    pub payload: Bytes,
}

#[derive(Clone, PartialEq, Message)]
pub struct HandshakeResponse {
    #[prost(bytes = "bytes", tag = "1")]
    pub metadata_header: Bytes,
    #[prost(bytes = "bytes", tag = "2")]
    pub session_token: Bytes,
    #[prost(sint64, tag = "3")]
    pub token_deadline_time_millis: i64,
    #[prost(sint64, tag = "4")]
    pub token_expiration_delay_millis: i64,
}

#[derive(Clone, PartialEq, Message)]
pub struct ReleaseRequest {
    #[prost(message, optional, tag = "1")]
    pub id: Option<Ticket>,
}

/// For `ExportFromTicket` and `PublishFromTicket`.
#[derive(Clone, PartialEq, Message)]
pub struct FromTicket {
    #[prost(message, optional, tag = "1")]
    pub source_id: Option<Ticket>,
    #[prost(message, optional, tag = "2")]
    pub result_id: Option<Ticket>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ExportNotification {
    #[prost(message, optional, tag = "1")]
    pub ticket: Option<Ticket>,
    #[prost(int32, tag = "2")]
    pub export_state: i32,
    #[prost(string, tag = "3")]
    pub context: String,
    #[prost(string, tag = "4")]
    pub dependent_handle: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct TerminationNotification {
    #[prost(bool, tag = "1")]
    pub abnormal_termination: bool,
    #[prost(string, tag = "2")]
    pub reason: String,
    #[prost(bool, tag = "3")]
    pub is_from_uncaught_exception: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct ConfigValue {
    #[prost(string, optional, tag = "3")]
    pub string_value: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Constants {
    #[prost(map = "string, message", tag = "1")]
    pub config_values: HashMap<String, ConfigValue>,
}

/// For `AddTableToInputTable` and `DeleteTableFromInputTable`: the input table, and the table of rows.
pub type TwoTickets = FromTicket;

/// What of the scope changed.
#[derive(Clone, PartialEq, Message)]
pub struct FieldsChange {
    #[prost(message, repeated, tag = "1")]
    pub created: Vec<FieldInfo>,
    #[prost(message, repeated, tag = "2")]
    pub updated: Vec<FieldInfo>,
    #[prost(message, repeated, tag = "3")]
    pub removed: Vec<FieldInfo>,
}

#[derive(Clone, PartialEq, Message)]
pub struct FieldInfo {
    #[prost(message, optional, tag = "1")]
    pub typed_ticket: Option<TypedTicket>,
    #[prost(string, tag = "2")]
    pub field_name: String,
    #[prost(string, tag = "3")]
    pub field_description: String,
    #[prost(string, tag = "4")]
    pub application_name: String,
    #[prost(string, tag = "5")]
    pub application_id: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct TypedTicket {
    #[prost(message, optional, tag = "1")]
    pub ticket: Option<Ticket>,
    #[prost(string, tag = "2")]
    pub kind: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct ConsoleTypes {
    #[prost(string, repeated, tag = "1")]
    pub console_types: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct StartConsole {
    #[prost(message, optional, tag = "1")]
    pub result_id: Option<Ticket>,
    #[prost(string, tag = "2")]
    pub session_type: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct StartedConsole {
    #[prost(message, optional, tag = "1")]
    pub result_id: Option<Ticket>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ExecuteCommand {
    #[prost(message, optional, tag = "1")]
    pub console_id: Option<Ticket>,
    #[prost(string, tag = "3")]
    pub code: String,
}

/// What a script has done. What is wrong with it is no error of the call.
#[derive(Clone, PartialEq, Message)]
pub struct Executed {
    #[prost(string, tag = "1")]
    pub error_message: String,
    #[prost(message, optional, tag = "2")]
    pub changes: Option<FieldsChange>,
    /// In nanoseconds.
    #[prost(int64, tag = "3")]
    pub start_timestamp: i64,
    #[prost(int64, tag = "4")]
    pub end_timestamp: i64,
}

/// Ends what runs in a console.
#[derive(Clone, PartialEq, Message)]
pub struct CancelCommand {
    #[prost(message, optional, tag = "1")]
    pub console_id: Option<Ticket>,
}

#[derive(Clone, PartialEq, Message)]
pub struct SubscribeToLogs {
    /// In microseconds: what was said until then is not told again.
    #[prost(int64, tag = "1")]
    pub last_seen_log_timestamp: i64,
    /// `STDOUT`, `STDERR`; none for both.
    #[prost(string, repeated, tag = "2")]
    pub levels: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct LogMessage {
    #[prost(int64, tag = "1")]
    pub micros: i64,
    #[prost(string, tag = "2")]
    pub log_level: String,
    #[prost(string, tag = "3")]
    pub message: String,
}

/// A question of how a text might go on; it is answered with that this is not known.
#[derive(Clone, PartialEq, Message)]
pub struct CompletionRequest {
    #[prost(message, optional, tag = "5")]
    pub console_id: Option<Ticket>,
    #[prost(int32, tag = "6")]
    pub request_id: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct CompletionResponse {
    #[prost(int32, tag = "2")]
    pub request_id: i32,
    #[prost(bool, tag = "3")]
    pub success: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct BindTable {
    #[prost(string, tag = "3")]
    pub variable_name: String,
    #[prost(message, optional, tag = "4")]
    pub table_id: Option<Ticket>,
}

/// For `FetchObject`, and as the first message of a stream.
#[derive(Clone, PartialEq, Message)]
pub struct FetchObject {
    #[prost(message, optional, tag = "1")]
    pub source_id: Option<TypedTicket>,
}

#[derive(Clone, PartialEq, Message)]
pub struct FetchedObject {
    #[prost(string, tag = "1")]
    pub kind: String,
    #[prost(bytes = "bytes", tag = "2")]
    pub data: Bytes,
    #[prost(message, repeated, tag = "3")]
    pub typed_export_ids: Vec<TypedTicket>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ObjectData {
    #[prost(bytes = "bytes", tag = "1")]
    pub payload: Bytes,
    #[prost(message, repeated, tag = "2")]
    pub references: Vec<TypedTicket>,
}

/// The first connects, others carry data.
#[derive(Clone, PartialEq, Message)]
pub struct StreamRequest {
    #[prost(message, optional, tag = "1")]
    pub connect: Option<FetchObject>,
    #[prost(message, optional, tag = "2")]
    pub data: Option<ObjectData>,
}

#[derive(Clone, PartialEq, Message)]
pub struct StreamResponse {
    #[prost(message, optional, tag = "1")]
    pub data: Option<ObjectData>,
}

/// What a table of tables is.
#[derive(Clone, PartialEq, Message)]
pub struct PartitionedDescriptor {
    #[prost(string, repeated, tag = "1")]
    pub key_column_names: Vec<String>,
    #[prost(bool, tag = "2")]
    pub unique_keys: bool,
    #[prost(bytes = "bytes", tag = "3")]
    pub constituent_definition_schema: Bytes,
    #[prost(string, tag = "4")]
    pub constituent_column_name: String,
    #[prost(bool, tag = "5")]
    pub constituent_changes_permitted: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct PartitionBy {
    #[prost(message, optional, tag = "1")]
    pub table_id: Option<Ticket>,
    #[prost(message, optional, tag = "2")]
    pub result_id: Option<Ticket>,
    #[prost(string, repeated, tag = "3")]
    pub key_column_names: Vec<String>,
    #[prost(bool, tag = "4")]
    pub drop_keys: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct MergeOf {
    #[prost(message, optional, tag = "1")]
    pub partitioned_table: Option<Ticket>,
    #[prost(message, optional, tag = "2")]
    pub result_id: Option<Ticket>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ConstituentOf {
    #[prost(message, optional, tag = "1")]
    pub partitioned_table: Option<Ticket>,
    #[prost(message, optional, tag = "2")]
    pub key_table: Option<Ticket>,
    #[prost(message, optional, tag = "4")]
    pub result_id: Option<Ticket>,
    #[prost(int32, tag = "5")]
    pub unique_behavior: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct TableUpdates {
    #[prost(message, optional, tag = "1")]
    pub export_id: Option<Ticket>,
    #[prost(sint64, tag = "2")]
    pub size: i64,
    #[prost(string, tag = "3")]
    pub update_failure_message: String,
}
