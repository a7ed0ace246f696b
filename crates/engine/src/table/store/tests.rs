//! Tests of a store whose cells cannot be written in a step: the state that is left is the one before the step.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use formula::{Expr, Function};
use limits::Scope;

use crate::driver::attach::attach;
use crate::error::Error;
use crate::ops::Select;
use crate::sources::AppendTable;
use crate::table::snapshot::snapshot;
use crate::testing::still_graph;

/// Bytes of a text that is stored, and twice of which is not, where a buffer is as small as it is drawn.
const LONG: usize = 60_000;

fn batch(lengths: &[usize]) -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(lengths.iter().map(|length| *length as i64)));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values(lengths.iter().map(|length| "x".repeat(*length))));
    let fields = vec![Field::new("n", DataType::Int64, true), Field::new("s", DataType::Utf8, true)];
    RecordBatch::try_new(Arc::new(Schema::new(fields)), vec![numbers, texts]).unwrap()
}

/// Runs `work` where buffers of texts are small.
fn with_small_buffers(work: impl FnOnce()) {
    let holds = |length| column::types::fits(&column::types::to_canonical(batch(&[length]).column(1)).unwrap()).is_ok();
    let small = |scope: &Scope| scope.enter(|| holds(LONG) && !holds(2 * LONG));
    (1..).map(Scope::drawn).find(small).expect("some seed draws it").enter(work);
}

#[test]
fn a_call_that_cannot_fit_is_refused_and_applies_nothing() {
    with_small_buffers(|| {
        let graph = still_graph();
        let source = AppendTable::new(&graph, batch(&[]).schema()).unwrap();
        let refused = source.append(&batch(&[7, 5 * LONG])).err().expect("it is too much");
        assert!(matches!(&refused, Error::Resource { operation, .. } if operation == "append"), "{refused}");
        assert!(refused.to_string().contains("column \"s\": a value of 300000 bytes is longer"), "{refused}");
        assert_eq!(source.waiting(), 0);
        (0..3).for_each(|_| drop(source.append(&batch(&[LONG; 4])).unwrap()));
        graph.step().unwrap();
        assert_eq!(source.table().rows().unwrap().len(), 12);
    });
}

#[test]
fn tables_that_failed_in_a_write_are_told_of_by_every_snapshot() {
    with_small_buffers(|| {
        let graph = still_graph();
        let source = AppendTable::new(&graph, batch(&[]).schema()).unwrap();
        let other = AppendTable::new(&graph, batch(&[]).schema()).unwrap();
        let twice = Expr::call(Function::Add, vec![Expr::column("s"), Expr::column("s")]).unwrap().alias("s");
        let select = Select::with(source.table(), &[twice]).unwrap();
        let doubled = attach(&select, std::slice::from_ref(source.table())).unwrap();
        source.append(&batch(&[LONG / 2; 3])).unwrap();
        other.append(&batch(&[7])).unwrap();
        graph.step().unwrap();
        let held = doubled.view().unwrap();
        // What is given is stored, twice of it is not.
        source.append(&batch(&[7, LONG])).unwrap();
        graph.step().unwrap();
        let failure = doubled.failure().expect("what it computed is too long");
        assert!(failure.to_string().contains("a value of 120000 bytes is longer than"), "{failure}");
        for tables in [vec![doubled.clone()], vec![other.table().clone(), doubled.clone()]] {
            assert!(matches!(snapshot(&tables), Err(Error::TableFailed(_))));
        }
        assert!(matches!(doubled.view(), Err(Error::TableFailed(_))));
        assert_eq!(snapshot(&[other.table().clone()]).unwrap()[0].rows().unwrap().len(), 1);
        assert_eq!(source.table().rows().unwrap().len(), 5);
        graph.step().unwrap();
        assert!(matches!(snapshot(&[other.table().clone(), doubled.clone()]), Err(Error::TableFailed(_))));
        let cells = held.column(1).unwrap().read(held.rows()).unwrap();
        cells.to_data().validate_full().unwrap();
        assert_eq!(cells.len(), 3);
    });
}
