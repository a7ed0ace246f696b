//! What is left standing when a step's cells cannot be stored.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use limits::Scope;

use crate::error::Error;
use crate::sources::AppendTable;
use crate::table::snapshot;
use crate::testing::still_graph;

/// Bytes of a text of which a block holds four and not five, where a buffer is as small as it is drawn.
const LONG: usize = 60_000;

fn batch(lengths: &[usize]) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(lengths.iter().map(|length| *length as i64)));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(lengths.iter().map(|length| "x".repeat(*length))));
    let fields = vec![Field::new("n", DataType::Int64, true), Field::new("s", DataType::Utf8, true)];
    RecordBatch::try_new(Arc::new(Schema::new(fields)), vec![numbers, texts]).unwrap()
}

/// Runs `work` where a block holds few texts.
fn with_small_buffers(work: impl FnOnce()) {
    let holds =
        |lengths: &[usize]| column::fits(&[column::kind::to_canonical(batch(lengths).column(1)).unwrap()]).is_ok();
    let small = |scope: &Scope| scope.enter(|| holds(&[LONG; 4]) && !holds(&[LONG; 5]));
    (1..).map(Scope::drawn).find(small).expect("some seed draws it").enter(work);
}

#[test]
fn a_call_that_cannot_fit_is_refused_and_applies_nothing() {
    with_small_buffers(|| {
        let graph = still_graph();
        let source = AppendTable::new(&graph, batch(&[]).schema()).unwrap();
        let refused = source.append(&batch(&[LONG; 5])).err().expect("it is too much");
        assert!(matches!(&refused, Error::Resource { operation, .. } if operation == "append"), "{refused}");
        assert!(refused.to_string().contains("column \"s\": 300000 bytes of texts"), "{refused}");
        assert_eq!(source.waiting(), 0);
        source.append(&batch(&[LONG; 4])).unwrap();
        graph.step().unwrap();
        assert_eq!(source.table().rows().unwrap().len(), 4);
    });
}

#[test]
fn tables_that_failed_in_a_write_are_told_of_by_every_snapshot() {
    with_small_buffers(|| {
        let graph = still_graph();
        let source = AppendTable::new(&graph, batch(&[]).schema()).unwrap();
        let other = AppendTable::new(&graph, batch(&[]).schema()).unwrap();
        source.append(&batch(&[LONG; 3])).unwrap();
        other.append(&batch(&[7])).unwrap();
        graph.step().unwrap();
        let held = source.table().view().unwrap();
        // Each call fits a block, both together do not.
        source.append(&batch(&[LONG; 3])).unwrap();
        graph.step().unwrap();
        let failure = source.table().failure().expect("its block is full");
        assert!(failure.to_string().contains("bytes of texts in 4,096 neighbouring rows"), "{failure}");
        for tables in [vec![source.table().clone()], vec![other.table().clone(), source.table().clone()]] {
            assert!(matches!(snapshot(&tables), Err(Error::TableFailed(_))));
        }
        assert!(matches!(source.table().view(), Err(Error::TableFailed(_))));
        assert_eq!(snapshot(&[other.table().clone()]).unwrap()[0].rows().unwrap().len(), 1);
        graph.step().unwrap();
        assert!(matches!(snapshot(&[other.table().clone(), source.table().clone()]), Err(Error::TableFailed(_))));
        let cells = held.column(1).unwrap().read(held.rows()).unwrap();
        cells.to_data().validate_full().unwrap();
        assert_eq!(cells.len(), 3);
    });
}
