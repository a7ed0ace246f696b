//! Metadata out of bytes.

use engine::ColumnSet;
use limits::bounds::COLUMNS;
use rowset::{Positions, RowSet};

use super::{
    MAGIC, Metadata, PublicationRequest, SnapshotOptions, SnapshotRequest, SubscriptionOptions, SubscriptionRequest,
    UpdateMetadata, kinds,
};
use crate::flat::{Flat, Table};
use crate::{BarrageError, decode_rows, decode_shifts};

/// The longest ticket.
const TICKET: usize = 1 << 16;

impl Metadata {
    /// The message in the metadata of a Flight message; safe on any bytes.
    pub fn read(bytes: &[u8]) -> Result<Metadata, BarrageError> {
        let wrapper = Flat::new(bytes);
        let wrapper = wrapper.root()?;
        if wrapper.u32(0)? != MAGIC {
            return Err(BarrageError::Metadata { what: "the first bytes are not those of Barrage" });
        }
        let payload = wrapper.bytes(2)?.ok_or(BarrageError::Metadata { what: "a message without content" })?;
        let payload = Flat::new(payload);
        let table = || payload.root();
        match wrapper.i8(1)? {
            kinds::SUBSCRIPTION => Ok(Metadata::Subscription(subscription(table()?)?)),
            kinds::SNAPSHOT => Ok(Metadata::Snapshot(snapshot(table()?)?)),
            kinds::PUBLICATION => Ok(Metadata::Publication(publication(table()?)?)),
            kinds::UPDATE => Ok(Metadata::Update(Box::new(update(table()?)?))),
            kind => Err(BarrageError::Kind { kind }),
        }
    }
}

fn subscription(table: Table) -> Result<SubscriptionRequest, BarrageError> {
    let options = match table.table(3)? {
        None => SubscriptionOptions::default(),
        Some(options) => SubscriptionOptions {
            use_deephaven_nulls: options.bool(1)?,
            min_update_interval_ms: options.i32(2)?,
            batch_size: options.i32(3)?,
            max_message_size: options.i32(4)?,
            columns_as_list: options.bool(5)?,
            preview_list_length_limit: options.i64(6)?,
        },
    };
    Ok(SubscriptionRequest {
        ticket: ticket(table)?,
        columns: columns(table.bytes(1)?)?,
        viewport: rows(table.bytes(2)?)?.map(Positions),
        options,
        reverse_viewport: table.bool(4)?,
    })
}

fn snapshot(table: Table) -> Result<SnapshotRequest, BarrageError> {
    let options = match table.table(3)? {
        None => SnapshotOptions::default(),
        Some(options) => SnapshotOptions {
            use_deephaven_nulls: options.bool(1)?,
            batch_size: options.i32(2)?,
            max_message_size: options.i32(3)?,
            preview_list_length_limit: options.i64(4)?,
        },
    };
    Ok(SnapshotRequest {
        ticket: ticket(table)?,
        columns: columns(table.bytes(1)?)?,
        viewport: rows(table.bytes(2)?)?.map(Positions),
        options,
        reverse_viewport: table.bool(4)?,
    })
}

fn publication(table: Table) -> Result<PublicationRequest, BarrageError> {
    let use_deephaven_nulls = table.table(1)?.map_or(Ok(false), |options| options.bool(0))?;
    Ok(PublicationRequest { ticket: ticket(table)?, use_deephaven_nulls })
}

fn update(table: Table) -> Result<UpdateMetadata, BarrageError> {
    let modified = match table.tables(10)? {
        None => None,
        Some(columns) if columns.len() > COLUMNS => {
            return Err(BarrageError::Metadata { what: "more columns than a table has" });
        }
        Some(columns) => {
            let read = |column: Result<Table, BarrageError>| Ok(rows(column?.bytes(0)?)?.unwrap_or_default());
            Some(columns.map(read).collect::<Result<Vec<RowSet>, BarrageError>>()?)
        }
    };
    Ok(UpdateMetadata {
        first_seq: table.i64(0)?,
        last_seq: table.i64(1)?,
        is_snapshot: table.bool(2)?,
        effective_viewport: rows(table.bytes(3)?)?.map(Positions),
        effective_reverse_viewport: table.bool(4)?,
        effective_columns: columns(table.bytes(5)?)?,
        added: rows(table.bytes(6)?)?,
        removed: rows(table.bytes(7)?)?,
        shifts: table.bytes(8)?.map(decode_shifts).transpose()?,
        added_included: rows(table.bytes(9)?)?,
        modified,
        table_size: table.i64(11)?,
    })
}

fn ticket(table: Table) -> Result<Vec<u8>, BarrageError> {
    match table.bytes(0)? {
        Some(ticket) if ticket.len() > TICKET => Err(BarrageError::Metadata { what: "a ticket of more than 64 KiB" }),
        ticket => Ok(ticket.unwrap_or_default().to_vec()),
    }
}

fn rows(bytes: Option<&[u8]>) -> Result<Option<RowSet>, BarrageError> {
    bytes.map(decode_rows).transpose()
}

/// Bit n of the set is bit n mod 8 of byte n / 8.
fn columns(bytes: Option<&[u8]>) -> Result<Option<ColumnSet>, BarrageError> {
    let Some(bytes) = bytes else { return Ok(None) };
    let set = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    if set > COLUMNS.div_ceil(8) {
        return Err(BarrageError::Metadata { what: "more columns than a table has" });
    }
    let bits = bytes[..set].iter().enumerate();
    Ok(Some(
        bits.flat_map(|(at, byte)| (0..8).filter(move |bit| byte >> bit & 1 == 1).map(move |bit| 8 * at + bit))
            .collect(),
    ))
}
