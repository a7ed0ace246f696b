//! Messages of Arrow, as uploads have them.

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_schema::{ArrowError, Schema};
use bytes::Bytes;
use engine::Table;
use prost::Message as _;
use tonic::Status;

use crate::flight::gathered;
use crate::frames::FRAME;
use crate::ipc::{Encoder, Received};
use crate::proto::FlightData;

/// What one upload has sent.
#[derive(Default)]
pub struct Bodies(Received);

impl Bodies {
    /// Reads one message; gives the rows if it has any.
    pub fn read(&mut self, header: &[u8], body: Buffer) -> Result<Option<RecordBatch>, Status> {
        self.0.read(header, &body)
    }

    /// The schema, once it was sent.
    pub fn schema(&self) -> Option<&Schema> {
        self.0.schema().map(AsRef::as_ref)
    }

    /// The dictionaries that are held for what comes.
    pub fn dictionaries(&self) -> impl Iterator<Item = &ArrayRef> {
        self.0.dictionaries()
    }
}

/// The table of an upload.
pub fn table(schema: &Schema, batches: &[RecordBatch]) -> Result<Table, Status> {
    gathered(schema, batches)
}

/// The messages of these rows as a server sends them: header and body of each.
pub fn sent(batch: &RecordBatch) -> Result<Vec<(Bytes, Bytes)>, ArrowError> {
    let messages = Encoder::new(&batch.schema())?.encode(batch)?;
    let whole = |pieces: Vec<Bytes>| {
        let data =
            FlightData::decode(&pieces.concat()[FRAME..]).map_err(|error| ArrowError::IpcError(error.to_string()))?;
        Ok((data.data_header, data.data_body))
    };
    messages.into_iter().map(whole).collect()
}
