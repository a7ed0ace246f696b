//! Messages of other implementations, read and written again: those that the server sends, byte for byte.

use std::collections::BTreeMap;

use prost::Message;

use crate::frames::FRAME;
use crate::ipc::barrage_message;
use crate::proto::*;
use crate::storage::messages::{FetchedFile, ListedItems, SavedFile};
use crate::tables::messages::{Batch, Created, Empty as EmptyTable, Fetch, Found, InputTable, OfTexts, Sort};

const GOLDEN: &str = include_str!("../../../tests/golden/core.txt");
/// An empty body, which is always written: there are readers who look for it.
const NO_BODY: [u8; 3] = [0xc2, 0x3e, 0];

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |byte: u8| (byte as char).to_digit(16).expect("hexadecimal") as u8;
    hex.as_bytes().chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

/// The name of each message without its package, and its bytes.
fn golden() -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    GOLDEN.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let parts: Vec<&'static str> = line.split(" | ").collect();
        let [_, name, hex] = parts[..] else { panic!("{line}") };
        (name.rsplit('.').next().expect("a name"), bytes(hex))
    })
}

fn again<M: Message + Default>(bytes: &[u8]) -> Vec<u8> {
    M::decode(bytes).expect("a sound message").encode_to_vec()
}

/// The fields of a message, each with its tag and its length, in the order of their bytes: entries of a map have none.
fn fields(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let mut rest = &bytes[1..];
        let len = prost::encoding::decode_varint(&mut rest).expect("a length") as usize;
        let end = bytes.len() - rest.len() + len;
        fields.push(bytes[..end].to_vec());
        bytes = &bytes[end..];
    }
    fields.sort();
    fields
}

/// A frame of rows as the server writes it, where the message says nothing else.
fn framed(message: &[u8]) -> Vec<u8> {
    let data = FlightData::decode(message).expect("a sound message");
    assert_eq!(data.flight_descriptor, None);
    let pieces = barrage_message(&data.data_header, &data.app_metadata, data.data_body.to_vec());
    pieces.concat()[FRAME..].to_vec()
}

#[test]
fn what_the_server_writes_is_written_as_others_write_it() {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, bytes) in golden() {
        let written = match name {
            "FlightData" => {
                let written = framed(&bytes);
                if bytes.ends_with(&NO_BODY) || !written.ends_with(&NO_BODY) {
                    written
                } else {
                    written[..written.len() - NO_BODY.len()].to_vec()
                }
            }
            "FlightInfo" => again::<FlightInfo>(&bytes),
            "SchemaResult" => again::<SchemaResult>(&bytes),
            "Result" => again::<ActionResult>(&bytes),
            "FlightDescriptor" => again::<FlightDescriptor>(&bytes),
            "Ticket" => again::<Ticket>(&bytes),
            "HandshakeResponse" => again::<HandshakeResponse>(&bytes),
            "ExportNotification" => again::<ExportNotification>(&bytes),
            "TerminationNotificationResponse" => again::<TerminationNotification>(&bytes),
            "ConfigurationConstantsResponse" | "AuthenticationConstantsResponse" => {
                assert_eq!(fields(&again::<Constants>(&bytes)), fields(&bytes), "{name}");
                bytes.clone()
            }
            "FieldsChangeUpdate" => again::<FieldsChange>(&bytes),
            "GetConsoleTypesResponse" => again::<ConsoleTypes>(&bytes),
            "StartConsoleResponse" => again::<StartedConsole>(&bytes),
            "ExecuteCommandResponse" => again::<Executed>(&bytes),
            "LogSubscriptionData" => again::<LogMessage>(&bytes),
            "AutoCompleteResponse" => again::<CompletionResponse>(&bytes),
            "FetchObjectResponse" => again::<FetchedObject>(&bytes),
            "StreamResponse" => again::<StreamResponse>(&bytes),
            "PartitionedTableDescriptor" => again::<PartitionedDescriptor>(&bytes),
            "ExportedTableCreationResponse" => again::<Created>(&bytes),
            "ExportedTableUpdateMessage" => again::<TableUpdates>(&bytes),
            "SeekRowResponse" => again::<Found>(&bytes),
            "ListItemsResponse" => again::<ListedItems>(&bytes),
            "FetchFileResponse" => again::<FetchedFile>(&bytes),
            "SaveFileResponse" => again::<SavedFile>(&bytes),
            _ => continue,
        };
        assert_eq!(written, bytes, "{name}");
        *counts.entry(name).or_default() += 1;
    }
    assert_eq!(counts.len(), 26, "{counts:?}");
    assert!(counts["FlightData"] > 20 && counts["ExportedTableCreationResponse"] > 10, "{counts:?}");
}

/// Only clients send these: they are read, and what was read is not lost when it is written and read again. Their bytes
/// may hold more, which the server does not read.
#[test]
fn what_clients_alone_send_is_read() {
    fn same<M: Message + Default + PartialEq + std::fmt::Debug>(bytes: &[u8]) {
        let read = M::decode(bytes).expect("a sound message");
        assert!(read != M::default());
        assert_eq!(M::decode(&read.encode_to_vec()[..]).as_ref(), Ok(&read));
    }
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, bytes) in golden() {
        match name {
            "Action" => same::<Action>(&bytes),
            "BasicAuth" => same::<BasicAuth>(&bytes),
            "HandshakeRequest" => same::<HandshakeRequest>(&bytes),
            "ReleaseRequest" => same::<ReleaseRequest>(&bytes),
            "AddTableRequest" | "DeleteTableRequest" => same::<TwoTickets>(&bytes),
            "StartConsoleRequest" => same::<StartConsole>(&bytes),
            "EmptyTableRequest" => same::<EmptyTable>(&bytes),
            "FetchTableRequest" | "ApplyPreviewColumnsRequest" => same::<Fetch>(&bytes),
            "CreateInputTableRequest" => same::<InputTable>(&bytes),
            "SelectOrUpdateRequest" => same::<OfTexts>(&bytes),
            "SortTableRequest" => same::<Sort>(&bytes),
            "BatchTableRequest" => same::<Batch>(&bytes),
            _ => continue,
        }
        *names.entry(name).or_default() += 1;
    }
    assert_eq!(names.len(), 14, "{names:?}");
}

/// No line is of a message that nobody reads.
#[test]
fn every_message_has_its_reader() {
    let source = include_str!("golden.rs");
    for (name, _) in golden() {
        assert!(source.contains(&format!("\"{name}\"")), "{name}");
    }
}
