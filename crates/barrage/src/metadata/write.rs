//! Metadata as bytes. Fields and vectors are laid down in the order in which the other implementations lay them down, so
//! that metadata of updates are equal to theirs byte for byte.

use engine::ColumnSet;
use flatbuffers::{FlatBufferBuilder, ForwardsUOffset, TableFinishedWIPOffset, Vector, WIPOffset};
use rowset::RowSet;

use super::{MAGIC, Metadata, PublicationRequest, SnapshotRequest, SubscriptionRequest, UpdateMetadata, kinds};
use crate::encode_rows;
use crate::shifts::encode_list;

type Builder = FlatBufferBuilder<'static>;
type Bytes = Option<WIPOffset<Vector<'static, u8>>>;
type Finished = WIPOffset<TableFinishedWIPOffset>;

/// The place of a field in the table of fields.
const fn slot(id: u16) -> u16 {
    4 + 2 * id
}

impl Metadata {
    /// The bytes for the metadata of a Flight message.
    pub fn write(&self) -> Vec<u8> {
        let mut builder = Builder::new();
        let (kind, root) = match self {
            Metadata::Subscription(request) => (kinds::SUBSCRIPTION, subscription(&mut builder, request)),
            Metadata::Snapshot(request) => (kinds::SNAPSHOT, snapshot(&mut builder, request)),
            Metadata::Publication(request) => (kinds::PUBLICATION, publication(&mut builder, request)),
            Metadata::Update(metadata) => (kinds::UPDATE, update(&mut builder, metadata)),
        };
        builder.finish_minimal(root);
        let mut wrapper = Builder::new();
        let payload = wrapper.create_vector(builder.finished_data());
        let table = wrapper.start_table();
        wrapper.push_slot(slot(0), MAGIC, 0u32);
        wrapper.push_slot(slot(1), kind, 0i8);
        wrapper.push_slot_always(slot(2), payload);
        let root = wrapper.end_table(table);
        wrapper.finish_minimal(root);
        wrapper.finished_data().to_vec()
    }
}

fn subscription(builder: &mut Builder, request: &SubscriptionRequest) -> Finished {
    let wanted = &request.options;
    let options = builder.start_table();
    builder.push_slot(slot(6), wanted.preview_list_length_limit, 0i64);
    builder.push_slot(slot(4), wanted.max_message_size, 0i32);
    builder.push_slot(slot(3), wanted.batch_size, 0i32);
    builder.push_slot(slot(2), wanted.min_update_interval_ms, 0i32);
    builder.push_slot(slot(1), wanted.use_deephaven_nulls, false);
    builder.push_slot(slot(5), wanted.columns_as_list, false);
    let options = builder.end_table(options);
    let viewport = request.viewport.as_ref().map(|rows| vector(builder, &encode_rows(&rows.0)));
    requested(builder, &request.ticket, request.columns.as_ref(), viewport, options, request.reverse_viewport)
}

fn snapshot(builder: &mut Builder, request: &SnapshotRequest) -> Finished {
    let wanted = &request.options;
    let options = builder.start_table();
    builder.push_slot(slot(4), wanted.preview_list_length_limit, 0i64);
    builder.push_slot(slot(3), wanted.max_message_size, 0i32);
    builder.push_slot(slot(2), wanted.batch_size, 0i32);
    builder.push_slot(slot(1), wanted.use_deephaven_nulls, false);
    let options = builder.end_table(options);
    let viewport = request.viewport.as_ref().map(|rows| vector(builder, &encode_rows(&rows.0)));
    requested(builder, &request.ticket, request.columns.as_ref(), viewport, options, request.reverse_viewport)
}

/// What both requests have in common.
fn requested(
    builder: &mut Builder,
    ticket: &[u8],
    columns: Option<&ColumnSet>,
    viewport: Option<WIPOffset<Vector<'static, u8>>>,
    options: Finished,
    reverse: bool,
) -> Finished {
    let columns = columns.map(|columns| vector(builder, &bits(columns)));
    let ticket = vector(builder, ticket);
    let table = builder.start_table();
    builder.push_slot_always(slot(0), ticket);
    optional(builder, 1, columns);
    optional(builder, 2, viewport);
    builder.push_slot_always(slot(3), options);
    builder.push_slot(slot(4), reverse, false);
    builder.end_table(table)
}

fn publication(builder: &mut Builder, request: &PublicationRequest) -> Finished {
    let options = builder.start_table();
    builder.push_slot(slot(0), request.use_deephaven_nulls, false);
    let options = builder.end_table(options);
    let ticket = vector(builder, &request.ticket);
    let table = builder.start_table();
    builder.push_slot_always(slot(0), ticket);
    builder.push_slot_always(slot(1), options);
    builder.end_table(table)
}

fn update(builder: &mut Builder, metadata: &UpdateMetadata) -> Finished {
    let rows = |builder: &mut Builder, rows: Option<&RowSet>| rows.map(|rows| vector(builder, &encode_rows(rows)));
    let viewport = rows(builder, metadata.effective_viewport.as_ref().map(|positions| &positions.0));
    let columns = metadata.effective_columns.as_ref().map(|columns| vector(builder, &bits(columns)));
    let added = rows(builder, metadata.added.as_ref());
    let removed = rows(builder, metadata.removed.as_ref());
    let shifts = metadata.shifts.as_ref().map(|shifts| vector(builder, &encode_list(shifts)));
    let included = rows(builder, metadata.added_included.as_ref());
    let modified = metadata.modified.as_ref().map(|columns| {
        let nodes: Vec<WIPOffset<ForwardsUOffset<()>>> = columns
            .iter()
            .map(|rows| {
                let rows = vector(builder, &encode_rows(rows));
                let table = builder.start_table();
                builder.push_slot_always(slot(0), rows);
                WIPOffset::new(builder.end_table(table).value())
            })
            .collect();
        nodes
    });
    let modified = modified.map(|nodes| builder.create_vector(&nodes));
    let table = builder.start_table();
    builder.push_slot(slot(2), metadata.is_snapshot, false);
    builder.push_slot(slot(0), metadata.first_seq, 0i64);
    builder.push_slot(slot(1), metadata.last_seq, 0i64);
    optional(builder, 3, viewport);
    optional(builder, 5, columns);
    optional(builder, 6, added);
    optional(builder, 7, removed);
    optional(builder, 8, shifts);
    optional(builder, 9, included);
    if let Some(modified) = modified {
        builder.push_slot_always(slot(10), modified);
    }
    builder.push_slot(slot(4), metadata.effective_reverse_viewport, false);
    builder.push_slot(slot(11), metadata.table_size, 0i64);
    builder.end_table(table)
}

fn vector(builder: &mut Builder, bytes: &[u8]) -> WIPOffset<Vector<'static, u8>> {
    builder.create_vector(bytes)
}

fn optional(builder: &mut Builder, id: u16, bytes: Bytes) {
    if let Some(bytes) = bytes {
        builder.push_slot_always(slot(id), bytes);
    }
}

/// Bit n of the set is bit n mod 8 of byte n / 8; no byte of zeros stands at the end.
fn bits(columns: &ColumnSet) -> Vec<u8> {
    let mut bytes = Vec::new();
    for column in columns.iter() {
        if bytes.len() <= column / 8 {
            bytes.resize(column / 8 + 1, 0);
        }
        bytes[column / 8] |= 1 << (column % 8);
    }
    bytes
}
