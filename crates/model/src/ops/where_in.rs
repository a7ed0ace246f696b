//! `where_in`, `where_not_in`: rows by whether their key is among those of a set. By position.

use super::matching::Matching;
use crate::table::Table;
use crate::value::Value;

/// The rows whose key is among the set's (names of both sides), or, if `not`, those whose key is not. Null is in no set unless `nulls_equal`.
pub fn where_in(rows: &Table, set: &Table, on: &[(String, String)], not: bool, nulls_equal: bool) -> Table {
    let matching = Matching::new(rows, set, on, nulls_equal);
    let is_in = |row: &[Value]| !matching.of(row).1.is_empty();
    let kept = rows.rows.iter().filter(|(_, row)| is_in(row) != not).cloned().collect();
    Table { names: rows.names.clone(), rows: kept }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::table;

    #[test]
    fn null_is_in_no_set_unless_it_equals_itself() {
        let rows = table(&["k"], &[&["a".into()], &["b".into()], &[Value::Null]]);
        let set = table(&["k"], &[&["a".into()], &["a".into()], &[Value::Null]]);
        let kept = |not, nulls_equal| {
            let kept = where_in(&rows, &set, &[("k".into(), "k".into())], not, nulls_equal).column("k");
            kept.iter().map(Value::to_string).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(kept(false, false), "\"a\"");
        assert_eq!(kept(true, false), "\"b\" null");
        assert_eq!(kept(false, true), "\"a\" null");
        assert_eq!(kept(true, true), "\"b\"");
    }
}
