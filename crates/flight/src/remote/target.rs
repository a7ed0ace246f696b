//! The table here that has the rows of one elsewhere, and the calls that are on their way into it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, new_empty_array};
use arrow_schema::{ArrowError, Schema};
use arrow_select::concat::{concat, concat_batches};
use engine::sources::{Apply, BlinkTable, InputTable, Token, Transaction, WeakBlinkTable, WeakInputTable};
use engine::{Error, Table, export};
use graph::UpdateGraph;

use super::difference::Rows;

/// Calls that may wait for a step of the graph here, and their bytes; further ones wait on the wire.
const CALLS: usize = 256;
const BYTES: u64 = 64 << 20;
/// How often it is looked whether a step has come: at first often, then less.
const LOOK: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(20));

/// A source here, for as long as somebody else holds its table.
#[derive(Clone)]
pub(crate) enum Weak {
    Rows(WeakInputTable),
    Blink(WeakBlinkTable),
}

/// A source here, held.
pub(crate) enum Held {
    Rows(InputTable),
    Blink(BlinkTable),
}

/// Nobody has the table any more.
pub(crate) struct LetGo;

impl Held {
    pub(crate) fn new(graph: &UpdateGraph, schema: Arc<Schema>, blink: bool) -> Result<Held, Error> {
        match blink {
            true => BlinkTable::new(graph, schema).map(Held::Blink),
            false => InputTable::new(graph, schema).map(Held::Rows),
        }
    }

    pub(crate) fn table(&self) -> &Table {
        match self {
            Held::Rows(source) => source.table(),
            Held::Blink(source) => source.table(),
        }
    }

    pub(crate) fn downgrade(&self) -> Weak {
        match self {
            Held::Rows(source) => Weak::Rows(source.downgrade()),
            Held::Blink(source) => Weak::Blink(source.downgrade()),
        }
    }

    pub(crate) fn close(&self) {
        match self {
            Held::Rows(source) => source.close(),
            Held::Blink(source) => source.close(),
        }
    }

    pub(crate) fn fail(&self, error: Error) {
        match self {
            Held::Rows(source) => source.fail(error),
            Held::Blink(source) => source.fail(error),
        }
    }
}

impl Weak {
    pub(crate) fn upgrade(&self) -> Result<Held, LetGo> {
        match self {
            Weak::Rows(source) => source.upgrade().map(Held::Rows),
            Weak::Blink(source) => source.upgrade().map(Held::Blink),
        }
        .ok_or(LetGo)
    }
}

/// Rows of a table as they stand in one batch.
pub(crate) fn rows_of(table: &Table) -> Result<Rows, Error> {
    let still = table.snapshot()?;
    let view = still.view()?;
    let batches = export::batches(&still, &view, true)?;
    Ok(Rows { keys: view.rows().clone(), cells: concat_batches(still.schema(), &batches)? })
}

/// Cells of some columns that came in pieces, in the types that they have here.
pub(crate) fn batch(
    schema: &Schema,
    columns: &[usize],
    rows: u64,
    pieces: impl Fn(usize) -> Vec<ArrayRef>,
) -> Result<RecordBatch, ArrowError> {
    let schema = schema.project(columns)?;
    let one = |(field, column): (&Arc<arrow_schema::Field>, &usize)| {
        let pieces = pieces(*column);
        let whole = match &pieces[..] {
            [] => return Ok(new_empty_array(field.data_type())),
            [piece] => piece.clone(),
            pieces => concat(&pieces.iter().map(AsRef::as_ref).collect::<Vec<_>>())?,
        };
        barrage::from_wire(&whole, field.data_type())
    };
    let arrays: Vec<ArrayRef> = schema.fields().iter().zip(columns).map(one).collect::<Result<_, ArrowError>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows as usize));
    RecordBatch::try_new_with_options(Arc::new(schema), arrays, &options)
}

fn bytes_of(call: &Apply) -> u64 {
    let parts = [&call.added, &call.modified];
    parts.into_iter().flatten().map(|(_, batch)| batch.get_array_memory_size() as u64).sum()
}

/// Calls that wait for a step.
#[derive(Default)]
pub(crate) struct Pending(VecDeque<(Token, u64)>);

impl Pending {
    /// Queues calls that belong into one step.
    pub(crate) fn apply(
        &mut self,
        graph: &UpdateGraph,
        source: &InputTable,
        mut calls: Vec<Apply>,
    ) -> Result<(), Error> {
        let bytes = calls.iter().map(bytes_of).sum();
        let token = match calls.len() {
            0 => return Ok(()),
            1 => source.apply(calls.remove(0))?,
            _ => {
                let transaction = Transaction::begin(graph);
                let tokens: Vec<Token> = transaction
                    .collect(|| calls.into_iter().map(|call| source.apply(call)).collect::<Result<_, Error>>())?;
                transaction.commit()?;
                // They land together.
                self.0.extend(tokens.into_iter().next_back().map(|token| (token, bytes)));
                return Ok(());
            }
        };
        self.0.push_back((token, bytes));
        Ok(())
    }

    /// Queues rows of a blink table.
    pub(crate) fn append(&mut self, source: &BlinkTable, rows: &RecordBatch) -> Result<(), Error> {
        let token = source.append(rows)?;
        self.0.push_back((token, rows.get_array_memory_size() as u64));
        Ok(())
    }

    /// Forgets calls that have become visible; the error of one that never will.
    fn look(&mut self) -> Result<(), Error> {
        while let Some(landed) = self.0.front().and_then(|(token, _)| token.landed()) {
            self.0.pop_front();
            landed?;
        }
        Ok(())
    }

    fn has_room(&self) -> bool {
        self.0.len() < CALLS && self.0.iter().map(|(_, bytes)| bytes).sum::<u64>() < BYTES
    }

    async fn until(&mut self, done: impl Fn(&Pending) -> bool) -> Result<(), Error> {
        let mut pause = LOOK.0;
        loop {
            self.look()?;
            if done(self) {
                return Ok(());
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LOOK.1);
        }
    }

    /// Comes back when another call may be queued.
    pub(crate) async fn room(&mut self) -> Result<(), Error> {
        self.until(Pending::has_room).await
    }

    /// Comes back when all calls have become visible.
    pub(crate) async fn landed(&mut self) -> Result<(), Error> {
        self.until(|pending| pending.0.is_empty()).await
    }
}
