//! The order against a sorted list, step by step.

use rowset::{Before, RowSet, Shift, Shifts};

use super::entry::{RowKey, with_source};
use super::*;

const TINY: Room = Room { page: 16, stride: 2, pages: 1 << 20 };
const TIGHT: Room = Room { page: 16, stride: 1, pages: 700 };

impl RowKey for () {
    fn word(&self) -> u64 {
        0
    }
}

/// The first byte alone: most keys have their word in common with others.
impl RowKey for Vec<u8> {
    fn word(&self) -> u64 {
        self.first().copied().map_or(0, u64::from)
    }
}

struct Draw(u64);

impl Draw {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 30) % below.max(1)
    }
}

/// Source rows with their sort keys, and the order that should follow them.
struct Model<K> {
    order: Order<K>,
    /// By source key.
    rows: Vec<(u64, K)>,
}

fn entry<K: Clone>(row: &(u64, K)) -> Entry<K> {
    Entry { key: row.1.clone(), tie: row.0 }
}

/// One step's wishes: which rows go, which get which key, which are new, how source keys move.
struct Step<K> {
    removed: Vec<usize>,
    changed: Vec<(usize, K)>,
    added: Vec<(u64, K)>,
    shifts: Vec<Shift>,
    sweep: bool,
}

impl<K: RowKey + std::fmt::Debug> Model<K> {
    fn new(mut rows: Vec<(u64, K)>, room: Room) -> Model<K> {
        rows.sort();
        let mut entries: Vec<Entry<K>> = rows.iter().map(entry).collect();
        entries.sort();
        let model = Model { order: Order::with_room(&entries, room), rows };
        model.check();
        model
    }

    fn check(&self) {
        self.order.validate();
        let mut expected: Vec<Entry<K>> = self.rows.iter().map(entry).collect();
        expected.sort();
        let sources: Vec<u64> = expected.iter().map(Entry::source).collect();
        let found: Vec<(u64, u64)> = self.order.rows().collect();
        assert_eq!(found.iter().map(|row| row.1).collect::<Vec<_>>(), sources);
        assert!(found.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(self.order.locate(&expected), found.iter().map(|row| row.0).collect::<Vec<_>>());
    }

    fn step(&mut self, step: Step<K>) -> OrderChange<u64> {
        let before: Vec<(u64, u64)> = self.order.rows().collect();
        let gone: Vec<u64> = step.removed.iter().map(|&row| self.rows[row].0).collect();
        let survivors =
            Before(RowSet::from_keys(self.rows.iter().map(|row| row.0).filter(|key| !gone.contains(key)).collect()));
        let shifts = Shifts::new(step.shifts, &survivors).expect("lawful shifts");
        let removed: Vec<Entry<K>> = step.removed.iter().map(|&row| entry(&self.rows[row])).collect();
        let changed: Vec<(Entry<K>, Entry<K>)> = step
            .changed
            .iter()
            .map(|(row, key)| {
                let old = entry(&self.rows[*row]);
                let new = Entry { key: key.clone(), tie: shifts.forward_key(old.source()) };
                (old, new)
            })
            .collect();
        let is_changed = |row: usize| step.changed.iter().any(|(changed, _)| *changed == row);
        let moved = (0..self.rows.len())
            .filter(|row| !step.removed.contains(row) && !is_changed(*row))
            .filter(|row| shifts.forward_key(self.rows[*row].0) != self.rows[*row].0)
            .map(|row| entry(&self.rows[row]))
            .collect();
        for (row, key) in &step.changed {
            self.rows[*row].1 = key.clone();
        }
        let mut kept = 0..;
        self.rows.retain(|_| !step.removed.contains(&kept.next().expect("endless")));
        self.rows.iter_mut().for_each(|row| row.0 = shifts.forward_key(row.0));
        self.rows.extend(step.added.iter().cloned());
        self.rows.sort();
        let added = step.added.iter().map(entry).collect();
        let moved = if step.sweep { None } else { Some(moved) };
        let change = self.order.apply(Edits { removed, changed: changed.clone(), added, shifts: &shifts, moved });
        self.check();
        mirror(before, &self.order.rows().collect::<Vec<_>>(), &change);
        assert_eq!(change.removed.len() + change.stayed.len(), step.removed.len() + changed.len());
        assert_eq!(change.added.len() + change.stayed.len(), step.added.len() + changed.len());
        change
    }
}

/// Applies the change to a copy, as whoever mirrors the output does.
fn mirror(before: Vec<(u64, u64)>, after: &[(u64, u64)], change: &OrderChange<u64>) {
    assert!(change.removed.is_sorted_by(|a, b| a < b) && change.added.is_sorted_by(|a, b| a.0 < b.0));
    let mut rows: Vec<(u64, u64)> =
        before.iter().copied().filter(|row| change.removed.binary_search(&row.0).is_err()).collect();
    assert_eq!(rows.len() + change.removed.len(), before.len(), "what is removed was there");
    let survivors = Before(RowSet::from_sorted_keys(&rows.iter().map(|row| row.0).collect::<Vec<_>>()));
    let shifts = Shifts::new(change.shifts.clone(), &survivors).expect("lawful shifts");
    let hulls: Vec<Shift> = shifts.iter().copied().collect();
    assert_eq!(hulls, change.shifts, "shifts are hulls of survivors, merged");
    for row in &mut rows {
        row.0 = shifts.forward_key(row.0);
    }
    for rewrite in &change.source_rewrites {
        let row = rows.binary_search_by_key(&rewrite.0, |row| row.0).expect("a rewritten row is there");
        assert_ne!(rows[row].1, rewrite.1);
        rows[row].1 = rewrite.1;
    }
    for stayed in &change.stayed {
        assert!(rows.binary_search_by_key(stayed, |row| row.0).is_ok());
    }
    rows.extend(&change.added);
    rows.sort_unstable();
    assert_eq!(rows, after);
}

/// A lawful random step. Keys come from few values, so that ties abound.
fn random_step<K: Clone>(draw: &mut Draw, rows: &[(u64, K)], most: u64, key: impl Fn(u64) -> K) -> Step<K> {
    let mut removed: Vec<usize> = Vec::new();
    let mut changed = Vec::new();
    let keep = if draw.next(12) == 0 { 1 } else { 12 };
    for row in 0..rows.len() {
        match draw.next(keep) {
            0 => removed.push(row),
            1 if draw.next(2) == 0 => changed.push((row, key(draw.next(1 << 30)))),
            _ => {}
        }
    }
    let kept: Vec<u64> = (0..rows.len()).filter(|row| !removed.contains(row)).map(|row| rows[row].0).collect();
    let mut shifts = Vec::new();
    if draw.next(3) == 0 && !kept.is_empty() {
        // All rows from somewhere on move up, or all from somewhere on move down as far as there is room.
        let from = draw.next(kept.len() as u64) as usize;
        let (first, last) = (kept[from], kept[kept.len() - 1]);
        let room = if from == 0 { first } else { first - kept[from - 1] - 1 };
        let delta = if draw.next(2) == 0 { draw.next(50) as i64 + 1 } else { -(draw.next(room + 1) as i64) };
        if delta != 0 {
            shifts.push(Shift { first, last, delta });
        }
    }
    let forward =
        |key: u64| shifts.first().map_or(key, |s| if key >= s.first { key.wrapping_add_signed(s.delta) } else { key });
    let mut taken: Vec<u64> = kept.into_iter().map(forward).collect();
    let mut added = Vec::new();
    for _ in 0..draw.next(most) {
        let row = draw.next(5000);
        if !taken.contains(&row) {
            taken.push(row);
            added.push((row, key(draw.next(1 << 30))));
        }
    }
    Step { removed, changed, added, shifts, sweep: draw.next(2) == 0 }
}

fn random_steps<K: RowKey + std::fmt::Debug>(room: Room, seed: u64, steps: usize, key: impl Fn(u64) -> K) {
    let mut draw = Draw(seed);
    let mut model = Model::new((0..draw.next(60)).map(|row| (row * 3, key(row))).collect(), room);
    for _ in 0..steps {
        let most = if draw.next(10) == 0 { 90 } else { 9 };
        let step = random_step(&mut draw, &model.rows, most, &key);
        model.step(step);
    }
}

#[test]
fn random_steps_with_many_ties() {
    for seed in 0..20 {
        random_steps(TINY, seed, 60, |cell| cell % 7);
        random_steps(TIGHT, seed, 60, |cell| cell % 7);
    }
}

#[test]
fn random_steps_with_few_ties_and_descending() {
    for seed in 0..20 {
        random_steps(TINY, seed, 60, |cell| cell);
        random_steps(TIGHT, seed, 60, |cell| !cell);
        random_steps(Room::default(), seed, 40, |cell| cell % 1000);
    }
}

#[test]
fn all_keys_equal_keep_source_order() {
    for seed in 0..20 {
        random_steps(TINY, seed, 50, |_| ());
    }
}

#[test]
fn keys_of_bytes() {
    for seed in 0..10 {
        random_steps(TINY, seed, 50, |cell| format!("{}", cell % 90).into_bytes());
    }
}

fn adding(rows: Vec<(u64, u64)>) -> Step<u64> {
    Step { removed: vec![], changed: vec![], added: rows, shifts: vec![], sweep: false }
}

#[test]
fn appends_and_prepends_move_nothing() {
    for room in [TINY, Room::default()] {
        let mut model = Model::new((0..100).map(|row| (row, 10_000 + row)).collect(), room);
        for step in 0..60 {
            let count = 1 + step % 13;
            let appended = (0..count).map(|row| (1000 + step * 100 + row, 20_000 + step * 100 + row)).collect();
            assert!(model.step(adding(appended)).shifts.is_empty());
            let prepended = (0..count).map(|row| (20_000 + step * 100 + row, 9000 - step * 100 + row)).collect();
            assert!(model.step(adding(prepended)).shifts.is_empty());
        }
    }
}

#[test]
fn a_place_that_is_always_the_same_stays_cheap() {
    for (room, descends) in [(TINY, false), (TINY, true), (TIGHT, false), (Room::default(), true)] {
        let mut model = Model::new((0..60).map(|row| (row, row * 1_000_000)).collect(), room);
        let mut moved = 0;
        for step in 0..1500 {
            let key = if descends { 30_900_000 - step } else { 30_000_001 + step };
            let change = model.step(adding(vec![(100 + step, key)]));
            moved += change.shifts.len();
        }
        assert!(moved < 1500 * 6, "{moved} shifts in {room:?}");
    }
}

#[test]
fn a_random_row_moves_few_others() {
    let mut draw = Draw(3);
    let mut model = Model::new((0..20_000).map(|row| (row, draw.next(1 << 40))).collect(), Room::default());
    for step in 0..3 {
        let rows = (0..200).map(|row| (100_000 + step * 1000 + row, draw.next(1 << 40))).collect();
        let change = model.step(adding(rows));
        assert!(change.shifts.len() <= 20, "{} shifts", change.shifts.len());
    }
}

#[test]
fn a_table_that_grows_all_over_moves_no_more_rows_in_one_step_than_in_another() {
    let mut draw = Draw(5);
    let mut sorted: Vec<Entry<u64>> = (0..200_000).map(|row| Entry { key: draw.next(1 << 33), tie: row }).collect();
    sorted.sort_unstable();
    let mut order = Order::build(&sorted);
    for step in 1..=120 {
        let added = (0..5000).map(|row| Entry { key: draw.next(1 << 33), tie: 200_000 * step + row }).collect();
        let none = Shifts::none();
        let change = order.apply(Edits { removed: vec![], changed: vec![], added, shifts: &none, moved: Some(vec![]) });
        assert!(change.shifts.len() < 10_000, "{} shifts in step {step}", change.shifts.len());
        let keys: u64 = change.shifts.iter().map(|shift| shift.last - shift.first + 1).sum();
        assert!(keys < 50 * 8192, "shifts over {keys} keys in step {step}");
    }
    order.validate();
}

#[test]
fn a_large_group_in_one_gap_moves_what_is_above_by_one_delta() {
    let mut model = Model::new((0..3000).map(|row| (row, row * 1000)).collect(), Room::default());
    let group = (0..20_000).map(|row| (10_000 + row, 1_500_001)).collect();
    let change = model.step(adding(group));
    assert!(change.shifts.len() <= 1, "{:?}", change.shifts);
}

#[test]
fn a_row_that_keeps_its_place_stays() {
    let mut model = Model::new(vec![(0, 10), (1, 20), (2, 30)], TINY);
    let change = |changed| Step { removed: vec![], changed, added: vec![], shifts: vec![], sweep: false };
    let stayed = model.step(change(vec![(1, 29)]));
    assert_eq!((stayed.stayed.len(), stayed.removed.len(), stayed.added.len()), (1, 0, 0));
    let left = model.step(change(vec![(1, 31)]));
    assert_eq!((left.stayed.len(), left.removed.len(), left.added.len()), (0, 1, 1));
    let all = model.step(change(vec![(0, 1), (1, 3), (2, 2)]));
    assert_eq!(all.stayed.len(), 3);
    let mut alone = Model::new(vec![(5, 10)], TINY);
    assert_eq!(alone.step(change(vec![(0, 99)])).stayed.len(), 1);
}

#[test]
fn removing_nearly_all_gives_memory_back() {
    let mut model = Model::new((0..100_000).map(|row| (row, row)).collect(), Room::default());
    let full = model.order.bytes();
    let removed = (0..100_000).filter(|row| row % 1000 != 0).collect();
    let entries: Vec<usize> = removed;
    let gone = entries.iter().map(|&row| entry(&model.rows[row])).collect();
    model.rows.retain(|row| row.0 % 1000 == 0);
    let none = Shifts::none();
    model.order.apply(Edits { removed: gone, changed: vec![], added: vec![], shifts: &none, moved: Some(vec![]) });
    model.check();
    assert!(model.order.bytes() * 10 < full, "{} of {full}", model.order.bytes());
}

#[test]
fn emptied_and_filled_again() {
    let mut model = Model::new((0..100).map(|row| (row, row)).collect(), TINY);
    let all = Step { removed: (0..100).collect(), changed: vec![], added: vec![], shifts: vec![], sweep: false };
    assert_eq!(model.step(all).removed.len(), 100);
    assert!(model.order.is_empty());
    assert_eq!(model.step(adding(vec![(3, 1), (1, 1)])).added.len(), 2);
    assert_eq!(model.order.len(), 2);
}

#[test]
fn a_rank_bit_stands_above_the_source_key() {
    let null = Entry { key: 0u64, tie: 7 };
    let least = Entry { key: 0, tie: with_source(1 << 63, 3) };
    let order = Order::build(&[null.clone(), least.clone()]);
    assert_eq!(order.rows().map(|row| row.1).collect::<Vec<_>>(), [7, 3]);
    assert_eq!(order.locate(&[least, null]).len(), 2);
}
