//! Columns of blocks against a plain model: random steps, every moment read back.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::types::*;
use arrow_array::*;
use arrow_buffer::{IntervalMonthDayNano, i256};
use arrow_schema::{DataType, Field, IntervalUnit, TimeUnit};
use arrow_select::concat::concat;
use fastrand::Rng;
use graph::{Moment, Step};
use rowset::{Before, RowSet, Shift, Shifts};

use crate::*;

pub(crate) type Cell = Option<u64>;

/// Some value of each type, made from a number.
pub(crate) fn chunk(data_type: &DataType, cells: &[Cell]) -> ArrayRef {
    macro_rules! primitive {
        ($type:ty, $make:expr) => {
            Arc::new(
                cells
                    .iter()
                    .map(|cell| cell.map($make))
                    .collect::<PrimitiveArray<$type>>()
                    .with_data_type(data_type.clone()),
            )
        };
    }
    // One in a hundred is longer than the shortest buffer of texts that laws draw.
    let times = |n: u64| if n.is_multiple_of(97) { 5 } else { n % 3 };
    let text = |cell: &Cell| cell.map(|n| format!("{n}{}", "-long enough to leave the view".repeat(times(n) as usize)));
    match data_type {
        DataType::Boolean => Arc::new(cells.iter().map(|cell| cell.map(|n| n % 2 == 1)).collect::<BooleanArray>()),
        DataType::Int8 => primitive!(Int8Type, |n| n as i8),
        DataType::UInt16 => primitive!(UInt16Type, |n| n as u16),
        DataType::Float16 => {
            primitive!(Float16Type, |n| <Float16Type as ArrowPrimitiveType>::Native::from_f32(n as f32))
        }
        DataType::Int32 => primitive!(Int32Type, |n| n as i32),
        DataType::Date32 => primitive!(Date32Type, |n| n as i32),
        DataType::Float32 => primitive!(Float32Type, |n| n as f32),
        DataType::Int64 => primitive!(Int64Type, |n| n as i64),
        DataType::UInt64 => primitive!(UInt64Type, |n| n),
        DataType::Float64 => primitive!(Float64Type, |n| n as f64),
        DataType::Timestamp(..) => primitive!(TimestampNanosecondType, |n| n as i64),
        DataType::Time64(_) => primitive!(Time64NanosecondType, |n| n as i64),
        DataType::Duration(_) => primitive!(DurationNanosecondType, |n| n as i64),
        DataType::Decimal128(..) => primitive!(Decimal128Type, |n| n as i128),
        DataType::Decimal256(..) => primitive!(Decimal256Type, |n| i256::from_i128(n as i128)),
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            primitive!(IntervalMonthDayNanoType, |n| IntervalMonthDayNano::new(n as i32, 1, 2))
        }
        DataType::FixedSizeBinary(5) => {
            let cells = cells.iter().map(|cell| cell.map(|n| n.to_le_bytes()[..5].to_vec()));
            Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(cells, 5).unwrap())
        }
        DataType::Utf8View => Arc::new(cells.iter().map(text).collect::<StringViewArray>()),
        DataType::BinaryView => {
            Arc::new(cells.iter().map(|cell| text(cell).map(String::into_bytes)).collect::<BinaryViewArray>())
        }
        DataType::List(_) => Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(
            cells.iter().map(|cell| cell.map(|n| (0..n % 3).map(|i| Some((n + i) as i64)).collect::<Vec<_>>())),
        )),
        DataType::Dictionary(..) => {
            let text: Vec<_> = cells.iter().map(|cell| cell.map(|n| format!("v{}", n % 5))).collect();
            Arc::new(text.iter().map(|cell| cell.as_deref()).collect::<DictionaryArray<Int32Type>>())
        }
        DataType::Null => Arc::new(NullArray::new(cells.len())),
        other => panic!("no cells for {other}"),
    }
}

pub(crate) fn every_type() -> Vec<DataType> {
    use DataType::*;
    vec![
        Boolean,
        Int8,
        UInt16,
        Float16,
        Int32,
        Date32,
        Float32,
        Int64,
        UInt64,
        Float64,
        Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
        Time64(TimeUnit::Nanosecond),
        Duration(TimeUnit::Nanosecond),
        Decimal128(38, 2),
        Decimal256(50, 2),
        Interval(IntervalUnit::MonthDayNano),
        FixedSizeBinary(5),
        Utf8View,
        BinaryView,
        List(Arc::new(Field::new_list_field(Int64, true))),
        Dictionary(Box::new(Int32), Box::new(Utf8)),
        Null,
    ]
}

pub(crate) type Rows = BTreeMap<u64, Cell>;

/// One step over model rows: what happens, and the rows after it.
pub(crate) struct Drawn {
    pub moves: Vec<Move>,
    pub removed: RowSet,
    pub added: RowSet,
    pub writes: Vec<(RowSet, Vec<Cell>)>,
    pub after: Rows,
}

impl Drawn {
    /// The rows whose old cells the step loses.
    pub(crate) fn undo(&self, before: &Rows) -> RowSet {
        let written = self.writes.iter().fold(RowSet::new(), |all, (rows, _)| &all | rows);
        undo_rows(&keys(before), &written, &self.moves)
    }

    pub(crate) fn chunks(&self, data_type: &DataType) -> Vec<(RowSet, Chunk)> {
        self.writes.iter().map(|(rows, cells)| (rows.clone(), chunk(data_type, cells))).collect()
    }

    /// What died, when the step is over.
    pub(crate) fn dead(&self) -> FreedCells {
        FreedCells::new(&freed_keys(&self.removed, &self.moves, &self.added), &keys(&self.after))
    }
}

pub(crate) fn keys(rows: &Rows) -> RowSet {
    RowSet::from_keys(rows.keys().copied().collect())
}

/// Rows in clumps, at scattered places: some blocks full, some with a single row.
fn some_key(dice: &mut Rng) -> u64 {
    match dice.u64(..4) {
        0 => dice.u64(..3000),
        1 => 4000 + dice.u64(..300),
        2 => dice.u64(..40_000),
        _ => (dice.u64(..5) << 40) + dice.u64(..20),
    }
}

pub(crate) fn draw(dice: &mut Rng, before: &Rows, size: u64) -> Drawn {
    let mut removed = Rows::new();
    let mut survivors = before.clone();
    for _ in 0..dice.u64(..size) {
        if let Some((&key, &cell)) = survivors.range(some_key(dice)..).next() {
            removed.insert(key, cell);
            survivors.remove(&key);
        }
    }
    let survivors = match dice.u64(..6) {
        0 => {
            removed.extend(survivors.range(1000..2000));
            survivors.into_iter().filter(|(key, _)| !(1000..2000).contains(key)).collect()
        }
        _ => survivors,
    };
    let shifts = draw_shifts(dice, &survivors);
    let moves = moves(&shifts, &Before(keys(&survivors)));
    let mut after: Rows = survivors.iter().map(|(&key, &cell)| (shifts.forward_key(key), cell)).collect();
    let (mut fresh, mut changed) = (Rows::new(), Rows::new());
    let from = some_key(dice);
    let wide = if dice.u64(..5) == 0 { 0..dice.u64(..9000) } else { 0..0 };
    let new: Vec<u64> = (0..dice.u64(..size)).map(|_| some_key(dice)).chain(wide.map(|at| from + at)).collect();
    for key in new {
        let cell = (dice.u64(..7) > 0).then(|| dice.u64(..1 << 20));
        let target = if after.contains_key(&key) && !fresh.contains_key(&key) { &mut changed } else { &mut fresh };
        target.insert(key, cell);
        after.insert(key, cell);
    }
    let part = |rows: &Rows| (keys(rows), rows.values().copied().collect());
    let writes = [&fresh, &changed].into_iter().filter(|rows| !rows.is_empty()).map(part).collect();
    Drawn { moves, removed: keys(&removed), added: keys(&fresh), writes, after }
}

fn draw_shifts(dice: &mut Rng, survivors: &Rows) -> Shifts {
    let wanted: Vec<Shift> = (0..dice.u64(..4))
        .map(|at| {
            let first = at * 1500 + dice.u64(..700);
            let delta = dice.u64(..1200) as i64 - 600;
            Shift { first, last: first + dice.u64(..800), delta }
        })
        .filter(|shift| shift.delta != 0 && shift.first as i64 + shift.delta >= 0)
        .collect();
    (0..=wanted.len())
        .rev()
        .find_map(|take| Shifts::new(wanted[..take].to_vec(), &Before(keys(survivors))).ok())
        .unwrap_or_default()
}

pub(crate) fn expected(data_type: &DataType, rows: &Rows) -> ArrayRef {
    chunk(data_type, &rows.values().copied().collect::<Vec<_>>())
}

fn same(found: &ArrayRef, wanted: &ArrayRef) {
    found.to_data().validate_full().unwrap();
    if let DataType::Dictionary(_, values) = wanted.data_type() {
        let plain = |array: &ArrayRef| arrow_cast::cast(array, values).unwrap();
        return assert_eq!(&plain(found), &plain(wanted));
    }
    assert_eq!(found, wanted);
}

/// Everything a column can be asked about these rows.
pub(crate) fn check(dice: &mut Rng, column: &dyn Column, data_type: &DataType, rows: &Rows) {
    let all = keys(rows);
    same(&column.read(&all).unwrap(), &expected(data_type, rows));
    let some: Rows = rows.iter().filter(|_| dice.u64(..3) == 0).map(|(&key, &cell)| (key, cell)).collect();
    same(&column.read(&keys(&some)).unwrap(), &expected(data_type, &some));
    let span = (some_key(dice), dice.u64(..6000));
    let part: Rows = rows.range(span.0..=span.0 + span.1).map(|(&key, &cell)| (key, cell)).collect();
    same(&column.read(&all.between(span.0, span.0 + span.1)).unwrap(), &expected(data_type, &part));
    let known: Vec<u64> = all.to_vec();
    if !known.is_empty() {
        let asked: Vec<u64> = (0..50)
            .map(|_| if dice.u64(..9) == 0 { NO_ROW } else { known[dice.u64(..known.len() as u64) as usize] })
            .collect();
        let cells: Vec<Cell> = asked.iter().map(|key| rows.get(key).copied().flatten()).collect();
        same(&column.take(&asked).unwrap(), &chunk(data_type, &cells));
    }
    let pieces = column.pieces(&all).unwrap();
    assert_eq!(pieces.iter().map(|piece| piece.len()).sum::<usize>(), rows.len());
    if !pieces.is_empty() {
        let pieces: Vec<&dyn Array> = pieces.iter().map(|piece| piece.as_ref()).collect();
        same(&concat(&pieces).unwrap(), &expected(data_type, rows));
    }
}

fn run(data_type: &DataType, seed: u64, steps: u64, size: u64) {
    let mut dice = Rng::with_seed(seed);
    let mut column = BlockColumn::new(data_type.clone(), Moment::new(0));
    let mut rows = Rows::new();
    let mut held: Vec<(Arc<dyn Column>, Rows)> = Vec::new();
    for number in 1..=steps {
        let step = Step::new(number);
        let drawn = draw(&mut dice, &rows, size);
        let (undo, writes) = (drawn.undo(&rows), drawn.chunks(data_type));
        let early = column.at(step.before()).unwrap();
        let old = (undo.as_span().is_none() && dice.u64(..2) == 0).then(|| early.read(&undo).unwrap());
        let keep_early = dice.u64(..2) == 0;
        if keep_early {
            held.push((early, rows.clone()));
        }
        let edit = Edit { step, undo: &undo, old: old.as_ref(), moves: &drawn.moves, writes: &writes };
        column.apply(&edit).unwrap();
        let now = column.at(step.now()).unwrap();
        for (stored, cells) in &drawn.writes {
            let keys: Vec<u64> = stored.iter().collect::<Vec<_>>().into_iter().rev().collect();
            let cells: Vec<Cell> = cells.iter().rev().copied().collect();
            same(&now.take(&keys).unwrap(), &chunk(data_type, &cells));
        }
        let before = column.at(step.before()).unwrap();
        check(&mut dice, &*before, data_type, &rows);
        same(&before.read(&undo).unwrap(), &chunk(data_type, &undo.iter().map(|key| rows[&key]).collect::<Vec<_>>()));
        held.push((before, rows.clone()));
        held.push((now, drawn.after.clone()));
        let dead = drawn.dead();
        rows = drawn.after;
        column.settle();
        column.reclaim(&dead);
        assert_eq!(column.counters().undo_bytes, 0);
        assert!(column.at(step.before()).is_err());
        check(&mut dice, &*column.at(step.now()).unwrap(), data_type, &rows);
        held.retain(|_| dice.u64(..4) > 0);
        for (view, then) in &held {
            check(&mut dice, &**view, data_type, then);
        }
        if dice.u64(..40) == 0 {
            column = BlockColumn::with_rows(data_type.clone(), step.now(), &keys(&rows), &expected(data_type, &rows))
                .unwrap();
        }
    }
    drop(held);
    let everything = keys(&rows);
    let none = RowSet::new();
    column.apply(&Edit { step: Step::new(steps + 1), undo: &none, old: None, moves: &[], writes: &[] }).unwrap();
    column.settle();
    column.reclaim(&FreedCells::new(&everything, &none));
    let counters = column.counters();
    assert_eq!((counters.blocks, counters.undo_bytes), (0, 0));
    drop(column);
}

#[test]
fn every_type_agrees_with_the_model() {
    for (seed, data_type) in every_type().iter().enumerate() {
        run(data_type, seed as u64, 12, 60);
    }
}

#[test]
fn long_runs_agree_with_the_model() {
    run(&DataType::Float64, 7, 40, 400);
    run(&DataType::Utf8View, 8, 40, 300);
}
