//! `head`, `tail`: rows by position, with their own keys. By position.

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
    }
}
