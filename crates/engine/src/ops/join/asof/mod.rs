//! `join_asof`: every left row, with the columns of the right row nearest in time, or nulls.
//!
//!   right  0 A 10:00 1.0    1 A 10:05 1.1
//!   left   0 A 10:03                          out   0 A 10:03 1.0        backward
//!   right  + 2 A 10:02 1.2                    out   ~ 0 A 10:03 1.2      K {bid}
//!
//! Left rows and columns are shared; right columns are read through a redirection index. `backward` takes the last of
//! equal right stamps, `forward` the first; a null or NaN stamp matches nothing. Cost of an update: one search per
//! changed row; an added right row affects only the left rows of its group from its stamp to the next right stamp.

mod index;
mod nearest;
mod right;
mod rows;
mod still;
mod tolerance;

use std::sync::Arc;

use arrow_array::{ArrayRef, UInt64Array};
use arrow_schema::DataType;
use column::{Chunk, NO_ROW};
use formula::type_name;
use graph::{Moment, Step};
use rowset::RowSet;

use super::matches::{StoredMatches, flat_matches, redirected};
use super::on::{On, Side, added_columns, joined_schema, joined_update, match_now, meeting_type};
use super::side::JoinKeys;
use super::stamps::is_stamp;
use crate::driver::operation::{Input, Live, Operation, Start};
use crate::error::Error;
use crate::keys::ordered::Still;
use crate::keys::timeline::{Entry, Timelines};
use crate::ops::asked::Asked;
use crate::plan::spec::{AsofOptions, Strategy};
use crate::sizes::{ASOF_BATCH, ASOF_PROBE_ROWS};
use crate::table::change::Change;
use crate::table::handle::Table;
use crate::table::parts::Attributes;
use crate::table::parts::Parts;
use crate::table::request::Request;
use crate::table::update::TableUpdate;
use crate::table::view::View;
pub(super) use index::AsofIndex;
use right::RightChange;
use tolerance::Dependencies;

/// `join_asof`: left rows with the right row nearest in time.
pub struct AsofJoin {
    request: Request,
    how: Arc<AsofSpec>,
    added: Vec<(usize, String)>,
}

/// The matching rules: keys, stamps, strategy and tolerance.
struct AsofSpec {
    by: Arc<On>,
    left_stamp: usize,
    right_stamp: usize,
    meet: DataType,
    strategy: Strategy,
    exact: bool,
    reach: Dependencies,
}

impl AsofJoin {
    /// Checks names and types.
    pub fn new(operation: &str, left: &Table, right: &Table, options: &AsofOptions) -> Result<AsofJoin, Error> {
        let by = On::new(operation, left, right, &options.by)?;
        let (left_name, right_name) = &options.on;
        let (left_stamp, right_stamp) =
            (left.column_index(operation, left_name)?, right.column_index(operation, right_name)?);
        let (a, b) = (left.column_type(left_stamp), right.column_type(right_stamp));
        let meet = meeting_type(a, b).filter(is_stamp).ok_or_else(|| {
            let (a, b) = (type_name(a), type_name(b));
            Error::types(
                operation,
                format!(
                    "the stamps {left_name:?} ({a}) and {right_name:?} ({b}) do not compare as times or numbers; cast \
                     one of them"
                ),
            )
        })?;
        let reach = Dependencies::of(operation, options.tolerance, &meet)?;
        let mut without = by.columns(Side::Right);
        if left_name == right_name {
            without.push(right_stamp);
        }
        let added =
            added_columns(operation, left, right, options.joins.as_deref(), &without, options.suffix.as_deref())?;
        let request = Request::new(operation, &Asked::Asof(options)).with_text(if left_name == right_name {
            left_name.clone()
        } else {
            format!("{left_name}, {right_name}")
        });
        let how = AsofSpec {
            by: Arc::new(by),
            left_stamp,
            right_stamp,
            meet,
            strategy: options.strategy,
            exact: options.allow_exact_matches,
            reach,
        };
        Ok(AsofJoin { request, how: Arc::new(how), added })
    }

    /// The right columns that it adds, and their names.
    pub(super) fn added(&self) -> &[(usize, String)] {
        &self.added
    }
}

impl Operation for AsofJoin {
    fn request(&self) -> &Request {
        &self.request
    }

    fn init(&self, inputs: &[Input], at: Moment) -> Result<Start, Error> {
        let [left, right] = inputs else { unreachable!("a join has two inputs") };
        // The join keeps for each row its key and its row key.
        limits::ask_rows(left.view.rows().len().saturating_add(right.view.rows().len()), 16)?;
        let schema = Arc::new(joined_schema(&left.table, &right.table, &self.added));
        if !left.table.is_live() && !right.table.is_live() {
            let matched: ArrayRef = Arc::new(UInt64Array::from(self.how.of_still(&left.view, &right.view)?));
            let matched = vec![(left.view.rows().clone(), matched)];
            let (index, owned) = match left.view.rows().is_flat() && !left.view.rows().is_empty() {
                true => (flat_matches(matched)?, Vec::new()),
                false => {
                    let stored = StoredMatches::start(matched, at, &Arc::default())?;
                    (stored.index(), stored.owned())
                }
            };
            let columns = redirected(&left.table, &right.table, &self.added, index);
            let (rows, attributes) = (left.table.parts().rows.clone(), left.table.attributes().clone());
            let parts = Parts { rows, columns, schema, attributes };
            return Ok(Start { parts, live: Box::new(Still), owned });
        }
        let lefts = right.table.is_live().then(Timelines::default);
        let mut live = AsofLive::over(&self.how, &right.view, lefts)?;
        live.left_width = left.table.width();
        live.added = self.added.iter().map(|(column, _)| *column).collect();
        let matched = live.start(&left.view)?;
        live.free_unused();
        let counters =
            [left, right].iter().find_map(|input| input.table.graph()).map(crate::observe::storage).unwrap_or_default();
        let matches = StoredMatches::start(matched, at, &counters)?;
        let sources = redirected(&left.table, &right.table, &self.added, matches.index());
        let ticking = right.table.is_live();
        let old = left.table.attributes();
        let attributes =
            Attributes { append_only: old.append_only && !ticking, add_only: old.add_only && !ticking, ..old.clone() };
        let parts = Parts { rows: left.table.parts().rows.clone(), columns: sources, schema, attributes };
        let owned = matches.owned();
        live.index = Some(matches);
        Ok(Start { parts, live: Box::new(live), owned })
    }
}

struct AsofLive {
    how: Arc<AsofSpec>,
    keys: JoinKeys,
    right: Timelines<()>,
    /// The left rows of each group with their matches; none if the right side never changes.
    left: Option<Timelines<u64>>,
    left_width: usize,
    added: Vec<usize>,
    index: Option<StoredMatches>,
}

impl Live for AsofLive {
    fn update(&mut self, inputs: &[Change], step: Step) -> Result<TableUpdate, Error> {
        let (left, right) = (&inputs[0], &inputs[1]);
        let update = left.update();
        let restamped = update.columns.contains_any(&self.left_columns()) && !update.modified.is_empty();
        self.move_left(left, restamped)?;
        let mut changes = self.move_right(right)?;
        let mut probe = update.added.clone();
        if restamped {
            probe |= &update.modified;
        }
        let fresh = self.probe(left.now(), &probe)?;
        self.modified_right(right, &mut changes)?;
        let mut rematched = changes.rematched();
        if restamped {
            let stayed = &probe - &update.added;
            rematched |= &self.differing(left, right, &stayed, &probe, &fresh)?;
        }
        self.write(left, step, &probe, fresh, &changes)?;
        self.free_unused();
        let added = self.left_width..self.left_width + self.added.len();
        Ok(joined_update(update, added, &rematched, changes.modified, &changes.columns))
    }

    fn entries(&self) -> u64 {
        self.keys.len() as u64
    }
}

impl AsofLive {
    /// The index of the right side, and of no left row yet.
    fn over(how: &Arc<AsofSpec>, right: &View, left: Option<Timelines<u64>>) -> Result<AsofLive, Error> {
        let mut live = AsofLive {
            how: how.clone(),
            // Both sides are kept by stamp, in timelines of their own.
            keys: JoinKeys::new(&how.by, false, false, false),
            right: Timelines::default(),
            left,
            left_width: 0,
            added: Vec::new(),
            index: None,
        };
        let rows = live.rows_entered(Side::Right, right, right.rows())?;
        rows.each(|slot, stamp, key| live.right[slot].insert(Entry { stamp, key, tag: () }));
        Ok(live)
    }

    /// The left columns that decide which right row is found.
    fn left_columns(&self) -> Vec<usize> {
        self.how.by.columns(Side::Left).into_iter().chain([self.how.left_stamp]).collect()
    }

    fn index(&self) -> &StoredMatches {
        self.index.as_ref().expect("the index is made as the join starts")
    }

    /// Frees the slots of keys that neither side has any more. This waits for the end of the step, which still refers
    /// to keys by their slots.
    fn free_unused(&mut self) {
        let touched = self.keys.take_touched();
        let (left, right) = (&self.left, &self.right);
        let has_left = |slot: u32| left.as_ref().is_some_and(|left| !left[slot].is_empty());
        self.keys.free(&touched, |slot| right[slot].is_empty() && !has_left(slot));
    }

    /// The initial index: the matches of all left rows, in pieces.
    fn start(&mut self, view: &View) -> Result<Vec<(RowSet, Chunk)>, Error> {
        let rows = view.rows();
        let parts = crate::threads::parallel::parts(rows, ASOF_PROBE_ROWS.rows());
        let cells = |matched: Vec<u64>| Arc::new(UInt64Array::from(matched)) as ArrayRef;
        if self.left.is_some() {
            return parts.into_iter().map(|part| Ok((part.clone(), cells(self.probe(view, &part)?)))).collect();
        }
        crate::threads::parallel::try_map(rows.len() > 2 * ASOF_PROBE_ROWS.rows(), &parts, |_, part| {
            Ok((part.clone(), cells(self.looked_up(view, part)?)))
        })
    }

    /// The right row of each of these left rows, which are entered.
    fn probe(&mut self, view: &View, rows: &RowSet) -> Result<Vec<u64>, Error> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        if self.left.is_none() {
            return self.looked_up(view, rows);
        }
        let entered = self.rows_entered(Side::Left, view, rows)?;
        let matched = self.look_up(&entered);
        if let Some(left) = &mut self.left {
            let keys = entered.keys().to_vec();
            for batch in entered.placed().chunks(ASOF_BATCH.get()) {
                left.prefetch_inserts(batch);
                for &(slot, stamp, position) in batch {
                    let (key, tag) = (keys[position as usize], matched[position as usize]);
                    left[slot].insert(Entry { stamp, key, tag });
                }
            }
        }
        Ok(entered.spread(rows, matched))
    }

    /// The right row of each of these left rows, which are not kept.
    fn looked_up(&self, view: &View, rows: &RowSet) -> Result<Vec<u64>, Error> {
        let found = self.rows_found(Side::Left, view, rows)?;
        Ok(found.spread(rows, self.look_up(&found)))
    }

    /// Left rows that go or take another stamp leave, those that move are renamed.
    fn move_left(&mut self, change: &Change, restamped: bool) -> Result<(), Error> {
        if self.left.is_none() {
            return Ok(());
        }
        let (gone, moving) = change.departing_rows(restamped);
        let leaving =
            (!gone.0.is_empty()).then(|| self.rows_leaving(Side::Left, change.before(), &gone.0)).transpose()?;
        let moving =
            (!moving.0.is_empty()).then(|| self.rows_found(Side::Left, change.before(), &moving.0)).transpose()?;
        let Some(left) = &mut self.left else { return Ok(()) };
        if let Some(rows) = leaving {
            rows.each(|slot, stamp, key| {
                left[slot].remove(stamp, key);
            });
        }
        if let Some(rows) = moving {
            let shifts = &change.update().shifts;
            left.shift(&rows.groups(), shifts);
        }
        Ok(())
    }

    /// Rows that took another stamp and have another match than before.
    fn differing(
        &self,
        left: &Change,
        right: &Change,
        stayed: &RowSet,
        probe: &RowSet,
        fresh: &[u64],
    ) -> Result<RowSet, Error> {
        let old = self.index().before(left, &left.update().shifts.back(stayed))?;
        let places = probe.positions_of(stayed);
        let same = |was: u64, now: u64| {
            if now == NO_ROW { was == NO_ROW } else { match_now(was, right.update()) == Some(now) }
        };
        let differs = stayed
            .iter()
            .zip(places.0.iter())
            .enumerate()
            .filter(|(at, (_, place))| !same(old.value(*at), fresh[*place as usize]));
        Ok(differs.map(|(_, (key, _))| key).collect())
    }

    fn write(
        &self,
        left: &Change,
        step: Step,
        probe: &RowSet,
        fresh: Vec<u64>,
        right: &RightChange,
    ) -> Result<(), Error> {
        let mut cells: Vec<(u64, u64)> = right.moved.iter().chain(&right.rematched).copied().collect();
        // A row may have moved its match and then lost it: the last word counts.
        cells.reverse();
        cells.sort_by_key(|(key, _)| *key);
        cells.dedup_by_key(|(key, _)| *key);
        cells.extend(probe.iter().zip(fresh));
        cells.sort_by_key(|(key, _)| *key);
        self.index().write(step, left, cells)
    }
}

#[cfg(test)]
mod tests;
