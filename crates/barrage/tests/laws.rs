//! Random row sets and shifts there and back, and bytes that are nothing.

use barrage::{decode_rows, decode_shifts, encode_rows, encode_shifts};
use proptest::prelude::*;
use rowset::{Before, MAX_KEY, RowSet, Shift, Shifts, Span};

/// Row sets of steps of every width.
fn rows() -> impl Strategy<Value = RowSet> {
    let step = prop_oneof![1u64..5, 100u64..300, 32_000u64..33_500, 1u64..1 << 20, 1u64..1 << 40];
    let span = (step.clone(), prop_oneof![Just(1u64), step]);
    (prop_oneof![Just(0u64), 0u64..1 << 33, Just(MAX_KEY - 40_000)], prop::collection::vec(span, 0..60)).prop_map(
        |(start, steps)| {
            let mut spans = Vec::new();
            let mut from = start;
            for (gap, len) in steps {
                if from + gap > MAX_KEY {
                    break;
                }
                let span = Span { first: from + gap, last: (from + gap + len - 1).min(MAX_KEY) };
                spans.push(span);
                from = span.last;
            }
            RowSet::from_spans(spans)
        },
    )
}

/// Survivors, each run of which moves by at least as much as the one below it.
fn shifts() -> impl Strategy<Value = (Before, Vec<Shift>)> {
    let away_from_the_top = rows().prop_filter("room above", |rows| rows.last() < Some(MAX_KEY - 200));
    (away_from_the_top, prop::collection::vec(0i64..4, 60)).prop_map(|(rows, steps)| {
        let mut delta = if rows.first() < Some(2) { 0 } else { -2 };
        let mut moves = Vec::new();
        for (span, step) in rows.spans().zip(steps) {
            delta += step;
            if delta != 0 {
                moves.push(Shift { first: span.first, last: span.last, delta });
            }
        }
        (Before(rows), moves)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn row_sets_there_and_back(rows in rows()) {
        let bytes = encode_rows(&rows);
        prop_assert_eq!(decode_rows(&bytes), Ok(rows));
        for end in 0..bytes.len() {
            prop_assert!(decode_rows(&bytes[..end]).is_err(), "cut at {}", end);
        }
    }

    #[test]
    fn shifts_there_and_back((survivors, moves) in shifts()) {
        let shifts = Shifts::new(moves, &survivors).expect("in order");
        let bytes = encode_shifts(&shifts);
        let read = decode_shifts(&bytes).expect("ours");
        prop_assert_eq!(Shifts::new(read, &survivors), Ok(shifts));
    }

    #[test]
    fn any_bytes_are_read_or_refused(noise in prop::collection::vec(any::<u8>(), 0..80), rows in rows(), flips in prop::collection::vec((any::<u64>(), any::<u8>()), 0..5)) {
        let _ = decode_rows(&noise);
        let _ = decode_shifts(&noise);
        let mut bytes = encode_rows(&rows);
        for (at, value) in flips {
            let at = (at % bytes.len() as u64) as usize;
            bytes[at] ^= value;
        }
        if let Ok(read) = decode_rows(&bytes) {
            prop_assert_eq!(read.validate(), Ok(()));
            prop_assert_eq!(decode_rows(&encode_rows(&read)), Ok(read));
        }
        let _ = decode_shifts(&[&bytes[..], &bytes, &bytes].concat());
    }
}
