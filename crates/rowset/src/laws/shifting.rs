//! Shifts: drawings first, then the laws.

use fastrand::Rng;
use proptest::prelude::*;

use super::worlds::*;
use crate::key::{MAX_KEY, Span};
use crate::rowset::RowSet;
use crate::shift::{Shift, ShiftError, Shifts};
use crate::space::Before;

fn shift(first: u64, last: u64, delta: i64) -> Shift {
    Shift { first, last, delta }
}

fn before(keys: &[u64]) -> Before {
    Before(RowSet::from_sorted_keys(keys))
}

#[test]
fn wide_shifts_are_trimmed() {
    let shifts = Shifts::new(vec![shift(2, 5, -2)], &before(&[1, 5])).expect("row 1 is not passed");
    assert!(shifts.iter().eq([&shift(5, 5, -2)]));
    assert_eq!(Shifts::new(vec![shift(2, 4, 7)], &before(&[1, 5])), Ok(Shifts::none()));
}

#[test]
fn neighbours_of_one_delta_are_one() {
    let shifts = Shifts::new(vec![shift(1, 2, 5), shift(3, 9, 5)], &before(&[1, 2, 4])).expect("in order");
    assert!(shifts.iter().eq([&shift(1, 4, 5)]));
}

#[test]
fn bad_shifts_are_refused() {
    let rows = before(&[1, 5, 6, 9, MAX_KEY]);
    let refused = |shifts: &[Shift]| Shifts::new(shifts.to_vec(), &rows).expect_err("refused");
    assert_eq!(refused(&[shift(5, 4, 1)]), ShiftError::Empty { at: 0 });
    assert_eq!(refused(&[shift(5, 5, 0)]), ShiftError::Still { at: 0 });
    assert_eq!(refused(&[shift(1, 1, -2)]), ShiftError::OutOfKeys { at: 0 });
    assert_eq!(refused(&[shift(MAX_KEY, MAX_KEY, 1)]), ShiftError::OutOfKeys { at: 0 });
    assert_eq!(refused(&[shift(5, 5, 1)]), ShiftError::Reorder { at: 0 });
    assert_eq!(refused(&[shift(5, 5, 2)]), ShiftError::Reorder { at: 0 });
    assert_eq!(refused(&[shift(9, 9, -3)]), ShiftError::Reorder { at: 0 });
    assert_eq!(refused(&[shift(5, 6, 1), shift(6, 9, 1)]), ShiftError::Overlap { at: 1 });
    assert_eq!(refused(&[shift(9, 9, 1), shift(5, 6, 1)]), ShiftError::Overlap { at: 1 });
    assert_eq!(refused(&[shift(5, 6, 3), shift(9, 9, -1)]), ShiftError::Reorder { at: 1 });
    assert_eq!(refused(&[shift(5, 6, 30), shift(9, 9, 20)]), ShiftError::Reorder { at: 1 });
    // The index is that of the list as it came, also behind shifts that move nothing or became one.
    assert_eq!(refused(&[shift(0, 1, 1), shift(5, 5, 4)]), ShiftError::Reorder { at: 1 });
    assert_eq!(refused(&[shift(5, 5, 3), shift(6, 6, 3)]), ShiftError::Reorder { at: 1 });
    assert_eq!(
        refused(&[shift(4, 4, 1), shift(5, 5, 2), shift(6, 6, 2), shift(9, 9, -1)]),
        ShiftError::Reorder { at: 3 }
    );
}

/// Survivors, and an order-preserving move of them: each run of survivors gets a delta of its own.
fn moves() -> impl Strategy<Value = (Before, Vec<(Span, i64)>)> {
    (rows(), any::<u64>()).prop_map(|(rows, seed)| {
        // Kept clear of both ends, so that there is room to move.
        let rows: Vec<Span> = rows.between(1 << 12, MAX_KEY - (1 << 14)).spans().take(400).collect();
        let moves = random_moves(&rows, seed);
        (Before(RowSet::from_spans(rows)), moves)
    })
}

fn random_moves(rows: &[Span], seed: u64) -> Vec<(Span, i64)> {
    let mut random = Rng::with_seed(seed);
    let mut moves = Vec::new();
    let mut free = 0u64;
    let mut delta = 0i64;
    for (at, &span) in rows.iter().enumerate() {
        if random.u64(..).is_multiple_of(3) {
            delta = random.u64(0..100) as i64 - 50;
            if random.u64(..).is_multiple_of(5) {
                delta = if delta > 0 { 1 << 16 } else { 0 };
            }
        }
        let next = rows.get(at + 1).map_or(MAX_KEY, |next| next.first);
        // Down no further than what is taken, up no further than the next row can be pushed.
        let first = span.first.saturating_add_signed(delta).max(free);
        let mut moved = first.wrapping_sub(span.first) as i64;
        if span.last.checked_add_signed(moved).is_none_or(|last| last >= next && delta <= 0) {
            moved = 0;
        }
        let Some(last) = span.last.checked_add_signed(moved).filter(|&last| last <= MAX_KEY) else { return Vec::new() };
        if span.first.saturating_add_signed(moved) < free {
            return Vec::new();
        }
        free = last + 1;
        moves.push((span, moved));
    }
    moves
}

fn image(survivors: &Before, moves: &[(Span, i64)]) -> Vec<Span> {
    let to = |span: &Span, delta: i64| Span {
        first: span.first.wrapping_add_signed(delta),
        last: span.last.wrapping_add_signed(delta),
    };
    if moves.is_empty() {
        return survivors.0.spans().collect();
    }
    maximal(&moves.iter().map(|(span, delta)| to(span, *delta)).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn forward_is_the_map_and_back_its_inverse((survivors, moves) in moves(), seed in any::<u64>()) {
        let shifts = Shifts::from_moves(&survivors, moves.iter().copied());
        let after = shifts.forward(&survivors);
        holds(&after, &image(&survivors, &moves));
        prop_assert_eq!(shifts.back(&after), survivors.clone());
        for (span, delta) in &moves {
            prop_assert_eq!(shifts.forward_key(span.first), span.first.wrapping_add_signed(*delta));
            prop_assert_eq!(shifts.back_key(span.last.wrapping_add_signed(*delta)), span.last);
        }
        let mut random = Rng::with_seed(seed);
        let some = Before(RowSet::from_spans(survivors.0.spans().filter(|_| random.u64(..).is_multiple_of(3))));
        let some_after = shifts.forward(&some);
        prop_assert!(some_after.is_subset(&after));
        prop_assert_eq!(shifts.back(&some_after), some.clone());
        prop_assert_eq!(shifts.moved(&some).0.len(), some.0.iter().filter(|&key| shifts.forward_key(key) != key).count() as u64);
    }

    #[test]
    fn made_shifts_are_valid_and_minimal((survivors, moves) in moves()) {
        let shifts = Shifts::from_moves(&survivors, moves.iter().copied());
        prop_assert_eq!(Shifts::new(shifts.iter().copied().collect(), &survivors), Ok(shifts.clone()));
        let list: Vec<Shift> = shifts.iter().copied().collect();
        for shift in &list {
            prop_assert!(shift.delta != 0 && survivors.0.contains(shift.first) && survivors.0.contains(shift.last));
        }
        for pair in list.windows(2) {
            prop_assert!(pair[0].last < pair[1].first && pair[0].destination().last < pair[1].destination().first);
            prop_assert!(pair[0].delta != pair[1].delta || !survivors.0.between(pair[0].last + 1, pair[1].first - 1).is_empty());
        }
        prop_assert_eq!(shifts.in_safe_order().count(), list.len());
    }

    #[test]
    fn a_set_moved_as_a_whole_has_each_key_moved((rows, _) in moves(), seed in any::<u64>()) {
        let rows = rows.0;
        let (Some(hull), mut random) = (rows.hull(), Rng::with_seed(seed)) else { return Ok(()) };
        let room = (-(hull.first as i64), (MAX_KEY - hull.last) as i64);
        let near = (random.u64(..) % (1 << 20)) as i64 - (1 << 19);
        for delta in [0, 1, -1, 1 << 16, -(1 << 16), 5 << 16, near, room.0, room.1] {
            let delta = delta.clamp(room.0, room.1);
            let to = |key: u64| key.wrapping_add_signed(delta);
            let each: Vec<Span> = rows.spans().map(|span| Span { first: to(span.first), last: to(span.last) }).collect();
            let moved = rows.moved(delta);
            holds(&moved, &each);
            prop_assert_eq!(moved.moved(-delta), rows.clone());
        }
    }

    #[test]
    fn safe_order_never_overwrites((survivors, moves) in moves()) {
        let shifts = Shifts::from_moves(&survivors, moves.iter().copied());
        let mut still = survivors.0.clone();
        for shift in shifts.in_safe_order() {
            let rows = still.between(shift.first, shift.last);
            still -= &rows;
            let moved = Shifts::from_moves(&Before(rows.clone()), [(shift.origin(), shift.delta)].into_iter()).forward(&Before(rows));
            prop_assert!(!still.overlaps(&moved), "{shift:?} lands on rows that have not moved yet");
            still |= &moved;
        }
        prop_assert_eq!(still, shifts.forward(&survivors));
    }

    #[test]
    fn then_is_composition((survivors, moves) in moves(), seed in any::<u64>()) {
        let first = Shifts::from_moves(&survivors, moves.iter().copied());
        let between = Before(first.forward(&survivors));
        let middle: Vec<Span> = between.0.spans().collect();
        let next = Shifts::from_moves(&between, random_moves(&middle, seed ^ 0xabcdef).into_iter());
        let mut random = Rng::with_seed(seed);
        let both = Before(RowSet::from_spans(survivors.0.spans().filter(|_| !random.u64(..).is_multiple_of(5))));
        let then = first.then(&next, &both);
        prop_assert_eq!(then.forward(&both), next.forward(&Before(first.forward(&both))));
        prop_assert_eq!(Shifts::new(then.iter().copied().collect(), &both), Ok(then.clone()));
        prop_assert_eq!(first.then(&Shifts::none(), &both), first.restrict(&both));
        prop_assert_eq!(Shifts::none().then(&first, &both), first.restrict(&both));
        let undo = Shifts::from_moves(&between, first.iter().map(|shift| (shift.destination(), -shift.delta)));
        prop_assert_eq!(first.then(&undo, &survivors), Shifts::none());
    }

    #[test]
    fn restrict_moves_what_is_left_alike((survivors, moves) in moves(), seed in any::<u64>()) {
        let shifts = Shifts::from_moves(&survivors, moves.iter().copied());
        let mut random = Rng::with_seed(seed);
        let left = Before(RowSet::from_spans(survivors.0.spans().filter(|_| random.u64(..).is_multiple_of(4))));
        let restricted = shifts.restrict(&left);
        prop_assert_eq!(restricted.forward(&left), shifts.forward(&left));
        prop_assert_eq!(Shifts::new(restricted.iter().copied().collect(), &left), Ok(restricted));
    }

    #[test]
    fn apply_is_drop_move_insert((survivors, moves) in moves(), removed in rows(), extra in rows()) {
        let shifts = Shifts::from_moves(&survivors, moves.iter().copied());
        let removed = &removed - &survivors.0;
        // Rows between the hulls of moving ones would be overtaken.
        let removed = removed.slice(0, 5000);
        let mut rows = &survivors.0 | &removed;
        let held = rows.clone();
        let was: Vec<Span> = held.spans().collect();
        let after = shifts.forward(&survivors);
        let added = &extra - &after;
        rows.apply(&removed, &shifts, &added);
        prop_assert_eq!(rows.validate(), Ok(()));
        prop_assert_eq!(&rows, &(&after | &added));
        holds(&held, &was);
    }
}
