//! Random lawful steps, in profiles: appends, churn, shifts of all kinds, clears, swaps.

use std::collections::BTreeSet;

use super::keys::{LAST_KEY, Layout, Place, free_keys};
use super::mirror::{Draft, Mirror, RawStep};
use super::plain::Cell;
use super::tape::Tape;
use super::values::Values;

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Rows at the end.
    Append,
    /// Some cells of some rows.
    Modify,
    /// Some rows go.
    Remove,
    /// Rows at the front.
    Prepend,
    /// Rows between rows.
    Insert,
    /// Rows go, come and change at once.
    Churn,
    /// Runs of rows move to lower keys.
    ShiftDown,
    /// Runs of rows move to higher keys.
    ShiftUp,
    /// Runs move in both directions.
    ShiftMixed,
    /// All rows move up and new ones come below: the growing front.
    MakeRoom,
    /// All rows go.
    Clear,
    /// Many rows come.
    Refill,
    /// Two rows exchange their cells.
    Swap,
    /// Rows go and others take their keys in the same step.
    Readd,
    /// A row becomes the copy of another.
    Duplicate,
    /// Rows are "modified" to what they were.
    SameAgain,
    /// Rows go and all above close up, as in a list; another row takes the key of one that went.
    CloseUp,
    /// All rows from somewhere on move up by a few, and new ones come between, as in a list.
    PushBack,
    /// Nothing at all.
    Nothing,
}

/// All profiles, the plainest first.
pub const PROFILES: [Profile; 19] = [
    Profile::Append,
    Profile::Modify,
    Profile::Remove,
    Profile::Prepend,
    Profile::Insert,
    Profile::Churn,
    Profile::ShiftDown,
    Profile::ShiftUp,
    Profile::ShiftMixed,
    Profile::MakeRoom,
    Profile::Clear,
    Profile::Refill,
    Profile::Swap,
    Profile::Readd,
    Profile::Duplicate,
    Profile::SameAgain,
    Profile::CloseUp,
    Profile::PushBack,
    Profile::Nothing,
];

/// Writes steps for one table.
pub struct StepMaker {
    layout: Layout,
    profiles: Vec<Profile>,
    values: Vec<Values>,
    most_rows: usize,
    /// A column whose cells stay as they came.
    fixed: Option<usize>,
}

impl StepMaker {
    /// Steps in these profiles, over this layout, with cells from these columns.
    pub fn new(layout: Layout, profiles: Vec<Profile>, values: Vec<Values>, most_rows: usize) -> StepMaker {
        assert!(!profiles.is_empty(), "something to do");
        StepMaker { layout, profiles, values, most_rows, fixed: None }
    }

    /// Excludes a column from changes: its cells stay as they were added.
    pub fn fixing(mut self, column: Option<usize>) -> StepMaker {
        self.fixed = column;
        self
    }

    /// The next step: one to three profiles at once.
    pub fn step(&mut self, tape: &mut Tape, mirror: &Mirror) -> RawStep {
        let mut draft = Draft::new(mirror);
        let many = 1 + tape.below(8).saturating_sub(5);
        let chosen: Vec<Profile> = (0..many).map(|_| *tape.choose(&self.profiles)).collect();
        // Removals come before moves, moves before what is written at keys after them.
        for profile in &chosen {
            remove(tape, &mut draft, *profile);
        }
        for profile in &chosen {
            shift(tape, &mut draft, *profile, self.layout);
        }
        for profile in &chosen {
            self.add(tape, &mut draft, *profile);
        }
        for profile in &chosen {
            self.modify(tape, &mut draft, *profile);
        }
        draft.finish()
    }

    fn add(&mut self, tape: &mut Tape, draft: &mut Draft<'_>, profile: Profile) {
        let many = 1 + tape.below(4);
        let (place, many) = match profile {
            Profile::Append => (Place::Back, many),
            Profile::Prepend | Profile::MakeRoom => (Place::Front, many),
            Profile::Insert | Profile::Churn => (Place::Middle, many),
            Profile::Refill => (Place::Back, 12 + many),
            Profile::Readd => return self.add_at_removed(tape, draft),
            Profile::PushBack => return self.add_at_opened(tape, draft),
            _ => return,
        };
        let taken: BTreeSet<u64> = draft.survivors().into_keys().chain(draft.added.keys().copied()).collect();
        if taken.len() >= self.most_rows {
            return;
        }
        for key in free_keys(tape, self.layout, &taken, place, many) {
            let row = self.row(tape);
            draft.added.insert(key, row);
        }
    }

    fn add_at_removed(&mut self, tape: &mut Tape, draft: &mut Draft<'_>) {
        for key in draft.removed.clone() {
            if draft.is_free(key) {
                let row = self.row(tape);
                draft.added.insert(key, row);
            }
        }
    }

    /// Rows at the keys that rows moved up from, as long as order is kept: up to four.
    fn add_at_opened(&mut self, tape: &mut Tape, draft: &mut Draft<'_>) {
        let survivors = draft.survivors();
        let mut previous = None;
        let opened = survivors.iter().find_map(|(&after, &before)| {
            let low = previous.replace(after).map_or(0, |below| below + 1).max(before);
            (before < after && low < after).then_some(low..after)
        });
        for key in opened.into_iter().flatten().take(1 + tape.below(4) as usize) {
            if draft.is_free(key) {
                let row = self.row(tape);
                draft.added.insert(key, row);
            }
        }
    }

    fn row(&mut self, tape: &mut Tape) -> Vec<Cell> {
        self.values.iter_mut().map(|values| values.draw(tape)).collect()
    }

    fn modify(&mut self, tape: &mut Tape, draft: &mut Draft<'_>, profile: Profile) {
        let survivors: Vec<(u64, u64)> = draft.survivors().into_iter().collect();
        if survivors.is_empty() || self.values.is_empty() {
            return;
        }
        let old = |before: u64, column: usize| draft.mirror.rows[&before][column].clone();
        let mut writes: Vec<(u64, usize, Cell)> = Vec::new();
        match profile {
            Profile::Modify | Profile::Churn => {
                let columns = some_columns(tape, self.values.len());
                for (after, _) in some_of(tape, &survivors) {
                    writes.extend(columns.iter().map(|&column| (after, column, self.values[column].draw(tape))));
                }
            }
            Profile::SameAgain => {
                let columns = some_columns(tape, self.values.len());
                for (after, before) in some_of(tape, &survivors) {
                    writes.extend(columns.iter().map(|&column| (after, column, old(before, column))));
                }
            }
            Profile::Duplicate | Profile::Swap => {
                let (a, b) = (*tape.choose(&survivors), *tape.choose(&survivors));
                for column in some_columns(tape, self.values.len()) {
                    writes.push((a.0, column, old(b.1, column)));
                    if profile == Profile::Swap {
                        writes.push((b.0, column, old(a.1, column)));
                    }
                }
            }
            _ => {}
        }
        for (after, column, cell) in writes.into_iter().filter(|(_, column, _)| Some(*column) != self.fixed) {
            draft.modified.entry(after).or_default().insert(column, cell);
        }
    }
}

fn some_columns(tape: &mut Tape, width: usize) -> BTreeSet<usize> {
    let first = tape.below(width as u64) as usize;
    (0..width).filter(|&column| column == first || tape.chance(80)).collect()
}

/// At least one.
fn some_of(tape: &mut Tape, rows: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let first = tape.below(rows.len() as u64) as usize;
    let share = *tape.choose(&[0, 40, 128, 255]);
    (0..rows.len()).filter(|&at| at == first || tape.chance(share)).map(|at| rows[at]).collect()
}

fn remove(tape: &mut Tape, draft: &mut Draft<'_>, profile: Profile) {
    let rows: Vec<(u64, u64)> = draft.mirror.rows.keys().map(|key| (*key, *key)).collect();
    match profile {
        _ if rows.is_empty() => {}
        Profile::Remove | Profile::Churn | Profile::Readd => {
            draft.removed.extend(some_of(tape, &rows).into_iter().map(|(key, _)| key));
        }
        // Shifting down among dense keys needs a gap.
        Profile::ShiftDown | Profile::ShiftMixed if tape.chance(128) => {
            draft.removed.insert(tape.choose(&rows).0);
        }
        Profile::CloseUp => {
            let first = tape.below(rows.len() as u64) as usize;
            draft.removed.extend(rows.iter().skip(first).take(1 + tape.below(2) as usize).map(|(key, _)| *key));
        }
        Profile::Clear => draft.removed.extend(rows.into_iter().map(|(key, _)| key)),
        _ => {}
    }
}

/// Moves runs of survivors within the room they have; order is kept by construction.
fn shift(tape: &mut Tape, draft: &mut Draft<'_>, profile: Profile, layout: Layout) {
    let mut after: Vec<(u64, u64)> = draft.survivors().into_iter().collect();
    if after.is_empty() {
        return;
    }
    match profile {
        Profile::ShiftDown => move_runs(tape, &mut after, layout, &[true]),
        Profile::ShiftUp => move_runs(tape, &mut after, layout, &[false]),
        Profile::ShiftMixed => move_runs(tape, &mut after, layout, &[true, false, true]),
        Profile::MakeRoom => {
            let all = after.len() - 1;
            move_run(tape, &mut after, 0, all, false, layout);
        }
        Profile::CloseUp => close_up(tape, draft, &mut after),
        Profile::PushBack => {
            let first = tape.below(after.len() as u64) as usize;
            let room = LAST_KEY - after[after.len() - 1].0;
            let by = (1 + tape.below(3)).min(room);
            after[first..].iter_mut().for_each(|(key, _)| *key += by);
        }
        _ => return,
    }
    draft.moves =
        after.into_iter().filter(|(after, before)| after != before).map(|(after, before)| (before, after)).collect();
}

/// The rows above one that goes move down so that the first of them takes its key.
fn close_up(tape: &mut Tape, draft: &Draft<'_>, after: &mut [(u64, u64)]) {
    let gone: Vec<u64> = draft.removed.iter().copied().collect();
    if gone.is_empty() {
        return;
    }
    let gap = *tape.choose(&gone);
    let first = after.partition_point(|(_, before)| *before < gap);
    let floor = first.checked_sub(1).map_or(0, |below| after[below].0 + 1);
    if first == after.len() || gap < floor || after[first].0 <= gap {
        return;
    }
    let by = after[first].0 - gap;
    after[first..].iter_mut().for_each(|(key, _)| *key -= by);
}

fn move_runs(tape: &mut Tape, after: &mut [(u64, u64)], layout: Layout, directions: &[bool]) {
    let runs = 1 + tape.below(3);
    for _ in 0..runs {
        let first = tape.below(after.len() as u64) as usize;
        // Half of the runs reach to the end: what is above a gap closes it, or makes room, whole.
        let last = if tape.chance(128) {
            after.len() - 1
        } else {
            tape.between(first as u64, after.len() as u64 - 1) as usize
        };
        let down = *tape.choose(directions);
        move_run(tape, after, first, last, down, layout);
    }
}

fn move_run(tape: &mut Tape, after: &mut [(u64, u64)], first: usize, last: usize, down: bool, layout: Layout) {
    let room = if down {
        let floor = first.checked_sub(1).map_or(0, |below| after[below].0 + 1);
        after[first].0 - floor
    } else {
        let ceiling = after.get(last + 1).map_or(LAST_KEY, |above| above.0 - 1);
        ceiling - after[last].0
    };
    let room = room.min(layout.largest_gap().max(4) * 2);
    if room == 0 {
        return;
    }
    let by = tape.between(1, room);
    for (key, _) in &mut after[first..=last] {
        *key = if down { *key - by } else { *key + by };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::keys::LAYOUTS;
    use crate::testing::values::Style;
    use arrow_schema::{DataType, Field, Schema};
    use rowset::{Before, RowSet, Shift, Shifts};
    use std::sync::Arc;

    /// U1–U4 by the row sets' own rules; the mirror's panics are the other half.
    fn assert_lawful(step: &RawStep, mirror: &Mirror) {
        let rows = RowSet::from_sorted_keys(&mirror.rows.keys().copied().collect::<Vec<_>>());
        assert!(step.removed.is_subset(&rows), "U1");
        let survivors = Before(&rows - &step.removed);
        let shifts: Vec<Shift> = step.shifts.iter().map(|&(first, last, delta)| Shift { first, last, delta }).collect();
        let lawful = Shifts::new(shifts.clone(), &survivors).expect("U2");
        assert!(lawful.iter().eq(shifts.iter()), "U2: hulls already");
        let moved = lawful.forward(&survivors);
        assert!(!moved.overlaps(&step.added.0), "U3");
        assert!(step.modified.0.is_subset(&moved), "U4");
        assert_eq!(step.modified.0.is_empty(), step.modified.1.is_empty(), "U4: M and K are empty together");
    }

    #[test]
    fn steps_are_lawful_in_every_profile_and_layout() {
        let schema =
            Arc::new(Schema::new(vec![Field::new("k", DataType::Utf8, true), Field::new("v", DataType::Int64, true)]));
        let mut moved = 0;
        for layout in LAYOUTS {
            for seed in 0..40 {
                let mut tape = Tape::seeded(seed);
                let mut mirror = Mirror::new(schema.clone());
                let values =
                    schema.fields().iter().map(|field| Values::new(field.data_type(), Style::Skewed)).collect();
                let mut maker = StepMaker::new(layout, PROFILES.to_vec(), values, 40);
                for _ in 0..12 {
                    let step = maker.step(&mut tape, &mirror);
                    assert_lawful(&step, &mirror);
                    moved += step.shifts.len();
                    mirror.apply(&step);
                }
            }
        }
        assert!(moved > 500, "only {moved} shifts in all");
    }

    #[test]
    fn each_profile_does_what_it_says() {
        let schema = Arc::new(Schema::new(vec![Field::new("v", DataType::Int64, true)]));
        for (at, profile) in PROFILES.into_iter().enumerate() {
            let values = || vec![Values::new(&DataType::Int64, Style::Unique)];
            let mut tape = Tape::seeded(at as u64);
            let mut mirror = Mirror::new(schema.clone());
            let mut refill = StepMaker::new(Layout::Sparse, vec![Profile::Refill], values(), 400);
            let step = refill.step(&mut tape, &mirror);
            mirror.apply(&step);
            let mut maker = StepMaker::new(Layout::Sparse, vec![profile], values(), 400);
            let steps: Vec<RawStep> = (0..20).map(|_| maker.step(&mut tape, &mirror)).collect();
            let any = |holds: &dyn Fn(&RawStep) -> bool| steps.iter().any(holds);
            let done = match profile {
                Profile::Append | Profile::Prepend | Profile::Insert | Profile::Refill => {
                    any(&|step| !step.added.0.is_empty())
                }
                Profile::Modify | Profile::Swap | Profile::Duplicate | Profile::SameAgain => {
                    any(&|step| !step.modified.0.is_empty())
                }
                Profile::Remove | Profile::Clear => any(&|step| !step.removed.is_empty()),
                Profile::Churn => {
                    any(&|step| !step.added.0.is_empty() && !step.removed.is_empty() && !step.modified.0.is_empty())
                }
                Profile::ShiftDown => any(&|step| step.shifts.iter().any(|shift| shift.2 < 0)),
                Profile::ShiftUp | Profile::MakeRoom => any(&|step| step.shifts.iter().any(|shift| shift.2 > 0)),
                Profile::ShiftMixed => any(&|step| step.shifts.len() > 1),
                Profile::Readd => any(&|step| step.removed.overlaps(&step.added.0)),
                Profile::CloseUp => any(&|step| {
                    step.shifts.iter().any(|(first, _, delta)| {
                        first.checked_add_signed(*delta).is_some_and(|goal| step.removed.contains(goal))
                    })
                }),
                Profile::PushBack => any(&|step| step.shifts.iter().any(|(first, ..)| step.added.0.contains(*first))),
                Profile::Nothing => steps.iter().all(RawStep::is_empty),
            };
            assert!(done, "{profile:?}");
        }
    }
}
