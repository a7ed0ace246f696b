//! `most_recent`, `most_recent_rows`: a table that only grows, from its recent rows on: the last of each group as it begins, and
//! then all that come.
//!
//!   in   0 A 1    1 B 2    2 A 3        most_recent_rows(1, by K)    out   1 B 2    2 A 3
//!   in   + 3 A 4   + 4 C 5                                           out   + 3 A 4  + 4 C 5
//!
//! Rows own, columns shared with the table. What it begins with depends on when it is made, so two requests make two tables.
//! Cost of an update: the rows that come.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampNanosecondType;
use arrow_schema::DataType;
use column::keys::KeyTable;
use column::types::can_be_key;
use graph::{Moment, Step};
use rowset::{Before, RowSet, Shifts};

use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::plan::spec::Recent;
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::{Attributes, Parts};
use crate::table::request::Request;
use crate::table::rows::LiveRows;
use crate::table::update::TableUpdate;
use crate::table::view::View;

/// A table from its recent rows on.
pub struct MostRecent {
    request: Request,
    by: Vec<usize>,
    recent: Which,
}

/// Which rows of a group are recent.
enum Which {
    /// The last, by their places.
    Rows(u64),
    /// Those within so many nanoseconds of the newest stamp of the group.
    Span { stamp: usize, nanos: i64 },
}

impl MostRecent {
    /// `by`: the columns that make groups; all rows are one group without them.
    pub fn new(method: &str, table: &Table, by: &[String], recent: &Recent) -> Result<MostRecent, Error> {
        if table.is_live() && !table.attributes().add_only {
            let message =
                "rows of the table may be removed or modified; give a table that only grows, such as an append_table";
            return Err(Error::invalid(method, message));
        }
        let columns = by.iter().map(|name| table.column_index(method, name)).collect::<Result<Vec<_>, _>>()?;
        if let Some((name, at)) = by.iter().zip(&columns).find(|(_, at)| !can_be_key(table.column_type(**at))) {
            return Err(Error::unkeyable(method, name, table.column_type(*at)));
        }
        let recent = match recent {
            Recent::Rows(rows) => Which::Rows(*rows),
            Recent::Span { stamp, nanos } => {
                let place = table.column_index(method, stamp)?;
                let holds = table.column_type(place);
                if !matches!(holds, DataType::Timestamp(..)) {
                    let holds = formula::type_name(holds);
                    let message = format!("the column {stamp:?} holds {holds}; what is recent is told by instants");
                    return Err(Error::types(method, message));
                }
                Which::Span { stamp: place, nanos: *nanos }
            }
        };
        Ok(MostRecent { request: Request::unique(method), by: columns, recent })
    }

    /// The rows with which it begins.
    fn first(&self, table: &Table, view: &View) -> Result<RowSet, Error> {
        let rows = view.rows();
        if rows.is_empty() {
            return Ok(RowSet::new());
        }
        if let (Which::Rows(most), []) = (&self.recent, self.by.as_slice()) {
            return Ok(rows.slice(rows.len().saturating_sub(*most), *most));
        }
        limits::ask_rows(rows.len(), 24)?;
        let mut slots = vec![0_u32; rows.len() as usize];
        if !self.by.is_empty() {
            let types: Vec<DataType> = self.by.iter().map(|at| table.column_type(*at).clone()).collect();
            let cells = view.read_columns(&self.by, rows)?;
            KeyTable::new(&types).insert(&cells, &mut slots, &mut Vec::new())?;
        }
        let groups = slots.iter().max().map_or(0, |last| *last as usize + 1);
        let mut kept: Vec<u64> = Vec::new();
        match self.recent {
            Which::Rows(most) => {
                let mut left = vec![most; groups];
                let keys: Vec<u64> = rows.iter().collect();
                for (key, slot) in keys.iter().zip(&slots).rev() {
                    let left = &mut left[*slot as usize];
                    if *left > 0 {
                        *left -= 1;
                        kept.push(*key);
                    }
                }
                kept.reverse();
            }
            Which::Span { stamp, nanos } => {
                let cells = view.read(stamp, rows)?;
                let stamps = cells.as_primitive::<TimestampNanosecondType>();
                let mut newest = vec![i64::MIN; groups];
                for (stamp, slot) in stamps.iter().zip(&slots) {
                    let newest = &mut newest[*slot as usize];
                    *newest = stamp.map_or(*newest, |stamp| stamp.max(*newest));
                }
                for ((key, stamp), slot) in rows.iter().zip(stamps).zip(&slots) {
                    if stamp.is_some_and(|stamp| stamp >= newest[*slot as usize].saturating_sub(nanos)) {
                        kept.push(key);
                    }
                }
            }
        }
        Ok(kept.into_iter().collect())
    }
}

impl Operation for MostRecent {
    fn request(&self) -> &Request {
        &self.request
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let Input { table, view } = &inputs[0];
        let shown = Arc::new(LiveRows::new(self.first(table, view)?, at));
        let attributes = Attributes { flat: false, ..table.attributes().clone() };
        let (columns, schema) = (table.parts().columns.clone(), table.schema().clone());
        let parts = Parts { rows: shown.clone(), columns, schema, attributes };
        Ok(Start { parts, live: Box::new(MostRecentLive { shown: shown.clone() }), owned: vec![shown] })
    }
}

struct MostRecentLive {
    shown: Arc<LiveRows>,
}

impl Live for MostRecentLive {
    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let added = inputs[0].update().added.clone();
        if !added.is_empty() {
            self.shown.apply(step, &Before::default(), &Shifts::none(), &added)?;
        }
        Ok(TableUpdate::of_added(added))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::attach::attach;
    use crate::sources::AppendTable;
    use crate::testing::{Watch, explore, still_graph};
    use arrow_array::{Int64Array, RecordBatch, TimestampNanosecondArray};
    use arrow_schema::{Field, Schema, TimeUnit};

    fn schema() -> Arc<Schema> {
        Arc::new(Schema::new(vec![
            Field::new("k", DataType::Int64, true),
            Field::new("t", DataType::Timestamp(TimeUnit::Nanosecond, None), true),
        ]))
    }

    type Row = (Option<i64>, Option<i64>);

    fn batch(rows: &[Row]) -> RecordBatch {
        let keys = Arc::new(Int64Array::from_iter(rows.iter().map(|row| row.0)));
        let stamps = Arc::new(TimestampNanosecondArray::from_iter(rows.iter().map(|row| row.1)));
        RecordBatch::try_new(schema(), vec![keys, stamps]).expect("two columns")
    }

    /// Row at a time: which of these a table begins with.
    fn first(rows: &[Row], by: bool, recent: &Recent) -> Vec<u64> {
        let same = |one: &Row, other: &Row| !by || one.0 == other.0;
        let newest = |row: &Row| rows.iter().filter(|other| same(row, other)).filter_map(|other| other.1).max();
        let is_recent = |(at, row): &(usize, &Row)| match recent {
            Recent::Rows(most) => (rows[at + 1..].iter().filter(|later| same(row, later)).count() as u64) < *most,
            Recent::Span { nanos, .. } => {
                row.1.is_some_and(|stamp| newest(row).is_some_and(|newest| stamp >= newest.saturating_sub(*nanos)))
            }
        };
        rows.iter().enumerate().filter(is_recent).map(|(at, _)| at as u64).collect()
    }

    #[test]
    fn law() {
        explore(200, |tape| {
            let graph = still_graph();
            let source = AppendTable::new(&graph, schema()).expect("a sound schema");
            let draw = |tape: &mut crate::testing::Tape| -> Vec<Row> {
                let cell =
                    |tape: &mut crate::testing::Tape, most: u64| (!tape.chance(40)).then(|| tape.below(most) as i64);
                (0..tape.below(12)).map(|_| (cell(tape, 3), cell(tape, 9))).collect()
            };
            let rows = draw(tape);
            source.append(&batch(&rows)).expect("it fits");
            graph.step().expect("outside");
            let by = tape.chance(150);
            let recent = match tape.below(2) {
                0 => Recent::Rows(tape.below(4)),
                _ => Recent::Span { stamp: "t".into(), nanos: tape.below(5) as i64 },
            };
            let keys: &[String] = if by { &["k".to_owned()] } else { &[] };
            let made = MostRecent::new("most_recent", source.table(), keys, &recent).expect("sound");
            let table = attach(&made, std::slice::from_ref(source.table())).expect("it starts");
            let watch = Watch::attach(&table).expect("live");
            let mut wanted: RowSet = first(&rows, by, &recent).into_iter().collect();
            assert_eq!(table.rows().expect("alive"), wanted, "{rows:?} {by} {recent:?}");
            let mut next = rows.len() as u64;
            for _ in 0..4 {
                let more = draw(tape);
                source.append(&batch(&more)).expect("it fits");
                graph.step().expect("outside");
                wanted |= &(next..next + more.len() as u64).collect::<RowSet>();
                next += more.len() as u64;
                assert_eq!(table.rows().expect("alive"), wanted);
            }
            assert!(watch.fault().is_none());
            Ok(())
        });
    }

    #[test]
    fn a_table_that_may_lose_rows_is_refused() {
        let graph = still_graph();
        let blink = crate::sources::BlinkTable::new(&graph, schema()).expect("a sound schema");
        let refused = |table: &Table, by: &str, recent: Recent| {
            MostRecent::new("most_recent", table, &[by.to_owned()], &recent).err().expect("refused").to_string()
        };
        assert!(refused(blink.table(), "k", Recent::Rows(1)).contains("may be removed or modified"));
        let source = AppendTable::new(&graph, schema()).expect("a sound schema");
        assert!(refused(source.table(), "x", Recent::Rows(1)).contains("no column \"x\""));
        let span = Recent::Span { stamp: "k".into(), nanos: 1 };
        assert!(refused(source.table(), "k", span).contains("\"k\" holds Int64; what is recent is told by instants"));
    }
}
