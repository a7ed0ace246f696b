//! `head`, `tail`, `slice`, `reverse`, `flatten`: rows by position. By position.

use crate::table::Table;

/// The first rows; all of them if there are fewer.
pub fn head(input: &Table, n: u64) -> Table {
    let many = usize::try_from(n).unwrap_or(usize::MAX).min(input.len());
    Table { names: input.names.clone(), rows: input.rows[..many].to_vec() }
}

/// The last rows; all of them if there are fewer.
pub fn tail(input: &Table, n: u64) -> Table {
    let many = usize::try_from(n).unwrap_or(usize::MAX).min(input.len());
    Table { names: input.names.clone(), rows: input.rows[input.len() - many..].to_vec() }
}

/// `length` rows from `offset`, which counts from the end if negative; places before the first row are lost.
pub fn slice(input: &Table, offset: i64, length: Option<u64>) -> Table {
    let size = input.len() as i128;
    let start = if offset < 0 { size + i128::from(offset) } else { i128::from(offset) };
    let end = length.map_or(size, |length| start + i128::from(length));
    let inside = |place: i128| start <= place && place < end;
    let rows = (0..).zip(&input.rows).filter(|(place, _)| inside(*place)).map(|(_, row)| row.clone()).collect();
    Table { names: input.names.clone(), rows }
}

/// The rows from one position up to another; from the end if negative.
pub fn between(input: &Table, start: i64, stop: i64) -> Table {
    let place = |end: i64| if end < 0 { input.len() as i64 + end } else { end };
    positions(input, |at| (place(start)..place(stop)).contains(&(at as i64)))
}

/// A part of the rows from the first on, or up to the last: each of which a share lies in it.
pub fn end_part(input: &Table, part: f64, tail: bool) -> Table {
    let all = input.len();
    positions(input, |at| begins_before(if tail { all - 1 - at } else { at }, part, all))
}

/// The rows from a part of them to another, both rounded down: a row is before a part that reaches its end.
pub fn part(input: &Table, start: f64, stop: f64) -> Table {
    let all = input.len();
    positions(input, |at| !ends_by(at + 1, start, all) && ends_by(at + 1, stop, all))
}

/// A part of so many, times 2^64, and its 2^50th, by which it may be off.
fn exact(part: f64, all: usize) -> (i128, i128) {
    let bits = part.to_bits();
    let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i64, (bits & ((1 << 52) - 1)) as i128);
    let digits = if exponent == 0 { fraction } else { fraction | 1 << 52 };
    // The value is digits * 2^(exponent - 1075); the last places of what is smaller than 2^-60 do not matter here.
    let by = exponent.max(1) - 1075 + 64;
    let scaled = digits * all as i128;
    let scaled =
        if by >= 0 { scaled << by } else { scaled.checked_shr((-by) as u32).unwrap_or(0).max((scaled > 0).into()) };
    (scaled, scaled >> 50)
}

/// Whether less than the part of all comes before so many.
fn begins_before(at: usize, part: f64, all: usize) -> bool {
    let (share, off) = exact(part, all);
    ((at as i128) << 64) + off < share
}

/// Whether the part of all is so many or more.
fn ends_by(many: usize, part: f64, all: usize) -> bool {
    let (share, off) = exact(part, all);
    ((many as i128) << 64) <= share + off
}

fn positions(input: &Table, passes: impl Fn(usize) -> bool) -> Table {
    let kept = input.rows.iter().enumerate().filter(|(at, _)| passes(*at));
    Table { names: input.names.clone(), rows: kept.map(|(_, row)| row.clone()).collect() }
}

/// The rows, the last one first.
pub fn reverse(input: &Table) -> Table {
    Table::flat(input.names.clone(), input.rows.iter().rev().map(|(_, row)| row.clone()).collect())
}

/// The rows at keys that are their positions.
pub fn flatten(input: &Table) -> Table {
    Table::flat(input.names.clone(), input.rows.iter().map(|(_, row)| row.clone()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::table;

    #[test]
    fn beyond_the_size_is_all_of_it() {
        let t = table(&["v"], &[&[1i64.into()], &[2i64.into()], &[3i64.into()]]);
        assert_eq!(head(&t, 2).to_string(), "v\n0: 1\n1: 2\n");
        assert_eq!(tail(&t, 2).to_string(), "v\n1: 2\n2: 3\n");
        assert_eq!(head(&t, 0).len() + tail(&t, 0).len(), 0);
        assert_eq!(head(&t, u64::MAX).len(), 3);
        assert_eq!(tail(&t, u64::MAX).len(), 3);
        assert_eq!(slice(&t, -2, Some(1)).to_string(), "v\n1: 2\n");
        assert_eq!(slice(&t, -4, Some(2)).to_string(), "v\n0: 1\n");
        assert_eq!(slice(&t, 1, None).len(), 2);
        assert_eq!(slice(&t, i64::MIN, Some(u64::MAX)).len() + slice(&t, 9, None).len(), 3);
        assert_eq!(between(&t, 1, -1).to_string(), "v\n1: 2\n");
        assert_eq!(between(&t, -9, 1).len() + between(&t, 2, 1).len(), 1);
        assert_eq!(end_part(&t, 0.5, false).len() + end_part(&t, 0.1, true).len(), 3);
        assert_eq!(part(&t, 0.5, 1.0).len() + part(&t, 0.0, 0.5).len(), 3);
        assert_eq!(reverse(&t).to_string(), "v\n0: 3\n1: 2\n2: 1\n");
    }

    #[test]
    fn whole_percentages_are_counted_as_they_are_written() {
        for (percent, all) in (0..=100_usize).flat_map(|percent| [1, 10, 50, 100, 128].map(|all| (percent, all))) {
            let rows: Vec<[crate::Value; 1]> = (0..all).map(|row| [(row as i64).into()]).collect();
            let rows: Vec<&[crate::Value]> = rows.iter().map(<[_; 1]>::as_slice).collect();
            let (t, part_) = (table(&["v"], &rows), percent as f64 / 100.0);
            let (up, down) = ((percent * all).div_ceil(100), percent * all / 100);
            let found = [end_part(&t, part_, false).len(), end_part(&t, part_, true).len(), part(&t, 0.0, part_).len()];
            assert_eq!(found, [up, up, down], "{percent} of {all}");
        }
    }
}
