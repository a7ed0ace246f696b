//! What a server of a fuzz target serves, the calls that it knows, and what may become of them.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use engine::sources::AppendTable;
use engine::testing::still_graph;
use engine::{Error, Table};
use flight::limits::Limits;
use flight::{CALLS, Call, Catalog};
use graph::UpdateGraph;
use tonic::Code;

/// Rows of a table at most that is looked at.
const LOOKED_AT: u64 = 1000;
/// Calls of one session.
pub const CALLS_OF_ONE: usize = 16;
/// A call that answers later does so beside the next ones.
pub const SOON: Duration = Duration::from_millis(20);
/// Bytes that a search may ask for at once.
const MEMORY: u64 = 64 << 20;
/// Longer than this no call of a closed session runs.
pub const END: Duration = Duration::from_secs(8);

fn hash(bytes: &[u8]) -> u16 {
    let hash = bytes.iter().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    (hash >> 16) as u16 ^ hash as u16
}

/// The call whose hash is this one, or the next, and its path: a call that is added later moves few others.
pub fn chosen(wanted: u16) -> (String, Call) {
    let paths = CALLS.iter().map(|(service, method, call, _)| (format!("/{service}/{method}"), *call));
    paths.min_by_key(|(path, _)| hash(path.as_bytes()).wrapping_sub(wanted)).expect("there are calls")
}

/// A call ends well or says what is wrong with it; that something of the server broke is no answer.
pub fn judged(path: &str, code: Code) {
    assert!(!matches!(code, Code::Internal | Code::Unknown), "{path} ended with {code:?}");
}

/// What was made can be read, and its cells are sound.
pub fn sound(table: &Table) {
    let Ok(view) = table.view() else { return };
    if view.rows().len() > LOOKED_AT {
        return;
    }
    let columns: Vec<usize> = (0..view.width()).collect();
    match engine::export::batches_of(table, &view, view.rows(), &columns, true) {
        Ok(batches) => {
            for cells in batches.iter().flat_map(|batch| batch.columns()) {
                cells.to_data().validate_full().expect("cells that are sound");
            }
        }
        Err(error) => assert!(!matches!(error, Error::Internal { .. }), "{error}"),
    }
}

/// What a client may ask for.
pub fn limits() -> Limits {
    Limits { exports: 64, upload: 1 << 20, login_memory: 16 << 20, ..Limits::default() }
}

fn schema() -> Arc<Schema> {
    Arc::new(Schema::new(vec![
        Field::new("sym", DataType::Utf8, true),
        Field::new("px", DataType::Float64, true),
        Field::new("size", DataType::Int64, true),
    ]))
}

fn rows(first: i64, count: i64) -> RecordBatch {
    let syms: StringArray = (first..first + count).map(|row| Some(["A", "B", "C"][row as usize % 3])).collect();
    let prices: Float64Array = (first..first + count).map(|row| (row % 7 != 0).then_some(row as f64 / 4.0)).collect();
    let sizes: Int64Array = (first..first + count).map(Some).collect();
    let columns: Vec<ArrayRef> = vec![Arc::new(syms), Arc::new(prices), Arc::new(sizes)];
    RecordBatch::try_new(schema(), columns).expect("a batch")
}

/// A table that is fixed and one that grows.
pub struct Scope {
    graph: UpdateGraph,
    trades: AppendTable,
    /// Where they are found.
    pub catalog: Arc<Catalog>,
}

impl Scope {
    /// Both tables, with a few rows.
    #[allow(unexpected_cfgs, reason = "`fuzz/run` sets it")]
    pub fn new() -> Scope {
        // A search has less memory than the machine: what is much for it is refused.
        if cfg!(fuzzing) {
            ::limits::set_limit(Some(MEMORY));
        }
        let graph = still_graph();
        let trades = AppendTable::new(&graph, schema()).expect("a table");
        trades.append(&rows(0, 10)).expect("rows");
        graph.step().expect("a step");
        let of_clients = graph.clone();
        let catalog = Arc::new(Catalog::default().with_graph(Arc::new(move || Ok(of_clients.clone()))));
        let columns = rows(0, 20).columns().iter().map(|column| vec![column.clone()]).collect();
        let fixed = engine::sources::from_chunks(schema(), columns, 20).expect("a table");
        catalog.put("quotes".to_owned(), fixed);
        catalog.put("trades".to_owned(), trades.table().clone());
        Scope { graph, trades, catalog }
    }

    /// More rows, and a step.
    pub fn step(&self, at: usize) {
        self.trades.append(&rows(at as i64, 3)).expect("rows");
        self.graph.step().expect("a step");
    }
}
