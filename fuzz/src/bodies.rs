//! Rows that a client sends: refused in words, or sound and no larger than what came.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_data::ArrayData;
use arrow_schema::{Field, Schema};
use bytes::Bytes;
use flight::testing::bodies::{Bodies, sent, table};
use tonic::{Code, Status};

use super::cells;
use super::decoders::reading;
use super::exchange::piece;
use super::reader::Reader;
use super::scope::sound;

/// What may be held of little; of much so many times as much.
const LITTLE: usize = 64 << 20;
const TIMES: usize = 16;
/// Numbers that headers are wrong by.
const EDGES: [u64; 12] = [0, 1, 2, 7, 8, 64, 0x7f, 0xffff, 1 << 20, 1 << 40, i64::MAX as u64, u64::MAX];

/// The memory that stands behind cells, each piece once.
fn held(of: &ArrayData, pieces: &mut HashMap<usize, usize>) {
    let nulls = of.nulls().map(|nulls| nulls.buffer());
    for buffer in of.buffers().iter().chain(nulls) {
        let all = buffer.capacity().max(buffer.len());
        pieces.entry(buffer.data_ptr().as_ptr() as usize).and_modify(|held| *held = all.max(*held)).or_insert(all);
    }
    of.child_data().iter().for_each(|child| held(child, pieces));
}

fn told(refused: &Status) {
    assert!(matches!(refused.code(), Code::InvalidArgument | Code::ResourceExhausted), "{refused:?}");
    assert!(!refused.message().is_empty());
}

/// One upload.
#[derive(Default)]
struct Upload {
    bodies: Bodies,
    batches: Vec<RecordBatch>,
    came: usize,
}

impl Upload {
    /// Reads a message; whether it was sound.
    fn read(&mut self, header: &[u8], body: &[u8]) -> bool {
        self.came += header.len() + body.len();
        let bodies = &mut self.bodies;
        let read = match reading(|| bodies.read(header, Buffer::from(body))) {
            Ok(read) => read,
            Err(refused) => {
                told(&refused);
                return false;
            }
        };
        if let Some(batch) = read {
            for cells in batch.columns() {
                assert_eq!(cells.len(), batch.num_rows());
                cells.to_data().validate_full().expect("cells that are sound");
            }
            self.batches.push(batch);
        }
        let mut pieces = HashMap::new();
        let columns = self.batches.iter().flat_map(|batch| batch.columns());
        columns.chain(self.bodies.dictionaries()).for_each(|cells| held(&cells.to_data(), &mut pieces));
        let all: usize = pieces.values().sum();
        assert!(all <= LITTLE.max(TIMES * self.came), "{all} bytes of {}", self.came);
        true
    }

    /// The table of what was read, whose cells are those.
    fn end(self) {
        let Some(schema) = self.bodies.schema() else { return };
        match table(schema, &self.batches) {
            Ok(made) => {
                let rows: usize = self.batches.iter().map(RecordBatch::num_rows).sum();
                assert_eq!(made.rows().expect("a table that stands still").len(), rows as u64);
                sound(&made);
            }
            Err(refused) => told(&refused),
        }
    }
}

/// Rows of some columns, of any types.
fn batch(reader: &mut Reader<'_>) -> RecordBatch {
    let len = reader.below(9);
    let columns: Vec<ArrayRef> = (0..1 + reader.below(3))
        .map(|_| {
            let of = cells::data_type(reader, 2);
            cells::array(reader, &of, len)
        })
        .collect();
    let field = |(at, cells): (usize, &ArrayRef)| Field::new(format!("c{at}"), cells.data_type().clone(), true);
    let schema = Schema::new(columns.iter().enumerate().map(field).collect::<Vec<_>>());
    RecordBatch::try_new(Arc::new(schema), columns).expect("columns of one length")
}

/// Makes one thing wrong: a bit, a byte, or a number of eight bytes where headers have theirs.
fn disturb(reader: &mut Reader<'_>, messages: &mut [(Bytes, Bytes)]) {
    let (of, in_header) = (reader.below(messages.len()), reader.below(4) > 0);
    let part = if in_header { &mut messages[of].0 } else { &mut messages[of].1 };
    let mut bytes = part.to_vec();
    if bytes.is_empty() {
        return;
    }
    let at = (reader.below(256) << 8 | reader.below(256)) % bytes.len();
    match reader.below(3) {
        0 => bytes[at] ^= 1 << reader.below(8),
        1 => bytes[at] = reader.byte(),
        _ => {
            let (at, number) = (at / 8 * 8, *reader.choice(&EDGES));
            let end = bytes.len().min(at + 8);
            bytes[at..end].copy_from_slice(&number.to_le_bytes()[..end - at]);
        }
    }
    *part = bytes.into();
}

/// The first byte says whether messages come as they are, header and body of each, or are made of rows and disturbed.
pub fn bodies(bytes: &[u8]) {
    let mut reader = Reader::new(bytes);
    let mut upload = Upload::default();
    if reader.below(2) == 0 {
        let mut rest = reader.rest();
        while !rest.is_empty() {
            let header = piece(&mut rest);
            upload.read(header, piece(&mut rest));
        }
        return upload.end();
    }
    let disturbed = reader.below(4);
    let batch = batch(&mut reader);
    let mut messages = match sent(&batch) {
        Ok(messages) => messages,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    (0..disturbed).for_each(|_| disturb(&mut reader, &mut messages));
    let sound = messages.iter().map(|(header, body)| upload.read(header, body)).fold(true, |all, sound| all & sound);
    if disturbed == 0 {
        assert!(sound, "{:?} is not read", batch.schema());
        assert_eq!(upload.batches, [batch]);
    }
    upload.end();
}
