//! Values that run over the rows of a group, from its first row on. By position: rows stay where they are.

use crate::ops::aggregate::{Aggregate, Aggregator, aggregate};
use crate::table::{Fault, Table};
use crate::value::Value;

/// What runs.
#[derive(Clone, Debug)]
pub enum Running {
    /// The aggregate of the values so far; of a row without a value null if that is said.
    Cumulative(Aggregator, bool),
    /// How many cells so far are true.
    CountTrue,
    /// The last value that is not null.
    ForwardFill,
    /// The last value, of at most so many rows before.
    Fill(u64),
    /// How many rows ago that was.
    Since,
    /// A statistic whose weights fade with each row.
    Ewm(Ewm),
    /// A value that fades.
    Decay(Fades),
}

/// How weights fade with each row.
#[derive(Clone, Copy, Debug)]
pub struct Ewm {
    /// What is computed with them.
    pub of: EwmOf,
    /// What a row takes from those before.
    pub alpha: f64,
    /// Whether the first value weighs no more than others.
    pub adjust: bool,
    /// Whether rows without a value are as if they were not there.
    pub ignore_nulls: bool,
    /// Whether a variance is that of the values themselves.
    pub bias: bool,
    /// Of fewer values there is none.
    pub min_samples: u64,
}

/// What is computed with weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EwmOf {
    /// The mean.
    Mean,
    /// The variance.
    Var,
    /// Its root.
    Std,
    /// The sum.
    Sum,
}

/// How a value fades.
#[derive(Clone, Debug)]
pub struct Fades {
    /// How numbers meet it.
    pub of: Decay,
    /// By so many rows, or by so many nanoseconds of the stamps of a column.
    pub by: Result<f64, (String, f64)>,
    /// What null and NaN do.
    pub on_null: Bad,
    /// What NaN does.
    pub on_nan: Bad,
}

/// How numbers meet what fades.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decay {
    /// A mean.
    Mean,
    /// A sum.
    Sum,
    /// The lesser.
    Min,
    /// The greater.
    Max,
    /// The standard deviation.
    Std,
}

/// What a cell without a number does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bad {
    /// Nothing.
    Skip,
    /// The value begins anew.
    Reset,
    /// There is no result.
    Throw,
    /// NaN from there on.
    Poison,
    /// Nothing, and the row has no value.
    Null,
}

/// The table with a further column that runs over `column`, group by group.
pub fn running(input: &Table, by: &[String], column: &str, what: &Running, output: &str) -> Result<Table, Fault> {
    let (keys, at) = (input.indices_of(by), input.index_of(column));
    let mut result = input.clone();
    result.names.push(output.to_owned());
    for place in 0..input.rows.len() {
        let mine = Table::key_of(&input.rows[place].1, &keys);
        let so_far: Vec<usize> = (0..=place).filter(|row| Table::key_of(&input.rows[*row].1, &keys) == mine).collect();
        let cells: Vec<&Value> = so_far.iter().map(|row| &input.rows[*row].1[at]).collect();
        let value = match what {
            Running::Cumulative(_, true) if input.rows[place].1[at].is_null() => Value::Null,
            Running::Cumulative(of, _) => {
                let rows = cells.iter().map(|cell| vec![(*cell).clone()]).collect();
                let prefix = Table::flat(vec![column.to_owned()], rows);
                let made = aggregate(&prefix, &[], &[Aggregate::of(output, of.clone(), &[column])])?;
                made.rows.first().map_or(Value::Null, |(_, row)| row[0].clone())
            }
            Running::CountTrue => {
                Value::Int(cells.iter().filter(|cell| matches!(cell, Value::Bool(true))).count() as i64)
            }
            Running::ForwardFill => {
                cells.iter().rev().find(|cell| !cell.is_null()).map_or(Value::Null, |cell| (*cell).clone())
            }
            Running::Fill(limit) => match since(&cells) {
                Some(rows) if rows as u64 <= *limit => cells[place_of(&cells, rows)].clone(),
                _ => Value::Null,
            },
            Running::Since => since(&cells).map_or(Value::Null, |rows| Value::Int(rows as i64)),
            Running::Ewm(how) => weighted(&cells, how),
            Running::Decay(fades) => faded(input, &so_far, &cells, fades)?,
        };
        result.rows[place].1.push(value);
    }
    Ok(result)
}

/// How many rows before the last of these there is a value.
fn since(cells: &[&Value]) -> Option<usize> {
    cells.iter().rev().position(|cell| !cell.is_null())
}

fn place_of(cells: &[&Value], rows: usize) -> usize {
    cells.len() - 1 - rows
}

/// Values as near to nothing as these have few digits.
const LEAST: f64 = 1e-300;

/// The statistic of the last of these rows, from a list of all weights.
fn weighted(cells: &[&Value], how: &Ewm) -> Value {
    if cells.last().is_none_or(|cell| cell.is_null()) {
        return Value::Null;
    }
    let mut taken: Vec<(f64, f64)> = Vec::new();
    for cell in cells {
        let number = cell.as_number();
        if number.is_some() || !how.ignore_nulls {
            taken.iter_mut().for_each(|(weight, _)| *weight *= 1.0 - how.alpha);
        }
        let Some(number) = number else { continue };
        let weight = if how.adjust || taken.is_empty() { 1.0 } else { how.alpha };
        taken.push((weight, number));
        if !how.adjust {
            let all: f64 = taken.iter().map(|(weight, _)| weight).sum();
            taken.iter_mut().for_each(|(weight, _)| *weight /= all);
        }
    }
    if (taken.len() as u64) < how.min_samples {
        return Value::Null;
    }
    let greatest = taken.iter().map(|(_, number)| number.abs()).fold(0.0, f64::max);
    if how.of == EwmOf::Sum {
        // Each from the one before, since one that was too great for a float stays so.
        let heard = cells.iter().map(|cell| cell.as_number()).filter(|number| number.is_some() || !how.ignore_nulls);
        let sum = heard.fold(0.0, |sum, number| sum * (1.0 - how.alpha) + number.unwrap_or(0.0));
        let bound = greatest * taken.len() as f64 * 1e-9 + LEAST;
        return if sum.is_finite() { Value::Near(sum, bound) } else { Value::Float(sum) };
    }
    let all: f64 = taken.iter().map(|(weight, _)| weight).sum();
    let mean = taken.iter().map(|(weight, number)| weight * number).sum::<f64>() / all;
    let near = |value: f64, bound: f64| match value.is_finite() {
        true => Value::Near(value, bound),
        false => Value::Float(f64::NAN),
    };
    if how.of == EwmOf::Mean {
        return if mean.is_finite() { near(mean, greatest * 1e-9 + LEAST) } else { Value::Float(mean) };
    }
    let squares = taken.iter().map(|(weight, number)| weight * (number - mean) * (number - mean));
    let variance = squares.sum::<f64>() / all;
    let factor = match how.bias {
        true => 1.0,
        false if taken.len() < 2 => return Value::Null,
        false => all * all / (all * all - taken.iter().map(|(weight, _)| weight * weight).sum::<f64>()),
    };
    let bound = greatest * greatest * 1e-9 * factor + LEAST;
    match how.of {
        EwmOf::Std => near((variance * factor).sqrt(), bound.sqrt()),
        _ => near(variance * factor, bound),
    }
}

/// The table with what `make` adds to it in another order of its rows, each value beside its row.
pub fn in_another_order(
    input: &Table,
    by: &[super::SortBy],
    backward: bool,
    make: impl Fn(&Table) -> Result<Table, Fault>,
) -> Result<Table, Fault> {
    let mut turned = input.clone();
    turned.names.push("place".to_owned());
    for (place, (_, row)) in turned.rows.iter_mut().enumerate() {
        row.push(Value::Int(place as i64));
    }
    if !by.is_empty() {
        turned = super::sort(&turned, by);
    }
    if backward {
        turned.rows.reverse();
    }
    let made = make(&turned)?;
    let mut result = input.clone();
    result.names.extend(made.names[turned.names.len()..].iter().cloned());
    for (_, row) in &made.rows {
        if let Value::Int(place) = row[input.names.len()] {
            result.rows[place as usize].1.extend(row[turned.names.len()..].iter().cloned());
        }
    }
    Ok(result)
}

/// The value of the last of these rows.
fn faded(input: &Table, rows: &[usize], cells: &[&Value], how: &Fades) -> Result<Value, Fault> {
    let stamps: Option<Vec<Option<i64>>> = how.by.as_ref().err().map(|(stamp, _)| {
        let at = input.index_of(stamp);
        rows.iter().map(|row| stamp_of(&input.rows[*row].1[at])).collect()
    });
    if let Some(stamps) = &stamps {
        let there: Vec<i64> = stamps.iter().flatten().copied().collect();
        if there.windows(2).any(|pair| pair[1] < pair[0]) {
            return Err(Fault("the stamps decrease".to_owned()));
        }
        if stamps.last().is_some_and(Option::is_none) {
            return Ok(Value::Null);
        }
    }
    // The numbers since the last one that began anew, each with the stamp at which it stands.
    let mut taken: Vec<(f64, Option<i64>)> = Vec::new();
    let mut poisoned = false;
    for (place, cell) in cells.iter().enumerate() {
        let stamp = match &stamps {
            Some(stamps) if stamps[place].is_none() => continue,
            Some(stamps) => stamps[place],
            None => None,
        };
        let number = cell.as_number().or(match cell {
            Value::Bool(truth) => Some(f64::from(u8::from(*truth))),
            _ => None,
        });
        let bad = match number {
            Some(number) if number.is_nan() => how.on_nan,
            Some(number) => {
                taken.push((number, stamp));
                continue;
            }
            None => how.on_null,
        };
        match bad {
            Bad::Skip => {}
            Bad::Null if place + 1 == cells.len() => return Ok(Value::Null),
            Bad::Null => {}
            Bad::Reset => (taken, poisoned) = (Vec::new(), false),
            Bad::Throw => return Err(Fault("a cell without a number".to_owned())),
            Bad::Poison => poisoned = true,
        }
    }
    if poisoned {
        return Ok(Value::Float(f64::NAN));
    }
    let Some(((first, _), rest)) = taken.split_first() else { return Ok(Value::Null) };
    let (mut value, mut variance) = (*first, None::<f64>);
    for (before, (number, stamp)) in taken.iter().zip(rest) {
        let left = match &how.by {
            Ok(ticks) => (-1.0 / ticks).exp(),
            Err((_, nanos)) => {
                let passed = stamp.zip(before.1).map_or(0, |(now, then)| i128::from(now) - i128::from(then));
                (-(passed as f64) / nanos).exp()
            }
        };
        let old = value;
        if old.is_nan() {
            break;
        }
        value = match how.of {
            Decay::Mean | Decay::Std if left == 1.0 => old,
            Decay::Mean | Decay::Std => left * old + (1.0 - left) * number,
            Decay::Sum => left * old + number,
            Decay::Min => (left * old).min(*number),
            Decay::Max => (left * old).max(*number),
        };
        let more = if left == 1.0 { 0.0 } else { (1.0 - left) * (number - old) * (number - old) };
        variance = Some(left * (variance.unwrap_or(0.0) + more));
    }
    let value = if how.of == Decay::Std {
        let Some(variance) = variance else { return Ok(Value::Null) };
        variance.sqrt()
    } else {
        value
    };
    Ok(if value.is_finite() { Value::Near(value, value.abs() * 1e-12) } else { Value::Float(value) })
}

fn stamp_of(cell: &Value) -> Option<i64> {
    match cell {
        Value::Timestamp(nanos) => Some(*nanos),
        Value::Int(number) => Some(number.saturating_mul(1_000_000_000)),
        Value::Date(days) => Some(i64::from(*days) * 86_400_000_000_000),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::table;

    #[test]
    fn each_group_runs_by_itself() {
        let cells: [[Value; 2]; 4] = [
            ["a".into(), 1i64.into()],
            ["b".into(), 5i64.into()],
            ["a".into(), Value::Null],
            ["a".into(), 2i64.into()],
        ];
        let rows: Vec<&[Value]> = cells.iter().map(|row| &row[..]).collect();
        let input = table(&["k", "v"], &rows);
        let made = |what: Running| {
            let made = running(&input, &["k".into()], "v", &what, "y").expect("a result");
            made.rows.iter().map(|(_, row)| row[2].to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(made(Running::Cumulative(Aggregator::Sum(1), false)), "1 5 1 3");
        assert_eq!(made(Running::Cumulative(Aggregator::Sum(1), true)), "1 5 null 3");
        assert_eq!(made(Running::ForwardFill), "1 5 1 2");
        let fades = |of, on_null| Fades { of, by: Ok(f64::INFINITY), on_null, on_nan: Bad::Skip };
        assert_eq!(made(Running::Decay(fades(Decay::Max, Bad::Reset))), "1.0±1e-12 5.0±5e-12 null 2.0±2e-12");
        assert_eq!(made(Running::Decay(fades(Decay::Max, Bad::Poison))), "1.0±1e-12 5.0±5e-12 NaN NaN");
    }
}
