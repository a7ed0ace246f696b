//! `add_only_to_blink`: the rows that each step adds, for one step.
//!
//!   in   0 A    1 B        out   0 A    1 B      rows that are there are those of a first step
//!   in   + 2 C             out   - 0    - 1    + 2 C
//!   in   nothing           out   - 2
//!
//! Rows own, columns shared. Cost of an update: the rows that come and those that go. A table with rows runs in the step
//! after, whether its input changes or not.

use std::sync::Arc;

use graph::{Moment, NodeId, Step, UpdateGraph};
use rowset::Before;

use super::asked::Asked;
use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::{Attributes, Parts};
use crate::table::request::Request;
use crate::table::rows::LiveRows;
use crate::table::update::TableUpdate;

const CHANGES: &str = "rows of the table may be removed or modified, and a blink table only adds; give it an append-only \
                       or add-only table, such as an append_table";

/// The rows that a table gains, each for one step.
pub struct AddOnlyToBlink {
    request: Request,
}

impl Default for AddOnlyToBlink {
    fn default() -> AddOnlyToBlink {
        // It runs without a change of its input, to let its rows go.
        AddOnlyToBlink { request: Request { timed: true, ..Request::new("add_only_to_blink", &Asked::Kind) } }
    }
}

impl Operation for AddOnlyToBlink {
    fn request(&self) -> &Request {
        &self.request
    }

    fn remembers(&self, _inputs: &[Table]) -> bool {
        true
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let Input { table, view } = &inputs[0];
        let graph = table.graph().cloned();
        if !table.attributes().add_only {
            return Err(Error::invalid(&self.request.name, CHANGES));
        }
        let rows = Arc::new(LiveRows::new(view.rows().clone(), at));
        let parts = Parts {
            rows: rows.clone(),
            columns: table.parts().columns.clone(),
            schema: table.schema().clone(),
            attributes: Attributes { blink: graph.is_some(), ..Attributes::default() },
        };
        let live = AddOnlyToBlinkLive { graph, node: None, rows: rows.clone() };
        Ok(Start { parts, live: Box::new(live), owned: vec![rows] })
    }
}

struct AddOnlyToBlinkLive {
    graph: Option<UpdateGraph>,
    node: Option<NodeId>,
    rows: Arc<LiveRows>,
}

impl AddOnlyToBlinkLive {
    /// Rows that are there must go in the next step.
    fn arm(&self) {
        if let (Some(graph), Some(node)) = (&self.graph, self.node)
            && !self.rows.latest().is_empty()
        {
            graph.activate(node);
        }
    }
}

impl Live for AddOnlyToBlinkLive {
    fn joined(&mut self, node: NodeId) {
        self.node = Some(node);
        self.arm();
    }

    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let added = inputs[0].update().added.clone();
        let removed = Before(self.rows.latest());
        if !(added.is_empty() && removed.0.is_empty()) {
            self.rows.publish(step, added.clone());
            self.arm();
        }
        Ok(TableUpdate { added, removed, ..TableUpdate::default() })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Int64Array, RecordBatch};
    use arrow_schema::{DataType, Field, Schema};

    use super::*;
    use crate::driver::attach::attach;
    use crate::ops::BlinkToAppendOnly;
    use crate::sources::AppendTable;
    use crate::testing::{Drawn, Found, Plain, Watch, any_table, run_law, still_graph};

    #[test]
    fn the_rows_of_a_step_are_gone_in_the_next() {
        let graph = still_graph();
        let schema = Arc::new(Schema::new(vec![Field::new("v", DataType::Int64, true)]));
        let source = AppendTable::new(&graph, schema.clone()).expect("a sound schema");
        let push = |cells: &[i64]| {
            let cells = Arc::new(Int64Array::from(cells.to_vec()));
            source.append(&RecordBatch::try_new(schema.clone(), vec![cells]).expect("one column")).expect("it fits");
        };
        push(&[1, 2]);
        graph.step().expect("outside");
        let made = attach(&AddOnlyToBlink::default(), std::slice::from_ref(source.table())).expect("it starts");
        let watch = Watch::attach(&made).expect("live");
        assert!(made.attributes().blink && watch.now().to_string().contains("0 1 | 1 2"), "{}", watch.now());
        for (cells, wanted) in [
            (&[3][..], "- [0..1] | + 2 3"),
            (&[][..], "- 2"),
            (&[][..], ""),
            (&[4, 5][..], "+ 3 4 | + 4 5"),
            (&[6][..], "- [3..4] | + 5 6"),
        ] {
            if !cells.is_empty() {
                push(cells);
            }
            graph.step().expect("outside");
            assert_eq!(watch.take_drawings().pop().unwrap_or_default(), wanted, "after {cells:?}");
            assert_eq!(watch.fault(), None);
        }
    }

    #[test]
    fn a_table_whose_rows_change_is_refused() {
        let input = Drawn::new(&still_graph(), "0 A | 1 B");
        let refused = attach(&AddOnlyToBlink::default(), std::slice::from_ref(input.table())).err();
        let refused = refused.map(|error| error.to_string()).unwrap_or_default();
        assert!(refused.starts_with("add_only_to_blink: rows of the table may be removed"), "{refused}");
    }

    /// What lives for a step, kept, is what the table gained.
    #[test]
    fn law() {
        let one = |operation: &dyn Operation, table: Table| attach(operation, std::slice::from_ref(&table));
        let kept = BlinkToAppendOnly::default();
        let there_and_back = |tables: &[Table]| {
            let grown = one(&kept, tables[0].clone())?;
            one(&kept, one(&AddOnlyToBlink::default(), grown)?)
        };
        run_law(&[any_table().blink(true)], 150, there_and_back, |inputs: &[Plain], found| match found {
            Found::Rows(rows) => inputs[0].first_difference_in_order(rows).map_or(Ok(()), Err),
            Found::Failed(text) => Err((*text).into()),
        });
    }
}
