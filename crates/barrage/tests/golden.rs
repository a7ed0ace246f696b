//! Every golden row set, byte for byte, both ways; and the examples of the format's description.

use barrage::{BarrageError, decode_rows, decode_shifts, encode_rows, encode_shifts};
use rowset::{Before, MAX_KEY, RowSet, Shift, Shifts, Span};

const GOLDEN: &str = include_str!("../../../tests/golden/rowsets.txt");

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let digit = |byte: u8| (byte as char).to_digit(16).expect("hexadecimal") as u8;
    digits.chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

fn rows(ranges: &str) -> RowSet {
    let number = |text: &str| text.parse::<u64>().expect("a key");
    RowSet::from_spans(ranges.split_whitespace().map(|range| match range.split_once('-') {
        Some((first, last)) => Span { first: number(first), last: number(last) },
        None => Span { first: number(range), last: number(range) },
    }))
}

#[test]
fn golden_row_sets_are_these_bytes() {
    let mut cases = 0;
    for line in GOLDEN.lines().filter(|line| !line.starts_with('#')) {
        let (ranges, hex) = line.split_once('|').expect("ranges and bytes");
        let (rows, bytes) = (rows(ranges), bytes(hex));
        assert_eq!(encode_rows(&rows), bytes, "{rows}");
        assert_eq!(decode_rows(&bytes), Ok(rows));
        cases += 1;
    }
    assert_eq!(cases, 421);
}

#[test]
fn any_legal_cut_is_read() {
    let same = rows("0-99 300");
    for hex in ["0c00 0c9d 09c900 20", "0b0000000000000000 099dff 0bc900000000000000 20", "1c02009d 1401c900 20"] {
        assert_eq!(decode_rows(&bytes(hex)), Ok(same.clone()), "{hex}");
    }
    // A range may begin where the last one ended plus one, and an array may be empty.
    assert_eq!(decode_rows(&bytes("0c00 0cff 0c01 1c00 20")), Ok(rows("0-2")));
    assert_eq!(decode_rows(&bytes("0bffffffffffffff7f 20")), Ok(RowSet::key(MAX_KEY)));
    assert_eq!(encode_rows(&RowSet::range(0, MAX_KEY)), bytes("0c00 0b0100000000000080 20"));
}

#[test]
fn what_is_no_row_set_is_refused() {
    let refused = |hex: &str| decode_rows(&bytes(hex)).expect_err("refused");
    assert_eq!(refused(""), BarrageError::Short { at: 0 });
    assert_eq!(refused("0c"), BarrageError::Short { at: 1 });
    assert_eq!(refused("1c0501"), BarrageError::Short { at: 3 });
    assert_eq!(refused("13ffffffffffffff7f 20"), BarrageError::Short { at: 10 });
    assert_eq!(refused("1cff20"), BarrageError::Malformed { at: 1, what: "an array of less than nothing" });
    assert_eq!(refused("2020"), BarrageError::Malformed { at: 1, what: "bytes after the end" });
    assert_eq!(refused("21"), BarrageError::Malformed { at: 0, what: "no command" });
    assert_eq!(refused("6020"), BarrageError::Malformed { at: 0, what: "no command" });
    assert_eq!(refused("080020"), BarrageError::Malformed { at: 0, what: "a command whose value has no width" });
    assert_eq!(refused("0cff20"), BarrageError::Malformed { at: 0, what: "a range is closed that was not opened" });
    assert_eq!(refused("0c050c0020"), BarrageError::Malformed { at: 2, what: "keys do not ascend" });
    assert_eq!(refused("0bffffffffffffff7f0c0120"), BarrageError::OutOfKeys { at: 9 });
    assert_eq!(refused("0c010b000000000000008020"), BarrageError::OutOfKeys { at: 2 });
}

#[test]
fn shifts_are_three_row_sets() {
    let one = bytes("0a04000040 20 0a05000040 20 0a05000040 20");
    let low = 1 << 30;
    assert_eq!(decode_shifts(&one), Ok(vec![Shift { first: low + 4, last: low + 5, delta: 1 }]));
    let three = bytes("0a00000040 1c020402 20 0a01000040 1c020302 20 0affffff3f 1c020603 20");
    let expected = vec![
        Shift { first: low, last: low + 1, delta: -1 },
        Shift { first: low + 4, last: low + 4, delta: 1 },
        Shift { first: low + 6, last: low + 6, delta: 2 },
    ];
    assert_eq!(decode_shifts(&three), Ok(expected.clone()));
    let survivors = Before(rows("1073741824-1073741825 1073741828 1073741830"));
    let shifts = Shifts::new(expected, &survivors).expect("in order");
    assert_eq!(encode_shifts(&shifts), three);
    assert_eq!(encode_shifts(&Shifts::none()), bytes("202020"));
    assert_eq!(decode_shifts(&bytes("202020")), Ok(Vec::new()));
}

#[test]
fn a_few_bytes_that_say_many_shifts_are_one() {
    // Every key from 0 on, each shift of one key, one up.
    let every = encode_rows(&RowSet::range(0, MAX_KEY - 1));
    let above = encode_rows(&RowSet::range(1, MAX_KEY));
    let read = decode_shifts(&[&every[..], &every, &above].concat());
    assert_eq!(read, Ok(vec![Shift { first: 0, last: MAX_KEY - 1, delta: 1 }]));
    let still = decode_shifts(&[&every[..], &every, &every].concat());
    assert_eq!(still, Ok(Vec::new()));
    let refused = |parts: [&RowSet; 3]| {
        let bytes: Vec<u8> = parts.iter().flat_map(|part| encode_rows(part)).collect();
        decode_shifts(&bytes).expect_err("refused")
    };
    let (low, high) = (RowSet::range(0, 99), RowSet::range(10, 109));
    assert_eq!(refused([&low, &high, &high]), BarrageError::Shifts { what: "two shifts overlap" });
    assert_eq!(refused([&high, &low, &high]), BarrageError::Shifts { what: "a shift ends before it begins" });
    let short = RowSet::key(7);
    assert_eq!(refused([&low, &high, &short]), BarrageError::Shifts { what: "the three sets are not of one size" });
    let (firsts, lasts) = (rows("0 5"), rows("5 9"));
    assert_eq!(refused([&firsts, &lasts, &lasts]), BarrageError::Shifts { what: "two shifts overlap" });
}
