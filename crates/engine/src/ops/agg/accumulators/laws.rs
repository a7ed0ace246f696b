//! The law of every accumulator: whatever entered, left, was merged and taken back, its result is that of the values
//! present, taken anew in another order; and a window that slides gives what each of its frames gives by itself.

use std::fmt::Debug;
use std::ops::Range;

use arrow_buffer::i256;
use formula::aggregates::Interpolation;

use super::*;
use crate::testing::Tape;
use crate::testing::explore::explore;

/// Floats of every kind, so that they meet: NaN, infinities, both zeros, of sizes that lose one another's bits.
fn float(tape: &mut Tape) -> f64 {
    let plain = tape.below(41) as f64 * 0.25 - 5.0;
    match tape.below(12) {
        0 => *tape.choose(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, 5e-324]),
        1 => *tape.choose(&[0.0, -0.0, 1.0, -1.0]),
        2 | 3 => plain * 2f64.powi(tape.below(2000) as i32 - 1000),
        4 => 0.1 * plain,
        _ => plain,
    }
}

fn integer(tape: &mut Tape) -> i64 {
    match tape.below(8) {
        0 => *tape.choose(&[i64::MIN, i64::MAX, 0, 1 << 62]),
        _ => tape.below(21) as i64 - 10,
    }
}

fn of<A: Accumulator>(empty: &A, values: &[A::In]) -> A {
    let mut made = empty.clone();
    values.iter().for_each(|value| made.add(value.clone()));
    made
}

fn drawn<T>(tape: &mut Tape, draw: fn(&mut Tape) -> T) -> Vec<T> {
    (0..tape.below(6)).map(|_| draw(tape)).collect()
}

/// Results as text, which tells the zeros apart and takes one NaN for another.
fn told(out: &impl Debug) -> String {
    format!("{out:?}")
}

fn agrees<A: Accumulator>(found: &A, empty: &A, how: &A::How, present: &[A::In], doing: &str) -> Result<(), String>
where
    A::In: Debug,
    A::Out: Debug,
{
    let anew: Vec<A::In> = present.iter().rev().cloned().collect();
    let (found, wanted) = (told(&found.value(how)), told(&of(empty, &anew).value(how)));
    let same = found == wanted;
    if same { Ok(()) } else { Err(format!("{doing}: {found}, not {wanted}, of {present:?}")) }
}

/// Floats whose products are doubles, or too large for it: of smaller ones bits are lost.
fn multiplied(tape: &mut Tape) -> f64 {
    let value = float(tape);
    if value.abs() < 1e-100 { 0.0 } else { value }
}

/// Floats of which three can be multiplied.
fn near(tape: &mut Tape) -> f64 {
    let value = float(tape);
    if value.abs() < 1e-40 { 0.0 } else { value }
}

/// Random steps of one accumulator.
fn law_of<A: Removable>(tape: &mut Tape, empty: &A, how: &A::How, draw: fn(&mut Tape) -> A::In) -> Result<(), String>
where
    A::In: Debug,
    A::Out: Debug,
{
    let (mut found, mut present) = (empty.clone(), Vec::new());
    for _ in 0..tape.below(24) {
        let doing = match tape.below(5) {
            0 | 1 => {
                let value = draw(tape);
                found.add(value.clone());
                present.push(value);
                "add"
            }
            2 if !present.is_empty() => {
                found.remove(present.swap_remove(tape.below(present.len() as u64) as usize));
                "remove"
            }
            3 => {
                let more = drawn(tape, draw);
                let other = of(empty, &more);
                if tape.chance(128) {
                    found.merge(&other)
                } else {
                    found.absorb(other)
                }
                present.extend(more);
                "merge"
            }
            _ => {
                let gone = tape.below(present.len() as u64 + 1) as usize;
                let gone = present.split_off(present.len() - gone);
                found.unmerge(&of(empty, &gone));
                "unmerge"
            }
        };
        agrees(&found, empty, how, &present, doing)?;
    }
    let (values, frames) = frames(tape, draw);
    let mut found = Vec::new();
    slide(empty, &values, &frames, A::remove, |inside| found.push(inside.value(how)));
    slides(&found, empty, how, &values, &frames)
}

/// Values of which some are null, and frames that move on over them.
fn frames<T>(tape: &mut Tape, draw: fn(&mut Tape) -> T) -> (Vec<Option<T>>, Vec<Range<usize>>) {
    let len = tape.below(12);
    let values = (0..len).map(|_| (!tape.chance(40)).then(|| draw(tape))).collect();
    let (mut start, mut end) = (0, 0);
    let mut next = |_| {
        end = (end + tape.below(4)).min(len);
        start = (start + tape.below(4)).min(end);
        start as usize..end as usize
    };
    (values, (0..8).map(&mut next).collect())
}

fn slides<A: Accumulator>(
    found: &[A::Out],
    empty: &A,
    how: &A::How,
    values: &[Option<A::In>],
    frames: &[Range<usize>],
) -> Result<(), String>
where
    A::In: Debug,
    A::Out: Debug,
{
    let wanted = frames.iter().map(|frame| {
        let inside: Vec<A::In> = values[frame.clone()].iter().flatten().cloned().collect();
        of(empty, &inside).value(how)
    });
    let (found, wanted) = (told(&found), told(&wanted.collect::<Vec<_>>()));
    let same = found == wanted;
    if same { Ok(()) } else { Err(format!("frames {frames:?} of {values:?}: {found}, not {wanted}")) }
}

/// As [`law_of`], of one that cannot give values back.
fn law_of_growing<A: Accumulator>(
    tape: &mut Tape,
    empty: &A,
    how: &A::How,
    draw: fn(&mut Tape) -> A::In,
) -> Result<(), String>
where
    A::In: Debug,
    A::Out: Debug,
{
    let (mut found, mut present) = (empty.clone(), Vec::new());
    for _ in 0..tape.below(8) {
        let more = drawn(tape, draw);
        let other = of(empty, &more);
        if tape.chance(128) {
            found.merge(&other)
        } else {
            found.absorb(other)
        }
        present.extend(more);
        agrees(&found, empty, how, &present, "merge")?;
    }
    let (values, frames) = frames(tape, draw);
    let mut found = Vec::new();
    slide_on_stacks(empty, &values, &frames, |inside| found.push(inside.value(how)));
    slides(&found, empty, how, &values, &frames)
}

const RUNS: u64 = 400;

fn nothing(_: &mut Tape) {}

fn wide(tape: &mut Tape) -> i256 {
    let most = i256::from_i128(10).wrapping_pow(76);
    if tape.chance(60) { most.wrapping_mul(i256::from(integer(tape).signum())) } else { i256::from(integer(tape)) }
}

fn word(tape: &mut Tape) -> u64 {
    let nan_first = false;
    float_word(float(tape), nan_first)
}

fn text(tape: &mut Tape) -> Box<[u8]> {
    (*tape.choose(&["", "a", "b", "é", "aa"])).as_bytes().into()
}

#[test]
fn law_of_counts_and_sums() {
    explore(RUNS, |tape| {
        law_of(tape, &Count::default(), &(), nothing)?;
        law_of(tape, &Counted::<WrappingSum>::default(), &2, integer)?;
        law_of(tape, &Counted::<LongSum>::default(), &1, |tape| i128::from(integer(tape)))?;
        law_of(tape, &Counted::<WideSum>::default(), &1, wide)
    });
}

#[test]
fn law_of_sums_of_floats() {
    explore(RUNS, |tape| law_of(tape, &Counted::<ExactSum>::default(), &1, float));
}

#[test]
fn law_of_spreads() {
    explore(RUNS, |tape| {
        let how = Spread { ddof: tape.below(3) as u8, root: tape.chance(128) };
        law_of(tape, &Moments::default(), &how, multiplied)
    });
}

#[test]
fn law_of_covariances() {
    explore(RUNS, |tape| {
        law_of(tape, &Comoments::default(), &1, |tape| [multiplied(tape), multiplied(tape)])?;
        law_of(tape, &Comoments::default(), &0, |tape| [multiplied(tape), multiplied(tape).clamp(-8.0, 8.0)])
    });
}

#[test]
fn law_of_weighted_pairs() {
    explore(RUNS, |tape| {
        law_of(tape, &Correlation::default(), &(), |tape| [multiplied(tape), multiplied(tape)])?;
        law_of(tape, &Weighted::default(), &true, |tape| [near(tape), tape.below(4) as f64])?;
        law_of(tape, &Weighted::default(), &false, |tape| [near(tape), near(tape)])
    });
}

#[test]
fn law_of_sketches() {
    explore(RUNS, |tape| {
        law_of(tape, &Buckets::default(), &0.3, float)?;
        law_of_growing(tape, &DistinctSketch::default(), &(), |tape| integer(tape) as u64)
    });
}

#[test]
fn law_of_products() {
    explore(RUNS, |tape| {
        law_of(tape, &Factors::default(), &(), integer)?;
        law_of(tape, &Product::default(), &(), float)?;
        law_of_growing(tape, &Product::default(), &(), float)
    });
}

#[test]
fn law_of_extremes() {
    explore(RUNS, |tape| {
        let end = *tape.choose(&[End::Least, End::Greatest]);
        law_of(tape, &Multiset::default(), &end, word)?;
        law_of(tape, &Multiset::default(), &end, text)?;
        law_of_growing(tape, &Extremum::new(end), &(), word)?;
        law_of_growing(tape, &Extremum::new(end), &(), text)
    });
}

#[test]
fn law_of_places() {
    const BETWEEN: [Interpolation; 3] = [Interpolation::Nearest, Interpolation::Linear, Interpolation::Higher];
    explore(RUNS, |tape| {
        let part = *tape.choose(&[0.0, 0.3, 0.5, 0.9, 1.0]);
        law_of(tape, &Halves::new(part), tape.clone().choose(&BETWEEN), word)?;
        law_of(tape, &Halves::new(part), tape.clone().choose(&BETWEEN), text)
    });
}

/// Recomputation by the accumulator itself could share its fault: results that are known otherwise.
#[test]
fn results_are_those_of_arithmetic() {
    explore(RUNS, |tape| {
        let values = drawn(tape, integer);
        let small: Vec<i64> = values.iter().map(|value| value % 1000).collect();
        let sum = values.iter().fold(0, |sum: i64, value| sum.wrapping_add(*value));
        let product = values.iter().fold(1, |all: i64, value| all.wrapping_mul(*value));
        let floats: Vec<f64> = small.iter().map(|value| *value as f64).collect();
        let (n, of_small) = (small.len() as i64, small.iter().sum::<i64>());
        let centred = n * small.iter().map(|value| value * value).sum::<i64>() - of_small * of_small;
        let turned: Vec<[f64; 2]> =
            floats.iter().copied().zip(floats.iter().rev().copied()).map(<[f64; 2]>::from).collect();
        let crossed = n * small.iter().zip(small.iter().rev()).map(|(a, b)| a * b).sum::<i64>() - of_small * of_small;
        let covariance = (n > 0).then(|| crossed as f64 / n as f64 / n as f64);
        let variance = (n > 1).then(|| centred as f64 / n as f64 / (n - 1) as f64);
        let pairs = [
            (told(&of(&WrappingSum::default(), &values).value(&())), told(&sum)),
            (told(&of(&Factors::default(), &values).value(&())), told(&(n > 0).then_some(product))),
            (told(&of(&ExactSum::default(), &floats).value(&())), told(&(of_small as f64))),
            (told(&of(&Multiset::default(), &values).value(&End::Least)), told(&values.iter().min())),
            (told(&of(&Extremum::new(End::Greatest), &values).value(&())), told(&values.iter().max())),
            (told(&of(&Moments::default(), &floats).value(&Spread { ddof: 1, root: false })), told(&variance)),
            (told(&of(&Comoments::default(), &turned).value(&0)), told(&covariance)),
        ];
        let wrong = pairs.into_iter().find(|(found, wanted)| found != wanted);
        wrong.map_or(Ok(()), |(found, wanted)| Err(format!("{found}, not {wanted}, of {values:?}")))
    });
}
