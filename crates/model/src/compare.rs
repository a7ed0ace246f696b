//! Whether the engine's answer is the model's.

use crate::table::{Row, Table};
use crate::value::{Key, Value, order, same};

/// How two tables are laid beside each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compare {
    /// Row by row in position order.
    ByPosition,
    /// By the cells of these columns, rows with the same cells in their order: for results whose order depends on history
    /// (groups, distinct rows, keyed tables).
    ByKey(Vec<String>),
}

impl Compare {
    /// By the cells of these columns.
    pub fn by_key(names: &[&str]) -> Compare {
        Compare::ByKey(names.iter().map(|name| (*name).to_owned()).collect())
    }
}

/// The first difference in words, or nothing. Row keys are not compared: they are the engine's own.
pub fn differences(expected: &Table, actual: &Table, compare: &Compare) -> Option<String> {
    if expected.names != actual.names {
        return Some(format!("columns {:?} expected, {:?} found", expected.names, actual.names));
    }
    match compare {
        Compare::ByPosition => differ_by_position(expected, actual),
        Compare::ByKey(names) => differ_by_key(expected, actual, names),
    }
}

fn differ_by_position(expected: &Table, actual: &Table) -> Option<String> {
    let pairs = expected.rows.iter().zip(&actual.rows).enumerate();
    for (position, ((_, wanted), (_, found))) in pairs {
        if let Some(text) = differ_in_row(&expected.names, wanted, found) {
            return Some(format!("row {position}: {text}"));
        }
    }
    (expected.len() != actual.len()).then(|| format!("{} rows expected, {} found", expected.len(), actual.len()))
}

fn differ_by_key(expected: &Table, actual: &Table, names: &[String]) -> Option<String> {
    let columns = expected.indices_of(names);
    let keyed = |table: &Table| {
        let mut rows: Vec<(Key, Row)> =
            table.rows.iter().map(|(_, row)| (Table::key_of(row, &columns), row.clone())).collect();
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        rows
    };
    let (wanted, found) = (keyed(expected), keyed(actual));
    if let Some((key, _)) = wanted.iter().find(|(key, _)| found.binary_search_by(|(other, _)| other.cmp(key)).is_err())
    {
        return Some(format!("no row with the key {key}"));
    }
    if let Some((key, _)) = found.iter().find(|(key, _)| wanted.binary_search_by(|(other, _)| other.cmp(key)).is_err())
    {
        return Some(format!("a row with the key {key}, which should not be there"));
    }
    let many = |rows: &[(Key, Row)], key: &Key| rows.iter().filter(|(other, _)| other == key).count();
    if let Some((key, _)) = wanted.iter().find(|(key, _)| many(&wanted, key) != many(&found, key)) {
        return Some(format!("{} rows with the key {key}, not {}", many(&found, key), many(&wanted, key)));
    }
    wanted.iter().zip(&found).find_map(|((key, wanted), (_, found))| {
        differ_in_row(&expected.names, wanted, found).map(|text| format!("key {key}: {text}"))
    })
}

fn differ_in_row(names: &[String], expected: &[Value], actual: &[Value]) -> Option<String> {
    let cells = names.iter().zip(expected.iter().zip(actual));
    cells
        .filter(|(_, (wanted, found))| !accepts(wanted, found))
        .map(|(name, (wanted, found))| format!("{name}: {wanted} expected, {found} found"))
        .next()
}

/// Exact, but for `Near`, and for the integer 0 that stands for the zero of whatever type a sum
/// of no value has (the model has no schema to ask).
fn accepts(wanted: &Value, found: &Value) -> bool {
    match (wanted, found) {
        // What is rounded to Float32 at the end is the rounding of a value within the room.
        (Value::Near(x, within), Value::Float32(y)) => {
            is_near(*x, *within, f64::from(*y)) || ((x - within) as f32 <= *y && *y <= (x + within) as f32)
        }
        (Value::Near(x, within), found) => found.as_number().is_some_and(|y| is_near(*x, *within, y)),
        (Value::Int(0), Value::Duration(0)) => true,
        (Value::Int(_), Value::Float(_) | Value::Float32(_) | Value::Decimal(..)) => is_zero(wanted) && is_zero(found),
        (Value::Float(_) | Value::Float32(_), Value::Int(_) | Value::UInt(_) | Value::Decimal(..)) => false,
        _ => same(wanted, found),
    }
}

fn is_zero(value: &Value) -> bool {
    order(value, &Value::Int(0)).is_eq()
}

fn is_near(x: f64, within: f64, y: f64) -> bool {
    if within.is_infinite() {
        // An error without bound says that something overflows on the way: the sign is known, if that, no more.
        return x.is_nan() || y.is_nan() || y == 0.0 || (y > 0.0) == (x >= 0.0);
    }
    same(&Value::Float(x), &Value::Float(y)) || (x - y).abs() <= within
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::table;

    fn keyed(rows: &[(i64, Value)]) -> Table {
        let rows: Vec<[Value; 2]> = rows.iter().map(|(key, value)| [(*key).into(), value.clone()]).collect();
        table(&["k", "v"], &rows.iter().map(|row| &row[..]).collect::<Vec<_>>())
    }

    #[test]
    fn order_matters_by_position_alone() {
        let (a, b) = (keyed(&[(1, true.into()), (2, false.into())]), keyed(&[(2, false.into()), (1, true.into())]));
        assert_eq!(differences(&a, &b, &Compare::by_key(&["k"])), None);
        assert_eq!(differences(&a, &b, &Compare::ByPosition).as_deref(), Some("row 0: k: 1 expected, 2 found"));
    }

    #[test]
    fn missing_surplus_and_doubled_keys_are_told() {
        let (one, two) = (keyed(&[(1, Value::Null)]), keyed(&[(1, Value::Null), (2, Value::Null)]));
        let compare = Compare::by_key(&["k"]);
        assert_eq!(differences(&two, &one, &compare).as_deref(), Some("no row with the key (2)"));
        assert_eq!(
            differences(&one, &two, &compare).as_deref(),
            Some("a row with the key (2), which should not be there")
        );
        let doubled = keyed(&[(1, Value::Null), (1, Value::Null)]);
        assert_eq!(differences(&one, &doubled, &compare).as_deref(), Some("2 rows with the key (1), not 1"));
        assert_eq!(differences(&two, &one, &Compare::ByPosition).as_deref(), Some("2 rows expected, 1 found"));
    }

    #[test]
    fn near_values_have_their_room_and_no_more() {
        let near = |x, within| keyed(&[(1, Value::Near(x, within))]);
        let found = |x: f64| keyed(&[(1, x.into())]);
        assert!(differences(&near(1.0, 1e-12), &found(1.0 + 1e-13), &Compare::ByPosition).is_none());
        assert!(differences(&near(1.0, 1e-14), &found(1.0 + 1e-13), &Compare::ByPosition).is_some());
        assert!(differences(&near(f64::NAN, 0.0), &found(f64::NAN), &Compare::ByPosition).is_none());
        assert!(differences(&near(1.0, 1e-3), &found(f64::NAN), &Compare::ByPosition).is_some());
        assert!(differences(&near(1.0, 1e-3), &keyed(&[(1, Value::Null)]), &Compare::ByPosition).is_some());
        let rounded = |x: f32| keyed(&[(1, Value::Float32(x))]);
        assert!(differences(&near(362_102_422.5, 1e-6), &rounded(362_102_432.0), &Compare::ByPosition).is_none());
        assert!(differences(&near(362_102_422.5, 1e-6), &rounded(362_102_400.0), &Compare::ByPosition).is_some());
    }

    #[test]
    fn an_integer_is_no_float_but_the_zero_of_no_value_is_any() {
        let (int, float) = (keyed(&[(1, 7i64.into())]), keyed(&[(1, 7.0.into())]));
        assert!(differences(&int, &float, &Compare::ByPosition).is_some());
        assert!(differences(&keyed(&[(1, 0i64.into())]), &keyed(&[(1, 0.0.into())]), &Compare::ByPosition).is_none());
        assert!(
            differences(&keyed(&[(1, 0i64.into())]), &keyed(&[(1, Value::Duration(0))]), &Compare::ByPosition)
                .is_none()
        );
    }
}
