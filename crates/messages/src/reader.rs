//! Messages of one stream or file into rows.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::reader::{read_dictionary, read_record_batch};
use arrow_ipc::{Message, MessageHeader};
use arrow_schema::SchemaRef;

use crate::check;
use crate::error::{Fault, malformed};

/// What messages said so far: the schema, and the dictionaries.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    schema: Option<SchemaRef>,
    dictionaries: HashMap<i64, ArrayRef>,
}

impl Reader {
    /// A reader of messages whose schema stands elsewhere, as in a file.
    #[must_use]
    pub fn of(schema: SchemaRef) -> Reader {
        Reader { schema: Some(schema), dictionaries: HashMap::new() }
    }

    /// The schema, once it came.
    #[must_use]
    pub fn schema(&self) -> Option<&SchemaRef> {
        self.schema.as_ref()
    }

    /// The dictionaries that came.
    pub fn dictionaries(&self) -> impl Iterator<Item = &ArrayRef> {
        self.dictionaries.values()
    }

    /// Reads one message; gives the rows if it has any.
    ///
    /// # Errors
    /// Where it is not what the format wants, or holds more than may be held. The reader is as it was.
    pub fn read(&mut self, header: &[u8], body: &Buffer) -> Result<Option<RecordBatch>, Fault> {
        guarded(header, |header| {
            let message = sized(header, body)?;
            match message.header_type() {
                MessageHeader::Schema if self.schema.is_some() => malformed("a second schema"),
                MessageHeader::Schema => {
                    let Some(schema) = message.header_as_schema() else { return malformed("no schema") };
                    self.schema = Some(Arc::new(arrow_ipc::convert::try_fb_to_schema(schema).or_else(malformed)?));
                    Ok(None)
                }
                MessageHeader::DictionaryBatch => {
                    let Some(batch) = message.header_as_dictionary_batch() else { return malformed("no dictionary") };
                    let Some(data) = batch.data() else { return malformed("a dictionary without values") };
                    check::batch(data, body)?;
                    let schema = known(self.schema.as_ref())?;
                    read_dictionary(body, batch, schema, &mut self.dictionaries, &message.version())
                        .or_else(malformed)?;
                    Ok(None)
                }
                _ => self.batch(message, body, None),
            }
        })
    }

    /// The rows of a message, with the columns at these places; none if the message has no rows.
    ///
    /// # Errors
    /// As [`Reader::read`].
    pub fn rows(&self, header: &[u8], body: &Buffer, columns: &[usize]) -> Result<Option<RecordBatch>, Fault> {
        guarded(header, |header| self.batch(sized(header, body)?, body, Some(columns)))
    }

    fn batch(
        &self,
        message: Message<'_>,
        body: &Buffer,
        columns: Option<&[usize]>,
    ) -> Result<Option<RecordBatch>, Fault> {
        match message.header_type() {
            MessageHeader::NONE => Ok(None),
            MessageHeader::RecordBatch => {
                let Some(batch) = message.header_as_record_batch() else { return malformed("no rows") };
                check::batch(batch, body)?;
                let schema = known(self.schema.as_ref())?.clone();
                read_record_batch(body, batch, schema, &self.dictionaries, columns, &message.version())
                    .map(Some)
                    .or_else(malformed)
            }
            other => malformed(format!("a message of kind {other:?}")),
        }
    }
}

/// A header whose body is as long as it says.
fn sized<'a>(header: &'a [u8], body: &[u8]) -> Result<Message<'a>, Fault> {
    let message = check::header(header)?;
    if usize::try_from(message.bodyLength()).ok() != Some(body.len()) {
        return malformed(format!("its body has {} bytes, not {}", body.len(), message.bodyLength()));
    }
    Ok(message)
}

fn known(schema: Option<&SchemaRef>) -> Result<&SchemaRef, Fault> {
    schema.map_or_else(|| malformed("rows come before their schema"), Ok)
}

/// Runs a decoder over a header. A header may lie anywhere in what came, and is copied to where it is aligned if it is not;
/// what the decoder does not catch is its error too.
fn guarded<R>(header: &[u8], work: impl FnOnce(&[u8]) -> Result<R, Fault>) -> Result<R, Fault> {
    let copied;
    let header: &[u8] = if check::is_aligned(header) {
        header
    } else {
        copied = Buffer::from(header);
        &copied
    };
    catch_unwind(AssertUnwindSafe(|| work(header))).unwrap_or_else(|_| malformed("it cannot be read"))
}
