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
    /// An operation of tables, by its number in a batch.
    Operation(u32),
    Batch,
    GetExportedTableCreationResponse,
    AddTableToInputTable,
    DeleteTableFromInputTable,
    ListFields,
    GetConsoleTypes,
    StartConsole,
    ExecuteCommand,
    CancelCommand,
    SubscribeToLogs,
    AutoCompleteStream,
    CancelAutoComplete,
    BindTableToVariable,
    ExportedTableUpdates,
    SeekRow,
    PartitionBy,
    MergePartitions,
    GetPartition,
    FetchObject,
    MessageStream,
    ListItems,
    FetchFile,
    SaveFile,
    MoveItem,
    CreateDirectory,
    DeleteItem,
}

pub(crate) const FLIGHT: &str = "arrow.flight.protocol.FlightService";
const SESSION: &str = "io.deephaven.proto.backplane.grpc.SessionService";
pub(crate) const CONFIG: &str = "io.deephaven.proto.backplane.grpc.ConfigService";
const TABLE: &str = "io.deephaven.proto.backplane.grpc.TableService";
const INPUT: &str = "io.deephaven.proto.backplane.grpc.InputTableService";
const PARTITIONED: &str = "io.deephaven.proto.backplane.grpc.PartitionedTableService";
const OBJECT: &str = "io.deephaven.proto.backplane.grpc.ObjectService";
pub(crate) const APPLICATION: &str = "io.deephaven.proto.backplane.grpc.ApplicationService";
const CONSOLE: &str = "io.deephaven.proto.backplane.script.grpc.ConsoleService";
const STORAGE: &str = "io.deephaven.proto.backplane.grpc.StorageService";

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
    (TABLE, "EmptyTable", Operation(1), false),
    (TABLE, "TimeTable", Operation(2), false),
    (TABLE, "DropColumns", Operation(3), false),
    (TABLE, "Update", Operation(4), false),
    (TABLE, "LazyUpdate", Operation(5), false),
    (TABLE, "View", Operation(6), false),
    (TABLE, "UpdateView", Operation(7), false),
    (TABLE, "Select", Operation(8), false),
    (TABLE, "SelectDistinct", Operation(9), false),
    (TABLE, "Filter", Operation(10), false),
    (TABLE, "UnstructuredFilter", Operation(11), false),
    (TABLE, "Sort", Operation(12), false),
    (TABLE, "Head", Operation(13), false),
    (TABLE, "Tail", Operation(14), false),
    (TABLE, "HeadBy", Operation(15), false),
    (TABLE, "TailBy", Operation(16), false),
    (TABLE, "Ungroup", Operation(17), false),
    (TABLE, "MergeTables", Operation(18), false),
    (TABLE, "ComboAggregate", Operation(19), false),
    (TABLE, "Flatten", Operation(21), false),
    (TABLE, "RunChartDownsample", Operation(22), false),
    (TABLE, "CrossJoinTables", Operation(23), false),
    (TABLE, "NaturalJoinTables", Operation(24), false),
    (TABLE, "ExactJoinTables", Operation(25), false),
    (TABLE, "LeftJoinTables", Operation(26), false),
    (TABLE, "AsOfJoinTables", Operation(27), false),
    (TABLE, "FetchTable", Operation(28), false),
    (TABLE, "ApplyPreviewColumns", Operation(30), false),
    (TABLE, "CreateInputTable", Operation(31), false),
    (TABLE, "UpdateBy", Operation(32), false),
    (TABLE, "WhereIn", Operation(33), false),
    (TABLE, "AggregateAll", Operation(34), false),
    (TABLE, "Aggregate", Operation(35), false),
    (TABLE, "Snapshot", Operation(36), false),
    (TABLE, "SnapshotWhen", Operation(37), false),
    (TABLE, "MetaTable", Operation(38), false),
    (TABLE, "RangeJoinTables", Operation(39), false),
    (TABLE, "AjTables", Operation(40), false),
    (TABLE, "RajTables", Operation(41), false),
    (TABLE, "ComputeColumnStatistics", Operation(42), false),
    (TABLE, "MultiJoinTables", Operation(43), false),
    (TABLE, "Slice", Operation(44), false),
    (TABLE, "Batch", Batch, false),
    (TABLE, "ExportedTableUpdates", ExportedTableUpdates, false),
    (TABLE, "SeekRow", SeekRow, false),
    (TABLE, "GetExportedTableCreationResponse", GetExportedTableCreationResponse, false),
    (INPUT, "AddTableToInputTable", AddTableToInputTable, false),
    (INPUT, "DeleteTableFromInputTable", DeleteTableFromInputTable, false),
    (PARTITIONED, "PartitionBy", PartitionBy, false),
    (PARTITIONED, "Merge", MergePartitions, false),
    (PARTITIONED, "GetTable", GetPartition, false),
    (OBJECT, "FetchObject", FetchObject, false),
    (OBJECT, "MessageStream", MessageStream, false),
    (APPLICATION, "ListFields", ListFields, false),
    (CONSOLE, "GetConsoleTypes", GetConsoleTypes, true),
    (CONSOLE, "StartConsole", StartConsole, false),
    (CONSOLE, "ExecuteCommand", ExecuteCommand, false),
    (CONSOLE, "CancelCommand", CancelCommand, false),
    (CONSOLE, "SubscribeToLogs", SubscribeToLogs, false),
    (CONSOLE, "AutoCompleteStream", AutoCompleteStream, false),
    (CONSOLE, "CancelAutoComplete", CancelAutoComplete, false),
    (CONSOLE, "BindTableToVariable", BindTableToVariable, false),
    (STORAGE, "ListItems", ListItems, false),
    (STORAGE, "FetchFile", FetchFile, false),
    (STORAGE, "SaveFile", SaveFile, false),
    (STORAGE, "MoveItem", MoveItem, false),
    (STORAGE, "CreateDirectory", CreateDirectory, false),
    (STORAGE, "DeleteItem", DeleteItem, false),
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
                | Batch
                | ListFields
                | ExportedTableUpdates
                | MessageStream
                | SubscribeToLogs
                | AutoCompleteStream
        )
    }
}
