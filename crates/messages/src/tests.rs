//! Messages of Arrow's own writer come back as they went; whatever is bent in them is refused, or read within its bytes.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, BinaryViewArray, BooleanArray, DictionaryArray, Int64Array, RecordBatch, StringArray};
use arrow_buffer::Buffer;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use proptest::prelude::*;

use crate::{Fault, Pieces, Reader, next};

fn batch(rows: usize) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter((0..rows).map(|row| (row % 5 > 0).then_some(row as i64))));
    let texts: ArrayRef = Arc::new(StringArray::from_iter((0..rows).map(|row| (row % 3 > 0).then(|| row.to_string()))));
    let few: DictionaryArray<Int32Type> = (0..rows).map(|row| ["a", "b", "a long one"][row % 3]).collect();
    let views: ArrayRef = Arc::new(BinaryViewArray::from_iter_values((0..rows).map(|row| vec![b'x'; row % 40])));
    let truths: ArrayRef = Arc::new(BooleanArray::from_iter((0..rows).map(|row| Some(row % 2 > 0))));
    let columns = [("n", numbers), ("s", texts), ("d", Arc::new(few) as ArrayRef), ("v", views), ("t", truths)];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, cells)| (name, cells, true))).expect("of one length")
}

fn written(batches: &[RecordBatch], compression: Option<CompressionType>) -> Vec<u8> {
    let options = IpcWriteOptions::default().try_with_compression(compression).expect("a known one");
    let mut writer = StreamWriter::try_new_with_options(Vec::new(), &batches[0].schema(), options).expect("a writer");
    batches.iter().for_each(|batch| writer.write(batch).expect("it is written"));
    writer.into_inner().expect("it ends")
}

fn read(stream: &[u8]) -> Result<Vec<RecordBatch>, Fault> {
    read_pieces(Buffer::from(stream).into())
}

fn read_pieces(mut rest: Pieces) -> Result<Vec<RecordBatch>, Fault> {
    let (mut reader, mut batches) = (Reader::default(), Vec::new());
    while let Some((header, body)) = next(&mut rest)? {
        batches.extend(reader.read(&header, &body.whole())?);
    }
    Ok(batches)
}

const WAYS: [Option<CompressionType>; 3] = [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)];

#[test]
fn what_is_sound_comes_back() {
    for way in WAYS {
        for rows in [0, 1, 7, 1000, 60_000] {
            let batches = [batch(rows), batch(rows / 2)];
            assert_eq!(read(&written(&batches, way)).as_deref(), Ok(&batches[..]), "{way:?} {rows}");
        }
        // As little as a codec makes of much.
        let same: ArrayRef = Arc::new(Int64Array::from(vec![7; 4 << 20]));
        let same = [RecordBatch::try_from_iter([("n", same)]).expect("one column")];
        assert_eq!(read(&written(&same, way)).as_deref(), Ok(&same[..]), "{way:?}");
    }
}

#[test]
fn a_stream_may_lie_in_pieces() {
    let batches = [batch(100), batch(7)];
    for way in WAYS {
        let stream = Buffer::from(written(&batches, way));
        for long in [1, 3, 4, 7, 8, 64, 4096] {
            let starts = (0..stream.len()).step_by(long);
            let pieces = starts.map(|at| stream.slice_with_length(at, long.min(stream.len() - at)));
            // Empty ones between them are nothing.
            let pieces = pieces.flat_map(|piece| [Buffer::default(), piece]);
            assert_eq!(read_pieces(pieces.collect()).as_deref(), Ok(&batches[..]), "{way:?} {long}");
        }
        for end in 0..stream.len() {
            let cut = [stream.slice_with_length(0, end / 2), stream.slice_with_length(end / 2, end - end / 2)];
            assert_eq!(read_pieces(cut.into_iter().collect()), read(&stream[..end]), "{way:?} {end}");
        }
    }
}

#[test]
fn nothing_is_copied_that_lies_well() {
    let stream = Buffer::from(written(&[batch(100)], None));
    let within = |part: &Buffer| stream.as_ptr_range().contains(&part.as_ptr());
    let mut rest = Pieces::from(stream.clone());
    while let Some((header, body)) = next(&mut rest).expect("sound") {
        assert!(within(&header));
        assert!(body.is_empty() || within(&body.whole()));
    }
    // Beside its place the header is copied, the body is not.
    let beside: Vec<u8> = [0].into_iter().chain(stream.iter().copied()).collect();
    let beside = Buffer::from(beside).slice(1);
    let mut rest = Pieces::from(beside.clone());
    while let Some((header, body)) = next(&mut rest).expect("sound") {
        assert!(header.as_ptr().addr().is_multiple_of(8));
        assert!(body.is_empty() || beside.as_ptr_range().contains(&body.whole().as_ptr()));
    }
}

#[test]
fn columns_are_read_one_by_one() {
    let batch = batch(50);
    for way in WAYS {
        let (mut rest, mut reader) =
            (Pieces::from(Buffer::from(written(std::slice::from_ref(&batch), way))), Reader::default());
        while let Some((header, body)) = next(&mut rest).expect("sound") {
            let body = body.whole();
            if reader.read(&header, &body).expect("sound").is_some() {
                for at in 0..batch.num_columns() {
                    let one = reader.rows(&header, &body, &[at]).expect("sound").expect("rows");
                    assert_eq!(one.column(0), batch.column(at));
                }
            }
        }
    }
}

/// Where the length stands that the first compressed buffer of a stream declares.
fn declared(stream: &[u8], rows: usize) -> usize {
    let bytes = (8 * rows as u64).to_le_bytes();
    stream.windows(8).rposition(|word| word == bytes).expect("its numbers take so many bytes")
}

#[test]
fn a_compressed_buffer_becomes_no_more_than_it_can() {
    let rows = 1000;
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows as i64));
    let batch = RecordBatch::try_from_iter([("n", numbers)]).expect("one column");
    for way in WAYS.into_iter().flatten() {
        let sound = written(std::slice::from_ref(&batch), Some(way));
        let at = declared(&sound, rows);
        for wrong in [i64::MAX, i64::MIN, -2, 1 << 40, 8 * rows as i64 + 1, 8 * rows as i64 - 1] {
            let mut stream = sound.clone();
            stream[at..at + 8].copy_from_slice(&wrong.to_le_bytes());
            let why = read(&stream).expect_err("it declares what is not there").to_string();
            let said = !(0..=1 << 30).contains(&wrong);
            assert!(!said || why.contains(&format!("compressed bytes become {wrong}, as they say")), "{why}");
        }
    }
}

#[test]
fn a_stream_that_breaks_off_is_refused() {
    for way in WAYS {
        let stream = written(&[batch(30)], way);
        let whole = read(&stream).expect("sound");
        for end in 0..stream.len() {
            match read(&stream[..end]) {
                // It breaks off between messages.
                Ok(some) => assert!(whole.starts_with(&some)),
                Err(why) => assert!(why.to_string().starts_with("it ends within the "), "{why}"),
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 2 } else { 2000 }, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_bent_is_refused_or_read(
        way in 0..3_usize,
        rows in 0..60_usize,
        at in any::<prop::sample::Index>(),
        bent in prop_oneof![Just(0), Just(1), Just(0x7f), Just(0x80), Just(0xff), any::<u8>()],
        many in 1..9_usize,
    ) {
        let mut stream = written(&[batch(rows), batch(3)], WAYS[way]);
        let at = at.index(stream.len());
        let end = (at + many).min(stream.len());
        stream[at..end].fill(bent);
        match read(&stream) {
            // Nothing in it leads beyond its end.
            Ok(batches) => {
                let shown = format!("{batches:?}");
                prop_assert!(shown.len() < 1 << 20);
            }
            Err(why) => prop_assert!(!why.to_string().is_empty()),
        }
    }
}
