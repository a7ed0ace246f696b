//! Messages that other implementations sent, read and written again, byte for byte.

use std::collections::BTreeMap;

use arrow_buffer::Buffer;
use barrage::{Layout, Metadata, WireSchema, read_batch, read_schema, write_batch};

const CAPTURED: &str = include_str!("../../../tests/golden/barrage.txt");

struct Message {
    stream: &'static str,
    from_client: bool,
    header: Vec<u8>,
    metadata: Vec<u8>,
    body: Vec<u8>,
}

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |byte: u8| (byte as char).to_digit(16).expect("hexadecimal") as u8;
    let digits: Vec<u8> = hex.bytes().filter(|byte| *byte != b'-').collect();
    digits.chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

fn captured() -> Vec<Message> {
    let lines = CAPTURED.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let parts: Vec<&'static str> = line.split(" | ").collect();
            let [stream, direction, header, metadata, body] = parts[..] else { panic!("{line}") };
            let [header, metadata, body] = [header, metadata, body].map(bytes);
            Message { stream, from_client: direction == "req", header, metadata, body }
        })
        .collect()
}

#[test]
fn metadata_of_updates_is_written_as_it_came() {
    let mut updates = 0;
    for message in captured().iter().filter(|message| !message.metadata.is_empty() && !message.from_client) {
        let read = Metadata::read(&message.metadata).expect("captured metadata");
        assert!(matches!(read, Metadata::Update(_)));
        assert_eq!(read.write(), message.metadata, "{}: {read:?}", message.stream);
        updates += 1;
    }
    assert_eq!(updates, 56);
}

#[test]
fn requests_come_back_as_they_were_read() {
    let mut kinds = BTreeMap::new();
    for message in captured().iter().filter(|message| !message.metadata.is_empty() && message.from_client) {
        let read = Metadata::read(&message.metadata).expect("a captured request");
        assert_eq!(Metadata::read(&read.write()).as_ref(), Ok(&read));
        let kind = match &read {
            Metadata::Subscription(request) => {
                assert!(!request.ticket.is_empty());
                "subscription"
            }
            Metadata::Snapshot(request) => {
                assert!(!request.ticket.is_empty());
                "snapshot"
            }
            other => panic!("{other:?}"),
        };
        *kinds.entry(kind).or_insert(0) += 1;
    }
    assert!(kinds["subscription"] > 10 && kinds["snapshot"] > 3, "{kinds:?}");
}

/// A stream's layout is in its schema: columns that are lists and may not be null were asked for as lists.
fn layout_of(schema: &arrow_schema::Schema, stream: &str) -> Layout {
    let columns_as_list = schema.fields().iter().all(|field| !field.is_nullable());
    Layout { deephaven_nulls: stream.starts_with("subscribe"), columns_as_list }
}

#[test]
fn batches_are_written_as_they_came() {
    let mut streams: BTreeMap<&str, (WireSchema, Layout)> = BTreeMap::new();
    let mut batches = 0;
    for message in captured().iter().filter(|message| !message.from_client && !message.header.is_empty()) {
        let stream = message.stream;
        if let Ok(schema) = read_schema(&message.header) {
            let layout = layout_of(&schema, stream);
            let wire = WireSchema::received(&schema, layout.columns_as_list).expect("types of the wire");
            let again = read_schema(&wire.header(layout.columns_as_list).expect("a header")).expect("a schema");
            assert_eq!(again.fields().len(), schema.fields().len());
            for (one, two) in again.fields().iter().zip(schema.fields()) {
                assert_eq!((one.name(), one.metadata()), (two.name(), two.metadata()));
                assert_eq!(one.data_type(), two.data_type(), "{stream}");
            }
            streams.insert(stream, (wire, layout));
            continue;
        }
        let (wire, layout) = &streams[stream];
        let body = Buffer::from_vec(message.body.clone());
        let columns = read_batch(wire.schema(), &message.header, &body, *layout).expect(stream);
        let written = write_batch(wire.schema(), &columns, *layout).expect(stream);
        assert_eq!(written.body, message.body, "{stream}: {columns:?}");
        assert_eq!(written.header, message.header, "{stream}");
        batches += 1;
    }
    assert_eq!(batches, 59);
}

/// Each captured message cut short and with bits turned is read or refused, and what is read is sound.
#[test]
fn what_is_disturbed_is_read_or_refused() {
    let mut streams: BTreeMap<&str, (WireSchema, Layout)> = BTreeMap::new();
    let (mut sound, mut refused) = (0, 0);
    let mut tell = |read: bool| if read { sound += 1 } else { refused += 1 };
    let disturbed = |bytes: &[u8]| -> Vec<Vec<u8>> {
        let turned = (0..bytes.len()).map(|at| {
            let mut turned = bytes.to_vec();
            turned[at] ^= 1 << (at % 8);
            turned
        });
        turned.chain((0..bytes.len()).step_by(3).map(|at| bytes[..at].to_vec())).collect()
    };
    for message in captured() {
        for metadata in disturbed(&message.metadata) {
            let read = Metadata::read(&metadata);
            tell(read.is_ok());
            if let Ok(read) = read {
                assert_eq!(Metadata::read(&read.write()), Ok(read));
            }
        }
        if message.from_client || message.header.is_empty() {
            continue;
        }
        if let Ok(schema) = read_schema(&message.header) {
            let layout = layout_of(&schema, message.stream);
            let wire = WireSchema::received(&schema, layout.columns_as_list).expect("types of the wire");
            for header in disturbed(&message.header) {
                let read = read_schema(&header).map(|schema| WireSchema::received(&schema, layout.columns_as_list));
                tell(read.is_ok());
            }
            streams.insert(message.stream, (wire, layout));
            continue;
        }
        let (wire, layout) = &streams[message.stream];
        let body = Buffer::from_vec(message.body.clone());
        for header in disturbed(&message.header) {
            tell(read_batch(wire.schema(), &header, &body, *layout).is_ok());
        }
        for body in disturbed(&message.body) {
            tell(read_batch(wire.schema(), &message.header, &Buffer::from_vec(body), *layout).is_ok());
        }
    }
    assert!(sound > 1000 && refused > 1000, "{sound} were sound, {refused} refused");
}
