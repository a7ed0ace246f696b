//! Coalescing the changes that wait for a slow listener: two neighbours become one equivalent change.
//!
//!   first    ~ 1 B→C    + 3 D          row 1 was B, row 3 came
//!   next     ~ 3 D→E    - 1 C          row 3 changed, row 1 (then C) went
//!   merged   + 3 E      - 1 B          new cells as of the second change; removed cells as before the first
//!
//! Keys follow the update algebra ([`Merged`]). Cells come from the two materialized changes: new cells from the later
//! one where it has them, old cells from the earlier one. Cost: proportional to the two changes.

use arrow_array::Array;
use arrow_select::interleave::interleave;
use column::Chunk;
use rowset::RowSet;

use crate::error::Error;
use crate::follow::listener::{Cells, Materialized, Part, UpdateEvent, compact};
use crate::table::update::{Merged, TableUpdate};

/// The origin of the cells of a part, row by row: part (of either change) and position.
type Places = Vec<(usize, usize)>;

/// The parts of a change, in the order in which `Places` counts them.
const PARTS: [Part; 4] = [Part::Added, Part::Removed, Part::Modified, Part::ModifiedBefore];

impl UpdateEvent {
    /// Coalesces this change and the next one of the same table. None if either still pins its step. A column that
    /// either could not read cannot be read from the result.
    pub fn merge(&self, next: &UpdateEvent) -> Result<Option<UpdateEvent>, Error> {
        let (Some(one), Some(two)) = (self.detached(), next.detached()) else { return Ok(None) };
        let (first, second) = (self.update(), next.update());
        // The previous rows are needed only if rows move.
        let base = match (self.before(), next.before()) {
            (Some(before), _) => before.clone(),
            (None, Some(before)) => &(before - &first.added) | &first.removed.0,
            (None, None) => RowSet::new(),
        };
        let known = self.before().is_some() || next.before().is_some();
        let mut merged = Merged::new(base.clone(), one.width());
        merged.push(first);
        merged.push(second);
        let update = merged.update();
        let places = Sources { first, second }.places(&update);
        let column = |part: usize, column: usize| -> Cells {
            let cells = [&*one, &*two].into_iter().flat_map(|owned| PARTS.map(|part| owned.column(part, column)));
            let cells = cells.collect::<Option<Result<Vec<Chunk>, Error>>>()?;
            Some(cells.and_then(|cells| {
                let arrays: Vec<&dyn Array> = cells.iter().map(|cells| cells.as_ref()).collect();
                Ok(compact(&interleave(&arrays, &places[part])?))
            }))
        };
        let owned = Materialized::new([0, 1, 2, 3].map(|part| (0..one.width()).map(|at| column(part, at)).collect()));
        Ok(Some(UpdateEvent::owned(next.step(), update, known.then_some(base), owned)))
    }
}

/// The two changes that cells come from.
struct Sources<'a> {
    first: &'a TableUpdate,
    second: &'a TableUpdate,
}

impl Sources<'_> {
    /// The origin of the cells of each part of the coalesced change.
    fn places(&self, merged: &TableUpdate) -> [Places; 4] {
        let Sources { first, second } = *self;
        let at = |change: usize, part: Part, rows: &RowSet, key: u64| {
            let array = change * PARTS.len() + PARTS.iter().position(|other| *other == part).unwrap_or(0);
            rows.position_of(key).map(|position| (array, position as usize))
        };
        let added = |key: u64| {
            at(1, Part::Modified, &second.modified, key)
                .or_else(|| at(1, Part::Added, &second.added, key))
                .or_else(|| at(0, Part::Added, &first.added, second.shifts.back_key(key)))
        };
        let removed = |key: u64| {
            let between = first.shifts.forward_key(key);
            at(0, Part::Removed, &first.removed.0, key)
                .or_else(|| at(0, Part::ModifiedBefore, &first.modified, between))
                .or_else(|| at(1, Part::Removed, &second.removed.0, between))
        };
        let modified = |key: u64| {
            at(1, Part::Modified, &second.modified, key)
                .or_else(|| at(0, Part::Modified, &first.modified, second.shifts.back_key(key)))
        };
        let modified_before = |key: u64| {
            at(0, Part::ModifiedBefore, &first.modified, second.shifts.back_key(key))
                .or_else(|| at(1, Part::ModifiedBefore, &second.modified, key))
        };
        let all = |rows: &RowSet, place: &dyn Fn(u64) -> Option<(usize, usize)>| {
            rows.iter().map(|key| place(key).expect("each row of a merged change comes from one of the two")).collect()
        };
        [
            all(&merged.added, &added),
            all(&merged.removed.0, &removed),
            all(&merged.modified, &modified),
            all(&merged.modified, &modified_before),
        ]
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::error::Failure;
    use crate::follow::listener::Listener;
    use crate::testing::check::Drawn;
    use crate::testing::explore::{count_step, explore};
    use crate::testing::feeds::Source;
    use crate::testing::plain::{Cell, Plain, cells_of};
    use crate::testing::tape::Tape;
    use crate::testing::validate::plain_of;
    use crate::testing::{any_table, still_graph};

    /// Keeps what it is told, as owned rows.
    #[derive(Default)]
    struct Kept(Mutex<Vec<Arc<UpdateEvent>>>);

    impl Listener for Kept {
        fn on_update(&self, delivered: Arc<UpdateEvent>) {
            delivered.materialize(None);
            self.0.lock().unwrap().push(delivered);
        }

        fn on_failure(&self, failure: Arc<Failure>) {
            panic!("{}", failure.cause);
        }
    }

    /// Plays a change over a plain table, and says where the two do not fit.
    fn play(plain: &mut Plain, delivered: &UpdateEvent) -> Result<(), String> {
        let columns: Vec<usize> = (0..plain.schema.fields().len()).collect();
        let mut rows = std::mem::take(&mut plain.rows).into_iter().collect();
        crate::follow::waiting::tests::play(&mut rows, delivered, &columns)?;
        plain.rows = rows.into_iter().collect();
        Ok(())
    }

    fn run(tape: &mut Tape) -> Result<(), String> {
        let graph = still_graph();
        let (source, mut case) = Source::draw(&graph, &any_table(), tape).map_err(|error| error.to_string())?;
        let table = source.table().clone();
        let schema = table.schema().clone();
        let now = || plain_of(&table.view().unwrap(), &schema).map_err(|error| error.to_string());
        let mut start = now()?;
        let kept = Arc::new(Kept::default());
        let listening = table.subscribe(kept.clone(), false).map_err(|error| error.to_string())?;
        for _ in 0..8 {
            let step = case.step(tape);
            if !step.is_empty() {
                count_step();
                source.apply(&step, &schema).map_err(|error| error.to_string())?;
            }
            graph.step().map_err(|error| error.to_string())?;
        }
        drop(listening);
        let mut waiting = std::mem::take(&mut *kept.0.lock().unwrap());
        while waiting.len() > 1 && tape.chance(220) {
            let at = tape.below(waiting.len() as u64 - 1) as usize;
            let next = waiting.remove(at + 1);
            let merged = waiting[at].merge(&next).map_err(|error| error.to_string())?;
            waiting[at] = Arc::new(merged.ok_or("both own their rows")?);
        }
        for delivered in &waiting {
            play(&mut start, delivered)?;
        }
        start.first_difference(&now()?).map_or(Ok(()), Err)
    }

    /// However neighbours are merged, what is told leads from the first table to the last one.
    #[test]
    fn law() {
        explore(300, run);
    }

    #[test]
    fn the_present_is_the_later_ones_and_the_past_the_older_ones() {
        let graph = still_graph();
        let drawn = Drawn::new(&graph, "0 A 1 | 1 B 2");
        let kept = Arc::new(Kept::default());
        let _listening = drawn.table().subscribe(kept.clone(), false).unwrap();
        for step in ["~ 1 C 2 | + 3 D 4", "- 1 | ~ 3 E 4 | ~ 0 A 7"] {
            drawn.apply(step);
            graph.step().unwrap();
        }
        let told = kept.0.lock().unwrap();
        let merged = told[0].merge(&told[1]).unwrap().unwrap();
        let cells = |part: Part| match &cells_of(&merged.read(part, 0).unwrap())[..] {
            [Cell::Str(text)] => text.clone(),
            cells => format!("{cells:?}"),
        };
        let text = |text: &str| text.to_owned();
        assert_eq!(
            (cells(Part::Added), cells(Part::Removed), cells(Part::Modified), cells(Part::ModifiedBefore)),
            (text("E"), text("B"), text("A"), text("A"))
        );
        assert_eq!((merged.step(), merged.update().modified.to_vec()), (told[1].step(), vec![0]));
    }
}
