//! `time_window`: whether a stamp lies within the last so long, as of an instant. By position.

use super::with_columns::{Derived, with_columns};
use crate::table::Table;
use crate::value::Value;

/// The input with a last column: of each row whether its stamp is not before `now - span`; null without a stamp.
pub fn time_window(input: &Table, stamp: &str, span: i64, now: i64, flag: &str) -> Table {
    let place = input.names.iter().position(|name| name == stamp).expect("the column is there");
    let within = move |row: &crate::table::Row| match row[place] {
        Value::Timestamp(stamp) => Value::Bool(stamp >= now.saturating_sub(span)),
        _ => Value::Null,
    };
    with_columns(input, &[Derived::new(flag, within)])
}
