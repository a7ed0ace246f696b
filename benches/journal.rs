//! Single rows into a durable table from Rust: how many a second are visible and on disk, beside a table that is not durable.
//!
//! A graph that runs by itself makes the groups: each step is one record, and one sync takes all steps that wait.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::{Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use engine::sources::{AppendTable, FedKind, Feeding};
use graph::{Settings, UpdateGraph};

const ROWS: i64 = 1_000_000;

fn schema() -> Arc<Schema> {
    let field = |name: &str, data_type| Field::new(name, data_type, true);
    Arc::new(Schema::new(vec![
        field("id", DataType::Int64),
        field("sym", DataType::Utf8),
        field("px", DataType::Float64),
    ]))
}

/// Thousands of rows, each in a batch of its own.
fn rows() -> Vec<RecordBatch> {
    let one = |id: i64| {
        let cells: [arrow_array::ArrayRef; 3] = [
            Arc::new(Int64Array::from(vec![id])),
            Arc::new(StringArray::from(vec![format!("SYM{}", id % 100)])),
            Arc::new(Float64Array::from(vec![id as f64 / 8.0])),
        ];
        RecordBatch::try_new(schema(), cells.to_vec()).expect("three columns of one row")
    };
    (0..4096).map(one).collect()
}

/// Rows a second, from the first call until all are visible and, if the table is durable, on disk.
fn rate(table: &AppendTable, graph: &UpdateGraph, rows: &[RecordBatch]) -> f64 {
    graph.start();
    let began = Instant::now();
    let mut token = None;
    for row in rows.iter().cycle().take(ROWS as usize) {
        token = Some(table.append(row).expect("there is room"));
    }
    let token = token.expect("there were rows");
    token.wait(Some(Duration::from_secs(300)), &mut || true).expect("the disk takes them");
    let taken = began.elapsed();
    graph.stop();
    ROWS as f64 / taken.as_secs_f64()
}

fn main() {
    let rows = rows();
    let folder = std::env::temp_dir().join(format!("tickframe-journal-{}", std::process::id()));
    let settings = || Settings { period: Duration::from_millis(5), threads: Some(1), init_threads: Some(1) };
    let (mut kept, mut plain) = (0.0_f64, 0.0_f64);
    for round in 0..3 {
        let graph = UpdateGraph::new(settings());
        let table = AppendTable::fed(&graph, schema(), Feeding::default()).expect("a table");
        plain = plain.max(rate(&table, &graph, &rows));
        let graph = UpdateGraph::new(settings());
        let durable = durable::Durable::open(&folder.join(round.to_string()), &graph).expect("a new folder");
        let feeding = durable.claim("append_table", "t", &FedKind::Append, &schema()).expect("a new table");
        let table = AppendTable::fed(&graph, schema(), feeding).expect("a table");
        kept = kept.max(rate(&table, &graph, &rows));
        durable.close().expect("all is on disk");
    }
    let _ = std::fs::remove_dir_all(&folder);
    println!("single rows a second from Rust: {:.2} million durable, {:.2} million without", kept / 1e6, plain / 1e6);
}
