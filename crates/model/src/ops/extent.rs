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
        assert_eq!(reverse(&t).to_string(), "v\n0: 3\n1: 2\n2: 1\n");
    }
}
