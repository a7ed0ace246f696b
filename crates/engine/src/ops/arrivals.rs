//! Rows that ever came, copied into a store of the operation's own: the first, the last, or all. `head` and `tail` over a
//! table whose rows live for one step, `ring_table` and `blink_to_append_only` are this.
//!
//!   in   + 0 A    + 1 B      head(3)  out   + 0 A    + 1 B        tail(2)  out   + 0 A    + 1 B
//!   in   - 0 1    + 2 C               out   + 2 C                          out   - 0      + 2 C
//!   in   - 2                          out   nothing                        out   nothing
//!
//! The first are append-only, and nothing more is taken once they are full.
//! Cost of an update: the rows that come, `n` at most, and for the last those that they push out.

use graph::{Moment, Step};
use rowset::{Before, RowSet};

use crate::driver::operation::{Input, Live, Start};
use crate::error::Error;
use crate::sources::fed::next_keys;
use crate::table::change::Change;
use crate::table::parts::Attributes;
use crate::table::parts::Parts;
use crate::table::store::{Store, Writes};
use crate::table::update::TableUpdate;
use crate::table::view::View;

/// Which rows of all that come are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The first.
    Head,
    /// The last.
    Tail,
}

/// The first or last `most` rows that ever came, from those that are there on.
pub(super) fn start(end: End, most: u64, input: &Input, at: Moment) -> Result<Start, Error> {
    let Input { table, view } = input;
    let counters = table.graph().map(crate::observe::storage).unwrap_or_default();
    let none = vec![Vec::new(); table.width()];
    let store = Store::filled(table.canonical(), at, &counters, RowSet::new(), &none)?;
    let taken = end.of(view.rows(), most, 0);
    let rows = RowSet::flat(taken.len());
    let store = if taken.is_empty() {
        store
    } else {
        let cells = view.read_columns(&(0..table.width()).collect::<Vec<_>>(), &taken)?;
        let cells: Vec<_> = cells.into_iter().map(|cells| vec![(rows.clone(), cells)]).collect();
        Store::filled(table.canonical(), at, &counters, rows.clone(), &cells)?
    };
    let head = end == End::Head;
    let parts = Parts {
        rows: store.rows().clone(),
        columns: store.columns().sources(),
        schema: table.schema().clone(),
        attributes: Attributes { append_only: head, add_only: head, flat: head, ..Attributes::default() },
    };
    let owned = store.owned();
    Ok(Start { parts, live: Box::new(ArrivalsLive { end, most, next: rows.len(), store }), owned })
}

impl End {
    /// Of rows that come, those that are taken where `have` are there already.
    fn of(self, rows: &RowSet, most: u64, have: u64) -> RowSet {
        match self {
            End::Head => rows.slice(0, most.saturating_sub(have)),
            End::Tail => rows.slice(rows.len().saturating_sub(most), most),
        }
    }
}

/// A change of the input may remove rows as it likes: what came is kept.
struct ArrivalsLive {
    end: End,
    most: u64,
    next: u64,
    store: Store,
}

impl Live for ArrivalsLive {
    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let have = self.store.rows().latest();
        let taken = self.end.of(&inputs[0].update().added, self.most, have.len());
        if taken.is_empty() {
            return Ok(TableUpdate::default());
        }
        let over = (have.len() + taken.len()).saturating_sub(self.most);
        let mut writes = Writes { removed: Before(have.slice(0, over)), ..Writes::default() };
        drop(have);
        writes.added.extend(self.copied(inputs[0].now(), &taken)?);
        self.store.write(step, writes)
    }
}

impl ArrivalsLive {
    fn copied(&mut self, now: &View, rows: &RowSet) -> Result<Option<(RowSet, Vec<column::Chunk>)>, Error> {
        let width = self.store.columns().len();
        let cells = now.read_columns(&(0..width).collect::<Vec<_>>(), rows)?;
        Ok(next_keys(&mut self.next, &cells)?.map(|keys| (keys, cells)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Int64Array, RecordBatch};
    use arrow_schema::{DataType, Field, Schema};

    use super::*;
    use crate::driver::attach::attach;
    use crate::ops::Slice;
    use crate::sources::BlinkTable;
    use crate::testing::{Found, Plain};
    use crate::testing::{Watch, any_table, run_law, still_graph};

    #[test]
    fn the_first_stay_and_the_last_are_pushed_out() {
        let graph = still_graph();
        let schema = Arc::new(Schema::new(vec![Field::new("v", DataType::Int64, true)]));
        let blink = BlinkTable::new(&graph, schema.clone()).expect("a sound schema");
        let one = std::slice::from_ref(blink.table());
        let push = |cells: &[i64]| {
            let cells = Arc::new(Int64Array::from(cells.to_vec()));
            blink.append(&RecordBatch::try_new(schema.clone(), vec![cells]).expect("one column")).expect("it fits");
            graph.step().expect("outside");
        };
        push(&[1]);
        let head = attach(&Slice::head(3), one).expect("it starts");
        let tail = attach(&Slice::tail(2), one).expect("it starts");
        let (heads, tails) = (Watch::attach(&head).expect("live"), Watch::attach(&tail).expect("live"));
        for (cells, of_head, of_tail) in [
            (&[2][..], "+ 1 2", "+ 1 2"),
            (&[3, 4][..], "+ 2 3", "- [0..1] | + 2 3 | + 3 4"),
            (&[5][..], "", "- 2 | + 4 5"),
            (&[6, 7, 8][..], "", "- [3..4] | + 5 7 | + 6 8"),
        ] {
            push(cells);
            assert_eq!(heads.take_drawings().pop().unwrap_or_default(), of_head, "head after {cells:?}");
            assert_eq!(tails.take_drawings().pop().unwrap_or_default(), of_tail, "tail after {cells:?}");
        }
        graph.step().expect("outside");
        assert!(heads.take_drawings().is_empty() && tails.take_drawings().is_empty());
        assert!(head.attributes().append_only && !tail.attributes().append_only && !tail.attributes().blink);
        let refused = attach(&Slice::new(1, Some(2)), one).err().expect("which rows, of all that ever were?");
        assert!(refused.to_string().contains("head and tail"), "{refused}");
    }

    #[test]
    fn law() {
        for end in [End::Head, End::Tail] {
            let build = |tables: &[crate::Table]| {
                attach(&if end == End::Head { Slice::head(7) } else { Slice::tail(7) }, tables)
            };
            run_law(&[any_table().blink(true)], 150, build, |inputs: &[Plain], found: &Found<'_>| {
                let Found::Rows(rows) = found else { return Err("it failed".into()) };
                let all = &inputs[0].rows;
                let from = if end == End::Head { 0 } else { all.len().saturating_sub(7) };
                let wanted = &all[from..all.len().min(from + 7)];
                let same = wanted.len() == rows.rows.len()
                    && wanted.iter().zip(&rows.rows).all(|((_, a), (_, b))| a.iter().zip(b).all(|(a, b)| a.same(b)));
                if same { Ok(()) } else { Err(format!("found {rows}")) }
            });
        }
    }
}
